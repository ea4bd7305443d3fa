"""Scoring drawings: CPU seconds and memory of every score, given features, and closed form against sampled episodes.

Run: python speed/draw_scores.py. Features are random, as many as three critics of each kind make.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a thread that waits would count as CPU time

import numpy as np
import torch

from exemplar import seeds
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.recognizability import count_nearer, recognised, sample_episodes
from exemplar.draw.scores import ScoreConfig, score_features
from record import Row, record, timed

N_CRITICS, D_SIMCLR, D_PROTONET = 3, 256, 128  # dimensions of SimCLR's features and of ProtoNet's last layer
SIZES = {"Omniglot, 150 × 20": (150, 20, 10.0), "QuickDraw-FS, 115 × 500": (115, 500, 60.0)}
EPISODES = 3750


def make_features(space: str, k: int, n: int, d: int) -> CriticFeatures:
    """Features of drawings around their exemplars: recognised often, not always."""
    rng = seeds.rng("speed", space, k, n)
    exemplars = rng.normal(size=(k, d)).astype(np.float32)
    drawn, drawers = (exemplars[:, None] + rng.normal(0, 3.0, (k, n, d)).astype(np.float32) for _ in range(2))
    return CriticFeatures(space, drawn, exemplars, drawers, None)


def make_encoded(k: int, n: int) -> EncodedDrawings:
    return EncodedDrawings(
        tuple(make_features(f"simclr {c}", k, n, D_SIMCLR) for c in range(N_CRITICS)),
        tuple(make_features(f"protonet {c}", k, n, D_PROTONET) for c in range(N_CRITICS)),
        agent="someone",
        concepts=tuple(f"concept {c}" for c in range(k)),
        groups=np.arange(k) // 3,
        makers=np.tile(np.arange(n), (k, 1)),
        chosen_by="random",
        drawers="people",
    )


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, and what came out."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def plain_episodes(drawn: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator) -> float:
    """One episode after the other, as scripts do it: the share of right answers."""
    right = 0
    for _ in range(EPISODES):
        classes = rng.choice(len(drawn), 20, replace=False)
        query = drawn[classes, rng.integers(0, drawn.shape[1], 20)]
        distance = np.square(query[:, None] - exemplars[classes]).sum(axis=2)
        right += int((distance.argmin(axis=1) == np.arange(20)).sum())
    return right / (20 * EPISODES)


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'every score, 1,000 replicates':<34}{'CPU s':>8}{'at most':>9}{'peak GB':>9}")
    rows: list[Row] = []
    for name, (k, n, most) in SIZES.items():
        given = make_encoded(k, n)
        seconds, _ = cpu_seconds(lambda given=given: score_features(given, ScoreConfig()))  # type: ignore[misc]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name:<34}{seconds:8.1f}{most:9.0f}{memory:9.2f}")
        rows.append(timed(f"every score of {name}, peak {memory:.1f} GB", seconds, "CPU s"))

    one, rng = make_features("protonet 0", 150, 20, D_PROTONET), seeds.rng("speed", "episodes")
    exact, closed = cpu_seconds(lambda: recognised(count_nearer(one.drawn, one.exemplars), 20).mean())
    sampled, shares = cpu_seconds(lambda: sample_episodes(one.drawn, one.exemplars, 20, EPISODES, rng=rng))
    plain, share = cpu_seconds(lambda: plain_episodes(one.drawn, one.exemplars, rng))
    error = shares.std(ddof=1) / EPISODES**0.5
    print(f"\n{'20-way recognizability, 150 × 20':<34}{'CPU s':>8}{'ratio':>9}{'value':>10}{'error':>10}")
    for name, seconds, value, off in (
        ("closed form", exact, closed, 0.0),
        (f"{EPISODES:,} episodes at once", sampled, shares.mean(), error),
        (f"{EPISODES:,} episodes in a loop", plain, share, error),
        ("episodes in a loop, error 1e-5", plain * (error / 1e-5) ** 2, np.nan, 1e-5),
    ):
        print(f"{name:<34}{seconds:8.3f}{seconds / exact:9,.0f}{value:10.5f}{off:10.5f}")
    for name, peer in ((f"{EPISODES:,} episodes at once", sampled), (f"{EPISODES:,} episodes in a loop", plain)):
        rows.append(timed("20-way recognizability, closed form", exact, "CPU s", name, peer))
    sizes = " and ".join(f"{row.value:.1f}" for row in rows[: len(SIZES)])
    record(
        __file__,
        "every score of 150 × 20 and 115 × 500 drawings, 1,000 replicates, given features; closed form next to episodes",
        rows,
        seen=f"{sizes} CPU-s; closed form {sampled / exact:.0f} × faster than {EPISODES:,} vectorised episodes, "
        f"{plain / exact:.0f} × than a loop over them",
    )


if __name__ == "__main__":
    main()
