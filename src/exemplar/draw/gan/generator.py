"""DA-GAN's generator: dense blocks down to a few px, noise that joins on the way up, and in the U-Net what each level was on
the way down (Antoniou et al. 2018; S10 and S11, M for QuickDraw).

Table S7's counts are exact with decoder blocks of 128, 128, 64, 64 and 64 channels, without activation of what comes from the
block before, and with a last block that does not enlarge."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

NOISE_CHANNELS = (8, 4, 2)  # of the noise, at the three lowest levels of the decoder
Normalise = Callable[[int], nn.Module]
FINAL = 2  # convolutions after the last block


class Generator(nn.Module):
    """size: px; latent: of the noise; inner: layers in a block; skips: whether the decoder is given the encoder's levels
    (DA-GAN-UN) or not (DA-GAN-RN); width: channels of the first levels, twice as many below."""

    def __init__(self, size: int = 50, latent: int = 128, inner: int = 2, skips: bool = True, width: int = 64) -> None:
        super().__init__()
        self.latent, self.skips, w = latent, skips, width
        self.sides = halved_sides(size)
        self.stem = activated(nn.Conv2d(1, w, 3, 2, 1))
        self.down = nn.ModuleList(
            [EncoderBlock(1, w, w, inner), EncoderBlock(w, w, 2 * w, inner), EncoderBlock(2 * w, 2 * w, 2 * w, inner)]
        )
        self.noise = nn.ModuleList(
            [nn.Linear(latent, channels * side**2) for channels, side in zip(NOISE_CHANNELS, self.sides, strict=False)]
        )
        outputs, before, earlier = (2 * w, 2 * w, w, w, w), 2 * w, 0
        levels = (0, 2 * w, w, w, 1) if skips else (0,) * 5
        blocks = []
        for k, channels in enumerate(outputs):
            inputs = before + levels[k] + (NOISE_CHANNELS[k] if k < len(NOISE_CHANNELS) else 0)
            sizes = (self.sides[max(k - 1, 0)], self.sides[k], self.sides[k + 1] if k < 4 else None)
            blocks.append(DecoderBlock(earlier, inputs, channels, inner, sizes))
            before = earlier = channels
        self.up = nn.ModuleList(blocks)
        ending: list[nn.Module] = [activated(nn.Conv2d(w, w, 3, 1, 1)) for _ in range(FINAL)]
        self.finish = nn.Sequential(*ending, nn.Conv2d(w, 1, 3, 1, 1))

    @property
    def n_noise(self) -> int:
        """Standard normal numbers that a drawing is made from."""
        return self.latent

    def forward(self, exemplars: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """(b, 1, h, w), ink 1, and (b, latent) → (b, 1, h, w) in (0, 1)."""
        before, x = exemplars, self.stem(exemplars)
        levels = [exemplars, x]
        for down in self.down:
            before, x = down(before, x)
            levels.append(x)
        levels.pop()  # the lowest one is where the decoder begins
        earlier: torch.Tensor | None = None
        for k, up in enumerate(self.up):
            parts = [x]
            if self.skips and k:
                parts.append(levels.pop())
            if k < len(NOISE_CHANNELS):
                side = self.sides[k]
                parts.append(self.noise[k](noise).view(-1, NOISE_CHANNELS[k], side, side))
            earlier, x = up(earlier, torch.cat(parts, 1))
        return self.finish(x).float().sigmoid()

    def draw(self, exemplars: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return self(exemplars, noise)


class EncoderBlock(nn.Module):
    """Each layer sees all before it; the last one halves. earlier: channels of the level above."""

    def __init__(
        self, earlier: int, inputs: int, outputs: int, inner: int, normalise: Normalise = nn.BatchNorm2d
    ) -> None:
        super().__init__()
        self.shrink = nn.Conv2d(earlier, earlier, 3, 2, 1)
        self.first = activated(nn.Conv2d(inputs + earlier, outputs, 3, 1, 1), normalise)
        self.layers = nn.ModuleList(
            [
                activated(nn.Conv2d(inputs + (k + 1) * outputs, outputs, 3, 2 if k == inner - 1 else 1, 1), normalise)
                for k in range(inner)
            ]
        )

    def forward(self, earlier: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The last level at the block's size, and the one at half of it."""
        found = [x, self.first(torch.cat([x, self.shrink(earlier)], 1))]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return found[-2], found[-1]


class DecoderBlock(nn.Module):
    """Each layer sees all before it, and what the block below ended with; the last one enlarges, but in the last block.

    sizes: px per side of the block below, of this one, and of the next, None for none."""

    def __init__(self, earlier: int, inputs: int, outputs: int, inner: int, sizes: tuple[int, int, int | None]) -> None:
        super().__init__()
        below, here, above = sizes
        self.enlarge = nn.ModuleList(
            [_enlarging(earlier, earlier, below, here) for _ in range(inner if earlier else 0)]
        )
        self.layers = nn.ModuleList(
            [activated(nn.Conv2d(inputs + earlier + k * outputs, outputs, 3, 1, 1)) for k in range(inner)]
        )
        self.last = None if above is None else activated(_enlarging(inputs + inner * outputs, outputs, here, above))

    def forward(self, earlier: torch.Tensor | None, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the layers ended with, and the same enlarged."""
        found = [x]
        for k, layer in enumerate(self.layers):
            given = found if earlier is None else [*found, self.enlarge[k](earlier)]
            found.append(layer(torch.cat(given, 1)))
        return found[-1], found[-1] if self.last is None else self.last(torch.cat(found, 1))


def activated(layer: nn.Conv2d | nn.ConvTranspose2d, normalise: Normalise = nn.BatchNorm2d) -> nn.Sequential:
    return nn.Sequential(layer, nn.LeakyReLU(0.2), normalise(layer.out_channels))


def _enlarging(inputs: int, outputs: int, small: int, large: int) -> nn.ConvTranspose2d:
    """From `small` to `large` px per side, about twice as many."""
    return nn.ConvTranspose2d(inputs, outputs, 3, 2, 1, output_padding=large - (2 * small - 1))


def halved_sides(size: int) -> tuple[int, ...]:
    """px per side of the five levels, the lowest first, each half of the next."""
    sides = [size]
    for _ in range(4):
        sides.append(-(-sides[-1] // 2))
    return tuple(reversed(sides))
