"""The predictor: it predicts, covers, says what it does not know, and comes back from its file as it was."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch

import exemplar as ex
from conftest import mistake
from exemplar.errors import UserError
from exemplar.foresee import FeatureBank, FewShotTask, GeneralizationPredictor, TaskConfig
from exemplar.foresee.calibration import Ridge
from exemplar.foresee.checking import find_outlook
from exemplar.foresee.familiarity import Familiar
from exemplar.foresee.labelling import POLICIES, Answered, labelling_order
from exemplar.foresee.measure_sets import CHOSEN, chosen_set
from exemplar.foresee.own_samples import find_conflict
from exemplar.foresee.posteriors import expected_confusion
from exemplar.foresee.ready import SETTINGS, SPACES, load_ready
from exemplar.foresee.studies import RESULTS
from exemplar.foresee.studies.choice import best_choices
from exemplar.foresee.studies.prediction import ask_tasks
from exemplar.records import Score
from exemplar.results.kept import load_kept

FEW = {"n_tasks": 256, "n_groups": 6, "n_held_out": 64}


def make_bank(n_classes: int = 24, seed: int = 0, spread: float = 1.0) -> FeatureBank:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 12)) * rng.uniform(0.5, 1.6, (n_classes, 1))
    return FeatureBank.of(np.maximum(centres[:, None] + spread * rng.normal(size=(n_classes, 60, 12)), 0) + 1e-3)


def make_task(
    bank: FeatureBank, classes: list[int], shots: int = 4, queries: int = 10, seed: int = 0
) -> tuple[FewShotTask, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(bank.of_class(c))[: shots + queries] for c in classes]
    labels, truth = (np.repeat(np.arange(len(classes)), n) for n in (shots, queries))
    support, others = (np.concatenate([part[a] for part in rows]) for a in (slice(shots), slice(shots, None)))
    return FewShotTask.of(support, labels, others), truth


@pytest.fixture(scope="module")
def predictor() -> GeneralizationPredictor:
    return GeneralizationPredictor.fit(make_bank().only(range(14)), ways=3, shots=4, queries=10, **FEW)


def test_it_beats_always_predicting_the_mean_and_covers_on_classes_it_has_not_seen(predictor):
    model, new = predictor.models["several shots"], make_bank().only(range(14, 24))
    found = ask_tasks(model, predictor.familiar, new, TaskConfig(3, 4, 10), 256, 5)
    assert found["error"] < found["naive"] / 1.3 and 0.8 < found["coverage"] <= 1 and found["unlike"] < 0.1


def test_what_it_says_of_one_task_is_what_it_says_of_it_among_others(predictor):
    bank = make_bank()
    task, truth = make_task(bank, [15, 16, 17])
    value, (lo, hi) = predictor.predict(task), predictor.interval(task)
    narrow = predictor.interval(task, 0.5)
    assert lo <= narrow[0] <= value <= narrow[1] <= hi and lo >= 0 and hi <= 1
    assert set(predictor.per_class(task)) == {"0", "1", "2"}
    assert np.mean(list(predictor.per_class(task).values())) == pytest.approx(value, abs=0.1)
    p = predictor.posterior(task)
    assert p.shape == (30, 3) and p.max(axis=1).mean() == pytest.approx(value, abs=0.01)
    assert abs((p.argmax(axis=1) == truth).mean() - value) < 0.3


def test_it_comes_back_from_its_file_as_it_was(predictor, tmp_path):
    task, _ = make_task(make_bank(), [15, 16, 17])
    again = GeneralizationPredictor.load(predictor.save(tmp_path / "p.json"))
    assert again.predict(task) == predictor.predict(task) and again.interval(task) == predictor.interval(task)
    assert again.config == predictor.config and again.find_warnings(task) == predictor.find_warnings(task) == []


def test_wrong_labels_and_copies_are_told_beside_a_prediction(predictor):
    """Whoever labels at random gets a classifier that is fairly sure, and right by chance alone."""
    right, _ = make_task(make_bank(), [15, 16, 17], shots=16)
    wrong = FewShotTask.of(right.support, np.arange(48) % 3, right.queries)
    said = {name: ex.foresee.predict(task, predictor) for name, task in (("right", right), ("wrong", wrong))}
    assert not any("contradict" in one for one in said["right"].warnings)
    assert (
        any("check that all labels are right" in one for one in said["wrong"].warnings)
        and not said["wrong"]["familiar"]
    )
    assert said["wrong"]["left_out_accuracy"]["ci95"][1] < said["wrong"]["expected_accuracy"]
    outlook = find_outlook(wrong, predictor, 0, "random", 0)
    assert outlook.trusted is outlook.left_out
    twice = FewShotTask.of(right.support[[0, 0, 16, 16, 32, 32]], np.repeat(np.arange(3), 2), right.queries)
    assert any("copies of others: 3" in one for one in ex.foresee.predict(twice, predictor).warnings)


def test_a_conflict_is_two_intervals_that_do_not_touch():
    def one(lo: float, hi: float) -> Score:
        return Score("accuracy", (lo + hi) / 2, (lo, hi), 9)

    assert find_conflict(one(0.8, 0.9), one(0.5, 0.7)) and find_conflict(one(0.2, 0.3), one(0.5, 0.7))
    assert not find_conflict(one(0.8, 0.9), one(0.5, 0.8)) and not find_conflict(one(0.8, 0.9), None)


@pytest.mark.parametrize(
    "content", ["{}", "[]", "nonsense", '{"predictor": 2,', '{"predictor": 1, "config": {}, "models": 3}']
)
def test_what_is_no_predictor_is_refused(tmp_path, content):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(UserError, match="p.json is no predictor, or of another version: make it again"):
        GeneralizationPredictor.load(tmp_path / "p.json")
    with pytest.raises(UserError, match="there is no predictor"):
        GeneralizationPredictor.load(tmp_path / "none.json")


def test_it_says_when_a_task_is_unlike_anything_it_knows(predictor):
    rng = np.random.default_rng(0)
    nearly_same = 1 + 0.001 * rng.random((42, 12))
    flat = FewShotTask.of(nearly_same[:12], np.repeat(np.arange(3), 4), nearly_same[12:])
    assert any("unlike anything" in sentence for sentence in predictor.find_warnings(flat))
    ways, _ = make_task(make_bank(), [14, 15, 16, 17, 18])
    assert any("calibrated for 3 to 3 ways, this task has 5" in sentence for sentence in predictor.find_warnings(ways))


def test_features_of_another_encoder_are_told_by_their_number(predictor):
    task, _ = make_task(make_bank(), [15, 16, 17])
    wide = FewShotTask.of(np.pad(task.support, ((0, 0), (0, 3))), task.labels, np.pad(task.queries, ((0, 0), (0, 3))))
    assert predictor.predict(wide) == pytest.approx(predictor.predict(task), abs=0.05)  # its measures are the same
    assert any("samples of 12 features" in said and "these have 15" in said for said in predictor.find_warnings(wide))


def test_other_features_of_as_many_numbers_are_told_by_where_they_lie(predictor):
    """Rotated, as another encoder might have them: no measure of a task changes."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    said = {"as they are": 0, "rotated": 0}
    for seed in range(12):
        task, _ = make_task(make_bank(), [14 + seed % 4, 18 + seed % 3, 21 + seed % 3], seed=seed)
        turned = FewShotTask.of(task.support @ rotation, task.labels, task.queries @ rotation)
        assert predictor.predict(turned) == pytest.approx(predictor.predict(task), abs=0.1)
        said["as they are"] += bool(predictor.find_warnings(task))
        said["rotated"] += any("features of this task" in sentence for sentence in predictor.find_warnings(turned))
    assert said == {"as they are": 0, "rotated": 12}


def test_a_class_without_unlabelled_samples_is_judged_by_its_labelled_ones():
    """Not as one third of each name, which is what no sample at all would say."""
    x = np.eye(3)[np.repeat([0, 1, 2], 3)] + 0.05 * np.random.default_rng(0).random((9, 3))
    labels = np.repeat([0, 1, 2], 3)
    with_queries = expected_confusion(FewShotTask.of(x, labels, x[:3] + 0.01).view(), 0.99)
    without = expected_confusion(FewShotTask.of(x, labels).view(), 0.99)
    assert with_queries[1:] == pytest.approx(without[1:]) and without.diagonal() == pytest.approx(0.99, abs=0.02)
    assert with_queries[0, 0] == pytest.approx(1, abs=0.02)


def test_distances_of_features_by_hand():
    """Centre (0, 0), main axis x; the mean of two samples is (1, 1): 1 / (0.5 + 0.5) of variance, and 0.3 of the mean's more."""
    familiar = Familiar(np.zeros(2), np.ones(2), np.ones(2), np.array([[1.0], [0.0]]), np.array([0.8, 0.6]))
    samples = np.array([[[2.0, 0.0], [0.0, 2.0]]])
    assert familiar.distances(samples, 2) == pytest.approx(np.array([[np.sqrt(1 / 1.3), 0.5]]))
    assert familiar.unlike(samples, 2).tolist() == [True] and familiar.unlike(samples / 2, 2).tolist() == [False]


def test_what_it_cannot_be_asked(predictor):
    task, _ = make_task(make_bank(), [15, 16, 17])
    with pytest.raises(UserError, match="there are none: use a supervised one"):
        predictor.predict(FewShotTask(task.support, task.labels, task.names))
    with pytest.raises(UserError, match="a class of 1: fit another one"):
        predictor.predict(make_task(make_bank(), [15, 16, 17], shots=1)[0])
    with pytest.raises(UserError, match="level must lie between"):
        predictor.interval(task, 1.0)
    with pytest.raises(UserError, match="needs 20 classes, the bank has 14"):
        GeneralizationPredictor.fit(make_bank(14), ways=10)
    with pytest.raises(UserError, match="fewer than the 80 samples"):
        GeneralizationPredictor.fit(make_bank(14), ways=3, shots=20, queries=60)


def test_a_ridge_by_hand():
    """y = 2 x, standardised x of variance 1, penalty 0.1: slope 2 / 1.1."""
    x = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    ridge = Ridge.fit(x, 0.5 + 0.2 * x[:, 0], 1, 0.1)
    assert ridge.predict(np.array([[1.0]]))[0] == pytest.approx(0.5 + 0.2 / 1.1)
    assert ridge.predict(np.array([[99.0]]))[0] == 1
    assert ridge.distance(np.array([[0.0], [2.0]])) == pytest.approx([0, 2 / np.sqrt(1.1)])


@pytest.mark.parametrize("policy", POLICIES)
def test_labels_are_suggested_once_each(predictor, policy):
    task, _ = make_task(make_bank(), [15, 16, 17])
    chosen, after = predictor.label_next(task, 9, policy)
    assert len(set(chosen)) == 9 and max(chosen) < 30 and after >= predictor.predict(task) - 1e-9
    for budget in (0, 31):
        with pytest.raises(UserError, match="budget must be from 1 to the 30"):
            predictor.label_next(task, budget, policy)


def test_policies_choose_what_they_say():
    """Three tight groups, one of which has no label nearby: `cover` asks there first; the least confident comes first."""
    support = np.array([[1, 0, 0, 0.0], [0, 1, 0, 0]])
    queries = np.array([[1, 0.02, 0, 0]] * 5 + [[0.02, 1, 0, 0]] * 5 + [[0.1, 0.1, 1, 0]] * 5 + [[0.7, 0.68, 0, 0]])
    view = FewShotTask.of(support, [0, 1], queries).view()
    rng = np.random.default_rng(0)
    assert int(labelling_order(view, "cover", 1, rng=rng)[0, 0]) in range(10, 15)
    order = labelling_order(view, "least-confident", 16, rng=rng)[0]
    assert torch.equal(view.query_log_p[0].amax(dim=1)[order], view.query_log_p[0].amax(dim=1).sort().values)
    named = view.query_log_p[0].argmax(dim=1)
    first = labelling_order(view, "balanced", 2, rng=rng)[0]
    assert set(named[first].tolist()) == set(named.tolist())


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_answered_is_not_asked_again(policy):
    task, _ = make_task(make_bank(), [15, 16, 17])
    view, rng = task.view(diffused=True), np.random.default_rng(0)
    chosen = torch.tensor([[3, 11, 0, 25]])
    answered = Answered(chosen, torch.tensor([[0, 1, 0, 2]]), view.query_log_p)
    order = labelling_order(view, policy, 26, rng=rng, answered=answered)[0].tolist()
    assert sorted([*order, *chosen[0].tolist()]) == list(range(30))


def test_balanced_asks_for_the_class_with_the_fewest_labels_as_the_newest_classifier_has_it():
    view, rng = (
        FewShotTask.of(np.eye(3)[[0, 0, 0, 1, 2]], [0, 0, 0, 1, 2], np.eye(3)[[0, 1, 2] * 4]).view(),
        np.random.default_rng(0),
    )
    named = torch.tensor([0, 1, 2] * 4)
    log_p = torch.full((1, 12, 3), 0.1).scatter(2, named[None, :, None], 0.8).log().to(view.query_log_p)
    none = torch.zeros((1, 0), dtype=torch.int64)
    order = labelling_order(view, "balanced", 7, rng=rng, answered=Answered(none, none, log_p))[0]
    first = named[order].tolist()
    assert set(first[:2]) == set(first[2:4]) == {1, 2} and set(first[4:]) == {
        0,
        1,
        2,
    }  # 3, 1 and 1 labels: 3 each, then 4
    answered = Answered(
        torch.tensor([[4, 7]]), torch.tensor([[1, 1]]), log_p.roll(1, dims=2)
    )  # 0 is called 1 now, 2 is 0
    then = labelling_order(view, "balanced", 2, rng=rng, answered=answered)[0].tolist()
    assert named[then].tolist() == [1, 1] and not set(then) & {4, 7}  # 3, 3 and 1 labels: two that are called 2


def test_fit_and_predict_as_commands(exemplar, tmp_path):
    bank = make_bank(12)
    np.savez(tmp_path / "bank.npz", features=bank.rows.reshape(12, 60, 12))
    task, _ = make_task(make_bank(), [15, 16, 17])
    np.savez(tmp_path / "task.npz", support=task.support, labels=task.labels, queries=task.queries)
    options = ["--features", tmp_path / "bank.npz", "--ways", "2-3", "--shots", "4", "--queries", "10"]
    said = exemplar("foresee", "fit", *options, "--out", tmp_path / "p.json", "--json")
    assert said.code == 0 and said.json()["ways"] == [2, 3], said.err
    asked = exemplar("foresee", "predict", tmp_path / "task.npz", "--predictor", tmp_path / "p.json", "--json")
    assert asked.code == 0, asked.err
    found = asked.json()
    assert found["interval"][0] <= found["expected_accuracy"] <= found["interval"][1]
    same = ex.foresee.predict(
        {"support": task.support, "labels": task.labels, "queries": task.queries}, tmp_path / "p.json"
    )
    assert json.loads(json.dumps(same.json())) == found
    assert "must be a number, or a range" in mistake(exemplar("foresee", "fit", *options[:2], "--ways", "few"))
    assert "is a .json file" in mistake(exemplar("foresee", "fit", *options, "--out", tmp_path / "p.txt"))
    assert "No predictor ships for mine" in mistake(
        exemplar("foresee", "predict", tmp_path / "task.npz", "--predictor", "mine")
    )


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("space", SPACES)
def test_predictors_ship_for_the_shipped_encoders(space, setting):
    ready = load_ready(space, setting)
    assert ready is not None and ready.config.setting == setting
    assert all(model.error < model.naive for model in ready.models.values())


def test_ready_predictors_were_calibrated_on_validation_classes():
    for space, setting in itertools.product(SPACES, SETTINGS):
        ready = load_ready(space, setting)
        assert ready is not None and f"cifar-fs/val in {space}" in ready.source, (space, setting)


def test_measures_and_penalty_are_what_came_out_best_on_validation_classes():
    kept = load_kept("foresee-choice")
    assert kept is not None and best_choices(kept.scores) == CHOSEN
    assert all(pair == ("cifar-fs", "val") for pair in RESULTS["foresee-choice"].data)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("space", SPACES)
def test_shipped_predictors_take_the_chosen_measures(space, setting):
    ready = load_ready(space, setting)
    assert ready is not None
    for regime, model in ready.models.items():
        assert model.design.measures == chosen_set(setting, 1 if regime == "one shot" else 2)[0]
