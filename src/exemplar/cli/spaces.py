"""exemplar spaces: the critics and encoders through which images are seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exemplar.cli.output import Json, answer, pairs, table

if TYPE_CHECKING:
    from exemplar.spaces.space import Space

app = typer.Typer(help="How it is seen: list, train and use critics and encoders.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A space (see `exemplar spaces list`), FOLDER/NAME for your own.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")]


@app.command("list")
def list_spaces(
    folder: Annotated[
        str | None, typer.Argument(help="A folder of spaces that you trained, instead of those that ship.")
    ] = None,
    json: Json = False,
) -> None:
    """The spaces there are, by the names that other commands take; the pretrained stages, and the recipes to train more."""
    from exemplar.errors import UserError
    from exemplar.spaces.recipes import RECIPES
    from exemplar.spaces.stages import list_stages
    from exemplar.spaces.zoo import list_spaces as find_spaces
    from exemplar.spaces.zoo import load_card

    if folder == "":
        raise UserError("a folder without a name cannot be listed: leave it out for the spaces that ship")
    place = "" if folder is None else f"{folder.rstrip('/')}/"
    spaces, rows = [], []
    for name in find_spaces(None if folder is None else Path(folder)):
        card = load_card(place + name)
        adapts = card.architecture == "maml"  # it normalises by the batch: no image has features of its own
        best = {key: value for key, value in card.scores.items() if "accuracy" in key}
        rows.append((place + name, card.data, "adapted to tasks" if adapts else card.layer or "output", told(best)))
        about = {"data": card.data, "layer": None if adapts else card.layer}
        spaces.append({"name": place + name, **about, "scores": card.scores, "seconds": card.seconds})
    stages = [stage.name for stage in list_stages()]
    header = ("space", "trained on", "layer", "on what was held out")
    text = table(header, rows) if rows else f"There is no space in {folder}."
    text += f"\n\n{len(stages)} pretrained stages: {stages[0]}, {stages[1]} … {stages[-1]}"
    text += f"\nRecipes (add -s0, -s1, … for a seed): {', '.join(RECIPES)}"
    answer({"spaces": spaces, "stages": stages, "recipes": list(RECIPES)}, as_json=json, text=text)


@app.command()
def card(
    name: Name,
    figure: Annotated[Path | None, typer.Option("--figure", help="Write its learning curves as an SVG, too.")] = None,
    json: Json = False,
) -> None:
    """What a space is: data and concepts seen, configuration, seed, test numbers with 95 % intervals, time."""
    from dataclasses import asdict

    from exemplar.errors import UserError
    from exemplar.spaces.zoo import load_card

    about: dict[str, Any] = asdict(load_card(name))
    if figure is not None:
        measures = {measure for look in about["curve"] for measure in look if not measure.endswith("_se")}
        if not measures - {"step"}:
            raise UserError(f"the card of {name} has no learning curve: leave --figure out")
        write_curve(figure, name, about["curve"])
    shown = {
        **about,
        "scores": told(about["scores"]),
        "concepts": f"{len(about['concepts'])}, see --json",
        "curve": f"{len(about['curve'])} points, see --json",
    }
    answer(about, as_json=json, text=pairs(shown))


@app.command()
def train(
    name: Annotated[str, typer.Argument(help="A recipe with a seed, such as protonet-omniglot-s3.")],
    out: Annotated[Path, typer.Option("--out", help="The folder for weights and card.")] = Path("spaces"),
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Other than the recipe's; a backbone's schedule follows.")
    ] = None,
    every: Annotated[int, typer.Option("--every", min=1, help="Steps from one test and checkpoint to the next.")] = 500,
    device: Device = "auto",
    devices: Annotated[
        int, typer.Option("--devices", min=1, help="How many GPUs or cores, each with batches of its own.")
    ] = 1,
    json: Json = False,
) -> None:
    """Train a space by its recipe; a training that was stopped goes on."""
    from exemplar.spaces.recipes import train_space

    work = out / "training" / name
    trained = train_space(name, out, work=work, device=device, devices=devices, steps=steps, every=every)
    write_curve(out / f"{name}.svg", name, trained.curve)
    last = {key: round(value, 5) for key, value in trained.curve[-1].items()}
    result = {"space": name, "folder": str(out), "seconds": round(trained.seconds, 1), **last}
    answer(result, as_json=json, text=pairs(result))


def told(scores: Mapping[str, float]) -> str:
    """Each score on a card, with its 95 % interval where the card has its standard error."""
    words = []
    for key, value in scores.items():
        if key.endswith("_se"):
            continue
        reach = 1.96 * scores.get(f"{key}_se", 0)
        interval = f" [{value - reach:.3f}, {value + reach:.3f}]" if reach else ""
        words.append(f"{key.removeprefix('held_out_')} {value:.3f}{interval}")
    return ", ".join(words)


def write_curve(path: Path, name: str, curve: list[dict[str, Any]]) -> None:
    from exemplar.errors import UserError
    from exemplar.files import whole_file
    from exemplar.report.spaces import plot_training

    if path.suffix != ".svg":
        raise UserError(f"learning curves are drawn as SVG: call {path} something.svg")
    with whole_file(path) as part:
        part.write_text(plot_training(curve, name), encoding="utf-8")


@app.command()
def encode(
    name: Annotated[
        str, typer.Argument(help="A space, FOLDER/NAME for your own, or a stage such as efficientnet-lite0/block03.")
    ],
    data: Annotated[str, typer.Option("--data", help="A data set, a folder of images, or an npz file.")],
    split: Annotated[str | None, typer.Option("--split", help="Which part of the data set.")] = None,
    layer: Annotated[str | None, typer.Option("--layer", help="Another layer than the space's own.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The npz to write: features, concept, group, maker.")] = Path(
        "features.npz"
    ),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Features of a data set in a space, as an npz; what was stopped goes on."""
    import numpy as np

    from exemplar.errors import UserError
    from exemplar.files import check_place, write_npz
    from exemplar.images.catalogue import load
    from exemplar.spaces.devices import find_device
    from exemplar.spaces.stage_space import load_stage
    from exemplar.spaces.stages import is_pretrained
    from exemplar.spaces.watched import encode_in_parts
    from exemplar.spaces.zoo import load_space

    if out.suffix != ".npz":
        raise UserError(f"features are an npz: call {out} something.npz")
    check_place(out)
    find_device(device)
    space: Space
    if is_pretrained(name):
        space = load_stage(name)
        if layer is not None:
            raise UserError(f"{name} names its layer already: leave --layer out")
    else:
        space = load_space(name, layer=layer)
    space.encode(np.zeros((1, 8, 8), np.uint8), device=device)  # what is wrong with it shows before images are read
    images = load(name=data, split=split)
    features = encode_in_parts(space, images, device=device)
    labels = {kind: np.array(column.names)[column.code] for kind, column in
              (("concept", images.concept), ("group", images.group), ("maker", images.maker))}  # fmt: skip
    write_npz(out, {"features": features, **labels})
    result = {"space": name, "data": images.name, "features": list(features.shape), "file": str(out)}
    answer(
        result,
        as_json=json,
        text=f"{out}: {features.shape[0]} × {features.shape[1]} features of {images.name} in {name}",
    )
