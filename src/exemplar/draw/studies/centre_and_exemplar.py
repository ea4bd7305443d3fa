"""Distance to the centre of a concept's drawings along their distance to the exemplar. Boutin et al. 2023, App. P."""

from __future__ import annotations

import numpy as np

from exemplar import stats
from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import MOST, encode_own, resample_concepts
from exemplar.draw.measures.agreement import agreement_scores, each_with_itself
from exemplar.draw.measures.intervals import Resamples
from exemplar.draw.measures.originality import originality
from exemplar.draw.measures.sides import normalised
from exemplar.draw.scores import DEFAULT
from exemplar.draw.studies.study import Study
from exemplar.draw.tasks import make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

N_BINS = 10


def centre_and_exemplar(run: Run, seed: int, data: ConceptSet, most: int = MOST) -> Scores:
    """Mean distance to the centre of a concept's drawings along their mean distance to the exemplar: slope and fit; of `most`
    drawings per concept at most."""
    task = make_task(data)
    see = [
        normalised(seen, DEFAULT.normalise)
        for seen in encode_own(task, load_unseen_critics(data), min(task.n, most)).see
    ]
    to_exemplar = np.stack([originality(seen.drawn, seen.exemplars) for seen in see])  # (s, k, n)
    to_centre = np.stack([originality(seen.drawn, seen.drawn.mean(axis=1)) for seen in see])
    spaces = tuple(seen.space for seen in see)
    draws = resample_concepts(len(task.concepts), len(spaces), seed)
    pairs = each_with_itself(spaces, draws)
    scores: list[Score] = []
    x, y = to_exemplar.mean(axis=2), to_centre.mean(axis=2)
    for name in ("slope", "r_squared"):
        scores += agreement_scores(name, x, y, pairs, draws, agent=f"{task.drawers}, concepts")
    n_bins = min(N_BINS, to_exemplar.shape[2])
    order = np.argsort(to_exemplar, axis=2, kind="stable")
    binned = [
        np.stack(
            [part.mean(axis=2) for part in np.array_split(np.take_along_axis(v, order, axis=2), n_bins, axis=2)], 2
        )
        for v in (to_exemplar, to_centre)
    ]  # two of (s, k, bins), from the least original drawings to the most
    scores.append(_slope_over_bins(binned[0], binned[1], draws, task.drawers))
    arrays = {"to exemplar": x[0], "to centre": y[0]}
    arrays |= {"bins to exemplar": binned[0][0].mean(axis=0), "bins to centre": binned[1][0].mean(axis=0)}
    write_npz(run.folder / "centre-and-exemplar.npz", arrays)
    return Scores.collect(scores)


def _slope_over_bins(x: np.ndarray, y: np.ndarray, draws: Resamples, drawers: str) -> Score:
    """The slope through the bins' points, each the mean over concepts. x, y: (s, k, bins)."""
    k = x.shape[1]

    def of(weights: np.ndarray) -> np.ndarray:
        over, up = (np.einsum("rk,skb->rsb", weights / weights.sum(axis=1, keepdims=True), v) for v in (x, y))
        over, up = (v - v.mean(axis=2, keepdims=True) for v in (over, up))
        return (over * up).sum(axis=2) / np.square(over).sum(axis=2)  # (r, s)

    found = stats.interval(draws.over_critics(of(draws.concepts)), of(np.ones((1, k))).mean(), n=k)
    return Score.of("slope", found, n=k, agent=f"{drawers}, bins of originality")


CENTRE_AND_EXEMPLAR = Study(
    "centre-and-exemplar",
    "Is the exemplar the centre?",
    "If the exemplar lay at the centre of what {drawers} drew, both distances would be the same and the slope 1. "
    "Boutin et al. 2023, App. P: .67 for people on QuickDraw-FS; the other slopes there are generators'.",
    centre_and_exemplar,
)
