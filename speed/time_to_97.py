"""How long one device trains until a ProtoNet names 97 of 100 unseen Omniglot characters right: 20-way, after one exemplar.

From the first step on, with recording the step and every evaluation on held-out characters included; three seeds.
For a machine without the data, `--export FILE` here and `--images FILE` there (torch and NumPy are all it needs).

Run: python speed/time_to_97.py
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from exemplar.spaces.recipes import find_recipe, make_images
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train
from exemplar.spaces.training.objective import Objective
from record import Row, record

GOAL, EVERY = 0.97, 100


def export(path: Path, images: TrainingImages) -> None:
    parts: dict[str, Any] = {}
    for part, there in (("train", images), ("test", images.held_out)):
        assert there is not None and there.exemplar is not None
        side = there.shape[1]
        parts |= {
            f"{part}_bits": np.packbits(there.pixels.numpy().reshape(-1, side * side) > 127, axis=1),
            f"{part}_label": there.label.numpy(),
            f"{part}_exemplar": there.exemplar.numpy(),
            f"{part}_side": side,
        }
    np.savez_compressed(path, **parts)


def read(path: Path) -> TrainingImages:
    held_out: TrainingImages | None = None
    with np.load(path) as file:
        for part in ("test", "train"):
            side, label = int(file[f"{part}_side"]), file[f"{part}_label"]
            pixels = np.unpackbits(file[f"{part}_bits"], axis=1, count=side * side).reshape(-1, side, side) * 255
            names = [f"{part} {k}" for k in range(label.max() + 1)]
            held_out = TrainingImages.of(pixels, label, names, file[f"{part}_exemplar"], held_out)
    assert held_out is not None
    return held_out


class Clocked:
    """An objective that notes, at each evaluation, the seconds since it was made and the accuracy with exemplars as support."""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.start = objective, time.perf_counter()
        self.evaluations: list[tuple[float, float]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        found = self.objective.validate(network, data, rng)
        self.evaluations.append((time.perf_counter() - self.start, found["accuracy_exemplar"]))
        return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--images", type=Path)
    words.add_argument("--export", type=Path)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--most", type=int, default=6000, help="steps after which it is given up")
    words.add_argument(
        "--recipe", default="protonet-omniglot", help="or protonet-omniglot-relu, the network of Table S1"
    )
    given = words.parse_args()
    recipe, _ = find_recipe(given.recipe)
    images = read(given.images) if given.images else make_images(recipe)
    if given.export:
        export(given.export, images)
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows: list[Row] = []
    print(f"on {torch.cuda.get_device_name() if device == 'cuda' else 'the CPU'}, evaluated every {EVERY} steps")
    for seed in range(given.seeds):
        objective: Any = Clocked(recipe.objective)
        steps, options = given.most, recipe.speed_options(device)
        train(objective, images, steps=steps, seed=seed, every=EVERY, device=device, **options)
        reached = [k for k, (_, accuracy) in enumerate(objective.evaluations) if accuracy >= GOAL]
        if not reached:
            best = max(accuracy for _, accuracy in objective.evaluations)
            print(f"seed {seed}: not within {steps} steps, best {best:.4f}")
            continue
        took, accuracy = objective.evaluations[reached[0]]
        last = objective.evaluations[-1]
        print(f"seed {seed}: {accuracy:.4f} after {EVERY * (reached[0] + 1)} steps and {took:.1f} s", end="; ")
        print(f"{last[1]:.4f} after {steps} steps and {last[0]:.1f} s")
        rows.append(Row(f"seed {seed}, {EVERY * (reached[0] + 1):,} steps, {given.recipe}", took, "s"))
    if rows:
        record(
            __file__,
            "ProtoNet on Omniglot's weak split, 20-way with exemplars, until 97 %; the first seed waits for the device",
            rows,
            seen=", ".join(f"{row.value:.1f} s" for row in rows),
            clock="wall time",
            device=torch.cuda.get_device_name() if device == "cuda" else "",
            variant="-".join(
                filter(None, (given.recipe.removeprefix("protonet-omniglot")[1:], device.replace("cuda", "")))
            ),
        )


if __name__ == "__main__":
    main()
