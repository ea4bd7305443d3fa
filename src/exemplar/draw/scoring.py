"""From drawings to a run folder with their scores: the verb `score`. What was scored already is not scored again."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, by_name, format_pairs, format_scores
from exemplar.draw.critics import Critics
from exemplar.draw.drawings import count_each, find_warnings, stack
from exemplar.draw.encoding import encode_drawings
from exemplar.draw.headlines import format_headlines
from exemplar.draw.matching import check_match, describe_match, find_format_warning
from exemplar.draw.measures.distance import NULL, P
from exemplar.draw.measures.sides import distance_name
from exemplar.draw.measures.told_apart import null_words
from exemplar.draw.mistakes import CRITICS, describe_copied, find_chance, find_wrong_concepts
from exemplar.draw.own_drawers import claim
from exemplar.draw.requests import Request, find_drawings
from exemplar.draw.scored_runs import SCORED, read_notes
from exemplar.draw.scores import DEFAULT, MEASURES, ScoreConfig, ScoredDrawings, score_features
from exemplar.draw.tasks import PEOPLE, SIMULATED, DrawingTask
from exemplar.errors import UserError
from exemplar.files import check_folder, write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.images.formats import measure_format
from exemplar.records import Drawings, Score, Scores
from exemplar.runs import load_scores, open_run, plain
from exemplar.store import Store

RUNS = Path("runs/draw")
FIRST_LINES = ("match", "critics", "critics_chosen")  # of what was asked: they stand above the table
NAME = 60  # letters of an agent's name in its folder's: file systems take no more than 255 bytes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoredAnswer(Answer):
    """What drawings are worth. scores: all of them, per concept and critic too; `overall`: those over all concepts and
    critics."""

    scores: Scores
    folder: Path
    overall: tuple[Score, ...]


def score_request(
    request: Request,
    who: Any,
    *,
    agent: str | None,
    invert: bool,
    size: int | None,
    out: Path | str | None,
    every: bool = False,
) -> ScoredAnswer:
    """Whatever a user names, scored into a run folder. every: whether the text has all scores, not only the headlines."""
    started = time.monotonic()
    folder = None if out is None else Path(out).expanduser()
    if folder is not None:
        check_folder(folder)  # before anything long begins
    said: list[str] = []
    drawings = find_drawings(who, request.task, agent=agent, invert=invert, size=size, seed=request.seed, said=said)
    folder, about, warnings = score_into_run(drawings, request, request.task, folder)
    warnings = (
        *said,
        *(sentence for sentence in warnings if sentence != about["match"]),
    )  # which stands above the table
    overall, scores = overall_scores(folder), Scores.load(folder)
    values = {**about, **by_name(overall), "warnings": list(warnings)}
    if verdict := beside_drawers(overall, about["agent"]):
        values["verdict"] = about["verdict"] = verdict
    values |= {"seconds": round(time.monotonic() - started, 2), "run": str(folder)}
    critics = {f"critics that {kind}": ", ".join(names) for kind, names in about["critics"].items()}
    facts = {key: value for key, value in about.items() if value not in (None, 0) and key not in FIRST_LINES}
    if about["seen_concepts"] is None:
        facts["seen concepts"] = "unknown: names do not tell what the critics were trained on"
    first = "\n".join(about[key] for key in FIRST_LINES if key != "critics" and about[key])
    table = format_scores(overall) if every else format_headlines(overall, about["agent"], request.task.drawers)
    text = f"{first}\n\n{table}\n\n{format_pairs({**facts, **critics, 'run': folder})}"
    return ScoredAnswer(
        values=values, text=text, scores=scores, warnings=warnings, folder=folder, overall=tuple(overall)
    )


def beside_drawers(overall: Sequence[Score], agent: str) -> str:
    """Whether the agent is told apart from the data's own drawers, with the numbers; "" where they are the agent."""
    found = {score.name: score for score in overall if score.agent == agent}
    for drawers in (PEOPLE, SIMULATED):
        name = distance_name(drawers)
        if agent != drawers and {name, NULL + name, P + name} <= set(found):
            null, p = found[NULL + name], found[P + name].value
            return (
                f"{null_words(p, drawers)} (p = {p:.2g}): {found[name].value:.3g} away, where a new group of {drawers} is "
                f"{null.value:.3g} away on average, and 95 % are within {null.ci95[1]:.3g}"
            )
    return ""


def score_into_run(
    drawings: Drawings, request: Request, task: DrawingTask, out: Path | None
) -> tuple[Path, dict[str, Any], tuple[str, ...]]:
    """Score drawings into a run folder, unless they are there already: the folder, what was asked, and warnings.

    task: the request's, or one that compares fewer drawings per concept.
    """
    warnings, n, critics = find_warnings(drawings, task), stacked_number(drawings, task), request.critics
    task = replace(task, n=n)
    if request.match:
        check_match(critics)
    if request.match and task.judged_in is None:
        task = replace(task, judged_in=measure_format(drawings.image))
    folder = score_drawings(
        drawings,
        task,
        critics,
        request.config,
        training=request.training_images,
        asked=request.plain(n),
        out=out,
        seed=request.seed,
    )
    data, _, split = task.data.name.partition("/")
    about: dict[str, Any] = {"agent": str(drawings["agent"].iloc[0]), "data": data, "split": split or None}
    about |= {"exemplar": task.chosen_by, "n": n, "concepts": len(task.concepts), "critics": critics.names}
    seen = critics.find_seen(task.data)
    about |= {"critics_chosen": critics.chosen, "seen_concepts": seen.concepts, "seen_images": seen.images}
    about |= {"match": None if task.judged_in is None else describe_match(task, with_drawers=request.people)}
    return folder, about, (*warnings, *read_notes(folder))


def score_drawings(
    drawings: Drawings,
    task: DrawingTask,
    critics: Critics,
    config: ScoreConfig = DEFAULT,
    *,
    training: ConceptSet | None = None,
    asked: Mapping[str, Any] | None = None,
    out: Path | None = None,
    seed: int = 0,
) -> Path:
    """Score one agent's drawings into a run folder (one below RUNS, named after agent and content, unless given).

    training: what the agent was trained on, to look for copies of it; asked: how the task came to be, as plain values, for
    whoever reads the run. The folder holds the tables drawings and scores, and an npz: exemplars (k, h, w) and drawings
    (k, n, h, w) uint8, and `ScoredDrawings.arrays()`. What cannot be scored leaves nothing behind.
    """
    critics.find_seen(task.data)  # before a folder is made
    drawings = claim(drawings, replace(task, data=task.judged_data))
    images = stack(drawings, task)
    agent = str(drawings["agent"].iloc[0])
    critics = critics.fix(task, images, agent, training, drawn=count_each(drawings))
    identity = {
        "agent": agent,
        "own": agent == task.drawers,
        "drawers": task.drawers,
        "asked": dict(asked or {}),
        "exemplar": task.chosen_by,
        "n": task.n,
        "drawings": seeds.digest(images),
        "exemplars": seeds.digest(task.exemplars),
        "critics": critics.names,
        "weights": seeds.digest(critics.identities()),
        "weights_on_data": seeds.digest(critics.identities(of_data=True)),
        "scores": config,
        "measures": MEASURES,
    }
    if task.judged_in is not None:
        identity["match"] = task.judged_in.plain()
    data = {task.data.name: task.data.fingerprint}
    if training is not None:
        identity["training"] = training.fingerprint
    content = seeds.digest(plain(identity), data, seed, size=5)
    folder = out or RUNS / (re.sub(r"[^\w.@-]+", "-", agent)[:NAME] + f"-{content}")
    with open_run(folder, command="draw score", config=identity, seed=seed, data=data) as run:
        if not run.finished:
            found = compute_scores(drawings, task, critics, config, training=training, store=run.store, seed=seed)
            run.save(drawings)
            run.save(found.scores)
            arrays = {"exemplars": task.exemplars, "drawings": images, "critics_chosen": np.array(critics.chosen)}
            write_npz(folder / SCORED, {**arrays, **found.arrays()})
    return folder


def compute_scores(
    drawings: Drawings,
    task: DrawingTask,
    critics: Critics,
    config: ScoreConfig = DEFAULT,
    *,
    training: ConceptSet | None = None,
    store: Store | None = None,
    seed: int = 0,
) -> ScoredDrawings:
    """Every score of one agent's drawings, nothing written: encoded first, then scored."""
    seen = critics.find_seen(task.data)
    encoded = encode_drawings(drawings, task, critics, training=training, store=store, with_drawers=config.with_drawers)
    found = score_features(encoded, config, seed=seed)
    notes = [*critics.warnings, *seen.warnings]
    notes.append(
        find_format_warning(drawings, task, critics, encoded)
        if task.judged_in is None
        else describe_match(task, with_drawers=config.with_drawers)
    )
    wrong = find_wrong_concepts(encoded.recognise[0], encoded.agent, encoded.concepts)
    at_chance = find_chance(list(found.scores), encoded.agent, task.drawers, len(task.concepts))
    notes += [wrong, at_chance if not wrong or at_chance.startswith(CRITICS) else ""]
    notes += describe_copied(stack(drawings, task), task, encoded.agent)
    if seen.concepts:
        notes.append(f"the critics were trained on {seen.concepts} of these {len(task.concepts)} concepts")
    return replace(found, notes=(*filter(None, notes), *found.notes))


def overall_scores(folder: Path) -> list[Score]:
    """The scores of a run over all concepts and critics, each once."""
    found = [score for score in load_scores(folder) if not score.concept and not score.space]
    if not found:
        raise UserError(f"{folder} has lost its scores: remove it, and score the drawings again")
    return found


def stacked_number(drawings: Drawings, task: DrawingTask) -> int:
    """How many drawings of every concept there are to compare, the task's number at most."""
    return int(np.shape(stack(drawings, task))[1])
