"""Learners on the same tasks, paired: the verb `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.answers import Answer, format_interval, format_table
from exemplar.errors import UserError
from exemplar.recall.experiments import read_run
from exemplar.recall.figures.compare_page import Pair, write_compare_page
from exemplar.recall.figures.plots import learners_on_front
from exemplar.recall.run_folders import COSTS, PAGE
from exemplar.recall.scores import Difference, compare_outcomes
from exemplar.records import Score, Scores
from exemplar.runs import load_scores, open_run, read_json, tell_apart
from exemplar.stats import adjust_p

FEW = 30  # tasks, below which the interval of a difference is too narrow near an accuracy of 1 (the result recall-coverage)
FEW_WARNING = (
    "Only {n} tasks: near an accuracy of 1 the interval of a difference is then too narrow (it holds the truth in 89 % of "
    "experiments). Use 30 tasks or more."
)


def compare_runs(folders: Sequence[Path | str], out: Path | str | None) -> Answer:
    """Every pair of runs; a UserError where they are not of the same suite."""
    places = [Path(folder).expanduser() for folder in folders]
    if len(places) < 2 or len({place.resolve() for place in places}) < len(places):
        raise UserError("compare needs two or more different run folders: give them one after the other")
    read = [read_run(place) for place in places]
    if len({suite.digest for _, suite, _ in read}) > 1:
        raise UserError(
            "these runs are of different suites: run all agents with the same --suite, or --type, --n and --seed"
        )
    names = tell_apart([outcome.agent for outcome, _, _ in read], places)
    pairs = list(combinations(range(len(read)), 2))
    differences = [compare_outcomes(read[i][0], read[j][0]) for i, j in pairs]
    adjusted = adjust_p([difference.p for difference in differences])
    scores = [scored for place in places for scored in [load_scores(place)]]
    accuracy = [_find(each, "accuracy") for each in scores]
    atm = [_find(each, "atm").value for each in scores]
    macs = [float(read_json(place / COSTS)["costs"]["macs_task"]) for place in places]
    front = learners_on_front(names, [score.value for score in accuracy], atm, macs)
    rows = [
        _row(names[i], names[j], difference, float(p))
        for (i, j), difference, p in zip(pairs, differences, adjusted, strict=True)
    ]
    values: dict[str, Any] = {
        "tasks": len(read[0][1]),
        "sha256": read[0][1].digest,
        "differences": rows,
        "runs": [
            {"agent": name, "accuracy": score.json(), "atm": a, "macs_task": m, "front": bool(f)}
            for name, score, a, m, f in zip(names, accuracy, atm, macs, front, strict=True)
        ],
    }
    lines = [
        (
            row["first"],
            row["second"],
            f"{row['accuracy']['value']:+.4f}",
            format_interval(tuple(row["accuracy"]["ci95"])),
            f"{row['p']:.4f}",
        )
        for row in rows
    ]
    text = format_table(("first", "second", "accuracy, first − second", "95 %", "p (Holm)"), lines)
    best = ", ".join(name for name, on_front in zip(names, front, strict=True) if on_front)
    text += f"\n\nOn the Pareto front of accuracy, ATM and MACs: {best}."
    compared = [
        Pair(
            names[i], names[j],
            Score.of("accuracy_difference", d.accuracy, agent=f"{names[i]} − {names[j]}"),
            Score.of("cross_entropy_difference", d.cross_entropy, agent=f"{names[i]} − {names[j]}"),
            float(p),
        )
        for (i, j), d, p in zip(pairs, differences, adjusted, strict=True)
    ]  # fmt: skip
    found = [pair.accuracy for pair in compared]
    n = len(read[0][1])
    warnings = (FEW_WARNING.format(n=n),) if n < FEW else ()
    page = None
    if out is not None:
        folder = Path(out).expanduser()
        chance = 1 / read[0][1].shape.n_labels
        data = {str(place): seeds.digest((place / "scores.parquet").read_bytes()) for place in places}
        with open_run(
            folder, command="recall compare", config={"runs": [str(p) for p in places]}, seed=0, data=data
        ) as run:
            if not run.finished:
                run.save(Scores.collect(found))
                write_compare_page(folder, dict(zip(names, scores, strict=True)), macs, compared, chance, places)
        page, values["out"] = folder / PAGE, str(out)
        text += f"\nKept in {folder}."
    return Answer(
        values=values,
        text=text,
        scores=Scores.collect(found),
        warnings=warnings,
        folder=None if out is None else Path(out),
        page=page,
    )


def _row(first: str, second: str, difference: Difference, p: float) -> dict[str, Any]:
    accuracy, nats = difference.accuracy, difference.cross_entropy
    return {
        "first": first,
        "second": second,
        "p": p,
        "n": int(accuracy.n),
        "accuracy": {"value": accuracy.value, "ci95": [accuracy.lo, accuracy.hi], "n": int(accuracy.n)},
        "cross_entropy": {"value": nats.value, "ci95": [nats.lo, nats.hi], "n": int(nats.n)},
        "p_cross_entropy": difference.p_cross_entropy,
    }


def _find(scores: Sequence[Score], name: str) -> Score:
    return next(score for score in scores if score.name == name)
