"""Train a recipe on a machine that has torch, NumPy and lightning_fabric and nothing else, a rented GPU, say.

    python -m exemplar.spaces.elsewhere prepare maml-omniglot-cfsl-s0 --out maml.npz    # here: images and recipe
    python -m exemplar.spaces.elsewhere train maml.npz --work build/maml --out OUT --minutes 9          # there, until done
    python -m exemplar.spaces.elsewhere finish maml.npz OUT/maml-omniglot-cfsl-s0.pt --out spaces       # here: weights, card

There PYTHONPATH=src of a checkout will do. `train` resumes from the folder `--work`, and stops between two steps when the
minutes are over: the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from exemplar.errors import UserError
from exemplar.files import read_npz, whole_file, write_npz
from exemplar.spaces.recipes import describe_machine, find_recipe, finish, make_images
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import Trained, train

ARRAYS = {"pixels": ("u", 4), "label": ("iu", 1), "names": ("U", 1)}


def prepare(name: str, out: Path) -> None:
    """The images of a recipe into one file."""
    recipe, _ = find_recipe(name)
    images = make_images(recipe)
    parts = {"": images} | ({} if images.held_out is None else {"held_out_": images.held_out})
    arrays = {"name": np.array(name)}
    for prefix, part in parts.items():
        arrays |= {
            f"{prefix}pixels": part.pixels.numpy(),
            f"{prefix}label": part.label.numpy(),
            f"{prefix}names": np.array(part.names),
        }
        if part.exemplar is not None:
            arrays[f"{prefix}exemplar"] = part.exemplar.numpy()
    write_npz(out, arrays)
    print(f"{out}: {len(images.pixels):,} images of {images.n_classes} classes, {recipe.steps:,} steps")


def read_prepared(path: Path) -> tuple[str, TrainingImages]:
    """The recipe's name, and its images."""
    from exemplar.files import npz_names

    there = npz_names(path)

    def part(prefix: str, held_out: TrainingImages | None) -> TrainingImages:
        found = read_npz(path, **{f"{prefix}{name}": kind for name, kind in ARRAYS.items()})
        rows = (
            read_npz(path, **{f"{prefix}exemplar": ("iu", 1)})[f"{prefix}exemplar"]
            if f"{prefix}exemplar" in there
            else None
        )
        exemplar = None if rows is None else torch.as_tensor(rows.astype(np.int64))
        names = tuple(found[f"{prefix}names"].tolist())
        label = torch.as_tensor(found[f"{prefix}label"].astype(np.int64))
        return TrainingImages(torch.as_tensor(found[f"{prefix}pixels"]), label, names, exemplar, held_out)

    held_out = part("held_out_", None) if "held_out_pixels" in there else None
    return str(read_npz(path, name=("U", 0))["name"]), part("", held_out)


def train_prepared(path: Path, work: Path, out: Path, minutes: float | None, device: str, every: int) -> bool:
    """Whether it is done; then the weights lie in `out`."""
    name, images = read_prepared(path)
    recipe, seed = find_recipe(name)
    if minutes is not None:
        signal.signal(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
    try:
        trained = train(
            recipe.objective, images, steps=recipe.steps, seed=seed, folder=work, device=device, every=every,
            **recipe.speed_options(device),
        )  # fmt: skip
    except KeyboardInterrupt:
        print("not done: the same command goes on", flush=True)
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    content = {"name": name, "weights": trained.network.state_dict(), "curve": trained.curve, "seconds": trained.seconds,
               "machine": describe_machine(device), "torch": str(torch.__version__)}  # fmt: skip
    with whole_file(out / f"{name}.pt") as part:
        torch.save(content, part)
    print(f"done: {name}, {json.dumps(trained.curve[-1])}", flush=True)
    return True


def finish_prepared(path: Path, weights: Path, out: Path) -> None:
    """Weights and card of what was trained elsewhere."""
    name, images = read_prepared(path)
    recipe, seed = find_recipe(name)
    content: dict[str, Any] = torch.load(weights, map_location="cpu", weights_only=True)
    if content["name"] != name:
        raise UserError(
            f"{weights} holds {content['name']}, {path} was prepared for {name}: give files that belong together"
        )
    network = recipe.objective.build(images)
    network.load_state_dict(content["weights"])
    trained = Trained(network.eval(), content["curve"], content["seconds"])
    finish(
        name,
        recipe,
        seed,
        trained,
        out,
        concepts=images.names,
        machine=content["machine"],
        torch_version=content["torch"],
    )
    print(f"{name} is in {out}")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="exemplar.spaces.elsewhere", description=__doc__)
    verbs = parser.add_subparsers(dest="what", required=True)
    preparing, training, finishing = (verbs.add_parser(name) for name in ("prepare", "train", "finish"))
    preparing.add_argument("name", help="a recipe with a seed")
    training.add_argument("file", type=Path)
    training.add_argument("--work", type=Path, required=True, help="where checkpoints are kept")
    training.add_argument("--minutes", type=float, default=None, help="stop after so many, resumable")
    training.add_argument("--every", type=int, default=500)
    training.add_argument("--device", default="auto")
    finishing.add_argument("file", type=Path)
    finishing.add_argument("weights", type=Path)
    for verb in (preparing, training, finishing):
        verb.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(words)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if given.what == "prepare":
            prepare(given.name, given.out)
        elif given.what == "train":
            train_prepared(given.file, given.work, given.out, given.minutes, given.device, given.every)
        else:
            finish_prepared(given.file, given.weights, given.out)
    except UserError as problem:
        print(f"elsewhere: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
