"""`exemplar draw score` as a user runs it, in a process of its own: with nothing kept, with people's features kept, and again.

Run: EXEMPLAR_DATA=… python speed/draw_command.py. The peer is the plain way, in one process: every critic encodes the data's
3,000 drawings and the agent's 2,850 by itself, one set after the other, and then everything is scored."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a thread that waits would count as CPU time

import numpy as np
from PIL import Image

import exemplar as ex
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from record import record, timed

COMMAND = "import sys; from exemplar.cli import main; sys.argv[0] = 'exemplar'; main()"


def command_seconds(folder: Path, *words: str) -> float:
    """CPU seconds of a command in a process of its own, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "EXEMPLAR_CACHE": str(folder / "cache")}
    subprocess.run(
        [sys.executable, "-c", COMMAND, *words, "--json"], cwd=folder, env=environment, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plain_seconds() -> float:
    """CPU seconds of the plain way."""
    start = time.process_time()
    data, critics = ex.load("omniglot", "weak-test"), ex.draw.load_critics("omniglot/weak-test")
    task = ex.draw.make_task(data, exemplar="random", rng=np.random.default_rng(0))
    rows = np.stack([np.setdiff1d(data.rows(name), task.exemplar) for name in data.concepts])  # (150, 19)
    k, n = rows.shape

    def encode(space: ex.spaces.Space) -> CriticFeatures:
        own = space.encode(data)
        drawn = space.encode(data.take(rows.ravel())).reshape(k, n, -1)
        return CriticFeatures(space.name, drawn, own[task.exemplar], own[rows])

    sides = (tuple(map(encode, critics.see)), tuple(map(encode, critics.recognise)))
    groups, makers = data.group.code[task.exemplar], data.maker.code[rows]
    ex.draw.score_features(EncodedDrawings(*sides, "people", data.concepts, groups, makers, task.chosen_by, "people"))
    return time.process_time() - start


def write_pngs(folder: Path) -> None:
    """Omniglot's 150 × 20 test drawings as files, in an order of their own."""
    data = ex.load("omniglot", "weak-test")
    for concept in data.concepts:
        place = folder / "png" / concept
        place.mkdir(parents=True)
        for number, image in enumerate(data.take(data.rows(concept)[::-1])):
            Image.fromarray(image).save(place / f"{number:02d}.png")


def main() -> None:
    peer, plain = "every critic by itself, in one process", plain_seconds()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        human = ("draw", "score", "human", "--data", "omniglot")
        cold = command_seconds(folder, *human, "--out", "a")
        kept = command_seconds(folder, *human, "--out", "b")
        again = command_seconds(folder, *human, "--out", "b")
        other = command_seconds(folder, "draw", "score", "noise", "--data", "omniglot")
    with tempfile.TemporaryDirectory() as name:
        write_pngs(Path(name))
        png = command_seconds(Path(name), "draw", "score", "png", "--data", "omniglot")
    rows = [
        timed("people's drawings, nothing kept", cold, "CPU s", peer, plain),
        timed("150 × 20 PNG files, nothing kept", png, "CPU s", peer, plain),
        timed("people's drawings, features of the data kept", kept, "CPU s", peer, plain),
        timed("2,850 new drawings, features of the data kept", other, "CPU s", peer, plain),
        timed("people's drawings, scored before", again, "CPU s", peer, plain),
    ]
    for row in rows:
        print(f"{row.what}: {row.value:.1f} CPU s, {row.ratio:.1f} × the plain way ({plain:.1f})")
    seen = (
        f"{cold:.0f} CPU-s cold, {kept:.0f} with the data's features kept, {again:.0f} again; the plain way {plain:.0f}"
    )
    what = "`draw score` on Omniglot's 150 characters with six critics, as a command, next to encoding everything separately"
    record(__file__, what, rows, seen=seen, clock="CPU time of whole processes, their start included; one thread each")


if __name__ == "__main__":
    main()
