"""Predictors that ship: calibrated on validation classes of CIFAR-FS, for the encoders that ship, and how they were made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exemplar.foresee.banks import encode_bank
from exemplar.foresee.predictor import GeneralizationPredictor

FOLDER = Path(__file__).parents[1] / "weights" / "foresee"
SPACES = ("wrn28-4-cifar-fs", "efficientnet-lite0/head")
SETTINGS = ("supervised", "semi")
DATA = ("cifar-fs", "val")  # test classes are never calibrated on
RANGES: dict[str, Any] = {"ways": (2, 8), "shots": (1, 20), "queries": (5, 40)}
SIZES = {"n_tasks": 3072, "n_groups": 12, "n_held_out": 256}
FEWER = {"n_tasks": 1536, "n_groups": 8, "n_held_out": 128}  # where tasks have many samples of many features


def sizes_for(space: str, setting: str) -> dict[str, int]:
    return FEWER if (space, setting) == ("efficientnet-lite0/head", "semi") else SIZES


def place_of(space: str, setting: str) -> Path:
    return FOLDER / f"{space.replace('/', '-')}-{setting}.json"


def load_ready(space: str, setting: str) -> GeneralizationPredictor | None:
    """The predictor of an encoder that ships; None where there is none."""
    path = place_of(space, setting)
    return GeneralizationPredictor.load(path) if path.is_file() else None


def find_ready(space: str, setting: str) -> GeneralizationPredictor | None:
    """That of this setting, or else the one for labelled samples alone, which looks at no others."""
    return load_ready(space, setting) or load_ready(space, "supervised")


def make_ready(space: str, setting: str, *, device: str = "auto") -> GeneralizationPredictor:
    """As the ones that ship were made: `python -m exemplar.foresee.ready` writes them all."""
    return GeneralizationPredictor.fit(
        encode_bank(space, *DATA, device=device), setting=setting, **RANGES, **sizes_for(space, setting)
    )


if __name__ == "__main__":
    for space in SPACES:
        for setting in SETTINGS:
            print(make_ready(space, setting).save(place_of(space, setting)))
