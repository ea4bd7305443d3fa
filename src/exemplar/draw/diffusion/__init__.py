"""Diffusion models that draw from one example: networks, the process, samplers, training, and the agents made of them."""
