"""A small file does not fill the memory: whatever unpacks to more than is allowed is refused before it does."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import exemplar
from exemplar import unpacking
from exemplar.errors import UserError
from exemplar.files import read_npz
from exemplar.images.archives import read_tree
from exemplar.images.cifar import load_cifar_fs
from exemplar.images.folder import load_npz
from exemplar.images.quickdraw import read_sketches
from exemplar.images.slimagenet import load_slimagenet64
from exemplar.records import Scores
from exemplar.store import unpack

ZEROS = 2_000_000


def npz(folder: Path) -> Path:
    np.savez_compressed(
        folder / "x.npz",
        images=np.zeros((20, 1000, 100), np.uint8),
        concept=np.zeros(20, int),
        features=np.zeros((250, 1000)),
    )
    return folder / "x.npz"


def zipped(folder: Path, name: str) -> Path:
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b", bytes(ZEROS))
    return folder / name


def packed(folder: Path, name: str, opener: Callable[..., object]) -> Path:
    with opener(folder / name, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:  # type: ignore[attr-defined]
        entry = tarfile.TarInfo("zeros")
        entry.size = ZEROS
        tar.addfile(entry, Zeros())  # type: ignore[arg-type]
    return folder / name


class Zeros:
    def read(self, n: int = -1) -> bytes:
        return bytes(max(n, 0))


def sketches(folder: Path) -> Path:
    with gzip.open(folder / "full.ndjson.gz", "wb") as file:
        file.write(b" " * ZEROS)
    return folder / "full.ndjson.gz"


def table(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"value": np.zeros(ZEROS)}), folder / "scores.parquet")
    return folder


LOADERS: dict[str, Callable[[Path], object]] = {
    "read_npz": lambda folder: read_npz(npz(folder), features=("f", 2)),
    "images": lambda folder: load_npz(npz(folder)),
    "kept results": lambda folder: unpack(npz(folder).read_bytes()),
    "omniglot": lambda folder: list(read_tree(zipped(folder, "x.zip").parent, "x", re.compile(".*"))),
    "cifar": lambda folder: load_cifar_fs(packed(folder, "cifar-100-binary.tar.gz", gzip.open).parent, "test"),
    "slimagenet zip": lambda folder: load_slimagenet64(zipped(folder, "x.zip").parent, "test"),
    "slimagenet gz": lambda folder: load_slimagenet64(packed(folder, "x.tar.gz", gzip.open).parent, "test"),
    "slimagenet bz2": lambda folder: load_slimagenet64(packed(folder, "x.tar.bz2", bz2.open).parent, "test"),
    "slimagenet xz": lambda folder: load_slimagenet64(packed(folder, "x.tar.xz", lzma.open).parent, "test"),
    "quickdraw": lambda folder: list(read_sketches(sketches(folder))),
    "records": lambda folder: Scores.load(table(folder)),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_what_unpacks_to_too_much_is_refused(loader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(unpacking.VARIABLE, "0.001")
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UserError, match=r"unpacks to .*the limit is 0\.001: .*set EXEMPLAR_UNPACK_GB"):
        LOADERS[loader](tmp_path)


def test_the_limit_is_said_and_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unpacking.most_bytes() == 4_000_000_000
    monkeypatch.setenv(unpacking.VARIABLE, "0.001")
    np.savez(tmp_path / "stored.npz", features=np.zeros((250, 1000)))  # takes as much on the disk: nobody is surprised
    assert read_npz(tmp_path / "stored.npz", features=("f", 2))["features"].shape == (250, 1000)
    monkeypatch.setenv(unpacking.VARIABLE, "3")
    assert read_npz(npz(tmp_path), features=("f", 2))["features"].shape == (250, 1000)
    for wrong in ("many", "0", "-1", "inf"):
        monkeypatch.setenv(unpacking.VARIABLE, wrong)
        with pytest.raises(UserError, match="must be a number of gigabytes above 0"):
            unpacking.most_bytes()


def test_a_member_longer_than_it_says_is_damaged() -> None:
    import zlib

    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    content = deflate.compress(bytes(ZEROS)) + deflate.flush()
    assert unpacking.inflate(content, ZEROS) == bytes(ZEROS)
    with pytest.raises(zlib.error, match="should unpack to 10 bytes"):
        unpacking.inflate(content, 10)


def test_nothing_else_opens_compressed_files() -> None:
    pattern = re.compile(r"(gzip|bz2|lzma)\.open|zlib\.decompress\(|ZipFile\([^\"']*\)$|np\.load\((?!.*mmap_mode)")
    allowed = {"unpacking.py", "quickdraw_fs.py"}  # the latter reads what ships with the package
    root = Path(exemplar.__file__ or "").parent
    found = {p.name for p in root.rglob("*.py") if any(map(pattern.search, p.read_text("utf-8").splitlines()))}
    assert found <= allowed
