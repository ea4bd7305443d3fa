"""What is kept of a training: weights in bfloat16 with a card, the learning curve, and sheets of drawings made on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from exemplar import seeds
from exemplar.draw.diffusion.agent import DiffusionAgent
from exemplar.draw.diffusion.averaging import part_that_draws
from exemplar.draw.diffusion.loading import ROOM, TrainedAgent
from exemplar.draw.diffusion.objective import Denoising, SetDenoising
from exemplar.draw.diffusion.presets import default_sampling
from exemplar.draw.one_pass_agent import OnePassAgent
from exemplar.draw.trainable import DrawingObjective
from exemplar.files import whole_file
from exemplar.report.sheets import sheet_png
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.recipes import Recipe, finish
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import Trained

ROWS, COLUMNS, STEPS = 4, 4, 10  # of a sheet that is made while training goes on


@dataclass(frozen=True, eq=False)
class SheetWatcher:
    """Draws a few of the concepts at each entry of the curve: held-out ones where there are any. exemplars: (k, h, w) uint8."""

    path: Path
    exemplars: np.ndarray
    names: tuple[str, ...]
    objective: DrawingObjective
    input: DrawingInput

    @classmethod
    def of(cls, path: Path, images: TrainingImages, recipe: Recipe) -> SheetWatcher:
        shown = images.held_out or images
        rows = shown.exemplar if shown.exemplar is not None else shown.rows[:, 0]
        some = np.unique(np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int))
        exemplars = shown.pixels[rows[torch.as_tensor(some)], 0].cpu().numpy()
        assert isinstance(recipe.input, DrawingInput)
        names = tuple(shown.names[row] for row in some)
        return cls(path, exemplars, names, recipe.objective, recipe.input)  # type: ignore[arg-type]

    def __call__(self, network: nn.Module, step: int) -> None:
        drawn = self.make_agent(network)(self.exemplars.astype(np.float32) / 255, COLUMNS, seeds.rng("sheet"))
        images = np.concatenate([self.exemplars[:, None], drawn], axis=1)
        frames = {(row, 0): "#c8472b" for row in range(len(images))}
        with whole_file(self.path) as part:
            part.write_bytes(sheet_png(images, list(self.names), frames=frames))

    def make_agent(self, network: nn.Module) -> TrainedAgent:
        """Who draws with the network as it is: in few steps, where it takes steps."""
        objective, place = self.objective, str(next(network.parameters()).device)
        if not isinstance(objective, Denoising | SetDenoising):
            shape = (1, *self.input.size)
            return OnePassAgent("sheet", objective.part_to_keep(network, shape).module, objective, self.input, place)
        sampling = replace(default_sampling(objective), steps=min(STEPS, objective.diffusion_steps))
        return DiffusionAgent("sheet", part_that_draws(network), objective, self.input, sampling, place, replay=False)


def save_agent(
    name: str,
    recipe: Recipe,
    seed: int,
    trained: Trained,
    out: Path,
    *,
    concepts: Sequence[str],
    machine: str,
    torch_version: str = torch.__version__,
) -> None:
    """Weights (bfloat16) and card of a trained network into a folder."""
    finish(name, recipe, seed, trained, out, concepts=concepts, machine=machine, torch_version=torch_version, room=ROOM)
