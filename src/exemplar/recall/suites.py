"""A suite: tasks of one shape on one data set, with a canonical byte form, a SHA-256 for each task and one for all of them.

Within a set the order of the samples means nothing, so the canonical form sorts them by label and row. A task's hash covers the
data's fingerprint and every set with its labels; the suite's hash covers the shape and the hashes of its tasks.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.files import read_npz, write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.recall.tasks import TaskShape, sample_indices

VERSION = 1
ARRAYS = {
    "support": ("iu", 3),
    "support_label": ("iu", 3),
    "target": ("iu", 3),
    "target_label": ("iu", 3),
    "set_number": ("iu", 1),
    "class_of_row": ("iu", 1),
    "sha256": ("U", 1),
    "header": ("U", 0),
}


@dataclass(frozen=True, eq=False)
class Suite:
    """Tasks as they are kept.

    support, support_label: (n, nss, ways · shots) rows of the data and labels; target, target_label: (n, nss, ways · targets);
    set_number: (nss,) 1 … nss; class_of_row: (images,) the class of each row of the data; sha256: (n,) of each task; data,
    fingerprint: what the rows are rows of; seed: −1 where somebody else made it.
    """

    shape: TaskShape
    data: str
    fingerprint: str
    seed: int
    support: np.ndarray
    support_label: np.ndarray
    target: np.ndarray
    target_label: np.ndarray
    set_number: np.ndarray
    class_of_row: np.ndarray
    sha256: np.ndarray

    def __len__(self) -> int:
        return len(self.support)

    @property
    def n_unique(self) -> int:
        return len(set(self.sha256.tolist()))

    @cached_property
    def first_label(self) -> int:
        """0 or 1: what labels count from."""
        return int(min(self.support_label.min(), self.target_label.min()))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole suite."""
        about = json.dumps({**self.shape.header(), "fingerprint": self.fingerprint, "version": VERSION}, sort_keys=True)
        return hashlib.sha256("\n".join([about, *self.sha256.tolist()]).encode()).hexdigest()

    def first(self, n: int) -> Suite:
        """The first n tasks."""
        each = ("support", "support_label", "target", "target_label", "sha256")
        return replace(self, **{name: getattr(self, name)[:n] for name in each})

    def hash_tasks(self) -> np.ndarray:
        """(n,) the SHA-256 of each task, from its sets as they are."""
        sets = [
            _canonical(self.support, self.support_label - self.first_label),
            _canonical(self.target, self.target_label - self.first_label),
        ]
        start = hashlib.sha256(f"exemplar recall task {VERSION}\n{self.fingerprint}\n".encode())
        start.update(np.array([part.shape[1:] for part in sets], "<i4").tobytes())
        found = []
        for task in range(len(self)):
            state = start.copy()
            for part in sets:
                state.update(part[task].tobytes())
            found.append(state.hexdigest())
        return np.array(found)

    def repeated_targets(self) -> int:
        """How many targets of T, the concatenation of all T_n, are there more than once, over all tasks."""
        flat = np.sort(self.target.reshape(len(self), -1), axis=1)
        return int((flat[:, 1:] == flat[:, :-1]).sum())

    def save(self, path: Path) -> None:
        header = {
            "shape": {f.name: getattr(self.shape, f.name) for f in fields(TaskShape)},
            "data": self.data,
            "fingerprint": self.fingerprint,
            "seed": self.seed,
            "version": VERSION,
            "suite_sha256": self.digest,
        }
        arrays = {name: getattr(self, name) for name in ARRAYS if name != "header"}
        write_npz(path, {**arrays, "header": np.array(json.dumps(header, sort_keys=True))})


def make_suite(data: ConceptSet, shape: TaskShape, n: int, seed: int) -> tuple[Suite, float]:
    """n distinct tasks, and how many of them a CPU-second gives as indices. A number whose task is there already is passed
    over; where the data has not so many tasks, the error says how many there are."""
    rows, counts = class_rows(data, shape)
    began = time.process_time()
    found: dict[str, None] = {}
    kept: list[Suite] = []
    first, seconds = 0, 0.0
    while len(found) < n and first < 4 * n + 64:
        drawn = sample_indices(shape, rows, counts, np.arange(first, first + n - len(found)), seed)
        seconds = time.process_time() - began if not kept else seconds
        suite = _suite_of(drawn.support, drawn.target, shape, data, seed)
        new = [
            k for k, name in enumerate(suite.sha256.tolist()) if name not in found and not found.update({name: None})
        ]
        kept.append(_subset(suite, np.array(new, np.intp)))
        first += len(drawn.number)
    if len(found) < n:
        raise UserError(
            f"{n} distinct tasks were asked for, {data.name} gave {len(found)} in {first}: lower --n, or use more classes"
        )
    whole = kept[0] if len(kept) == 1 else _joined(kept)
    return whole, n / max(seconds, 1e-9)


def class_rows(data: ConceptSet, shape: TaskShape) -> tuple[np.ndarray, np.ndarray]:
    """(classes, most) rows of each class that has enough samples, and (classes,) how many these are."""
    eligible = shape.check_supply(data.counts, data.name)
    order = np.argsort(data.concept.code, kind="stable").astype(np.int32)
    start = np.cumsum(data.counts) - data.counts
    place = np.minimum(start[eligible, None] + np.arange(data.counts.max()), len(order) - 1)
    return order[place], data.counts[eligible]


def load_suite(path: Path | str) -> Suite:
    """Read a suite, ours or another's; whether it keeps the rules is for `check` to say."""
    place = Path(path).expanduser()
    arrays = read_npz(place, **ARRAYS)
    try:
        about: dict[str, Any] = json.loads(str(arrays.pop("header")))
        shape = TaskShape(**about["shape"])
        return Suite(shape, str(about["data"]), str(about["fingerprint"]), int(about["seed"]), **_whole(arrays))
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(
            f"{place} has no readable header ({problem}): it is no suite of tasks, or of another version"
        ) from problem


def stored_digest(path: Path | str) -> str:
    """The suite's SHA-256 as its file says."""
    return str(json.loads(str(read_npz(Path(path).expanduser(), header=("U", 0))["header"])).get("suite_sha256", ""))


def _whole(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array.astype(np.int64) if array.dtype.kind in "iu" else array for name, array in arrays.items()}


def _suite_of(support: np.ndarray, target: np.ndarray, shape: TaskShape, data: ConceptSet, seed: int) -> Suite:
    n, labels = len(support), shape.labels()
    flat = [part.reshape(n, shape.nss, -1).astype(np.int64) for part in (support, target)]
    own = [
        np.broadcast_to(np.repeat(labels, each, axis=1), rows.shape).copy()
        for rows, each in zip(flat, (shape.shots, shape.targets), strict=True)
    ]
    suite = Suite(
        shape,
        data.name,
        data.fingerprint,
        seed,
        flat[0],
        own[0],
        flat[1],
        own[1],
        np.arange(1, shape.nss + 1),
        data.concept.code.astype(np.int64),
        np.full(n, "", "U64"),
    )
    return _with_hashes(suite)


def _with_hashes(suite: Suite) -> Suite:
    return _replaced(suite, sha256=suite.hash_tasks())


def _subset(suite: Suite, tasks: np.ndarray) -> Suite:
    each = ("support", "support_label", "target", "target_label", "sha256")
    return (
        suite if len(tasks) == len(suite) else _replaced(suite, **{name: getattr(suite, name)[tasks] for name in each})
    )


def _joined(suites: list[Suite]) -> Suite:
    each = ("support", "support_label", "target", "target_label", "sha256")
    return _replaced(suites[0], **{name: np.concatenate([getattr(s, name) for s in suites]) for name in each})


def _replaced(suite: Suite, **changed: np.ndarray) -> Suite:
    """`dataclasses.replace` would keep nothing cached either, but reads the cached hash's field as one of its own."""
    return Suite(**{field.name: changed.get(field.name, getattr(suite, field.name)) for field in fields(Suite)})


def _canonical(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n, nss, m, 2) little-endian int32: (label, row), sorted within each set."""
    key = labels.astype(np.int64) << 32 | rows.astype(np.int64)
    key.sort(axis=2)
    return np.stack([key >> 32, key & 0xFFFFFFFF], axis=3).astype("<i4")
