"""SlimageNet64 on a small archive in its layout: 3 / 2 / 2 classes × 4 images."""

import bz2
import io
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images import slimagenet
from exemplar.images.checksums import checksum_of, pin
from exemplar.images.slimagenet import SPLITS, load_slimagenet64
from exemplar.images.sources import cache_folder
from served import names

CLASSES = {
    "train": ("n01440764", "n01443537", "n02084071"),
    "val": ("n02121808", "n02374451"),
    "test": ("n03001627", "n04256520"),
}


def png(*name: object, size: int = 64, color: bool = True) -> bytes:
    pixels = seeds.rng("slimagenet", *name).integers(0, 256, (size, size, 3) if color else (size, size), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def small() -> dict[str, bytes]:
    """Path → content, in an order that is not the sorted one; one image is grey, as some of ImageNet's are."""
    return {
        f"SlimageNet64/{split}/{concept}/{concept}_{k}.png": png(concept, k, color=k != 2)
        for split, concepts in CLASSES.items()
        for k in (10, 2, 1, 3)
        for concept in reversed(concepts)
    }


def write_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def write_tar(path: Path, files: dict[str, bytes], mode: str) -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write_pbzip2(path: Path, files: dict[str, bytes]) -> None:
    """As pbzip2 does: one bzip2 stream for each piece of the tar."""
    write_tar(path, files, "w:")
    content = path.read_bytes()
    path.write_bytes(b"".join(bz2.compress(content[k : k + 50_000]) for k in range(0, len(content), 50_000)))


WRITERS: dict[str, Callable[[Path, dict[str, bytes]], None]] = {
    "slim.zip": write_zip,
    "slim.tar": lambda path, files: write_tar(path, files, "w:"),
    "slim.tar.gz": lambda path, files: write_tar(path, files, "w:gz"),
    "slim.tar.bz2": lambda path, files: write_tar(path, files, "w:bz2"),
    "slim.tar.xz": lambda path, files: write_tar(path, files, "w:xz"),
    "slim.tar.pbzip2": write_pbzip2,
}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "slimagenet64"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def unpack(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_an_archive_and_its_folder_give_the_same_sets(folder: Path, tmp_path: Path, name: str) -> None:
    WRITERS[name](folder / name, small())
    unpack(tmp_path / "unpacked", small())
    for split, concepts in CLASSES.items():
        data = load_slimagenet64(folder, split)
        assert (data.name, data.shape, data.concepts) == (f"slimagenet64/{split}", (64, 64, 3), concepts)
        assert data.counts.tolist() == [4] * len(concepts)
        for place, k in enumerate((1, 2, 3, 10)):
            with Image.open(io.BytesIO(png(concepts[1], k, color=k != 2))) as image:
                assert np.array_equal(data.take(data.rows(concepts[1]))[place], np.asarray(image.convert("RGB")))
        for root in (tmp_path / "unpacked", tmp_path / "unpacked" / "SlimageNet64"):
            other = load_slimagenet64(root, split)
            assert np.array_equal(other.images, data.images) and other.concepts == data.concepts
    assert names(folder) == [name]


def test_an_archive_is_packed_and_hashed_once(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_zip(folder / "slim.zip", small())
    load_slimagenet64(folder, "train")
    packed = f"packed-{checksum_of(folder / 'slim.zip')[4:]}"
    assert [name for name in names(cache) if not name.startswith("verified-")] == [packed]
    assert names(cache / packed) == sorted(f"{split}.{end}" for split in SPLITS for end in ("bin", "npz"))

    def never(*_: object) -> None:
        raise AssertionError("this was done before")

    monkeypatch.setattr(slimagenet, "checksum_of", never)
    monkeypatch.setattr(slimagenet, "_pack", never)
    assert load_slimagenet64(folder, "test").n_concepts == 2
    os.utime(folder / "slim.zip", ns=(1, 1))
    with pytest.raises(AssertionError):  # another time: the hash is worked out again
        load_slimagenet64(folder, "test")


def test_an_archive_is_held_against_its_pin(folder: Path) -> None:
    path = folder / "slim.zip"
    write_zip(path, small())
    pin(path, checksum_of(path, "sha256"))
    load_slimagenet64(folder, "val")
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(UserError, match="does not have its checksum sha256:"):
        load_slimagenet64(folder, "val")


def test_a_pin_that_comes_later_counts_too(folder: Path) -> None:
    write_zip(folder / "slim.zip", small())
    load_slimagenet64(folder, "val")
    pin(folder / "slim.zip", "md5:" + "0" * 32)
    with pytest.raises(UserError, match="does not have its checksum md5:0000"):
        load_slimagenet64(folder, "val")


def refused(folder: Path, cache: Path, words: str) -> None:
    """An error with these words, twice, and nothing half-made in the cache."""
    for _ in range(2):
        with pytest.raises(UserError, match=words) as caught:
            load_slimagenet64(folder, "train")
        assert "\n" not in str(caught.value)
    assert [name for name in names(cache) if not name.startswith("verified-")] == []


@pytest.mark.parametrize("name", sorted(WRITERS))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_truncated_archive_is_refused(folder: Path, cache: Path, name: str, share: float) -> None:
    path = folder / name
    WRITERS[name](path, small())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(folder, cache, "cannot be read|no images for|where other classes have")


@pytest.mark.parametrize(
    "member", ["../train/n1/1.png", "/train/n1/1.png", "a/../../train/n1/1.png", "..\\train\\1.png"]
)
@pytest.mark.parametrize("name", ["slim.zip", "slim.tar.gz"])
def test_a_member_that_points_outside_is_refused(
    folder: Path, cache: Path, tmp_path: Path, name: str, member: str
) -> None:
    if name.endswith(".zip"):
        write_zip(folder / name, {**small(), member: png(1)})
    else:
        with tarfile.open(folder / name, "w:gz") as archive:
            info = tarfile.TarInfo(member)
            archive.addfile(info)
    before = {path for path in tmp_path.rglob("*") if cache not in path.parents and path not in (cache, cache.parent)}
    refused(folder, cache, "points outside")
    after = {path for path in tmp_path.rglob("*") if cache not in path.parents and path not in (cache, cache.parent)}
    assert after == before


def test_a_link_in_a_tar_is_refused(folder: Path, cache: Path) -> None:
    with tarfile.open(folder / "slim.tar", "w") as archive:
        info = tarfile.TarInfo("SlimageNet64/train/n1/1.png")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    refused(folder, cache, "is no file")


def without(part: str) -> dict[str, bytes]:
    return {name: content for name, content in small().items() if part not in name}


TEST = "SlimageNet64/test/n03001627"
WRONG = {
    "no val": (without("/val/"), "no images for val"),
    "one missing": (without("n03001627_2"), "has 3 images of test/n03001627 where other classes have 4"),
    "two splits": ({**small(), **{f"SlimageNet64/val/n03001627/{k}.png": png(k) for k in range(4)}}, "in two splits"),
    "no class": ({**small(), "SlimageNet64/test/1.png": png(1)}, "has an image at SlimageNet64/test/1.png"),
    "too deep": ({**small(), f"{TEST}/more/1.png": png(1)}, "has an image at"),
    "twice": ({**small(), "copy/train/n1/1.png": png(1)}, "twice"),
    "other size": ({**small(), f"{TEST}/1.png": png(1, size=32)}, "is not 64 × 64 px"),
    "no image": ({**small(), f"{TEST}/1.png": b"hello"}, "cannot be read as an image"),
    "enormous": ({**small(), f"{TEST}/1.png": bytes(1 << 21)}, "2097152 bytes"),
    "empty": ({}, "cannot be read|no images for train, val, test"),
}


@pytest.mark.parametrize("case", sorted(WRONG))
@pytest.mark.parametrize("name", ["slim.zip", "slim.tar.gz"])
def test_another_layout_is_refused(folder: Path, cache: Path, name: str, case: str) -> None:
    files, words = WRONG[case]
    WRITERS[name](folder / name, files)
    refused(folder, cache, words)


def test_what_else_is_in_an_archive_does_not_matter(folder: Path) -> None:
    extra = {
        "SlimageNet64/README.txt": b"hello",
        "__MACOSX/SlimageNet64/train/n1/._1.png": b"x",
        "SlimageNet64/train/.DS_Store": b"x",
        "SlimageNet64/test/n03001627/._1.png": b"x",
    }
    write_zip(folder / "slim.zip", {**extra, **small()})
    assert len(load_slimagenet64(folder, "test")) == 8


def test_an_unpacked_folder_is_checked_too(folder: Path) -> None:
    unpack(folder, without("n03001627_2"))
    with pytest.raises(UserError, match="where other classes have 4"):
        load_slimagenet64(folder, "train")
    unpack(folder, small())
    (folder / TEST / "n03001627_1.png").unlink()
    (folder / TEST / "zzz.png").write_bytes(png(1, size=32))
    with pytest.raises(UserError, match="is not 64 × 64 px"):
        load_slimagenet64(folder, "test")
    shutil.rmtree(folder / "SlimageNet64" / "val")
    with pytest.raises(UserError, match="neither the archive"):
        load_slimagenet64(folder, "train")


def test_mistakes_get_one_sentence(folder: Path, cache: Path) -> None:
    with pytest.raises(UserError, match="did you mean train"):
        load_slimagenet64(folder, "trian")
    with pytest.raises(UserError, match="neither the archive"):
        load_slimagenet64(folder, "train")
    write_zip(folder / "a.zip", small())
    shutil.copy(folder / "a.zip", folder / "b.zip")
    with pytest.raises(UserError, match=r"2 archives \(a\.zip, b\.zip\)"):
        load_slimagenet64(folder, "train")
    assert not cache.exists()


def test_what_a_killed_process_left_is_made_anew(folder: Path, cache: Path) -> None:
    write_zip(folder / "slim.zip", small())
    draft = cache / f"packed-{checksum_of(folder / 'slim.zip')[4:]}.part"
    draft.mkdir(parents=True)
    (draft / "train.bin").write_bytes(b"half")
    assert len(load_slimagenet64(folder, "train")) == 12
    assert not draft.exists()


def test_a_damaged_packed_copy_is_noticed(folder: Path, cache: Path) -> None:
    write_zip(folder / "slim.zip", small())
    load_slimagenet64(folder, "train")
    (packed,) = cache.glob("packed-*")
    (packed / "train.bin").write_bytes((packed / "train.bin").read_bytes()[:-1])
    with pytest.raises(UserError, match="damaged"):
        load_slimagenet64(folder, "train")


def test_a_cache_that_cannot_be_written_is_one_sentence(folder: Path) -> None:
    write_zip(folder / "slim.zip", small())
    cache_folder().write_bytes(b"a file")
    with pytest.raises(UserError, match="EXEMPLAR_CACHE"):
        load_slimagenet64(folder, "train")


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["slim.zip", "slim.tar", "slim.tar.gz"]),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=3)), min_size=1, max_size=3),
)
def test_a_damaged_archive_is_read_or_explained(folder: Path, name: str, damage: list[tuple[float, bytes]]) -> None:
    for old in folder.iterdir():
        old.unlink()
    WRITERS[name](folder / name, small())
    content = bytearray((folder / name).read_bytes())
    for place, new in damage:
        at = int(place * (len(content) - len(new)))
        content[at : at + len(new)] = new
    (folder / name).write_bytes(content)
    try:
        _ = load_slimagenet64(folder, "test").images
    except UserError as problem:
        assert "\n" not in str(problem)
