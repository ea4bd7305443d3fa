"""A training step of the VAEs and GANs: plainly, compiled, and replayed as one CUDA graph; of VAE-STN, 60 steps of attention.

Run: python speed/one_pass_step.py [vae-stn vae-ns dagan-un --minutes 8]; needs torch, NumPy and lightning_fabric alone (from a
bare checkout: PYTHONPATH=src). Wall time after a warm-up, the device waited for. All variants take the same steps from the same
weights with the same noise; the mean loss of the last of them is printed beside the time and must be the same up to rounding.
What would begin after `--minutes` is left out, and said; so is a variant that fails. Without a GPU tiny networks take a few
eager steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric

from exemplar import seeds
from exemplar.draw.presets import find_preset
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import compile_network
from exemplar.spaces.training.steps import Advance, plain_steps, replayed_steps, tried_kernels
from record import Row, record, timed

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
PRESETS = ("vae-stn", "vae-ns", "dagan-un") if GPU else ("vae-stn-tiny", "vae-ns-tiny", "dagan-tiny")
VARIANTS: dict[str, dict[str, Any]] = {
    "eager, fp32": {},
    "eager, fp32, replayed": {"replay": True},
    "eager, bf16, replayed": {"precision": "bf16-mixed", "replay": True},
    "compiled, bf16": {"precision": "bf16-mixed", "compile": True},
    "compiled, bf16, replayed": {"precision": "bf16-mixed", "compile": True, "replay": True},
}
OF_GANS = ("eager, fp32", "eager, fp32, replayed", "eager, bf16, replayed")  # what is compiled has no second derivative
WARM, STEPS = (8, 30) if GPU else (1, 2)


def make_steps(
    name: str, data: TrainingImages, *, precision: str = "32-true", compile: bool = False, replay: bool = False
) -> tuple[Advance, torch.Generator]:
    objective = find_preset(name).objective
    torch.manual_seed(0)  # noqa: TID251
    network = objective.build(data).to(DEVICE, memory_format=torch.channels_last)  # type: ignore[call-overload]
    network.train()
    optimizer = objective.optimizer(network)
    if replay:
        for group in optimizer.param_groups:
            group.update(capturable=True, fused=True, lr=torch.full((), group["lr"], device=DEVICE))
    learner = compile_network(network, {"force_layout_optimization": True}) if compile else network
    fabric = Fabric(accelerator=DEVICE.type, devices=1, precision=precision)  # type: ignore[arg-type]
    rng = torch.Generator(DEVICE)
    advance = plain_steps(fabric, objective, learner, optimizer, data.to(DEVICE), rng)
    return replayed_steps(advance, rng) if replay else advance, rng


def measure(name: str, data: TrainingImages, **how: Any) -> tuple[float, float, float]:
    """ms per step, the mean loss, and seconds until the first steps were taken."""
    begun = time.monotonic()
    advance, rng = make_steps(name, data, **how)
    found: list[float] = []
    for first, n in ((0, WARM), (WARM, STEPS)):
        wait()
        start, losses = time.perf_counter(), []
        for step in range(first, first + n):
            rng.manual_seed(seeds.seed("speed", step))
            losses.append(advance(step)["loss"].clone())
        wait()
        found = [1000 * (time.perf_counter() - start) / n, float(torch.stack(losses).mean())]
        if not first:
            ready = time.monotonic() - begun
    return found[0], found[1], ready


def wait() -> None:
    if GPU:
        torch.cuda.synchronize()


def make_data(size: int) -> TrainingImages:
    pixels = (seeds.rng("speed", "one pass").random((2000, size, size)) < 0.1).astype(np.uint8) * 255
    return TrainingImages.of(pixels, np.arange(2000) // 20, [str(k) for k in range(100)], np.arange(100) * 20)


def main(words: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", nargs="*", default=list(PRESETS))
    parser.add_argument("--minutes", type=float, default=8, help="no variant begins later than this")
    given = parser.parse_args(words)
    began, rows, notes = time.monotonic(), [], []
    for name in given.preset:
        chosen = VARIANTS if "gan" not in name else {key: VARIANTS[key] for key in OF_GANS}
        plain = 0.0
        for variant, how in chosen.items():
            if not GPU and variant != "eager, fp32":
                continue
            if time.monotonic() - began > 60 * given.minutes:
                notes.append(f"{name}, {variant} was left out")
                print(notes[-1], flush=True)
                continue
            if GPU:
                torch._dynamo.reset()
            try:
                with tried_kernels():
                    ms, loss, ready = measure(name, make_data(find_preset(name).size), **how)
            except Exception as problem:  # a compiler's refusal must not cost the rest
                notes.append(f"{name}, {variant} failed: {type(problem).__name__}: {str(problem)[:200]}")
                print(notes[-1], flush=True)
                continue
            plain = plain or ms
            print(f"{name}, {variant}: {ms:8.2f} ms, loss {loss:.4f}, ready after {ready:.0f} s", flush=True)
            peer = {} if variant == "eager, fp32" else {"peer": f"{name}, eager, fp32", "peer_value": plain}
            rows.append(timed(f"{name}, {variant}", ms, "ms per step", **peer))  # type: ignore[arg-type]
    if rows:
        best = max(rows, key=lambda row: row.ratio or 0)
        seen = f"{best.what} {best.value:.1f} ms" + (f", {best.ratio:.1f} ×" if best.ratio else "")
        record(
            __file__, "a training step of the VAEs and GANs, next to the eager one", rows, seen=seen, clock="wall time",
            device=torch.cuda.get_device_name() if GPU else "", notes=notes, variant="" if GPU else "cpu",
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
