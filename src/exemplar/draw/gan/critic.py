"""DA-GAN's critic: it holds real drawings of what is shown higher than the generator's; and the penalty that keeps
its slope near 1 (Gulrajani et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from exemplar.draw.gan.generator import EncoderBlock, activated, halved_sides

SMALLEST = 1e-12  # under the root of a slope: at 0 it would have no slope of its own
over_all = partial(nn.GroupNorm, 1)  # each drawing by itself: the penalty is one drawing's


class Critic(nn.Module):
    """The generator's way down, for both drawings at once, each normalised by itself, and one number at the end."""

    def __init__(self, size: int, inner: int, width: int) -> None:
        super().__init__()
        w = width
        self.stem = activated(nn.Conv2d(2, w, 3, 2, 1), over_all)
        blocks = ((2, w, w), (w, w, 2 * w), (2 * w, 2 * w, 2 * w))
        self.down = nn.ModuleList([EncoderBlock(*channels, inner, over_all) for channels in blocks])
        self.judge = nn.Linear(2 * w * halved_sides(size)[0] ** 2, 1)

    def forward(self, shown: torch.Tensor, drawings: torch.Tensor) -> torch.Tensor:
        """(b, 1, h, w) each → (b,)."""
        before = torch.cat([shown, drawings], 1)
        x = self.stem(before)
        for down in self.down:
            before, x = down(before, x)
        return self.judge(x.flatten(1)).float().squeeze(1)


def gradient_penalty(
    critic: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    shown: torch.Tensor,
    real: torch.Tensor,
    drawn: torch.Tensor,
    mix: torch.Tensor,
) -> torch.Tensor:
    """Mean of (‖∇ critic‖ − 1)², between real and drawn. All drawings (b, 1, h, w); mix: (b,) in [0, 1], how much is real."""
    share = mix[:, None, None, None]
    between = (share * real + (1 - share) * drawn).detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(shown, between).sum(), between, create_graph=True)
    length = (slope.float().square().sum((1, 2, 3)) + SMALLEST).sqrt()
    return (length - 1).square().mean()
