"""exemplar data: which images there are, what is in them, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from exemplar.cli.output import Json, Seed, answer, pairs, table

app = typer.Typer(help="What is seen: list, inspect, fetch and look at the data.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A data set (see `exemplar data list`), a folder of images, or an npz file.")]
Split = Annotated[str | None, typer.Option("--split", help="Which part; each data set has a default.")]
Size = Annotated[int | None, typer.Option("--size", min=1, help="Resize to this many pixels a side.")]


@app.command("list")
def list_data(json: Json = False) -> None:
    """The data sets there are, their splits, and whether they are on this machine."""
    from exemplar.images.catalogue import CATALOGUE

    rows: list[dict[str, Any]] = []
    for entry in CATALOGUE.values():
        rows.append({"name": entry.name, "here": entry.is_here(), "splits": list(entry.splits()), "what": entry.what})
    lines = [(row["name"], "yes" if row["here"] else "no", row["what"], ", ".join(row["splits"])) for row in rows]
    hint = "\n\nAny folder with one sub-folder of images per concept works too: exemplar data show PATH"
    answer({"data": rows}, as_json=json, text=table(("name", "here", "what", "splits"), lines) + hint)


@app.command()
def show(name: Name, split: Split = None, size: Size = None, json: Json = False) -> None:
    """What is in a data set: concepts, drawings, groups, makers, sizes."""
    from exemplar.images.catalogue import describe, load

    about = describe(load(name, split, size=size), name)
    answer(about, as_json=json, text=pairs(about))


@app.command()
def fetch(
    name: Name,
    part: Annotated[list[str] | None, typer.Option("--part", help="Only this part, where data comes in parts.")] = None,
    json: Json = False,
) -> None:
    """Fetch a data set from its public home into the cache; an interrupted download goes on where it stopped."""
    from exemplar.images.catalogue import fetch as fetch_data

    folder = fetch_data(name, part)
    answer({"name": name, "folder": str(folder)}, as_json=json, text=f"{name} is in {folder}")


@app.command()
def sheet(
    name: Name,
    split: Split = None,
    out: Annotated[Path, typer.Option("--out", help="The PNG to write.")] = Path("sheet.png"),
    concepts: Annotated[int, typer.Option("--concepts", min=1, help="Rows: how many concepts.")] = 12,
    each: Annotated[int, typer.Option("--each", min=1, help="Columns: images of each concept.")] = 10,
    size: Size = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """A contact sheet: some concepts, one a row, as a PNG."""
    from exemplar import seeds
    from exemplar.images.catalogue import CATALOGUE, load
    from exemplar.report.sheets import write_sheet

    some = load(name, split, size=size).sample(concepts, each, rng=seeds.rng("data sheet", seed))
    images = some.images.reshape(concepts, each, *some.shape)
    drawn = name not in CATALOGUE or CATALOGUE[name].drawn
    write_sheet(out, images, [some.concept[row * each] for row in range(concepts)], drawn=drawn)
    answer(
        {"name": some.name, "sheet": str(out), "seed": seed},
        as_json=json,
        text=f"{out}: {concepts} concepts of {some.name}",
    )
