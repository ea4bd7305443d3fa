"""The diffusion agents that can be trained: a preset is a network with its objective, and with a data set it is a recipe.

Only torch is needed here, so that a recipe can be trained on a machine that has nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from exemplar.draw.diffusion.networks import count_parameters
from exemplar.draw.diffusion.objective import Denoising, Objective, SetDenoising
from exemplar.draw.diffusion.samplers import Sampling
from exemplar.errors import UserError, unknown
from exemplar.spaces.recipes import Recipe

SIZE = 48  # px: the U-Nets halve images twice or three times
OBJECTIVES: dict[str, type[Objective]] = {"Denoising": Denoising, "SetDenoising": SetDenoising}
CODED = "Width, T, dropping, rate and its decay as in the authors' code"
RESCALED = "β is rescaled to T, so that T = 600 has the published schedule; nothing was chosen on data"
SETS = (
    "Widths and counts as in the public few-shot-diffusion-models; H.2 and N.2 say that the U-Net is DDPM's, the counts that "
    "it is not. Ours: sets of 5, T = 1000, no dropout (there .2), the noise's variance is not learned, and a block's last "
    "layers run once (there twice)"
)


@dataclass(frozen=True)
class Preset:
    """agent: whose preset it is; what: one line; objective: network and training; epochs: of the paper; note: for the card,
    what is as coded, what contradicts the text, what is ours."""

    agent: str
    what: str
    objective: Objective
    note: str
    epochs: int = 300

    @property
    def parameters(self) -> int:
        """How many numbers are learned, counted in the network itself."""
        with torch.device("meta"):  # nothing is filled
            return count_parameters(self.objective.make_network(SIZE))


@dataclass(frozen=True)
class DataSetting:
    """What a preset is trained on. data: name and split; images: how many; threshold: of ink; exemplars: the space in which
    they are central, None where the data comes with exemplars."""

    data: tuple[str, str]
    images: int
    threshold: float = 0.5
    exemplars: str | None = None


DDPM, CFGDM = Denoising(), Denoising(drop=0.1)
PRESETS = {
    "ddpm": Preset("ddpm", "5.96 M, the paper's on Omniglot", DDPM, f"{CODED}. {RESCALED}."),
    "ddpm-text": Preset(
        "ddpm", "8.49 M, as wide as the text says", replace(DDPM, width=48),
        f"First width 48, as F.1 says, which is not 5.9 M. {RESCALED}.",
    ),
    "ddpm-wide": Preset("ddpm", "13.1 M, the paper's on QuickDraw-FS", replace(DDPM, width=60), f"{CODED}. {RESCALED}."),
    "cfgdm": Preset("cfgdm", "5.96 M, the paper's on Omniglot", CFGDM, f"{CODED}. {RESCALED}."),
    "cfgdm-text": Preset(
        "cfgdm", "8.49 M, as wide as the text says", replace(CFGDM, width=48),
        f"First width 48, as F.1 says, which is not 5.9 M. {RESCALED}.",
    ),
    "cfgdm-wide": Preset(
        "cfgdm", "13.1 M, the paper's on QuickDraw-FS", replace(CFGDM, width=60), f"{CODED}. {RESCALED}."
    ),
    "cfgdm-small": Preset(
        "cfgdm", "1.04 M, draws in seconds on a CPU", replace(CFGDM, width=16, average=0.999),
        f"Ours: narrow, and an average of the weights over training is kept. {RESCALED}.",
    ),
    "cfgdm-tiny": Preset(
        "cfgdm", "0.18 M, to try things out", replace(CFGDM, width=6, batch=32, learning_rate=1e-3, average=0.99),
        f"Ours: for tests and first tries. {RESCALED}.", epochs=4,
    ),
    "fsdm": Preset("fsdm", "6.61 M, the paper's on Omniglot: U-Net encoder", SetDenoising(), f"{SETS}."),
    "fsdm-vit": Preset(
        "fsdm", "12.9 M, the paper's on QuickDraw-FS: sViT encoder",
        SetDenoising(network="set-vit-unet", blocks=4, context=256), epochs=200,
        note=f"{SETS}. Four residual blocks per level are the number that gives 7.2 M. Positions of patches are sines, since "
        "Table 7 has no parameters for them.",
    ),
}  # fmt: skip
DATA = {
    "omniglot": DataSetting(("omniglot", "weak-train"), 29_460, exemplars="simclr-omniglot-released-s0"),
    "quickdraw-fs": DataSetting(("quickdraw-fs", "train"), 47_595, threshold=0.3),
    "glyphs": DataSetting(("glyphs", "weak-train"), 15_580, exemplars="simclr-glyphs-s0"),
}


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise unknown("diffusion agent or preset", name, PRESETS)
    return PRESETS[name]


def make_recipe(preset: Preset, setting: DataSetting, steps: int | None = None) -> Recipe:
    """steps: the preset's epochs unless given; nothing is held out."""
    objective = preset.objective
    wanted = steps or max(preset.epochs * (setting.images // objective.batch), 1)
    uses = isinstance(objective, Denoising) and not objective.shuffle
    recipe = Recipe(
        objective, (*setting.data, None), steps=wanted, size=SIZE, threshold=setting.threshold,
        exemplars=setting.exemplars if uses else None, chosen=preset.note,
    )  # fmt: skip
    return recipe.for_steps(wanted)


def with_settings(preset: Preset, settings: Mapping[str, Any]) -> Preset:
    """The preset with other settings of its objective, such as width, diffusion_steps, shuffle or average."""
    known = {field.name: type(getattr(preset.objective, field.name)) for field in fields(preset.objective)}
    known.pop("last_step", None)
    for name, value in settings.items():
        if name not in known:
            raise unknown(f"setting of {preset.agent}", name, known)
        if not isinstance(value, known[name]) and not (known[name] is float and isinstance(value, int)):
            raise UserError(f"{name} must be a {known[name].__name__}, got {value!r}")
    if not settings:
        return preset
    changed = ", ".join(f"{name} = {value}" for name, value in settings.items())
    return replace(
        preset,
        objective=replace(preset.objective, **settings),
        note=f"{preset.note} Changed from the preset: {changed}.",
    )


def read_objective(training: Mapping[str, Any]) -> Objective:
    """The objective as a card's `training` describes it."""
    kind = OBJECTIVES.get(str(training.get("objective")))
    if kind is None:
        raise UserError(f"a network trained by {training.get('objective')} is no diffusion agent: name another")
    return kind(**{field.name: training[field.name] for field in fields(kind) if field.name in training})


def default_sampling(objective: Objective) -> Sampling:
    """The one place where the default moves. Guidance 1 is the paper's base."""
    return Sampling(guidance=1.0 if can_guide(objective) else 0.0)


def can_guide(objective: Objective) -> bool:
    """Whether the network has learned what a drawing is without an exemplar, too."""
    return isinstance(objective, Denoising) and objective.drop > 0


RECIPES = {
    f"{name}-{data}": make_recipe(preset, setting) for name, preset in PRESETS.items() for data, setting in DATA.items()
}
