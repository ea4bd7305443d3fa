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

    where = None if folder is None else named_folder(folder)
    place = "" if folder is None else f"{folder.rstrip('/')}/"
    spaces: list[dict[str, Any]] = []
    rows = []
    for name in find_spaces(where):
        try:
            card = load_card(place + name)
        except UserError as problem:  # the others are there all the same
            rows.append((place + name, "", "", str(problem)))
            spaces.append({"name": place + name, "problem": str(problem)})
            continue
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
    out: Annotated[str, typer.Option("--out", help="The folder for weights and card.")] = "spaces",
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

    folder = named_folder(out)
    work = folder / "training" / name
    trained = train_space(name, folder, work=work, device=device, devices=devices, steps=steps, every=every)
    write_curve(folder / f"{name}.svg", name, trained.curve)
    last = trained.curve[-1]
    about = {"space": name, "folder": str(folder), "seconds": round(trained.seconds, 1)}
    result = {**about, **{key: round(value, 5) for key, value in last.items()}}
    shown = {key: value for key, value in result.items() if not key.startswith("held_out_")}
    held_out = told({key: value for key, value in last.items() if key.startswith("held_out_")})
    answer(result, as_json=json, text=pairs({**shown, "held out": held_out} if held_out else shown))


def named_folder(folder: str) -> Path:
    """The folder of this name; "" would be the one that one stands in, which nobody means."""
    from exemplar.errors import UserError

    if not folder:
        raise UserError("a folder without a name is none: give it a name, or leave it out for the one that is usual")
    return Path(folder)


def told(scores: Mapping[str, float]) -> str:
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
        words.append(f"{key.removeprefix('held_out_')} {value:.3f}{interval}")
    return ", ".join(words)


def write_curve(path: Path, name: str, curve: list[dict[str, Any]]) -> None:
    from exemplar.errors import UserError
    from exemplar.files import whole_file
    from exemplar.spaces.figures import plot_training

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
    projection: Annotated[
        str | None,
        typer.Option("--projection", help="Of a stage of more than 2,048 features: sparse (as usual), dense or none."),
    ] = None,
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
    from exemplar.spaces.encoding import encode_in_parts
    from exemplar.spaces.stage_space import StageSpace

    if out.suffix != ".npz":
        raise UserError(f"features are an npz: call {out} something.npz")
    check_place(out)
    find_device(device)
    space = find_space(name, layer, projection)
    space.encode(np.zeros((1, 8, 8), np.uint8), device=device)  # what is wrong with it shows before images are read
    images = load(name=data, split=split)
    features = encode_in_parts(space, images, device=device)
    labels = {kind: np.array(column.names)[column.code] for kind, column in
              (("concept", images.concept), ("group", images.group), ("maker", images.maker))}  # fmt: skip
    write_npz(out, {"features": features, **labels})
    n, d = features.shape
    width = space.width(device=device) if isinstance(space, StageSpace) else d
    done = (projection or "sparse") if width > d else "none"
    result = {"space": name, "data": images.name, "features": [n, d], "projection": done, "file": str(out)}
    how = "" if done == "none" else f", a {done} random projection of {width:,} (--projection none keeps them all)"
    answer(result, as_json=json, text=f"{out}: {n} × {d} features of {images.name} in {name}{how}")


def find_space(name: str, layer: str | None, projection: str | None) -> Space:
    """A space with a card, or a stage and what it is projected by; options that it does not have are refused."""
    from exemplar.errors import UserError, unknown
    from exemplar.spaces.projection import PROJECTIONS
    from exemplar.spaces.stage_space import load_stage
    from exemplar.spaces.stages import is_pretrained
    from exemplar.spaces.zoo import load_space

    if not is_pretrained(name):
        space = load_space(name, layer=layer)
        if projection is not None:
            raise UserError(
                f"{name} is never projected, only stages of pretrained networks are: leave --projection out"
            )
        return space
    if layer is not None:
        raise UserError(f"{name} names its layer already: leave --layer out")
    ways = {**PROJECTIONS, "none": None}
    asked = "sparse" if projection is None else projection
    if asked not in ways:
        raise unknown("projection", asked, ways)
    return load_stage(name, ways[asked])
