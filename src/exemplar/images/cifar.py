"""CIFAR-FS and FC100: the 100 classes × 600 images of CIFAR-100 (Krizhevsky), split by class or by superclass.

Read from {train,val,test}.npz, or from the public cifar-100-binary.tar.gz; classes come in the same order from both. (The
npz of train holds JPEG files, so its pixels differ a little from the archive's.)
"""

from __future__ import annotations

import tarfile
from importlib import resources
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, shortened, unknown
from exemplar.files import read_npz, reading
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Encoded, Pixels, Plain
from exemplar.unpacking import open_stream

AGAIN = "move it away and run `exemplar data fetch cifar-fs`"
SPLITS = {
    "train": "64 classes (fc100: 60 classes of 12 superclasses)",
    "val": "16 other classes (fc100: 20 classes of 4 other superclasses)",
    "test": "20 other classes (fc100: 20 classes of 4 other superclasses)",
}
FC100 = {
    "val": ("large_carnivores", "large_omnivores_and_herbivores", "non-insect_invertebrates", "small_mammals"),
    "test": ("aquatic_mammals", "insects", "medium_mammals", "people"),
}
MEMBERS = ("fine_label_names.txt", "coarse_label_names.txt", "train.bin", "test.bin")
ARCHIVE = "cifar-100-binary.tar.gz"
SHAPE = (32, 32, 3)
RECORD = 2 + 3 * 32 * 32  # bytes: superclass, class, then the red, green and blue planes


def load_cifar_fs(folder: Path, split: str) -> ConceptSet:
    """CIFAR-FS: 64 / 16 / 20 classes × 600 images of 32 × 32 RGB. The concept is the class, the group its superclass;
    classes by superclass and name, images in the order of the file (archive: training file first)."""
    if split not in SPLITS:
        raise unknown("split of cifar-fs", split, SPLITS)
    classes = [name for name, (part, _) in read_classes().items() if part == split]
    return _load(folder, f"cifar-fs/{split}", classes)


def load_fc100(folder: Path, split: str) -> ConceptSet:
    """FC100: the same images, 60 / 20 / 20 classes, no superclass in two splits."""
    if split not in SPLITS:
        raise unknown("split of fc100", split, SPLITS)
    part_of = {superclass: part for part, members in FC100.items() for superclass in members}
    classes = [name for name, (_, group) in read_classes().items() if part_of.get(group, "train") == split]
    return _load(folder, f"fc100/{split}", classes)


def read_classes() -> dict[str, tuple[str, str]]:
    """Class → (its split of CIFAR-FS, its superclass), in our order, from the list that comes with the package."""
    text = resources.files("exemplar.images").joinpath("cifar_fs.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {name: (split, superclass) for superclass, name, split in lines}


def _load(folder: Path, title: str, classes: list[str]) -> ConceptSet:
    """These classes, in this order."""
    known = read_classes()
    if (folder / ARCHIVE).is_file():
        store, names = _from_archive(folder / ARCHIVE, classes)
    else:
        store, names = _from_npz(folder, classes)
    return ConceptSet.of(title, store, names, group=[known[name][1] for name in names], family=title.partition("/")[0])


def _from_npz(folder: Path, classes: list[str]) -> tuple[Pixels, list[str]]:
    """The image files of these classes, taken out of the npz files that have them, and the class of each."""
    known = read_classes()
    files: dict[str, np.ndarray] = {}  # class → its images' bytes, one after the other
    lengths: dict[str, np.ndarray] = {}
    for split in dict.fromkeys(known[name][0] for name in classes):
        path = folder / f"{split}.npz"
        if not path.is_file():
            raise UserError(f"{folder} has neither {ARCHIVE} nor {split}.npz: put CIFAR-100's archive there")
        at = read_npz(
            path, encoded=("u", 1), offset=("iu", 1), label=("iu", 1), class_name=("U", 1), superclass=("U", 1)
        )
        _check_npz(path, at, {name: group for name, (part, group) in known.items() if part == split})
        offset = at["offset"].astype(np.int64)
        starts = np.searchsorted(at["label"], np.arange(len(at["class_name"]) + 1))
        for name, first, last in zip(at["class_name"].tolist(), starts[:-1], starts[1:], strict=True):
            if name in classes:
                files[name] = at["encoded"][offset[first] : offset[last]]
                lengths[name] = np.diff(offset[first : last + 1])
    data = np.concatenate([files[name] for name in classes])
    offset = np.concatenate([[0], np.cumsum(np.concatenate([lengths[name] for name in classes]))])
    return Encoded(data, offset, SHAPE), [name for name in classes for _ in lengths[name]]


def _check_npz(path: Path, at: dict[str, np.ndarray], expected: dict[str, str]) -> None:
    """expected: class → superclass."""
    offset, label, names = at["offset"].astype(np.int64), at["label"], at["class_name"].tolist()
    if len(names) != len(at["superclass"]) or dict(zip(names, at["superclass"].tolist(), strict=True)) != expected:
        raise UserError(f"{path} does not name the {len(expected)} classes of its split of CIFAR-FS: {AGAIN}")
    fits = len(offset) == len(label) + 1 and at["encoded"].dtype == np.uint8
    if not (fits and offset[0] == 0 and offset[-1] == len(at["encoded"]) and (np.diff(offset) > 0).all()):
        raise UserError(f"{path}: encoded, offset and label do not fit together: {AGAIN}")
    if (np.diff(label.astype(np.int64)) < 0).any() or not _is_balanced(label, len(names)):
        raise UserError(f"{path} must have equally many images of each class, class by class: {AGAIN}")


def _is_balanced(label: np.ndarray, n_classes: int) -> bool:
    """Whether all classes from 0 to n_classes − 1, and no others, have equally many images."""
    values, counts = np.unique(label, return_counts=True)
    return np.array_equal(values, np.arange(n_classes)) and len(set(counts.tolist())) == 1


def _from_archive(path: Path, classes: list[str]) -> tuple[Pixels, list[str]]:
    """The images of these classes out of CIFAR-100's own archive, and the class of each."""
    known, label, kept = read_classes(), [], []
    with reading(path, "CIFAR-100's binary archive"):
        content = _read_members(path)
        fine, coarse = (content[f"{kind}_label_names.txt"].decode("ascii").split() for kind in ("fine", "coarse"))
        if set(fine) != set(known):
            raise ValueError(f"classes {shortened(sorted(set(fine) ^ set(known)))} are not the same as CIFAR-100's")
        wanted = [fine.index(name) for name in classes]
        for file in ("train.bin", "test.bin"):
            records = np.frombuffer(content.pop(file), np.uint8).reshape(-1, RECORD)
            label.append(records[:, :2].copy())
            kept.append(records[np.isin(records[:, 1], wanted)])
        pairs = np.concatenate(label)
        if not _is_balanced(pairs[:, 1], len(fine)):
            raise ValueError("it should have equally many images of each class")
        for group, name in np.unique(pairs, axis=0).tolist():
            if group >= len(coarse) or known[fine[name]][1] != coarse[group]:
                raise ValueError(f"{fine[name]} has another superclass than in CIFAR-100")
    records = np.concatenate(kept)
    rank = np.zeros(len(fine), np.int64)
    rank[wanted] = np.arange(len(wanted))
    records = records[np.argsort(rank[records[:, 1]], kind="stable")]
    images = records[:, 2:].reshape(-1, 3, *SHAPE[:2]).transpose(0, 2, 3, 1)
    return Plain(np.ascontiguousarray(images)), [fine[k] for k in records[:, 1]]


def _read_members(path: Path) -> dict[str, bytes]:
    """The files we need, by name, in one pass; KeyError where one is missing."""
    found: dict[str, bytes] = {}
    with open_stream(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                found[member.name] = file.read()
        while stream.read(1 << 20):  # to the end, where gzip keeps its checksum
            pass
    return {name: found[f"cifar-100-binary/{name}"] for name in MEMBERS}
