"""The room's leaderboards: drawings after the central exemplar, 19 of each concept, scored again from the record."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from exemplar.draw.requests import Request, find_drawings
from exemplar.draw.scored_runs import describe_scored
from exemplar.draw.scoring import score_into_run
from exemplar.errors import UserError, shortened
from exemplar.records import Drawings
from exemplar.rooms import Leaderboard, Placed
from exemplar.runs import load_scores, plain

N = 19  # drawings of each concept, as many as people made besides the exemplar
FREE = (
    "seed",
    "split",
    "n",
)  # what a run may have asked for otherwise: `split` names the default, `n` is checked by itself
UNPROVEN = (
    "That the drawings were made by this agent after one exemplar, and what it was trained on: `--training` with draw score "
    "looks for copies.",
)
READING = (
    "After the most typical drawing of each concept, 19 others. Recognizability is by the default ProtoNet (chance among 20 is "
    ".05), diversity and originality by the default SimCLR. More is not better: the data's own drawers are the reference, and "
    "the distance says how far an agent is from them. [What each score means](../draw.md#what-every-score-means)."
)
PEOPLE_FEATURES = "people, released views, divided by a drawing's own deviation"  # the default critics and features
COLUMNS = ("recognizability_20_way", "recognizability_all_way", "diversity", "originality")


def make_boards() -> dict[str, Leaderboard]:
    return {
        "draw-glyphs": Leaderboard(
            title="glyphs, weak-test",
            text="90 invented characters, whose drawers are simulated.",
            reading=READING,
            result="draw-known-answers",
            columns=("distance_to_simulated_drawers", *COLUMNS),
            shows=lambda score: not score.name.startswith("change_of_"),
            lowest=True,
            command="exemplar draw score mine.py:sample --data glyphs --out mine",
            near=partial(is_near, "glyphs/weak-test"),
            check=partial(check_run, "glyphs", "weak-test"),
        ),
        "draw-omniglot": Leaderboard(
            title="omniglot, weak-test",
            text="150 characters, drawn by people.",
            reading=READING,
            result="draw-humans",
            columns=("distance_to_people", *COLUMNS),
            shows=lambda score: score.agent in ("people", PEOPLE_FEATURES) and not score.concept,
            lowest=True,
            command="exemplar draw score mine.py:sample --data omniglot --out mine",
            near=partial(is_near, "omniglot/weak-test"),
            check=partial(check_run, "omniglot", "weak-test"),
        ),
    }  # fmt: skip


def is_near(name: str, folder: Path) -> bool:
    about: dict[str, Any] = describe_scored(folder)
    return list(about["data"]) == [name]


def check_run(data: str, split: str, folder: Path) -> Placed:
    """The run's drawings scored again, on the very task: the same exemplars, drawings, critics and settings."""
    about = describe_scored(folder)
    request = Request(data=data, split=split, seed=int(about["seed"]))
    asked, default = about["config"]["asked"], plain(Request(data=data))
    other = [name for name in default if name not in FREE and asked.get(name, default[name]) != default[name]]
    if other:
        raise UserError(
            f"The leaderboard's task has default settings, the run has other {shortened(other)}: leave them out."
        )
    if about["config"]["n"] != N:
        raise UserError(f"The leaderboard compares {N} drawings of each concept, the run has {about['config']['n']}.")
    drawings = find_drawings(Drawings.load(folder), request.task, seed=request.seed)
    with tempfile.TemporaryDirectory() as place:
        again, said, warnings = score_into_run(drawings, request, request.task, Path(place) / "again")
        now, scores = describe_scored(again), load_scores(again)
    for name, what in (("drawings", "drawings"), ("exemplars", "exemplars"), ("weights", "weights of the critics")):
        if now["config"][name] != about["config"][name]:
            raise UserError(
                f"The {what} are not those that the run was scored with: they were changed, or are another's."
            )
    facts = {"data": said["data"], "n": said["n"], "critics": said["critics"], "warnings": list(warnings)}
    return Placed(str(drawings["agent"].iloc[0]), scores, facts, UNPROVEN)
