"""Tables of a comparison of drawers: each overall, every score, concept by concept, and how it was all made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar.draw.scored_runs import JudgedRun
from exemplar.errors import UserError
from exemplar.records import Score

WAYS = re.compile(r"recognizability_(\w+)_way")
# main score → what it says, in the order of the tables; {} is how many concepts a drawing may be given to
ABOUT = {
    "diversity": "how much the drawings of a concept differ from each other",
    "recognizability": "how often a drawing is given to its own concept among {}, each seen once",
    "originality": "how far the drawings are from the exemplar",
    "copy_rate": "how many drawings are nearer to the exemplar than almost all of people's",
    "distance_to_people": "how far from people in the plane, in people's standard deviations",
}


@dataclass(frozen=True)
class ScoreTable:
    """names: of the columns; rows: (what it is of, a score or None each)."""

    names: Sequence[str]
    rows: Sequence[tuple[Any, Sequence[Score | None]]]


@dataclass(frozen=True)
class ConceptTable:
    """names: of the scores; shown: concept × agent, the first score or None; values: score × concept × agent, each
    [value, lo, hi] or None, for the page's own program."""

    names: Sequence[str]
    shown: Sequence[Sequence[Score | None]]
    values: Sequence[Sequence[Sequence[list[float | None] | None]]]


def overall_table(runs: Sequence[JudgedRun]) -> ScoreTable:
    """A row an agent, a column a score."""
    there = dict.fromkeys(score.name for run in runs for score in run.scores if not score.concept)
    names = sorted((name for name in there if explain(name)), key=_place)
    return ScoreTable(names, [(run.agent, [run.overall(name) for name in names]) for run in runs])


def every_score(runs: Sequence[JudgedRun]) -> ScoreTable:
    """A row a score over all concepts, and by each critic where there are several; a column an agent."""
    found = [{(s.name, s.variant, s.space): s for s in run.scores if not s.concept} for run in runs]
    critics = Counter((name, variant) for name, variant, space in found[0] if space)
    keys = {key: None for scores in found for key in scores if not (key[2] and critics[key[:2]] == 1)}
    rows = [(key, [scores.get(key) for scores in found]) for key in sorted(keys, key=lambda key: (_place(key[0]), key))]
    return ScoreTable([run.agent for run in runs], rows)


def concept_table(runs: Sequence[JudgedRun]) -> ConceptTable:
    """Every score there is of single concepts; the first is the one shown before anyone chooses."""
    names = sorted({score.name for run in runs for score in run.scores if score.concept}, key=_place)
    scores = [list(zip(*(run.by_concept(name) for run in runs), strict=True)) for name in names]
    values = [[[_plain(score) for score in row] for row in rows] for rows in scores]
    return ConceptTable(names, scores[0] if scores else [() for _ in runs[0].concepts], values)


def lead(runs: Sequence[JudgedRun]) -> str:
    """Who did what, in a sentence."""
    agents, first = [run.agent for run in runs], runs[0]
    who = " and ".join(filter(None, (", ".join(agents[:-1]), agents[-1])))
    return (
        f"One drawing was shown of each of the {len(first.concepts)} concepts of {' '.join(first.about['data'])}, and "
        f"{first.n} more were asked for. How diverse, how recognizable and how original are those by {who}?"
    )


def how_made(runs: Sequence[JudgedRun]) -> list[tuple[str, str]]:
    """What was asked, who judged, how, and where it all is."""
    first = runs[0]
    return [
        ("data", ", ".join(f"{name} (content {content[:12]})" for name, content in first.about["data"].items())),
        ("exemplar", str(first.about["config"].get("exemplar", "unknown"))),
        ("drawings", f"{first.n} of each of {len(first.concepts)} concepts, compared at equal number"),
        *((f"critics that {kind}", ", ".join(names)) for kind, names in first.critics.items()),
        ("settings", ", ".join(f"{name} = {value}" for name, value in first.settings.items())),
        ("seed", str(first.about["seed"])),
        *((run.agent, str(run.folder)) for run in runs),
    ]


def footer(runs: Sequence[JudgedRun]) -> str:
    """Which Exemplar made the runs."""
    made: dict[str, None] = {}
    for run in runs:
        about = run.about["provenance"]
        commit = f" at commit {about['git']['commit'][:10]}" if about["git"] else ""
        made[f"Exemplar {about['exemplar']}{commit}"] = None
    return f"Scored with {', '.join(made)}. The run folders hold every record and score."


def main_recognizability(run: JudgedRun) -> tuple[str, int]:
    """The recognizability of the plane, the first there is, and among how many concepts a drawing is given to one."""
    found = next((WAYS.fullmatch(score.name) for score in run.scores if WAYS.fullmatch(score.name)), None)
    if found is None:
        raise UserError(f"{run.folder} has no score of recognizability: score the drawings again")
    return found[0], len(run.concepts) if found[1] == "all" else int(found[1])


def explain(name: str) -> str:
    """What a main score says; nothing of the others."""
    found = WAYS.fullmatch(name)
    return ABOUT["recognizability"].format(found[1]) if found else ABOUT.get(name, "")


def needed(run: JudgedRun, name: str, concept: str = "") -> Score:
    """A score no page can do without."""
    found = run.overall(name) if not concept else run.by_concept(name)[run.concepts.index(concept)]
    if found is None:
        raise UserError(f"{run.folder} has no score {name}{concept and f' of {concept}'}: score the drawings again")
    return found


def words(name: str) -> str:
    """A score's name to read.

    >>> words("recognizability_20_way")
    'recognizability, 20-way'
    """
    return re.sub(r"_(\w+)_way$", r", \1-way", name).replace("_", " ")


def number(value: float) -> str:
    """Three decimals, none from a thousand on."""
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def _place(name: str) -> tuple[int, bool, str]:
    """Where a score stands among the others: main ones first, few ways before all."""
    main = "recognizability" if WAYS.fullmatch(name) else name
    return (list(ABOUT).index(main) if main in ABOUT else len(ABOUT)), "all" in name, name


def _plain(score: Score | None) -> list[float | None] | None:
    """As JSON has it, to four digits."""
    if score is None:
        return None
    return [float(f"{part:.4g}") if np.isfinite(part) else None for part in (score.value, *score.ci95)]
