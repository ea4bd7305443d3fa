"""Resizing: the average of the pixels below, exactly, on any processor."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from exemplar import seeds
from exemplar.report.resizing import resize, shares

SIDES = st.integers(1, 40)
KERNELS = ("Prescott", "Haswell")  # of OpenBLAS, which add in another order


def test_two_pixels_brought_to_three_by_hand():
    line = np.array([[[0, 255]]], np.uint8)
    assert resize(line, (1, 3)).tolist() == [[[0, 128, 255]]]  # the middle one is 127.5, and halves go up


def test_four_pixels_brought_to_two_by_hand():
    """A triangle two pixels to each side: 3, 3, 1 parts of the first three (the fourth would be outside)."""
    line = np.array([[[7, 14, 70, 0]]], np.uint8)
    assert resize(line, (1, 2)).tolist() == [[[19, 32]]]  # (21 + 42 + 70) / 7, (14 + 210 + 0) / 7


@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 9))
def test_each_pixel_is_the_exact_average_rounded_half_up(height, width, target_height, target_width, seed):
    image = seeds.rng("resizing", seed).integers(0, 256, (1, height, width), dtype=np.uint8)
    across = _exactly(image[0], target_width)
    expected = _exactly(across.T, target_height).T
    size = (target_height, target_width)
    np.testing.assert_array_equal(resize(image, size)[0], expected if size != (height, width) else image[0])


@given(SIDES, SIDES, st.integers(0, 255))
def test_a_plain_image_stays_plain(source, target, level):
    image = np.full((1, source, source, 3), level, np.uint8)
    assert (resize(image, (target, target)) == level).all()


@pytest.mark.parametrize("source,target", [(28, 48), (105, 50), (105, 28), (600, 224), (3000, 10)])
def test_pillow_differs_by_one_level_at_most(source, target):
    image = seeds.rng("resizing", source).integers(0, 256, (source, source), dtype=np.uint8)
    peer = np.asarray(Image.fromarray(image).resize((target, target), Image.Resampling.BILINEAR))
    assert np.abs(resize(image[None], (target, target))[0].astype(int) - peer).max() <= 1


def test_every_processor_gives_the_same_bytes():
    """A drawing of Quick, Draw! that is halfway to being ink was ink on one machine and paper on another."""
    program = (
        "import numpy as np; from exemplar import seeds; from exemplar.report.resizing import resize;"
        "images = np.random.default_rng(0).integers(0, 256, (300, 28, 28), dtype=np.uint8);"
        "print(seeds.digest(resize(images, (48, 48))))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kernel in KERNELS
    }
    assert len(said) == 1


def _exactly(rows: np.ndarray, target: int) -> np.ndarray:
    """rows: (n, width) → (n, target), by fractions."""
    parts, sums = shares(rows.shape[1], target)
    exact = [
        [Fraction(int(part @ row.astype(int)), int(whole)) for part, whole in zip(parts, sums, strict=True)]
        for row in rows
    ]
    return np.array([[int((level + Fraction(1, 2)) // 1) for level in row] for row in exact])
