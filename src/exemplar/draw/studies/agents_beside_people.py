"""Trained agents beside people: what each drew after the exemplars of the test concepts is kept, and scored as anyone's.

A record in `results/drawings/NAME/` is the run folder of `draw sample`, so that it can be scored again without the agent's
weights, and without a GPU; docs/draw.md says how one is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path

from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.figures.plots import plot_plane
from exemplar.draw.scores import ScoredDrawings
from exemplar.draw.scoring import compute_scores
from exemplar.draw.studies.known_answers import EVERY, mean_changes, reported_scores
from exemplar.draw.studies.study import QUICKDRAW_FS, save_scores
from exemplar.draw.tasks import DrawingTask, make_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.records import Drawings, Score, Scores
from exemplar.report.figures import as_svg, styled
from exemplar.rooms import KeptResult
from exemplar.runs import Run, read_json

RESULTS = Path(str(resources.files("exemplar"))) / "results"
KEPT_DRAWINGS, SCORES = RESULTS / "drawings", RESULTS / "draw-agents.json"
N = 19  # as many as people made of Omniglot's characters besides the exemplar
TEST_SETS = {QUICKDRAW_FS: "quickdraw-fs"}  # of which drawings are kept, and what labels call them
WAY = "recognizability_20_way"
COMPARED = ("diversity", WAY, EVERY, "originality")


def agents_result(run: Run, seed: int) -> Scores:
    """Scores of people and of each agent whose drawings are kept, and the agent's less people's, paired over concepts."""
    scores: list[Score] = []
    for which, label in TEST_SETS.items():
        task = replace(make_task(load(*which)), n=N)
        scored = score_kept(task, find_kept_drawings(task.data.name), seed)
        for name, found in scored.items():
            scores += [replace(score, agent=f"{label}: {name}", variant="") for score in reported_scores(found)]
            if name != task.drawers:
                words = f"{label}: {name} less {task.drawers}"
                scores += mean_changes(scored[task.drawers], found, COMPARED, words, seed)
    return save_scores(run, scores)


def find_kept_drawings(data: str) -> dict[str, Drawings]:
    """Agent → what it drew of this data set (name and split)."""
    records = [Drawings.load(path.parent) for path in sorted(KEPT_DRAWINGS.glob("*/drawings.parquet"))]
    return {str(found["agent"].iloc[0]): found for found in records if str(found["data"].iloc[0]) == data}


def score_kept(task: DrawingTask, kept: Mapping[str, Drawings], seed: int) -> dict[str, ScoredDrawings]:
    """The data's own drawers and each agent, by the default critics. Drawings after other exemplars are refused."""
    critics = load_unseen_critics(task.data)
    for name, drawings in kept.items():
        check_exemplars(name, drawings, task)
    drawn = {task.drawers: own_drawings(task), **kept}
    return {name: compute_scores(some, task, critics, seed=seed) for name, some in drawn.items()}


def check_exemplars(name: str, drawings: Drawings, task: DrawingTask) -> None:
    """Refuse drawings after other exemplars than the task's, and too few of a concept."""
    shown = dict(zip(task.concepts, task.exemplar_rows.tolist(), strict=True))
    if other := [concept for concept, row in _shown(drawings).items() if shown.get(concept) != row]:
        raise UserError(f"{name} drew {other[0]} after another exemplar than the task's: let it draw again")
    if (n := drawings["concept"].astype(str).value_counts().min()) < task.n or len(_shown(drawings)) < len(shown):
        raise UserError(f"{name} needs {task.n} drawings of {len(shown)} concepts, has {n} of {len(_shown(drawings))}")


def _shown(drawings: Drawings) -> dict[str, int]:
    return dict(zip(drawings["concept"].astype(str), drawings["exemplar"].astype(int), strict=True))


def draw_plane(label: str) -> str:
    """The plane of the committed scores on one data set, as SVG; empty where none are committed."""
    found: dict[str, dict[str, Score]] = {"diversity": {}, WAY: {}}
    for row in read_json(SCORES)["scores"] if SCORES.is_file() else []:
        data, _, agent = row["agent"].partition(": ")
        if row["name"] in found and data == label:
            found[row["name"]][agent] = Score(row["name"], row["value"], tuple(row["ci95"]), row["n"])
    axes = [found["diversity"], found[WAY]]
    return styled(as_svg)(plot_plane(*axes, chance=1 / 20, ylabel="recognizability among 20")) if axes[0] else ""


KEPT = KeptResult(
    title="Trained agents beside people",
    text="What trained agents drew after the exemplars of the test concepts, 19 drawings of each, scored as people's drawings "
    "are and by the same critics, with each score less people's, paired over concepts. The drawings are committed "
    "(`src/exemplar/results/drawings/`), so that this needs no GPU.\n\n"
    "`cfgdm-quickdraw` has 5.96 M parameters and was trained for 20,000 steps on the 95 training concepts of QuickDraw-FS, a "
    "sixth of the paper's 550; it draws in 20 steps of DPM-Solver++ with guidance 1. What it draws is as diverse as people's "
    "drawings and more, but farther from the exemplar, and only half as often recognized (the paper's CFGDM: more than nine "
    "in ten). Of the concepts it was trained on its drawings are recognized as often as people's (`exemplar draw sample "
    "cfgdm-quickdraw --data quickdraw-fs --split train --n 10`, then `draw score` with `--allow-seen`). So it has seen "
    "too few concepts, not too few drawings: the next one is to be trained on the split `critics-parts`, 709 classes that are "
    "in neither test set.\n\n"
    "![The plane on QuickDraw-FS](agents-quickdraw-fs.svg)",
    compute=agents_result,
    data=(QUICKDRAW_FS,),
    figures={f"agents-{label}.svg": partial(draw_plane, label) for label in TEST_SETS.values()},
)
