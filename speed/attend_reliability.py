"""10,000 pairwise reliabilities of blurred maps, each map ranked once, against a loop with scipy.stats.spearmanr.

CPU time of one thread; the loop is timed on some of the pairs.

Run: python speed/attend_reliability.py
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import numpy as np
from scipy.stats import spearmanr

from exemplar import seeds
from exemplar.attend.measures.blurring import blur
from exemplar.attend.measures.ranking import correlate_pairs, rank_maps
from exemplar.attend.measures.reliability import sample_pairs
from record import record, timed

IMAGES, PARTICIPANTS, SIDE = 250, 102, 256
ANNOTATIONS, PAIRS, SLOW = 1050, 10_000, 100  # as published


def main() -> None:
    rng = seeds.rng("speed", "attend reliability")
    image, who = rng.integers(0, IMAGES, ANNOTATIONS), rng.integers(0, PARTICIPANTS, ANNOTATIONS)
    maps = blur(rng.standard_normal((ANNOTATIONS, SIDE, SIDE), dtype=np.float32))
    first, second = sample_pairs(image, who, PAIRS, same=True, rng=rng)
    start = time.process_time()
    ranked = rank_maps(maps)
    ours = correlate_pairs(ranked, first, second)
    fast = time.process_time() - start
    start = time.process_time()
    theirs = [
        spearmanr(maps[a].ravel(), maps[b].ravel()).statistic for a, b in zip(first[:SLOW], second[:SLOW], strict=True)
    ]
    slow = (time.process_time() - start) * PAIRS / SLOW
    np.testing.assert_allclose(ours[:SLOW], theirs, atol=1e-4)
    print(f"{PAIRS:,} pairs of {ANNOTATIONS:,} maps: {fast:.1f} s, a loop {slow:.0f} s ({slow / fast:.0f} ×)")
    record(
        __file__,
        f"{PAIRS:,} pairwise reliabilities of {ANNOTATIONS:,} maps ({SIDE} × {SIDE} px) next to a loop with SciPy",
        [timed("ranks once, then products", fast, "CPU s", "loop with scipy.stats.spearmanr", slow)],
        seen=f"{slow / fast:.0f} × as fast as a loop with scipy.stats.spearmanr",
        notes=[f"The loop was timed on {SLOW} of the pairs; both give the same correlations."],
    )


if __name__ == "__main__":
    main()
