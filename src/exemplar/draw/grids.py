"""Sweeps as code: every combination of some settings, and the ranges that the papers explored, by the appendix they stand in.

grid(width=(24, 40), diffusion_steps=(200, 600))     # four settings of `exemplar draw train --setting …`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from exemplar.draw.presets import find_preset, with_settings
from exemplar.errors import UserError, unknown


def grid(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination, the last axis moving fastest.

    >>> grid(width=(24, 40), seed=range(2))
    [{'width': 24, 'seed': 0}, {'width': 24, 'seed': 1}, {'width': 40, 'seed': 0}, {'width': 40, 'seed': 1}]
    """
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


@dataclass(frozen=True)
class Grid:
    """What was varied. preset, data: what was trained, on what; axes: setting → values, `seed` among them where several were
    trained; guidance: values at which each trained network draws; text: where the numbers come from."""

    preset: str
    data: str
    axes: Mapping[str, tuple[Any, ...]]
    text: str
    guidance: tuple[float, ...] = field(default=())

    @property
    def trainings(self) -> list[dict[str, Any]]:
        return grid(**self.axes)

    @property
    def n_models(self) -> int:
        """As the papers count: a network at each guidance."""
        return len(self.trainings) * max(len(self.guidance), 1)


def coded_widths(first: int, last: int) -> tuple[int, ...]:
    """Widths of the text, by 12, as the code has them: what the text calls 48 has the 5.9 M parameters of width 40."""
    return tuple(width * 40 // 48 for width in range(first, last + 1, 12))


def quarters(last: int) -> tuple[float, ...]:
    """From .25 to the last, by .25."""
    return tuple(k / 4 for k in range(1, 4 * last + 1))


SEEDS = (0, 1, 2)  # a point of the first paper's studies is a mean over so many
LATENT = "Sizes of the latent variable: the ends are the paper's, those between are ours."
T = tuple(range(200, 901, 100))
SET_T = tuple(range(200, 1001, 200))
GUIDANCE = (0.5, 1.0, 2.0, 3.0, 5.0)
OMNIGLOT = "Widths of the text times 40 / 48, as they were coded."
QUICKDRAW = "Widths as printed: on QuickDraw-FS 60 has the 13.1 M parameters of the paper."
GRIDS = {
    "F.3": Grid(
        "ddpm", "omniglot", {"diffusion_steps": T, "width": coded_widths(36, 120)},
        f"DDPM on Omniglot, 64 models. {OMNIGLOT}",
    ),
    "G.4": Grid(
        "cfgdm", "omniglot", {"diffusion_steps": T, "width": coded_widths(12, 96)},
        f"CFGDM on Omniglot, 320 models of 64 trainings. {OMNIGLOT}", GUIDANCE,
    ),
    "H.4": Grid(
        "fsdm", "omniglot", {"set_size": (2, 3, 4, 5, 6), "diffusion_steps": SET_T, "blocks": (1, 2, 3, 4)},
        "FSDM on Omniglot, 100 models. The paper's “200 to 100 with steps of 200 (5 values)” means 1,000.",
    ),
    "I.2": Grid(
        "ddpm", "quickdraw-fs", {"seed": (0, 1), "diffusion_steps": T, "width": tuple(range(24, 109, 12))},
        f"DDPM on QuickDraw-FS, 128 models. {QUICKDRAW}",
    ),
    "J.2": Grid(
        "cfgdm", "quickdraw-fs", {"seed": (0, 1), "diffusion_steps": T, "width": tuple(range(24, 109, 12))},
        f"CFGDM on QuickDraw-FS, 640 models of 128 trainings; the paper counts 320. {QUICKDRAW}", GUIDANCE,
    ),
    "N.4": Grid(
        "fsdm-vit", "quickdraw-fs", {"set_size": (3, 4, 5, 6), "diffusion_steps": SET_T, "blocks": (3, 4, 5, 6)},
        "FSDM on QuickDraw-FS, 80 models. The paper's “200 to 100” means 1,000.",
    ),
    "S12": Grid(
        "vae-ns", "omniglot", {"seed": SEEDS, "set_size": tuple(range(2, 21))},
        "VAE-NS on Omniglot, context of 2 to 20 drawings.",
    ),
    "S13": Grid(
        "vae-stn", "omniglot", {"seed": SEEDS, "attention_steps": tuple(range(20, 91, 10))},
        "VAE-STN on Omniglot, 20 to 90 steps of attention.",
    ),
    "S15-NS": Grid(
        "vae-ns", "omniglot", {"seed": SEEDS, "beta": quarters(5)}, "VAE-NS on Omniglot, β from .25 to 5."
    ),
    "S15-STN": Grid(
        "vae-stn", "omniglot", {"seed": SEEDS, "beta": quarters(4)}, "VAE-STN on Omniglot, β from .25 to 4."
    ),
    "S16-NS": Grid(
        "vae-ns", "omniglot", {"seed": SEEDS, "latent": (5, 10, 16, 25, 50, 75, 100)}, f"VAE-NS on Omniglot. {LATENT}"
    ),
    "S16-STN": Grid(
        "vae-stn", "omniglot", {"seed": SEEDS, "latent": (5, 10, 20, 40, 80, 160, 400)}, f"VAE-STN on Omniglot. {LATENT}"
    ),
    "S16-UN": Grid(
        "dagan-un", "omniglot", {"seed": SEEDS, "latent": (10, 50, 128, 250, 500, 1000)},
        f"DA-GAN-UN on Omniglot. {LATENT}",
    ),
    "S16-RN": Grid(
        "dagan-rn", "omniglot", {"seed": SEEDS, "latent": (10, 50, 128, 250, 500)}, f"DA-GAN-RN on Omniglot. {LATENT}"
    ),
    "K.3": Grid(
        "vae-ns-quickdraw", "quickdraw-fs",
        {"latent": (40, 80, 120), "layers": (2, 6, 10), "beta": (0.1, 0.5, 1.0, 2.0), "set_size": (2, 5, 10)},
        "VAE-NS on QuickDraw-FS, 108 models.",
    ),
}  # fmt: skip


def find_grid(name: str) -> Grid:
    if name not in GRIDS:
        raise unknown("grid", name, GRIDS)
    return GRIDS[name]


def parse_grid(preset: str, data: str, words: Iterable[str]) -> Grid:
    """A grid of one's own: `width=24,40` and `seed=0,1` vary both; refused where the preset has no such setting."""
    from exemplar.draw.training import parse_objective

    axes: dict[str, tuple[Any, ...]] = {}
    for word in words:
        name, equals, values = (part.strip() for part in word.partition("="))
        if not equals or not values:
            raise UserError(f"an axis of a grid is written NAME=VALUE,VALUE…, as in width=24,40, not {word!r}")
        found = [parse_objective([f"{name}={value}"]) for value in values.split(",") if value]
        axes[next(iter(found[0]))] = tuple(value for some in found for value in some.values())
    if not axes:
        raise UserError(
            "a grid of your own varies something: give --vary NAME=VALUE,VALUE…, or name a grid of the paper"
        )
    own = Grid(preset, data, axes, "a grid of your own")
    for point in own.trainings:
        with_settings(find_preset(preset), {name: value for name, value in point.items() if name != "seed"})
    return own
