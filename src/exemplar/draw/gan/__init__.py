"""GANs that draw: a generator shown an exemplar, and a critic (DA-GAN-UN, DA-GAN-RN)."""
