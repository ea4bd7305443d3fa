"""The room's leaderboards: the frozen suites, and a run of one scored again from its predictions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.files import read_npz
from exemplar.recall.experiments import read_run
from exemplar.recall.frozen import FROZEN
from exemplar.recall.inputs import DataSource, check_seen, choose_space
from exemplar.recall.outcomes import MEMORY, OWN, Outcome
from exemplar.recall.run_folders import SUITE
from exemplar.recall.scores import score_outcome
from exemplar.recall.suites import Suite, load_suite
from exemplar.recall.tasks import ABOUT_TYPES
from exemplar.records import Predictions, Score
from exemplar.rooms import Leaderboard, Placed
from exemplar.runs import describe_run

N_FROZEN = 600  # tasks of a frozen suite
RESULTS = {"omniglot/cfsl-test": "recall-omniglot", "cifar-fs/test": "recall-cifar-fs"}
COLUMNS = ("accuracy", "cross_entropy", "backward_transfer", "atm")
COMMAND = "exemplar recall run --agent mine.py:Mine --data {data} --type {kind} --n 600 --out mine"
UNPROVEN = (
    "That the predictions came from this learner, and that nothing it brought was trained on these classes.",
    "Memory (atm) is what the run measured; predictions do not show it.",
)
READING = (
    "Each board is the frozen suite of 600 tasks of one type. `joint-oracle` is shown everything at once and `last-set-only` "
    "forgets on purpose: bounds, not competitors. Agents who compute gradients did the first of these tasks alone, and stand "
    "in [Results](../results.md). `chance` is a row. `atm` is the memory kept between support sets, in bits "
    "per bit of all their images as float32: lower is better. [What the numbers mean](../recall.md#what-the-numbers-mean)."
)


def make_boards() -> dict[str, Leaderboard]:
    """One per data set and task type."""
    return {
        f"{result}/{kind}": Leaderboard(
            title=f"{data.partition('/')[0]}, {kind}",
            text=f"{ABOUT_TYPES[kind][0].upper()}{ABOUT_TYPES[kind][1:]}; `{data}`.",
            reading=READING,
            result=result,
            columns=COLUMNS,
            shows=_shows(kind),
            command=COMMAND.format(data=data.partition("/")[0], kind=kind),
            near=partial(is_near, data, kind),
            check=partial(check_run, data, kind),
        )
        for data, result in RESULTS.items()
        for kind in FROZEN[data]
    }


def _shows(kind: str) -> Callable[[Score], bool]:
    return lambda s: s.variant == kind and not s.concept and s.n >= N_FROZEN and not s.agent.endswith("(joint)")


def is_near(data: str, kind: str, folder: Path) -> bool:
    """Whether a run is of this data and type, if not of this suite."""
    if describe_run(folder)["command"] != "recall run":
        return False
    suite = load_suite(folder / SUITE)
    return suite.data == data and _kind(folder, suite) == kind


def _kind(folder: Path, suite: Suite) -> str:
    by_hash = next((kind for kind, digest in FROZEN[suite.data].items() if digest == suite.digest), "")
    return by_hash or str(describe_run(folder)["config"].get("kind") or "new-classes")


def check_run(data: str, kind: str, folder: Path) -> Placed:
    """The run's predictions held against the frozen suite, and scored again."""
    suite = load_suite(folder / SUITE)
    if not np.array_equal(suite.hash_tasks(), suite.sha256):
        raise UserError(f"{folder / SUITE} was changed: its tasks do not have the hashes that it states")
    if suite.digest != FROZEN[data][kind]:
        raise UserError(
            f"The run is of other tasks than the published {kind} on {data}: run it with --n 600 and --seed 0, or with "
            "--suite of the frozen suite."
        )
    config = describe_run(folder)["config"]
    own = ":" in str(config["agent"])
    if config["joint"]:
        raise UserError("The run was shown all support sets at once (--joint): that is a bound, no continual learner.")
    if own and not config["strict"]:
        raise UserError(
            "The run was not in the strict mode, so nothing kept the learner from remembering: run it again."
        )
    done = read_outcome(folder)
    source = DataSource(data.partition("/")[0], data.partition("/")[2])
    space = "" if own else choose_space(str(config["agent"]), config["space"], source)[0]
    check_seen(space, source, allow_seen=False)
    facts: dict[str, Any] = {"strict": bool(config["strict"]), "failed_tasks": int(done.failed.sum()),
                             "transductive": done.transductive, "space": space}  # fmt: skip
    return Placed(done.agent, score_outcome(done, variant=kind, space=space), facts, UNPROVEN)


def read_outcome(folder: Path) -> Outcome:
    """The outcome, if its predictions are of the suite beside it and are what a classifier can say."""
    suite = load_suite(folder / SUITE)
    shape, label = suite.target.shape, suite.target_label - suite.first_label
    for name in ("predictions", OWN):
        if name == "predictions" or (folder / f"{OWN}.parquet").is_file():
            check_predictions(Predictions.load(folder, name), name, shape, label, suite.shape.n_labels)
    done = read_run(folder)[0]
    memory = read_npz(folder / MEMORY, atm=("f", 1), atm_native=("f", 1), atm_printed=("f", 1))
    for name, values in memory.items():
        if values.shape != shape[:1] or not (np.isfinite(values) & (values >= 0)).all():
            raise UserError(f"{folder / MEMORY}: {name} must be a number for each of the {shape[0]} tasks, 0 or more")
    return done


def check_predictions(table: Predictions, name: str, shape: tuple[int, ...], label: np.ndarray, n_labels: int) -> None:
    """table: of some or all targets; shape: (tasks, sets, targets); label: the same, the right answers."""
    place = tuple(table[key].to_numpy() for key in ("task", "set", "item"))
    outside = [
        key for key, rows, size in zip(("task", "set", "item"), place, shape, strict=True) if (rows >= size).any()
    ]
    if outside or table["agent"].nunique() != 1:
        what = f"a {outside[0]} that the suite does not have" if outside else "several agents"
        raise UserError(f"{name} has {what}: it belongs to another run")
    if not np.array_equal(table["label"].to_numpy(), label[place]):
        raise UserError(f"{name} has other right answers than the suite: its labels were changed")
    log_p = table.log_p.astype(np.float64)
    if log_p.shape[1] != n_labels:
        raise UserError(f"{name} has {log_p.shape[1]} probabilities per target, the suite has {n_labels} labels")
    total = np.exp(log_p).sum(axis=1)
    if (np.abs(total - 1) > 1e-3).any():
        row = int(np.argmax(np.abs(total - 1)))
        raise UserError(f"{name} row {row}: the probabilities add up to {total[row]:.4g}, not 1")
    best = np.take_along_axis(log_p, table["predicted"].to_numpy()[:, None].clip(max=n_labels - 1), axis=1)[:, 0]
    if (table["predicted"].to_numpy() >= n_labels).any() or (best < log_p.max(axis=1)).any():
        raise UserError(f"{name}: what is predicted is not the most likely label, so one of them was changed")
