"""The eigenvalues that a GPU computes for many matrices at once are those of SciPy, which takes one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds
from exemplar.foresee.graphs import GraphConfig, laplacian_eigenvalues, nearest_neighbours
from exemplar.foresee.smallest_eigenvalues import count_below, smallest_eigenvalues, tridiagonal


def symmetric(tasks: int, m: int, rank: int, seed: int = 0) -> torch.Tensor:
    some = seeds.rng("eigenvalues", seed, m, rank).normal(size=(tasks, m, max(rank, 1)))
    return torch.from_numpy(some @ some.swapaxes(1, 2) if rank else np.zeros((tasks, m, m)))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 100))
def test_they_are_scipys_also_where_many_are_equal(m: int, rank: int, seed: int) -> None:
    """Of a matrix of small rank most are 0; of a matrix of nothing but zeros all are."""
    matrices = symmetric(3, m, rank, seed)
    n = min(m, 5)
    found = smallest_eigenvalues(matrices, n)
    true = np.stack([scipy.linalg.eigvalsh(one)[:n] for one in matrices.numpy()])
    np.testing.assert_allclose(found.numpy(), true, atol=1e-9 * max(float(matrices.abs().max()) * m, 1e-3))


def test_by_hand() -> None:
    """Two samples joined by an edge of weight w have the Laplacian [[w, −w], [−w, w]], whose eigenvalues are 0 and 2 w."""
    laplacian = torch.tensor([[[0.25, -0.25], [-0.25, 0.25]]], dtype=torch.float64)
    assert smallest_eigenvalues(laplacian, 2)[0].tolist() == pytest.approx([0, 0.5], abs=1e-12)


def test_the_tridiagonal_form_has_the_same_eigenvalues() -> None:
    matrices = symmetric(4, 12, 12)
    middle, beside = tridiagonal(matrices)
    for one, diagonal, side in zip(matrices.numpy(), middle.numpy(), beside.numpy(), strict=True):
        np.testing.assert_allclose(
            scipy.linalg.eigvalsh_tridiagonal(diagonal, side), scipy.linalg.eigvalsh(one), atol=1e-9
        )


def test_as_many_lie_below_a_place_as_are_smaller() -> None:
    matrices, places = symmetric(2, 9, 9), torch.linspace(-1, 40, 30, dtype=torch.float64)
    found = count_below(*tridiagonal(matrices), places.expand(2, 1, 30))[:, 0]
    true = (torch.linalg.eigvalsh(matrices)[:, None] < places[:, None]).sum(2)
    assert torch.equal(found.long(), true)


def test_of_graphs_they_are_what_a_processor_finds() -> None:
    """Graphs in pieces have an eigenvalue 0 for each piece."""
    x = torch.from_numpy(np.abs(seeds.rng("graphs").normal(size=(6, 40, 8))))
    x[:3, :20, :4], x[:3, 20:, 4:] = 0, 0  # two pieces
    gram = x @ x.mT
    config = GraphConfig(neighbours=7)
    edges = nearest_neighbours(_cosines(gram), 7)
    edges = (edges + edges.mT) / 2
    laplacian = torch.diag_embed(edges.sum(2)) - edges
    found = smallest_eigenvalues(laplacian, 6)
    torch.testing.assert_close(found, laplacian_eigenvalues(gram, config, 6), atol=1e-9, rtol=1e-7)
    assert (found[:3, 1] < 1e-9).all() and (found[3:, 1] > 1e-3).all()


def _cosines(gram: torch.Tensor) -> torch.Tensor:
    length = gram.diagonal(dim1=1, dim2=2).sqrt()
    return gram / length[:, :, None] / length[:, None, :]
