"""Train or draw on a machine that has torch, NumPy and lightning_fabric and nothing else, a rented GPU, say.

    exemplar draw elsewhere prepare cfgdm --data omniglot --out cfgdm.npz                    # here: drawings and recipe
    python -m exemplar.draw.diffusion.elsewhere train cfgdm.npz --work build/cfgdm --out OUT --minutes 9    # there, until done
    exemplar draw elsewhere finish cfgdm.npz OUT/cfgdm-omniglot-s0.pt --out agents           # here: weights and card

    exemplar draw elsewhere exemplars --data omniglot --out exemplars.npz                    # here: what is shown
    python -m exemplar.draw.diffusion.elsewhere draw exemplars.npz OUT/cfgdm-omniglot-s0.pt --n 19 --out OUT  # there
    exemplar draw score OUT/cfgdm-omniglot-s0.npz --data omniglot                            # here

There PYTHONPATH=src of a checkout will do. `train` resumes from the folder `--work`, and stops between two steps when the
minutes are over: the same command goes on. The final weights are the same wherever it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from exemplar import seeds
from exemplar.draw.diffusion.averaging import Averaged
from exemplar.draw.diffusion.drawing import Drawer, binarise
from exemplar.draw.diffusion.objective import Denoising, SetDenoising
from exemplar.draw.diffusion.prepared import (
    PreparedTraining,
    read_exemplars,
    read_training,
    read_weights,
    write_drawings,
    write_weights,
)
from exemplar.draw.diffusion.presets import default_sampling
from exemplar.draw.diffusion.samplers import Sampling
from exemplar.draw.one_pass import OnePassDrawer
from exemplar.draw.presets import NETWORKS, read_objective
from exemplar.draw.trainable import SIZE
from exemplar.errors import UserError
from exemplar.files import check_folder, whole_file
from exemplar.spaces.devices import find_device
from exemplar.spaces.recipes import describe_machine
from exemplar.spaces.training.checkpoints import CHECKPOINT, CURVE, load_checkpoint
from exemplar.spaces.training.loop import identify_training, train


def train_prepared(
    prepared: PreparedTraining,
    work: Path,
    out: Path,
    *,
    minutes: float | None,
    keep: Sequence[int],
    every: int,
    device: str,
) -> bool:
    """Whether it is done. Weights at the steps of `keep`, at the end, and where it stopped go into `out`, with the curve."""
    recipe = prepared.recipe
    for step in keep:
        if not 1 <= step < recipe.steps or step % every:
            raise UserError(
                f"weights can be kept at multiples of --every, {every}, below {recipe.steps}, not at step {step}"
            )
    for folder in (work, out):
        check_folder(folder)

    def watch(network: nn.Module, step: int) -> None:
        if step in keep:
            curve = json.loads((work / CURVE).read_text())
            keep_weights(
                prepared, network, curve, time.monotonic() - begun, out, f"{prepared.name}-at-{step}", step, device
            )

    begun = time.monotonic()
    try:
        with stopping_after(minutes):
            trained = train(
                prepared.objective, prepared.images, steps=recipe.steps, seed=prepared.seed, folder=work, device=device,
                every=every, watch=watch, **recipe.speed_options(device),
            )  # fmt: skip
    except KeyboardInterrupt:
        if not (work / CHECKPOINT).exists():
            print("stopped before the first step: give it more minutes", flush=True)
            return False
        there = load_checkpoint(work, identify_training(prepared.objective, prepared.images, prepared.seed))
        network = prepared.objective.build(prepared.images)
        network.load_state_dict(there["network"])
        name, step = f"{prepared.name}-so-far", int(there["step"])
        keep_weights(prepared, network, there["curve"], there["seconds"], out, name, step, device)
        print(f"stopped after {step} of {recipe.steps} steps: the same command goes on", flush=True)
        return False
    keep_weights(prepared, trained.network, trained.curve, trained.seconds, out, prepared.name, recipe.steps, device)
    return True


def keep_weights(
    prepared: PreparedTraining,
    network: nn.Module,
    curve: list[dict[str, float]],
    seconds: float,
    out: Path,
    name: str,
    step: int,
    device: str,
) -> None:
    """The weights as NAME.pt, in bfloat16, and the curve as NAME.json; loss and time are printed. Where an average is kept, the
    weights themselves go into NAME-raw.pt, so that both can be compared."""
    if isinstance(network, Averaged):
        raw = replace(prepared.objective, average=0.0)
        there = replace(prepared, recipe=replace(prepared.recipe, objective=raw))
        _write(there, network.network, curve, seconds, out / f"{name}-raw.pt", step, device, prepared.digest)
    _write(prepared, network, curve, seconds, out / f"{name}.pt", step, device, prepared.digest)
    with whole_file(out / f"{name}.json") as part:
        part.write_text(json.dumps({"step": step, "seconds": seconds, "curve": curve}, indent=1) + "\n")
    last = "".join(f", {key} {value:.5g}" for key, value in curve[-1].items() if key != "step") if curve else ""
    print(f"{name}: {step} steps, {seconds:.0f} s of training{last}", flush=True)
    for sentence in prepared.objective.find_warnings(curve) if curve else ():
        print(f"warning: {sentence}", flush=True)


def _write(
    prepared: PreparedTraining,
    network: nn.Module,
    curve: list[dict[str, float]],
    seconds: float,
    path: Path,
    step: int,
    device: str,
    digest: str,
) -> None:
    kept = prepared.objective.part_to_keep(network, prepared.recipe.shape)
    content = {
        "name": prepared.name,
        "training": {"objective": prepared.objective.name, **asdict(prepared.objective), "digest": digest,
                     "architecture": kept.architecture, "config": kept.config, "threshold": prepared.recipe.threshold,
                     "size": prepared.recipe.size},
        "weights": kept.module.state_dict(),
        "step": step,
        "curve": curve,
        "seconds": seconds,
        "machine": describe_machine(device),
        "torch": str(torch.__version__),
    }  # fmt: skip
    write_weights(path, content)


def draw_prepared(
    exemplars: Path, weights: Path, out: Path, *, n: int, seed: int, sampling: Sampling | None, device: str, name: str,
    compile: bool = False,
) -> None:  # fmt: skip
    """Drawings after exemplars into NAME.npz, as `draw score` reads them; how long it took is printed and in NAME.json."""
    shown, concepts, about = read_exemplars(exemplars)
    content = read_weights(weights)
    objective, place = read_objective(content["training"]), find_device(device)
    network = NETWORKS[content["training"]["architecture"]](**content["training"]["config"])
    network.load_state_dict(content["weights"])
    network.eval().requires_grad_(False).to(place, memory_format=torch.channels_last)
    size = int(content["training"].get("size", SIZE))
    if shown.shape[1:] != (size, size):
        raise UserError(
            f"{weights} draws at {size} px, these exemplars have {shown.shape[1]}: write them again with --size {size}"
        )
    drawer: Drawer | OnePassDrawer = OnePassDrawer(network, content["name"])
    if isinstance(objective, Denoising | SetDenoising):
        drawer = Drawer(network, objective, sampling or default_sampling(objective), content["name"], compile=compile)
    images = torch.as_tensor(shown[:, None] / 255, dtype=torch.float32, device=place)
    seconds = []
    for _ in range(2 if place.type == "cuda" else 1):  # on a GPU the first time is for warming up
        begun = time.perf_counter()
        drawn = drawer.draw(images, n, seeds.rng("draw", seed))
        seconds.append(time.perf_counter() - begun)
    stem = name or f"{weights.stem}"
    write_drawings(out / f"{stem}.npz", binarise(drawn, content["training"]["threshold"]), concepts)
    told = {"weights": content["name"], "step": content["step"], "sampling": sampling and asdict(sampling), "n": n,
            "seed": seed, "exemplars": about, "seconds": seconds[-1], "machine": describe_machine(device)}  # fmt: skip
    with whole_file(out / f"{stem}.json") as part:
        part.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{stem}: {len(shown)} × {n} drawings in {seconds[-1]:.2f} s, {sampling or 'one pass'}", flush=True)


@contextmanager
def stopping_after(minutes: float | None) -> Iterator[None]:
    """Ctrl-C by itself after so many minutes, which the training loop hears between two steps."""
    if minutes is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main(words: Sequence[str] | None = None) -> int:
    given = _parse(words)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell would not hear it
    try:
        if given.what == "train":
            prepared = read_training(given.file)
            changed: dict[str, Any] = {} if given.steps is None else {"recipe": prepared.recipe.for_steps(given.steps)}
            keep = {"minutes": given.minutes, "keep": given.keep, "every": given.every, "device": given.device}
            if given.minutes is not None and not given.minutes > 0:
                raise UserError(f"--minutes must be above 0, got {given.minutes:g}.")
            done = train_prepared(replace(prepared, **changed), given.work, given.out, **keep)
            print("done" if done else "not done", flush=True)
        else:
            draw_prepared(
                given.file, given.weights, given.out, n=given.n, seed=given.seed, sampling=_sampling(given),
                device=given.device, name=given.name, compile=given.compile,
            )  # fmt: skip
    except UserError as problem:
        print(f"elsewhere: {problem}", file=sys.stderr)
        return 2
    return 0


def _sampling(given: argparse.Namespace) -> Sampling | None:
    """None for what draws in one pass."""
    objective = read_objective(read_weights(given.weights)["training"])
    if not isinstance(objective, Denoising | SetDenoising):
        asked = (given.sampler, given.sampler_steps, given.guidance, given.clip or None, given.compile or None)
        if any(word is not None for word in asked):
            raise UserError(f"{given.weights} draws in one pass: leave sampler, guidance, clip and compile out")
        return None
    default = default_sampling(objective)
    steps = (
        None
        if given.sampler_steps == "all"
        else default.steps
        if given.sampler_steps is None
        else int(given.sampler_steps)
    )
    guidance = default.guidance if given.guidance is None else given.guidance
    return Sampling(given.sampler or default.sampler, steps, guidance, given.clip or default.clip)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="exemplar.draw.diffusion.elsewhere", description=__doc__)
    verbs = parser.add_subparsers(dest="what", required=True)
    training, drawing = verbs.add_parser("train"), verbs.add_parser("draw")
    training.add_argument("file", type=Path, help="what `exemplar draw elsewhere prepare` wrote")
    training.add_argument("--work", type=Path, required=True, help="where checkpoints are kept")
    training.add_argument("--minutes", type=float, default=None, help="stop after so many, resumable")
    training.add_argument("--steps", type=int, default=None, help="other than the recipe's: another training")
    training.add_argument(
        "--keep", type=int, nargs="*", default=[], help="also keep the weights at these steps, multiples of --every"
    )
    training.add_argument("--every", type=int, default=500, help="steps between two entries of the curve")
    drawing.add_argument("file", type=Path, help="what `exemplar draw elsewhere exemplars` wrote")
    drawing.add_argument("weights", type=Path, help="a .pt of `train`")
    drawing.add_argument("--n", type=int, default=19)
    drawing.add_argument("--seed", type=int, default=0)
    drawing.add_argument("--sampler", default=None)
    drawing.add_argument("--sampler-steps", default=None, help="a number, or all")
    drawing.add_argument("--guidance", type=float, default=None)
    drawing.add_argument("--compile", action="store_true", help="compile the network first: for thousands of drawings")
    drawing.add_argument("--clip", action="store_true", help="keep the predicted drawing between 0 and 1")
    drawing.add_argument("--name", default="", help="of the files; that of the weights unless given")
    for verb in (training, drawing):
        verb.add_argument("--out", type=Path, required=True)
        verb.add_argument("--device", default="auto")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
