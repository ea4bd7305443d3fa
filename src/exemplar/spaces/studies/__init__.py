"""The experiments on spaces, one per file."""
