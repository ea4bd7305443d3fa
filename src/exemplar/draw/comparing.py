"""Several drawers on one page: the verb `compare`. What is not scored yet is scored first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exemplar.answers import Answer
from exemplar.draw.figures.comparison import named_runs, write_comparison
from exemplar.draw.figures.drawers import drawers_called
from exemplar.draw.matching import match_all
from exemplar.draw.own_drawers import HUMAN, SIMULATED_DRAWERS
from exemplar.draw.pairing import CORRECTED, as_json, format_differences, pair_runs
from exemplar.draw.requests import Request, find_drawings, own_word
from exemplar.draw.scored_runs import describe_scored, is_own, is_scored, read_chosen
from exemplar.draw.scoring import overall_scores, score_into_run, stacked_number
from exemplar.draw.tasks import matched_own_rows
from exemplar.errors import UserError
from exemplar.options import check_path
from exemplar.records import Drawings, Score, Scores
from exemplar.runs import load_scores, tell_apart

OWN = (HUMAN, SIMULATED_DRAWERS)


def compare_request(
    request: Request, who: Sequence[Any], html: Path | str, *, invert: bool, size: int | None
) -> Answer:
    """One page about run folders and drawers to be scored. Where nothing is asked for, the first run says what was."""
    started, page = time.monotonic(), check_path(html, ".html", "The comparison")
    names = [name if isinstance(name, str) else str(getattr(name, "folder", name)) for name in who]
    if again := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{again[0]} is given twice: give each once")
    scored = {
        name: Path(name) for name in names if is_scored(Path(name)) and (name not in OWN or is_own_run(Path(name)))
    }
    configs = [describe_scored(folder)["config"] for folder in scored.values()]
    if not request.data:
        before: dict[str, Any] = next((config["asked"] for config in configs), {})
        if not request.is_default or not before:
            raise UserError(
                "Give --data, which options need too: only where run folders are given and no options do these say what was "
                "drawn, and how."
            )
        request = Request.of(before)
    own = any(name in OWN or (name in scored and is_own_run(scored[name])) for name in names)
    if request.match:  # everyone in one format, so everyone again
        scored = {}
    missing = [name for name in names if name not in scored]
    warnings: list[str] = []
    if missing or not own:
        missing += _score_missing(request, names, missing, not own, scored, warnings, invert=invert, size=size)
    shown = [*names, *(name for name in missing if name not in names)]
    page = write_comparison(page, [scored[name] for name in shown])
    values: dict[str, Any] = {
        "page": str(page),
        "runs": {name: str(scored[name]) for name in shown},
        "warnings": warnings,
    }
    runs = named_runs([scored[name] for name in shown])
    differences, lacking = pair_runs(runs, drawers_called(runs[0].drawers).distance)
    warnings += lacking
    values |= {"differences": as_json(differences)}
    values |= {"seconds": round(time.monotonic() - started, 2)}
    found = own_scores([scored[name] for name in shown])
    figures = {path.stem: path for path in sorted((page.parent / f"{page.stem}-figures").glob("*.svg"))}
    chosen = read_chosen(scored[shown[0]])
    values["critics_chosen"] = chosen
    text = f"{chosen}\n\n{page} compares {', '.join(shown)}".lstrip()
    if differences:
        text += f"\n\n{format_differences(differences)}\n\n{CORRECTED}"
    scores = Scores.collect(dict.fromkeys(found))
    return Answer(values=values, text=text, scores=scores, warnings=tuple(warnings), page=page, figures=figures)


def is_own_run(folder: Path) -> bool:
    """Whether a run is of the data's own drawers, by what it recorded."""
    return is_own(describe_scored(folder), load_scores(folder))


def own_scores(folders: Sequence[Path]) -> list[Score]:
    """The overall scores of runs that are of their own agents; agents of one name are told apart by their folders."""
    agents = [str(describe_scored(folder)["config"]["agent"]) for folder in folders]
    return [
        replace(score, agent=name)
        for folder, agent, name in zip(folders, agents, tell_apart(agents, folders), strict=True)
        for score in overall_scores(folder)
        if score.agent == agent
    ]


def _score_missing(
    request: Request,
    names: Sequence[str],
    missing: Sequence[str],
    add_own: bool,
    scored: dict[str, Path],
    warnings: list[str],
    *,
    invert: bool,
    size: int | None,
) -> list[str]:
    """Score who has no run folder yet, and the data's own drawers where they are wanted; gives the names that were added."""
    task, added = request.task, []

    def find(name: str) -> Drawings:
        return find_drawings(name, task, invert=invert, size=size, seed=request.seed, said=warnings)

    found = {name: find(name) for name in missing}
    given = any(drawings["agent"].iloc[0] == task.drawers for drawings in found.values())  # as a file of theirs
    # with too few drawings nothing is compared with them
    if add_own and not given and request.people and matched_own_rows(task, task.n) is not None:
        added.append(own_word(task))
        found[added[0]] = find(added[0])
    if not found:
        return added
    task = replace(task, n=min(stacked_number(drawings, task) for drawings in found.values()))
    if request.match:
        task = match_all(task, found)
    for name, drawings in found.items():
        scored[name], _, said = score_into_run(drawings, request, task, None)
        warnings += [sentence for sentence in said if sentence not in warnings]
    return added
