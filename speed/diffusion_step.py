"""A training step of DDPM's and CFGDM's U-Net: as a textbook writes it, and as we do it; and where its time goes.

Run: python speed/diffusion_step.py [--width 40 --batch 128 --minutes 4.5]; needs torch, NumPy and lightning_fabric alone
(from a bare checkout: PYTHONPATH=src). Wall time after a warm-up, the device waited for. The peer runs in the same run: the
same network with GroupNorm and linear attention as in textbooks, eager, in float32. All variants take the same steps from the
same weights with the same noise, and the mean loss of the last of them is printed beside the time: it must be the same up to
rounding. What would begin after `--minutes` is left out, and said. Without a GPU a tiny network takes a few eager steps.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn import functional

from exemplar import seeds
from exemplar.draw.diffusion import normalising
from exemplar.draw.diffusion.depthwise import Depthwise
from exemplar.draw.diffusion.layers import ImageNorm, LinearAttention
from exemplar.draw.diffusion.objective import Denoising
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.steps import Advance, plain_steps, replayed_steps, tried_kernels
from record import ONE_CORE, Row, record, timed

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
LAYOUT = {"force_layout_optimization": True}
KINDS = {  # of kernels, by the first pattern that is found in their name
    "our sums": r"^_sum",
    "depthwise": r"depthwise|conv2d_c1_k1|dgrad2d_c1|wgrad2d_c1|grouped_direct",
    "Adam": r"[Aa]dam|multi_tensor",
    "random numbers": r"distribution_|philox|randint|normal_",
    "layout copies": r"nchwToNhwc|nhwcToNchw|transpose|Memcpy|copy_kernel|direct_copy",
    "convolutions": r"cudnn|conv|wgrad|dgrad|fprop|implicit|xmma.*fprop",
    "attention": r"flash|fmha|attention|sdpa",
    "matrix products": r"gemm|cutlass|nvjet|gemv|splitK",
    "sums (normalisation, softmax)": r"triton_red|triton_per|reduce|softmax|welford",
    "pointwise": r"triton_poi|elementwise|vectorized|CatArray|gelu",
}


@dataclass(frozen=True)
class Variant:
    """textbook: the peer's layers; precision, compile, replay: as in the training loop; kernels: whether sums over
    px are a kernel of our own."""

    name: str
    textbook: bool = False
    precision: str = "32-true"
    compile: dict[str, Any] | None = None
    replay: bool = False
    kernels: bool = True
    also_plain: str = ""  # what to call the same without replaying, measured on the way


BF16: dict[str, Any] = {"precision": "bf16-mixed"}
ON_GPU = (
    Variant("textbook, eager, fp32", textbook=True),
    Variant("ours, compiled, bf16, replayed", **BF16, compile=LAYOUT, replay=True, also_plain="ours, compiled, bf16"),
    Variant("ours, compiled, bf16, replayed, sums by inductor", **BF16, compile=LAYOUT, replay=True, kernels=False),
    Variant("textbook, compiled, bf16, replayed", textbook=True, **BF16, compile=LAYOUT, replay=True,
            also_plain="textbook, compiled, bf16"),
    Variant("ours, compiled, bf16, replayed, joint pointwise kernels", **BF16, compile={**LAYOUT, "combo_kernels": True},
            replay=True),
    Variant("ours, eager, bf16, replayed", **BF16, replay=True),
)  # fmt: skip
ON_CPU = (Variant("textbook, eager, fp32", textbook=True), Variant("ours, eager, fp32"))


@dataclass
class Settings:
    """warm, steps: before the clock begins, and under it."""

    width: int = 40
    batch: int = 128
    size: int = 48
    warm: int = 12
    steps: int = 40
    began: float = field(default_factory=time.monotonic)


def textbook_norm(
    self: ImageNorm, images: torch.Tensor, added: torch.Tensor | None = None, gelu: bool = False
) -> torch.Tensor:
    images = images if added is None else images + added[:, :, None, None]
    images = functional.gelu(images) if gelu else images
    return functional.group_norm(images, self.groups, self.weight, self.bias, self.eps)


def textbook_attention(self: LinearAttention, images: torch.Tensor) -> torch.Tensor:
    b, _, h, w = images.shape
    query, key, value = (part.reshape(b, self.heads, self.width, h * w) for part in self.to_qkv(images).chunk(3, dim=1))
    context = torch.einsum("bhdn,bhen->bhde", key.softmax(-1), value)
    read = torch.einsum("bhde,bhdn->bhen", context, query.softmax(-2) * self.width**-0.5)
    return self.norm(self.to_out(read.reshape(b, -1, h, w)))


@contextmanager
def layers_of(variant: Variant) -> Iterator[None]:
    with ExitStack() as stack:
        if variant.textbook:
            stack.enter_context(mock.patch.object(ImageNorm, "forward", textbook_norm))
            stack.enter_context(mock.patch.object(LinearAttention, "forward", textbook_attention))
            stack.enter_context(mock.patch.object(Depthwise, "forward", nn.Conv2d.forward))
        if not variant.kernels:
            stack.enter_context(mock.patch.object(normalising, "HAS_TRITON", False))
        yield


def make_steps(variant: Variant, settings: Settings, data: TrainingImages) -> tuple[Advance, Advance, torch.Generator]:
    """A step taken plainly and one that is replayed if the variant says so; both move the same network."""
    torch._dynamo.reset()
    objective = Denoising(width=settings.width, batch=settings.batch, drop=0.1)
    torch.manual_seed(0)  # noqa: TID251
    network: nn.Module = objective.build(data).to(DEVICE, memory_format=torch.channels_last)  # type: ignore[call-overload]
    network.train()
    optimizer = objective.optimizer(network)
    if variant.replay:
        for group in optimizer.param_groups:
            group.update(capturable=True, fused=True, lr=torch.full((), group["lr"], device=DEVICE))
    learner: Any = network if variant.compile is None else torch.compile(network, options=dict(variant.compile))
    fabric = Fabric(accelerator=DEVICE.type, devices=1, precision=variant.precision)  # type: ignore[arg-type]
    rng = torch.Generator(DEVICE)
    plain = plain_steps(fabric, objective, learner, optimizer, data.to(DEVICE), rng)
    return plain, replayed_steps(plain, rng) if variant.replay else plain, rng


def run(advance: Advance, rng: torch.Generator, first: int, n: int) -> tuple[float, float]:
    """Seconds per step, and the mean loss."""
    wait()
    begun, losses = time.perf_counter(), []
    for step in range(first, first + n):
        rng.manual_seed(seeds.seed("speed", step))
        losses.append(advance(step)["loss"].clone())
    wait()
    return (time.perf_counter() - begun) / n, float(torch.stack(losses).mean())


def wait() -> None:
    if GPU:
        torch.cuda.synchronize()


def measure(variant: Variant, settings: Settings, data: TrainingImages) -> tuple[list[tuple[str, float, float]], str]:
    """Name, ms and loss of the variant (and of the same without replaying), and where the time of the last goes."""
    found = []
    plain, fast, rng = make_steps(variant, settings, data)
    run(plain, rng, 0, settings.warm)  # compiles
    seconds, loss = run(plain, rng, settings.warm, settings.steps)
    if variant.also_plain:
        found.append((variant.also_plain, 1000 * seconds, loss))
    begin = settings.warm + settings.steps
    run(fast, rng, begin, settings.warm)  # records
    seconds, again = run(fast, rng, begin + settings.warm, settings.steps)
    found.append((variant.name, 1000 * seconds, again))
    return found, where_time_goes(fast, rng, begin + settings.warm + settings.steps)


def where_time_goes(advance: Advance, rng: torch.Generator, first: int, n: int = 5) -> str:
    """ms per step by kind of kernel, then the kernels that take longest; on a CPU by operation."""
    kind = torch.profiler.ProfilerActivity.CUDA if GPU else torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[kind]) as profile:
        run(advance, rng, first, n if GPU else 1)
    steps = n if GPU else 1

    def ms(kernel: Any) -> float:
        return (kernel.self_device_time_total if GPU else kernel.self_cpu_time_total) / 1000 / steps

    kernels = sorted(profile.key_averages(), key=lambda kernel: -ms(kernel))
    kinds: dict[str, float] = {}
    for kernel in kernels:
        which = next((name for name, pattern in KINDS.items() if re.search(pattern, kernel.key)), "other")
        kinds[which] = kinds.get(which, 0.0) + ms(kernel)
    launches = sum(kernel.count for kernel in kernels) / steps
    lines = [f"  {sum(kinds.values()):8.2f} ms in {launches:.0f} kernels, of which"]
    lines += [f"  {value:8.2f} ms  {name}" for name, value in sorted(kinds.items(), key=lambda pair: -pair[1])]
    lines += [f"    {ms(kernel):6.3f} ms {kernel.count / steps:6.1f} × {kernel.key[:110]}" for kernel in kernels[:40]]
    return "\n".join(lines)


def check_layers() -> str:
    """Whether our normalisation agrees with the library's on this GPU, forward and backward, and how long each takes."""
    if not GPU:
        return ""
    lines = [
        "GELU, then GroupNorm, bf16, batch 128, compiled (library's, ours, largest difference beside float32's largest):"
    ]
    for channels, side in ((80, 48), (160, 24), (320, 12)):
        rng = torch.Generator(DEVICE).manual_seed(0)
        make = {"generator": rng, "device": DEVICE}
        images = torch.randn(128, channels, side, side, **make).contiguous(memory_format=torch.channels_last)
        change = torch.randn(128, channels, side, side, **make).contiguous(memory_format=torch.channels_last)
        norm = ImageNorm(channels).to(DEVICE)

        def both(function: Callable[..., torch.Tensor], kind: torch.dtype) -> list[torch.Tensor]:
            given = images.to(kind).requires_grad_()  # noqa: B023
            out = function(norm, given, gelu=True)  # noqa: B023
            return [out.detach(), *torch.autograd.grad(out, (given, norm.weight, norm.bias), change.to(kind))]  # noqa: B023

        true, times, apart = both(textbook_norm, torch.float32), [], 0.0
        for function in (textbook_norm, ImageNorm.forward):
            torch._dynamo.reset()
            compiled = torch.compile(function)
            found = both(compiled, torch.bfloat16)
            apart = max(float((a - b.float()).abs().max() / a.abs().max()) for a, b in zip(true, found, strict=True))
            for _ in range(5):
                both(compiled, torch.bfloat16)
            wait()
            begun = time.perf_counter()
            for _ in range(20):
                both(compiled, torch.bfloat16)
            wait()
            times.append((time.perf_counter() - begun) / 20 * 1000)
        lines.append(f"  {channels:4} channels at {side} px: {times[0]:7.3f} ms {times[1]:7.3f} ms {apart:9.1e}")
    return "\n".join(lines)


def make_data(settings: Settings) -> TrainingImages:
    rng = seeds.rng("speed", "diffusion step")
    pixels = (rng.random((2000, settings.size, settings.size)) < 0.1).astype(np.uint8) * 255
    return TrainingImages.of(pixels, np.arange(2000) // 20, [str(k) for k in range(100)], np.arange(100) * 20)


def main(words: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=40 if GPU else 6)
    parser.add_argument("--batch", type=int, default=128 if GPU else 2)
    parser.add_argument("--size", type=int, default=48 if GPU else 16)
    parser.add_argument("--minutes", type=float, default=4.5, help="no variant begins later than this")
    parser.add_argument("--only", action="append", help="a variant to measure, by its whole name; may be repeated")
    parser.add_argument("--dry", action="store_true", help="print, and keep nothing")
    given = parser.parse_args(words)
    settings = Settings(given.width, given.batch, given.size, *((12, 40) if GPU else (1, 2)))
    if not GPU:
        torch.set_num_threads(1)
    data, rows, notes = make_data(settings), [], []
    if GPU:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, width {given.width}, batch {given.batch}")
    try:
        print(check_layers())
    except Exception as problem:  # a compiler's refusal must not cost the rest
        print(f"our normalisation does not run here: {type(problem).__name__}: {problem}")
        notes.append("our normalisation did not run by itself")
    peer: float | None = None
    took = 0.0
    with tried_kernels():
        for variant in ON_GPU if GPU else ON_CPU:
            begun = time.monotonic()
            if (given.only and variant.name not in given.only) or (begun + took - settings.began) / 60 > given.minutes:
                notes.append(f"{variant.name} was left out")
                print(notes[-1])
                continue
            try:
                with layers_of(variant):
                    found, where = measure(variant, settings, data)
            except Exception as problem:  # as above
                notes.append(f"{variant.name} failed: {type(problem).__name__}: {str(problem)[:200]}")
                print(notes[-1])
                continue
            took = time.monotonic() - begun if variant.compile else took
            for name, ms, loss in found:
                peer = ms if peer is None else peer
                rows.append(timed(name, ms, "ms per step", rows[0].what if rows else name, peer))
                print(f"{name:60}{ms:9.2f} ms{peer / ms:7.2f} ×  loss {loss:.4f}", flush=True)
            print(f"{where}\n  ({time.monotonic() - begun:.0f} s in all)", flush=True)
            if GPU:
                torch.cuda.empty_cache()
    if rows and not given.dry:
        best = min(rows, key=lambda row: row.value)
        record(
            __file__, f"a training step of the U-Net at width {given.width}, batch {given.batch}", rows,
            seen=f"{best.what} {best.value:.1f} ms, {best.ratio:.1f} ×", clock="wall time" if GPU else ONE_CORE,
            device=torch.cuda.get_device_name() if GPU else "", notes=notes,
            variant="" if GPU and given.width == 40 else f"width-{given.width}" if GPU else "cpu",
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
