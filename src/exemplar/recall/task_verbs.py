"""The verbs `make_tasks` and `check`: suites made, kept and held against the specification."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.answers import Answer, format_pairs
from exemplar.errors import UserError, unknown
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.options import check_path
from exemplar.recall.frozen import FROZEN
from exemplar.recall.rules import RULES, Violation, find_violation
from exemplar.recall.suites import Suite, load_suite, make_suite, stored_digest
from exemplar.recall.tasks import TYPES, TaskShape

SPLITS = {"omniglot": "cfsl-test"}  # where the default of this room is not that of the data


def find_data(name: str, split: str | None) -> ConceptSet:
    """The data of a suite; of Omniglot the split made for continual few-shot learning, unless another is named."""
    chosen = split if split is not None else SPLITS.get(str(name), "test" if _has_test(str(name)) else None)
    return load(name, chosen)


def _has_test(name: str) -> bool:
    return name in CATALOGUE and "test" in CATALOGUE[name].splits()


def find_shape(kind: str | None, changes: dict[str, Any]) -> TaskShape:
    """A named type with some of its numbers changed; `new-classes` where none is named."""
    if kind is not None and kind not in TYPES:
        raise unknown("task type", kind, TYPES)
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(TYPES[kind or "new-classes"], **given)


def frozen_name(suite: Suite) -> str:
    """The type of which this is the frozen suite, "" where it is none."""
    return next((name for name, digest in FROZEN.get(suite.data, {}).items() if digest == suite.digest), "")


def answer_tasks(data: ConceptSet, shape: TaskShape, n: int, seed: int, out: Path | str | None) -> Answer:
    place = None if out is None else check_path(out, ".npz", "A suite of tasks")
    suite, speed = make_suite(data, shape, n, seed)
    if place is not None:
        suite.save(place)
    values: dict[str, Any] = {
        "tasks": len(suite), "unique": suite.n_unique, "sha256": suite.digest, "tasks_per_cpu_second": round(speed),
        "data": suite.data, "fingerprint": suite.fingerprint, **shape.__dict__, "labels": shape.n_labels,
        "classes_per_task": shape.n_classes, "repeated_targets": suite.repeated_targets(), "seed": seed,
        "frozen": frozen_name(suite),
    }  # fmt: skip
    left = int((data.counts < shape.n_samples).sum())
    warnings = (
        (f"{left} classes of {data.name} have fewer than {shape.n_samples} samples and are left out.",) if left else ()
    )
    if place is not None:
        values["out"] = str(out)
    return Answer(values=values, text=format_pairs(values), warnings=warnings)


def answer_check(path: Path | str, data: str | None, split: str | None) -> Answer:
    """Every rule, on a file; and, where the data is here or named, that it is of that data."""
    suite = load_suite(path)
    violation = find_violation(suite) or _whole_hash(suite, path)
    compared = ""
    if violation is None:
        violation, compared = _check_data(suite, data, split)
    values: dict[str, Any] = {
        "passes": violation is None, "tasks": len(suite), "unique": suite.n_unique, "sha256": suite.digest,
        "labels_from": suite.first_label, "repeated_targets": suite.repeated_targets(), "data": suite.data,
        "compared_with_data": bool(compared), "rules": [*RULES, "suite-hash", "data"], "frozen": frozen_name(suite),
    }  # fmt: skip
    if violation is not None:
        values |= {"rule": violation.rule, "violation": violation.sentence}
        return Answer(values=values, text=f"{path} breaks the rule {violation.rule}: {violation.sentence}.", ok=False)
    told = (
        f"and its rows are those of {compared}"
        if compared
        else f"but {suite.data} is not here to compare its rows with"
    )
    text = (
        f"{len(suite)} tasks keep every rule (labels count from {suite.first_label}), {told}.\nsha256  {suite.digest}"
    )
    return Answer(values=values, text=text)


def _whole_hash(suite: Suite, path: Path | str) -> Violation | None:
    there = stored_digest(path)
    if there and there != suite.digest:
        return Violation("suite-hash", f"the suite's SHA-256 is {suite.digest[:16]}…, its file says {there[:16]}…")
    return None


def _check_data(suite: Suite, name: str | None, split: str | None) -> tuple[Violation | None, str]:
    """The violation, if any, and the data that the suite was compared with, "" where there is none."""
    if name is None:
        own, _, part = suite.data.partition("/")
        if own not in CATALOGUE or not CATALOGUE[own].is_here() or part not in CATALOGUE[own].splits():
            return None, ""
        name, split = own, part
    data = find_data(name, split)
    if data.fingerprint != suite.fingerprint:
        return Violation("data", f"the suite is of other data ({suite.data}) than {data.name} as it is here"), data.name
    if not np.array_equal(suite.class_of_row, data.concept.code):
        return Violation("data", f"the classes of the suite's rows are not those of {data.name}"), data.name
    return None, data.name


def check_usable(suite: Suite, data: ConceptSet) -> None:
    """Before a run: the suite keeps the rules and is of this data."""
    if suite.fingerprint != data.fingerprint:
        raise UserError(
            f"the suite is of {suite.data}, not of {data.name} as it is here: give --data and --split that fit it"
        )
    violation = find_violation(suite)
    if violation is not None:
        raise UserError(f"the suite breaks the rule {violation.rule} ({violation.sentence}): see exemplar recall check")
