"""The study of what 28 px do to a drawing: its measures on drawings whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from exemplar.images.studies.coarse_bitmaps import (
    COARSE,
    DRAWN,
    MEASURES,
    compare_drawings,
    compare_levels,
    count_holes,
    count_parts,
    find_same,
)
from exemplar.results.kept import load_kept

RING = np.array([[0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]], bool)


def blots(n: int, seed: int = 0) -> np.ndarray:
    """Drawings of 28 px that nobody draws twice: a tenth of the px, inked at random."""
    return (np.random.default_rng(seed).random((n, 28, 28)) < 0.1).astype(np.uint8) * 255


def test_parts_touch_at_corners_and_holes_do_not() -> None:
    assert (count_parts(RING), count_holes(RING)) == (1, 1)
    assert (count_parts(np.eye(3, dtype=bool)), count_holes(np.eye(3, dtype=bool))) == (1, 0)
    assert (count_parts(np.zeros((3, 3), bool)), count_holes(np.zeros((3, 3), bool))) == (0, 0)
    assert (count_parts(RING[:, ::2]), count_holes(RING[:, ::2])) == (2, 0)


def test_a_drawing_is_compared_with_another_by_hand() -> None:
    full = RING.copy()
    full[1, 2] = True  # the hole is closed: 9 px of 10, one part
    alike, closed = compare_drawings(np.stack([RING, full]), np.stack([RING, RING]))
    named = dict(zip(MEASURES, alike, strict=True))
    width = named.pop("stroke_width_px")
    assert width < dict(zip(MEASURES, closed, strict=True))["stroke_width_px"]
    compared = {"overlap": 1, "other_number_of_parts": 0, "other_number_of_holes": 0}
    assert named == pytest.approx({"ink_share": 9 / 16, "parts": 1, "holes": 1, **compared})
    assert closed[[0, 2, 3, 4, 5, 6]] == pytest.approx([10 / 16, 1, 0, 9 / 10, 0, 1])
    assert compare_drawings(full[None][:0], full[None][:0]).shape == (0, len(MEASURES))


def test_the_same_drawing_is_found_in_any_order_and_another_is_not() -> None:
    drawings, order = blots(20), np.random.default_rng(1).permutation(12)
    faint = (drawings[order] * 0.8).astype(np.uint8)  # another pen, the same ink
    found = find_same(drawings, np.concatenate([faint, blots(9, 2)]))
    expected = np.full(20, -1)
    expected[order] = np.arange(12)
    np.testing.assert_array_equal(found, expected)


def test_drawings_that_many_make_alike_are_not_taken_for_the_same() -> None:
    drawing = blots(1)
    nearly = np.repeat(drawing, 2, axis=0)
    nearly[:, 0, 0] ^= np.array([255, 0], np.uint8)
    assert find_same(drawing, nearly).tolist() == [-1]
    assert find_same(np.repeat(drawing, 2, axis=0), drawing).tolist() == [0, -1]  # a bitmap is one drawing's at most


def test_grey_levels_are_compared_over_all_px_and_over_the_ink() -> None:
    ours, theirs = np.zeros((1, 28, 28), np.uint8), np.zeros((1, 28, 28), np.uint8)
    ours[0, 0, :4], theirs[0, 0, :2] = 200, 250
    assert compare_levels(ours, theirs)[0] == pytest.approx([(50 * 2 + 200 * 2) / 784, (50 * 2 + 200 * 2) / 4, 0.5])
    assert compare_levels(ours, ours)[0].tolist() == [0, 0, 1]


def test_what_is_kept_says_that_28_px_widen_strokes_and_that_ours_are_googles() -> None:
    kept = load_kept("quickdraw-28px")
    assert kept is not None
    value = {(score.name, score.agent, score.variant): score.value for score in kept.scores if not score.concept}
    low, high = "binarised at 0.3", "binarised at 0.4"
    assert (
        value["stroke_width_px", COARSE, low]
        > value["stroke_width_px", COARSE, high]
        > value["stroke_width_px", DRAWN, low]
    )
    assert value["overlap", COARSE, high] > value["overlap", COARSE, low]
    ends = {(score.name, score.agent): score.ci95 for score in kept.scores if not score.concept}
    own, other = (ends["same_drawing_found", f"the {whose} bitmaps"] for whose in ("category's own", "next category's"))
    assert own[0] > 100 * other[1]  # what is found is the drawing, and not one that looks like it
    simplified, raw = (
        ends["grey_difference", f"our 28 px from {strokes}"]
        for strokes in ("simplified strokes, as Google's", "raw strokes")
    )
    assert simplified[1] < raw[0]  # Google draws from simplified strokes
