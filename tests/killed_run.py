"""A small but whole run, for tests that kill it: glyphs drawn by several workers, records, arrays and scores."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine, seeds, stats
from exemplar.images.glyphs import GlyphsConfig, redraw
from exemplar.records import Drawings, Score, Scores
from exemplar.runs import open_run

CONFIG = GlyphsConfig(alphabets=2, characters=6, drawers=3, size=32)


def draw_one(k: int) -> dict[str, Any]:
    from exemplar.images.glyphs import load_glyphs

    names = load_glyphs("all", CONFIG).concept.names
    concept = names[k % len(names)]
    time.sleep(0.05 * seeds.rng("how long", k).random())  # jobs end in another order than they began
    return {"concept": concept, "images": redraw([concept], 5, config=CONFIG, drawer=f"hand{k}")[0]}


def whole_run(folder: Path, backend: engine.Backend, n_jobs: int) -> None:
    with open_run(folder, command="killed", config=CONFIG, seed=0, backend=backend) as run:
        if run.finished:
            return
        drawn = run.map(draw_one, range(n_jobs))
        images = np.concatenate([result["images"] for result in drawn])
        concepts = [result["concept"] for result in drawn for _ in range(5)]
        table = Drawings.of(
            agent="hand",
            data="glyphs",
            concept=concepts,
            exemplar=0,
            index=np.arange(len(images)),
            seed=0,
            image=images,
        )
        run.save(table)
        ink = stats.bootstrap((images > 0).mean(axis=(1, 2)), rng=seeds.rng("ink"))
        run.save(Scores.collect([Score("ink", ink.value, (ink.lo, ink.hi), ink.n)]))


if __name__ == "__main__":
    whole_run(Path(sys.argv[1]), engine.Pool(2), n_jobs=60)
