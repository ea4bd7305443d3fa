"""What a network is trained to do: one objective or paper per file."""
