"""How long loading all of Omniglot takes and what memory it needs, beside a plain loop of Pillow into one array.

Without EXEMPLAR_DATA the drawings are invented; the official zips are made from them in a temporary folder either way, as two
encoders make them: Pillow, which filters rows as they compress best, and libpng, which by itself leaves rows of one bit as they
are (which of them is nearer to the official files is not known here).
"""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from exemplar import seeds
from exemplar.images import bilevel, omniglot
from record import record, timed


def load_plainly(folder: Path) -> np.ndarray:
    """What one writes without a loader: every PNG of the zips into (n, 105, 105) uint8."""
    images = []
    for half in ("images_background", "images_evaluation"):
        with zipfile.ZipFile(folder / f"{half}.zip") as archive:
            for name in sorted(archive.namelist()):
                images.append(255 - np.asarray(Image.open(io.BytesIO(archive.read(name))).convert("L")))
    return np.stack(images)


def apart(function: Callable[..., Any], *arguments: object) -> Any:
    """One call in a process of its own. The data never enters this one: a child's peak memory begins at its parent's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def measure(load: Callable[[Path], object], folder: Path) -> tuple[float, float]:
    """CPU seconds, and the growth of peak memory in MB, of one call."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is bytes on a Mac, KB elsewhere
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    kept = load(folder)
    seconds, after = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del kept
    return seconds, (after - before) * unit / 1e6


def by_pillow(ink: np.ndarray) -> bytes:
    """ink: (105, 105) uint8, ink 1 → a PNG, black on white."""
    file = io.BytesIO()
    Image.fromarray(ink == 0).save(file, "png")
    return file.getvalue()


def by_libpng(ink: np.ndarray) -> bytes:
    """As `by_pillow`, with no row filtered."""
    rows = np.packbits(ink == 0, axis=1)
    lines = np.concatenate([np.zeros((len(rows), 1), np.uint8), rows], axis=1).tobytes()

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", ink.shape[1], ink.shape[0], 1, 0, 0, 0, 0)
    return bilevel.SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def write_official(folder: Path, bits: np.ndarray, encode: Callable[[np.ndarray], bytes]) -> None:
    """bits: (32460, 1379) uint8, in our order."""
    row = 0
    for alphabet in omniglot.read_census():
        half = "images_background" if alphabet.background else "images_evaluation"
        with zipfile.ZipFile(folder / f"{half}.zip", "a", zipfile.ZIP_DEFLATED) as archive:
            for character in range(1, len(alphabet.part) + 1):
                for drawer in range(1, omniglot.N_DRAWERS + 1):
                    ink = np.unpackbits(bits[row], count=omniglot.SIDE**2).reshape(omniglot.SIDE, omniglot.SIDE)
                    name = f"{row // omniglot.N_DRAWERS + 1:04}_{drawer:02}.png"
                    archive.writestr(f"{half}/{alphabet.name}/character{character:02}/{name}", encode(ink))
                    row += 1


def write_npz(path: Path, bits: np.ndarray) -> None:
    census = omniglot.read_census()
    sizes = [len(alphabet.part) for alphabet in census]
    np.savez_compressed(
        path,
        packed_ink=bits,
        alphabet=np.repeat(np.arange(len(census)), np.multiply(sizes, omniglot.N_DRAWERS)),
        char_in_alphabet=np.repeat(np.concatenate([np.arange(1, n + 1) for n in sizes]), omniglot.N_DRAWERS),
        drawer=np.tile(np.arange(1, omniglot.N_DRAWERS + 1), sum(sizes)),
        alphabet_names=np.array([alphabet.name for alphabet in census]),
    )


def invented() -> np.ndarray:
    """(32460, 1379) uint8 with as much ink as Omniglot has, in blocks of a byte."""
    n = sum(len(alphabet.part) for alphabet in omniglot.read_census()) * omniglot.N_DRAWERS
    return (seeds.rng("speed of omniglot").random((n, omniglot.N_BYTES), np.float32) < 0.08).astype(np.uint8) * 255


def prepare(stored: Path, zips: dict[str, Path]) -> None:
    """The official zips of what `stored` has, or of invented drawings, which are put there first. zips: encoder → folder."""
    if not (stored / omniglot.IMAGES).is_file():
        write_npz(stored / omniglot.IMAGES, invented())
    pixels = omniglot.load_omniglot(stored).pixels
    assert isinstance(pixels, omniglot.Packed)
    for encoder, folder in zips.items():
        write_official(folder, pixels.bits, {"Pillow": by_pillow, "libpng": by_libpng}[encoder])


def main() -> None:
    real = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "omniglot"
    with tempfile.TemporaryDirectory() as temporary:
        zips = {encoder: Path(temporary) / encoder for encoder in ("Pillow", "libpng")}
        for folder in zips.values():
            folder.mkdir()
        stored = real if (real / omniglot.IMAGES).is_file() else Path(temporary)
        apart(prepare, stored, zips)
        loops = {encoder: apart(measure, load_plainly, folder) for encoder, folder in zips.items()}
        found = {f"official zips, drawings encoded as by {encoder}": (apart(measure, omniglot.load_omniglot, folder), encoder)
                 for encoder, folder in zips.items()}  # fmt: skip
        found["npz"] = (apart(measure, omniglot.load_omniglot, stored), "Pillow")
    print(f"{'all 32,460 drawings':50} {'CPU s':>7} {'MB':>6} {'loop, s':>8} {'ratio':>6} {'memory':>7}")
    rows, seen = [], []
    for name, ((seconds, memory), encoder) in found.items():
        loop, most = loops[encoder]
        print(f"{name:50} {seconds:7.2f} {memory:6.0f} {loop:8.2f} {loop / seconds:5.1f}× {memory / most:6.2f}×")
        peer = f"Pillow loop over the zips, {most:.0f} MB"
        rows.append(timed(f"load_omniglot, {name}, {memory:.0f} MB", seconds, "CPU s", peer, loop))
        seen.append(f"{name} {loop / seconds:.1f} ×")
    share = max(memory / loops[encoder][1] for (_, memory), encoder in found.values())
    record(
        __file__,
        "reading all 32,460 drawings of Omniglot, next to a Pillow loop over the official zips",
        rows,
        seen=f"{', '.join(seen)} as fast as a Pillow loop, with {share:.0%} of its memory at most",
    )


if __name__ == "__main__":
    main()
