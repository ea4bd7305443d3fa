"""Pictures of the room, from records and scores."""
