"""Exemplar: what can you do after seeing something once? The same tasks, records and scores for people and machines."""

__version__ = "0.1.0"
