"""Projections keep distances on average and never change; calibration brings features into the unit ball."""

import numpy as np
import pytest
import torch

from exemplar.errors import UserError
from exemplar.spaces import projection
from exemplar.spaces.projection import PROJECTIONS, Dense, Projection, Sparse

FAMILIES: list[Projection] = [Sparse(64), Sparse(64, nonzeros=4), Dense(64)]


def _matrix(family: Projection, n_in: int) -> np.ndarray:
    """(n_in, n_out): what the map does to each input dimension by itself."""
    return family.draw(n_in)(torch.eye(n_in)).numpy()


def _redrawn(family: Projection, seed: int) -> Projection:
    if isinstance(family, Sparse):
        return Sparse(family.n_out, family.nonzeros, seed=str(seed))
    return Dense(family.n_out, seed=str(seed))


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_projection_is_linear_and_the_same_at_every_draw(family: Projection) -> None:
    x = torch.randn((5, 300), generator=torch.Generator().manual_seed(0))
    once, again = family.draw(300)(x), family.draw(300)(x)
    assert torch.equal(once, again)
    np.testing.assert_allclose(once.numpy(), x.numpy() @ _matrix(family, 300), atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_another_seed_gives_another_map(family: Projection) -> None:
    assert not np.array_equal(_matrix(_redrawn(family, 1), 300), _matrix(_redrawn(family, 2), 300))


@pytest.mark.parametrize("nonzeros", [1, 4])
def test_a_sparse_projection_sends_each_input_to_as_many_outputs_as_it_says(nonzeros: int) -> None:
    matrix = _matrix(Sparse(64, nonzeros), 500)
    assert ((matrix != 0).sum(axis=1) == nonzeros).all()
    np.testing.assert_allclose((matrix**2).sum(axis=1), 1, atol=1e-6)
    assert abs(np.sign(matrix).sum()) < 5 * np.sqrt(500 * nonzeros)  # signs are even
    assert (matrix != 0).sum(axis=0).max() < 6 * 500 * nonzeros / 64  # and no output collects them all


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_squared_distances_are_right_on_average_with_variance_two_by_n_out(family: Projection) -> None:
    # over maps, for one pair of vectors: E = 1; the sparse variance is (2 / n_out)(1 − Σu⁴) exactly, u of unit length
    u = np.random.default_rng(0).standard_normal(400).astype(np.float32)
    u /= np.linalg.norm(u)
    ratio = np.array([_redrawn(family, seed).draw(400)(torch.from_numpy(u)[None]).pow(2).sum() for seed in range(1500)])
    variance = 2 / 64 * (1 - float((u**4).sum()) if isinstance(family, Sparse) else 1)
    assert abs(ratio.mean() - 1) < 4 * np.sqrt(variance / 1500)
    assert 0.85 < ratio.var(ddof=1) / variance < 1.15


@pytest.mark.parametrize("family", [Sparse(), Dense()], ids=repr)
def test_all_distances_among_many_vectors_survive(family: Projection) -> None:
    x = torch.randn((40, 10_000), generator=torch.Generator().manual_seed(3)).relu()
    before, after = torch.pdist(x) ** 2, torch.pdist(family.draw(10_000)(x)) ** 2
    ratio = after / before
    assert ratio.mean().item() == pytest.approx(1, abs=0.02)
    assert ratio.std().item() < 1.3 * np.sqrt(2 / 2048)
    assert ratio.min() > 0.82 and ratio.max() < 1.18


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_small_features_are_left_as_they_are(family: Projection) -> None:
    x = torch.randn((3, 64), generator=torch.Generator().manual_seed(0))
    kept = family.draw(64)(x)
    assert torch.equal(kept, x)
    x.zero_()  # a network overwriting its own memory does not reach what was kept
    assert (kept != 0).any()


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_the_blocks_in_which_it_is_computed_do_not_matter(family: Projection, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn((2, 3000), generator=torch.Generator().manual_seed(0))
    whole = family.draw(3000)(x)
    monkeypatch.setattr(projection, "BLOCK", 700)
    monkeypatch.setattr(projection, "HELD", 0)  # dense weights are drawn again for each batch
    np.testing.assert_allclose(family.draw(3000)(x), whole, atol=1e-5)


def test_half_precision_features_come_out_in_single_precision() -> None:
    x = torch.randn((2, 300), generator=torch.Generator().manual_seed(0)).bfloat16()
    for family in FAMILIES:
        assert family.draw(300)(x).dtype == torch.float32


def test_features_of_another_size_are_refused() -> None:
    for family in (*FAMILIES, Sparse(500)):
        with pytest.raises(UserError, match=r"drawn for \(n, 300\)"):
            family.draw(300)(torch.zeros(2, 301))


@pytest.mark.parametrize(("n_out", "nonzeros"), [(0, 1), (64, 0), (64, 3), (-4, 2)])
def test_impossible_projections_are_refused(n_out: int, nonzeros: int) -> None:
    with pytest.raises(UserError):
        Sparse(n_out, nonzeros)
    if n_out < 1:
        with pytest.raises(UserError):
            Dense(n_out)


def test_projections_go_by_name_and_reach_2048_dimensions() -> None:
    assert {name: family.n_out for name, family in PROJECTIONS.items()} == {"sparse": 2048, "dense": 2048}
