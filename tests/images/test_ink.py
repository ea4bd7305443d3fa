"""The pen leaves the ink geometry says it should: against hand-computed pixels, Pillow, and a slow oracle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from exemplar.errors import UserError
from exemplar.images.ink import fit, render

ONE = np.array([0, 1])


def line(*points: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One image of one stroke."""
    return np.array(points, np.float32).reshape(-1, 2), np.array([0, len(points)]), ONE


def oracle(points: np.ndarray, height: int, across: int, width: float) -> np.ndarray:
    """(h, w) coverage of one stroke: a pen's strip seen through a pixel as wide as the distance says."""
    grid = np.stack(np.meshgrid(np.arange(across) + 0.5, np.arange(height) + 0.5), axis=-1)
    nearest = np.linalg.norm(grid - points[0], axis=-1)
    for a, b in pairwise(points):
        along = b - a
        t = np.clip((grid - a) @ along / max(along @ along, 1e-30), 0, 1)
        nearest = np.minimum(nearest, np.linalg.norm(grid - a - t[..., None] * along, axis=-1))
    upper, lower = np.minimum(width / 2, nearest + 0.5), np.maximum(-width / 2, nearest - 0.5)
    return np.clip(upper - lower, 0, 1)


def test_a_level_line_covers_its_rows_and_half_of_the_next() -> None:
    image = render(*line((-5, 2.5), (15, 2.5)), size=(5, 8), width=2)[0]
    assert (image == np.array([0, 128, 255, 128, 0])[:, None]).all()


def test_a_single_point_is_a_round_dot() -> None:
    image = render(*line((3.5, 3.5)), size=(7, 7), width=4)[0]
    assert image[3, 3] == image[3, 4] == image[4, 3] == 255
    assert (image == image.T).all() and (image == image[::-1]).all()
    assert image.sum() / 255 == pytest.approx(np.pi * 4, rel=0.05)


@pytest.mark.parametrize("width", [0.1, 0.3, 0.5, 1.0])
def test_a_pen_thinner_than_a_pixel_is_proportionally_lighter(width: float) -> None:
    image = render(*line((-9, 4.5), (19, 4.5)), size=(9, 9), width=width)[0]
    assert image.sum() / 255 / 9 == pytest.approx(width, abs=0.01)


def test_no_strokes_is_a_blank_image_and_a_pen_without_width_leaves_nothing() -> None:
    none = np.empty((0, 2), np.float32)
    assert render(none, np.array([0]), np.array([0, 0, 0]), size=(4, 6), width=2).shape == (2, 4, 6)
    assert not render(none, np.array([0, 0]), ONE, size=(4, 6), width=2).any()
    assert not render(*line((1, 1), (3, 3)), size=(4, 6), width=0).any()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(*[st.floats(-40, 60, width=32)] * 2), min_size=1, max_size=6),
    st.floats(0.05, 9),
)
def test_coverage_agrees_with_distances_computed_one_by_one(points: list[tuple[float, float]], width: float) -> None:
    path, strokes, images = line(*points)
    drawn = render(path, strokes, images, size=(23, 31), width=width)[0]
    assert np.abs(drawn - 255 * oracle(path.astype(float), 23, 31, width)).max() <= 0.51


def test_ink_agrees_with_pillow_drawing_eight_times_larger() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        points = rng.uniform(10, 50, (5, 2)).astype(np.float32)
        large = Image.new("L", (480, 480))
        pen = ImageDraw.Draw(large)
        pen.line([tuple(p) for p in points * 8], fill=255, width=32, joint="curve")
        for x, y in points * 8:
            pen.ellipse([x - 16, y - 16, x + 16, y + 16], fill=255)
        peer = np.asarray(large.resize((60, 60), Image.Resampling.BOX)).astype(float)
        ours = render(*line(*points.tolist()), size=(60, 60), width=4)[0]
        assert np.abs(ours - peer).mean() < 2.5
        assert ours.sum() == pytest.approx(peer.sum(), rel=0.04)


def test_images_do_not_see_each_other_and_each_has_its_pen() -> None:
    a, b = line((2, 2), (9, 5)), line((8, 1), (1, 9), (5, 5))
    both = render(
        np.concatenate([a[0], b[0]]),
        np.array([0, 2, 5]),
        np.array([0, 1, 2]),
        size=(10, 10),
        width=np.array([1.0, 3.0]),
    )
    assert (both[0] == render(*a, size=(10, 10), width=1)[0]).all()
    assert (both[1] == render(*b, size=(10, 10), width=3)[0]).all()


def test_strokes_of_an_image_add_up_by_the_darker_one_in_any_order() -> None:
    points = np.array([[2, 2], [9, 5], [8, 1], [1, 9]], np.float32)
    offsets, pair = np.array([0, 2, 4]), np.array([0, 2])
    drawn = render(points, offsets, pair, size=(10, 10), width=2)[0]
    swapped = render(points[[2, 3, 0, 1]], offsets, pair, size=(10, 10), width=2)[0]
    alone = render(points, offsets, np.array([0, 1, 2]), size=(10, 10), width=2)
    assert (drawn == swapped).all() and (drawn == alone.max(axis=0)).all()


def test_what_lies_far_outside_is_clipped_and_a_line_through_the_frame_is_seen() -> None:
    assert not render(*line((1e30, 1e30), (2e30, 1e30)), size=(9, 9), width=3).any()
    assert render(*line((-1e6, 4.5), (1e6, 4.5)), size=(9, 9), width=3)[0, 4].min() == 255


def test_fit_fills_the_frame_keeps_the_aspect_and_centres() -> None:
    points, strokes, images = line((100, 200), (300, 300), (150, 250))
    fitted = fit(points, strokes, images, size=(50, 100), margin=10)  # 80 × 30 px of room: the height decides
    assert np.allclose(fitted, [[20, 10], [80, 40], [35, 25]])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(*[st.floats(-1e4, 1e4, width=32)] * 2), min_size=2, max_size=8), st.floats(0.01, 100))
def test_fit_does_not_depend_on_place_or_scale(points: list[tuple[float, float]], scale: float) -> None:
    path, strokes, images = line(*points)
    if np.ptp(path, axis=0).max() < 1:
        return
    moved = (path * scale + [3, -5]).astype(np.float32)
    here, there = (fit(p, strokes, images, size=(40, 60), margin=2) for p in (path, moved))
    assert np.abs(here - there).max() < 0.5
    assert (here >= 1.9).all() and (here <= [58.1, 38.1]).all()


def test_fit_puts_a_point_in_the_middle_and_leaves_blank_images_alone() -> None:
    points, strokes = np.array([[7, 7]], np.float32), np.array([0, 1])
    assert (fit(points, strokes, np.array([0, 0, 1, 1]), size=(20, 30), margin=1) == [[15, 10]]).all()


@pytest.mark.parametrize(
    ("points", "strokes", "images", "width", "message"),
    [
        ([[np.nan, 1.0]], [0, 1], [0, 1], 1.0, "not finite"),
        ([[np.inf, 1.0]], [0, 1], [0, 1], 1.0, "not finite"),
        ([[1e300, 1.0]], [0, 1], [0, 1], 1.0, "not finite"),
        ([[1.0, 1.0, 1.0]], [0, 1], [0, 1], 1.0, "x and y"),
        ([[1.0, 1.0]], [0, 2], [0, 1], 1.0, "strokes must rise"),
        ([[1.0, 1.0]], [0, 1], [0, 2], 1.0, "images must rise"),
        ([[1.0, 1.0]], [0, 1], [0, 1, 0, 1], 1.0, "images must rise"),
        ([[1.0, 1.0]], [], [0], 1.0, "whole numbers"),
        ([[1.0, 1.0]], [0.0, 1.0], [0, 1], 1.0, "whole numbers"),
        ([[1.0, 1.0]], [0, 1], [0, 1], -1.0, "width"),
        ([[1.0, 1.0]], [0, 1], [0, 1], np.nan, "width"),
        ([[1.0, 1.0]], [0, 1], [0, 1], [1.0, 2.0], "one pen width"),
    ],
)
def test_bad_strokes_are_refused_in_a_sentence(
    points: list[list[float]], strokes: list[int], images: list[int], width: float | list[float], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        render(np.array(points), np.array(strokes), np.array(images), size=(5, 5), width=np.asarray(width))


def test_a_frame_without_room_is_refused() -> None:
    with pytest.raises(UserError, match="at least 1"):
        render(*line((1, 1)), size=(0, 5), width=1)
    with pytest.raises(UserError, match="margin"):
        fit(*line((1, 1)), size=(20, 10), margin=5)
