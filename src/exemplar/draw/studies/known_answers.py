"""The proof that scores measure what they claim: agents whose scores are known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.agents import make_agent
from exemplar.draw.critics import Critics, load_unseen_critics
from exemplar.draw.drawings import sample_drawings, stack
from exemplar.draw.encoding import MOST
from exemplar.draw.measures.distance import NULL, P
from exemplar.draw.measures.sides import distance_name
from exemplar.draw.scores import DEFAULT, ScoreConfig, ScoredDrawings
from exemplar.draw.scoring import compute_scores
from exemplar.draw.studies.study import GLYPHS, Study, save_scores
from exemplar.draw.tasks import PEOPLE, SIMULATED, DrawingTask, make_task, own_drawings
from exemplar.files import write_npz
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings, Score, Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run

ANYWHERE = ("copies", "others", "noise")
SPREADS = (0.25, 0.5, 1.0, 1.5, 2.0)
EVERY = "recognizability_all_way"
REPORTED = (
    "diversity", "diversity_raw", "originality", "recognizability_20_way", EVERY, "copy_rate",
    *(before + distance_name(whose) for whose in (PEOPLE, SIMULATED) for before in ("", NULL, P)),
)  # fmt: skip
COLUMNS = 10  # drawings of a concept that are kept for the sheet


def known_agents(data: ConceptSet, spreads: Sequence[float] = SPREADS) -> tuple[str, ...]:
    """Names of the agents whose scores are known on this data: redrawing is for glyphs only."""
    redraw = (
        tuple(f"redraw@{spread:g}" for spread in spreads) if data.simulated and data.name.startswith("glyphs") else ()
    )
    return (*ANYWHERE, *redraw)


def draw_known(task: DrawingTask, agents: Sequence[str], seed: int) -> dict[str, Drawings]:
    """The data's own drawings, then those of each agent."""
    known = {name: sample_drawings(make_agent(name, task), task, agent=name, seed=seed) for name in agents}
    return {task.drawers: own_drawings(task), **known}


def known_answers(run: Run, seed: int, data: ConceptSet) -> Scores:
    """The data's own drawers, copies, others, noise and, on glyphs, redrawing at several spreads; and how scores change with
    the spread."""
    task = make_task(data)
    task = replace(task, n=min(task.n, MOST))
    return score_known(run, seed, task, load_unseen_critics(data), known_agents(data))


def score_known(
    run: Run, seed: int, task: DrawingTask, critics: Critics, agents: Sequence[str], config: ScoreConfig = DEFAULT
) -> Scores:
    """Scores of each agent into the run, with some of their drawings in known-answers.npz."""
    drawn = draw_known(task, agents, seed)
    scored = {name: compute_scores(drawings, task, critics, config, seed=seed) for name, drawings in drawn.items()}
    scores = [score for found in scored.values() for score in reported_scores(found)]
    redrawn = [name for name in agents if name.startswith("redraw")]
    for less, more in pairwise(redrawn):
        # among 20, few are mistaken while spreads are small
        reported = tuple(dict.fromkeys(("diversity", _ways(scored[less]), EVERY)))
        scores += mean_changes(scored[less], scored[more], reported, f"from {less} to {more}", seed)
    some = {name: stack(drawings, task)[:, :COLUMNS] for name, drawings in drawn.items()}
    arrays = {f"drawings of {name}": images for name, images in some.items()}
    for axis in ("diversity", _ways(scored[task.drawers])):
        arrays |= {f"{axis} of {name}": by_concept(found, axis) for name, found in scored.items()}
    names = {"agents": np.array(list(drawn)), "concepts": np.array(task.concepts)}
    write_npz(run.folder / "known-answers.npz", {**arrays, **names, "exemplars": task.exemplars})
    return Scores.collect(scores)


def reported_scores(scored: ScoredDrawings) -> list[Score]:
    """The overall scores that are known beforehand, in the order of REPORTED."""
    found = {s.name: s for s in scored.scores if not s.concept and not s.space and s.agent == scored.agent}
    return [found[name] for name in REPORTED if name in found]


def mean_changes(
    before: ScoredDrawings, after: ScoredDrawings, names: Sequence[str], agent: str, seed: int
) -> list[Score]:
    """How much more of each score the second has than the first: mean over concepts, which are the same. agent: in words."""
    scores = []
    for name in names:
        gain = by_concept(after, name) - by_concept(before, name)
        found = stats.bootstrap(gain, rng=seeds.rng("steps", seed, name))
        scores.append(Score.of(f"change_of_{name}", found, agent=agent))
    return scores


def by_concept(scored: ScoredDrawings, name: str) -> np.ndarray:
    """(k,) a score of each concept, mean over critics."""
    values = {s.concept: s.value for s in scored.scores if s.name == name and s.concept}
    return np.array([values[concept] for concept in scored.concepts])


def _ways(scored: ScoredDrawings) -> str:
    """The recognizability reported first: among 20, or all where there are fewer."""
    return next(s.name for s in scored.scores if s.name.startswith("recognizability_"))


KNOWN_ANSWERS = Study(
    "known-answers",
    "Do the scores measure what they claim?",
    "Agents whose scores are known beforehand: who copies the exemplar, who draws other concepts, who scatters ink, "
    "and, for glyphs, who redraws them by their true program with hands that vary as much as asked.",
    known_answers,
)


def known_answers_result(run: Run, seed: int) -> Scores:
    """Agents whose scores are known, on glyphs."""
    return save_scores(run, known_answers(run, seed, load(*GLYPHS)))


KEPT = KeptResult(
    title="Agents whose scores are known",
    text="The proof of the scores, on 90 glyphs that the critics have not seen, 19 drawings of each: copies of the "
    "exemplar must have diversity 0, originality 0 and recognizability 1; drawings of other characters and scattered "
    "ink must be named right by chance (5 % of 20, or a little below where the character that was drawn is among "
    "them); and glyphs redrawn by their true program must grow more diverse with every step of its spread, and less "
    "recognizable: among all, since among 20 nearly none is mistaken while spreads are small. The drawers are the "
    "package's own twenty, simulated. Changes are means over characters of the difference between two spreads.",
    compute=known_answers_result,
    data=(("glyphs", "weak-test"),),
)
