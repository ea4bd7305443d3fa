"""Predictors that ship: calibrated on validation classes of CIFAR-FS, for the encoders that ship, and how they were made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exemplar.foresee.banks import encode_bank
from exemplar.foresee.predictor import GeneralizationPredictor

FOLDER = Path(__file__).parents[1] / "weights" / "foresee"
SPACES = ("wrn28-4-cifar-fs", "efficientnet-lite0/head")
SETTINGS = ("supervised", "semi")
DATA = ("cifar-fs", "val")  # test classes are never calibrated on, and nothing is chosen on them
RANGES: dict[str, Any] = {"ways": (2, 8), "shots": (1, 20), "queries": (5, 40)}
SIZES = {"n_tasks": 1536, "n_groups": 8, "n_held_out": 128}
READY = {
    ("wrn28-4-cifar-fs", "supervised"): "wrn28-4-cifar-fs-supervised-3",
    ("wrn28-4-cifar-fs", "semi"): "wrn28-4-cifar-fs-semi-3",
    ("efficientnet-lite0/head", "supervised"): "efficientnet-lite0-head-supervised-3",
    ("efficientnet-lite0/head", "semi"): "efficientnet-lite0-head-semi-3",
}  # encoder, setting → file; a name never changes its bytes: one that is made again gets a new one, here alone


def place_of(space: str, setting: str) -> Path:
    return FOLDER / f"{READY[space, setting]}.json"


def load_ready(space: str, setting: str) -> GeneralizationPredictor | None:
    """The predictor of an encoder that ships; None where there is none."""
    return GeneralizationPredictor.load(place_of(space, setting)) if (space, setting) in READY else None


def find_ready(space: str, setting: str) -> GeneralizationPredictor | None:
    """That of this setting, or else the one for labelled samples alone, which looks at no others."""
    return load_ready(space, setting) or load_ready(space, "supervised")


def make_ready(space: str, setting: str, *, device: str = "auto") -> GeneralizationPredictor:
    """As the ones that ship were made: `python -m exemplar.foresee.ready` writes those that are missing."""
    return GeneralizationPredictor.fit(encode_bank(space, *DATA, device=device), setting=setting, **RANGES, **SIZES)


if __name__ == "__main__":
    for space, setting in READY:
        if not place_of(space, setting).exists():
            print(make_ready(space, setting).save(place_of(space, setting)), flush=True)
