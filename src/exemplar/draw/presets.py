"""All that can be trained to draw, by name: presets, their objectives and networks; with a data set a preset is a recipe.

Only torch is needed here, so that a recipe can be trained on a machine that has nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from exemplar.draw.diffusion.networks import NETWORKS as DIFFUSION_NETWORKS
from exemplar.draw.diffusion.objective import Denoising, SetDenoising
from exemplar.draw.diffusion.presets import PRESETS as DIFFUSION_PRESETS
from exemplar.draw.gan.networks import NETWORKS as GAN_NETWORKS
from exemplar.draw.gan.objective import Adversarial
from exemplar.draw.gan.presets import PRESETS as GAN_PRESETS
from exemplar.draw.trainable import DataSetting, DrawingObjective, Preset
from exemplar.draw.vae.contextual import ContextVae
from exemplar.draw.vae.networks import NETWORKS as VAE_NETWORKS
from exemplar.draw.vae.presets import PRESETS as VAE_PRESETS
from exemplar.draw.vae.sequential import SequentialVae
from exemplar.errors import UserError, unknown
from exemplar.spaces.recipes import Recipe

NETWORKS: dict[str, Any] = {**DIFFUSION_NETWORKS, **VAE_NETWORKS, **GAN_NETWORKS}
OBJECTIVES: dict[str, Any] = {
    kind.name: kind for kind in (Denoising, SetDenoising, SequentialVae, ContextVae, Adversarial)
}
PRESETS: dict[str, Preset] = {**DIFFUSION_PRESETS, **VAE_PRESETS, **GAN_PRESETS}
DATA = {
    "omniglot": DataSetting(("omniglot", "weak-train"), 29_460, exemplars="simclr-omniglot-released-s0"),
    "quickdraw-fs": DataSetting(("quickdraw-fs", "train"), 47_595, threshold=0.3),
    "glyphs": DataSetting(("glyphs", "weak-train"), 15_580, exemplars="simclr-glyphs-s0"),
}


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise unknown("agent or preset to train", name, PRESETS)
    return PRESETS[name]


def make_recipe(preset: Preset, setting: DataSetting, steps: int | None = None) -> Recipe:
    """steps: the preset's epochs unless given; nothing is held out."""
    objective = preset.objective
    wanted = steps or max(preset.epochs * (setting.images // objective.drawings_per_step), 1)
    recipe = Recipe(
        objective, (*setting.data, None), steps=wanted, size=preset.size, threshold=setting.threshold,
        exemplars=setting.exemplars if objective.shows_exemplars else None, chosen=preset.note,
    )  # fmt: skip
    return recipe.for_steps(wanted)


def with_settings(preset: Preset, settings: Mapping[str, Any]) -> Preset:
    """The preset with other settings of its objective, such as width, diffusion_steps, beta or shuffle."""
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


def read_objective(training: Mapping[str, Any]) -> DrawingObjective:
    """The objective as a card's `training` describes it."""
    kind = OBJECTIVES.get(str(training.get("objective")))
    if kind is None:
        raise UserError(f"a network trained by {training.get('objective')} is no agent of this room: name another")
    objective: DrawingObjective = kind(
        **{field.name: training[field.name] for field in fields(kind) if field.name in training}
    )
    return objective


RECIPES = {
    f"{name}-{data}": make_recipe(preset, setting) for name, preset in PRESETS.items() for data, setting in DATA.items()
}
