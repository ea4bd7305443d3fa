"""Draw another one: drawings made after one exemplar, by whomever, and how diverse, recognizable and original they are."""
