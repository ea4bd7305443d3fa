"""Centring and radius by warm-up images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar.errors import UserError
from exemplar.spaces.ball import Ball, fit_ball


def test_the_radius_is_a_quantile_of_the_centred_norms() -> None:
    # 0 … 1000 on a line, in steps of length 5: distances to the centre are 0 … 2500, evenly, so quantile q is 2500 q
    warm_up = np.arange(1001, dtype=np.float64)[:, None] * np.array([[3.0, 4.0]])
    for variant, quantile in (("paper", 0.99), ("hobj", 0.999)):
        ball = fit_ball(warm_up, variant)
        np.testing.assert_allclose(ball.centre, [1500, 2000])
        assert ball.radius == pytest.approx(5 * 500 * quantile, rel=2e-3)
    assert fit_ball(warm_up).radius == fit_ball(warm_up, "paper").radius


def test_a_hand_computed_ball() -> None:
    ball = Ball(np.array([1.0, 1.0], np.float32), 2.0)
    given_features = np.array([[1, 1], [2, 1], [1, 4], [7, 9]], np.float32)
    wanted = np.array([[0, 0], [0.5, 0], [0, 1], [0.6, 0.8]])
    np.testing.assert_allclose(ball.place(given_features), wanted, atol=1e-6)


@settings(deadline=None)
@given(st.integers(0, 1000), st.floats(0.01, 100), st.floats(-50, 50))
def test_placed_features_do_not_depend_on_scale_or_origin(seed: int, scale: float, origin: float) -> None:
    warm_up = np.random.default_rng(seed).standard_normal((50, 6))
    features = np.random.default_rng(seed + 1).standard_normal((20, 6)) * 2
    plain = fit_ball(warm_up).place(features)
    moved = fit_ball(warm_up * scale + origin).place(features * scale + origin)
    assert (np.linalg.norm(plain, axis=1) <= 1 + 1e-6).all()
    np.testing.assert_allclose(plain, moved, atol=1e-2 if scale < 0.1 else 1e-3)


def test_one_in_a_hundred_warm_up_images_reaches_the_sphere() -> None:
    warm_up = np.random.default_rng(0).standard_normal((1000, 20)).astype(np.float32)
    norm = np.linalg.norm(fit_ball(warm_up, "paper").place(warm_up), axis=1)
    assert (norm > 1 - 1e-6).sum() == 10


@pytest.mark.parametrize(
    ("warm_up", "says"),
    [
        (np.zeros((0, 4)), "give more images"),
        (np.zeros(4), "give more images"),
        (np.array([[1.0, np.nan], [0, 0]]), "NaN or infinity"),
        (np.array([[1.0, np.inf], [0, 0]]), "NaN or infinity"),
        (np.full((10, 3), 0.1, np.float32), "are the same"),
        (np.zeros((10, 3)), "are the same"),
        (np.ones((1, 3)), "give more images"),
    ],
)
def test_bad_warm_up_features_are_refused_in_one_sentence(warm_up: np.ndarray, says: str) -> None:
    with pytest.raises(UserError, match=says):
        fit_ball(warm_up)


def test_bad_features_and_variants_are_refused() -> None:
    ball = fit_ball(np.random.default_rng(0).standard_normal((9, 3)))
    with pytest.raises(UserError, match=r"image \(1,\)"):
        ball.place(np.array([[0, 0, 0], [0, np.nan, 0]], np.float32))
    with pytest.raises(UserError, match="4 dimensions, the warm-up ones had 3"):
        ball.place(np.zeros((2, 4), np.float32))
    with pytest.raises(UserError, match="paper"):
        fit_ball(np.eye(3), "papers")
