"""How it is seen: encoders, their training, and the feature spaces their layers are."""
