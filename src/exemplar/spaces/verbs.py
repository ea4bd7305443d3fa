"""What the verbs of the front door do: `list_spaces`, `card`, `train` and `encode`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.answers import Answer, format_pairs, format_table
from exemplar.errors import UserError
from exemplar.files import whole_file, write_npz
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.options import check_path
from exemplar.spaces.cards import SPACES
from exemplar.spaces.devices import find_device
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.loading import find_space
from exemplar.spaces.networks import is_adapted
from exemplar.spaces.recipes import list_recipes, train_space
from exemplar.spaces.stage_space import StageSpace
from exemplar.spaces.stages import list_stages
from exemplar.spaces.zoo import list_spaces, load_card

HELD_OUT = "held_out_"  # how evaluation's numbers begin
ROUNDED = "Weights are saved rounded to bfloat16, 8 bits of precision: features differ a little from those in training."


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EncodedAnswer(Answer):
    """Features of a data set. features: (n, d) float32, one row per image, in the data's order."""

    features: np.ndarray


def list_known(folder: str | Path | None) -> Answer:
    where = None if folder is None else check_name(folder)
    prefix = "" if folder is None else f"{str(folder).rstrip('/')}/"
    spaces: list[dict[str, Any]] = []
    rows = []
    for name in list_spaces(where):
        try:
            card = load_card(prefix + name)
        except UserError as problem:  # the others are there all the same
            rows.append((prefix + name, "", "", str(problem)))
            spaces.append({"name": prefix + name, "problem": str(problem)})
            continue
        adapted = is_adapted(card.architecture)
        best = {key: value for key, value in card.scores.items() if "accuracy" in key}
        layer = "adapted to tasks" if adapted else card.layer or "output"
        rows.append((prefix + name, card.data, layer, format_card_scores(best)))
        about = {"data": card.data, "layer": None if adapted else card.layer}
        spaces.append({"name": prefix + name, **about, "scores": card.scores, "seconds": card.seconds})
    stages, recipes = [stage.name for stage in list_stages()], list(list_recipes())
    header = ("space", "trained on", "layer", "on what was held out")
    text = format_table(header, rows) if rows else f"There is no space in {folder}."
    text += f"\n\n{len(stages)} pretrained stages: {stages[0]}, {stages[1]} … {stages[-1]}"
    text += f"\nRecipes (add -s0, -s1, … for a seed): {', '.join(recipes)}"
    return Answer(values={"spaces": spaces, "stages": stages, "recipes": recipes}, text=text)


def describe_card(name: str, figure: str | Path | None) -> Answer:
    about = asdict(load_card(name))
    if about["room"] == SPACES:  # as every space
        del about["room"]
    figures = {}
    if figure is not None:
        measures = {measure for evaluation in about["curve"] for measure in evaluation if not measure.endswith("_se")}
        if not measures - {"step"}:
            raise UserError(f"the card of {name} has no learning curve: leave --figure out")
        figures = {"learning curves": write_curve(Path(figure), name, about["curve"])}
    shown = {
        **about,
        "scores": format_card_scores(about["scores"]),
        "concepts": f"{len(about['concepts'])}, see --json",
        "curve": f"{len(about['curve'])} points, see --json",
    }
    return Answer(values=about, text=format_pairs(shown), figures=figures)


def train_by_recipe(
    name: str, out: str | Path, *, steps: int | None, every: int, device: str, devices: int, hold_out: str | None
) -> Answer:
    folder = check_name(out)
    work = folder / "training" / name
    trained = train_space(
        name, folder, work=work, device=device, devices=devices, steps=steps, every=every, hold_out=hold_out
    )
    figure = write_curve(folder / f"{name}.svg", name, trained.curve)
    last = trained.curve[-1]
    about = {"space": name, "folder": str(folder), "seconds": round(trained.seconds, 1)}
    values = {**about, **{key: round(value, 5) for key, value in last.items()}}
    shown = {key: value for key, value in values.items() if not key.startswith(HELD_OUT)}
    held_out = format_card_scores({key: value for key, value in last.items() if key.startswith(HELD_OUT)})
    text = format_pairs({**shown, "held out": held_out} if held_out else shown) + f"\n\n{ROUNDED}"
    return Answer(values=values, text=text, folder=folder, figures={"learning curves": figure})


def encode_data(
    name: str,
    data: str | Path | ConceptSet,
    *,
    split: str | None,
    layer: str | None,
    projection: str | None,
    out: str | Path | None,
    device: str,
) -> EncodedAnswer:
    path = None if out is None else check_path(out, ".npz", "A file of features")
    find_device(device)
    space = find_space(name, layer, projection)
    if space.input is not None:  # what is wrong with it shows before images are read
        space.encode(np.zeros((1, 8, 8), np.uint8), device=device)
    if isinstance(data, ConceptSet) and split is not None:
        raise UserError(f"{data.name} is loaded already: leave split out")
    images = data if isinstance(data, ConceptSet) else load(str(data), split)
    features = encode_kept(space, images, device=device)
    columns = (("concept", images.concept), ("group", images.group), ("maker", images.maker))
    labels = {kind: np.array(column.names)[column.code] for kind, column in columns}
    if path is not None:
        write_npz(path, {"features": features, **labels})
    n, d = features.shape
    width = space.width(device=device) if isinstance(space, StageSpace) else d
    done = (projection or "sparse") if width > d else "none"
    file = None if out is None else str(out)
    values = {"space": name, "data": images.name, "features": [n, d], "projection": done, "file": file}
    how = "" if done == "none" else f", a {done} random projection of {width:,} (--projection none keeps them all)"
    text = ("" if out is None else f"{out}: ") + f"{n} × {d} features of {images.name} in {name}{how}"
    return EncodedAnswer(values=values, text=text, features=features)


def check_name(folder: str | Path) -> Path:
    """The folder of this name; "" would be the one that one stands in, which nobody means."""
    if not str(folder):
        raise UserError("The folder name is empty: give one, or omit it to use the default.")
    return Path(folder)


def format_card_scores(scores: Mapping[str, float]) -> str:
    """Each score on a card, with its 95 % interval where the card has its standard error; accuracies stay in [0, 1]."""
    words = []
    for key, value in scores.items():
        if key.endswith("_se"):
            continue
        interval = ""
        if f"{key}_se" in scores:
            reach = 1.96 * scores[f"{key}_se"]
            low, high = value - reach, value + reach
            if "accuracy" in key:
                low, high = max(low, 0.0), min(high, 1.0)
            interval = f" [{low:.3f}, {high:.3f}]"
        words.append(f"{key.removeprefix(HELD_OUT)} {value:.3f}{interval}")
    return ", ".join(words)


def write_curve(path: Path, name: str, curve: list[dict[str, Any]]) -> Path:
    from exemplar.spaces.figures import plot_training

    place = check_path(path, ".svg", "A figure of learning curves")
    with whole_file(place) as part:
        part.write_text(plot_training(curve, name), encoding="utf-8")
    return place
