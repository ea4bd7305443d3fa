"""Studies: what is computed in them by hand, stopped and resumed, by one or several workers, and never from stale parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import exemplar as ex
from conftest import mistake
from exemplar import store
from exemplar.foresee.evaluating import Evaluated, Recipe
from exemplar.foresee.figures.studies import plot_explanations, plot_rates
from exemplar.foresee.lloyd_kernel import nearest_first
from exemplar.foresee.scores import score_leads
from exemplar.foresee.studies import points, thresholds
from exemplar.foresee.studies.choice import best_choices
from exemplar.foresee.studies.coverage import CoverageJob, do_cell, simulate_tasks, true_correlation, true_spearman
from exemplar.foresee.studies.kept import KEPT
from exemplar.foresee.studies.kept_curves import by_measure
from exemplar.foresee.studies.more_statements import LABELLING_STATEMENTS
from exemplar.foresee.studies.prediction import narrowest, ratio_of_means, split_scores
from exemplar.foresee.studies.statements import judge
from exemplar.foresee.studies.thresholds import _transfer, _without_bias
from exemplar.foresee.studying import count_statements
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.report.figures import as_svg


def make_bank(n_classes: int = 12, samples: int = 80, d: int = 12) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, d))
    return np.maximum(centres[:, None] + 0.9 * rng.normal(size=(n_classes, samples, d)), 0) + 1e-3


def evaluated(accuracy: np.ndarray, n_classes: int = 10, **measures: np.ndarray) -> Evaluated:
    rng = np.random.default_rng(0)
    classes = np.argsort(rng.random((len(accuracy), n_classes)), axis=1)[:, :3]
    return Evaluated(TaskConfig(3, 5, 30), classes, accuracy, measures, 90, np.empty((len(accuracy), 0)))


def test_a_lead_is_the_difference_of_two_correlations_as_they_were_meant():
    rng = np.random.default_rng(1)
    accuracy, noise = rng.random((2, 300))
    found = evaluated(accuracy, confidence=accuracy, lr_loss=-accuracy - noise, similarity=noise)
    loss, similarity = (np.corrcoef(values, accuracy)[0, 1] for values in (accuracy + noise, noise))
    leads = score_leads(found, "confidence", ("lr_loss", "similarity", "egv"))
    assert [lead.name for lead in leads] == ["lead_of_confidence_over_lr_loss", "lead_of_confidence_over_similarity"]
    assert [lead.value for lead in leads] == pytest.approx([1 - loss, 1 - similarity])
    assert all(lead.ci95[0] <= lead.value <= lead.ci95[1] for lead in leads)
    (back,) = score_leads(found, "lr_loss", ("confidence",))
    assert back.value == pytest.approx(-leads[0].value) and score_leads(found, "egv", ("confidence",)) == []


def test_first_centres_take_the_nearest_samples_as_torch_does():
    distance = torch.from_numpy(np.random.default_rng(0).random((3, 20, 20), dtype=np.float32))
    centre = torch.from_numpy(np.random.default_rng(1).integers(0, 20, (3, 4, 5)))
    expected = distance[torch.arange(3)[:, None, None], centre].argmin(dim=2)
    np.testing.assert_array_equal(nearest_first(distance.numpy(), centre.numpy()), expected.numpy())


def test_a_ratio_of_means_and_the_narrowest_interval_by_hand():
    ratio = ratio_of_means(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert (ratio.value, ratio.lo, ratio.hi) == pytest.approx((2, 2, 2))
    assert narrowest(np.arange(10.0)) == 8  # nine of ten
    assert narrowest(np.array([0.0, *[5.0] * 9])) == 0


def test_intervals_of_shares_over_splits_stay_shares():
    names = ("error", "naive", "noise", "width", "constant")
    found = [dict.fromkeys(names, 0.1) | {"coverage": 0.9 + 0.1 * (k > 0), "unlike": 0.1 * (k == 0)} for k in range(5)]
    scores = {score.name: score for score in split_scores(found, TaskConfig())}
    assert scores["coverage_90"].ci95[1] == 1 and scores["called_unlike"].ci95[0] == 0
    assert scores["coverage_90"].value == pytest.approx(0.98) and scores["coverage_90"].ci95[0] < 0.95


def test_the_best_choice_leaves_least_error_on_average():
    left = {"few, penalty 0.1": (0.5, 0.7), "all, penalty 0.1": (0.4, 0.9), "all, penalty 1.0": (0.6, 0.8)}
    scores = [
        Score("share_of_error_left", value, (0, 1), 2, agent, f"semi, {regime}")
        for agent, pair in left.items()
        for regime, value in zip(("one shot", "several shots"), pair, strict=True)
    ]
    assert best_choices(scores) == {"semi": ("few", 0.1)}


def test_simulated_tasks_have_the_correlation_that_is_called_true():
    job = CoverageJob(600, 5, 6_000, "middling", 1, 0)
    found = simulate_tasks(job, np.random.default_rng(0))
    r = np.corrcoef(found.measures["margin"], found.performance)[0, 1]
    assert r == pytest.approx(true_correlation(5, 600, 0.6), abs=0.04) and true_correlation(5, 20, 0.0) == 0
    few = [simulate_tasks(CoverageJob(20, 15, 500, "strong", 1, 0), np.random.default_rng(k)) for k in range(40)]
    mean = np.mean([np.corrcoef(one.measures["margin"], one.performance)[0, 1] for one in few])
    assert (
        mean == pytest.approx(true_correlation(15, 20, 1.0), abs=0.04) and true_correlation(15, 4000, 1.0) > mean + 0.15
    )
    assert true_spearman(0.0) == 0 and true_spearman(1.0) == pytest.approx(1)


def test_intervals_over_classes_cover_simulated_truths():
    covered = do_cell(CoverageJob(20, 5, 200, "middling", 60, 0))
    assert all(51 <= count <= 60 for count in covered.values()), covered


def test_a_threshold_on_confidence_transfers_once_its_bias_is_gone():
    """A known answer: confidence is accuracy, but 0.1 too low on one half of the classes and 0.1 too high on the other."""
    accuracy = np.random.default_rng(0).uniform(0.6, 1, 500)
    sides = [evaluated(accuracy, confidence=accuracy + bias) for bias in (-0.1, 0.1)]
    (chosen, other), moved = (
        _transfer(*sides, "confidence"),
        _transfer(*_without_bias(sides, "confidence"), "confidence"),
    )
    assert other[1] < chosen[1] - 0.2 and moved[0] == pytest.approx(moved[1])


def halves_of(accuracy: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many halves are judged and how many were tried, where half number k has only easy tasks if accuracy[k] is 1."""
    asked: list[int] = []

    def fake(run: Any, bank: Any, points: Any, n_tasks: int, seed: int, *, classes: Any) -> list[Evaluated]:
        found = []
        for _ in classes[::2]:
            mean = accuracy.get(len(asked), 0.8)
            asked.append(1)
            values = np.full(50, 1.0) if mean == 1 else np.linspace(mean - 0.2, mean + 0.2, 50)
            found += [evaluated(values, lr_loss=-values)] * 2
        return found

    monkeypatch.setattr(thresholds, "evaluate_points", fake)
    orders = [np.arange(10)] * 20
    bank = ex.foresee.FeatureBank.of(make_bank(10, 4))
    point = points.Point(0, TaskConfig(), Recipe())
    pairs, n_tried = thresholds._usable_halves(Any, bank, point, "lr_loss", orders, 50, 0)  # type: ignore[arg-type]
    return len(pairs), n_tried


def test_halves_without_hard_tasks_are_replaced_so_that_ten_are_judged(monkeypatch: pytest.MonkeyPatch):
    assert halves_of({}, monkeypatch) == (10, 10)
    assert halves_of({3: 1.0, 10: 1.0}, monkeypatch) == (10, 12)
    assert halves_of(dict.fromkeys(range(30), 1.0), monkeypatch) == (0, 20)


def test_a_kept_table_has_a_row_per_measure_and_every_published_rate_its_own_place():
    made = [
        Score("accuracy", 0.8, (0.7, 0.9), 9, "semi", "5-way"),
        Score("pearson_lr_loss", -0.7, (-0.8, -0.6), 9, "semi", "5-way"),
        Score("spearman_lr_loss", -0.6, (-0.8, -0.5), 9, "semi", "5-way"),
        Score("lead_of_confidence_over_lr_loss", 0.1, (0, 0.2), 9, "semi", "5-way"),
        Score("pearson_best_eigenvalue", 0.1, (0, 0.2), 9, "semi", "5-way"),
    ]
    rows = [(one.name, one.agent, one.concept) for one in map(by_measure, made)]
    assert rows[:1] == [("accuracy", "semi", "5-way")] and rows[4:] == [("pearson_best_eigenvalue", "semi", "5-way")]
    assert rows[1:4] == [(name, "lr_loss", "semi, 5-way") for name in ("pearson", "spearman", "lead_of_the_best")]
    rates = np.full((10, 2, 2), 0.5)
    keys = [(score.name, score.agent) for score in thresholds._rate_scores(rates, np.ones(10), "lr_loss")]
    assert len(set(keys)) == len(keys)  # else what is published of one would stand beside both
    wanted = {key for key in KEPT["foresee-thresholds"].published if key[1] == "lr_loss"}
    assert len(wanted) == 4 and wanted <= set(keys)


def test_statements_of_ours_are_not_counted_as_the_papers():
    def said(*judged: tuple[str, int]) -> str:
        return count_statements([Score("holds", holds, (np.nan, np.nan), 1, agent=text) for text, holds in judged])

    assert said(("random labels win", 1), ("ours: cover wins", 0), ("ours: balanced wins", 1)) == (
        "1 of 1 statement of the paper and 1 of 2 statements of ours hold here."
    )
    assert said(("a", 1), ("b", 0)) == "1 of 2 statements of the paper hold here." and said() == ""


def test_figures_tell_questions_apart_and_say_where_nothing_could_be_judged():
    scores = [
        Score("pearson_egv", 0.1, (0, 0.2), 9, agent=f"unsupervised: {question}", concept="5-way 10 samples")
        for question in ("diffused once", "diffused twice")
    ]
    drawn = as_svg(plot_explanations(scores))
    assert "diffused once" in drawn and "diffused twice" in drawn
    assert "no half has both" in as_svg(plot_rates({"egv": np.empty((0, 2, 2))}))
    assert "no half has both" not in as_svg(plot_rates({"egv": np.full((2, 2, 2), 0.5)}))


def test_a_policy_that_is_worse_with_few_labels_or_no_better_with_many_is_not_said_to_win():
    def verdict(few: float, many: float) -> float:
        gains = [
            Score("gain_held_out", gain, (gain - 0.01, gain + 0.01), 9, "balanced, in rounds", f"{n} labels")
            for n, gain in ((10, few), (50, many))
        ]
        (found,) = [one for one in judge(LABELLING_STATEMENTS, gains) if "class-balanced" in one.agent]
        return found.value

    assert (verdict(0.0, 0.02), verdict(-0.02, 0.02), verdict(0.0, 0.005)) == (1, 0, 0)


@pytest.fixture
def few_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "N_HALVES", 3)
    monkeypatch.setattr(thresholds, "MOST_HALVES", 3)


def study(folder: Path, **options: Any) -> Any:
    return ex.foresee.study("thresholds", features=make_bank(), tasks=20, out=folder, **({"engine": "here"} | options))


def kept(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("scores.parquet", "figures/thresholds.svg")}


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_halves: None) -> list[int]:
    """A study that was stopped at its fifth job; and the list of jobs that are done from now on."""
    done, evaluate = list[int](), points.evaluate_tasks

    def counted(*args: Any, **options: Any) -> Any:
        if len(done) == 5 and not (tmp_path / "stopped").exists():
            (tmp_path / "stopped").touch()
            raise KeyboardInterrupt
        done.append(1)
        return evaluate(*args, **options)

    monkeypatch.setattr(points, "evaluate_tasks", counted)
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path / "run")
    assert len(done) == 5 and not (tmp_path / "run" / "scores.parquet").exists()
    done.clear()
    return done


def test_a_study_that_was_stopped_resumes_and_ends_with_the_same_bytes(stopped: list[int], tmp_path: Path):
    study(tmp_path / "run")
    n_resumed = len(stopped)
    study(tmp_path / "whole")
    assert n_resumed == len(stopped) - n_resumed - 5  # what was done before is not done again
    assert kept(tmp_path / "run") == kept(tmp_path / "whole")


def test_parts_made_by_other_code_are_made_again(stopped: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store, "package_sources", lambda: "another version of the package")
    study(tmp_path / "run")
    assert len(stopped) == 19  # 3 halves, both sides, 3 settings; and predicted accuracy


@pytest.mark.usefixtures("few_halves")
def test_a_study_of_other_features_does_not_go_into_the_same_folder(exemplar, tmp_path: Path):
    options = ["foresee", "study", "thresholds", "--tasks", "24", "--engine", "here", "--out", tmp_path / "run"]
    np.savez(tmp_path / "mine.npz", features=make_bank())
    assert exemplar(*options, "--features", tmp_path / "mine.npz").code == 0
    before = kept(tmp_path / "run")
    np.savez(tmp_path / "mine.npz", features=make_bank() + 0.1)
    assert "holds another run" in mistake(exemplar(*options, "--features", tmp_path / "mine.npz"))
    assert kept(tmp_path / "run") == before


@pytest.fixture
def cluster() -> Iterator[None]:
    ray = pytest.importorskip("ray", reason="the extra `cluster` is not installed: make test-all installs it")
    places = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": places})
    yield
    ray.shutdown()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")  # Ray's
@pytest.mark.usefixtures("cluster")
def test_any_number_of_workers_and_ray_agree(tmp_path: Path):
    ways = (("here", None), ("pool", 1), ("pool", 2), ("pool", 4), ("ray", None))
    for engine, workers in ways:
        study(tmp_path / f"{engine}-{workers}", engine=engine, workers=workers)
    first, *others = (kept(tmp_path / f"{engine}-{workers}") for engine, workers in ways)
    assert all(other == first for other in others)
