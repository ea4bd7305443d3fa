"""The one training loop, and what it stands on."""
