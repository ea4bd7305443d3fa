"""What depends on a choice nobody notices: which drawing is the exemplar, and how many drawings there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.critics import Critics
from exemplar.draw.encoding import MOST, by_features, critics_of, draw_again, drawings_rows, see_drawings, see_people
from exemplar.draw.measures.diversity import cosine_spread, spread, vendi
from exemplar.draw.measures.intervals import Measure, Resamples, rows
from exemplar.draw.measures.sides import DEFAULT, measure_side, normalised
from exemplar.draw.tasks import DrawingTask, make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

N_DRAWERS = 3  # of those who drew every concept, the first ones
N_RANDOM = 5  # choices of random exemplars
NUMBERS = (3, 5, 10, 15)  # of drawings; those the data has, and all it has
N_SUBSETS = 20  # of so many drawings, over which scores are averaged
BY_NUMBER: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "spread": spread,
    "spread, corrected (c4)": lambda features: spread(features, unbiased=True),
    "cosine": cosine_spread,
    "vendi": vendi,
}


def exemplars(run: Run, seed: int, data: ConceptSet) -> Scores:
    """People's scores after other exemplars: central ones in SimCLR and in ProtoNet, a drawer's, random; how often centres
    are the same drawing."""
    critics = critics_of(data)
    central = by_features(critics)  # Eq. 1 is about the layer in which diversity is measured, in both networks
    centres = {space.name: make_task(data, space=space) for space in (*central.see, *central.recognise)}
    draws = draw_again(data.n_concepts, max(len(critics.see), len(critics.recognise)), seed)
    tasks: dict[str, list[DrawingTask]] = {
        "centre in SimCLR": [centres[critics.see[0].name]],
        "centre in ProtoNet": [centres[critics.recognise[0].name]],
    }
    for number, drawer in enumerate(_drawers(data), start=1):
        tasks[f"drawer {number}"] = [make_task(data, exemplar=f"drawer:{drawer}")]
    tasks["random"] = [
        make_task(data, exemplar="random", rng=seeds.rng("random exemplars", seed, place)) for place in range(N_RANDOM)
    ]
    scores = [score for how, some in tasks.items() for score in _people_after(how, some, critics, draws)]
    for kind, names in (("SimCLR", critics.see), ("ProtoNet", critics.recognise)):
        chosen = np.stack([centres[space.name].exemplar for space in names])
        if len(chosen) > 1:
            same = [(a == b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]]
            scores.append(_share(np.mean(same, axis=0), f"centres in two seeds of {kind}", seed))
    both = [centres[a.name].exemplar == centres[b.name].exemplar for a in critics.see for b in critics.recognise]
    scores.append(_share(np.mean(both, axis=0), "centres in SimCLR and in ProtoNet", seed))
    scores.append(_share(1 / data.counts, "any two drawings of a concept", seed))
    shown = {how: some[0].exemplars for how, some in tasks.items()}
    write_npz(run.folder / "exemplars.npz", {**shown, "concepts": np.array(data.concepts)})
    return Scores.collect(scores)


def number_of_drawings(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of people's drawings when only so many of each concept are there, at random: raw, and corrected."""
    everything = drawings_rows(data, int(data.counts.min()))
    if everything.shape[1] > 2 * MOST:
        everything = everything[:, : 2 * MOST]
    seen = see_drawings(data, critics_of(data).see, everything)
    k, most = everything.shape
    draws, scores = draw_again(k, len(seen.spaces), seed), []
    numbers = sorted({n for n in NUMBERS if n < most} | {most})
    order = seeds.rng("subsets", seed).permuted(np.tile(np.arange(most), (N_SUBSETS, k, 1)), axis=2)
    for name, measure in BY_NUMBER.items():
        for n in numbers:
            subsets = order[:1] if n == most else order  # all drawings are all drawings
            value = np.stack([_mean_over(subsets[:, :, :n], there, measure) for there in seen.features])
            found = stats.interval(draws.over_critics(draws.means(value)), value.mean(), n=k)
            scores.append(Score(name, found.value, (found.lo, found.hi), k, agent=f"{n} drawings of each"))
    return Scores.collect(scores)


def _mean_over(subsets: np.ndarray, features: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """(k,): the mean over subsets (m, k, n) of features (k, most, d)."""
    return np.mean([measure(np.take_along_axis(features, places[:, :, None], axis=1)) for places in subsets], axis=0)


def _people_after(how: str, tasks: Sequence[DrawingTask], critics: Critics, draws: Resamples) -> list[Score]:
    """People's scores after these exemplars, the mean over the tasks: recognizability, diversity, originality."""
    n, ways = min(tasks[0].n, MOST), min(20, len(tasks[0].concepts))
    sides = []
    for task in tasks:
        looks = see_people(task, critics, n)
        see = [normalised(seen, DEFAULT.normalise) for seen in looks.see]
        sides.append(measure_side(see, looks.recognise, "people", unbiased=False))
    names = tuple(tuple(space.name for space in spaces) for spaces in (critics.see, critics.recognise))
    measures = {
        f"recognizability_{ways}_way": (names[1], [side.named(ways) for side in sides]),
        "recognizability_all_way": (names[1], [side.named(0) for side in sides]),
        "diversity": (names[0], [side.diversity for side in sides]),
        "originality": (names[0], [side.originality for side in sides]),
    }
    found = []
    for name, (spaces, by_task) in measures.items():
        measure = Measure(name, "", spaces, np.mean(by_task, axis=0))
        found += [score for score in rows(measure, draws, how, tasks[0].concepts) if not score.concept]
    return found


def _drawers(data: ConceptSet) -> list[str]:
    """Names of the first drawers who drew every concept; none where drawings have no known makers."""
    n_drawn = np.zeros((len(data.maker.names), data.n_concepts), bool)
    n_drawn[data.maker.code, data.concept.code] = True
    complete = np.flatnonzero(n_drawn.all(axis=1))
    return [data.maker.names[place] for place in complete[:N_DRAWERS] if data.maker.names[place]]


def _share(values: np.ndarray, agent: str, seed: int) -> Score:
    found = stats.bootstrap(values, rng=seeds.rng("same exemplar", seed))
    return Score("same_exemplar", found.value, (found.lo, found.hi), found.n, agent=agent)
