"""Every rule of the specification as a function of a suite, ours or another's; the first violation has a name and a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from exemplar.recall.suites import Suite


@dataclass(frozen=True)
class Violation:
    """rule: its name; sentence: what is wrong, and where (tasks and sets count from 0 and from 1, as in the file)."""

    rule: str
    sentence: str


def find_violation(suite: Suite) -> Violation | None:
    """The first violation, rules in the order of RULES; None where every rule is kept."""
    for name, rule in RULES.items():
        for sentence in rule(suite):
            return Violation(name, sentence)
    return None


def _task_count(suite: Suite) -> Iterator[str]:
    if not len(suite):
        yield "the suite has no tasks"


def _set_sizes(suite: Suite) -> Iterator[str]:
    shape = suite.shape
    for what, each, size in (
        ("support", shape.shots, suite.support.shape),
        ("target", shape.targets, suite.target.shape),
    ):
        if size[1] != shape.nss:
            yield f"tasks have {size[1]} {what} sets, NSS is {shape.nss}"
        if size[2] != shape.ways * each:
            yield f"{what} sets have {size[2]} samples, {shape.ways} ways × {each} are {shape.ways * each}"
    for rows, labels in ((suite.support, suite.support_label), (suite.target, suite.target_label)):
        if rows.shape != labels.shape:
            yield f"there are {rows.shape} samples but {labels.shape} labels"
    if suite.support.shape[0] != suite.target.shape[0]:
        yield f"{len(suite.support)} tasks have support sets and {len(suite.target)} have targets"
    if len(suite.sha256) != len(suite.support):
        yield f"{len(suite.support)} tasks have {len(suite.sha256)} hashes"


def _numbering(suite: Suite) -> Iterator[str]:
    wanted = np.arange(1, suite.shape.nss + 1)
    if not np.array_equal(suite.set_number, wanted):
        yield f"support sets are numbered {suite.set_number.tolist()}, they must count 1 … {suite.shape.nss}"


def _rows_exist(suite: Suite) -> Iterator[str]:
    for what, rows in (("support", suite.support), ("target", suite.target)):
        wrong = np.argwhere((rows < 0) | (rows >= len(suite.class_of_row)))
        if len(wrong):
            task, place, k = wrong[0]
            yield f"{_at(task, place)}: {what} row {rows[task, place, k]} is not in the data ({len(suite.class_of_row)} rows)"


def _ways(suite: Suite) -> Iterator[str]:
    yield from _counts(suite, suite.support, suite.shape.ways, "classes in the support set", distinct=True)


def _shots(suite: Suite) -> Iterator[str]:
    yield from _counts(suite, suite.support, suite.shape.shots, "support samples of a class", distinct=False)


def _target_counts(suite: Suite) -> Iterator[str]:
    yield from _counts(suite, suite.target, suite.shape.ways, "classes in the target set", distinct=True)
    yield from _counts(suite, suite.target, suite.shape.targets, "target samples of a class", distinct=False)


def _counts(suite: Suite, rows: np.ndarray, wanted: int, what: str, *, distinct: bool) -> Iterator[str]:
    classes = np.sort(suite.class_of_row[rows], axis=2)
    begins = np.concatenate([np.ones((*classes.shape[:2], 1), bool), classes[..., 1:] != classes[..., :-1]], axis=2)
    if distinct:
        found = begins.sum(axis=2)
        for task, place in np.argwhere(found != wanted)[:1]:
            yield f"{_at(task, place)}: {found[task, place]} {what}, not {wanted}"
        return
    for task, place in np.argwhere((begins != (np.arange(classes.shape[2]) % wanted == 0)).any(axis=2))[:1]:
        _, n = np.unique(classes[task, place], return_counts=True)
        yield f"{_at(task, place)}: {n[n != wanted][0]} {what}, not {wanted}"


def _target_classes(suite: Suite) -> Iterator[str]:
    shown, asked = (_class_sets(suite, rows) for rows in (suite.support, suite.target))
    for task, place in np.argwhere((shown != asked).any(axis=2))[:1]:
        yield f"{_at(task, place)}: the target set asks about other classes than the support set shows"


def _class_interval(suite: Suite) -> Iterator[str]:
    classes = _class_sets(suite, suite.support)
    group = np.arange(suite.shape.nss) // suite.shape.cci * suite.shape.cci
    for task, place in np.argwhere((classes != classes[:, group]).any(axis=2))[:1]:
        yield f"{_at(task, place)}: the classes change before {suite.shape.cci} support sets (CCI) have shown them"


def _class_reuse(suite: Suite) -> Iterator[str]:
    classes = _class_sets(suite, suite.support)[:, :: suite.shape.cci]
    for task, value in _repeated(classes.reshape(len(suite), -1)):
        where = np.argwhere(classes[task] == value)[:, 0]
        yield f"task {task}: class {value} is shown again when classes change (choices {where[0] + 1} and {where[1] + 1})"


def _sample_reuse(suite: Suite) -> Iterator[str]:
    for task, value in _repeated(suite.support.reshape(len(suite), -1)):
        where = np.argwhere(suite.support[task] == value)[:, 0]
        yield f"task {task}: row {value} is in support set {where[0] + 1} and again in {where[1] + 1}"


def _target_in_support(suite: Suite) -> Iterator[str]:
    n, largest = len(suite), len(suite.class_of_row)
    shown, asked = (
        (rows + largest * np.arange(n)[:, None, None]).reshape(-1) for rows in (suite.support, suite.target)
    )
    leaked = np.flatnonzero(np.isin(asked, shown))
    if len(leaked):
        task, place, _ = np.unravel_index(leaked[0], suite.target.shape)
        value = asked[leaked[0]] % largest
        yield f"{_at(task, place)}: target row {value} is also in a support set ({len(leaked)} targets of {len(asked)} are)"


def _target_reuse(suite: Suite) -> Iterator[str]:
    for task in range(len(suite)):
        for place in range(suite.shape.nss):
            if len(np.unique(suite.target[task, place])) < suite.target.shape[2]:
                yield f"{_at(task, place)}: a target is there twice in one set"
                return
    if suite.shape.policy == "strict":
        for task, value in _repeated(suite.target.reshape(len(suite), -1)):
            yield f"task {task}: target row {value} is in two target sets, which the policy strict forbids"


def _label_range(suite: Suite) -> Iterator[str]:
    low, width = suite.first_label, suite.shape.n_labels
    if low not in (0, 1):
        yield f"labels begin at {low}: they must count from 0 or from 1"
        return
    for what, labels in (("support", suite.support_label), ("target", suite.target_label)):
        wrong = np.argwhere((labels < low) | (labels >= low + width))
        if len(wrong):
            task, place, k = wrong[0]
            yield f"{_at(task, place)}: {what} label {labels[task, place, k]} is outside {low} … {low + width - 1}"


def _label_sets(suite: Suite) -> Iterator[str]:
    wanted = suite.shape.labels() + suite.first_label
    for what, labels, each in (
        ("support", suite.support_label, suite.shape.shots), ("target", suite.target_label, suite.shape.targets),
    ):  # fmt: skip
        found = np.sort(labels, axis=2)
        for task, place in np.argwhere((found != np.repeat(wanted, each, axis=1)).any(axis=2))[:1]:
            rule = "reuses the labels of the first classes" if suite.shape.overwrite else "has labels of its own"
            yield (
                f"{_at(task, place)}: {what} labels are {sorted(set(labels[task, place].tolist()))}, a new choice of "
                f"classes {rule}: {wanted[place].tolist()}"
            )


def _label_of_class(suite: Suite) -> Iterator[str]:
    """A class has one label in a task: in its support sets and in its targets."""
    largest = int(suite.class_of_row.max()) + 1
    both = [(suite.class_of_row[rows] + largest * np.arange(len(suite))[:, None, None], labels)
            for rows, labels in ((suite.support, suite.support_label), (suite.target, suite.target_label))]  # fmt: skip
    key, label = (np.concatenate([pair[k].reshape(-1) for pair in both]) for k in (0, 1))
    order = np.lexsort((label, key))
    key, label = key[order], label[order]
    for place in np.flatnonzero((key[1:] == key[:-1]) & (label[1:] != label[:-1]))[:1]:
        task, one = divmod(int(key[place]), largest)
        yield f"task {task}: class {one} has the labels {label[place]} and {label[place + 1]}"


def _hashes(suite: Suite) -> Iterator[str]:
    for task in np.flatnonzero(suite.hash_tasks() != suite.sha256)[:1]:
        yield f"task {task}: its SHA-256 is not the one in the file, so it was changed after it was hashed"


def _unique(suite: Suite) -> Iterator[str]:
    first: dict[str, int] = {}
    for task, name in enumerate(suite.sha256.tolist()):
        if name in first:
            yield f"task {task} is the same as task {first[name]}"
            return
        first[name] = task


def _class_sets(suite: Suite, rows: np.ndarray) -> np.ndarray:
    """(n, nss, ways) the classes of each set, in order; what breaks `ways` was found before."""
    classes = np.sort(suite.class_of_row[rows], axis=2)
    return classes[..., :: classes.shape[2] // suite.shape.ways]


def _repeated(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """(task, value) of the first value that is twice in its row."""
    ordered = np.sort(values, axis=1)
    for task, place in np.argwhere(ordered[:, 1:] == ordered[:, :-1])[:1]:
        yield int(task), int(ordered[task, place])


def _at(task: int, place: int) -> str:
    return f"task {task}, set {place + 1}"


RULES: dict[str, Callable[[Suite], Iterator[str]]] = {
    "task-count": _task_count,
    "set-size": _set_sizes,
    "numbering": _numbering,
    "row-exists": _rows_exist,
    "ways": _ways,
    "shots": _shots,
    "target-count": _target_counts,
    "target-classes": _target_classes,
    "class-interval": _class_interval,
    "class-reuse": _class_reuse,
    "sample-reuse": _sample_reuse,
    "target-in-support": _target_in_support,
    "target-reuse": _target_reuse,
    "label-range": _label_range,
    "label-set": _label_sets,
    "label-of-class": _label_of_class,
    "hash": _hashes,
    "unique": _unique,
}
