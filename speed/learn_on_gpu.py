"""All seven rules on many encoding stages in one go, on a GPU: Experiment 1 with synthetic features, made where they are used.

Run: python speed/learn_on_gpu.py [--stages 64 --sessions 500 --subtasks 64 --d 2048]; needs torch and NumPy alone (from a bare
checkout: PYTHONPATH=src). Wall time after a warm-up, the device waited for. The peers run in the same run: our compiled path on
one CPU core where numba is there (CPU time, one stage, one rule after the other), and the same tensors on the CPU, whose
choices must be the same. Without a GPU everything runs on the CPU, at a smaller size. Exit code 1 where choices differ.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import torch
from torch import Tensor

from exemplar import seeds
from exemplar.learn.batched import (
    RULES,
    Learners,
    SessionTensors,
    gram_tensors,
    sample_session_tensors,
    simulate_stages,
)
from record import record, timed

N_IMAGES, N_TRIALS = 100, 100
N_CHECKED = (2, 8, 100)  # stages, subtasks and sessions whose choices the CPU repeats
NUMBA = find_spec("numba") is not None


def seconds(call: Callable[[], Any], device: torch.device, repeats: int = 3) -> tuple[float, Any]:
    """The least wall time of a few calls, after one to warm up; and what it gave."""
    times, result = [], call()
    for _ in range(repeats):
        result = None  # give its memory back first
        wait_for(device)
        start = time.perf_counter()
        result = call()
        wait_for(device)
        times.append(time.perf_counter() - start)
    return min(times), result


def wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def make_grams(n_stages: int, n_subtasks: int, d: int, device: torch.device) -> Tensor:
    """(stages, subtasks, 200, 200) float64: two clouds of images a subtask, which come apart from stage to stage."""
    generator = seeds.torch_rng("learn on gpu", n_stages, n_subtasks, d, device=device)
    grams = torch.empty((n_stages, n_subtasks, 2 * N_IMAGES, 2 * N_IMAGES), dtype=torch.float64, device=device)
    for stage, apart in enumerate(torch.linspace(0.05, 0.35, n_stages).tolist()):
        shape = (n_subtasks, 2, N_IMAGES, d)
        features = torch.randn(shape, generator=generator, device=device) * 0.8
        features += torch.randn((n_subtasks, 2, 1, d), generator=generator, device=device) * apart
        features /= d**0.5
        features /= features.norm(dim=-1, keepdim=True).clamp(min=1)
        grams[stage] = gram_tensors(features)
    return grams


def checked(grams: Tensor, sessions: SessionTensors, choice: Tensor) -> tuple[int, int, float]:
    """How many choices the CPU makes differently, of how many; and its CPU seconds per session."""
    stages, subtasks, each = (slice(n) for n in N_CHECKED)
    image, answer, ties = (t[subtasks, each].cpu() for t in (sessions.image, sessions.answer, sessions.tie_breaks))
    few = SessionTensors(image, answer, ties, sessions.n_choices, sessions.n_images)
    start = time.process_time()
    again = simulate_stages(grams[stages, subtasks].cpu().contiguous(), few, Learners())
    spent = time.process_time() - start
    differ = int((again != choice[:, stages, subtasks, each].cpu()).sum())
    return differ, again.numel(), spent / (again.numel() / N_TRIALS)


def compiled_seconds(gram: Tensor, sessions: SessionTensors) -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds and accuracy of the compiled path for each rule on one stage and the same trial sequences."""
    import numpy as np

    from exemplar.learn.agents import make_agent
    from exemplar.learn.session_random import draw_key
    from exemplar.learn.simulation import simulate
    from exemplar.learn.tasks import TRAIN, Sessions

    image, answer = sessions.image.cpu().numpy().astype(np.uint16), sessions.answer.cpu().numpy().astype(np.int8)
    phase, key = np.full(N_TRIALS, TRAIN), draw_key(seeds.rng("luck"))
    same = Sessions(image, answer, phase, sessions.n_choices, sessions.n_images, key)
    products = gram.cpu().numpy()
    spent, accuracy = {}, {}
    for rule in RULES:
        simulate(make_agent(rule), products, same)
        start = time.process_time()
        choice = simulate(make_agent(rule), products, same)
        spent[rule] = time.process_time() - start
        accuracy[rule] = float((choice == answer).mean())
    return spent, accuracy


def arguments() -> argparse.Namespace:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stages", type=int, default=64 if gpu else 2)
    parser.add_argument("--sessions", type=int, default=500 if gpu else 20, help="of each subtask")
    parser.add_argument("--subtasks", type=int, default=64)
    parser.add_argument("--d", type=int, default=2048, help="dimensions of the features")
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--memory", type=float, nargs="*", default=[], help="also with these GiB to work in")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    torch.set_num_threads(1)
    device = torch.device(given.device)
    total = given.stages * given.subtasks * given.sessions * len(RULES)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU, one thread"
    print(
        f"{name}; torch {torch.__version__}; {given.stages} stages × {given.subtasks} subtasks × {given.sessions} ",
        end="",
    )
    print(f"sessions × {len(RULES)} rules = {total:,} sessions of {N_TRIALS} trials, d = {given.d}")

    making, grams = seconds(lambda: make_grams(given.stages, given.subtasks, given.d, device), device, 1)
    sampling, sessions = seconds(
        lambda: sample_session_tensors(
            given.subtasks, given.sessions, generator=seeds.torch_rng("sessions", device=device)
        ),
        device,
        1,
    )
    print(f"features and Gram matrices {making:.3f} s, trial sequences {sampling:.3f} s (of all stages)\n")

    spent, choice = seconds(lambda: simulate_stages(grams, sessions, Learners()), device)
    right = [choice[rule] == sessions.answer for rule in range(len(RULES))]
    overall = [[float(stage.double().mean()) for stage in rule] for rule in right]
    ends = [(float(rule[..., 1].double().mean()), float(rule[..., -1].double().mean())) for rule in right]
    halves = [1.96 * float(rule.double().mean(-1).std()) / (rule[..., 0].numel()) ** 0.5 for rule in right]
    del right
    cpu, cpu_accuracy = compiled_seconds(grams[-1], sessions) if NUMBA else ({}, {})
    print(f"{'rule':14} {'seconds':>8} {'accuracy':>9} {'± 95 %':>7} {'trial 2':>8} {'trial 100':>9} ", end="")
    columns = f" {'compiled: last':>14} {'CPU s per stage':>13} {'ratio':>7}" if cpu else ""
    print(f"{'first stage':>11} {'last':>6}{columns}")
    for i, rule in enumerate(RULES):
        alone, _ = seconds(lambda rule=rule: simulate_stages(grams, sessions, Learners((rule,))), device, 1)  # type: ignore[misc]
        peer = f"{cpu_accuracy[rule]:14.4f} {cpu[rule]:13.3f} {cpu[rule] * given.stages / alone:6.1f}×" if cpu else ""
        mean = sum(overall[i]) / given.stages
        print(f"{rule:14} {alone:8.3f} {mean:9.4f} {halves[i]:7.4f} {ends[i][0]:8.3f} {ends[i][1]:9.3f} ", end="")
        print(f"{overall[i][0]:11.4f} {overall[i][-1]:6.4f} {peer}")
    print(
        f"\nall rules × all stages in one go, float64: {spent:.3f} s, {total / spent:,.0f} sessions per second", end=""
    )
    print(f", {sum(cpu.values()) * given.stages / spent:.1f}× the compiled path on one core" if cpu else "")
    if not cpu:
        print("(numba is not here: no compiled path to compare with)")
    for gib in given.memory:
        block, _ = seconds(lambda g=gib: simulate_stages(grams, sessions, Learners(), memory=int(g * 2**30)), device, 2)  # type: ignore[misc]
        print(f"    in {gib:g} GiB: {block:.3f} s")

    narrow = grams.float()
    short, rough = seconds(lambda: simulate_stages(narrow, sessions, Learners()), device)
    other = [float((rough[i] != choice[i]).any(-1).double().mean()) for i in range(len(RULES))]
    accuracy = [float((rough[i] == sessions.answer).double().mean()) for i in range(len(RULES))]
    print(
        f"the same in float32: {short:.3f} s, {total / short:,.0f} sessions per second; of the sessions differ ", end=""
    )
    print(", ".join(f"{rule} {share:.2%}" for rule, share in zip(RULES, other, strict=True)), end="")
    far = max(abs(a - sum(b) / given.stages) for a, b in zip(accuracy, overall, strict=True))
    print(f"; accuracy by at most {far:.1e}")

    differ, of, each = checked(grams, sessions, choice)
    print(f"the same tensors on one core: {differ} of {of:,} choices differ (float64); ", end="")
    print(f"{each * 1e6:.1f} µs per session, {each * total / spent:.1f}×")
    if device.type == "cuda":
        print(f"most memory in use: {torch.cuda.max_memory_allocated(device) / 2**30:.1f} GiB")
    compiled = sum(cpu.values()) * given.stages if cpu else None
    record(
        __file__,
        f"all {len(RULES)} rules × {given.stages} stages, {total:,} sessions of {N_TRIALS} trials (synthetic features)",
        [
            timed("all rules × all stages, float64", spent, "s", "compiled path on one core" if cpu else "", compiled),
            timed("the same in float32", short, "s", "compiled path on one core" if cpu else "", compiled),
        ],
        seen=f"{spent:.1f} s in float64{f' ({compiled / spent:.0f} × the compiled path on one core)' if compiled else ''}, "
        f"{short:.1f} s in float32; {differ:,} of {of:,} choices differ from the CPU's in float64",
        clock="wall time",
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else "",
        variant="" if device.type == "cuda" else "cpu",
    )
    return int(differ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
