"""Every data set by name: what it is, its splits, whether it is here, and how to load it.

from exemplar.images.catalogue import load
drawings = load("omniglot", "weak-test").resized(50, binarise=0.5)
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from exemplar.errors import UserError, unknown
from exemplar.images.concepts import ConceptSet


@dataclass(frozen=True)
class Entry:
    """module, loader: where the loading function is; default: the split taken when none is named; drawn: or photographed;
    found: whether its files must be found or fetched (the others are made by the package); sized: whether the loader takes a
    size, because it draws strokes instead of resizing pixels."""

    name: str
    what: str
    module: str
    loader: str
    default: str
    drawn: bool = True
    found: bool = True
    sized: bool = False

    def splits(self) -> dict[str, str]:
        return self.load_module().SPLITS

    def is_here(self) -> bool:
        from exemplar.images import sources

        return not self.found or sources.find(self.name) is not None

    def load(self, split: str, size: int | None) -> ConceptSet:
        from exemplar.images import sources

        if split not in self.splits():
            raise unknown(f"split of {self.name}", split, self.splits())
        loader = getattr(self.load_module(), self.loader)
        if self.sized:
            return loader(sources.obtain(self.name), split, size=size)
        data: ConceptSet = loader(sources.obtain(self.name), split) if self.found else loader(split)
        return data if size is None else data.resized(size)

    def load_module(self) -> Any:
        """With SPLITS, the loading function and, where files must be found, SOURCE (unless it stands in `sources`)."""
        return import_module(f"exemplar.images.{self.module}")


CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry("glyphs", "invented alphabets, drawn by the package", "glyphs", "load_glyphs", "weak-test", found=False),
        Entry(
            "objects",
            "invented 3-D objects, rendered by the package",
            "objects",
            "load_objects",
            "high-variation",
            drawn=False,
            found=False,
        ),
        Entry("omniglot", "handwritten characters of 50 alphabets", "omniglot", "load_omniglot", "weak-test"),
        Entry("quickdraw", "Quick, Draw! sketches", "quickdraw", "load_quickdraw", "strokes", sized=True),
        Entry(
            "quickdraw-bitmaps",
            "Quick, Draw! as official 28 px bitmaps",
            "quickdraw_bitmaps",
            "load_quickdraw_bitmaps",
            "all",
        ),
        Entry("quickdraw-fs", "visual concepts of Quick, Draw!", "quickdraw_fs", "load_quickdraw_fs", "test"),
        Entry("cifar-fs", "CIFAR-100 for few-shot learning", "cifar", "load_cifar_fs", "test", drawn=False),
        Entry("fc100", "CIFAR-100, no superclass shared by two splits", "cifar", "load_fc100", "test", drawn=False),
        Entry(
            "slimagenet64", "200 images of each ImageNet class", "slimagenet", "load_slimagenet64", "test", drawn=False
        ),
    )
}


def load(name: str | Path, split: str | None = None, *, size: int | None = None) -> ConceptSet:
    """A data set by name; or your own images: a folder with one sub-folder per concept, or an npz of images and concepts.

    split: the data set's default unless given; size: resized to this many px per side.
    """
    if not isinstance(name, str | Path):
        raise UserError(
            f"data must be a name, a folder or an npz, not a {type(name).__name__}: save it with numpy.savez, as arrays images "
            "and concept"
        )
    if name in CATALOGUE:
        entry = CATALOGUE[str(name)]
        return entry.load(split or entry.default, size)
    path = Path(name).expanduser()
    if not os.path.exists(path):  # noqa: PTH110 (which knows names too long for a file system, and says no)
        raise unknown("data set, folder or file", str(name), CATALOGUE)
    if split is not None:
        raise UserError(f"{name} is your own: it has no splits, leave --split out")
    from exemplar.images.folder import load_folder, load_npz

    if path.is_dir():
        return load_folder(path, size=size)
    data = load_npz(path)
    return data if size is None else data.resized(size)


def fetch(name: str, parts: Iterable[str] | None = None) -> Path:
    """Make sure a data set is on this machine; returns its folder."""
    from exemplar.images import sources

    if name not in CATALOGUE:
        raise unknown("data set", name, CATALOGUE)
    if not CATALOGUE[name].found:
        raise UserError(f"{name} needs no fetching: the package draws it")
    return sources.obtain(name, parts=parts)


def describe(data: ConceptSet, name: str) -> dict[str, Any]:
    """What is in a set, in numbers; `images` counts all, `drawings` is there where they are drawn."""
    about: dict[str, Any] = {"data": data.name, "concepts": data.n_concepts, "images": len(data)}
    if name in CATALOGUE and CATALOGUE[name].drawn:
        about["drawings"] = len(data)
    about |= {"groups": len(data.group.names), "makers": len(data.maker.names), "shape": list(data.shape)}
    about |= {
        "fewest_per_concept": int(data.counts.min(initial=len(data))),
        "most_per_concept": int(data.counts.max(initial=0)),
    }
    return about | {"fingerprint": data.fingerprint}
