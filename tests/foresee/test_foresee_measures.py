"""Measures: hand-computed cases, plain loops, explicit refits; and one contract over all agents and measures."""

from __future__ import annotations

import numpy as np
import plain_loop
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import davies_bouldin_score

import exemplar as ex
from exemplar.errors import UserError
from exemplar.foresee.agents import AGENTS
from exemplar.foresee.indicators import MEASURES, available_measures, chosen_measures, compute_measures
from exemplar.foresee.indicators.left_out import balanced_left_out, left_out_distances, left_out_scores
from exemplar.foresee.indicators.transferable import h_score, logme
from exemplar.foresee.own_samples import score_left_out
from exemplar.foresee.posteriors import expected_confusion, matched_posterior
from exemplar.foresee.views import TaskView, halves
from exemplar.spaces.readouts import PAPER, Readout, descend

WAYS, SHOTS, QUERIES, D = 3, 4, 6, 10


def tasks(seed: int = 0, n: int = 5, shots: int = SHOTS, spread: float = 1.0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    centres = 3 * rng.random((n, WAYS, D))
    y, truth = (np.tile(np.repeat(np.arange(WAYS), k), (n, 1)) for k in (shots, QUERIES))

    def around(label):
        x = (
            np.maximum(
                np.take_along_axis(centres, label[..., None], axis=1) + spread * rng.normal(size=(*label.shape, D)), 0
            )
            + 1e-3
        )
        return (x / np.linalg.norm(x, axis=2, keepdims=True)).astype(np.float32)

    return around(y), y, around(truth), truth


def view(seed: int = 0, *, diffused: bool = False, shots: int = SHOTS, spread: float = 1.0, n: int = 5) -> TaskView:
    x, y, q, _ = tasks(seed, n, shots, spread)
    return TaskView(
        torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(q), WAYS, diffused=diffused, name=(seed,)
    )


@pytest.mark.parametrize("n", [3, 12, 25])
def test_the_weights_of_logistic_regression_are_those_of_a_plain_loop(n):
    """Also with fewer samples than a batch has, which the authors' code cannot do."""
    rng = np.random.default_rng(n)
    x = np.abs(rng.normal(size=(3, n, 20))).astype(np.float32)
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    y = np.tile(np.arange(n) % 3, (3, 1))
    start = rng.uniform(-0.2, 0.2, (3, 3, 21)).astype(np.float32)
    order = rng.permuted(np.tile(np.arange(n), (3, 50, 1)), axis=2)
    begin = Readout(torch.from_numpy(start[..., :20].copy()), torch.from_numpy(start[..., 20].copy()))
    ours = descend(begin, torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(order), PAPER)
    for task in range(3):
        layer = plain_loop.logistic(x[task], y[task], start[task, :, :20], start[task, :, 20], order[task], min(5, n))
        np.testing.assert_allclose(ours.weight[task], layer.weight.detach(), atol=1e-6)
        np.testing.assert_allclose(ours.bias[task], layer.bias.detach(), atol=1e-6)


@pytest.mark.parametrize("diffused", [False, True])
def test_the_papers_measures_are_those_of_a_plain_loop(diffused):
    seen = view(1, diffused=diffused)
    found = compute_measures(seen, ("lr_loss", "similarity", "confidence", "confidence_log", "margin", "egv"))
    for task in range(seen.n_tasks):
        raw = seen.samples[task].double().numpy()
        used = plain_loop.diffused(raw) if diffused else raw
        support, queries = used[: WAYS * SHOTS], used[WAYS * SHOTS :]
        labels = seen.labels[task].numpy()
        weight, bias = seen.logistic.weight[task].double().numpy(), seen.logistic.bias[task].double().numpy()

        def p(x, weight=weight, bias=bias):
            odds = np.exp(x @ weight.T + bias)
            return odds / odds.sum(axis=1, keepdims=True)

        best = np.sort(p(queries), axis=1)
        pool = used if diffused else support
        assert found["lr_loss"][task] == pytest.approx(
            -np.log(p(support)[np.arange(len(labels)), labels]).mean(), abs=1e-5
        )
        assert found["similarity"][task] == pytest.approx(plain_loop.similarity(support, labels), abs=1e-5)
        assert found["confidence"][task] == pytest.approx(best[:, -1].mean(), abs=1e-5)
        assert found["confidence_log"][task] == pytest.approx(-np.log(best[:, -1]).mean(), abs=1e-5)
        assert found["margin"][task] == pytest.approx((best[:, -1] - best[:, -2]).mean(), abs=1e-5)
        assert found["egv"][task] == pytest.approx(np.linalg.eigvalsh(plain_loop.laplacian(pool))[WAYS - 1], abs=1e-4)


def test_similarity_by_hand():
    """Two classes at right angles, one of which has two samples with a cosine of 0.6: (0.6 + 1) / 2."""
    x = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]])
    assert ex.foresee.measures(x, [0, 0, 1], names=["similarity"])["similarity"] == pytest.approx(0.8, abs=1e-6)


def test_leaving_out_in_closed_form_is_leaving_out():
    seen = view(2)
    x, y = seen.support.double().numpy(), seen.labels.numpy()
    scores = left_out_scores(seen).numpy()
    distance = left_out_distances(seen.support_gram.double(), seen.labels, WAYS).numpy()
    for task in range(2):
        for i in range(WAYS * SHOTS):
            rest = np.arange(WAYS * SHOTS) != i
            fitted = Ridge(1.0).fit(x[task][rest], np.eye(WAYS)[y[task][rest]])
            np.testing.assert_allclose(scores[task, i], fitted.predict(x[task][i : i + 1])[0], atol=1e-5)
            means = np.stack([x[task][rest & (y[task] == c)].mean(axis=0) for c in range(WAYS)])
            np.testing.assert_allclose(distance[task, i], ((x[task][i] - means) ** 2).sum(axis=1), atol=1e-6)


def test_leaving_out_one_of_each_class_is_that_and_no_worse_than_fewer_samples():
    """Two per class: with one sample left out alone its class would have half of the others' samples, and hardly be named."""
    x, y, _, _ = tasks(n=20, shots=2)
    ragged = np.concatenate([x[0], x[1][:1]]), np.append(y[0], 0)
    for support, labels in ((x[0], y[0]), ragged):
        found = balanced_left_out(torch.from_numpy(support), torch.from_numpy(labels), WAYS).numpy()
        rows = [np.flatnonzero(labels == c) for c in range(WAYS)]
        for c in range(WAYS):
            for turn, row in enumerate(rows[c]):
                rest = np.setdiff1d(np.arange(len(labels)), [some[turn % len(some)] for some in rows])
                fitted = Ridge(1.0).fit(support[rest], np.eye(WAYS)[labels[rest]])
                np.testing.assert_allclose(found[row], fitted.predict(support[[row]])[0], atol=1e-5)
    several = [ex.foresee.FewShotTask.of(support, labels) for support, labels in zip(x, y, strict=True)]
    balanced = np.mean([score_left_out(task).value for task in several])
    alone = np.mean([ex.foresee.measures(t.support, t.labels, names=["loo_ridge"])["loo_ridge"] for t in several])
    assert balanced > 0.5 > alone + 0.1


def test_logme_is_the_evidence_computed_in_features_and_no_other_precisions_are_better():
    seen = view(3, n=1)
    x, targets = seen.support[0].double().numpy(), np.eye(WAYS)[seen.labels[0].numpy()]
    n, d = x.shape

    def evidence(alpha, beta, t):
        a = alpha * np.eye(d) + beta * x.T @ x
        m = beta * np.linalg.solve(a, x.T @ t)
        parts = d * np.log(alpha) + n * np.log(beta) - n * np.log(2 * np.pi) - np.linalg.slogdet(a)[1]
        return (parts - beta * ((x @ m - t) ** 2).sum() - alpha * (m @ m)) / (2 * n)

    grid = np.exp(np.linspace(-6, 8, 57))
    best = np.mean([max(evidence(a, b, t) for a in grid for b in grid) for t in targets.T])
    assert float(logme(seen)[0]) == pytest.approx(best, abs=0.01)


def test_h_score_is_that_computed_in_features():
    seen = view(4, n=2)
    for task, found in enumerate(h_score(seen)):
        x, y = seen.support[task].double().numpy(), seen.labels[task].numpy()
        x = x - x.mean(axis=0)
        covariance = x.T @ x / len(x)
        shrunk = covariance / 2 + np.trace(covariance) / D / 2 * np.eye(D)
        between = sum(np.outer(m, m) * np.mean(y == c) for c in range(WAYS) for m in [x[y == c].mean(axis=0)])
        assert float(found) == pytest.approx(np.trace(np.linalg.solve(shrunk, between)), rel=1e-6)


def test_halves_are_balanced_by_class():
    labels = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 2, 2]] * 4)
    half = halves(labels, np.random.default_rng(0))
    for c, n in ((0, 2), (1, 1), (2, 1)):
        assert all(int(row[labels[0] == c].sum()) == n for row in half)
    assert len({tuple(row.tolist()) for row in half}) > 1


def test_easy_tasks_are_called_easier_than_hard_ones_by_every_measure():
    """A known answer: classes far apart against classes that overlap."""
    for setting in ("supervised", "semi"):
        names = [
            name for name in available_measures(setting, SHOTS) if name not in ("egv", "logme")
        ]  # whose sign can flip
        easy, hard = (
            compute_measures(view(5, diffused=setting == "semi", spread=spread, n=24), names) for spread in (0.2, 2.5)
        )
        for name in names:
            gap = float(easy[name].mean() - hard[name].mean())
            assert MEASURES[name].better * gap > 0, (setting, name, gap)


@pytest.mark.parametrize("diffused", [False, True])
@pytest.mark.parametrize("name", MEASURES)
def test_the_contract_of_measures(name, diffused):
    """One finite number per task; the same again; no answer is looked at; a task alone has what it has among others."""
    first = compute_measures(view(6, diffused=diffused), [name])[name]
    assert first.shape == (5,) and first.dtype == torch.float64 and bool(first.isfinite().all())
    assert torch.equal(first, compute_measures(view(6, diffused=diffused), [name])[name])
    if name in (
        "similarity",
        "egv",
        "loo_ridge",
        "loo_ridge_margin",
        "loo_nearest_mean",
        "logme",
        "h_score",
    ):  # nothing random
        x, y, q, _ = tasks(6)
        alone = TaskView(*(torch.from_numpy(part[2:3]) for part in (x, y, q)), WAYS, diffused=diffused)
        assert float(compute_measures(alone, [name])[name]) == pytest.approx(float(first[2]), abs=1e-5)


@pytest.mark.parametrize("name", AGENTS)
def test_the_contract_of_agents(name):
    """Whole numbers in range for each query (sample), the same again, and far better than chance where classes are apart."""
    clusters = AGENTS[name].clusters
    seen, truth = view(7, diffused=clusters, spread=0.3), torch.from_numpy(tasks(7, spread=0.3)[3])
    found = AGENTS[name].answer(seen)
    assert found.dtype == torch.int64 and int(found.min()) >= 0 and int(found.max()) < WAYS
    assert torch.equal(found, AGENTS[name].answer(view(7, diffused=clusters, spread=0.3)))
    if not clusters:
        assert float((found == truth).double().mean()) > 0.9
    assert ex.foresee.check_agent(name)["passes"]


def test_measures_of_one_task_take_names_ragged_classes_and_no_queries():
    x, _, q, _ = (part[0] for part in tasks())
    label = ["cat"] * 3 + ["dog"] * 7 + ["eel"] * 2
    assert "confidence" not in ex.foresee.measures(x, label)
    assert set(ex.foresee.measures(x, label, q)) == set(MEASURES)
    assert "loo_ridge" not in ex.foresee.measures(x[:3], ["a", "b", "c"])
    assert ex.foresee.measures(x * 7, label, q) == pytest.approx(
        ex.foresee.measures(x, label, q), abs=1e-4
    )  # lengths do not count


@pytest.mark.parametrize(
    ("support", "labels", "queries", "sentence"),
    [
        (np.ones((3, 2)), [0, 0, 0], None, "at least 2 classes"),
        (np.ones((1, 2)), [0], None, "at least 2 classes"),
        (np.ones((4, 2)), [0, 0, 1, 1], None, "are identical"),
        (np.array([[1.0, np.nan], [1, 2]]), [0, 1], None, "NaN or infinite"),
        (np.array([[0.0, 0.0], [1, 2]]), [0, 1], None, "all 0"),
        (np.eye(3), [0, 1], None, "one label per sample"),
        (np.eye(3), [0, 1, 2], np.eye(2), "encode them alike"),
        (np.ones(3), [0, 1, 2], None, r"must be \(samples, features\)"),
        ("nonsense", [0, 1], None, "must be numbers"),
    ],
)
def test_what_cannot_be_a_task_is_refused(support, labels, queries, sentence):
    with pytest.raises(UserError, match=sentence):
        ex.foresee.measures(support, labels, queries)


def test_measures_that_do_not_exist_are_refused():
    with pytest.raises(UserError, match="did you mean confidence"):
        chosen_measures(["confidense"], "semi", 5)
    with pytest.raises(UserError, match="does not exist in supervised tasks of 1"):
        chosen_measures(["loo_ridge"], "supervised", 1)
    with pytest.raises(UserError, match="confidence does not exist for this task"):
        ex.foresee.measures(np.eye(3), [0, 1, 2], names=["confidence"])
    assert "davies_bouldin" not in chosen_measures(["all"], "supervised", 1)


@pytest.mark.parametrize("accuracy", [0.4, 0.6, 0.95])
def test_a_posterior_agrees_with_the_predicted_accuracy(accuracy):
    scores = np.random.default_rng(0).normal(size=(50, 3))
    p = matched_posterior(scores, accuracy)
    assert p.max(axis=1).mean() == pytest.approx(accuracy, abs=1e-3)
    assert np.array_equal(p.argmax(axis=1), scores.argmax(axis=1))
    assert matched_posterior(scores, 0.1).max() < 0.34 and matched_posterior(scores, 1.0).max(axis=1).mean() > 0.99


def test_confusions_are_those_of_classes_that_lie_close():
    rng = np.random.default_rng(0)
    centres = np.array([[1, 0, 0, 0.1], [0.9, 0.3, 0, 0.1], [0, 0, 1, 0.1]])
    y = np.repeat(np.arange(3), 6)
    task = ex.foresee.FewShotTask.of(
        centres[y] + 0.05 * rng.random((18, 4)), y, centres[y] + 0.05 * rng.random((18, 4))
    )
    few = task.support[::3], task.labels[::3]  # two of each class
    for seen in (
        task,
        ex.foresee.FewShotTask(task.support, task.labels, task.names),
        ex.foresee.FewShotTask(*few, task.names),
    ):
        matrix = expected_confusion(seen.view(), 0.8)
        np.testing.assert_allclose(matrix.sum(axis=1), 1)
        assert matrix.diagonal().mean() == pytest.approx(0.8, abs=0.1)
        assert matrix[0, 1] > 3 * matrix[0, 2] and matrix[1, 0] > 3 * matrix[1, 2]


def test_measures_of_nearly_identical_samples_are_not_rounding():
    """Within a thousandth of each other: as a plain loop in double precision has them, and the same for samples moved about."""
    rng = np.random.default_rng(0)
    x, y = 1 + 0.001 * rng.random((42, 12)), np.repeat(np.arange(3), 4)
    names = ("davies_bouldin", "egv", "similarity")
    found = ex.foresee.measures(x[:12], y, x[12:], names=names, diffused=True)
    used = plain_loop.diffused(x / np.linalg.norm(x, axis=1, keepdims=True))
    assert found["egv"] == pytest.approx(np.linalg.eigvalsh(plain_loop.laplacian(used))[2], rel=1e-6)
    assert found["similarity"] == pytest.approx(plain_loop.similarity(used[:12], y), rel=1e-4)
    seen = ex.foresee.FewShotTask.of(x[:12], y, x[12:]).view(diffused=True)
    assert found["davies_bouldin"] == pytest.approx(davies_bouldin_score(used, seen.clusters[0].numpy()), rel=1e-4)
