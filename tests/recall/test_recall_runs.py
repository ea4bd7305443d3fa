"""Runs, scores and comparisons: hand-computed cases, the same values from Python and the command line, failures, resuming."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cheaters
import numpy as np
import pytest

import exemplar as ex
from exemplar.engine import Here
from exemplar.errors import UserError
from exemplar.recall.figures.plots import marked
from exemplar.recall.outcomes import Outcome
from exemplar.recall.scores import (
    backward_transfers,
    compare_outcomes,
    distinct_accuracies,
    pareto_front,
    score_outcome,
    task_accuracies,
    task_cross_entropies,
)
from exemplar.results.kept import load_kept

SMALL = ("--data", "glyphs", "--n", "6", "--engine", "here", "--json")


@pytest.fixture(scope="module", autouse=True)
def _place(one_place: None) -> None:
    """Features are kept for this file's tests."""


def outcome(log_p: Any, label: Any, own: Any = None, target: Any = None, agent: str = "it") -> Outcome:
    log_p, label = np.asarray(log_p, np.float32), np.asarray(label)
    n, nss, _ = label.shape
    rows = np.arange(label.size).reshape(label.shape) if target is None else np.asarray(target)
    zero = np.zeros(n)
    return Outcome(agent, log_p, own, label, rows, zero, zero, zero, np.zeros((n, nss)))


def sure(label: np.ndarray, n_labels: int, p: float = 0.9) -> np.ndarray:
    """log p of each label where the given one has p."""
    found = np.full((*label.shape, n_labels), np.log((1 - p) / (n_labels - 1)))
    np.put_along_axis(found, label[..., None], np.log(p), axis=-1)
    return found


def test_scores_of_two_tasks_by_hand() -> None:
    """Task 0: 3 of 4 right; task 1: 1 of 4. Right answers cost −ln .9, wrong ones −ln .1."""
    label = np.zeros((2, 2, 2), int)
    said = np.array([[[0, 0], [0, 1]], [[1, 1], [1, 0]]])
    it = outcome(sure(said, 2), label)
    assert task_accuracies(it).tolist() == [0.75, 0.25]
    right, wrong = -np.log(0.9), -np.log(0.1)
    assert task_cross_entropies(it) == pytest.approx([(3 * right + wrong) / 4, (right + 3 * wrong) / 4])
    by_name = {(s.name, s.concept): s for s in score_outcome(it)}
    assert by_name["accuracy", ""].value == 0.5
    assert by_name["accuracy_sd", ""].value == pytest.approx(
        np.std([0.75, 0.25], ddof=1)
    )  # over tasks, not predictions
    assert by_name["accuracy_of_set", "set 1"].value == 0.5 and by_name["accuracy_of_set", "set 2"].value == 0.5


def test_a_target_that_repeats_is_counted_once_among_the_distinct() -> None:
    label = np.zeros((2, 2, 2), int)
    said = np.array([[[0, 1], [0, 1]], [[0, 1], [0, 0]]])
    it = outcome(sure(said, 2), label, target=[[[5, 6], [5, 7]], [[1, 2], [1, 3]]])
    assert distinct_accuracies(it) == pytest.approx([1 / 3, 2 / 3]) and task_accuracies(it).tolist() == [0.5, 0.75]


def test_ties_share_a_target_so_that_who_knows_nothing_is_at_chance() -> None:
    it = outcome(np.zeros((2, 1, 4, 5)), np.arange(8).reshape(2, 1, 4) % 5)
    assert task_accuracies(it) == pytest.approx([0.2, 0.2])


def test_backward_transfer_is_negative_where_sets_are_forgotten() -> None:
    label = np.zeros((2, 3, 2), int)
    end = np.array([[[1, 1], [1, 0], [0, 0]]] * 2)
    it = outcome(sure(end, 2), label, own=sure(label, 2))
    assert backward_transfers(it) == pytest.approx(
        [-0.75, -0.75]
    )  # set 1 lost all, set 2 half; the last does not count


def test_a_failed_task_counts_as_wrong_and_uniform() -> None:
    log_p = sure(np.zeros((3, 1, 2), int), 4)
    log_p[1] = np.nan
    it = outcome(log_p, np.zeros((3, 1, 2), int))
    assert task_accuracies(it).tolist() == [1, 0, 1] and task_cross_entropies(it)[1] == pytest.approx(np.log(4))


def test_relabelling_changes_no_score() -> None:
    rng = np.random.default_rng(0)
    label, log_p = rng.integers(0, 5, (6, 2, 4)), np.log(rng.dirichlet(np.ones(5), (6, 2, 4)))
    order = rng.permutation(5)
    turned = outcome(log_p[..., np.argsort(order)], order[label])
    one = outcome(log_p, label)
    assert task_accuracies(one).tolist() == task_accuracies(turned).tolist()
    assert task_cross_entropies(one) == pytest.approx(task_cross_entropies(turned), rel=1e-6)


def test_a_paired_difference_and_its_null() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, (60, 1, 20))
    chosen = [np.where(rng.random(label.shape) < p, label, 1 - label) for p in (0.8, 0.6, 0.6)]
    good, bad, alike = (outcome(sure(said, 2), label, agent=name) for said, name in zip(chosen, "abc", strict=True))
    found = compare_outcomes(good, bad)
    assert found.accuracy.lo < 0.2 < found.accuracy.hi and found.p < 0.01
    assert compare_outcomes(bad, alike).p > 0.01
    assert compare_outcomes(good, good).accuracy.value == 0 and compare_outcomes(good, good).p == 1
    with pytest.raises(UserError, match="of other tasks"):
        compare_outcomes(good, outcome(sure(label, 2), 1 - label))


def test_the_pareto_front_by_hand() -> None:
    accuracy, atm, macs = [0.9, 0.8, 0.9, 0.5], [1, 0.1, 2, 0], [5, 5, 5, 0]
    assert pareto_front(accuracy, atm, macs).tolist() == [True, True, False, True]
    assert pareto_front([0.5, 0.5], [1, 1]).tolist() == [True, True]  # of two alike, neither beats the other


def test_no_two_agents_look_the_same_in_a_figure() -> None:
    looks = [tuple(marked(k).values()) for k in range(60)]
    assert len(set(looks)) == 60


def test_python_and_the_command_line_give_the_same_values(exemplar: Any) -> None:
    answer = ex.recall.run("protonet", data="glyphs", n=6, engine="here").json()
    printed = exemplar("recall", "run", "--agent", "protonet", *SMALL)
    assert printed.code == 0 and printed.json() == answer
    assert answer["accuracy"]["value"] > 0.5 and answer["tasks"] == 6 and not answer["transductive"]
    assert answer["atm"]["value"] == pytest.approx(0.0829, abs=1e-4)  # 64 numbers and a count, for 784 pixels
    assert sum(answer["costs"]["macs_per_set"]) / 15 == pytest.approx(answer["costs"]["macs_targets"] / 75, rel=0.01)
    assert answer["costs"]["unknown"] == [] and answer["training_step"]["macs"] > answer["costs"]["macs_task"]


def test_streaming_protonets_equal_joint_ones_on_the_same_tasks() -> None:
    for kind in ("new-classes", "new-samples"):
        streamed, joint = (
            ex.recall.run("protonet", data="glyphs", type=kind, n=6, engine="here", joint=j) for j in (False, True)
        )
        assert streamed["accuracy"]["value"] == joint["accuracy"]["value"]


def test_who_is_shown_everything_at_once_has_nothing_to_forget(tmp_path: Path) -> None:
    """Asked only once, a bound has no backward transfer, in its run and beside others."""
    for name in ("joint-oracle", "nearest-mean"):
        done = ex.recall.run(name, data="glyphs", n=3, engine="here", out=tmp_path / name)
        assert ("backward_transfer" in done.values) == (name == "nearest-mean")
    both = ex.recall.compare([tmp_path / "joint-oracle", tmp_path / "nearest-mean"], out=tmp_path / "both")
    assert both.page is not None and both.page.is_file()


def test_a_run_is_kept_with_everything_and_opened_again(tmp_path: Path, exemplar: Any) -> None:
    words = ("recall", "run", "--agent", "nearest-mean", *SMALL, "--out", tmp_path / "run")
    first = exemplar(*words)
    assert first.code == 0, first.err
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"suite.npz", "predictions.parquet", "memory.npz", "costs.json", "scores.parquet", "index.html"} <= files
    assert "jobs.sqlite" not in files
    page = (tmp_path / "run" / "index.html").read_text(encoding="utf-8")
    assert "What it recalls" in page and "What it costs" in page
    again = exemplar(*words)
    assert again.json() == first.json()
    assert ex.recall.check(tmp_path / "run" / "suite.npz")["passes"]
    other = exemplar("recall", "run", "--agent", "chance", *SMALL, "--out", tmp_path / "run")
    assert other.code == 2 and "holds another run" in other.err


def test_runs_on_the_same_suite_are_compared_in_pairs(tmp_path: Path, exemplar: Any) -> None:
    made = exemplar("recall", "tasks", "--data", "glyphs", "--n", "6", "--out", tmp_path / "suite.npz")
    assert made.code == 0
    for name in ("protonet", "last-set-only"):
        ex.recall.run(name, data="glyphs", suite=tmp_path / "suite.npz", engine="here", out=tmp_path / name)
    both = ex.recall.compare([tmp_path / "protonet", tmp_path / "last-set-only"], out=tmp_path / "both")
    (row,) = both["differences"]
    assert row["accuracy"]["ci95"][0] > 0 and row["p"] < 0.05 and both.page is not None and both.page.is_file()
    ex.recall.run("chance", data="glyphs", n=6, seed=1, engine="here", out=tmp_path / "other")
    with pytest.raises(UserError, match="different suites"):
        ex.recall.compare([tmp_path / "protonet", tmp_path / "other"])


class FailsSometimes(cheaters.Honest):
    def predict(self, images: Any) -> Any:
        if float(images.sum()) % 3 < 1:
            raise ValueError("I am tired")
        return super().predict(images)


class SaysNan(cheaters.Honest):
    def predict(self, images: Any) -> Any:
        return super().predict(images) * float("nan")


class SaysTooMuch(cheaters.Honest):
    def predict(self, images: Any) -> Any:
        return super().predict(images)[:, :-1]


def test_a_learner_that_raises_does_not_end_the_run() -> None:
    done = ex.recall.run(FailsSometimes, data="glyphs", n=30, engine="here", history=False)
    assert 0 < done["failed_tasks"] < 30
    assert any("tasks failed and count as wrong" in sentence and "I am tired" in sentence for sentence in done.warnings)


@pytest.mark.parametrize(
    ("kind", "sentence"), [(SaysNan, "NaN or"), (SaysTooMuch, "scores for 75 images and 15 labels")]
)
def test_what_no_learner_may_say_is_refused(kind: type, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        ex.recall.run(kind, data="glyphs", n=2, engine="here", history=False)


@pytest.mark.long
@pytest.mark.parametrize(("agent", "kind", "n"), [("ridge", "new-classes", 120), ("maml-plus", "no-shift", 55)])
def test_workers_make_no_difference(tmp_path: Path, agent: str, kind: str, n: int) -> None:
    """Two jobs or more in this process, in 1, 2 and 4 others, and on Ray give the same predictions, byte for byte."""
    ways: list[tuple[str, int | None]] = [("here", None), ("pool", 1), ("pool", 2), ("pool", 4)]
    ways += [("ray", None)] if find_spec("ray") else []
    for engine, workers in ways:
        place = tmp_path / f"{engine}{workers or ''}"
        ex.recall.run(agent, data="glyphs", type=kind, n=n, engine=engine, workers=workers, out=place)
        for file in ("predictions.parquet", "memory.npz", "suite.npz", "scores.parquet"):
            assert (place / file).read_bytes() == (tmp_path / "here" / file).read_bytes(), (engine, workers, file)


def test_a_study_has_a_table_per_type_and_its_figures(tmp_path: Path) -> None:
    agents, kinds = ("chance", "protonet", "replay-latent-int8"), ("new-classes", "no-shift")
    done = ex.recall.study(tmp_path / "study", data="glyphs", agent=agents, type=kinds, n=4, engine="here")
    assert done.scores is not None
    found = {(s.name, s.agent, s.variant): s for s in done.scores}
    assert (
        found["accuracy", "protonet", "new-classes"].value == found["accuracy", "protonet (joint)", "new-classes"].value
    )
    assert found["joint_minus_streaming", "protonet", "new-classes"].value == 0
    assert found["accuracy_above_chance", "protonet", "no-shift"].ci95[0] > 0
    page = (tmp_path / "study" / "index.html").read_text(encoding="utf-8")
    assert "all sets at once less one by one" in page and "95 % intervals over 4 tasks." in page
    files = {path.name for path in (tmp_path / "study" / "figures").iterdir()}
    assert {"forgetting-new-classes.svg", "pareto-new-classes.svg", "pareto-no-shift.svg"} <= files


def test_an_agent_that_does_fewer_tasks_is_compared_on_those(tmp_path: Path) -> None:
    from exemplar.recall.inputs import DataSource
    from exemplar.recall.studies.comparison import StudyConfig, compute_study
    from exemplar.runs import open_run

    every = StudyConfig(DataSource("glyphs"), ("chance", "nearest-mean"), ("new-classes",), 6, joint=("nearest-mean",))
    few = replace(every, fewer=(("nearest-mean", 4), ("nearest-mean (joint)", 5)))
    found = []
    for k, config in enumerate((replace(every, n=4), few)):
        with open_run(tmp_path / str(k), command="try", config={}, seed=0, backend=Here()) as run:
            found.append({(s.name, s.agent, s.concept): s for s in compute_study(run, config, 0)})
    short, some = found
    assert some["accuracy", "chance", ""].n == 6 and some["accuracy", "nearest-mean", ""].n == 4
    for name in ("accuracy", "accuracy_above_chance", "joint_minus_streaming"):
        assert some[name, "nearest-mean", ""] == short[name, "nearest-mean", ""]


def test_slimagenet64_in_its_layout_makes_tasks_and_runs(tmp_path: Path, monkeypatch: Any, exemplar: Any) -> None:
    """A small archive made in the layout of the real one: it cannot be had here."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for split in ("train", "val", "test"):
        for k in range(16):
            folder = tmp_path / "data" / "slimagenet64" / split / f"n{split}{k:04d}"
            folder.mkdir(parents=True)
            for j in range(8):
                pixels = np.clip(rng.normal(16 * k, 20, (64, 64, 3)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f"{j}.png")
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path / "data"))
    made = exemplar("recall", "tasks", "--data", "slimagenet64", "--n", "4", "--out", tmp_path / "s.npz", "--json")
    assert made.code == 0, made.err
    assert exemplar("recall", "check", tmp_path / "s.npz", "--json").json()["compared_with_data"]
    words = ("--suite", tmp_path / "s.npz", "--engine", "here", "--json")
    done = exemplar("recall", "run", "--agent", "nearest-mean", "--data", "slimagenet64", *words)
    assert done.code == 0, done.err
    assert done.json()["atm"]["value"] == pytest.approx((256 + 1) / (3 * 64 * 64))


def test_real_protonets_on_omniglot_keep_their_numbers(real_data: Any) -> None:
    """The first 20 tasks of the 600 of the frozen suite that are kept: as accurate up to what 20 can tell, and as costly exactly."""
    real_data("omniglot")
    kept = load_kept("recall-omniglot")
    assert kept is not None
    known = {s.name: s.value for s in kept.scores if (s.agent, s.variant, s.concept) == ("protonet", "new-classes", "")}
    done = ex.recall.run("protonet", data="omniglot", n=20, engine="here", history=False)
    assert done["accuracy"]["value"] == pytest.approx(known["accuracy"], abs=4 * known["accuracy_sd"] / 20**0.5)
    assert done["atm"]["value"] == pytest.approx(known["atm"], rel=1e-9)
    assert (
        done["costs"]["macs_task"] == known["macs_task"] == pytest.approx(0.88e9, rel=0.02)
    )  # the facts on the literature
