"""The arguments that several verbs of the room share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.options import Names, Option

if TYPE_CHECKING:
    Given = Any  # from Python also a function
    Source = str | Path | None
else:  # what the command line parses
    Given = str
    Source = str | None

Data = Annotated[
    Source,
    Option(
        "The drawings: a data set, a folder, an npz, or what `draw sample` wrote; Quick, Draw!'s test "
        "categories where they are, "
        "else glyphs."
    ),
]
Split = Annotated[str | None, Option("Which part of the data set.")]
Concepts = Annotated[int, Option("How many concepts, chosen by the seed.", low=1)]
DrawingsEach = Annotated[int, Option("How many drawings of each, besides its exemplar.", low=1)]
Only = Annotated[Names, Option("A concept by name, instead of --concepts; may be repeated.")]
Size = Annotated[int | None, Option("px per side of drawings and maps; the data's own unless given.", low=8, high=1024)]
Agent = Annotated[
    Given,
    Option(
        "An agent of the room, a CFGDM that you trained (FOLDER/NAME), or a function of yours, file.py:function.",
        known="attend agents",
    ),
]
Record = Annotated[
    Given,
    Option("People's maps: what `attend play` or the lab wrote, or an npz of your own.", positional=True),
]
Records = Annotated[Names, Option("A record of a model's maps (`attend maps`); may be repeated.")]
