"""MAML's adaptation of many few-shot tasks at once, by vmap, beside a plain loop of autograd, task by task.

Run: python speed/recall_adaptation.py [--tasks 64 600 --device cuda]; needs torch, NumPy and lightning-fabric alone (from a
bare checkout: PYTHONPATH=src). Wall time after a warm-up, the device waited for; without a GPU CPU time of one thread, with
fewer tasks. The network is maml-omniglot-cfsl's (conv4-64, 28 px, 15 outputs) with fresh weights, the images are noise: neither
changes the time. Exit code 1 where the batch's logits are not the loop's: compared in float64, since in float32 rounding alone
now and then tips a maximum or a ReLU, after which gradient descent goes another way.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from exemplar import seeds
from exemplar.spaces.networks.adapted import build_learner
from exemplar.spaces.objectives.maml import adapt, logits
from exemplar.user_code import seeded_globals
from record import Row, record, timed

WAYS, SHOTS, QUERIES, STEPS, RATE = 15, 1, 3, 5, 0.1  # as in the recipe maml-omniglot-cfsl
N_CHECKED = 16  # tasks that are compared in float64
ROUNDING = 1e-6  # the largest difference of two logits in float64 that rounding explains
Tasks = tuple[Tensor, Tensor, Tensor]  # support (tasks, n, 1, 28, 28), labels (tasks, n), queries (tasks, m, 1, 28, 28)


def make_tasks(n_tasks: int, device: torch.device) -> Tasks:
    generator = seeds.torch_rng("recall adaptation", device=device)
    images = torch.rand((n_tasks, WAYS * (SHOTS + QUERIES), 1, 28, 28), generator=generator, device=device)
    labels = torch.arange(WAYS, device=device).repeat_interleave(SHOTS).expand(n_tasks, -1)
    return images[:, : WAYS * SHOTS], labels, images[:, WAYS * SHOTS :]


@torch.no_grad()
def at_once(network: nn.Module, tasks: Tasks) -> Tensor:
    """(tasks, m, ways): every step of all tasks is one call."""
    support, labels, queries = tasks
    return logits(network, adapt(network, support, labels, STEPS, RATE), queries)


def one_by_one(network: nn.Module, tasks: Tasks) -> Tensor:
    """The same as a textbook writes it."""
    outputs = []
    for support, labels, queries in zip(*tasks, strict=True):
        params = {name: value.detach().clone().requires_grad_() for name, value in network.named_parameters()}
        for _ in range(STEPS):
            loss = functional.cross_entropy(functional_call(network, params, (support,)), labels)
            slopes = torch.autograd.grad(loss, list(params.values()))
            params = {
                name: (value - RATE * slope).detach().requires_grad_()
                for (name, value), slope in zip(params.items(), slopes, strict=True)
            }
        with torch.no_grad():
            outputs.append(functional_call(network, params, (queries,)))
    return torch.stack(outputs)


def clock(device: torch.device) -> float:
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def seconds(call: Callable[[], Tensor], device: torch.device, repeats: int) -> tuple[float, Tensor]:
    """The least time of a few calls, and what they gave; whoever calls has warmed up."""
    times = []
    for _ in range(repeats):
        start = clock(device)
        result = call()
        times.append(clock(device) - start)
    return min(times), result


def furthest(network: nn.Module, tasks: Tasks) -> float:
    """The largest difference between the batch's logits and the loop's, both in float64, of the first few tasks."""
    support, labels, queries = (part[:N_CHECKED] for part in tasks)
    exact = (support.double(), labels, queries.double())
    network.double()
    far = float((at_once(network, exact) - one_by_one(network, exact)).abs().max())
    network.float()
    return far


def arguments() -> argparse.Namespace:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[64, 600] if gpu else [8, 24], help="how many at once")
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    device = torch.device(given.device)
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # float32 means float32
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    with seeded_globals(0):
        network = build_learner("conv4-64", 28, 1, WAYS).to(device)
    unit = "s" if name else "CPU s"
    print(
        f"{name or 'CPU, one thread'}; torch {torch.__version__}; {WAYS}-way {SHOTS}-shot tasks, {STEPS} steps, ",
        end="",
    )
    print(f"{WAYS * QUERIES} queries; {'wall' if name else 'CPU'} time")
    few = make_tasks(2, device)
    at_once(network, few), one_by_one(network, few)

    rows: list[Row] = []
    wrong, seen = 0, []
    for n_tasks in given.tasks:
        tasks = make_tasks(n_tasks, device)
        at_once(network, tasks)  # kernels are chosen by shape
        fast, batch = seconds(lambda tasks=tasks: at_once(network, tasks), device, 3)  # type: ignore[misc]
        slow, loop = seconds(lambda tasks=tasks: one_by_one(network, tasks), device, 1)  # type: ignore[misc]
        far = furthest(network, tasks)
        wrong += not far <= ROUNDING  # NaN is wrong, too
        other = int((batch.argmax(2) != loop.argmax(2)).sum())
        rows.append(timed(f"{n_tasks} tasks at once", fast, unit, "plain loop of autograd", slow))
        seen.append(f"{n_tasks} tasks {fast:.3g} {unit}, {slow / fast:.1f} × a plain loop")
        print(
            f"{n_tasks} tasks: at once {fast:.3f} {unit}, plain loop {slow:.3f} {unit}, {slow / fast:.1f} ×; ", end=""
        )
        print(f"{n_tasks / fast:,.0f} tasks per second; logits at most {far:.1e} apart in float64, ", end="")
        print(
            f"{float((batch - loop).abs().max()):.1e} in float32 ({other} of {batch[..., 0].numel():,} answers differ)"
        )
    if name:
        print(f"most memory in use: {torch.cuda.max_memory_allocated(device) / 2**30:.1f} GiB")
    if wrong:
        print("NOT the same outputs: the batch is further from the loop than rounding explains")
        return 1
    record(
        __file__,
        f"MAML's adaptation of {' and '.join(map(str, given.tasks))} tasks at once, {WAYS}-way {SHOTS}-shot, {STEPS} steps "
        "(conv4-64, 28 px)",
        rows,
        seen="; ".join(seen) + "; the same logits up to rounding",
        clock="wall time" if name else "CPU time of one thread",
        device=name,
        variant="" if name else "cpu",
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
