"""An experiment's images through one encoding stage of a pretrained network, kept for the next time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.learn.features import Features
from exemplar.learn.stimuli import Stimuli
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.inputs import Images, Input
from exemplar.spaces.space import Space
from exemplar.spaces.stage_space import load_stage


@dataclass(frozen=True, eq=False)
class LoadedStage:
    """A stage for one command: its network is loaded once, and its weights are hashed once, when this is made."""

    space: Space
    name: str
    layer: str
    input: Input | None
    identity: str

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        return self.space.encode(images, device=device)


def load_working_stage(name: str, device: str) -> LoadedStage:
    """The stage, after one small image has gone through it: what is wrong with it, or the device, is said before images are
    drawn."""
    space = load_stage(name)
    space.encode(np.zeros((1, 8, 8), np.uint8), device=device)
    return LoadedStage(space, space.name, space.layer, space.input, space.identity)


def encode_stimuli(stage: LoadedStage, stimuli: Stimuli, *, device: str = "auto") -> Features:
    """Features of all images of an experiment, and of its warm-up images."""
    warmup = encode_kept(stage, stimuli.warmup, device=device)  # fewer: what is wrong with a stage shows soon
    images = encode_kept(stage, stimuli.pictures, device=device).reshape(*stimuli.shape, -1)
    return Features(images, warmup, stimuli.subtasks, stimuli.image, stimuli.test)
