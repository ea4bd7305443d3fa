"""The one training loop: any objective, on CPU or GPU, one or several, resumed where it was killed.

Images live on the device as bytes; an objective draws its own batches there. A step's randomness belongs to the step's
number, not to what came before it, so a run that was killed resumes as if it had not been: on a CPU bit for bit.
"""

from __future__ import annotations

import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.progress import note_kept
from exemplar.spaces.devices import count_gpus, find_device
from exemplar.spaces.training.bar import step_bar
from exemplar.spaces.training.checkpoints import CHECKPOINT, load_checkpoint, save_checkpoint
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import Objective
from exemplar.spaces.training.steps import mean_over_devices, plain_steps, replayed_steps, tried_kernels
from exemplar.spaces.training.stops import any_device, launch_processes, stops_between_steps

if TYPE_CHECKING:
    from lightning_fabric import Fabric

PRECISIONS = ("32-true", "bf16-mixed")
for part in ("rank_zero", "distributed"):  # they talk of Tensor Cores and of processes, in each process
    logging.getLogger(f"lightning_fabric.utilities.{part}").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Trained:
    """network: on the CPU, in eval mode; curve: a dict every few steps, as in curve.json; seconds: spent training."""

    network: nn.Module
    curve: list[dict[str, float]]
    seconds: float


def train(
    objective: Objective,
    data: TrainingImages,
    *,
    steps: int,
    seed: int,
    folder: Path | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: str = "32-true",
    compile: bool | Mapping[str, Any] = False,
    replay: bool = False,
    every: int = 500,
    watch: Callable[[nn.Module, int], None] | None = None,
) -> Trained:
    """Train an objective's network on the data, or resume from the folder's checkpoint.

    folder: keeps checkpoint.pt and curve.json, renewed every `every` steps, when validation is done too, at Ctrl-C, and at
    the end; None keeps nothing. device: auto, cpu, cuda or cuda:N; devices: how many, each with its own batches, gradients
    averaged; precision: 32-true or bf16-mixed; compile: let torch.compile fuse the network, with these options of inductor if
    it is a dict; replay: on one GPU, record a step once and replay it as a CUDA graph, several times faster for small networks.
    Replay asks that the loss does not read `step` and never waits for the device, and that the optimizer is capturable (Adam
    and RMSprop are). watch: called with the network, in eval mode, and the number of steps at each entry of the curve.
    """
    if steps < 1 or every < 1:
        raise UserError(f"training needs at least 1 step, and an evaluation every 1 or more, not {steps} and {every}")
    fabric = _fabric(device, devices, precision)
    if replay and (fabric.device.type != "cuda" or devices > 1):
        raise UserError("a step can only be replayed on a single GPU: leave replay out, or use --device cuda")
    with tempfile.TemporaryDirectory() as scratch:  # other processes leave their result in a file
        place = Path(scratch) if folder is None and devices > 1 else folder
        run = _Run(objective, data, steps, seed, place, compile, replay, every, watch)
        outcome = fabric.launch(run.guarded) if devices == 1 else launch_processes(fabric, run.guarded)
        if isinstance(outcome, UserError | KeyboardInterrupt):
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
    data: TrainingImages
    steps: int
    seed: int
    folder: Path | None
    compile: bool | Mapping[str, Any]
    replay: bool
    every: int
    watch: Callable[[nn.Module, int], None] | None = None

    def guarded(self, fabric: Fabric) -> dict[str, Any] | UserError | KeyboardInterrupt | None:
        """The result, or what the user did, which as another process's exception would reach the caller as a traceback in text.
        With a folder the result is its checkpoint: weights would block the narrow pipe between processes for ever."""
        try:
            with tried_kernels():
                outcome = self.run(fabric)
        except (UserError, KeyboardInterrupt) as problem:
            return problem
        finally:
            if fabric.world_size > 1:  # threads that are still at work when the process ends would abort it
                torch.distributed.destroy_process_group()
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
        learner: Any = compile_network(network, self.compile) if self.compile else network
        advance = plain_steps(fabric, objective, learner, optimizer, data, rng)
        if self.replay:
            advance = replayed_steps(advance, rng)

        begun = time.monotonic() - state["seconds"]
        totals = {name: total.to(fabric.device) for name, total in state["totals"].items()}
        since = state["curve"][-1]["step"] if state["curve"] else 0
        slow_down: Callable[[list[dict[str, float]]], float] = getattr(objective, "slow_down", lambda curve: 1.0)
        slowed = slow_down(state["curve"])
        network.train()
        with stops_between_steps() as asked_to_stop, step_bar(self.steps, shown=fabric.is_global_zero) as show:
            for step in range(state["step"], self.steps):
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    _set_rate(group, rate * objective.rate(step) * slowed)
                rng.manual_seed(seeds.seed("training", self.seed, fabric.global_rank, step))
                for name, value in advance(step).items():
                    totals[name] = totals[name] + value if name in totals else value.clone()
                show(step + 1)
                stopped = any_device(fabric, asked_to_stop())
                evaluated = (step + 1) % self.every == 0 or step + 1 == self.steps
                if not (evaluated or stopped):
                    continue
                entry = {"step": step + 1, **_means(fabric, totals, step + 1 - since)}
                if evaluated:
                    totals, since = {}, step + 1
                totals = {name: mean_over_devices(fabric, total) for name, total in totals.items()}
                problem = None
                if fabric.is_global_zero:  # the others meet it at the broadcast
                    try:
                        if evaluated:
                            entry |= self.validate(network, data)
                            state["curve"].append(entry)
                        state.update(step=step + 1, totals=totals, seconds=time.monotonic() - begun)
                        self.save(state, network, optimizer)
                        if evaluated and self.watch is not None:
                            network.eval()
                            with torch.no_grad():
                                self.watch(network, step + 1)
                            network.train()
                    except UserError as error:
                        problem = error
                problem, slowed = fabric.broadcast((problem, slow_down(state["curve"])))  # one process keeps the curve
                if problem:
                    raise problem
                if stopped:
                    raise KeyboardInterrupt
                show(step + 1, entry)
        return {"network": network.state_dict(), "curve": state["curve"], "seconds": state["seconds"]}

    def resume(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Put the folder's checkpoint, if there is one, into both; where training stands: step, curve, totals, seconds."""
        if self.folder is None or not (self.folder / CHECKPOINT).exists():
            return {"step": 0, "curve": [], "totals": {}, "seconds": 0.0}
        there = load_checkpoint(self.folder, self.identity)
        done, midway = there["step"], bool(there["totals"])  # midway: stopped between two entries of the curve
        if done + midway > self.steps:
            raise UserError(f"{self.folder} is trained for {done} steps already: ask for more, or give another folder")
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
        return {name: there[name] for name in ("step", "curve", "totals", "seconds")}

    def save(self, state: dict[str, Any], network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if self.folder is None:
            return
        if not all(torch.isfinite(tensor).all() for tensor in network.parameters()):  # the checkpoint before stays
            raise UserError(
                "training has diverged, some weights are not finite: lower the learning rate, or try 32-true"
            )
        weights = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
        save_checkpoint(self.folder, {"identity": self.identity, **weights, **state})
        note_kept()

    def validate(self, network: nn.Module, data: TrainingImages) -> dict[str, float]:
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
        return identify_training(self.objective, self.data, self.seed)


def identify_training(objective: Objective, data: TrainingImages, seed: int) -> dict[str, str]:
    """What makes a training this one; devices, precision and the number of steps may change on the way."""
    assert is_dataclass(objective)
    configuration = {field.name: repr(getattr(objective, field.name)) for field in fields(objective)}
    return {"objective": objective.name, **configuration, "seed": str(seed), "data": data.digest()}


def check_devices(device: str, devices: int) -> torch.device:
    """The kind of device, if there are so many; of a processor, each core counts as one."""
    place = find_device(device)
    there = (os.cpu_count() or 1) if place.type == "cpu" else count_gpus() if place.index is None else 1
    if not 1 <= devices <= there:
        raise UserError(f"{devices} devices were asked for, {device} offers {there}: ask for between 1 and that many")
    return place


def _fabric(device: str, devices: int, precision: str) -> Fabric:
    from lightning_fabric import Fabric  # two seconds, which only training takes

    place = check_devices(device, devices)
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    strategy = "ddp_spawn" if devices > 1 else "auto"
    chosen = devices if place.index is None else [place.index]
    return Fabric(accelerator=place.type, devices=chosen, strategy=strategy, precision=precision)  # type: ignore[arg-type]


def _fresh(objective: Objective, data: TrainingImages, seed: int) -> nn.Module:
    """The same weights for a seed whatever the device; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.seed("weights", seed))  # noqa: TID251
        return objective.build(data)


def compile_network(network: nn.Module, options: bool | Mapping[str, Any]) -> Any:
    """Compiled as a whole, unless it knows better which of its parts: then those are."""
    given = None if isinstance(options, bool) else dict(options)
    compile_parts: Callable[[dict[str, Any] | None], None] | None = getattr(network, "compile_parts", None)
    if compile_parts is None:
        return torch.compile(network, options=given)
    compile_parts(given)
    return network


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
