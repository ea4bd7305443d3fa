"""Recognizability along originality, and how well a polynomial fits it. Boutin et al. 2023, App. Q (Table 9)."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from exemplar import seeds, stats
from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import encode_own
from exemplar.draw.measures.generalization import Curve, generalization_curve
from exemplar.draw.measures.originality import density
from exemplar.draw.measures.sides import measure_side, normalised
from exemplar.draw.scores import DEFAULT
from exemplar.draw.studies.study import Study
from exemplar.draw.tasks import make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

WAYS = 20


def curve(run: Run, seed: int, data: ConceptSet) -> Scores:
    """The drawers' generalization curve, and how far its points lie from the polynomial through them (App. Q, Table 9)."""
    task = make_task(data)
    encoded = encode_own(task, load_unseen_critics(data))
    see = [normalised(seen, DEFAULT.normalise) for seen in encoded.see]
    drawers = measure_side(see, encoded.recognise, "drawers", unbiased=False)
    original, ways = drawers.originality[0], min(WAYS, len(task.concepts))
    named = drawers.named(ways)[0]
    found = generalization_curve(
        original, named, weights=stats.resample(len(task.concepts), rng=seeds.rng("concepts", seed))
    )
    scores = [curve_error(original, named, found, task.drawers)]
    at_places, height = density(original)
    for where, place in zip(("least", "most"), found.reach, strict=True):
        at = found.at(np.array([place]))[0]
        scores.append(Score.of(f"recognizability_of_the_{where}_original", at, agent=task.drawers))
    write_npz(run.folder / "curve.npz", {**found.arrays(""), "density_at": at_places, "density": height})
    return Scores.collect(scores)


def curve_error(original: np.ndarray, named: np.ndarray, found: Curve, drawers: str) -> Score:
    """How far the points lie from the curve, root mean square. Its interval is by the jackknife over concepts, of the
    logarithm: no error is below 0."""
    k, two = len(original), np.ones((2, len(original) - 1))
    left = np.log([
        generalization_curve(np.delete(original, place, 0), np.delete(named, place, 0), weights=two).error ** 0.5
        for place in range(k)
    ])  # fmt: skip
    half = stdtrit(k - 1, 0.975) * np.sqrt((k - 1) / k * np.square(left - left.mean()).sum())
    value = found.error**0.5
    return Score(
        "root_curve_error", value, (float(value * np.exp(-half)), float(value * np.exp(half))), k, agent=drawers
    )


CURVE = Study(
    "curve",
    "Recognizability along originality",
    "The generalization curve of {drawers} and how well a polynomial of degree 2 fits it (Boutin et al. 2023, App. "
    "Q). With fewer than some hundred drawings per concept it is an illustration. The other rows of Table 9 are "
    "generators'.",
    curve,
)
