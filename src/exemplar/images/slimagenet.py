"""SlimageNet64 (Antoniou et al. 2020): 1,000 classes × 200 ImageNet images of 64 × 64, split by the archive's own folders.

Read from the archive as its home offers it (zip, or tar under any compression) or from the folder it unpacks to. An
archive is held against its pin and packed once, in the cache, into one file a split that is read a few images at a time.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, cast

import numpy as np
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError, shortened, unknown
from exemplar.files import read_npz, reading
from exemplar.images.checksums import checksum_of, pinned
from exemplar.images.concepts import ConceptSet, Labels
from exemplar.images.downloads import locked
from exemplar.images.folder import ENDINGS, natural
from exemplar.images.pixels import Encoded, Files
from exemplar.images.sources import ARCHIVES, cache_folder
from exemplar.unpacking import open_stream, open_zip

AGAIN = "move it away and run `exemplar data fetch slimagenet64`"
SPLITS = {
    "train": "the classes of the archive's folder train",
    "val": "the classes of its folder val",
    "test": "the classes of its folder test",
}
SHAPE = (64, 64, 3)
MOST = 1 << 20  # bytes: no file of a 64 px image is larger
LAYOUT = "its images should lie in {train,val,test}/CLASS/"


@dataclass
class Shelf:
    """One split on its way into the packed copy: a file of image files, and what each is."""

    file: IO[bytes]
    offset: list[int] = field(default_factory=lambda: [0])
    concept: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)


def load_slimagenet64(folder: Path, split: str) -> ConceptSet:
    """The images of one split, (64, 64, 3), read when they are asked for. The concept is the class (its WordNet number);
    classes and images by name. No groups, no makers."""
    if split not in SPLITS:
        raise unknown("split of slimagenet64", split, SPLITS)
    archives = sorted(path for path in folder.glob("*") if path.name.lower().endswith(ARCHIVES) and path.is_file())
    if len(archives) > 1:
        raise UserError(f"{folder} holds {len(archives)} archives ({shortened(p.name for p in archives)}): keep one")
    if archives:
        return _load_packed(_packed(archives[0]), split)
    roots = [root for root in (folder, *sorted(folder.glob("*/"))) if all((root / part).is_dir() for part in SPLITS)]
    if not roots:
        raise UserError(f"{folder} holds neither the archive of slimagenet64 nor its folders train, val and test")
    return _load_unpacked(roots[0], split)


def _load_unpacked(root: Path, split: str) -> ConceptSet:
    found = [path for path in root.glob("*/*/*") if path.suffix.lower() in ENDINGS and path.parts[-3] in SPLITS]
    places = sorted((path.parent.name, natural(path.name), path) for path in found if not path.name.startswith("."))
    _check_layout(root, Counter((path.parts[-3], concept) for concept, _, path in places))
    chosen = [(concept, path) for concept, _, path in places if path.parts[-3] == split]
    for path in dict(chosen).values():  # one per class: opening all of them would take minutes
        with reading(path, "an image"), path.open("rb") as file:
            _check_size(file, path)
    files = Files([path for _, path in chosen], SHAPE)
    return ConceptSet.of(f"slimagenet64/{split}", files, [concept for concept, _ in chosen], family="slimagenet64")


def _load_packed(folder: Path, split: str) -> ConceptSet:
    index = read_npz(folder / f"{split}.npz", offset=("i", 1), concept=("U", 1), name=("U", 1))
    with reading(folder / f"{split}.bin", "packed images"):
        data = np.memmap(folder / f"{split}.bin", np.uint8, "r")
    if len(data) != index["offset"][-1]:
        raise UserError(f"{folder} is damaged: remove it, and it is made again")
    store = Encoded(data, index["offset"], SHAPE)
    concepts, code = np.unique(index["concept"], return_inverse=True)
    labels = Labels(tuple(concepts.tolist()), code.astype(np.int32))
    order = sorted(range(len(store)), key=lambda row: (code[row], natural(str(index["name"][row]))))
    return ConceptSet.of(f"slimagenet64/{split}", store, labels, family="slimagenet64").subset(order)


def _packed(archive: Path) -> Path:
    """The packed copy of an archive, made now if there is none yet: in full, or not at all."""
    checksum = _verified(archive)
    place = cache_folder() / "slimagenet64"
    folder = place / f"packed-{checksum.partition(':')[2]}"
    if folder.is_dir():
        return folder
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock, draft = folder.with_suffix(".lock"), folder.with_suffix(".part")
        with locked(lock):
            try:
                if not folder.is_dir():  # another process may just have made it
                    shutil.rmtree(draft, ignore_errors=True)  # ours, from a process that was killed
                    draft.mkdir()
                    _pack(archive, draft)
                    draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
                lock.unlink()
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UserError(
            f"{place} cannot be written ({reason}): make room, or set EXEMPLAR_CACHE to another"
        ) from problem
    return folder


def _verified(archive: Path) -> str:
    """The checksum of an archive, held against the pin beside it; worked out again only if its size or time changes."""
    pin, stat = pinned(archive), archive.stat()
    algorithm = pin.partition(":")[0] if pin else "md5"
    state = [stat.st_size, stat.st_mtime_ns, algorithm]
    memory = cache_folder() / "slimagenet64" / f"verified-{seeds.digest(archive.resolve())}.json"
    try:
        *known, checksum = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        known, checksum = [], ""
    if known != state:
        with reading(archive, "a file"):
            checksum = checksum_of(archive, algorithm)
    if pin is not None and checksum != pin:
        raise UserError(f"{archive} does not have its checksum {pin}: move it away, then fetch slimagenet64 again")
    if known != state:
        try:
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.write_text(json.dumps([*state, checksum]), encoding="utf-8")
        except OSError as problem:
            raise UserError(f"{memory.parent} cannot be written ({problem.strerror}): set EXEMPLAR_CACHE") from problem
    return checksum


def _pack(archive: Path, folder: Path) -> None:
    """Write SPLIT.bin, the image files one after the other, and SPLIT.npz, where each begins and what it is."""
    prefixes: set[tuple[str, ...]] = set()
    shelves = {split: Shelf((folder / f"{split}.bin").open("wb")) for split in SPLITS}
    try:
        for member, content in _members(archive):
            *prefix, split, concept, name = member.parts
            prefixes.add(tuple(prefix))
            if len(prefixes) > 1:
                raise UserError(f"{archive} holds the data set twice ({member}): {LAYOUT}")
            shelf = shelves[split]
            shelf.file.write(content)
            shelf.offset.append(shelf.offset[-1] + len(content))
            shelf.concept.append(concept)
            shelf.name.append(name)
    finally:
        for shelf in shelves.values():
            shelf.file.close()
    _check_layout(archive, Counter((split, concept) for split in SPLITS for concept in shelves[split].concept))
    for split, shelf in shelves.items():
        np.savez(folder / f"{split}.npz", offset=np.array(shelf.offset), concept=shelf.concept, name=shelf.name)


def _members(archive: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Path and content of each image in an archive. Nothing is ever written under a member's own path."""
    for name, size, file in _files(archive):
        member = PurePosixPath(name)
        if member.is_absolute() or ".." in member.parts or "\\" in name:
            raise UserError(f"{archive} has a member that points outside of it ({name!r}): do not use it")
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in member.parts)
        if hidden or member.suffix.lower() not in ENDINGS:
            continue
        if len(member.parts) < 3 or member.parts[-3] not in SPLITS:
            raise UserError(f"{archive} has an image at {member}, so it is no slimagenet64: {LAYOUT}")
        if size > MOST:
            raise UserError(f"{archive} has an image of {size} bytes ({name}), so it is no slimagenet64")
        with reading(archive / member, "an image"):
            content = file.read()
            _check_size(io.BytesIO(content), archive / member)
        yield member, content


def _files(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size in bytes and content of each file, in the archive's order, front to back."""
    with reading(archive, "an archive"):
        if zipfile.is_zipfile(archive):
            with open_zip(archive) as opened:
                for info in opened.infolist():
                    if not info.is_dir():
                        with opened.open(info) as file:
                            yield info.filename, info.file_size, file
            return
        # tarfile would seek, which a compressed file can only do from its beginning, and know one bzip2 stream where
        # pbzip2 writes many: so the bytes come decompressed, as a stream.
        with open_stream(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for entry in tar:
                if entry.isfile():
                    yield entry.name, entry.size, cast(IO[bytes], tar.extractfile(entry))
                elif not entry.isdir():
                    raise UserError(f"{archive} has a member that is no file ({entry.name!r}): do not use it")


def _check_layout(where: Path, n_images: Counter[tuple[str, str]]) -> None:
    """n_images: of each (split, class)."""
    missing = [split for split in SPLITS if not any(part == split for part, _ in n_images)]
    if missing:
        raise UserError(f"{where} has no images for {shortened(missing)}, so it is not whole: {LAYOUT}")
    twice = [concept for concept, n in Counter(concept for _, concept in n_images).items() if n > 1]
    if twice:
        raise UserError(f"{where} has the class {twice[0]} in two splits, so it is no slimagenet64")
    common = Counter(n_images.values()).most_common(1)[0][0]
    for (split, concept), n in n_images.items():
        if n != common:
            raise UserError(f"{where} has {n} images of {split}/{concept} where other classes have {common}: {AGAIN}")


def _check_size(file: IO[bytes], where: Path) -> None:
    try:
        with Image.open(file) as image:
            right = image.size == SHAPE[:2]
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        right = False
    if not right:
        raise UserError(f"{where} is not 64 × 64 px, so this is no slimagenet64")
