"""Augmentation: hand-made cases, Pillow and loops over single images as references, and what the draws are distributed as."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy import stats

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.augment import (
    PRESETS,
    Affine,
    Compose,
    Flip,
    OneOf,
    Perspective,
    Recipe,
    ResizedCrop,
    augment,
    preset,
    warp,
)

EYE = torch.eye(3)
SIZE = (50, 50)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def one(rows: list[list[float]], matrix: list[list[float]]) -> list[list[float]]:
    """The view of a single small image under a matrix."""
    return warp(torch.tensor([[rows]]), torch.tensor([matrix]))[0, 0].tolist()


def scribbles(n: int, size: tuple[int, int] = SIZE, seed: int = 0) -> torch.Tensor:
    """(n, 1, h, w): anti-aliased strokes, some of which run over the edge."""
    draws, (height, width) = np.random.default_rng(seed), size
    images = []
    for _ in range(n):
        canvas = Image.new("L", (4 * width, 4 * height))
        for _ in range(3):
            points = draws.uniform(-0.1, 1.1, (4, 2)) * [4 * width, 4 * height]
            ImageDraw.Draw(canvas).line([tuple(point) for point in points], fill=255, width=10)
        images.append(np.asarray(canvas.resize((width, height), Image.Resampling.BOX), np.float32) / 255)
    return torch.from_numpy(np.stack(images))[:, None]


def pillow(image: torch.Tensor, matrix: np.ndarray) -> np.ndarray:
    """One (h, w) image seen through a homography by Pillow."""
    picture = Image.fromarray(image.numpy())
    if np.allclose(matrix[2], [0, 0, 1], atol=0):
        method, data = Image.Transform.AFFINE, matrix[:2]
    else:
        method, data = Image.Transform.PERSPECTIVE, matrix.ravel()[:8] / matrix[2, 2]
    return np.asarray(picture.transform(picture.size, method, data.ravel().tolist(), Image.Resampling.BILINEAR))


# ---------------------------------------------------------------- by hand


def test_the_identity_gives_the_image_bit_for_bit() -> None:
    for size in [(1, 1), (3, 5), (28, 28), (50, 50), (84, 105)]:
        images = torch.rand((2, 3, *size), generator=rng())
        assert torch.equal(warp(images, EYE.repeat(2, 1, 1)), images)


def test_a_shift_by_a_pixel_brings_paper_in() -> None:
    right = [[1.0, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert one([[1.0, 2.0], [3.0, 4.0]], right) == [[0.0, 1.0], [0.0, 3.0]]


def test_a_quarter_turn_is_exact() -> None:
    clockwise = [[0.0, 1.0, 0.0], [-1.0, 0.0, 3.0], [0.0, 0.0, 1.0]]
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
    assert one(rows, clockwise) == [[7.0, 4.0, 1.0], [8.0, 5.0, 2.0], [9.0, 6.0, 3.0]]


def test_zoom_2_of_a_ramp_reads_quarter_pixels() -> None:
    ramp = torch.arange(4.0).repeat(1, 1, 4, 1)
    view = augment(ramp, Affine(zoom=(2, 2)), rng())
    assert view[0, 0].tolist() == [[0.75, 1.25, 1.75, 2.25]] * 4


def test_zoom_a_half_leaves_a_margin_of_paper() -> None:
    ramp = torch.arange(4.0).repeat(1, 1, 4, 1)
    view = augment(ramp, Affine(zoom=(0.5, 0.5)), rng())
    row = [0.0, 0.5, 2.5, 0.0]
    assert view[0, 0].tolist() == [[0.0] * 4, row, row, [0.0] * 4]


def test_flips_are_exact() -> None:
    images = torch.rand((4, 2, 7, 10), generator=rng())
    assert torch.equal(augment(images, Flip(1, 0), rng()), images.flip(3))
    assert torch.equal(augment(images, Flip(0, 1), rng()), images.flip(2))
    assert torch.equal(augment(images, Compose(Flip(1, 1), Flip(1, 1)), rng()), images)


def test_a_matrix_and_its_multiples_show_the_same() -> None:
    images, matrices = scribbles(8), Perspective(0.5, 1.0).matrices(8, SIZE, rng())
    torch.testing.assert_close(warp(images, -8 * matrices), warp(images, matrices), rtol=0, atol=1e-6)


# ---------------------------------------------------------------- against one image at a time


RECIPES: dict[str, Recipe] = {
    "crop": ResizedCrop((0.1, 0.9), (0.8, 1.2)),
    "affine": Affine(180, 10, (0.5, 1.5), 20),
    "perspective": Perspective(0.6, 1.0),
    "flip": Flip(0.5, 0.5),
    "all": Compose(Flip(0.5, 0.5), ResizedCrop((0.5, 1), (0.8, 1.2)), Affine(15, 5, (0.8, 1.2), 10), Perspective(0.5)),
    **PRESETS,
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("size", [(50, 50), (31, 64)])
def test_views_are_what_pillow_shows_pixel_by_pixel(name: str, size: tuple[int, int]) -> None:
    images = scribbles(60, size)
    matrices = RECIPES[name].matrices(60, size, rng(1))
    ours = warp(images, matrices)[:, 0].numpy()
    theirs = np.stack(
        [pillow(image[0], matrix) for image, matrix in zip(images, matrices.double().numpy(), strict=True)]
    )
    off = np.abs(ours - theirs) > 1e-3
    # a point within rounding of the image's edge may fall on either side of it; nothing else may differ
    assert off.mean() < 1e-4
    assert ours.any(axis=(1, 2)).mean() > 0.9


def test_a_crop_is_pillows_crop_and_resize() -> None:
    images = scribbles(40)
    matrices = ResizedCrop((0.1, 0.9), (0.8, 1.2)).matrices(40, SIZE, rng())
    for view, image, matrix in zip(warp(images, matrices)[:, 0], images[:, 0], matrices.numpy(), strict=True):
        left, top, wide, tall = crop_box(matrix, SIZE)
        box = (left, top, left + wide, top + tall)
        expected = np.asarray(Image.fromarray(image.numpy()).crop(box).resize((50, 50), Image.Resampling.BILINEAR))
        edge = math.ceil(25 / min(wide, tall))  # half a source pixel, seen enlarged
        inside = slice(edge, -edge)
        np.testing.assert_allclose(view[inside, inside], expected[inside, inside], atol=1e-4)


def test_a_rotation_is_pillows_rotation() -> None:
    images = scribbles(20)
    matrices = Affine(degrees=180).matrices(20, SIZE, rng())
    for view, image, matrix in zip(warp(images, matrices)[:, 0], images[:, 0], matrices.numpy(), strict=True):
        angle = affine_parts(matrix, SIZE)["degrees"]
        expected = np.asarray(Image.fromarray(image.numpy()).rotate(-angle, Image.Resampling.BILINEAR))
        assert (np.abs(view.numpy() - expected) > 1e-3).mean() < 2e-3


def test_a_perspective_is_the_homography_through_its_corners() -> None:
    height, width = 40, 60
    matrices = Perspective(0.5, 1.0).matrices(200, (height, width), rng()).double().numpy()
    start = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
    for matrix in matrices:
        ends = np.rint(seen(np.linalg.inv(matrix), start))
        system, target = [], []
        for (x, y), (u, v) in zip(ends, start, strict=True):
            system += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
            target += [u, v]
        expected = np.append(np.linalg.solve(np.array(system), np.array(target)), 1).reshape(3, 3)
        corners = [(0.5, 0.5), (width - 0.5, 0.5), (width / 2, height / 2), (0.5, height - 0.5)]
        np.testing.assert_allclose(seen(matrix, corners), seen(expected, corners), atol=1e-3)


def test_fused_is_one_after_the_other_up_to_interpolation() -> None:
    y, x = torch.meshgrid(torch.arange(64.0), torch.arange(64.0), indexing="ij")
    smooth = (0.5 + 0.25 * torch.sin(x / 9) + 0.25 * torch.cos(y / 11)).repeat(20, 1, 1, 1)
    first, second = Affine(20, 3, (1.0, 1.3), 5), Perspective(0.3, 1.0)
    fused = augment(smooth, Compose(first, second), rng())
    stream = rng()
    twice = augment(augment(smooth, first, stream), second, stream)
    both = (fused > 0) & (twice > 0)
    off = torch.nn.functional.max_pool2d((~both).float(), 5, 1, 2) > 0  # away from where either sees paper
    assert (~off).float().mean() > 0.4
    assert (fused - twice).abs()[~off].max() < 0.01


# ---------------------------------------------------------------- what is drawn


def seen(matrix: np.ndarray, points: Sequence[tuple[float, float]]) -> np.ndarray:
    ends = np.c_[np.array(points, float), np.ones(len(points))] @ matrix.T
    return ends[:, :2] / ends[:, 2:]


def crop_box(matrix: np.ndarray, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """left, top, width, height in px, of a crop's matrix."""
    height, width = size
    assert np.all(matrix[[0, 1, 2, 2], [1, 0, 0, 1]] == 0)
    return matrix[0, 2], matrix[1, 2], round(matrix[0, 0] * width, 3), round(matrix[1, 1] * height, 3)


def affine_parts(matrix: np.ndarray, size: tuple[int, int]) -> dict[str, float]:
    """Take shift · rotation · zoom · shear about the centre apart again."""
    height, width = size
    forward = np.linalg.inv(np.asarray(matrix, float))
    (a, b), (c, d) = forward[:2, :2]
    angle, zoom = math.atan2(c, a), math.hypot(a, c)
    cos, sin = math.cos(angle), math.sin(angle)
    assert -sin * b + cos * d == pytest.approx(zoom, rel=1e-4)  # what is left after unturning is a shear along x
    centre = forward @ [width / 2, height / 2, 1]
    return {
        "degrees": math.degrees(angle),
        "zoom": zoom,
        "shear": math.degrees(math.atan(-(cos * b + sin * d) / zoom)),
        "right": centre[0] - width / 2,
        "down": centre[1] - height / 2,
    }


def loop_crop(recipe: ResizedCrop, size: tuple[int, int], draws: np.random.Generator) -> tuple[int, int, int, int]:
    """The rule of RandomResizedCrop for one image, as its documentation and source describe it: left, top, width, height."""
    height, width = size
    for _ in range(10):
        area = height * width * draws.uniform(*recipe.scale)
        ratio = math.exp(draws.uniform(math.log(recipe.ratio[0]), math.log(recipe.ratio[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(draws.integers(width - w + 1)), int(draws.integers(height - h + 1)), w, h
    w, h = width, height
    if width / height < recipe.ratio[0]:
        h = round(width / recipe.ratio[0])
    elif width / height > recipe.ratio[1]:
        w = round(height * recipe.ratio[1])
    return (width - w) // 2, (height - h) // 2, w, h


@pytest.mark.parametrize(
    ("recipe", "size"),
    [
        (ResizedCrop((0.1, 0.9), (0.8, 1.2)), (50, 50)),
        (ResizedCrop((0.75, 1.33), (0.8, 1.2)), (50, 50)),
        (ResizedCrop((0.9, 1.2), (0.5, 0.7)), (30, 60)),  # most crops never fit: the central one
    ],
)
def test_crops_are_distributed_as_the_loop_draws_them(recipe: ResizedCrop, size: tuple[int, int]) -> None:
    ours = np.array([crop_box(matrix, size) for matrix in recipe.matrices(6000, size, rng()).numpy()])
    draws = np.random.default_rng(0)
    loop = np.array([loop_crop(recipe, size, draws) for _ in range(6000)])
    assert np.array_equal(ours, np.rint(ours))
    assert np.all(ours[:, :2] + ours[:, 2:] <= [size[1], size[0]])
    for place, which in enumerate(["left", "top", "width", "height"]):
        assert stats.ks_2samp(ours[:, place], loop[:, place]).pvalue > 1e-3, which
    assert stats.ks_2samp(ours[:, 2] * ours[:, 3], loop[:, 2] * loop[:, 3]).pvalue > 1e-3


def test_crop_areas_are_uniform_and_ratios_log_uniform_where_all_fit() -> None:
    size = (1000, 1000)  # so that rounding to pixels does not show
    boxes = [
        crop_box(matrix, size) for matrix in ResizedCrop((0.1, 0.6), (0.5, 1.5)).matrices(5000, size, rng()).numpy()
    ]
    _, _, wide, tall = np.array(boxes).T
    assert stats.kstest(wide * tall / 1e6, stats.uniform(0.1, 0.5).cdf).pvalue > 1e-3
    assert stats.kstest(np.log(wide / tall), stats.uniform(math.log(0.5), math.log(3)).cdf).pvalue > 1e-3


def test_a_crop_that_never_fits_is_the_largest_central_one() -> None:
    assert torch.equal(ResizedCrop((2, 2), (1, 1)).matrices(5, SIZE, rng()), EYE.repeat(5, 1, 1))
    assert crop_box(ResizedCrop((2, 2), (1, 1)).matrices(1, (20, 61), rng())[0].numpy(), (20, 61)) == (20, 0, 20, 20)
    assert crop_box(ResizedCrop((2, 2), (2, 4)).matrices(1, (60, 30), rng())[0].numpy(), (60, 30)) == (0, 22, 30, 15)


def test_affine_parameters_are_uniform_and_shifts_whole() -> None:
    size = (48, 50)
    matrices = Affine(30, 4, (0.5, 1.5), 20).matrices(5000, size, rng()).numpy()
    parts = [affine_parts(matrix, size) for matrix in matrices]
    for name, low, high in (("degrees", -30, 30), ("zoom", 0.5, 1.5), ("shear", -20, 20)):
        assert stats.kstest([part[name] for part in parts], stats.uniform(low, high - low).cdf).pvalue > 1e-3, name
    for name in ("right", "down"):
        shifts = np.array([part[name] for part in parts])
        np.testing.assert_allclose(shifts, np.rint(shifts), atol=1e-3)
        counts = np.bincount((np.rint(shifts) + 4).astype(int), minlength=9)
        share = np.array([0.5, 1, 1, 1, 1, 1, 1, 1, 0.5]) / 8  # the ends round from one side only
        assert stats.chisquare(counts, share * 5000).pvalue > 1e-3, name


def test_perspective_corners_are_whole_and_uniform_inwards() -> None:
    height, width = 41, 50
    matrices = Perspective(0.5, 1.0).matrices(4000, (height, width), rng()).double().numpy()
    start = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
    ends = np.stack([seen(np.linalg.inv(matrix), start) for matrix in matrices])
    np.testing.assert_allclose(ends, np.rint(ends), atol=5e-3)
    inwards = np.abs(np.rint(ends) - start).astype(int)
    for corner in range(4):
        for axis, reach in ((0, 12), (1, 10)):
            counts = np.bincount(inwards[:, corner, axis], minlength=reach + 1)
            assert len(counts) == reach + 1
            assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_a_perspective_is_applied_as_often_as_said_and_else_changes_nothing(probability: float) -> None:
    matrices = Perspective(0.5, probability).matrices(4000, SIZE, rng())
    still = (matrices == EYE).all(2).all(1).float().mean()
    assert still == pytest.approx(1 - probability, abs=0.03)


def test_flips_are_as_likely_as_said() -> None:
    matrices = Flip(0.25, 0.75).matrices(8000, SIZE, rng())
    assert (matrices[:, 0, 0] == -1).float().mean() == pytest.approx(0.25, abs=0.02)
    assert (matrices[:, 1, 1] == -1).float().mean() == pytest.approx(0.75, abs=0.02)


def test_each_image_takes_one_of_three_equally_often() -> None:
    ramp = torch.arange(4.0).view(1, 1, 2, 2).repeat(9000, 1, 1, 1)
    views = augment(ramp, OneOf(Flip(1, 0), Flip(0, 1), Compose()), rng())
    kinds, counts = views.unique(dim=0, return_counts=True)
    assert len(kinds) == 3
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


# what the text says (S2.1, S3.3): crop area, crop ratio, degrees, px, zoom, shear, distortion
TEXT = {
    "light": ((0.05, 0.95), (0.9, 1.1), 7, 3, (0.9, 1.1), 5, 0.25),
    "moderate": ((0.1, 0.9), (0.8, 1.2), 15, 5, (0.75, 1.25), 10, 0.5),
    "strong": ((0.2, 0.8), (0.6, 1.4), 30, 10, (0.5, 1.5), 20, 0.75),
}


@pytest.mark.parametrize("name", TEXT)
def test_presets_fill_the_published_ranges_and_stay_inside(name: str) -> None:
    scale, ratio, degrees, px, zoom, shear, distortion = TEXT[name]
    recipe = PRESETS[name]
    assert isinstance(recipe, OneOf)
    crop, affine, perspective = recipe.recipes
    large = (500, 500)  # so that rounding to pixels hardly shows
    boxes = np.array([crop_box(matrix, large) for matrix in crop.matrices(3000, large, rng()).numpy()])
    fills((boxes[:, 2] * boxes[:, 3]) / 500**2, *scale, slack=0.02)
    fills(boxes[:, 2] / boxes[:, 3], *ratio, slack=0.02)
    parts = [affine_parts(matrix, SIZE) for matrix in affine.matrices(3000, SIZE, rng()).numpy()]
    limits = {
        "degrees": (-degrees, degrees),
        "right": (-px, px),
        "down": (-px, px),
        "shear": (-shear, shear),
        "zoom": zoom,
    }
    for part, (low, high) in limits.items():
        fills(np.array([p[part] for p in parts]), low, high, slack=0.01 * (high - low))
    corners = perspective.matrices(3000, SIZE, rng())
    moved = corners[(corners != EYE).any(2).any(1)].double().numpy()
    assert len(moved) / 3000 == pytest.approx(0.5, abs=0.05)
    ends = np.stack([seen(np.linalg.pinv(matrix), [(0, 0)])[0] for matrix in moved])
    fills(ends[:, 0], 0, math.floor(25 * distortion), slack=0.05)


def fills(values: np.ndarray, low: float, high: float, *, slack: float) -> None:
    assert low - slack <= values.min() <= low + 2 * slack
    assert high - 2 * slack <= values.max() <= high + slack


# ---------------------------------------------------------------- groups, randomness, types


def test_images_of_a_group_share_their_transform_and_groups_differ() -> None:
    image = scribbles(1)
    groups = torch.tensor([7, -3, 7, 900, -3, 7])
    views = augment(image.repeat(6, 1, 1, 1), PRESETS["quickdraw-protonet"], rng(), groups)
    same = torch.tensor([[torch.equal(a, b) for a in views] for b in views])
    assert torch.equal(same, groups[:, None] == groups)


def test_a_group_of_each_image_alone_changes_nothing() -> None:
    images = scribbles(10)
    alone = augment(images, PRESETS["moderate"], rng(), torch.arange(10).flip(0))
    assert torch.equal(alone, augment(images, PRESETS["moderate"], rng()))


@pytest.mark.parametrize("name", PRESETS)
def test_the_same_generator_gives_the_same_bytes_and_another_does_not(name: str) -> None:
    images = scribbles(64)
    first = augment(images, PRESETS[name], rng(3))
    assert torch.equal(first, augment(images, PRESETS[name], rng(3)))
    assert not torch.equal(first, augment(images, PRESETS[name], rng(4)))


def test_two_views_from_one_generator_differ_and_the_global_one_is_left_alone() -> None:
    images, stream, before = scribbles(8), rng(), torch.get_rng_state()
    assert not torch.equal(augment(images, PRESETS["moderate"], stream), augment(images, PRESETS["moderate"], stream))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_view_does_not_depend_on_the_batch_it_is_warped_in() -> None:
    images, matrices = scribbles(100), PRESETS["strong"].matrices(100, SIZE, rng())
    alone = torch.cat([warp(images[i : i + 1], matrices[i : i + 1]) for i in range(100)])
    assert torch.equal(warp(images, matrices), alone)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_type_shape_and_values_are_kept(dtype: torch.dtype) -> None:
    images = scribbles(6).repeat(1, 3, 1, 1).to(dtype)
    views = augment(images, PRESETS["strong"], rng())
    assert views.dtype == dtype and views.shape == images.shape
    exact = augment(images.double(), PRESETS["strong"], rng())
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 5e-3}.get(dtype, 1e-4)
    assert ((views.double() - exact).abs() > tolerance).double().mean() < 1e-3


def test_autocast_does_not_blur_where_points_fall() -> None:
    images = scribbles(16)
    recipe = Compose(*[PRESETS["moderate"]] * 2)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = augment(images, recipe, rng())
    assert torch.equal(mixed, augment(images, recipe, rng()))


def test_an_empty_batch_stays_empty() -> None:
    none = torch.zeros(0, 1, 50, 50)
    assert augment(none, PRESETS["strong"], rng(), torch.zeros(0, dtype=torch.int64)).shape == none.shape


def test_a_warp_compiles_without_a_graph_break() -> None:
    images, matrices = scribbles(4), PRESETS["moderate"].matrices(4, SIZE, rng())
    compiled: Callable[..., torch.Tensor] = torch.compile(warp, backend="eager", fullgraph=True)
    assert torch.equal(compiled(images, matrices), warp(images, matrices))


def test_a_warp_can_be_differentiated_by_its_images() -> None:
    images = torch.rand((2, 1, 6, 7), generator=rng(), dtype=torch.float64, requires_grad=True)
    matrices = Affine(20, 1, (0.8, 1.2), 5).matrices(2, (6, 7), rng())
    assert torch.autograd.gradcheck(lambda x: warp(x, matrices), images)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_gpu_shows_the_same_views_for_the_same_draws(dtype: torch.dtype) -> None:
    images = scribbles(64).to(dtype)
    there = augment(images.cuda(), PRESETS["moderate"], rng())
    assert there.is_cuda and there.dtype == dtype
    off = (there.cpu().float() - augment(images, PRESETS["moderate"], rng()).float()).abs() > 1e-2
    assert off.float().mean() < 1e-4
    own = torch.Generator("cuda").manual_seed(0)
    assert augment(images.cuda(), PRESETS["quickdraw-protonet"], own, torch.arange(64).cuda() // 8).is_cuda


def test_a_recipe_is_a_value_that_can_be_named() -> None:
    assert Affine(15, 5) == Affine(15, 5)
    assert OneOf(Flip(1, 0), Flip(0, 1)) != OneOf(Flip(0, 1), Flip(1, 0))
    assert len({seeds.digest(recipe) for recipe in PRESETS.values()}) == len(PRESETS)


# ---------------------------------------------------------------- whatever the draw

SHARES = st.floats(0, 1)
POSITIVE = st.tuples(st.floats(0.05, 3), st.floats(0.05, 3)).map(lambda pair: (min(pair), max(pair)))
SINGLE: st.SearchStrategy[Recipe] = st.one_of(
    st.builds(ResizedCrop, POSITIVE, POSITIVE),
    st.builds(Affine, st.floats(0, 360), st.floats(0, 30), POSITIVE, st.floats(0, 60)),
    st.builds(Perspective, SHARES, SHARES),
    st.builds(Flip, SHARES, SHARES),
)
ANY = st.one_of(
    SINGLE,
    st.lists(SINGLE, max_size=3).map(lambda r: Compose(*r)),
    st.lists(SINGLE, min_size=1, max_size=3).map(lambda r: OneOf(*r)),
)


@settings(deadline=None, max_examples=80)
@given(ANY, st.tuples(st.integers(2, 40), st.integers(2, 40)), st.integers(1, 3), st.integers(0, 2**31))
def test_a_view_never_leaves_the_range_of_paper_and_image(
    recipe: Recipe, size: tuple[int, int], c: int, seed: int
) -> None:
    images = torch.rand((3, c, *size), generator=rng(seed)) * 0.5 + 0.5
    views = augment(images, recipe, rng(seed))
    assert views.shape == images.shape and views.isfinite().all()
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    inside = (views >= low - 1e-5) & (views <= high + 1e-5)
    assert (inside | (views == 0)).all()


@settings(deadline=None, max_examples=30)
@given(SINGLE, st.integers(0, 2**31))
def test_channels_move_together(recipe: Recipe, seed: int) -> None:
    images = torch.rand((2, 1, 12, 9), generator=rng(seed))
    views = augment(torch.cat([images, 2 * images], 1), recipe, rng(seed))
    torch.testing.assert_close(views[:, 1], 2 * views[:, 0], rtol=0, atol=1e-6)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda: ResizedCrop((0.9, 0.1), (0.8, 1.2)), "lower one first"),
        (lambda: ResizedCrop((0.0, 0.9), (0.8, 1.2)), "positive"),
        (lambda: ResizedCrop((0.1, math.nan), (0.8, 1.2)), "positive"),
        (lambda: ResizedCrop((0.1, 0.9), (0.8, math.inf)), "positive"),
        (lambda: ResizedCrop(0.5, (0.8, 1.2)), "two positive numbers"),  # type: ignore[arg-type]
        (lambda: ResizedCrop((0.1, "0.9"), (0.8, 1.2)), "two positive numbers"),  # type: ignore[arg-type]
        (lambda: Affine(degrees=-5), "between 0 and 360"),
        (lambda: Affine(translate=math.inf), "at least 0"),
        (lambda: Affine(zoom=(1.5, 0.5)), "lower one first"),
        (lambda: Affine(shear=90), "between 0 and 89"),
        (lambda: Perspective(1.5), "between 0 and 1"),
        (lambda: Perspective(0.5, 1.01), "between 0 and 1"),
        (lambda: Perspective(0.5, math.nan), "between 0 and 1"),
        (lambda: Flip(-0.1), "between 0 and 1"),
        (lambda: OneOf(), "at least one"),
        (lambda: preset("modrate"), "did you mean moderate"),
        (lambda: augment(torch.zeros(3, 50, 50), Flip(), rng()), "(b, c, h, w)"),
        (lambda: augment(torch.zeros(3, 1, 0, 50), Flip(), rng()), "(b, c, h, w)"),
        (lambda: augment(torch.zeros(3, 1, 5, 5, dtype=torch.uint8), Flip(), rng()), "divide bytes by 255"),
        (lambda: augment(np.zeros((3, 1, 5, 5)), Flip(), rng()), "float tensor"),  # type: ignore[arg-type]
        (lambda: augment(torch.full((1, 1, 5, 5), math.nan), Flip(), rng()), "NaN"),
        (lambda: augment(torch.full((1, 1, 5, 5), math.inf), Flip(), rng()), "infinite"),
        (lambda: augment(torch.zeros(3, 1, 5, 5), Flip(), rng(), torch.zeros(2, dtype=torch.int64)), "3 whole numbers"),
        (lambda: augment(torch.zeros(3, 1, 5, 5), Flip(), rng(), torch.zeros(3)), "3 whole numbers"),
        (lambda: augment(torch.zeros(3, 1, 1, 9), Perspective(0.5), rng()), "2 × 2"),
        (lambda: warp(torch.zeros(3, 1, 5, 5), EYE), "(3, 3, 3)"),
    ],
)
def test_a_mistake_is_one_sentence(mistake: Callable[[], object], says: str) -> None:
    with pytest.raises(UserError) as error:
        mistake()
    assert says in str(error.value)
    assert "\n" not in str(error.value)
