"""The experiments of the room, one per file."""
