"""A training step of ProtoNet and of SimCLR next to a plain loop: eager float32, batches made on the host image by image.

The plain loop is what the papers' repositories do: pick drawings in Python, transform each with Pillow (SimCLR), stack, copy,
step, and ask for the loss. CPU time where there is no GPU (one thread; there the arithmetic is nearly all), else wall time.

Run: python speed/training_step.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from exemplar import seeds
from exemplar.spaces.networks.conv4 import Conv4
from exemplar.spaces.objectives.protonet import ProtoNet
from exemplar.spaces.objectives.simclr import SimClr, contrast
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train
from exemplar.spaces.training.objective import Objective
from record import ONE_CORE, Row, record, timed

SIZE, N_CLASSES, N_EACH = 50, 300, 20
GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WARM, STEPS = (40, 400) if GPU else (1, 4)
VARIANTS: dict[str, dict[str, Any]] = {"eager": {}}
if GPU:
    VARIANTS |= {
        "eager, bf16": {"precision": "bf16-mixed"},
        "replayed": {"replay": True},
        "replayed, bf16": {"replay": True, "precision": "bf16-mixed"},
        "compiled, replayed": {"compile": True, "replay": True},
        "compiled, replayed, bf16": {"compile": True, "replay": True, "precision": "bf16-mixed"},
    }


class Watch:
    """Reads the clock when step WARM begins and when step WARM + STEPS does: what comes before the first of them, compiling
    and recording included, does not count."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def begin(self, step: int) -> None:
        if step in (WARM, WARM + STEPS):
            if GPU:
                torch.cuda.synchronize()
            self.times.append(time.perf_counter() if GPU else time.process_time())

    @property
    def seconds_per_step(self) -> float:
        return (self.times[1] - self.times[0]) / STEPS


class Watched:
    """An objective under a watch: its rate is asked for once at the beginning of each step."""

    def __init__(self, objective: Objective, watch: Watch) -> None:
        self.objective, self.watch = objective, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def rate(self, step: int) -> float:
        self.watch.begin(step)
        return self.objective.rate(step)


def plain_protonet(pixels: np.ndarray, watch: Watch, rng: np.random.Generator) -> None:
    network = Conv4(SIZE).to(DEVICE)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for step in range(WARM + STEPS + 1):
        watch.begin(step)
        support, query = [], []
        for k in rng.permutation(N_CLASSES)[:60]:
            first, second = rng.permutation(N_EACH)[:2]
            support.append(as_tensor(pixels[k, first]))
            query.append(as_tensor(pixels[k, second]))
        prototypes, queries = network(torch.stack(support + query).to(DEVICE)).chunk(2)
        distances = (queries[:, None] - prototypes).square().sum(2)
        descend(functional.cross_entropy(-distances, torch.arange(60).to(DEVICE)), optimizer)


def plain_simclr(pixels: np.ndarray, watch: Watch, rng: np.random.Generator) -> None:
    network, images = Conv4(SIZE).to(DEVICE), pixels.reshape(-1, SIZE, SIZE)
    optimizer = torch.optim.RMSprop(network.parameters(), 1e-3)
    for step in range(WARM + STEPS + 1):
        watch.begin(step)
        chosen = [Image.fromarray(images[row]) for row in rng.permutation(len(images))[:128]]
        views = [as_tensor(np.asarray(view(image, rng))) for _ in range(2) for image in chosen]
        descend(contrast(network(torch.stack(views).to(DEVICE)), 0.5)[0], optimizer)


def descend(loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def as_tensor(image: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(image.astype(np.float32) / 255)[None]


def view(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """One of a crop, an affine map and a perspective, as in the preset `moderate`, the way torchvision does it."""
    kind = rng.integers(3)
    if kind == 0:
        area, ratio = rng.uniform(0.1, 0.9) * SIZE**2, math.exp(rng.uniform(math.log(0.8), math.log(1.2)))
        wide, tall = min(SIZE, math.sqrt(area * ratio)), min(SIZE, math.sqrt(area / ratio))
        left, top = rng.uniform(0, SIZE - wide), rng.uniform(0, SIZE - tall)
        return image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, (left, top, left + wide, top + tall))
    if kind == 1:
        angle, tilt = (math.radians(rng.uniform(-most, most)) for most in (15, 10))
        zoom, (x, y) = rng.uniform(0.75, 1.25), rng.uniform(-5, 5, 2).round() + SIZE / 2
        a, c = math.cos(angle) / zoom, -math.sin(angle) / zoom
        b, d = -c + a * math.tan(tilt), a + c * math.tan(tilt)
        matrix = (a, b, SIZE / 2 - a * x - b * y, c, d, SIZE / 2 - c * x - d * y)
        return image.transform((SIZE, SIZE), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)
    if rng.random() < 0.5:
        return image
    corners = np.array([(0, 0), (SIZE - 1, 0), (SIZE - 1, SIZE - 1), (0, SIZE - 1)], float)
    moved = np.abs(corners - rng.integers(0, SIZE // 4 + 1, (4, 2)))
    rows = [(x, y, 1, 0, 0, 0, -u * x, -u * y) for (x, y), (u, _) in zip(moved, corners, strict=True)]
    rows += [(0, 0, 0, x, y, 1, -v * x, -v * y) for (x, y), (_, v) in zip(moved, corners, strict=True)]
    matrix = tuple(np.linalg.solve(rows, corners.T.ravel()))
    return image.transform((SIZE, SIZE), Image.Transform.PERSPECTIVE, matrix, Image.Resampling.BILINEAR)


def main() -> None:
    torch.set_num_threads(1)
    rng = seeds.rng("speed", "training step")
    pixels = (rng.random((N_CLASSES, N_EACH, SIZE, SIZE)) < 0.1).astype(np.uint8) * 255
    flat, label = pixels.reshape(-1, SIZE, SIZE), np.arange(N_CLASSES).repeat(N_EACH)
    data = TrainingImages.of(flat, label, [str(k) for k in range(N_CLASSES)], np.arange(N_CLASSES) * N_EACH)
    peers: list[tuple[Objective, Callable[..., None]]] = [(ProtoNet(), plain_protonet), (SimClr(), plain_simclr)]
    print(f"{'on ' + (torch.cuda.get_device_name() if GPU else 'one CPU thread'):44}{'ms per step':>12}{'ratio':>8}")
    rows: list[Row] = []
    for objective, plain in peers:
        name, watch = type(objective).__name__, Watch()
        plain(pixels, watch, seeds.rng("plain"))
        peer = watch.seconds_per_step
        print(f"{name + ', plain loop':44}{1000 * peer:12.2f}{1:8.2f}")
        for variant, options in VARIANTS.items():
            ours = time_training(objective, data, options)
            print(f"{name + ', ' + variant:44}{1000 * ours:12.2f}{peer / ours:8.2f}")
            rows.append(timed(f"{name}, {variant}", 1000 * ours, "ms per step", "plain eager loop", 1000 * peer))
        if GPU:
            print(where_time_goes(objective, data))
    record(
        __file__,
        "a training step next to an eager loop with per-image augmentation",
        rows,
        seen=", ".join(f"{row.what} {row.ratio:.1f} ×" for row in rows),
        clock="wall time" if GPU else ONE_CORE,
        device=torch.cuda.get_device_name() if GPU else "",
        variant="" if GPU else "cpu",
    )


def time_training(objective: Objective, data: TrainingImages, options: dict[str, Any]) -> float:
    """Seconds per step of ours."""
    watch = Watch()
    watched: Any = Watched(objective, watch)
    train(watched, data, steps=WARM + STEPS + 1, seed=0, every=WARM + STEPS + 1, device=DEVICE, **options)
    return watch.seconds_per_step


def where_time_goes(objective: Objective, data: TrainingImages) -> str:
    """The kernels of a step that take longest, in microseconds per step and how often; what is replayed are the same ones."""
    n = 20
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        train(objective, data, steps=n, seed=0, every=n, device=DEVICE)
    kernels = sorted(profile.key_averages(), key=lambda kernel: -kernel.self_device_time_total)
    total, launches = sum(k.self_device_time_total for k in kernels) / n, sum(k.count for k in kernels) / n
    rows = [f"    {k.self_device_time_total / n:8.1f} µs {k.count / n:6.1f} × {k.key[:90]}" for k in kernels[:12]]
    return "\n".join([f"  on the device {total:.0f} µs per step in {launches:.0f} launches, of which", *rows])


if __name__ == "__main__":
    main()
