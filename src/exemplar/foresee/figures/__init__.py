"""Pictures of this room."""
