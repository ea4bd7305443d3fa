"""VAEs that draw: sequential with a spatial transformer (VAE-STN), and with a context of a set (VAE-NS)."""
