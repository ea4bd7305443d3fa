"""How much a diffusion model's score moves with each pixel of the exemplar: the norms of the columns of ∂ε_t / ∂y, over times.

A variant in the spirit of the authors' later work, which asks the same of latent diffusion; ours is by the pixel. A map lies on
the exemplar, not on the drawing, so that all drawings of a concept have maps on one picture. The norm of a column is estimated
from random projections, E[(vᵀJ)²] for v of ±1, each one backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from exemplar.attend.agents.denoiser import PART, Denoiser, choose_times, noise_streams
from exemplar.attend.agents.misalignment import noised
from exemplar.progress import progress


@dataclass(frozen=True, eq=False)
class ScoreJacobian:
    """model: is asked about finished drawings; times: how many of its T; projections: backward passes for each."""

    model: Denoiser
    times: int | None = 10
    projections: int = 2

    draws = True  # what is marked is the exemplar, so that is the image of the record

    def __call__(
        self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, h, w) exemplars, and (n, h, w) maps."""
        code = torch.as_tensor(label)
        shown, drawings = self.model.show(exemplars)[code], self.model.show(images)
        streams = noise_streams(rng, range(len(label)), self.model.size)
        visited = choose_times(self.model.schedule, self.times)
        size, maps = PART[shown.device.type], []
        parts = [slice(start, start + size) for start in range(0, len(label), size)]
        with progress(f"{self.model.name} marks", total=len(parts) * len(visited)) as advance:
            for part in parts:
                total = torch.zeros((), device=shown.device)
                for t in visited:
                    noise = streams.draw(part).to(shown.device)
                    x = noised(drawings[part], noise, float(self.model.schedule.kept[t]))
                    y = shown[part].clone().requires_grad_(True)
                    epsilon = self.model.predict_noise(x, t, y)
                    squared = torch.zeros_like(y)
                    for k in range(self.projections):
                        signs = streams.draw(part).to(epsilon).sign()
                        last = k == self.projections - 1
                        (slope,) = torch.autograd.grad((epsilon * signs).sum(), y, retain_graph=not last)
                        squared += slope**2 / self.projections
                    total = total + squared.sqrt()[:, 0].detach()
                    advance()
                maps.append(total.cpu() * (self.model.schedule.steps / len(visited)))
        return shown[:, 0].cpu().numpy(), torch.cat(maps).numpy()
