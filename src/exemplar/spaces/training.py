"""The one training loop: any objective, on CPU or GPU, one or several, resumed where it was killed.

Images live on the device as bytes; an objective draws its own batches there. A step's randomness belongs to the step's
number, not to what came before it, so a run that was killed goes on as if it had not been: on a CPU bit for bit.
"""

from __future__ import annotations

import json
import math
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.files import DAMAGE, first_line, whole_file

CHECKPOINT, CURVE = "checkpoint.pt", "curve.json"
PRECISIONS = ("32-true", "bf16-mixed")
KEYS = {"identity", "network", "optimizer", "step", "curve", "seconds"}
WARM_UP = 3  # steps before one is recorded: libraries choose their kernels and set up their memory in these
Advance = Callable[[int], dict[str, torch.Tensor]]  # takes one step, gives its loss and metrics as 0-d tensors


@dataclass(frozen=True, eq=False)
class Images:
    """What is trained on, all of it on one device. Build one from arrays with `Images.of`.

    pixels: (n, c, h, w) uint8; label: (n,) int64, the place of each image's class in `names`; exemplar: (n_classes,) int64,
    the row of each class's exemplar, or None; held_out: the images validation is done on.
    """

    pixels: torch.Tensor
    label: torch.Tensor
    names: tuple[str, ...]
    exemplar: torch.Tensor | None = None
    held_out: Images | None = None

    def __post_init__(self) -> None:
        n, k = len(self.pixels), len(self.names)
        if self.pixels.dtype != torch.uint8 or self.pixels.ndim != 4 or not n:
            found = f"{tuple(self.pixels.shape)} {self.pixels.dtype}"
            raise UserError(f"images to train on must be (n, c, h, w) bytes, at least one, these are {found}")
        if self.label.shape != (n,) or self.label.dtype != torch.int64:
            raise UserError(
                f"{n} images need {n} labels (int64), these are {tuple(self.label.shape)} {self.label.dtype}"
            )
        if not 0 <= int(self.label.min()) <= int(self.label.max()) < k:
            raise UserError(f"labels must count from 0 to {k - 1}, one for each of the {k} class names")
        if self.exemplar is not None:
            classes = torch.arange(k, device=self.label.device)
            if self.exemplar.shape != (k,) or not 0 <= int(self.exemplar.min()) <= int(self.exemplar.max()) < n:
                raise UserError(f"exemplars must be {k} rows of the {n} images, one a class")
            if not torch.equal(self.label[self.exemplar], classes):
                raise UserError("each class's exemplar must be one of its own images: give their rows in class order")

    @classmethod
    def of(
        cls,
        images: np.ndarray,
        label: Sequence[int] | np.ndarray,
        names: Sequence[str],
        exemplar: Sequence[int] | np.ndarray | None = None,
        held_out: Images | None = None,
    ) -> Images:
        """images: (n, h, w) or (n, h, w, c) uint8; label: (n,) places in names; exemplar: (n_classes,) rows."""
        planes = np.ascontiguousarray(images[:, None] if images.ndim == 3 else np.moveaxis(images, 3, 1))
        rows = None if exemplar is None else torch.as_tensor(np.asarray(exemplar, np.int64))
        return cls(torch.as_tensor(planes), torch.as_tensor(np.asarray(label, np.int64)), tuple(names), rows, held_out)

    @property
    def n_classes(self) -> int:
        return len(self.names)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, h, w) of one image."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    @cached_property
    def rows(self) -> torch.Tensor:
        """(n_classes, most) int64: the rows of each class's images, filled up with −1."""
        order = self.label.argsort(stable=True)
        counts = self.label.bincount(minlength=self.n_classes)
        place = torch.arange(len(order), device=order.device) - (counts.cumsum(0) - counts)[self.label[order]]
        table = order.new_full((self.n_classes, int(counts.max())), -1)
        table[self.label[order], place] = order
        return table

    def take(self, rows: torch.Tensor) -> torch.Tensor:
        """rows: (b,) int64 → (b, c, h, w) float32 in [0, 1]."""
        return self.pixels[rows].float() / 255

    def sample(self, n: int, rng: torch.Generator) -> torch.Tensor:
        """(n,) int64: distinct rows at random. A device draws them without anybody waiting for it."""
        return torch.rand(len(self.pixels), generator=rng, device=rng.device).topk(n).indices

    def to(self, device: torch.device) -> Images:
        return replace(
            self,
            pixels=self.pixels.to(device),
            label=self.label.to(device),
            exemplar=None if self.exemplar is None else self.exemplar.to(device),
            held_out=None if self.held_out is None else self.held_out.to(device),
        )

    def digest(self) -> str:
        """A name for what is trained on; what is held out changes no weight and is no part of it."""
        parts = [self.pixels, self.label] + ([] if self.exemplar is None else [self.exemplar])
        return seeds.digest(*(part.cpu().numpy() for part in parts), self.names)


class Objective(Protocol):
    """What is learned: a frozen dataclass, whose fields are its configuration."""

    def build(self, data: Images) -> nn.Module:
        """The network with fresh weights, from torch's own generator (which `train` seeds); refuses data it cannot use."""

    def loss(
        self, network: nn.Module, data: Images, rng: torch.Generator, step: int
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Draws a batch on the device; gives the loss to descend and what else to show, all 0-d tensors."""

    def validate(self, network: nn.Module, data: Images, rng: torch.Generator) -> dict[str, float]:
        """How well it does on `data.held_out`; called in eval mode, without gradients, and with the same rng each time."""

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer: ...

    def rate(self, step: int) -> float:
        """The learning rate at this step (from 0) as a share of the optimizer's own."""


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
    None keeps nothing. device: auto, cpu or cuda; devices: how many, each with its own batches, gradients averaged;
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
            outcome = load_checkpoint(place / CHECKPOINT, run.identity)
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
        data, rng = self.data.to(fabric.device), torch.Generator(fabric.device)
        learner: Any = torch.compile(network) if self.compile else network
        advance = _step(fabric, objective, learner, optimizer, data, rng)
        if self.replay:
            advance = _replayed(advance, rng)

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
        there = load_checkpoint(self.folder / CHECKPOINT, self.identity)
        if there["step"] > self.steps:
            done = there["step"]
            raise UserError(
                f"{self.folder} is trained for {done} steps already: ask for at least as many, or another folder"
            )
        for group in there["optimizer"]["param_groups"]:
            group["lr"] = float(group["lr"])
            if "capturable" in group:
                group["capturable"] = self.replay
        try:
            network.load_state_dict(there["network"])
            optimizer.load_state_dict(there["optimizer"])
        except (RuntimeError, ValueError, KeyError) as problem:
            raise UserError(f"{self.folder} holds weights of another architecture: give another folder") from problem
        return {name: there[name] for name in ("step", "curve", "seconds")}

    def save(self, state: dict[str, Any], network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if self.folder is None:
            return
        content = {
            "identity": self.identity, "network": network.state_dict(), "optimizer": optimizer.state_dict(), **state,
        }  # fmt: skip
        with whole_file(self.folder / CHECKPOINT) as part:
            torch.save(content, part)
        with whole_file(self.folder / CURVE) as part:
            part.write_text(json.dumps(state["curve"], indent=1) + "\n")

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


def load_checkpoint(path: Path, identity: dict[str, str]) -> dict[str, Any]:
    """identity, network, optimizer, step, curve, seconds; refused unless it is of this training."""
    try:
        there = torch.load(path, map_location="cpu", weights_only=True)
    except (*DAMAGE, pickle.UnpicklingError) as problem:
        raise UserError(f"{path} is damaged: delete it to begin again ({first_line(problem)})") from problem
    if not isinstance(there, dict) or there.keys() != KEYS:
        raise UserError(f"{path} is no checkpoint of a training: give another folder")
    for name in identity | there["identity"]:
        was, now = there["identity"].get(name, "nothing"), identity.get(name, "nothing")
        if was != now:
            raise UserError(
                f"{path} is of another training, its {name} is {was:.60}, not {now:.60}: give another folder"
            )
    return there


def _fabric(device: str, devices: int, precision: str) -> Fabric:
    if device not in ("auto", "cpu", "cuda"):
        raise unknown("device", device, ("auto", "cpu", "cuda"))
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "cuda" and not n_gpus:
        raise UserError("there is no GPU here that torch can use: leave --device out, or say --device cpu")
    kind = "cuda" if n_gpus and device != "cpu" else "cpu"
    if devices < 1 or (kind == "cuda" and devices > n_gpus):
        raise UserError(f"{devices} devices were asked for, there are {n_gpus} GPUs: ask for between 1 and that many")
    strategy = "ddp_spawn" if devices > 1 else "auto"
    return Fabric(accelerator=kind, devices=devices, strategy=strategy, precision=precision)  # type: ignore[arg-type]


def _fresh(objective: Objective, data: Images, seed: int) -> nn.Module:
    """The same weights for a seed whatever the device; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.seed("weights", seed))
        return objective.build(data)


def _step(
    fabric: Fabric,
    objective: Objective,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Images,
    rng: torch.Generator,
) -> Advance:
    def advance(step: int) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        with fabric.autocast():
            loss, metrics = objective.loss(network, data, rng, step)
        loss.backward()
        if fabric.world_size > 1:  # all gradients in one message: a loss may use the network in any way it likes
            gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            mean = _mean(fabric, torch.cat([gradient.flatten() for gradient in gradients]))
            for gradient, part in zip(gradients, mean.split([g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))
        optimizer.step()
        return {"loss": loss.detach(), **{name: value.detach() for name, value in metrics.items()}}

    return advance


def _replayed(advance: Advance, rng: torch.Generator) -> Advance:
    """The same steps; after the first few, one is recorded as a CUDA graph and replayed: one launch instead of hundreds."""
    graph, side, n_taken = torch.cuda.CUDAGraph(), torch.cuda.Stream(), 0
    recorded: dict[str, torch.Tensor] = {}

    def replayed(step: int) -> dict[str, torch.Tensor]:
        nonlocal recorded, n_taken
        n_taken += 1
        if n_taken <= WARM_UP:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                metrics = advance(step)
            torch.cuda.current_stream().wait_stream(side)
            return metrics
        if not recorded:
            graph.register_generator_state(rng)  # so that each replay draws from the seed of its own step
            with torch.cuda.graph(graph):
                recorded = advance(step)
        graph.replay()
        return recorded

    return replayed


def _set_rate(group: dict[str, Any], rate: float) -> None:
    if isinstance(group["lr"], torch.Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def _means(fabric: Fabric, totals: dict[str, torch.Tensor], n: int) -> dict[str, float]:
    """The means over n steps and all devices, fetched at once."""
    values = _mean(fabric, torch.stack([total.float() for total in totals.values()])) / n
    return _finite(dict(zip(totals, values.tolist(), strict=True)))


def _mean(fabric: Fabric, values: torch.Tensor) -> torch.Tensor:
    """Over all devices."""
    mean = fabric.all_reduce(values, reduce_op="mean")
    assert isinstance(mean, torch.Tensor)
    return mean


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
