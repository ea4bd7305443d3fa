"""Resolution, pen and grey of drawings are measured, and drawings brought to another format get it."""

from __future__ import annotations

import numpy as np
import pytest

from exemplar.images.formats import Format, bring_images, bring_to, measure_format, stroke_widths, widened
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.images.pixels import binarised
from exemplar.report.resizing import resize

DATA = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=6, size=96))
IMAGES = binarised(DATA.images, 0.5)


def _disc(radius: float, side: int = 101) -> np.ndarray:
    """A ring of known width: all directions, as the formula assumes."""
    y, x = np.mgrid[:side, :side] - side // 2
    return ((np.abs(np.hypot(x, y) - 35) <= radius) * np.uint8(255))[None]


@pytest.mark.parametrize("width", [2, 4, 7, 12])
def test_the_width_of_a_ring_is_known(width: int) -> None:
    assert stroke_widths(_disc(width / 2))[0] == pytest.approx(width, rel=0.08)


def test_a_width_is_the_same_in_grey_and_at_another_size() -> None:
    ring = _disc(4)
    for side in (50, 202):
        assert stroke_widths(resize(ring, (side, side)))[0] * 101 / side == pytest.approx(8, rel=0.08)
    assert stroke_widths(ring // 2)[0] == stroke_widths(ring)[0]  # faint ink is ink
    assert stroke_widths(np.zeros((1, 20, 20), np.uint8)).tolist() == [0]


def test_blocks_tell_the_px_that_were_drawn() -> None:
    small = binarised(resize(IMAGES, (28, 28)), 0.5)
    places = np.arange(96) * 28 // 96
    shown = small[:, places[:, None], places]
    assert measure_format(small).grain == (28, 28) and measure_format(IMAGES).grain == (96, 96)
    assert measure_format(shown).grain == (28, 28) and measure_format(shown).size == (96, 96)
    assert measure_format(np.repeat(np.repeat(small, 3, axis=1), 3, axis=2)).grain == (28, 28)


def test_grey_is_told_from_ink() -> None:
    assert not measure_format(IMAGES).grey and measure_format(resize(IMAGES, (40, 40))).grey


@pytest.mark.parametrize(
    "change",
    [
        lambda x: binarised(resize(x, (28, 28)), 0.5),
        lambda x: binarised(resize(x, (28, 28)), 0.25),
        lambda x: resize(x, (36, 36)),
        lambda x: binarised(widened(x, 1.5), 0.5),
        lambda x: binarised(widened(x, -0.8), 0.5),
        lambda x: binarised(resize(widened(x, 3.0), (32, 32)), 0.5),
    ],
)
def test_drawings_brought_to_a_format_have_it(change) -> None:  # type: ignore[no-untyped-def]
    wanted = measure_format(change(IMAGES))
    found = measure_format(bring_images(IMAGES, wanted))
    assert (found.size, found.grain) == (wanted.size, wanted.grain)
    assert found.stroke == pytest.approx(wanted.stroke, rel=0.06)


def test_a_set_and_its_images_are_brought_alike_and_no_change_is_none() -> None:
    wanted = Format((30, 30), (30, 30), 0.09, False)
    brought = bring_to(DATA, wanted)
    np.testing.assert_array_equal(brought.images, bring_images(DATA.images, wanted))
    assert brought.concepts == DATA.concepts and brought.name == DATA.name
    assert brought.fingerprint != DATA.fingerprint
    assert bring_to(DATA, measure_format(DATA.images)) is DATA
    finer = bring_images(IMAGES, Format((200, 200), (200, 200), measure_format(IMAGES).stroke, False))
    assert finer is IMAGES  # detail cannot be added


def test_thin_strokes_never_vanish() -> None:
    thin = widened(IMAGES, -50.0)
    assert (thin.reshape(len(thin), -1).max(axis=1) == 255).all() and (thin <= IMAGES).all()
    assert (widened(IMAGES, 2.0) >= IMAGES).all()
    np.testing.assert_array_equal(widened(IMAGES, 0.0), IMAGES)
    assert not widened(np.zeros((1, 20, 20), np.uint8), 3.0).any()
