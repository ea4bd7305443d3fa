"""Omniglot's 20 official one-shot runs by the baseline that comes with them: the distance between two drawings' ink."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from exemplar import seeds, stats
from exemplar.images.omniglot import load_omniglot_runs
from exemplar.images.sources import obtain
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult, Number
from exemplar.runs import Run

AGENT = "modified Hausdorff on the official runs"


def official_runs_result(run: Run, seed: int) -> Scores:
    """Omniglot's 20 official one-shot runs by the modified Hausdorff distance between centred ink (Dubuisson & Jain)."""
    wrong = np.array(run.map(name_by_ink, range(20), label="official runs"))  # (20 runs,) share of errors
    error = stats.bootstrap(wrong, rng=seeds.rng("official runs", seed))
    scores = Scores.collect([Score.of("naming_error", error, agent=AGENT)])
    run.save(scores)
    return scores


def name_by_ink(number: int) -> float:
    """The share of errors in one official run, 20 drawings to name among 20."""
    runs = load_omniglot_runs(obtain("omniglot"))
    seen, new = ([p - p.mean(axis=0) for p in map(np.argwhere, part[number])] for part in (runs.training, runs.test))
    distance = np.maximum(_mean_distance(new, seen), _mean_distance(seen, new).T)
    return float((distance.argmin(axis=1) != runs.answer[number]).mean())


def _mean_distance(start: list[np.ndarray], end: list[np.ndarray]) -> np.ndarray:
    """(len(start), len(end)): mean distance from the points of one drawing to the nearest of another."""
    first = np.cumsum([0, *map(len, start)])
    nearest = [cKDTree(points).query(np.concatenate(start))[0] for points in end]
    return np.stack([np.add.reduceat(near, first[:-1]) / np.diff(first) for near in nearest], axis=1)


OFFICIAL_RUNS = KeptResult(
    title="Omniglot's 20 official one-shot runs, by distance between ink",
    text="The baseline that comes with Omniglot: the modified Hausdorff distance. People err in 4.5 %.",
    compute=official_runs_result,
    published={("naming_error", AGENT): Number(0.388, "Lake et al. 2015, released baseline")},
    data=(("omniglot", "evaluation"),),
)
