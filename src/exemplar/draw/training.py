"""The verb `train`: an agent from drawings to weights and card; what was stopped resumes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from exemplar.answers import Answer, format_pairs
from exemplar.draw.diffusion.gathering import find_setting, gather_images
from exemplar.draw.diffusion.keeping import SheetWatcher, save_agent
from exemplar.draw.presets import find_preset, make_recipe, with_settings
from exemplar.draw.trainable import DataSetting, DrawingObjective, Preset
from exemplar.errors import UserError
from exemplar.files import check_folder, whole_file
from exemplar.spaces.figures import plot_training
from exemplar.spaces.recipes import Recipe, describe_machine
from exemplar.spaces.training.checkpoints import CHECKPOINT
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import Trained, check_devices, train

ROUNDED = "Weights are saved rounded to bfloat16, 8 bits of precision."


@dataclass(frozen=True, eq=False)
class TrainingRequest:
    """The arguments of the verb, understood: what is trained, on what, and what it will be called."""

    name: str
    preset: Preset
    setting: DataSetting
    steps: int | None
    hold_out: str | None
    seed: int

    @classmethod
    def of(
        cls, agent: str, data: str, split: str | None, settings: Sequence[str], steps: int | None, hold_out: str | None,
        seed: int,
    ) -> TrainingRequest:  # fmt: skip
        changed = parse_objective(settings)
        preset = with_settings(find_preset(agent), changed)
        preset.objective.check_settings()  # before anything is loaded
        setting = find_setting(data, split)
        words = [f"{key.replace('_', '-')}-{value}".lower() for key, value in changed.items()]
        place = Path(data).name.removesuffix(".npz") + ("" if split is None else f"-{split}")
        stem = "-".join([agent, *words, re.sub(r"[^\w-]+", "-", place).strip("-") or "mine"])
        return cls(f"{stem}-s{seed}", preset, setting, steps, hold_out, seed)

    def gather(self, device: str) -> tuple[TrainingImages, Recipe]:
        """The drawings, and the recipe with all that is known by then."""
        objective = self.preset.objective
        images, setting = gather_images(
            self.setting,
            size=self.preset.size,
            exemplars=objective.shows_exemplars,
            hold_out=self.hold_out,
            device=device,
        )
        recipe = make_recipe(self.preset, setting, self.steps)
        if self.hold_out is not None:
            recipe = replace(recipe, data=(*recipe.data[:2], self.hold_out), apart=True)
        return images, recipe


def train_agent(
    agent: str,
    data: str,
    split: str | None,
    settings: Sequence[str],
    steps: int | None,
    hold_out: str | None,
    out: Path | str,
    every: int,
    device: str,
    devices: int,
    seed: int,
) -> Answer:
    """Weights and card of a preset, trained on drawings, into the folder `out`."""
    request = TrainingRequest.of(agent, data, split, settings, steps, hold_out, seed)
    folder = Path(out).expanduser()
    work, sheet = folder / "training" / request.name, folder / f"{request.name}.png"
    check_devices(device, devices)
    check_folder(folder)
    images, recipe = request.gather(device)
    said: list[str] = []
    trained, recipe = train_in_memory(
        recipe, images, seed=seed, folder=work, device=device, devices=devices, every=every,
        watch=SheetWatcher.of(sheet, images, recipe), said=said, **recipe.speed_options(device, devices),
    )  # fmt: skip
    save_agent(
        request.name, recipe, seed, trained, folder, concepts=images.names, machine=describe_machine(device, devices)
    )
    return describe_training(request.name, folder, recipe, images, trained, said)


def describe_training(
    name: str, folder: Path, recipe: Recipe, images: TrainingImages, trained: Trained, said: Sequence[str]
) -> Answer:
    """The answer of a finished training, with its curve as a figure."""
    curve, sheet = folder / f"{name}.svg", folder / f"{name}.png"
    with whole_file(curve) as part:
        part.write_text(plot_training(trained.curve, name), encoding="utf-8")
    last = trained.curve[-1]
    objective: DrawingObjective = recipe.objective  # type: ignore[assignment]
    said = [*said, *objective.find_warnings(trained.curve)]
    values: dict[str, Any] = {
        "agent": f"{folder}/{name}", "concepts": images.n_classes, "drawings": len(images.pixels),
        "batch": objective.batch, "steps": recipe.steps, "loss": round(last["loss"], 5),
    }  # fmt: skip
    values |= {key: round(value, 5) for key, value in last.items() if key.startswith("held_out_")}
    values |= {"seconds": round(trained.seconds, 1), "warnings": list(said)}
    shown = {key: value for key, value in values.items() if key != "warnings"}
    if sheet.is_file():  # none is made elsewhere
        shown["sheet"] = sheet
    text = f"{format_pairs(shown)}\n\n{ROUNDED}\nLet it draw: exemplar draw sample {folder}/{name} --data …"
    figures = {"sheet": sheet, "learning curves": curve} if sheet.is_file() else {"learning curves": curve}
    return Answer(values=values, text=text, warnings=tuple(said), folder=folder, figures=figures)


def train_in_memory(
    recipe: Recipe, images: TrainingImages, *, folder: Path, said: list[str], **options: Any
) -> tuple[Trained, Recipe]:
    """As `train`, with half the batch as often as the device's memory asks for it; the recipe says with which it was done.

    said: where sentences go. A training that has begun keeps its batch: half of it would be another training."""
    while True:
        try:
            return train(recipe.objective, images, steps=recipe.steps, folder=folder, **options), recipe
        except torch.OutOfMemoryError as problem:
            objective: DrawingObjective = recipe.objective  # type: ignore[assignment]
            key = objective.batch_setting
            n = int(getattr(objective, key))
            if n == 1:
                raise UserError(
                    "Not even one drawing fits the memory of this device: choose a narrower network."
                ) from problem
            if (folder / CHECKPOINT).exists():
                raise UserError(
                    f"{objective.batch} drawings per step do not fit the memory of this device, and a training that has begun "
                    "keeps its own: use a device with more memory, or another folder."
                ) from problem
            half: dict[str, Any] = {key: n // 2}
            what = "drawings" if key == "batch" else "sets"
            said.append(f"{n} {what} per step do not fit the memory of this device: halved to {n // 2}")
            recipe = replace(recipe, objective=replace(objective, **half), chosen=f"{recipe.chosen} {said[-1]}.")
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def parse_objective(settings: Sequence[str]) -> dict[str, Any]:
    """`width=24`, `shuffle=true` → their values."""
    found: dict[str, Any] = {}
    for word in settings or ():
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not name or not value:
            raise UserError(f"a setting is written NAME=VALUE, as in width=24, not {word!r}")
        found[name.replace("-", "_")] = _value(value)
    return found


def _value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
