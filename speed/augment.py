"""Augmentation of a batch: one fused warp against a loop over images (Pillow, and grid_sample), in CPU time.

Run: python speed/augment.py. Every way gets the same 128 drawings of 50 px and the same matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from exemplar.images.augment import PRESETS, augment, warp
from record import record, timed

N, SIZE, REPEATS = 128, 50, 40


def by_pillow(images: torch.Tensor, matrices: np.ndarray) -> torch.Tensor:
    """One Image.transform per image, from tensor to tensor, as a torchvision data loader does it."""
    views = []
    for image, matrix in zip(images, matrices, strict=True):
        picture = Image.fromarray(image[0].numpy())
        coefficients = (matrix.ravel()[:8] / matrix[2, 2]).tolist()
        view = picture.transform(picture.size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR)
        views.append(torch.from_numpy(np.array(view))[None])
    return torch.stack(views)


def by_grid_sample(images: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
    """One grid and one grid_sample per image, as torchvision does it for tensors."""
    y, x = torch.meshgrid(torch.arange(SIZE) + 0.5, torch.arange(SIZE) + 0.5, indexing="ij")
    points = torch.stack((x, y, torch.ones_like(x)), -1).reshape(-1, 3)
    views = []
    for image, matrix in zip(images, matrices, strict=True):
        seen = points @ matrix.T
        grid = (seen[:, :2] / seen[:, 2:] * (2 / SIZE) - 1).view(1, SIZE, SIZE, 2)
        views.append(functional.grid_sample(image[None], grid, align_corners=False))
    return torch.cat(views)


def milliseconds(work: Callable[[], object]) -> float:
    """The least CPU time of a call: what other work on the machine adds is not ours."""
    work()
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent) * 1e3


def main() -> None:
    torch.set_num_threads(1)  # a loop over small images uses one core, so the batch may too
    rng = torch.Generator().manual_seed(0)
    images = (torch.rand((N, 1, SIZE, SIZE), generator=rng) > 0.8).float()
    recipe = PRESETS["moderate"]
    matrices = recipe.matrices(N, (SIZE, SIZE), rng)
    exact = matrices.double().numpy()
    apart = (warp(images, matrices) - by_pillow(images, exact)).abs().median().item()
    if apart > 1e-3:
        raise SystemExit(f"the ways disagree by {apart}: nothing to compare")

    fused = milliseconds(lambda: warp(images, matrices))
    rows = [
        ("one fused warp", fused),
        ("grid_sample, image by image", milliseconds(lambda: by_grid_sample(images, matrices))),
        ("Pillow, image by image", milliseconds(lambda: by_pillow(images, exact))),
    ]
    print(f"{N} drawings of {SIZE} px, one core, CPU time      ms   ratio")
    for name, spent in rows:
        print(f"  {name:<42}{spent:>8.2f}{spent / fused:>8.1f}")
    draws = milliseconds(lambda: recipe.matrices(N, (SIZE, SIZE), rng))
    views = milliseconds(lambda: augment(torch.cat((images, images)), recipe, rng))
    print(f"  {'drawing the matrices (moderate)':<42}{draws:>8.2f}")
    print(f"  {'two SimCLR views, draws and warps':<42}{views:>8.2f}")
    ratios = [spent / fused for _, spent in rows[1:]]
    record(
        __file__,
        f"augmentation of {N} drawings of {SIZE} px: one fused warp next to a loop over images",
        [
            *(timed("one fused warp", fused, "CPU ms", name, spent) for name, spent in rows[1:]),
            timed("drawing the matrices (moderate)", draws, "CPU ms"),
            timed("two SimCLR views, draws and warps", views, "CPU ms"),
        ],
        seen=f"{min(ratios):.1f} to {max(ratios):.1f} × as fast as a loop",
    )


if __name__ == "__main__":
    main()
