"""The spatial transformer (Jaderberg et al. 2015): a patch is read from an image where an affine transform looks, and written
back by the inverse transform.

A transform is (b, 2, 3): place in the image = A · place in the patch + t, places from −1 to 1 in x and y, px having an extent
(the centre of the first of n lies at 1 / n − 1)."""

from __future__ import annotations

import torch
from torch.nn import functional

SMALLEST = 1e-3  # |det A|: a window so small is written as if it were larger


def look_everywhere(n: int, device: torch.device) -> torch.Tensor:
    """(n, 2, 3): patches of whole images."""
    return torch.eye(2, 3, device=device).expand(n, 2, 3)


def invert(transform: torch.Tensor) -> torch.Tensor:
    """(b, 2, 3): x ↦ A⁻¹ x − A⁻¹ t."""
    (a, b, x), (c, d, y) = (row.unbind(-1) for row in transform.unbind(-2))
    det = a * d - b * c
    det = torch.where(det.abs() < SMALLEST, torch.where(det < 0, -SMALLEST, SMALLEST), det)
    a, b, c, d = d / det, -b / det, -c / det, a / det
    upper, lower = torch.stack([a, b, -(a * x + b * y)], -1), torch.stack([c, d, -(c * x + d * y)], -1)
    return torch.stack([upper, lower], -2)


def transform_image(images: torch.Tensor, transform: torch.Tensor, size: int) -> torch.Tensor:
    """(b, c, h, w) → (b, c, size, size): what lies at the transformed places, bilinear; 0 outside of the image.

    Places are float32 whatever the precision: 8 bits would miss by a px."""
    place = (2 * torch.arange(size, device=images.device, dtype=torch.float32) + 1) / size - 1
    x, y = place[None, None, :, None], place[None, :, None, None]
    columns = transform.float()[:, None, None]  # (b, 1, 1, 2, 3)
    grid = columns[..., 0] * x + columns[..., 1] * y + columns[..., 2]
    return functional.grid_sample(images.float(), grid, align_corners=False)


def read_patch(images: torch.Tensor, transform: torch.Tensor, size: int) -> torch.Tensor:
    """(b, c, h, w) → (b, c, size, size): the window that the transform looks at."""
    return transform_image(images, transform, size)


def write_patch(patches: torch.Tensor, transform: torch.Tensor, size: int) -> torch.Tensor:
    """(b, c, p, p) → (b, c, size, size): the patches in the windows they would be read from, 0 elsewhere."""
    return transform_image(patches, invert(transform), size)
