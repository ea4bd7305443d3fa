"""The one training loop: any objective, on CPU or GPU, one or several, resumed where it was killed.

Images live on the device as bytes; an objective draws its own batches there. A step's randomness belongs to the step's
number, not to what came before it, so a run that was killed goes on as if it had not been: on a CPU bit for bit.
"""

from __future__ import annotations

import logging
import math
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.spaces.checkpoints import CHECKPOINT, load_checkpoint, save_checkpoint
from exemplar.spaces.devices import count_gpus, find_device
from exemplar.spaces.training_images import Images
from exemplar.spaces.training_steps import Objective, mean_over_devices, plain_steps, replayed_steps, tried_kernels

if TYPE_CHECKING:
    from lightning_fabric import Fabric

PRECISIONS = ("32-true", "bf16-mixed")
for part in ("rank_zero", "distributed"):  # they talk of Tensor Cores and of processes, each process anew
    logging.getLogger(f"lightning_fabric.utilities.{part}").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Trained:
    """network: on the CPU, in eval mode; curve: a dict every few steps, as in curve.json; seconds: spent training."""

    network: nn.Module
    curve: list[dict[str, float]]
    seconds: float


def train(
    objective: Objective,
    data: Images,
    *,
    steps: int,
    seed: int,
    folder: Path | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: str = "32-true",
    compile: bool = False,
    replay: bool = False,
    every: int = 500,
) -> Trained:
    """Train an objective's network on the data, or go on from the folder's checkpoint.

    folder: keeps checkpoint.pt and curve.json, renewed every `every` steps, when validation is done too, and at the end;
    None keeps nothing. device: auto, cpu, cuda or cuda:N; devices: how many, each with its own batches, gradients averaged;
    precision: 32-true or bf16-mixed; compile: let torch.compile fuse the network; replay: on one GPU, record a step once
    and replay it as a CUDA graph, several times faster for small networks. Replay asks that the loss does not read `step`
    and never waits for the device, and that the optimizer is capturable (Adam and RMSprop are).
    """
    if steps < 1 or every < 1:
        raise UserError(f"training needs at least 1 step, and a look at it every 1 or more, not {steps} and {every}")
    fabric = _fabric(device, devices, precision)
    if replay and (fabric.device.type != "cuda" or devices > 1):
        raise UserError("a step can only be replayed on a single GPU: leave replay out, or use --device cuda")
    with tempfile.TemporaryDirectory() as scratch:  # other processes leave their result in a file
        place = Path(scratch) if folder is None and devices > 1 else folder
        run = _Run(objective, data, steps, seed, place, compile, replay, every)
        outcome = fabric.launch(run.guarded)
        if isinstance(outcome, UserError):
            raise outcome
        if place is not None:
            outcome = load_checkpoint(place, run.identity)
    network = _fresh(objective, data, seed)
    network.load_state_dict(outcome["network"])
    return Trained(network.eval(), outcome["curve"], outcome["seconds"])


@dataclass(frozen=True)
class _Run:
    """One training, as each device's process goes through it."""

    objective: Objective
    data: Images
    steps: int
    seed: int
    folder: Path | None
    compile: bool
    replay: bool
    every: int

    def guarded(self, fabric: Fabric) -> dict[str, Any] | UserError | None:
        """The result, or the UserError, which as another process's exception would reach the caller as a traceback in text.
        With a folder the result is its checkpoint: weights would block the narrow pipe between processes for ever."""
        try:
            with tried_kernels():
                outcome = self.run(fabric)
        except UserError as problem:
            return problem
        return outcome if self.folder is None else None

    def run(self, fabric: Fabric) -> dict[str, Any]:
        objective, network = self.objective, _fresh(self.objective, self.data, self.seed)
        # channels last: convolutions take two thirds of the time, also on a CPU
        network.to(fabric.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        optimizer = objective.optimizer(network)
        rates = [group["lr"] for group in optimizer.param_groups]
        state = self.resume(network, optimizer)
        for group in optimizer.param_groups:
            if self.replay:  # a recorded step finds its rate on the device
                group.update(capturable=True, lr=torch.zeros((), device=fabric.device))
                if "fused" in group:  # Adam in one kernel instead of dozens
                    group["fused"] = True
        data, rng = self.data.to(fabric.device), torch.Generator(fabric.device)
        learner: Any = torch.compile(network) if self.compile else network
        advance = plain_steps(fabric, objective, learner, optimizer, data, rng)
        if self.replay:
            advance = replayed_steps(advance, rng)

        bar, begun = _Bar(self.steps, shown=fabric.is_global_zero), time.monotonic() - state["seconds"]
        totals: dict[str, torch.Tensor] = {}
        since = state["step"]
        network.train()
        for step in range(since, self.steps):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                _set_rate(group, rate * objective.rate(step))
            rng.manual_seed(seeds.seed("training", self.seed, fabric.global_rank, step))
            for name, value in advance(step).items():
                totals[name] = totals[name] + value if name in totals else value.clone()
            bar.show(step + 1)
            if (step + 1) % self.every and step + 1 < self.steps:
                continue
            entry = {"step": step + 1, **_means(fabric, totals, step + 1 - since)}
            totals, since = {}, step + 1
            problem = None
            if fabric.is_global_zero:  # the others meet it at the broadcast
                try:
                    entry |= self.validate(network, data)
                    state["curve"].append(entry)
                    state.update(step=step + 1, seconds=time.monotonic() - begun)
                    self.save(state, network, optimizer)
                except UserError as error:
                    problem = error
            if problem := fabric.broadcast(problem):
                raise problem
            bar.show(step + 1, entry)
        bar.close()
        return {"network": network.state_dict(), "curve": state["curve"], "seconds": state["seconds"]}

    def resume(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Put the folder's checkpoint, if there is one, into both; where training stands: step, curve, seconds."""
        if self.folder is None or not (self.folder / CHECKPOINT).exists():
            return {"step": 0, "curve": [], "seconds": 0.0}
        there = load_checkpoint(self.folder, self.identity)
        if there["step"] > self.steps:
            done = there["step"]
            raise UserError(
                f"{self.folder} is trained for {done} steps already: ask for at least as many, or another folder"
            )
        for group in there["optimizer"]["param_groups"]:
            group["lr"] = float(group["lr"])
            group |= {
                name: value for name, value in {"capturable": self.replay, "fused": None}.items() if name in group
            }
        try:
            network.load_state_dict(there["network"])
            optimizer.load_state_dict(there["optimizer"])
        except (RuntimeError, ValueError, KeyError) as problem:
            raise UserError(f"{self.folder} holds weights of another architecture: give another folder") from problem
        return {name: there[name] for name in ("step", "curve", "seconds")}

    def save(self, state: dict[str, Any], network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if self.folder is None:
            return
        weights = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
        save_checkpoint(self.folder, {"identity": self.identity, **weights, **state})

    def validate(self, network: nn.Module, data: Images) -> dict[str, float]:
        if data.held_out is None:
            return {}
        network.eval()
        with torch.no_grad():
            rng = seeds.torch_rng("validation", self.seed, device=data.pixels.device)
            found = self.objective.validate(network, data, rng)
        network.train()
        return _finite({f"held_out_{name}": value for name, value in found.items()})

    @cached_property
    def identity(self) -> dict[str, str]:
        """What makes this training this one; devices, precision and the number of steps may change on the way."""
        assert is_dataclass(self.objective)
        configuration = {field.name: repr(getattr(self.objective, field.name)) for field in fields(self.objective)}
        objective = type(self.objective).__qualname__
        return {"objective": objective, **configuration, "seed": str(self.seed), "data": self.data.digest()}


def _fabric(device: str, devices: int, precision: str) -> Fabric:
    from lightning_fabric import Fabric  # two seconds, which only training takes

    place = find_device(device)
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    if devices < 1 or (place.type == "cuda" and devices > (1 if place.index is not None else count_gpus())):
        raise UserError(
            f"{devices} devices were asked for, {device} offers {count_gpus()} GPUs: ask for between 1 and that many"
        )
    strategy = "ddp_spawn" if devices > 1 else "auto"
    chosen = devices if place.index is None else [place.index]
    return Fabric(accelerator=place.type, devices=chosen, strategy=strategy, precision=precision)  # type: ignore[arg-type]


def _fresh(objective: Objective, data: Images, seed: int) -> nn.Module:
    """The same weights for a seed whatever the device; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.seed("weights", seed))
        return objective.build(data)


def _set_rate(group: dict[str, Any], rate: float) -> None:
    if isinstance(group["lr"], torch.Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def _means(fabric: Fabric, totals: dict[str, torch.Tensor], n: int) -> dict[str, float]:
    """The means over n steps and all devices, fetched at once."""
    values = mean_over_devices(fabric, torch.stack([total.float() for total in totals.values()])) / n
    return _finite(dict(zip(totals, values.tolist(), strict=True)))


def _finite(metrics: dict[str, float]) -> dict[str, float]:
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise UserError(f"training has diverged, its {name} is {value}: lower the learning rate, or try 32-true")
    return metrics


class _Bar:
    """A line on standard error, if that is a terminal: how far, how long still, and the latest numbers."""

    def __init__(self, steps: int, *, shown: bool) -> None:
        self.steps, self.shown = steps, shown and sys.stderr.isatty()
        self.first: tuple[int, float] | None = None
        self.last, self.numbers = 0.0, ""

    def show(self, step: int, entry: dict[str, float] | None = None) -> None:
        now = time.monotonic()
        if not self.shown or (entry is None and now - self.last < 0.2):
            return
        if entry:
            self.numbers = "  ".join(f"{name} {value:.4g}" for name, value in entry.items() if name != "step")
        self.first, self.last = self.first or (step, now), now
        took = (now - self.first[1]) / max(1, step - self.first[0])
        line = f"{step}/{self.steps} steps, {took * (self.steps - step):.0f} s left  {self.numbers}"
        print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.shown:
            print(file=sys.stderr)
