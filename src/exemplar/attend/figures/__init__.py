"""Pictures and pages of the room, from records and scores."""
