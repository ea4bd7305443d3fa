"""What is learned, one step of learning it, plain or recorded once as a CUDA graph and replayed, and what a user who watches
sees of the steps and may do between them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from exemplar.spaces.training_images import Images

if TYPE_CHECKING:
    from lightning_fabric import Fabric

HELD_OUT = "held_out_accuracy"  # the beginning of what the bar shows first
INTERRUPT = {signal.SIGINT}
WARM_UP = 3  # steps before one is recorded: libraries choose their kernels and set up their memory in these
Advance = Callable[[int], dict[str, torch.Tensor]]  # takes one step, gives its loss and metrics as 0-d tensors


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


def plain_steps(
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
            mean = mean_over_devices(fabric, torch.cat([gradient.flatten() for gradient in gradients]))
            for gradient, part in zip(gradients, mean.split([g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))
        optimizer.step()
        return {"loss": loss.detach(), **{name: value.detach() for name, value in metrics.items()}}

    return advance


def replayed_steps(advance: Advance, rng: torch.Generator) -> Advance:
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


@contextmanager
def tried_kernels() -> Iterator[None]:
    """On a GPU, every convolution's kernels are tried once and the fastest one is kept: a step's shapes are always the same."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


@contextmanager
def stops_between_steps() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C interrupts nothing: the function that is given says whether there was one, for the loop to stop
    after a whole step. The second stops at once, unless this is one of several processes, which have to agree."""
    asked, alone = False, multiprocessing.parent_process() is None
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield lambda: False  # who has other plans for Ctrl-C keeps them
        return

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked and alone:
            raise KeyboardInterrupt
        if alone and sys.stderr.isatty():  # not printed: a print may be what is interrupted here
            os.write(sys.stderr.fileno(), b"\r\x1b[Kstopping after this step; Ctrl-C again stops at once\n")
        asked = True

    signal.signal(signal.SIGINT, ask)
    if not alone:  # `launch_processes` has held it back until now
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)
    try:
        yield lambda: asked
    finally:
        if alone:  # else the process is about to end
            signal.signal(signal.SIGINT, signal.default_int_handler)


def launch_processes(fabric: Fabric, function: Callable[[Fabric], Any]) -> Any:
    """As `fabric.launch`, for several processes: Ctrl-C reaches all of them, but none before it can answer.

    Processes inherit from the thread that starts them that SIGINT is held back, until `stops_between_steps` lets it through;
    this thread stays free to hear it.
    """
    resource_tracker.ensure_running()  # its start would end the holding back
    before = multiprocessing.active_children()
    with ThreadPoolExecutor(1, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, INTERRUPT)) as pool:
        outcome = pool.submit(fabric.launch, function)
        try:
            return outcome.result()
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                if process not in before and process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)
            outcome.result()
            raise


def any_device(fabric: Fabric, asked: bool) -> bool:
    """Whether one of the devices was asked."""
    if fabric.world_size == 1:
        return asked
    return bool(mean_over_devices(fabric, torch.tensor(float(asked), device=fabric.device)) > 0)


def mean_over_devices(fabric: Fabric, values: torch.Tensor) -> torch.Tensor:
    """values: the same shape on each."""
    mean = fabric.all_reduce(values, reduce_op="mean")
    assert isinstance(mean, torch.Tensor)
    return mean


@contextmanager
def step_bar(steps: int, *, shown: bool) -> Iterator[Callable[..., None]]:
    """A line on standard error, if that is a terminal: how far, how long still, and the latest numbers. Call what it gives with
    the number of the step and, where there is one, the curve's new entry; the line ends with the training."""
    if not (shown and sys.stderr.isatty()):
        yield lambda step, entry=None: None
        return
    first: tuple[int, float] | None = None
    last, numbers = 0.0, ""

    def show(step: int, entry: dict[str, float] | None = None) -> None:
        nonlocal first, last, numbers
        now = time.monotonic()
        if entry is None and now - last < 0.2:
            return
        first, last, numbers = first or (step, now), now, _in_short(entry) if entry else numbers
        took = (now - first[1]) / (step - first[0]) if step > first[0] else None
        left = "" if took is None else f", {took * (steps - step):.0f} s left"
        line = f"{step}/{steps} steps{left}  {numbers}"
        print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if first is not None:
            print(file=sys.stderr)


def _in_short(entry: dict[str, float]) -> str:
    """Held-out accuracies first, then losses: a narrow terminal cuts off the rest."""
    accuracy = {name: value for name, value in entry.items() if name.startswith(HELD_OUT) and not name.endswith("_se")}
    words = [
        f"{name.removeprefix(HELD_OUT).strip('_').replace('_', ' ')} {value:.3g}" for name, value in accuracy.items()
    ]
    rest = sorted((name for name in entry if name not in {*accuracy, "step"}), key=lambda name: "loss" not in name)
    head = ["held-out accuracy " + ", ".join(word.strip() for word in words)] if words else []
    return "  ".join(head + [f"{name} {entry[name]:.3g}" for name in rest])
