"""VAE-NS's network, the neural statistician (Edwards & Storkey 2017; S9, and K for QuickDraw): a context c that all drawings of
a set share, and for each drawing a hierarchy of latent variables z that know c.

Counts follow Table S6, whose rows are exact when the block Linear(256·4·4, 256) is counted with the statistic network."""

from __future__ import annotations

import torch
from torch import nn

from exemplar.draw.vae.gaussians import Gaussian, kl_divergence, kl_from_standard
from exemplar.errors import UserError

LARGEST_SIZE = 1000  # px


class VaeNs(nn.Module):
    """size: px; context, latent: of c and of each z; hidden: of all between; stochastic: how many z; layers: in each residual
    block; width: channels of the first convolutions, 8 times as many at the end."""

    def __init__(
        self, size: int = 50, context: int = 512, latent: int = 16, hidden: int = 256, stochastic: int = 1,
        layers: int = 3, width: int = 32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.latent, self.stochastic = latent, stochastic
        side = -(-size // 16)
        self.encoder = nn.Sequential(
            *_encoding(width), nn.Flatten(), _linear_block(8 * width * side**2, hidden), nn.ELU()
        )
        self.statistic = nn.Sequential(
            _linear_block(hidden, hidden), nn.ELU(), _linear_block(hidden, hidden), nn.ELU(),
            GaussianLayer(hidden, context),
        )  # fmt: skip
        self.inference = nn.ModuleList(
            [LatentNetwork((hidden, context, latent), hidden, layers) for _ in range(stochastic)]
        )
        self.prior = nn.ModuleList([LatentNetwork((context, latent), hidden, layers) for _ in range(stochastic)])
        self.observation = Decoder(size, stochastic * latent, context, hidden, width)

    @property
    def n_noise(self) -> int:
        """Standard normal numbers that a drawing is made from."""
        return self.stochastic * self.latent

    def forward(
        self, sets: torch.Tensor, context_noise: torch.Tensor, noise: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(s, k, h, w), ink 1; (s, context) and (s · k, n_noise) standard normal → logits of ink (s · k, 1, h, w); KL of z from
        its prior, (s · k,) nats; KL of c from the standard normal, (s,) nats."""
        s, k = sets.shape[:2]
        read = self.encoder(sets.flatten(0, 1)[:, None])
        shared = self.read_context(read.view(s, k, -1))
        context = shared.draw(context_noise).repeat_interleave(k, 0)
        nats, z = torch.zeros(s * k, device=sets.device), self._nothing(context)
        drawn: list[torch.Tensor] = []
        for infer, prior, epsilon in zip(self.inference, self.prior, noise.split(self.latent, 1), strict=True):
            posterior = infer(read, context, z)
            nats = nats + kl_divergence(posterior, prior(context, z))
            z = posterior.draw(epsilon)
            drawn.append(z)
        return self.observation(torch.cat(drawn, 1), context), nats, kl_from_standard(shared)

    def draw(self, exemplars: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """(b, 1, h, w), ink 1, and (b, n_noise) → (b, 1, h, w), the probability of ink: c is the mean of q(c | exemplar), z
        from p(z | c)."""
        context = self.read_context(self.encoder(exemplars)[:, None]).mean
        z, drawn = self._nothing(context), []
        for prior, epsilon in zip(self.prior, noise.split(self.latent, 1), strict=True):
            z = prior(context, z).draw(epsilon)
            drawn.append(z)
        return self.observation(torch.cat(drawn, 1), context).float().sigmoid()

    def read_context(self, read: torch.Tensor) -> Gaussian:
        """(s, k, hidden) → q(c | set), of (s, context)."""
        return Gaussian.of(self.statistic(read.mean(1)))

    def _nothing(self, context: torch.Tensor) -> torch.Tensor:
        """What the first latent variable is told about the one before it."""
        return torch.zeros(len(context), self.latent, device=context.device)


class GaussianLayer(nn.Module):
    """Mean and log-variance of a Gaussian, normalised over the batch as one channel."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.normalise = nn.Linear(inputs, 2 * outputs), nn.BatchNorm1d(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.normalise(self.linear(x)[:, None])[:, 0]


class LatentNetwork(nn.Module):
    """A Gaussian over z from all that is given, each embedded and summed."""

    def __init__(self, inputs: tuple[int, ...], hidden: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.ModuleList([nn.Linear(n, hidden) for n in inputs])
        self.residual = nn.ModuleList([_linear_block(hidden, hidden) for _ in range(layers)])
        self.gaussian = GaussianLayer(hidden, inputs[-1])
        self.activate = nn.ELU()

    def forward(self, *given: torch.Tensor) -> Gaussian:
        embedded = [embed(some) for embed, some in zip(self.embed, given, strict=True)]
        x = start = self.activate(torch.stack(embedded).sum(0))
        for place, layer in enumerate(self.residual):
            x = layer(x)
            if place < len(self.residual) - 1:
                x = self.activate(x)
        return Gaussian.of(self.gaussian(self.activate(x + start)))


class Decoder(nn.Module):
    """From z and c to logits of ink. It ends at 16 s − 14 px, 50 for s = 4, and what is more than the size is cut off."""

    def __init__(self, size: int, latents: int, context: int, hidden: int, width: int) -> None:
        super().__init__()
        if not 1 <= size <= LARGEST_SIZE:
            raise UserError(f"VAE-NS draws at 1 to {LARGEST_SIZE} px per side, not at {size}")
        self.size, self.side, self.channels = size, max(-(-(size + 14) // 16), 2), 8 * width
        self.from_z, self.from_context = nn.Linear(latents, hidden), nn.Linear(context, hidden)
        self.spread = nn.Linear(hidden, self.channels * self.side**2)
        w = width
        self.layers = nn.Sequential(
            *_conv(8 * w, 8 * w), *_conv(8 * w, 8 * w), *_deconv(8 * w),
            *_conv(8 * w, 4 * w), *_conv(4 * w, 4 * w), *_deconv(4 * w),
            *_conv(4 * w, 2 * w), *_conv(2 * w, 2 * w, kernel=4, padding=0), *_deconv(2 * w),
            *_conv(2 * w, w), *_conv(w, w, kernel=2, padding=0), *_deconv(w),
            nn.Conv2d(w, 1, 1),
        )  # fmt: skip
        self.activate = nn.ELU()

    def forward(self, z: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        x = self.activate(self.from_z(z) + self.from_context(context))
        x = self.activate(self.spread(x)).view(-1, self.channels, self.side, self.side)
        x = self.layers(x)
        cut = (x.shape[-1] - self.size) // 2
        return x[..., cut : cut + self.size, cut : cut + self.size]


def _encoding(width: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    before = 1
    for channels in (width, 2 * width, 4 * width, 8 * width):
        layers += [*_conv(before, channels), *_conv(channels, channels), *_conv(channels, channels, stride=2)]
        before = channels
    return layers


def _conv(inputs: int, outputs: int, stride: int = 1, kernel: int = 3, padding: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, padding), nn.BatchNorm2d(outputs), nn.ELU()]


def _deconv(channels: int) -> list[nn.Module]:
    return [nn.ConvTranspose2d(channels, channels, 2, 2), nn.BatchNorm2d(channels), nn.ELU()]


def _linear_block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs))
