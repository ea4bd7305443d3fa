"""Exemplar: what can you do after seeing something once? The same tasks, records and scores for people and machines.

    import exemplar as ex

    drawings = ex.load("glyphs", "weak-test")                  # images, each with a concept
    features = ex.spaces.load("protonet-glyphs-s0").encode(drawings)
    scored = ex.draw.score("samples/", data="omniglot")        # scored.scores, scored.warnings, scored.folder

Everything is imported when it is first used: `import exemplar` loads neither torch nor numpy.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exemplar import attend, draw, foresee, images, lab, learn, recall, results, runs, spaces
    from exemplar.errors import UserError
    from exemplar.images import load
    from exemplar.touring import tour

__version__ = "0.1.0"
__all__ = [
    "UserError",
    "attend",
    "draw",
    "foresee",
    "images",
    "lab",
    "learn",
    "load",
    "recall",
    "results",
    "runs",
    "spaces",
    "tour",
]

# torch's threads meet after every small operation. Where they wait for each other by spinning, as is the custom, a core
# that is busy with something else costs a factor of ten. Read when torch is first imported; a value of your own wins.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def __getattr__(name: str) -> Any:
    if name == "load":
        from exemplar.images import load

        return load
    if name == "tour":
        from exemplar.touring import tour

        return tour
    if name == "UserError":
        from exemplar.errors import UserError

        return UserError
    rooms = importlib.import_module("exemplar.rooms")  # `from exemplar import` would ask here again
    if name in __all__ or name in rooms.ROOMS:
        return importlib.import_module(f"exemplar.{name}")
    raise AttributeError(f"module 'exemplar' has no attribute {name!r}")


def __dir__() -> list[str]:
    rooms = importlib.import_module("exemplar.rooms")  # `from exemplar import` would ask here again
    return sorted({*__all__, *rooms.ROOMS, "__version__"})
