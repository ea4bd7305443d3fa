"""Pure functions of maps: blur, ranks, reliability, agreement, ink, sparseness."""
