"""Where real data comes from: the folder EXEMPLAR_DATA names, else the user's cache, else its public home."""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from exemplar.errors import UserError, unknown
from exemplar.images.checksums import pin
from exemplar.images.downloads import fetch
from exemplar.images.wire import read_small

# What a SlimageNet64 archive may be called: its home packs it with pbzip2, others repack it.
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".pbzip2", ".pbzip")
QUICKDRAW = "https://storage.googleapis.com/quickdraw_dataset/full"


@dataclass(frozen=True)
class Remote:
    """A file at its public home. checksum: as `fetch` takes it; size: bytes, where it is known."""

    url: str
    filename: str
    checksum: str
    size: int | None = None


@dataclass(frozen=True)
class Source:
    """A data set's folder, and where its files come from.

    folder: its name under EXEMPLAR_DATA and in the cache; readable: the forms its loader reads, each a tuple of patterns
    that must all be there; home: the web page people go to; files: what is fetched; part: for a data set fetched piece by
    piece, a piece's name → its file; record: the JSON of a Zenodo record that lists the files, for one not known here;
    shipped: the folder of the package that has it, for want of another place.
    """

    name: str
    folder: str
    readable: tuple[tuple[str, ...], ...]
    home: str
    licence: str
    citation: str
    files: tuple[Remote, ...] = ()
    part: Callable[[str], Remote] | None = None
    record: str | None = None
    note: str = ""
    shipped: str = ""


def find(name: str) -> Path | None:
    """The folder that holds a data set in a form its loader reads: under EXEMPLAR_DATA, else in the cache, else in the
    package, else None."""
    source = _source(name)
    return next((folder for folder in _places(source) if _is_readable(folder, source)), None)


def obtain(name: str, *, parts: Iterable[str] | None = None, progress: bool | None = None) -> Path:
    """The folder that holds a data set, fetched into the cache if it is nowhere yet.

    parts: the pieces wanted of a data set that is fetched piece by piece (`quickdraw`: "cat" for the bitmaps,
    "simplified/cat" and "raw/cat" for the strokes); progress: as in `fetch`.
    """
    source = _source(name)
    cache = cache_folder() / source.folder
    if parts is not None:
        wanted = _parts(source, parts)
        for folder in _places(source):
            if all((folder / remote.filename).is_file() for remote in wanted):
                return folder
    elif (found := find(name)) is not None:
        return found
    elif source.part is not None:
        forms = " or ".join(pattern for form in source.readable for pattern in form)
        raise UserError(
            f"{name} is fetched piece by piece, and {_places(source)[0]} has no {forms} yet: run `exemplar data fetch {name} "
            "--part cat`, or put such files there"
        )
    else:
        wanted = source.files or _listed(source, cache)
    for remote in wanted:
        target = cache / remote.filename
        again = f"run `exemplar data fetch {name}` again"
        fetch(remote.url, target, checksum=remote.checksum, size=remote.size, progress=progress, again=again)
        if source.record is not None:
            pin(target, remote.checksum)
    return cache


def cache_folder() -> Path:
    """EXEMPLAR_CACHE, else $XDG_CACHE_HOME/exemplar, else ~/.cache/exemplar; it need not exist yet."""
    own, shared = os.environ.get("EXEMPLAR_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if shared and not Path(shared).is_absolute():  # the XDG rules say to ignore such a value
        shared = None
    try:
        return Path(own).expanduser() if own else Path(shared or "~/.cache").expanduser() / "exemplar"
    except RuntimeError as problem:
        raise UserError("your home folder is not known: set EXEMPLAR_CACHE to a folder for fetched data") from problem


def _source(name: str) -> Source:
    """Of a data set: from the list below, or the SOURCE that its own module declares."""
    from exemplar.images.catalogue import CATALOGUE

    if name in SOURCES:
        return SOURCES[name]
    own = getattr(CATALOGUE[name].load_module(), "SOURCE", None) if name in CATALOGUE else None
    if not isinstance(own, Source):
        raise unknown("data set with files", name, SOURCES)
    return own


def _places(source: Source) -> list[Path]:
    """Where a data set's folder may be, the first to be preferred."""
    given = os.environ.get("EXEMPLAR_DATA")
    cache = cache_folder() / source.folder
    own = [Path(__file__).parents[1] / source.shipped] if source.shipped else []
    if not given:
        return [cache, *own]
    data = Path(given).expanduser()
    if not data.is_dir():
        raise UserError(f"EXEMPLAR_DATA names {given}, which is not a folder: fix it or unset it")
    return [data / source.folder, cache, *own]


def _is_readable(folder: Path, source: Source) -> bool:
    """Whether one of the forms is there in full; empty files and folders do not count."""
    if not folder.is_dir():
        return False
    return any(all(any(map(_has_content, folder.glob(p))) for p in form) for form in source.readable)


def _has_content(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.is_file() and path.stat().st_size > 0


def _parts(source: Source, parts: Iterable[str]) -> tuple[Remote, ...]:
    if source.part is None:
        raise UserError(f"{source.name} is fetched whole: do not name parts of it")
    wanted = tuple(source.part(part) for part in parts)
    if not wanted:
        raise UserError(f"no part of {source.name} was named: name one, such as cat")
    return wanted


def _listed(source: Source, folder: Path) -> tuple[Remote, ...]:
    """The archives that a source's Zenodo record lists, each with its checksum."""
    by_hand = f"get it from {source.home} and put it into {folder}"
    if source.record is None:
        raise UserError(f"{source.name} is not available and cannot be fetched: {by_hand}")
    try:
        listed = json.loads(read_small(source.record, again=f"run `exemplar data fetch {source.name}`"))["files"]
        files = tuple(Remote(f["links"]["self"], str(f["key"]), str(f["checksum"]), int(f["size"])) for f in listed)
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{source.record} does not list its files the way it used to: {by_hand}") from problem
    archives = tuple(file for file in files if file.filename.lower().endswith(ARCHIVES))
    safe = all(re.fullmatch(r"[\w.-]+", f.filename) and re.fullmatch(r"md5:[0-9a-f]{32}", f.checksum) for f in archives)
    if not (archives and safe):
        raise UserError(f"{source.record} lists no archive with a checksum: {by_hand}")
    return archives


def quickdraw_file(part: str) -> Remote:
    """A category's file: "cat" for its 28 px bitmaps, "simplified/cat" or "raw/cat" for its strokes."""
    kind, _, category = part.rpartition("/")
    if kind not in ("", "simplified", "raw") or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 -]*", category):
        raise UserError(f"{part!r} is no part of quickdraw: name a category, such as cat, simplified/cat or raw/cat")
    place = f"{kind}/{category}.ndjson" if kind else f"numpy_bitmap/{category}.npy"
    # Both kinds of strokes are CATEGORY.ndjson at home: here each has the name under which a browser saves it.
    filename = f"full_{kind}_{category}.ndjson" if kind else f"{category}.npy"
    return Remote(f"{QUICKDRAW}/{urllib.parse.quote(place)}", filename, "server")


_OMNIGLOT = "https://github.com/brendenlake/omniglot"
_CIFAR = "https://www.cs.toronto.edu/~kriz"
_CIFAR_FILES = (
    Remote(
        f"{_CIFAR}/cifar-100-binary.tar.gz",
        "cifar-100-binary.tar.gz",
        "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        168513733,
    ),
)
_CIFAR_READABLE = (("train.npz", "val.npz", "test.npz"), ("cifar-100-binary.tar.gz",))
_KRIZHEVSKY = "Krizhevsky (2009), Learning multiple layers of features from tiny images"

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            name="omniglot",
            folder="omniglot",
            readable=(
                ("images_105_packbits.npz",),
                ("images_background.zip", "images_evaluation.zip"),
                ("images_background", "images_evaluation"),
            ),
            home=_OMNIGLOT,
            licence="MIT",
            citation="Lake, Salakhutdinov & Tenenbaum (2015), Human-level concept learning through probabilistic program "
            "induction, Science 350, 1332–1338",
            files=tuple(
                Remote(f"{_OMNIGLOT}/raw/master/python/{filename}", filename, checksum, size)
                for filename, checksum, size in (
                    (
                        "images_background.zip",
                        "sha256:ad41ab679c8b5d90b271ef46be6987cc81211774a695c29dcc5367b2b26ee640",
                        9464212,
                    ),
                    (
                        "images_evaluation.zip",
                        "sha256:1f61a8f3366785b057fc117d9228e78a16e3d976c8953b2a10fcc74cf0609cee",
                        6462886,
                    ),
                )
            ),
        ),
        Source(
            name="cifar-fs",
            folder="cifar_fs",
            readable=_CIFAR_READABLE,
            home=f"{_CIFAR}/cifar.html",
            licence="none stated",
            citation=f"{_KRIZHEVSKY}; split: Bertinetto, Henriques, Torr & Vedaldi (2019), Meta-learning with "
            "differentiable closed-form solvers, ICLR",
            files=_CIFAR_FILES,
        ),
        Source(
            name="fc100",
            folder="cifar_fs",
            readable=_CIFAR_READABLE,
            home=f"{_CIFAR}/cifar.html",
            licence="none stated",
            citation=f"{_KRIZHEVSKY}; split: Oreshkin, Rodríguez López & Lacoste (2018), TADAM, NeurIPS",
            files=_CIFAR_FILES,
            note="the same images as cifar-fs, split by superclass",
        ),
        Source(
            name="quickdraw",
            folder="quickdraw",
            readable=(("*.ndjson.gz",), ("*.npz",), ("*.npy",), ("*.ndjson",)),
            home="https://github.com/googlecreativelab/quickdraw-dataset",
            licence="CC BY 4.0",
            citation="Ha & Eck (2018), A neural representation of sketch drawings, ICLR; data by Google",
            part=quickdraw_file,
            note="345 categories, fetched one by one; a file is held against the MD5 that its server states",
        ),
        Source(
            name="slimagenet64",
            folder="slimagenet64",
            readable=(
                *((f"*{end}",) for end in ARCHIVES),
                ("train", "val", "test"),
                ("*/train", "*/val", "*/test"),
            ),
            home="https://zenodo.org/record/3672132",
            licence="see its home; the images are ImageNet's, for non-commercial research",
            citation="Antoniou, Patacchiola, Ochal & Storkey (2020), Defining benchmarks for continual few-shot learning, "
            "arXiv:2004.11967",
            record="https://zenodo.org/api/records/3672132",
            note="the archive's MD5 is read from its record and pinned beside it",
        ),
        Source(
            name="human",
            folder="human",
            readable=(("*.npz",),),
            home="https://osf.io/pj6wm",
            licence="MIT",
            citation="Lee & DiCarlo (2023), How well do rudimentary plasticity rules predict adult visual object "
            "learning?, PLoS Computational Biology 19",
            note="people learning objects; counts over sessions ship with the package, the trials are at the home",
            shipped="learn/people_counts",
        ),
    )
}
