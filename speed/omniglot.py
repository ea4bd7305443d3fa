"""How long loading all of Omniglot takes and what memory it needs, beside a plain loop of Pillow into one array.

Without EXEMPLAR_DATA the drawings are invented; the official zips are made from them in a temporary folder either way.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from exemplar import seeds
from exemplar.images import omniglot
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


def write_official(folder: Path, bits: np.ndarray) -> None:
    """bits: (32460, 1379) uint8, in our order."""
    row = 0
    for alphabet in omniglot.read_census():
        half = "images_background" if alphabet.background else "images_evaluation"
        with zipfile.ZipFile(folder / f"{half}.zip", "a") as archive:
            for character in range(1, len(alphabet.part) + 1):
                for drawer in range(1, omniglot.N_DRAWERS + 1):
                    ink = np.unpackbits(bits[row], count=omniglot.SIDE**2).reshape(omniglot.SIDE, omniglot.SIDE)
                    file = io.BytesIO()
                    Image.fromarray(ink == 0).save(file, "png")
                    name = f"{row // omniglot.N_DRAWERS + 1:04}_{drawer:02}.png"
                    archive.writestr(f"{half}/{alphabet.name}/character{character:02}/{name}", file.getvalue())
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


def prepare(stored: Path, zips: Path) -> None:
    """The official zips of what `stored` has, or of invented drawings, which are put there first."""
    if not (stored / omniglot.IMAGES).is_file():
        write_npz(stored / omniglot.IMAGES, invented())
    pixels = omniglot.load_omniglot(stored).pixels
    assert isinstance(pixels, omniglot.Packed)
    write_official(zips, pixels.bits)


def main() -> None:
    real = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "omniglot"
    with tempfile.TemporaryDirectory() as temporary:
        zips = Path(temporary) / "zips"
        zips.mkdir()
        stored = real if (real / omniglot.IMAGES).is_file() else Path(temporary)
        apart(prepare, stored, zips)
        plain = apart(measure, load_plainly, zips)
        rows = {
            "Pillow loop over the zips": plain,
            "load_omniglot, official zips": apart(measure, omniglot.load_omniglot, zips),
            "load_omniglot, npz": apart(measure, omniglot.load_omniglot, stored),
        }
    print(f"{'all 32,460 drawings':30} {'CPU s':>7} {'MB':>6} {'time':>7} {'memory':>7}")
    for name, (seconds, memory) in rows.items():
        print(f"{name:30} {seconds:7.2f} {memory:6.0f} {seconds / plain[0]:6.2f}× {memory / plain[1]:6.2f}×")
    loop, *ours = rows
    record(
        __file__,
        "reading all 32,460 drawings of Omniglot, next to a Pillow loop over the official zips",
        [
            timed(f"{name}, {rows[name][1]:.0f} MB", rows[name][0], "CPU s", f"{loop}, {plain[1]:.0f} MB", plain[0])
            for name in ours
        ],
        seen=", ".join(f"{name.partition(', ')[2]} {plain[0] / rows[name][0]:.1f} ×" for name in ours)
        + f" as fast as a Pillow loop, with {max(rows[name][1] for name in ours) / plain[1]:.0%} of its memory at most",
    )


if __name__ == "__main__":
    main()
