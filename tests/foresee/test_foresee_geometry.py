"""Graphs, clusters and eigenvalues against plain loops, SciPy and scikit-learn; hand-computed cases; what must change nothing."""

from __future__ import annotations

import numpy as np
import plain_loop
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, davies_bouldin_score

from exemplar.errors import UserError
from exemplar.foresee.clustering import adjusted_rand, davies_bouldin, fit_n_means, settle, start_centres
from exemplar.foresee.graphs import GraphConfig, diffusion, laplacian_eigenvalues, nearest_neighbours
from exemplar.foresee.lloyd_kernel import settle_each


def samples(seed: int, tasks: int = 3, m: int = 40, d: int = 12, spread: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.random((tasks, 4, d)) * 3
    x = np.maximum(centres[:, np.arange(m) % 4] + spread * rng.normal(size=(tasks, m, d)), 0) + 1e-3
    return (x / np.linalg.norm(x, axis=2, keepdims=True)).astype(np.float32)


def gram(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(x @ x.transpose(0, 2, 1))


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 7, 15, 100])
def test_diffusion_is_that_of_a_plain_loop(k, power):
    x = samples(0)
    found = diffusion(gram(x), GraphConfig(k, power=power)).numpy() @ x
    for one, expected in zip(found, x, strict=True):
        np.testing.assert_allclose(one, plain_loop.diffused(expected.astype(float), k, power=power), atol=5e-6)


@pytest.mark.parametrize("k", [3, 15, 100])
def test_eigenvalues_are_scipys(k):
    x = samples(1)
    found = laplacian_eigenvalues(gram(x), GraphConfig(k), 40).numpy()
    for one, expected in zip(found, x, strict=True):
        np.testing.assert_allclose(
            one, scipy.linalg.eigvalsh(plain_loop.laplacian(expected.astype(float), k)), atol=2e-5
        )


def test_two_groups_that_share_no_direction_have_two_eigenvalues_of_0():
    x = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)[None]
    found = laplacian_eigenvalues(gram(x), GraphConfig(4), 99)[0]
    np.testing.assert_allclose(found.numpy(), [0, 0, *[5] * 8], atol=1e-5)  # two complete graphs of 5 samples


def test_a_sample_keeps_its_nearest_neighbours_and_never_itself():
    cosine = torch.tensor([[[1.0, 0.9, 0.5], [0.9, 1.0, -0.2], [0.5, -0.2, 1.0]]])
    np.testing.assert_allclose(nearest_neighbours(cosine, 1)[0], [[0, 0.9, 0], [0.9, 0, 0], [0.5, 0, 0]])
    np.testing.assert_allclose(
        nearest_neighbours(cosine, 9)[0], [[0, 0.9, 0.5], [0.9, 0, 0], [0.5, 0, 0]]
    )  # −0.2 is no edge


@pytest.mark.parametrize("k", [1, 5, 39, 80])
def test_compiled_neighbours_are_torchs(k):
    cosine = gram(samples(2)) - 0.5
    torch.testing.assert_close(nearest_neighbours(cosine, k).double(), nearest_neighbours(cosine.double(), k))


def test_a_graph_without_neighbours_is_refused():
    with pytest.raises(UserError, match="neighbours must be at least 1"):
        GraphConfig(0)


@pytest.mark.parametrize("seed", range(6))
def test_lloyd_ends_where_scikit_learns_does_from_the_same_start(seed):
    x = samples(seed, tasks=1, m=60, spread=1.5)
    first = np.random.default_rng(seed).permutation(60)[:4]
    member = ((x[0][:, None] - x[0][first]) ** 2).sum(axis=2).argmin(axis=1)
    theirs = KMeans(4, init=x[0][first], n_init=1, algorithm="lloyd", tol=0, max_iter=300).fit(x[0]).labels_
    ours = settle_each(gram(x).numpy(), member[None, None].copy(), 4, 300)[0]
    on_gpu = settle(gram(x), torch.from_numpy(member)[None, :, None], 4)[0].numpy()
    assert np.array_equal(ours, theirs) and np.array_equal(on_gpu, theirs)


def test_ten_starts_are_as_good_as_scikit_learns():
    x = samples(3, tasks=8, m=80, spread=2)
    found = fit_n_means(gram(x), 4, rng=np.random.default_rng(0)).numpy()

    def inertia(data, label):
        return sum(((data[label == c] - data[label == c].mean(axis=0)) ** 2).sum() for c in np.unique(label))

    ours = [inertia(one, label) for one, label in zip(x, found, strict=True)]
    theirs = [KMeans(4, n_init=10, random_state=0).fit(one).inertia_ for one in x]
    assert np.mean(ours) <= np.mean(theirs) * 1.005


def test_identical_samples_still_give_clusters_without_empty_ones():
    x = np.ones((2, 9, 3), np.float32) / 3**0.5
    for found in (
        fit_n_means(gram(x), 3, rng=np.random.default_rng(0)),
        settle(gram(x), torch.zeros((2, 9, 1), dtype=torch.int64), 3),
    ):
        assert all(set(row.tolist()) == {0, 1, 2} for row in found)


def test_as_many_clusters_as_samples_put_each_by_itself():
    assert fit_n_means(gram(samples(0, m=4)), 4, rng=np.random.default_rng(0)).tolist() == [[0, 1, 2, 3]] * 3


def test_first_centres_are_distinct_samples():
    x = gram(samples(0))
    own = x.diagonal(dim1=1, dim2=2)
    chosen = start_centres(own[:, :, None] + own[:, None] - 2 * x, 4, rng=np.random.default_rng(0), n_starts=5)
    assert all(len(set(row.tolist())) == 4 for row in chosen.flatten(0, 1))


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_davies_bouldin_and_adjusted_rand_are_scikit_learns(seed):
    x = samples(seed, tasks=2, m=24)
    rng = np.random.default_rng(seed)
    member = rng.integers(0, 4, (2, 24))
    member[:, :4] = np.arange(4)
    truth = rng.integers(0, 3, (2, 24))
    scores = davies_bouldin(gram(x), torch.from_numpy(member), 4)
    rand = adjusted_rand(torch.from_numpy(member), torch.from_numpy(truth))
    for task in range(2):
        assert float(scores[task]) == pytest.approx(davies_bouldin_score(x[task].astype(float), member[task]), rel=1e-4)
        assert float(rand[task]) == pytest.approx(adjusted_rand_score(truth[task], member[task]), abs=1e-9)


def test_davies_bouldin_by_hand():
    """Two pairs on a line, at 0 and 2, and at 10 and 12: spreads 1 and 1, centres 10 apart."""
    x = torch.tensor([[[0.0], [2.0], [10.0], [12.0]]])
    assert float(davies_bouldin(x @ x.mT, torch.tensor([[0, 0, 1, 1]]), 2)[0]) == pytest.approx(0.2)


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_neither_a_rotation_nor_the_order_of_samples_changes_anything(seed):
    rng = np.random.default_rng(seed)
    x = samples(seed, tasks=1, m=20).astype(np.float64)
    turn, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    order = rng.permutation(20)
    member = torch.from_numpy(np.arange(20) % 4)[None]
    plain, turned = torch.from_numpy(x), torch.from_numpy((x @ turn)[:, order])
    first, second = (y @ y.mT for y in (plain, turned))
    torch.testing.assert_close(
        laplacian_eigenvalues(first, GraphConfig(5), 20), laplacian_eigenvalues(second, GraphConfig(5), 20)
    )
    torch.testing.assert_close(davies_bouldin(first, member, 4), davies_bouldin(second, member[:, order], 4))
