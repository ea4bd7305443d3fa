"""An experiment's images through one encoding stage of a pretrained network, kept for the next time."""

from __future__ import annotations

import numpy as np

from exemplar.learn.features import Features
from exemplar.learn.stimuli import Stimuli
from exemplar.spaces.space import encode_kept
from exemplar.spaces.stage_space import load_stage


def check_stage(name: str, device: str) -> None:
    """Say what is wrong with a stage or a device before images are drawn: one small image goes through."""
    space = load_stage(name)
    space.encode(np.zeros((1, 8, 8), np.uint8), device=device)


def encode_stimuli(stage: str, stimuli: Stimuli, *, device: str = "auto") -> Features:
    """Features of all images of an experiment, and of its warm-up images."""
    space = load_stage(stage)
    warmup = encode_kept(space, stimuli.warmup, device=device)  # fewer: what is wrong with a stage shows soon
    images = encode_kept(space, stimuli.pictures, device=device).reshape(*stimuli.shape, -1)
    return Features(images, warmup, stimuli.subtasks, stimuli.image, stimuli.test)
