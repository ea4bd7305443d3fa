"""What is seen: sets of images with a concept, a group and a maker each; drawn here, found on disk, or fetched.

import exemplar as ex

drawings = ex.load("omniglot", "weak-test")     # or a folder with one sub-folder of images per concept
ex.images.list_data()                           # what there is, and what is on this machine
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.options import Names, Option, Place, Seed, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.images.concepts import ConceptSet, Labels
    from exemplar.images.folder import load_folder, load_npz
    from exemplar.images.glyphs import GlyphsConfig, load_glyphs, redraw
    from exemplar.images.ink import render
    from exemplar.images.objects import ObjectsConfig, load_objects

# Python-only names → the modules below this one that have them
LAZY = {
    "ConceptSet": "concepts",
    "GlyphsConfig": "glyphs",
    "Labels": "concepts",
    "ObjectsConfig": "objects",
    "load_folder": "folder",
    "load_glyphs": "glyphs",
    "load_npz": "folder",
    "load_objects": "objects",
    "redraw": "glyphs",
    "render": "ink",
}

__all__ = [
    "ConceptSet",
    "GlyphsConfig",
    "Labels",
    "ObjectsConfig",
    "fetch",
    "list_data",
    "load",
    "load_folder",
    "load_glyphs",
    "load_npz",
    "load_objects",
    "redraw",
    "render",
    "sheet",
    "show",
]

Data = Annotated[
    str,
    Option("A data set (see `exemplar data list`), a folder of images, or an npz file.", known="data", positional=True),
]
Split = Annotated[str | None, Option("Which part; each data set has a default.")]
Size = Annotated[int | None, Option("Resize to this many pixels per side.", low=1, high=10_000)]


def load(name: str, split: str | None = None, *, size: int | None = None) -> ConceptSet:
    """A data set by name; or your own images: a folder with one sub-folder per concept, or an npz of images and concepts.

    Args:
        name: a data set (`list_data()`), a folder, or an npz file.
        split: the data set's default unless given.
        size: resized to this many px per side.

    >>> import exemplar as ex
    >>> drawings = ex.load("glyphs", "weak-test")
    >>> len(drawings), drawings.n_concepts
    (1800, 90)
    """
    from exemplar.images.catalogue import load as load_by_name

    return load_by_name(name, split, size=size)


@verb
def list_data() -> Answer:
    """The data sets there are, their splits, and whether they are on this machine.

    >>> import exemplar as ex
    >>> [row["name"] for row in ex.images.list_data()["data"]][:3]
    ['glyphs', 'objects', 'omniglot']
    """
    from exemplar.images.inspecting import list_data_sets

    return list_data_sets()


@verb
def show(name: Data, split: Split = None, size: Size = None) -> Answer:
    """What is in a data set: concepts, drawings, groups, makers, sizes.

    >>> import exemplar as ex
    >>> ex.images.show("glyphs")["concepts"]
    90
    """
    from exemplar.images.inspecting import describe_data

    return describe_data(name, split, size)


@verb
def fetch(
    name: Data, part: Annotated[Names, Option("Only this part, where data comes in parts; may be repeated.")] = ()
) -> Answer:
    """Fetch a data set from its public home into the cache; an interrupted download resumes where it stopped."""
    from exemplar.images.inspecting import fetch_data

    return fetch_data(name, part)


@verb
def sheet(
    name: Data,
    split: Split = None,
    out: Annotated[Place, Option("The PNG to write.")] = Path("sheet.png"),
    concepts: Annotated[int, Option("Rows: how many concepts.", low=1)] = 12,
    each: Annotated[int, Option("Columns: images of each concept.", low=1)] = 10,
    size: Size = None,
    seed: Seed = 0,
) -> Answer:
    """A contact sheet: some concepts, one per row, as a PNG.

    >>> import exemplar as ex
    >>> ex.images.sheet("glyphs", out="sheet.png", concepts=2, each=3).figures["sheet"].name
    'sheet.png'
    """
    from exemplar.images.inspecting import write_contact_sheet

    return write_contact_sheet(name, split, out, concepts, each, size, seed)


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'exemplar.images' has no attribute {name!r}")
    return getattr(import_module(f"exemplar.images.{LAZY[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
