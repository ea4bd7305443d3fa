"""How the scores of drawings hang together (Boutin et al. 2023): normalised and raw diversity (App. D), distance to the centre
and to the exemplar (App. P), recognizability along originality (App. Q).

The papers' points there are generators; here they are people's concepts, and agents whose scores are known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import stdtrit
from scipy.stats import rankdata

from exemplar import seeds, stats
from exemplar.draw.drawings import stack
from exemplar.draw.encoding import MOST, critics_of, draw_again, drawings_rows, see_drawings, see_people
from exemplar.draw.measures.agreement import agreement_scores, each_with_itself
from exemplar.draw.measures.diversity import per_sample, spread
from exemplar.draw.measures.generalization import Curve, generalization_curve
from exemplar.draw.measures.intervals import Resamples
from exemplar.draw.measures.originality import density, originality
from exemplar.draw.measures.sides import DEFAULT, measure_side, normalised
from exemplar.draw.studies.known_answers import draw_known, known_agents
from exemplar.draw.tasks import PEOPLE, make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

WAYS = 20
N_BINS = 10


def normalisation(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Whether dividing each drawing by its own deviation reorders diversity: over people's concepts, and over agents."""
    critics, rows = critics_of(data), drawings_rows(data)
    seen = see_drawings(data, critics.see, rows)
    raw, divided = (np.stack([spread(how(f)) for f in seen.features]) for how in (np.asarray, per_sample))  # (s, k)
    draws = draw_again(len(rows), len(seen.spaces), seed)
    pairs = each_with_itself(seen.spaces, draws)
    scores: list[Score] = []
    for name in ("rank_correlation", "r_squared"):
        scores += agreement_scores(name, raw, divided, pairs, draws, agent="raw and normalised, concepts")
    task = make_task(data)
    task = replace(task, n=min(task.n, MOST))
    first, k = critics.see[0], len(task.concepts)
    drawn = draw_known(task, known_agents(data), seed)
    by_agent = []
    for drawings in drawn.values():
        images = stack(drawings, task)
        there = first.encode(images.reshape(-1, *images.shape[2:])).reshape(k, task.n, -1)
        by_agent.append([spread(there), spread(per_sample(there))])
    both = np.array(by_agent).transpose(1, 0, 2)  # (2, agents, k)
    means = np.stack([draws.means(values) for values in both])  # (2, r, agents)
    for name, transform, power in (("rank_correlation", _ranks, 1), ("r_squared", np.asarray, 2)):
        value, replicates = (
            _correlation(*transform(values)) ** power for values in (both.mean(axis=2)[:, None], means)
        )
        found = stats.interval(replicates, value[0], n=k)
        scores.append(
            Score(name, found.value, (found.lo, found.hi), k, agent="raw and normalised, agents", space=first.name)
        )
    arrays = {"raw": raw[0], "normalised": divided[0], "agents": np.array(list(drawn)), "by agent": both.mean(axis=2)}
    write_npz(run.folder / "normalisation.npz", arrays)
    return Scores.collect(scores)


def centre_and_exemplar(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Mean distance to the centre of a concept's drawings along their mean distance to the exemplar: slope and fit."""
    task = make_task(data)
    see = [normalised(seen, DEFAULT.normalise) for seen in see_people(task, critics_of(data), min(task.n, MOST)).see]
    to_exemplar = np.stack([originality(seen.drawn, seen.exemplars) for seen in see])  # (s, k, n)
    to_centre = np.stack([originality(seen.drawn, seen.drawn.mean(axis=1)) for seen in see])
    spaces = tuple(seen.space for seen in see)
    draws = draw_again(len(task.concepts), len(spaces), seed)
    pairs = each_with_itself(spaces, draws)
    scores: list[Score] = []
    x, y = to_exemplar.mean(axis=2), to_centre.mean(axis=2)
    for name in ("slope", "r_squared"):
        scores += agreement_scores(name, x, y, pairs, draws, agent="people, concepts")
    n_bins = min(N_BINS, to_exemplar.shape[2])
    order = np.argsort(to_exemplar, axis=2, kind="stable")
    binned = [
        np.stack(
            [part.mean(axis=2) for part in np.array_split(np.take_along_axis(v, order, axis=2), n_bins, axis=2)], 2
        )
        for v in (to_exemplar, to_centre)
    ]  # two of (s, k, bins), from the least original drawings to the most
    scores.append(_slope_over_bins(binned[0], binned[1], draws))
    arrays = {"to exemplar": x[0], "to centre": y[0]}
    arrays |= {"bins to exemplar": binned[0][0].mean(axis=0), "bins to centre": binned[1][0].mean(axis=0)}
    write_npz(run.folder / "centre-and-exemplar.npz", arrays)
    return Scores.collect(scores)


def curve(run: Run, seed: int, data: ConceptSet) -> Scores:
    """People's generalization curve, and how far its points lie from the polynomial through them (App. Q, Table 9)."""
    task = make_task(data)
    looks = see_people(task, critics_of(data))
    see = [normalised(seen, DEFAULT.normalise) for seen in looks.see]
    people = measure_side(see, looks.recognise, "people", unbiased=False)
    original, ways = people.originality[0], min(WAYS, len(task.concepts))
    named = people.named(ways)[0]
    found = generalization_curve(
        original, named, weights=stats.resample(len(task.concepts), rng=seeds.rng("concepts", seed))
    )
    scores = [_curve_error(original, named, found)]
    at_places, height = density(original)
    for where, place in zip(("least", "most"), found.reach, strict=True):
        at = found.at(np.array([place]))[0]
        scores.append(Score(f"recognizability_of_the_{where}_original", at.value, (at.lo, at.hi), at.n, agent=PEOPLE))
    write_npz(run.folder / "curve.npz", {**found.arrays(""), "density_at": at_places, "density": height})
    return Scores.collect(scores)


def _curve_error(original: np.ndarray, named: np.ndarray, found: Curve) -> Score:
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
        "root_curve_error", value, (float(value * np.exp(-half)), float(value * np.exp(half))), k, agent=PEOPLE
    )


def _slope_over_bins(x: np.ndarray, y: np.ndarray, draws: Resamples) -> Score:
    """The slope through the bins' points, each the mean over concepts. x, y: (s, k, bins)."""
    k = x.shape[1]

    def of(weights: np.ndarray) -> np.ndarray:
        over, up = (np.einsum("rk,skb->rsb", weights / weights.sum(axis=1, keepdims=True), v) for v in (x, y))
        over, up = (v - v.mean(axis=2, keepdims=True) for v in (over, up))
        return (over * up).sum(axis=2) / np.square(over).sum(axis=2)  # (r, s)

    found = stats.interval(draws.over_critics(of(draws.concepts)), of(np.ones((1, k))).mean(), n=k)
    return Score("slope", found.value, (found.lo, found.hi), k, agent="people, bins of originality")


def _correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(r, m), (r, m) → (r,) Pearson's r of each row."""
    one, other = (v - v.mean(axis=1, keepdims=True) for v in (first, second))
    return (one * other).sum(axis=1) / np.sqrt(np.square(one).sum(axis=1) * np.square(other).sum(axis=1))


def _ranks(values: np.ndarray) -> np.ndarray:
    return rankdata(values, axis=2)
