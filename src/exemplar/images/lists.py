"""Lists of names that come with the package: which concepts belong to a split, one per line, `#` before remarks."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def read_list(name: str) -> tuple[str, ...]:
    """The lines of `images/NAME.txt` that are neither empty nor remarks, in their order.

    >>> read_list("omniglot_background_val")[:2]
    ('Anglo-Saxon_Futhorc', 'Balinese')
    """
    text = resources.files("exemplar.images").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))
