"""10,000 pairwise reliabilities of blurred maps, each map ranked once, against a loop with scipy.stats.spearmanr.

CPU time of one thread; the loop is timed on some of the pairs. And how long the partner of the game takes to guess one canvas.

Run: python speed/attend_reliability.py
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import numpy as np
import torch
from scipy.stats import spearmanr

from exemplar import seeds
from exemplar.attend.measures.blurring import blur
from exemplar.attend.measures.ranking import correlate_pairs, rank_maps
from exemplar.attend.measures.reliability import sample_pairs
from exemplar.attend.partner.keeping import prepare
from exemplar.attend.partner.network import build_classifier
from record import record, timed

IMAGES, PARTICIPANTS, SIDE = 250, 102, 256
ANNOTATIONS, PAIRS, SLOW = 1050, 10_000, 100  # as published


def time_guess(n: int = 100) -> float:
    """CPU ms from a canvas of 256 px to the outputs; fresh weights take as long as trained ones."""
    network = build_classifier(25).eval()
    canvas = seeds.rng("speed", "canvas").integers(0, 256, (1, SIDE, SIDE)).astype(np.uint8)
    with torch.inference_mode():
        network(prepare(canvas, 28))
        start = time.process_time()
        for _ in range(n):
            network(prepare(canvas, 28))
    return 1e3 * (time.process_time() - start) / n


def main() -> None:
    torch.set_num_threads(1)
    guess = time_guess()
    print(f"the partner guesses a canvas in {guess:.2f} ms")
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
        [
            timed("ranks once, then products", fast, "CPU s", "loop with scipy.stats.spearmanr", slow),
            timed("the partner's guess of one canvas", guess, "CPU ms"),
        ],
        seen=f"{slow / fast:.0f} × as fast as a loop with scipy.stats.spearmanr",
        notes=[f"The loop was timed on {SLOW} of the pairs; both give the same correlations."],
    )


if __name__ == "__main__":
    main()
