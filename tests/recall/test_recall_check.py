"""`recall check` names the rule that is broken: planted violations, each of one rule; and it passes what keeps them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_recall_tasks import toy

import exemplar as ex
from exemplar.errors import UserError
from exemplar.recall.rules import RULES, find_violation
from exemplar.recall.suites import Suite, _replaced, make_suite
from exemplar.recall.tasks import TYPES, TaskShape

DATA = toy()
SHAPE = TaskShape(nss=4, ways=3, shots=2, targets=2, cci=2)


def planted(change: Callable[[dict[str, Any]], None], shape: TaskShape = SHAPE, *, hashed: bool = True) -> Suite:
    """A suite with a violation in task 2. hashed: whether the hashes are made again, as by someone who believes in it."""
    suite, _ = make_suite(DATA, shape, 6, 0)
    arrays: dict[str, Any] = {
        f.name: np.array(v) if isinstance(v := getattr(suite, f.name), np.ndarray) else v for f in fields(Suite)
    }
    change(arrays)
    changed = Suite(**arrays)
    try:
        return _replaced(changed, sha256=changed.hash_tasks()) if hashed else changed
    except (ValueError, IndexError):
        return changed


def other_of_class(arrays: dict[str, Any], row: int, avoid: np.ndarray) -> int:
    """Another sample of the same class that the task does not use."""
    rows = np.flatnonzero(arrays["class_of_row"] == arrays["class_of_row"][row])
    return int(np.setdiff1d(rows, avoid)[0])


def set_at(name: str, where: tuple[int, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][where] = value(arrays) if callable(value) else value

    return change


def both(*changes: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        for one in changes:
            one(arrays)

    return change


def unused_class(arrays: dict[str, Any]) -> np.ndarray:
    used = arrays["class_of_row"][arrays["support"][2]]
    return np.flatnonzero(arrays["class_of_row"] == np.setdiff1d(arrays["class_of_row"], used)[0])


def new_class_in_set(place: int) -> Callable[[dict[str, Any]], None]:
    """The first class of one set of task 2 becomes one that nobody else has, support and targets."""

    def change(arrays: dict[str, Any]) -> None:
        rows = unused_class(arrays)
        arrays["support"][2, place, :2], arrays["target"][2, place, :2] = rows[:2], rows[2:4]

    return change


def reuse_first_classes(arrays: dict[str, Any]) -> None:
    """The second choice of classes is the first one, with other samples."""
    for k in range(3):
        used = np.concatenate([arrays["support"][2].ravel(), arrays["target"][2].ravel()])
        own = arrays["class_of_row"][arrays["support"][2, 0, 2 * k]]
        left = np.setdiff1d(np.flatnonzero(arrays["class_of_row"] == own), used)[:4]
        more = np.append(left, np.setdiff1d(np.flatnonzero(arrays["class_of_row"] == own), left))[:8]
        for place, part in ((2, more[:4]), (3, more[4:8])):
            arrays["support"][2, place, 2 * k : 2 * k + 2], arrays["target"][2, place, 2 * k : 2 * k + 2] = (
                part[:2],
                part[2:],
            )


VIOLATIONS: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "a sample in two support sets of the same classes": ("sample-reuse", set_at("support", (2, 1, 0), lambda a: a["support"][2, 0, 0])),
    "a sample twice in one support set": ("sample-reuse", set_at("support", (2, 0, 0), lambda a: a["support"][2, 0, 1])),
    "a class that comes back": ("class-reuse", reuse_first_classes),
    "a class that changes too early": ("class-interval", new_class_in_set(1)),
    "a target in its own support set": ("target-in-support", set_at("target", (2, 0, 0), lambda a: a["support"][2, 0, 0])),
    "a target in a later support set": ("target-in-support", set_at("target", (2, 0, 0), lambda a: a["support"][2, 1, 0])),
    "a target in an earlier support set": ("target-in-support", set_at("target", (2, 1, 0), lambda a: a["support"][2, 0, 0])),
    "a target that two target sets share": ("target-reuse", set_at("target", (2, 1, 0), lambda a: a["target"][2, 0, 0])),
    "a target twice in one set": ("target-reuse", set_at("target", (2, 0, 0), lambda a: a["target"][2, 0, 1])),
    "numbering from 0": ("numbering", set_at("set_number", (slice(None),), [0, 1, 2, 3])),
    "numbering as printed, off by CCI": ("numbering", set_at("set_number", (slice(None),), [3, 4, 5, 6])),
    "a number that is there twice": ("numbering", set_at("set_number", (1,), 1)),
    "a wrong support label": ("label-set", set_at("support_label", (2, 0, 0), 1)),
    "two labels swapped within a set": (
        "label-of-class", both(set_at("support_label", (2, 1, 0), 1), set_at("support_label", (2, 1, 2), 0))),
    "targets with each other's labels": (
        "label-of-class", both(set_at("target_label", (2, 0, 0), 1), set_at("target_label", (2, 0, 2), 0))),
    "labels reused without overwrite": (
        "label-set", both(set_at("support_label", (2, slice(2, 4)), lambda a: a["support_label"][2, :2]),
                          set_at("target_label", (2, slice(2, 4)), lambda a: a["target_label"][2, :2]))),
    "a label beyond the output": ("label-range", set_at("target_label", (2, 3, 0), 6)),
    "labels that begin at 2": (
        "label-range", both(set_at("support_label", (slice(None),), lambda a: a["support_label"] + 2),
                            set_at("target_label", (slice(None),), lambda a: a["target_label"] + 2))),
    "a duplicated task": (
        "unique", both(*(set_at(n, (2,), lambda a, n=n: a[n][4]) for n in ("support", "support_label", "target", "target_label")))),
    "a row that the data does not have": ("row-exists", set_at("support", (2, 0, 0), 10_000)),
    "a negative row": ("row-exists", set_at("target", (2, 0, 0), -1)),
    "a class too few in a set": (
        "ways", set_at("support", (2, 0, slice(0, 2)), lambda a: np.setdiff1d(
            np.flatnonzero(a["class_of_row"] == a["class_of_row"][a["support"][2, 0, 2]]), a["support"][2])[:2])),
    "three samples of one class and one of another": (
        "shots", set_at("support", (2, 0, 0), lambda a: other_of_class(a, a["support"][2, 0, 2], a["support"][2]))),
    "targets of one class too many": (
        "target-count", set_at("target", (2, 0, 0), lambda a: other_of_class(a, a["target"][2, 0, 2], a["target"][2]))),
    "targets of other classes": ("target-classes", set_at("target", (2, 0, slice(0, 2)), lambda a: unused_class(a)[:2])),
}  # fmt: skip


@pytest.mark.parametrize("what", VIOLATIONS)
def test_a_planted_violation_is_found_by_its_rule(what: str) -> None:
    rule, change = VIOLATIONS[what]
    found = find_violation(planted(change))
    assert found is not None and found.rule == rule, found
    if rule not in ("numbering", "unique"):
        assert "task 2" in found.sentence or "labels begin" in found.sentence


def test_there_are_twenty_planted_violations_and_nearly_every_rule_has_one() -> None:
    assert len(VIOLATIONS) >= 20
    assert set(RULES) - {rule for rule, _ in VIOLATIONS.values()} == {"task-count", "set-size", "hash"}  # below


def test_what_was_changed_after_it_was_hashed_is_found() -> None:
    def swap(arrays: dict[str, Any]) -> None:
        arrays["target"][2, 0, 0] = other_of_class(
            arrays, arrays["target"][2, 0, 0], np.r_[arrays["support"][2].ravel(), arrays["target"][2].ravel()]
        )

    found = find_violation(planted(swap, hashed=False))
    assert found is not None and found.rule == "hash" and "task 2" in found.sentence


def test_sets_of_another_size_than_the_header_says_are_found() -> None:
    def cut(arrays: dict[str, Any]) -> None:
        arrays["target"], arrays["target_label"] = arrays["target"][..., :-1], arrays["target_label"][..., :-1]

    found = find_violation(planted(cut, hashed=False))
    assert found is not None and found.rule == "set-size" and "target sets have 5 samples" in found.sentence


def test_no_tasks_are_no_suite() -> None:
    def empty(arrays: dict[str, Any]) -> None:
        for name in ("support", "support_label", "target", "target_label", "sha256"):
            arrays[name] = arrays[name][:0]

    found = find_violation(planted(empty, hashed=False))
    assert found is not None and found.rule == "task-count"


def test_the_leak_of_the_released_code_is_found() -> None:
    """For CCI > 1 it draws targets again from all samples of a class: some of them were shown."""
    rng = np.random.default_rng(0)

    def leak(arrays: dict[str, Any]) -> None:
        for task in range(6):
            for place in range(4):
                for k, row in enumerate(arrays["target"][task, place]):
                    own = np.flatnonzero(arrays["class_of_row"] == arrays["class_of_row"][row])
                    left = np.setdiff1d(own, np.r_[arrays["support"][task, place], arrays["target"][task, place]])
                    arrays["target"][task, place, k] = rng.choice(left)

    found = find_violation(planted(leak))
    assert found is not None and found.rule == "target-in-support"


def test_targets_may_repeat_where_the_policy_is_unseen() -> None:
    shape = TaskShape(nss=4, ways=3, shots=2, targets=2, cci=2, policy="unseen")
    assert find_violation(make_suite(DATA, shape, 6, 0)[0]) is None
    found = find_violation(planted(set_at("target", (2, 0, 0), lambda a: a["target"][2, 0, 1]), shape))
    assert found is not None and found.rule == "target-reuse"


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_passes_with_labels_from_0_and_from_1(kind: str, tmp_path: Path) -> None:
    suite, _ = make_suite(DATA, TYPES[kind] if kind != "new-samples" else TaskShape(nss=3, cci=3, targets=3), 8, 0)
    suite.save(tmp_path / "zero.npz")
    assert ex.recall.check(tmp_path / "zero.npz")["labels_from"] == 0
    ones = _replaced(suite, support_label=suite.support_label + 1, target_label=suite.target_label + 1)
    assert ones.hash_tasks().tolist() == suite.sha256.tolist()  # the same tasks, whatever their labels count from
    ones.save(tmp_path / "one.npz")
    answer = ex.recall.check(tmp_path / "one.npz")
    assert answer["passes"] and answer["labels_from"] == 1 and answer["sha256"] == suite.digest


def test_check_compares_with_the_data_and_says_so(tmp_path: Path, exemplar: Any) -> None:
    made = exemplar("recall", "tasks", "--data", "glyphs", "--n", "5", "--out", tmp_path / "s.npz", "--json").json()
    assert made["tasks"] == made["unique"] == 5 and made["tasks_per_cpu_second"] > 0
    said = exemplar("recall", "check", tmp_path / "s.npz", "--json")
    assert said.code == 0 and said.json()["compared_with_data"] and said.json()["sha256"] == made["sha256"]
    np.savez(tmp_path / "other.npz", images=DATA.images, concept=np.array(DATA.concepts)[DATA.concept.code])
    other = exemplar("recall", "check", tmp_path / "s.npz", "--data", tmp_path / "other.npz", "--json")
    assert other.code == 1 and other.json()["rule"] == "data"


def test_a_broken_suite_exits_with_1_and_a_broken_file_with_2(tmp_path: Path, exemplar: Any) -> None:
    planted(VIOLATIONS["a target in its own support set"][1]).save(tmp_path / "leaks.npz")
    said = exemplar("recall", "check", tmp_path / "leaks.npz")
    assert said.code == 1 and "breaks the rule target-in-support: task 2, set 1: target row" in said.out
    (tmp_path / "no.npz").write_bytes(b"PK nothing")
    assert exemplar("recall", "check", tmp_path / "no.npz").code == 2
    np.savez(tmp_path / "others.npz", images=np.zeros(3))
    said = exemplar("recall", "check", tmp_path / "others.npz")
    assert said.code == 2 and "has no array support" in said.err and len(said.err.strip().splitlines()) == 1


def test_the_same_words_in_python_and_on_the_command_line(exemplar: Any) -> None:
    words = (
        "recall",
        "tasks",
        "--data",
        "glyphs",
        "--type",
        "new-samples",
        "--ways",
        "4",
        "--n",
        "6",
        "--seed",
        "3",
        "--json",
    )
    answer = ex.recall.make_tasks("glyphs", type="new-samples", ways=4, n=6, seed=3).json()
    printed = exemplar(*words).json()
    speed = "tasks_per_cpu_second"
    assert {k: v for k, v in answer.items() if k != speed} == {k: v for k, v in printed.items() if k != speed}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tasks", "--data", "glyphs", "--nss", "3", "--cci", "2"), "NSS 3 is no multiple of CCI 2"),
        (("tasks", "--data", "glyphs", "--ways", "100"), "a task needs 300 classes, glyphs/weak-test has 90"),
        (("tasks", "--data", "glyphs", "--nss", "10", "--cci", "10"), "or use --policy unseen, which needs 15"),
        (("tasks", "--data", "glyphs", "--type", "new-clases"), "did you mean new-classes"),
        (("tasks", "--data", "glyphs", "--out", "suite.json"), "A suite of tasks is an .npz file"),
        (("tasks", "--data", "glyphs", "--n", "0"), "n must be at least 1"),
        (("run", "--agent", "protonets", "--data", "glyphs"), "did you mean protonet"),
        (("run", "--agent", "chance", "--data", "glyphs", "--suite", "gone.npz"), "gone.npz is missing"),
        (("run", "--agent", "chance", "--data", "glyphs", "--space", "pixels"), "chance stands on no space"),
        (("compare", "here"), "compare needs two or more different run folders"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    words: tuple[str, ...], sentence: str, exemplar: Any, tmp_path: Path
) -> None:
    from conftest import mistake

    assert sentence in mistake(exemplar("recall", *words, cwd=tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_suite_of_other_data_is_refused_by_run(tmp_path: Path) -> None:
    make_suite(DATA, TaskShape(targets=3), 4, 0)[0].save(tmp_path / "toy.npz")
    with pytest.raises(UserError, match="the suite is of toy, not of glyphs/weak-test as it is here"):
        ex.recall.run("chance", data="glyphs", suite=tmp_path / "toy.npz")
