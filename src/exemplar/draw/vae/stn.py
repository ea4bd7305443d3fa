"""VAE-STN's network: it builds a drawing up in steps, each of which looks at one place (Rezende et al. 2016; S8, Algorithm 1).

Every step reads a patch of the drawing, of what is missing, and of the exemplar; encodes them into z; writes a patch from the
state it came with, where it looked; and moves on by what it found. To draw, z comes from the prior."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import nn

from exemplar.draw.vae.gaussians import Gaussian, kl_from_standard
from exemplar.draw.vae.spatial_transformer import look_everywhere, read_patch, write_patch

WIDTHS = {
    "omniglot": ((1024, 1024, 512, 128), (1024, 512, 256)),  # Table S5: of the encoder, of the decoder
    "quickdraw": ((2048, 1024, 1024, 512, 128), (2048, 1024, 512, 256)),  # Table 5
    "tiny": ((16,), (16,)),
}
FINER = {"omniglot": 1, "quickdraw": 2, "tiny": 1}  # Table 5 writes 4 · s_w² px: twice as many per side


class State(NamedTuple):
    """canvas: (b, 1, h, w) logits of ink; hidden, cell: (b, lstm); transform: (b, 2, 3), where it looks next."""

    canvas: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor
    transform: torch.Tensor


class VaeStn(nn.Module):
    """steps: of attention; latent: of z at each step; lstm: its width; read, write: px of the patches; located: how many of
    the LSTM's numbers say where to look, the others what to write; layers: a name in WIDTHS."""

    def __init__(
        self, steps: int = 60, latent: int = 80, lstm: int = 400, read: int = 15, write: int = 15, located: int = 100,
        layers: str = "omniglot",
    ) -> None:  # fmt: skip
        super().__init__()
        encoding, decoding = WIDTHS[layers]
        self.compiled_step: Callable[..., tuple[State, torch.Tensor]] | None = None
        self.steps, self.latent, self.read, self.located = steps, latent, read, located
        self.written = write * FINER[layers]
        self.encoder = perceptron(3 * read**2 + lstm, *encoding, 2 * latent)
        self.decoder = perceptron(lstm - located, *decoding, self.written**2)
        self.locator = perceptron(located, 64, 32, 6)
        self.recurrent = nn.LSTMCell(latent + read**2, lstm)
        last = self.locator[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():  # it begins by looking everywhere
            last.weight.mul_(0.1)
            last.bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))

    @property
    def n_noise(self) -> int:
        """Standard normal numbers that a drawing is made from."""
        return self.steps * self.latent

    def compile_parts(self, options: dict[str, Any] | None) -> None:
        """Compile one step of attention, to be called so many times, instead of all of them in a row."""
        self.compiled_step = torch.compile(self.take_step, options=options)

    def forward(
        self, drawings: torch.Tensor, exemplars: torch.Tensor, noise: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(b, 1, h, w) each, ink 1, and (b, n_noise) → logits of ink (b, 1, h, w), and KL from the prior, (b,) nats."""
        state, nats = self.begin(exemplars), torch.zeros(len(drawings), device=drawings.device)
        take_step = self.compiled_step or self.take_step
        for epsilon in noise.view(len(noise), self.steps, self.latent).unbind(1):
            state, more = take_step(state, drawings, exemplars, epsilon)
            nats = nats + more
        return state.canvas, nats

    def draw(self, exemplars: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """(b, 1, h, w), ink 1, and (b, n_noise) → (b, 1, h, w): the probability of ink."""
        state = self.begin(exemplars)
        for z in noise.view(len(noise), self.steps, self.latent).unbind(1):
            state = self.move_on(state, z, read_patch(exemplars, state.transform, self.read))
        return state.canvas.sigmoid()

    def begin(self, exemplars: torch.Tensor) -> State:
        b, device = len(exemplars), exemplars.device
        nothing = torch.zeros(b, self.recurrent.hidden_size, device=device)
        return State(torch.zeros_like(exemplars), nothing, nothing, look_everywhere(b, device))

    def take_step(
        self, state: State, drawings: torch.Tensor, exemplars: torch.Tensor, noise: torch.Tensor
    ) -> tuple[State, torch.Tensor]:
        """The next state, and KL(q(z | …) ‖ N(0, I)), (b,) nats."""
        missing = drawings - state.canvas.sigmoid()
        seen = read_patch(torch.cat([drawings, missing, exemplars], 1), state.transform, self.read)
        latent = Gaussian.of(self.encoder(torch.cat([seen.flatten(1), state.hidden], 1)))
        return self.move_on(state, latent.draw(noise), seen[:, 2:]), kl_from_standard(latent)

    def move_on(self, state: State, z: torch.Tensor, shown: torch.Tensor) -> State:
        """Write from the state as it is, then change it. shown: (b, 1, read, read), of the exemplar."""
        patch = self.decoder(state.hidden[:, self.located :]).view(-1, 1, self.written, self.written)
        canvas = state.canvas + write_patch(patch, state.transform, state.canvas.shape[-1])
        hidden, cell = self.recurrent(torch.cat([z, shown.flatten(1)], 1), (state.hidden, state.cell))
        hidden, cell = hidden.float(), cell.float()
        transform = self.locator(hidden[:, : self.located]).float().view(-1, 2, 3)
        return State(canvas, hidden, cell, transform)


def perceptron(*widths: int) -> nn.Sequential:
    """Linear layers from the first width to the last, with a ReLU between two."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
