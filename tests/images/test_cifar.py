"""CIFAR-FS and FC100, from npz files and from CIFAR-100's own archive."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from exemplar.errors import UserError
from exemplar.images import cifar
from exemplar.images.cifar import load_cifar_fs, load_fc100, read_classes
from exemplar.images.concepts import ConceptSet

REAL = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "cifar_fs"
needs_real = pytest.mark.skipif(not (REAL / "train.npz").is_file(), reason="EXEMPLAR_DATA has no CIFAR-FS")
Load = Callable[[Path, str], ConceptSet]
SIZES = [
    (load_cifar_fs, "train", 64, 20),
    (load_cifar_fs, "val", 16, 11),
    (load_cifar_fs, "test", 20, 13),
    (load_fc100, "train", 60, 12),
    (load_fc100, "val", 20, 4),
    (load_fc100, "test", 20, 4),
]
N = 3  # images of each class, two of them in train.bin


def picture(name: str, k: int) -> np.ndarray:
    """Image k of a class: (32, 32, 3) uint8, different for each, not symmetric in rows, columns or colours."""
    where = [*sorted(read_classes()), "a thing"].index(name)
    image = np.zeros((32, 32, 3), np.uint8)
    image[k, :, 0], image[:, 5, 1], image[20, 30] = where, 100 + k, (1, 2, 3)
    return image


def write_archive(path: Path, *, coarse_of: dict[str, str] | None = None, cut: int = 0, skip: str = "") -> None:
    """CIFAR-100's layout, small: names sorted, records shuffled by class."""
    groups = {name: group for name, (_, group) in read_classes().items()} | (coarse_of or {})
    fine, coarse = sorted(groups), sorted(set(groups.values()))

    def records(images: range) -> bytes:
        parts = []
        for k in images:
            for name in reversed(fine):
                head = bytes([coarse.index(groups[name]), fine.index(name)])
                parts.append(head + picture(name, k).transpose(2, 0, 1).tobytes())
        return b"".join(parts)

    files = {
        "fine_label_names.txt": "\n".join(fine).encode() + b"\n\n",
        "coarse_label_names.txt": "\n".join(coarse).encode() + b"\n",
        "train.bin": records(range(N - 1)),
        "test.bin": records(range(N - 1, N)),
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            if name != skip:
                content = content[: len(content) - cut]
                member = tarfile.TarInfo(f"cifar-100-binary/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def write_npz(folder: Path, **changed: np.ndarray) -> None:
    """The npz form of the same images, as PNG files."""
    for split in cifar.SPLITS:
        classes = [(group, name) for name, (part, group) in read_classes().items() if part == split]
        files = []
        for _, name in classes:
            for k in range(N):
                file = io.BytesIO()
                Image.fromarray(picture(name, k)).save(file, "png")
                files.append(file.getvalue())
        arrays: dict[str, np.ndarray] = {
            "encoded": np.frombuffer(b"".join(files), np.uint8),
            "offset": np.cumsum([0, *map(len, files)]),
            "label": np.repeat(np.arange(len(classes), dtype=np.int16), N),
            "class_name": np.array([name for _, name in classes]),
            "superclass": np.array([group for group, _ in classes]),
        }
        np.savez(folder / f"{split}.npz", **{**arrays, **changed})  # type: ignore[arg-type]


def refused(load: Load, folder: Path, split: str = "train") -> str:
    with pytest.raises(UserError) as caught:
        load(folder, split)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("load", "split", "n_classes", "n_groups"), SIZES)
def test_the_archive_and_the_npz_files_give_the_same_images_in_the_same_order(
    tmp_path: Path, load: Load, split: str, n_classes: int, n_groups: int
) -> None:
    packed, official = tmp_path / "npz", tmp_path / "tar"
    packed.mkdir()
    official.mkdir()
    write_npz(packed)
    write_archive(official / cifar.ARCHIVE)
    first, second = load(packed, split), load(official, split)
    assert first.name == second.name
    assert first.concepts == second.concepts
    assert (first.n_concepts, len(first.group.names)) == (n_classes, n_groups)
    for ours in (first, second):
        assert set(ours.counts) == {N}
        for row in range(len(ours)):
            np.testing.assert_array_equal(ours.take([row])[0], picture(ours.concept[row], row % N))
            assert ours.group[row] == read_classes()[ours.concept[row]][1]


@pytest.mark.parametrize("load", [load_cifar_fs, load_fc100])
def test_no_class_is_in_two_splits_and_none_is_left_out(tmp_path: Path, load: Load) -> None:
    write_archive(tmp_path / cifar.ARCHIVE)
    parts = [load(tmp_path, split) for split in cifar.SPLITS]
    assert sorted(name for part in parts for name in part.concepts) == sorted(read_classes())
    if load is load_fc100:
        assert sum(len(part.group.names) for part in parts) == 20  # no superclass twice


def test_the_list_is_cifar_100() -> None:
    classes = read_classes()
    groups = [group for _, group in classes.values()]
    assert len(classes) == 100
    assert {groups.count(group) for group in groups} == {5}
    assert classes["maple_tree"][1] == "trees"
    assert {name for name, (_, group) in classes.items() if group == "people"} == {
        "baby",
        "boy",
        "girl",
        "man",
        "woman",
    }
    assert set(cifar.FC100["val"] + cifar.FC100["test"]) < set(groups)


def test_an_unknown_split_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    assert "val" in refused(load_cifar_fs, tmp_path, "vall")
    assert "fc100" in refused(load_fc100, tmp_path, "weak-test")
    assert "neither" in refused(load_cifar_fs, tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"encoded": np.zeros(3, np.uint8)},
        {"encoded": np.zeros(3, np.float32)},
        {"offset": np.array([0, 1])},
        {"offset": np.array([], np.int64)},
        {"label": np.zeros(64 * N, np.int16)},
        {"label": np.arange(64 * N, dtype=np.int16)[::-1]},
        {"class_name": np.array(["dog"])},
        {"superclass": np.array(["fish"] * 64)},
    ],
)
def test_an_npz_that_does_not_fit_is_refused(tmp_path: Path, changed: dict[str, np.ndarray]) -> None:
    write_npz(tmp_path, **changed)
    assert "train.npz" in refused(load_cifar_fs, tmp_path)


def test_an_archive_that_is_not_cifar_100_is_refused(tmp_path: Path) -> None:
    path = tmp_path / cifar.ARCHIVE
    write_archive(path, cut=1)
    assert "cannot be read" in refused(load_cifar_fs, tmp_path)
    write_archive(path, cut=cifar.RECORD)
    assert "cannot be read" in refused(load_cifar_fs, tmp_path)
    write_archive(path, skip="test.bin")
    assert "test.bin" in refused(load_cifar_fs, tmp_path)
    write_archive(path, coarse_of={"apple": "trees", "maple_tree": "fruit_and_vegetables"})
    assert "superclass" in refused(load_cifar_fs, tmp_path)
    write_archive(path, coarse_of={"a thing": "trees"})
    assert "classes" in refused(load_cifar_fs, tmp_path)
    write_archive(path)
    whole = path.read_bytes()
    for length in (0, 10, 1000, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:length])
        assert cifar.ARCHIVE in refused(load_fc100, tmp_path)


@needs_real
@pytest.mark.parametrize(("load", "split", "n_classes", "n_groups"), SIZES)
def test_the_real_splits_have_600_images_of_each_class(load: Load, split: str, n_classes: int, n_groups: int) -> None:
    images = load(REAL, split)
    assert (images.n_concepts, len(images.group.names)) == (n_classes, n_groups)
    assert set(images.counts) == {600}
    assert images.shape == (32, 32, 3)
    assert 60 < images.take(np.arange(0, len(images), 300)).mean() < 190


@needs_real
def test_fc100_shows_the_images_of_cifar_fs() -> None:
    ours, theirs = load_fc100(REAL, "test"), load_cifar_fs(REAL, "val")
    assert "beaver" in theirs.concepts
    np.testing.assert_array_equal(ours.take(ours.rows("beaver")[:20]), theirs.take(theirs.rows("beaver")[:20]))
