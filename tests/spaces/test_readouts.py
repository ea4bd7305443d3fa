"""Readouts batched over tasks agree with one task at a time, by scikit-learn, torch or hand."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestCentroid

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.readouts import (
    PAPER,
    AdamRecipe,
    ClassSums,
    Readout,
    descend,
    fit_lda,
    fit_logistic,
    fit_logistic_adam,
    fit_nearest_mean,
    fit_ridge,
    ridge_left_out,
)

Fit = Callable[[np.ndarray, np.ndarray, int], Readout]
EXACT: dict[str, Fit] = {
    "nearest mean": fit_nearest_mean,
    "ridge": fit_ridge,
    "lda": fit_lda,
    "logistic": lambda x, y, k: fit_logistic(x, y, k, penalty=1e-2),
}
WIDE, TALL = (25, 40), (60, 6)  # (n, d): fewer, and more, examples than features


def tasks(
    n: int, d: int, n_tasks: int = 4, n_classes: int = 3, name: object = 0, balanced: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Support (tasks, n, d), labels (tasks, n), unbalanced unless said but with 2 of each class, queries (tasks, 9, d)."""
    rng = seeds.rng("readouts", name, n, d, n_tasks, n_classes)
    least = np.arange(2 * n_classes) % n_classes
    more = (np.arange(n) % n_classes)[: n - len(least)] if balanced else rng.integers(0, n_classes, n - len(least)) ** 2
    y = np.stack([rng.permutation(np.concatenate([least, more % n_classes])) for _ in range(n_tasks)])
    centre = rng.normal(size=(n_tasks, n_classes, d))
    x = np.take_along_axis(centre, y[..., None], axis=1) + rng.normal(size=(n_tasks, n, d)) + 0.5
    return x, y, rng.normal(size=(n_tasks, 9, d)) + 0.5


def test_nearest_mean_by_hand() -> None:
    x = np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]]])
    readout = fit_nearest_mean(x, np.array([[0, 0, 1]]), 2)  # means (1, 0) and (0, 5)
    queries = np.array([[[1.0, 0.0], [0.0, 4.0]]])
    assert readout.predict(queries).tolist() == [[0, 1]]
    logit = np.array([-0.0 + 26.0, -17.0 + 1.0])  # −‖x − mean 0‖² + ‖x − mean 1‖²
    expected = np.stack([-np.log1p(np.exp(-logit)), -np.log1p(np.exp(logit))], axis=1)
    np.testing.assert_allclose(readout.log_p(queries)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_nearest_mean_agrees_with_scikit_learn(shape: tuple[int, int]) -> None:
    x, y, queries = tasks(*shape)
    ours = fit_nearest_mean(x, y, 3).predict(queries)
    theirs = [NearestCentroid().fit(a, b).predict(q) for a, b, q in zip(x, y, queries, strict=True)]
    np.testing.assert_array_equal(ours, theirs)


def test_means_learned_bit_by_bit_are_the_means_learned_at_once() -> None:
    x, y, queries = tasks(*WIDE)
    parts = [ClassSums.of(x[:, i : i + 1], y[:, i : i + 1], 3) for i in range(x.shape[1])]
    running = sum(parts[1:], parts[0]).readout(torch.float64)
    torch.testing.assert_close(running.log_p(queries), fit_nearest_mean(x, y, 3).log_p(queries))


@pytest.mark.parametrize("shape", [WIDE, TALL, (12, 12)])
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 50.0])
def test_ridge_agrees_with_scikit_learn(shape: tuple[int, int], penalty: float) -> None:
    x, y, queries = tasks(*shape)
    ours = fit_ridge(x, y, 3, penalty).scores(queries)
    theirs = [Ridge(penalty).fit(a, np.eye(3)[b]).predict(q) for a, b, q in zip(x, y, queries, strict=True)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", [WIDE, TALL, (12, 12)])
@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 1.0])
def test_the_closed_form_is_what_refitting_without_each_example_gives(shape: tuple[int, int], penalty: float) -> None:
    x, y, _ = tasks(*shape)
    ours = ridge_left_out(x, y, 3, penalty)
    for task in range(len(x)):
        for i in range(x.shape[1]):
            rest = np.arange(x.shape[1]) != i
            refitted = Ridge(penalty).fit(x[task, rest], np.eye(3)[y[task, rest]]).predict(x[task, i : i + 1])
            np.testing.assert_allclose(ours[task, i], refitted[0], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("shrinkage", [0.05, 0.5, 1.0])
def test_lda_agrees_with_scikit_learn(shape: tuple[int, int], shrinkage: float) -> None:
    x, y, queries = tasks(*shape)
    ours = fit_lda(x, y, 3, shrinkage).log_p(queries)
    for task in range(len(x)):
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x[task], y[task])
        np.testing.assert_allclose(ours[task], theirs.predict_log_proba(queries[task]), rtol=1e-6, atol=1e-8)


def sklearn_logistic(x: np.ndarray, y: np.ndarray, queries: np.ndarray, penalty: float) -> np.ndarray:
    """Bias as a penalised weight of a constant feature."""
    constant = [np.c_[part, np.ones(len(part))] for part in (x, queries)]
    model = LogisticRegression(C=1 / (penalty * len(x)), fit_intercept=False, tol=1e-10, max_iter=100_000)
    return np.asarray(model.fit(constant[0], y).predict_log_proba(constant[1]))


@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("penalty", [1e-3, 0.3])
def test_logistic_agrees_with_scikit_learn(shape: tuple[int, int], penalty: float) -> None:
    x, y, queries = tasks(*shape)
    ours = fit_logistic(x, y, 3, penalty).log_p(queries)
    for task in range(len(x)):
        theirs = sklearn_logistic(x[task], y[task], queries[task], penalty)
        np.testing.assert_allclose(ours[task], theirs, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_logistic_is_where_the_gradient_of_the_stated_loss_vanishes(shape: tuple[int, int]) -> None:
    x, y, _ = tasks(*shape)
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    fitted = fit_logistic(x, y, 3)
    weight, bias = fitted.weight.requires_grad_(), fitted.bias.requires_grad_()
    log_p = Readout(weight, bias).log_p(x)
    loss = -log_p.gather(2, torch.from_numpy(y)[..., None]).mean(dim=(1, 2)).sum()
    (loss + 5e-6 / 2 * (weight.square().sum() + bias.square().sum())).backward()
    assert weight.grad is not None and bias.grad is not None
    assert max(weight.grad.abs().max(), bias.grad.abs().max()) < 1e-8


@pytest.mark.parametrize("n", [3, 5, 13])
def test_adam_is_the_paper_s_loop_over_batches(n: int) -> None:
    n_classes, d, n_tasks = 3, 7, 3
    rng = seeds.rng("adam", n)
    x = torch.from_numpy(rng.normal(size=(n_tasks, n, d)))
    y = torch.from_numpy(np.stack([rng.permutation(np.arange(n) % n_classes) for _ in range(n_tasks)]))
    start = torch.from_numpy(rng.uniform(-0.3, 0.3, (n_tasks, n_classes, d + 1)))
    order = torch.from_numpy(rng.permuted(np.tile(np.arange(n), (n_tasks, PAPER.epochs, 1)), axis=2))
    ours = descend(Readout(start[..., :d].contiguous(), start[..., d].contiguous()), x, y, order, PAPER)
    for task in range(n_tasks):
        layer = torch.nn.Linear(d, n_classes, dtype=torch.float64)
        with torch.no_grad():
            layer.weight.copy_(start[task, :, :d])
            layer.bias.copy_(start[task, :, d])
        adam = torch.optim.Adam(layer.parameters(), lr=0.01, weight_decay=5e-6)
        batch = min(5, n)
        for epoch in range(50):
            for first in range(0, n - batch + 1, batch):
                rows = order[task, epoch, first : first + batch]
                adam.zero_grad()
                torch.nn.functional.cross_entropy(layer(x[task, rows]), y[task, rows]).backward()
                adam.step()
        torch.testing.assert_close(ours.weight[task], layer.weight.detach(), rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(ours.bias[task], layer.bias.detach(), rtol=1e-9, atol=1e-11)


def test_adam_with_patience_comes_to_the_exact_minimum() -> None:
    x, y, queries = tasks(*WIDE, n_tasks=2)
    patient = AdamRecipe(rate=1e-2, penalty=0.05, batch=25, epochs=2500)
    trained = fit_logistic_adam(x, y, 3, rng=seeds.rng("patience"), recipe=patient)
    torch.testing.assert_close(trained.log_p(queries), fit_logistic(x, y, 3, 0.05).log_p(queries), rtol=0, atol=1e-3)


def test_adam_repeats_with_its_generator_and_starts_every_task_anew() -> None:
    x, y, _ = tasks(*WIDE)
    same = np.repeat(x[:1], 2, axis=0), np.repeat(y[:1], 2, axis=0)
    first, again = (fit_logistic_adam(*same, 3, rng=seeds.rng("one")) for _ in range(2))
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight[0], first.weight[1])


@pytest.mark.parametrize("name", EXACT)
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**20), shape=st.sampled_from([WIDE, TALL]))
def test_turning_the_features_changes_no_prediction(name: str, seed: int, shape: tuple[int, int]) -> None:
    x, y, queries = tasks(*shape, name=seed)
    turn, _ = np.linalg.qr(seeds.rng("turn", seed).normal(size=(shape[1], shape[1])))
    fit = EXACT[name]
    torch.testing.assert_close(
        fit(x @ turn, y, 3).log_p(queries @ turn), fit(x, y, 3).log_p(queries), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", EXACT)
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**20))
def test_tasks_queries_and_examples_may_come_in_any_order(name: str, seed: int) -> None:
    x, y, queries = tasks(*WIDE, name=seed)
    rng, fit = seeds.rng("order", seed), EXACT[name]
    task, query, example = (rng.permutation(k) for k in (len(x), queries.shape[1], x.shape[1]))
    moved = fit(x[task][:, example], y[task][:, example], 3).log_p(queries[task][:, query])
    torch.testing.assert_close(moved, fit(x, y, 3).log_p(queries)[task][:, query], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", EXACT)
def test_renaming_the_classes_renames_the_predictions(name: str) -> None:
    x, y, queries = tasks(*WIDE)
    new = np.array([2, 0, 1])
    renamed = EXACT[name](x, new[y], 3).log_p(queries)
    torch.testing.assert_close(renamed[..., new], EXACT[name](x, y, 3).log_p(queries), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", EXACT)
def test_many_tasks_in_chunks_are_the_tasks_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, queries = tasks(*WIDE, n_tasks=5)
    whole = EXACT[name](x, y, 3).log_p(queries)
    monkeypatch.setattr("exemplar.spaces.readouts.tensors.CHUNK_BYTES", 1)
    torch.testing.assert_close(EXACT[name](x, y, 3).log_p(queries), whole)


@pytest.mark.parametrize("name", EXACT)
def test_single_precision_goes_in_and_comes_out(name: str) -> None:
    x, y, queries = tasks(*WIDE)
    single = EXACT[name](x.astype(np.float32), y, 3)
    assert single.weight.dtype == single.log_p(queries).dtype == torch.float32
    torch.testing.assert_close(
        single.log_p(queries).double(), EXACT[name](x, y, 3).log_p(queries), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", EXACT)
def test_probabilities_sum_to_one_and_the_likeliest_is_predicted(name: str) -> None:
    x, y, queries = tasks(*TALL)
    readout = EXACT[name](x, y, 3)
    torch.testing.assert_close(readout.log_p(queries).exp().sum(dim=2), torch.ones(4, 9, dtype=torch.float64))
    assert torch.equal(readout.predict(queries), readout.log_p(queries).argmax(dim=2))


def test_one_shot_works_wherever_it_can() -> None:
    x, y = seeds.rng("one shot").normal(size=(2, 3, 8)), np.array([[0, 1, 2], [2, 0, 1]])
    fits = [fit_nearest_mean, fit_ridge, fit_logistic, lambda x, y, k: fit_logistic_adam(x, y, k, rng=seeds.rng("x"))]
    for fit in fits:
        assert fit(x, y, 3).predict(x).tolist() == y.tolist()
    with pytest.raises(UserError, match="differ within a class"):
        fit_lda(x, y, 3)


ALL: dict[str, Fit] = {**EXACT, "adam": lambda x, y, k: fit_logistic_adam(x, y, k, rng=seeds.rng("x"))}


@pytest.mark.parametrize("name", ALL)
def test_mistakes_are_told_in_a_sentence(name: str) -> None:
    x, y, queries = tasks(*WIDE)
    fit = ALL[name]
    with pytest.raises(UserError, match="class 3 of task 0 has no support example"):
        fit(x, y, 4)
    with pytest.raises(UserError, match="whole numbers from 0 to 1"):
        fit(x, y, 2)
    with pytest.raises(UserError, match="whole numbers"):
        fit(x, y.astype(float), 3)
    with pytest.raises(UserError, match=r"must be \(tasks, n, d\)"):
        fit(x, y[:, :-1], 3)
    with pytest.raises(UserError, match=r"must be \(tasks, n, d\)"):
        fit(x[:0], y[:0], 3)
    spoiled = x.copy()
    spoiled[1, 2, 3] = np.nan
    with pytest.raises(UserError, match="NaN"):
        fit(spoiled, y, 3)
    readout = fit(x, y, 3)
    with pytest.raises(UserError, match="NaN"):
        readout.predict(np.full_like(queries, np.inf))
    with pytest.raises(UserError, match=r"queries must be \(4, q, 40\)"):
        readout.predict(queries[:, :, 1:])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 1e200), (np.float32, 1e25)])
def test_features_whose_squares_overflow_are_refused(name: str, dtype: type, most: float) -> None:
    x, y, queries = tasks(*WIDE)
    with pytest.raises(UserError, match="support examples hold features .*whose squares overflow"):
        ALL[name]((x * most).astype(dtype), y, 3)
    readout = ALL[name](x.astype(dtype), y, 3)
    with pytest.raises(UserError, match="queries hold features .*whose squares overflow"):
        readout.predict(queries * most)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_just_not_too_large_give_finite_means_and_scores(dtype: type) -> None:
    x, y, queries = tasks(*WIDE)
    most = 0.99 * (np.finfo(dtype).max / (4 * x[0].size)) ** 0.5
    support, asked = ((array / np.abs(array).max() * most).astype(dtype) for array in (x, queries))
    readout = fit_nearest_mean(support, y, 3)
    assert readout.bias.isfinite().all() and readout.scores(asked).isfinite().all()
    np.testing.assert_array_equal(readout.predict(asked), fit_nearest_mean(support / most, y, 3).predict(asked / most))


def test_penalty_and_shrinkage_have_their_limits() -> None:
    x, y, _ = tasks(*WIDE)
    for penalty in (0.0, -1.0, np.nan, np.inf):
        for fit in (fit_ridge, fit_logistic, ridge_left_out):
            with pytest.raises(UserError, match="penalty"):
                fit(x, y, 3, penalty)
    for shrinkage in (0.0, 1.5, np.nan):
        with pytest.raises(UserError, match="shrinkage"):
            fit_lda(x, y, 3, shrinkage)
    with pytest.raises(UserError, match="at least 2"):
        ridge_left_out(x[:, :1], np.zeros((4, 1), int), 1)
    with pytest.raises(UserError, match="different tasks"):
        ClassSums.of(x, y, 3) + ClassSums.of(x[:2], y[:2], 3)
