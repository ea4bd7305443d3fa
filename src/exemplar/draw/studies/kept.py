"""The room's experiments by name, the numbers it stands by, and its part of the tour.

A study takes an open run, a seed and a concept set; it returns scores, and leaves in the run a file of its name that holds what
its figures need. Whether MAML recognises as ProtoNet does (S7) is a result of the spaces, `maml-vs-protonet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from exemplar import engine, seeds
from exemplar.draw.encoding import critics_of, see_people
from exemplar.draw.measures.recognizability import sample_episodes
from exemplar.draw.measures.sides import ScoreConfig
from exemplar.draw.scores import score_looks
from exemplar.draw.studies.choices import exemplars, number_of_drawings
from exemplar.draw.studies.controls import LEVELS, augmentation, critics_agree, originality_agrees
from exemplar.draw.studies.galleries import data_sets, maps, ranked
from exemplar.draw.studies.known_answers import judge_known, known_agents, known_answers
from exemplar.draw.studies.relations import centre_and_exemplar, curve, normalisation
from exemplar.draw.tasks import make_task
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run, open_run
from exemplar.stats import mean

Study = Callable[[Run, int, ConceptSet], Scores]
STUDIES: dict[str, Study] = {
    "critics-agree": critics_agree,
    "augmentation": augmentation,
    "originality-agrees": originality_agrees,
    "normalisation": normalisation,
    "centre-and-exemplar": centre_and_exemplar,
    "curve": curve,
    "exemplars": exemplars,
    "number-of-drawings": number_of_drawings,
    "ranked": ranked,
    "maps": maps,
    "data-sets": data_sets,
    "known-answers": known_answers,
}
OMNIGLOT, GLYPHS, QUICKDRAW = ("omniglot", "weak-test"), ("glyphs", "weak-test"), ("quickdraw", "test")
EPISODES = 3750  # as many as the authors sample
FEW_SPLITS = ScoreConfig(n_splits=2)  # what comes of halves of people is not asked for here


@dataclass(frozen=True)
class TourConfig:
    """n_concepts: glyphs that are drawn; spreads: of the agent that redraws them; n_replicates: of the bootstrap."""

    n_concepts: int = 36
    spreads: tuple[float, ...] = (0.5, 1.0, 2.0)
    n_replicates: int = 400


def humans_result(run: Run, seed: int) -> Scores:
    """People on Omniglot's 150 test characters: the plane and originality, by critics of both augmentation presets."""
    task = make_task(load(*OMNIGLOT))
    presets = {"moderate": critics_of(task.data), "coded": critics_of(task.data, see=(LEVELS["coded"],))}
    first = see_people(task, presets["moderate"])
    found = score_looks(first, FEW_SPLITS, seed=seed).scores
    scores = _renamed(found, ("recognizability_20_way", "recognizability_all_way"), "people")
    scores += _renamed(found, ("recognizability_hard",), "people, among their own alphabet")
    one = first.recognise[0]
    exact = score_looks(replace(first, recognise=(one,)), FEW_SPLITS, seed=seed).scores
    scores += _renamed(exact, ("recognizability_20_way",), f"people by {one.space}, closed form")
    sampled = mean(sample_episodes(one.drawn, one.exemplars, 20, EPISODES, rng=seeds.rng("episodes", seed)))
    ends, agent = (sampled.lo, sampled.hi), f"people by {one.space}, {EPISODES} episodes"
    scores.append(Score("recognizability_20_way", sampled.value, ends, sampled.n, agent=agent))
    for preset, critics in presets.items():
        looks = see_people(task, critics)
        for normalise, words in (
            ("sample", "divided by a drawing's own deviation"),
            ("people", "divided by people's spread"),
        ):
            found = score_looks(looks, replace(FEW_SPLITS, normalise=normalise), seed=seed).scores
            agent = f"people, {preset} views, {words}"
            scores += _renamed(found, ("diversity",), agent) + _most(found, agent)
            scores += _renamed(found, ("originality",), agent)
            if normalise == "sample":
                scores += _renamed(found, ("diversity_raw",), f"people, {preset} views")
    return _keep(run, scores)


def critics_agree_result(run: Run, seed: int) -> Scores:
    """Tables S2 and S3, over all pairs of critics."""
    return _keep(run, _overall([critics_agree, augmentation], run, seed, load(*OMNIGLOT)))


def exemplars_result(run: Run, seed: int) -> Scores:
    """What the choice of exemplar and the number of drawings do to people's scores."""
    return _keep(run, _overall([exemplars, number_of_drawings], run, seed, load(*OMNIGLOT)))


def originality_result(run: Run, seed: int) -> Scores:
    """Table 8 and App. P, on sketches of whole categories and on characters."""
    scores = []
    for which in (QUICKDRAW, OMNIGLOT):
        found = _overall([originality_agrees, centre_and_exemplar], run, seed, load(*which))
        scores += [replace(score, agent=f"{which[0]}: {score.agent}") for score in found]
    return _keep(run, scores)


def known_answers_result(run: Run, seed: int) -> Scores:
    """Agents whose scores are known, on glyphs."""
    return _keep(run, known_answers(run, seed, load(*GLYPHS)))


def tour(folder: Path, *, seed: int = 0, backend: engine.Backend | None = None) -> None:
    """The room's part of `exemplar tour`: people and agents whose scores are known on the plane, and some of their drawings."""
    config, whole = TourConfig(), load(*GLYPHS)
    chosen = seeds.rng("tour of drawing", seed).choice(whole.n_concepts, config.n_concepts, replace=False)
    data = whole.only(concepts=[whole.concepts[place] for place in sorted(chosen)])
    fingerprint = {data.name: data.fingerprint}
    with open_run(folder, command="tour draw", config=config, seed=seed, data=fingerprint, backend=backend) as run:
        if not run.finished:
            judging = ScoreConfig(n_replicates=config.n_replicates, n_splits=2)
            agents = known_agents(data, config.spreads)
            _keep(run, judge_known(run, seed, make_task(data), critics_of(data), agents, judging))


def _overall(studies: Iterable[Study], run: Run, seed: int, data: ConceptSet) -> list[Score]:
    """The scores of several studies that are over all critics; what their figures need goes into a folder of the data."""
    inside = replace(run, folder=run.folder / data.name.replace("/", "-"))
    return [score for study in studies for score in study(inside, seed, data) if not score.space]


def _renamed(scores: Scores, names: tuple[str, ...], agent: str) -> list[Score]:
    """Overall ones of these names, under another agent's name; the variant is in it."""
    found = [score for score in scores if score.name in names and not score.concept and not score.space]
    return [replace(score, agent=agent, variant="") for score in found]


def _most(scores: Scores, agent: str) -> list[Score]:
    """The most diverse concept's diversity. Its interval is over its drawings and critics, as if it had been chosen before."""
    found = max((s for s in scores if s.name == "diversity" and s.concept), key=lambda score: score.value)
    return [replace(found, name="largest_diversity", agent=agent, variant="")]


def _keep(run: Run, scores: Scores | list[Score]) -> Scores:
    table = scores if isinstance(scores, Scores) else Scores.collect(scores)
    run.save(table)
    return table
