"""Learn from right and wrong: novel objects, one choice at a time, by people and by plasticity rules (Lee & DiCarlo 2023)."""
