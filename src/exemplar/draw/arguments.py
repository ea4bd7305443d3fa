"""The arguments that several verbs of the front door take: what each is, and how a command describes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.options import Names, Option, Place

if TYPE_CHECKING:
    from exemplar.draw.scoring import ScoredAnswer
    from exemplar.records import Drawings

    Drawer = str | Path | Drawings | Callable[..., Any]
    Drawers = Sequence[str | Path | ScoredAnswer]
    Agent = str | Callable[..., Any]
    Spaces = Sequence[Any] | Any
else:  # what the command line parses
    Drawer, Drawers, Agent, Spaces = str, list[str], str, list[str]

WHO = (
    "Who drew: a folder with one sub-folder of images per concept, an npz of images and concept, a Drawings record, a run "
    "folder; a function, file.py:function or module:function; an agent of the room (exemplar draw agents), such as copies or "
    "redraw@2; human, people's own drawings in the data; or simulated, those of the package's simulated drawers."
)
FIT = "`fit` to have it follow from the paper's (see docs/draw.md)"
Folder = Annotated[Place | None, Option("Where the files of Quick, Draw! are; the data's place unless given.")]
Form = Annotated[
    str,
    Option(
        "Which files: .npy and .npz, or .ndjson.", choices=("bitmaps", "strokes"), kind="form of Quick, Draw! drawings"
    ),
]
Who = Annotated[Drawer, Option(WHO, positional=True, metavar="WHO")]
Data = Annotated[str, Option("What was drawn: a data set, a folder, or an npz.", known="data")]
Split = Annotated[str | None, Option("Which part of the data; weak-test where there is one.")]
Exemplar = Annotated[
    str,
    Option(
        "Which drawing is shown: centre (the data's own exemplars where it comes with them, as QuickDraw-FS does; "
        "centre:SPACE for others), drawer:NAME or random."
    ),
]
Number = Annotated[
    int | None, Option("Drawings of each concept; as many as the data's own drawers made unless given.", low=3)
]
Name = Annotated[str | None, Option("What to call the drawer, in tables and figures.")]
Invert = Annotated[bool, Option("The drawings are dark ink on bright paper: invert them.")]
Size = Annotated[int | None, Option("Read images at this many px, where they differ.", low=1, high=10_000)]
AllowSeen = Annotated[bool, Option("Allow critics that were trained on these concepts; the result says so.")]
Normalise = Annotated[
    str,
    Option(
        "What features are divided by: each drawing's own deviation (sample), or the spread of all drawings by the data's own "
        "drawers, people or simulated.",
        choices=("sample", "people"),
        kind="normalisation",
    ),
]
Match = Annotated[
    bool,
    Option("Bring people's drawings to the agent's resolution and stroke before both are judged; the result says so."),
]
OWN = (
    "a name, FOLDER/NAME, file.py:function, module:function, a stage as efficientnet-lite0/head, pixels or features.npz"
)
See = Annotated[Spaces, Option(f"A critic for diversity and originality: {OWN}; may be repeated.")]
Recognise = Annotated[Spaces, Option("A critic for recognizability, likewise; may be repeated.")]
Unbiased = Annotated[bool, Option("Correct diversity for the number of drawings (c4), so that few compare with many.")]
Training = Annotated[
    str | None, Option("What the agent was trained on, such as omniglot/weak-train: are there copies of it?")
]
Variations = Annotated[
    str, Option("Which drawings of a cluster.", choices=("nearest", "random"), kind="way to keep variations")
]
Ways = Annotated[
    Names,
    Option("Among how many concepts a drawing is named, a number or all; may be repeated. 20 and all unless given."),
]
Episodes = Annotated[int, Option("Episodes to sample beside the closed form of recognizability, as papers do.", low=0)]
Concepts = Annotated[
    Names,
    Option(
        "Only these concepts: a name (may be repeated), a file with one name per line, or a number of them, chosen at "
        "random by the seed."
    ),
]
People = Annotated[
    bool,
    Option(
        "Whether to compare with the data's own drawers; without, there may be more drawings of each concept than theirs.",
        name="--people/--no-people",
    ),
]
Out = Annotated[Place | None, Option("The run folder; one below runs/draw unless given.")]
