"""The experiments that need nothing but images, one per file."""
