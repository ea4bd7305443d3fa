"""What depends on which drawing is the exemplar, a choice that is easily overlooked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.critics import Critics, load_unseen_critics, with_feature_layers
from exemplar.draw.encoding import MOST, encode_own
from exemplar.draw.measures.intervals import POSITIVE, SHARE, Measure, to_scores
from exemplar.draw.measures.sides import measure_side, normalised
from exemplar.draw.scores import DEFAULT
from exemplar.draw.studies.number_of_drawings import NUMBER_OF_DRAWINGS
from exemplar.draw.studies.study import OMNIGLOT, RELEASED, Study, run_studies, save_scores
from exemplar.draw.tasks import DrawingTask, make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult, Number
from exemplar.runs import Run

N_DRAWERS = 3  # of those who drew every concept, the first ones
N_RANDOM = 5  # choices of random exemplars


def exemplars(run: Run, seed: int, data: ConceptSet) -> Scores:
    """The drawers' scores after other exemplars: central ones in SimCLR and in ProtoNet, a drawer's, random; how often centres
    are the same drawing."""
    critics = load_unseen_critics(data)
    central = with_feature_layers(critics)  # Eq. 1 is about the layer in which diversity is measured, in both networks
    centres = {space.name: make_task(data, space=space) for space in (*central.see, *central.recognise)}
    tasks: dict[str, list[DrawingTask]] = {
        "centre in SimCLR": [centres[critics.see[0].name]],
        "centre in ProtoNet": [centres[critics.recognise[0].name]],
    }
    for number, drawer in enumerate(_drawers(data), start=1):
        tasks[f"drawer {number}"] = [make_task(data, exemplar=f"drawer:{drawer}")]
    tasks["random"] = [
        make_task(data, exemplar="random", rng=seeds.rng("random exemplars", seed, place)) for place in range(N_RANDOM)
    ]
    scores = [score for how, some in tasks.items() for score in _own_after(how, some, critics)]
    for kind, names in (("SimCLR", critics.see), ("ProtoNet", critics.recognise)):
        chosen = np.stack([centres[space.name].exemplar for space in names])
        if len(chosen) > 1:
            same = [(a == b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]]
            scores.append(_share(np.mean(same, axis=0), f"centres in two seeds of {kind}"))
    both = [centres[a.name].exemplar == centres[b.name].exemplar for a in critics.see for b in critics.recognise]
    scores.append(_share(np.mean(both, axis=0), "centres in SimCLR and in ProtoNet"))
    scores.append(_share(1 / data.counts, "any two drawings of a concept"))
    shown = {how: some[0].exemplars for how, some in tasks.items()}
    write_npz(run.folder / "exemplars.npz", {**shown, "concepts": np.array(data.concepts)})
    return Scores.collect(scores)


def _own_after(how: str, tasks: Sequence[DrawingTask], critics: Critics) -> list[Score]:
    """The drawers' scores after these exemplars, the mean over the tasks: recognizability, diversity, originality."""
    n, ways = min(tasks[0].n, MOST), min(20, len(tasks[0].concepts))
    sides = []
    for task in tasks:
        encoded = encode_own(task, critics, n)
        see = [normalised(seen, DEFAULT.normalise) for seen in encoded.see]
        sides.append(measure_side(see, encoded.recognise, "drawers", unbiased=False))
    names = tuple(tuple(space.name for space in spaces) for spaces in (critics.see, critics.recognise))
    measures = {
        f"recognizability_{ways}_way": (names[1], [side.named(ways) for side in sides]),
        "recognizability_all_way": (names[1], [side.named(0) for side in sides]),
        "diversity": (names[0], [side.diversity for side in sides]),
        "originality": (names[0], [side.originality for side in sides]),
    }
    found = []
    for name, (spaces, by_task) in measures.items():
        reach = SHARE if name.startswith("recognizability") else POSITIVE
        measure = Measure(name, "", spaces, np.mean(by_task, axis=0), reach)
        found += [score for score in to_scores(measure, how, tasks[0].concepts) if not score.concept]
    return found


def _drawers(data: ConceptSet) -> list[str]:
    """Names of the first drawers who drew every concept; none where drawings have no known makers."""
    n_drawn = np.zeros((len(data.maker.names), data.n_concepts), bool)
    n_drawn[data.maker.code, data.concept.code] = True
    complete = np.flatnonzero(n_drawn.all(axis=1))
    return [data.maker.names[place] for place in complete[:N_DRAWERS] if data.maker.names[place]]


def _share(values: np.ndarray, agent: str) -> Score:
    return Score.of("same_exemplar", stats.mean_share(values), agent=agent)


EXEMPLARS = Study(
    "exemplars",
    "Which drawing is the exemplar?",
    "The same drawings by {drawers}, scored after other exemplars: the one nearest to the centre in either network, "
    "one drawer's, or any. What is compared must be compared after the same.",
    exemplars,
)


def exemplars_result(run: Run, seed: int) -> Scores:
    """What the choice of exemplar and the number of drawings do to people's scores."""
    return save_scores(run, run_studies([EXEMPLARS, NUMBER_OF_DRAWINGS], run, seed, OMNIGLOT))


KEPT = KeptResult(
    title="What depends on the exemplar, and on the number of drawings",
    text="People on Omniglot's 150 test characters: their scores after other exemplars, nearest to the centre in SimCLR or "
    "in ProtoNet (seed 0, the layer in which diversity is measured), one of three drawers', or random (mean of five "
    "choices); how often two centres are the same drawing (mean over all pairs of seeds; by chance 1 in 20); and "
    "diversity of fewer drawings, raw and corrected, by pairwise cosine and by Vendi score, mean over 20 random "
    "choices. Intervals are over characters and seeds. Which exemplar is shown moves recognizability by more than its "
    "interval: it must be said. `exemplar draw study exemplars --data omniglot` draws the figures.",
    compute=exemplars_result,
    released={
        ("recognizability_20_way", "centre in SimCLR"): Number(0.978, RELEASED),
        ("recognizability_20_way", "centre in ProtoNet"): Number(0.985, RELEASED),
        ("recognizability_20_way", "drawer 1"): Number(0.952, RELEASED),
        ("recognizability_all_way", "centre in SimCLR"): Number(0.904, RELEASED),
        ("same_exemplar", "centres in SimCLR and in ProtoNet"): Number(0.28, RELEASED),
        ("spread", "5 drawings of each"): Number(1.213, RELEASED),
        ("spread", "10 drawings of each"): Number(1.265, RELEASED),
        ("spread", "20 drawings of each"): Number(1.286, RELEASED),
    },
    data=(("omniglot", "weak-test"),),
)
