"""The proof that scores measure what they claim: agents whose scores are known before anyone looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.agents import make_agent
from exemplar.draw.critics import Critics
from exemplar.draw.drawings import sample_drawings, stack
from exemplar.draw.encoding import MOST, critics_of
from exemplar.draw.measures.sides import DEFAULT, ScoreConfig
from exemplar.draw.scores import Judged, score_drawings
from exemplar.draw.tasks import PEOPLE, DrawingTask, make_task, people
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings, Score, Scores
from exemplar.runs import Run

ANYWHERE = ("copies", "others", "noise")
SPREADS = (0.25, 0.5, 1.0, 1.5, 2.0)
EVERY = "recognizability_all_way"
KEPT = (
    "diversity", "diversity_raw", "originality", "recognizability_20_way", EVERY, "copy_rate",
    "distance_to_people",
)  # fmt: skip
COLUMNS = 10  # drawings of a concept that are kept for the sheet


def known_agents(data: ConceptSet, spreads: Sequence[float] = SPREADS) -> tuple[str, ...]:
    """Names of the agents whose scores are known on this data: redrawing is for glyphs only."""
    redraw = tuple(f"redraw@{spread:g}" for spread in spreads) if data.name.startswith("glyphs") else ()
    return (*ANYWHERE, *redraw)


def draw_known(task: DrawingTask, agents: Sequence[str], seed: int) -> dict[str, Drawings]:
    """People's drawings, then those of each agent."""
    known = {name: sample_drawings(make_agent(name, task), task, agent=name, seed=seed) for name in agents}
    return {PEOPLE: people(task), **known}


def known_answers(run: Run, seed: int, data: ConceptSet) -> Scores:
    """People, copies, others, noise and, on glyphs, redrawing at several spreads; and how scores change with the spread."""
    task = make_task(data)
    task = replace(task, n=min(task.n, MOST))
    return judge_known(run, seed, task, critics_of(data), known_agents(data))


def judge_known(
    run: Run, seed: int, task: DrawingTask, critics: Critics, agents: Sequence[str], config: ScoreConfig = DEFAULT
) -> Scores:
    """Scores of each agent into the run, with some of their drawings in known-answers.npz."""
    drawn = draw_known(task, agents, seed)
    judged = {name: score_drawings(drawings, task, critics, config, seed=seed) for name, drawings in drawn.items()}
    scores = [score for found in judged.values() for score in _overall(found)]
    redrawn = [name for name in agents if name.startswith("redraw")]
    for less, more in pairwise(redrawn):
        scores += _steps(judged[less], judged[more], seed)
    some = {name: stack(drawings, task)[:, :COLUMNS] for name, drawings in drawn.items()}
    arrays = {f"drawings of {name}": images for name, images in some.items()}
    for axis in ("diversity", _ways(judged[PEOPLE])):
        arrays |= {f"{axis} of {name}": _by_concept(found, axis) for name, found in judged.items()}
    names = {"agents": np.array(list(drawn)), "concepts": np.array(task.concepts)}
    write_npz(run.folder / "known-answers.npz", {**arrays, **names, "exemplars": task.exemplars})
    return Scores.collect(scores)


def _overall(judged: Judged) -> list[Score]:
    found = {s.name: s for s in judged.scores if not s.concept and not s.space and s.agent == judged.agent}
    return [found[name] for name in KEPT if name in found]


def _steps(less: Judged, more: Judged, seed: int) -> list[Score]:
    """How much more diverse, and how much less recognizable, the agent with the wider spread is: mean over concepts."""
    scores = []
    for name in dict.fromkeys(("diversity", _ways(less), EVERY)):  # among 20, few are mistaken while spreads are small
        gain = _by_concept(more, name) - _by_concept(less, name)
        found = stats.bootstrap(gain, rng=seeds.rng("steps", seed, name))
        agent = f"from {less.agent} to {more.agent}"
        scores.append(Score(f"change_of_{name}", found.value, (found.lo, found.hi), found.n, agent=agent))
    return scores


def _by_concept(judged: Judged, name: str) -> np.ndarray:
    """(k,)"""
    values = {s.concept: s.value for s in judged.scores if s.name == name and s.concept}
    return np.array([values[concept] for concept in judged.concepts])


def _ways(judged: Judged) -> str:
    """The recognizability reported first: among 20, or all where there are fewer."""
    return next(s.name for s in judged.scores if s.name.startswith("recognizability_"))
