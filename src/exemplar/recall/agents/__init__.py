"""Who does it: one idea or paper per file. `registry` lists them, `sources` makes them, a user's own class included."""
