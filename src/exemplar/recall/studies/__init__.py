"""The experiments of the room."""

from exemplar.recall.studies.kept import RESULTS

__all__ = ["RESULTS"]
