"""Random crops, affine maps, perspectives and flips of a whole batch, fused into one bilinear warp on its device.

Each transform draws one 3×3 homography an image, so that composing is multiplying and pixels are read only once. The
distributions are those of torchvision's RandomResizedCrop, RandomAffine and RandomPerspective, which the papers used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import torch
from torch.nn import functional

from exemplar.errors import UserError, unknown

TRIES = 10  # torchvision draws a crop up to ten times until it fits
PART = 80_000  # pixels of an image plane warped at once on a CPU


class Recipe(Protocol):
    """Draws a homography for each image."""

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        """n images of size (h, w) px → (n, 3, 3) float32 on the generator's device.

        A matrix takes a point (x, y, 1) of the result to the point of the image that is seen there, in px from the top
        left corner: pixel centres lie at 0.5, 1.5, …, and the image reaches from (0, 0) to (w, h).
        """


@dataclass(frozen=True)
class ResizedCrop:
    """A part of the image, enlarged to fill it.

    scale: range of the crop's area as a share of the image's; ratio: range of its width / height, log-uniform. Sides
    are rounded to whole pixels and the place is uniform. A crop that does not fit (scale may exceed 1) is drawn again,
    ten times at most, after which it is the largest central crop of an allowed ratio. All ten are drawn at once and the
    first that fits is taken: the same distribution, without a loop. Within half a pixel of the crop's edge torchvision
    repeats the crop's own pixels where we see the neighbours that are there; nothing else differs.
    """

    scale: tuple[float, float]
    ratio: tuple[float, float]

    def __post_init__(self) -> None:
        _check_range("crop scale", self.scale)
        _check_range("crop ratio", self.ratio)

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        height, width = size
        area = height * width * _uniform(*self.scale, (n, TRIES), rng)
        ratio = _uniform(math.log(self.ratio[0]), math.log(self.ratio[1]), (n, TRIES), rng).exp()
        wide, tall = (area * ratio).sqrt().round(), (area / ratio).sqrt().round()
        fits = (wide >= 1) & (wide <= width) & (tall >= 1) & (tall <= height)
        first, found = fits.byte().argmax(1, keepdim=True), fits.any(1)

        allowed = min(max(width / height, self.ratio[0]), self.ratio[1])
        central_wide = min(width, max(1, round(height * allowed)))
        central_tall = min(height, max(1, round(width / allowed)))
        wide = torch.where(found, wide.gather(1, first)[:, 0], central_wide)
        tall = torch.where(found, tall.gather(1, first)[:, 0], central_tall)
        left = torch.where(found, _whole(width - wide, rng), (width - central_wide) // 2)
        top = torch.where(found, _whole(height - tall, rng), (height - central_tall) // 2)
        return _matrix(wide / width, 0, left, 0, tall / height, top, 0, 0, 1)


@dataclass(frozen=True)
class Affine:
    """Shear, then zoom and rotate about the image's centre, then shift; what comes from outside the image is 0.

    degrees: largest rotation either way; translate: largest shift either way, along each axis, in px (rounded to whole
    pixels, as torchvision does); zoom: range of the magnification; shear: largest angle either way by which verticals
    tilt, in degrees. A zoom below 1 is not anti-aliased, nor is torchvision's.
    """

    degrees: float = 0.0
    translate: float = 0.0
    zoom: tuple[float, float] = (1.0, 1.0)
    shear: float = 0.0

    def __post_init__(self) -> None:
        _check_number("rotation in degrees", self.degrees, 0, 360)
        _check_number("shift in px", self.translate, 0, math.inf)
        _check_range("zoom", self.zoom)
        _check_number("shear in degrees", self.shear, 0, 89)

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        height, width = size
        angle = torch.deg2rad(_uniform(-self.degrees, self.degrees, (n,), rng))
        across = _uniform(-self.translate, self.translate, (n,), rng).round() + width / 2
        down = _uniform(-self.translate, self.translate, (n,), rng).round() + height / 2
        zoom = _uniform(*self.zoom, (n,), rng)
        tilt = torch.deg2rad(_uniform(-self.shear, self.shear, (n,), rng)).tan()
        cos, sin = angle.cos() / zoom, angle.sin() / zoom
        # the inverse of shift · rotation · zoom · shear, each about the centre
        a, b, c, d = cos - tilt * sin, sin + tilt * cos, -sin, cos
        x, y = width / 2 - a * across - b * down, height / 2 - c * across - d * down
        return _matrix(a, b, x, c, d, y, 0, 0, 1)


@dataclass(frozen=True)
class Perspective:
    """The image's four corners each move inwards, by whole pixels, as if it were seen at a slant.

    distortion: how far at most, as a share of half the image, in [0, 1]; probability: of doing it at all. Above 2/3 the
    four corners need not be convex, and the image then folds, as it does with torchvision.
    """

    distortion: float
    probability: float = 0.5

    def __post_init__(self) -> None:
        _check_number("perspective distortion", self.distortion, 0, 1)
        _check_number("probability of a perspective", self.probability, 0, 1)

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        height, width = size
        if min(size) < 2:
            raise UserError(f"a perspective needs images of at least 2 × 2 px, these are {height} × {width}")
        applied = torch.rand((n, 1), generator=rng, device=rng.device) < self.probability
        reach = [int(self.distortion * (side // 2)) for side in (width, height)]
        across, down = (torch.randint(px + 1, (n, 4), generator=rng, device=rng.device) for px in reach)
        across, down = across * applied / (width - 1), down * applied / (height - 1)
        # Where the corners of the unit square go: top left, top right, bottom right, bottom left
        x = torch.cat((across[:, :1], 1 - across[:, 1:3], across[:, 3:]), 1)
        y = torch.cat((down[:, :2], 1 - down[:, 2:]), 1)
        first, second, third, fourth = torch.stack((x, y, torch.ones_like(x)), -1).unbind(1)
        # Back from there: the lines through two of three corners, weighed so that the fourth fits too. No division, since
        # the scale of a homography does not matter.
        lines = [torch.linalg.cross(*pair) for pair in ((second, third), (third, first), (first, second))]
        u, v, w = ((line * fourth).sum(1, keepdim=True) for line in lines)
        a, b, c = lines[0] * v * w, lines[1] * u * w, lines[2] * u * v
        back = torch.stack((b - c, -c, b - a - c), 1)
        # In pixels torchvision puts the corners at 0 and w − 1, a pixel inside of the far edges; so do we.
        for axis, side in ((0, width), (1, height)):
            back[:, axis] *= side - 1
            back[:, :, axis] /= side - 1
        return back


@dataclass(frozen=True)
class Flip:
    """Mirror left to right with probability `horizontal`, top to bottom with probability `vertical`."""

    horizontal: float = 0.5
    vertical: float = 0.0

    def __post_init__(self) -> None:
        _check_number("probability of a horizontal flip", self.horizontal, 0, 1)
        _check_number("probability of a vertical flip", self.vertical, 0, 1)

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        height, width = size
        across, down = torch.rand((2, n), generator=rng, device=rng.device)
        mirror_x, mirror_y = (across < self.horizontal).float(), (down < self.vertical).float()
        return _matrix(1 - 2 * mirror_x, 0, width * mirror_x, 0, 1 - 2 * mirror_y, height * mirror_y, 0, 0, 1)


@dataclass(frozen=True, init=False)
class OneOf:
    """Each image takes one of these recipes, all equally likely."""

    recipes: tuple[Recipe, ...]

    def __init__(self, *recipes: Recipe) -> None:
        if not recipes:
            raise UserError("OneOf needs at least one recipe to choose from")
        object.__setattr__(self, "recipes", recipes)

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        options = torch.stack([recipe.matrices(n, size, rng) for recipe in self.recipes])
        choice = torch.randint(len(self.recipes), (n,), generator=rng, device=rng.device)
        return options[choice, torch.arange(n, device=rng.device)]


@dataclass(frozen=True, init=False)
class Compose:
    """These recipes one after the other, the first one first; none leaves images as they are."""

    recipes: tuple[Recipe, ...]

    def __init__(self, *recipes: Recipe) -> None:
        object.__setattr__(self, "recipes", recipes)

    def matrices(self, n: int, size: tuple[int, int], rng: torch.Generator) -> torch.Tensor:
        product = torch.eye(3, device=rng.device).repeat(n, 1, 1)
        for recipe in self.recipes:
            # not `@`, which TF32 or autocast may round to a few bits
            product = (product[..., None] * recipe.matrices(n, size, rng)[:, None]).sum(2)
        return product


def augment(
    images: torch.Tensor, recipe: Recipe, rng: torch.Generator, groups: torch.Tensor | None = None
) -> torch.Tensor:
    """A random view of each image; strokes come back grey at their edges. For SimCLR, call it on `torch.cat((x, x))`.

    images: (b, c, h, w) floats, paper 0; groups: (b,) whole numbers, images of the same group (class) get the same
    transform. Returns the same shape, type and device. The generator may live elsewhere than the images: one on the CPU
    gives the same views on every device, and for a GPU too it is the faster one, the draws being many and small. Only
    images on the CPU are looked through for NaN: elsewhere the host would have to wait for the answer.
    """
    _check_images(images)
    n = len(images)
    if n and images.device.type == "cpu" and not torch.compiler.is_compiling():
        low, high = images.aminmax()  # passes NaN on, and costs a tenth of isnan
        if not (low.isfinite() and high.isfinite()):
            raise UserError("some pixels are NaN or infinite: fix or remove those images before augmenting them")
    matrices = recipe.matrices(n, (images.shape[2], images.shape[3]), rng)
    if groups is not None:
        if groups.shape != (n,) or groups.is_floating_point():
            raise UserError(
                f"groups must be {n} whole numbers, not {tuple(groups.shape)} {groups.dtype}: one per image"
            )
        matrices = matrices[_first_of_group(groups.to(rng.device, torch.int64))]
    return warp(images, matrices.to(images.device))


def warp(images: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
    """Each image as its homography shows it, in one pass; the same shape, type and device.

    images: (b, c, h, w) floats; matrices: (b, 3, 3) as in `Recipe.matrices`. Bilinear between pixel centres; in the
    half pixel around the outermost centres the edge repeats, and beyond the image all is 0: Pillow's rule, which the
    released code followed. Half-precision images are mixed in float32 and rounded once.
    """
    _check_images(images)
    n, _, height, width = images.shape
    if matrices.shape != (n, 3, 3):
        raise UserError(f"{n} images need ({n}, 3, 3) matrices, these are {tuple(matrices.shape)}: give one per image")
    # On a CPU, parts that stay in its cache: half the time of one piece, whose pages are fresh from the system each time.
    part = max(1, PART // (height * width)) if images.device.type == "cpu" else max(1, n)
    views = [_warp(*pair) for pair in zip(images.split(part), matrices.split(part), strict=True)]
    return torch.cat(views) if len(views) > 1 else views[0]


def _warp(images: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
    _, _, height, width = images.shape
    dtype = torch.promote_types(images.dtype, torch.float32)
    # grid_sample wants coordinates in [-1, 1], where pixel centres are exact only if the frame has 2^k pixels: filled up
    # to that by repeating the edge, what does not move comes out bit for bit.
    frame_x, frame_y = 1 << (width - 1).bit_length(), 1 << (height - 1).bit_length()
    framed = functional.pad(images.to(dtype), (0, frame_x - width, 0, frame_y - height), mode="replicate")
    across, down, depth = matrices.to(dtype).unbind(1)
    scaled = torch.stack((across * (2 / frame_x) - depth, down * (2 / frame_y) - depth, depth), 1)[..., None, None]
    x = torch.arange(width, dtype=dtype, device=images.device) + 0.5
    y = torch.arange(height, dtype=dtype, device=images.device)[:, None] + 0.5
    point = scaled[:, :, 0] * x + (scaled[:, :, 1] * y + scaled[:, :, 2])  # (b, 3, h, w): a sum of two thin products
    seen = point[:, :2] / point[:, 2:]
    half_x, half_y = width / frame_x, height / frame_y
    beyond = torch.maximum((seen[:, 0] + 1 - half_x).abs() - half_x, (seen[:, 1] + 1 - half_y).abs() - half_y)
    view = functional.grid_sample(framed, seen.permute(0, 2, 3, 1), padding_mode="border", align_corners=False)
    return (view * (beyond[:, None] <= 0)).to(images.dtype)  # a NaN, of a point at infinity, is not ≤ 0


def _first_of_group(groups: torch.Tensor) -> torch.Tensor:
    """(b,) → (b,) the row of each group's first member, by sorting: no size depends on the data, so no device waits."""
    ordered, rows = groups.sort(stable=True)
    place = torch.arange(len(groups), device=groups.device)
    starts = torch.where(ordered.diff(prepend=ordered[:1] - 1) != 0, place, 0).cummax(0).values
    return torch.empty_like(rows).scatter_(0, rows, rows[starts])


def _uniform(low: float, high: float, shape: tuple[int, ...], rng: torch.Generator) -> torch.Tensor:
    return low + (high - low) * torch.rand(shape, generator=rng, device=rng.device)


def _whole(most: torch.Tensor, rng: torch.Generator) -> torch.Tensor:
    """(n,) whole numbers, each uniform in 0 … most."""
    drawn = torch.rand(most.shape, generator=rng, device=rng.device) * (most + 1)
    return torch.minimum(drawn.floor(), most)  # float32 may round up to most + 1


def _matrix(*entries: torch.Tensor | float) -> torch.Tensor:
    """Nine entries, row by row and the first one a tensor, (n,) or the same for all → (n, 3, 3)."""
    like = entries[0]
    assert isinstance(like, torch.Tensor)
    columns = [entry if isinstance(entry, torch.Tensor) else torch.full_like(like, entry) for entry in entries]
    return torch.stack(columns, -1).unflatten(-1, (3, 3))


def _check_images(images: torch.Tensor) -> None:
    right = isinstance(images, torch.Tensor) and images.ndim == 4 and images.is_floating_point()
    if not right or 0 in images.shape[1:]:
        found = f"{tuple(getattr(images, 'shape', ()))} {getattr(images, 'dtype', type(images).__name__)}"
        raise UserError(f"images must be a (b, c, h, w) float tensor in [0, 1], not {found}: divide bytes by 255")


def _check_number(what: str, value: float, low: float, high: float) -> None:
    if not (isinstance(value, Real) and low <= value <= high and math.isfinite(value)):
        limits = f"at least {low}" if math.isinf(high) else f"between {low} and {high}"
        raise UserError(f"the {what} must be a number {limits}, not {value!r}")


def _check_range(what: str, limits: tuple[float, float]) -> None:
    numbers = isinstance(limits, tuple | list) and len(limits) == 2 and all(isinstance(v, Real) for v in limits)
    if not (numbers and 0 < limits[0] <= limits[1] < math.inf):
        raise UserError(f"the {what} must be two positive numbers, the lower one first, not {limits!r}")


def _views(crop: tuple[float, float], ratio: tuple[float, float], affine: Affine, distortion: float) -> OneOf:
    return OneOf(ResizedCrop(crop, ratio), affine, Perspective(distortion, 0.5))


# Views of 50 px drawings for SimCLR: the three levels of the text (S2.1, S3.3), then those of the released code. The
# text's light crops do range wider than its moderate ones; the code's scales above 1 never fit, and are resampled.
PRESETS: dict[str, Recipe] = {
    "light": _views((0.05, 0.95), (0.9, 1.1), Affine(7, 3, (0.9, 1.1), 5), 0.25),
    "moderate": _views((0.1, 0.9), (0.8, 1.2), Affine(15, 5, (0.75, 1.25), 10), 0.5),
    "strong": _views((0.2, 0.8), (0.6, 1.4), Affine(30, 10, (0.5, 1.5), 20), 0.75),
    "coded-light": _views((0.9, 1.1), (0.9, 1.1), Affine(7, 2.5, (0.9, 1.1), 5), 0.25),
    "coded": _views((0.75, 1.33), (0.8, 1.2), Affine(15, 5, (0.75, 1.33), 10), 0.5),
    "coded-strong": _views((0.5, 1.5), (0.6, 1.4), Affine(30, 10, (0.5, 1.5), 20), 0.75),
    # for `groups`: one draw for all drawings of a class makes a new class
    "quickdraw-protonet": Compose(Flip(0.5, 0.5), Affine(180, 10, (0.5, 1.5))),
}


def preset(name: str) -> Recipe:
    """The recipe of this name in PRESETS."""
    if name not in PRESETS:
        raise unknown("augmentation preset", name, PRESETS)
    return PRESETS[name]
