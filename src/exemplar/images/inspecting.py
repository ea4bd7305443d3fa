"""What there is to see, in tables and on contact sheets: the verbs `list_data`, `show`, `fetch` and `sheet`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.answers import Answer, format_pairs, format_table
from exemplar.images.catalogue import CATALOGUE, describe, fetch, load
from exemplar.options import check_path
from exemplar.report.sheets import write_sheet


def list_data_sets() -> Answer:
    rows: list[dict[str, Any]] = []
    for entry in CATALOGUE.values():
        rows.append({"name": entry.name, "here": entry.is_here(), "splits": list(entry.splits()), "what": entry.what})
    lines = [(row["name"], "yes" if row["here"] else "no", row["what"], ", ".join(row["splits"])) for row in rows]
    hint = "\n\nAny folder with one sub-folder of images per concept works too: exemplar data show PATH"
    return Answer(values={"data": rows}, text=format_table(("name", "here", "what", "splits"), lines) + hint)


def describe_data(name: str, split: str | None, size: int | None) -> Answer:
    about = describe(load(name, split, size=size), name)
    return Answer(values=about, text=format_pairs(about))


def fetch_data(name: str, parts: Sequence[str]) -> Answer:
    folder = fetch(name, list(parts) or None)
    return Answer(values={"name": name, "folder": str(folder)}, text=f"{name} is in {folder}", folder=folder)


def write_contact_sheet(
    name: str, split: str | None, out: Path | str, concepts: int, each: int, size: int | None, seed: int
) -> Answer:
    place = check_path(out, ".png", "A sheet")
    some = load(name, split, size=size).sample(concepts, each, rng=seeds.rng("data sheet", seed))
    images = some.images.reshape(concepts, each, *some.shape)
    drawn = name not in CATALOGUE or CATALOGUE[name].drawn
    write_sheet(place, images, [some.concept[row * each] for row in range(concepts)], drawn=drawn)
    values = {"name": some.name, "sheet": str(out), "seed": seed}
    return Answer(values=values, text=f"{out}: {concepts} concepts of {some.name}", figures={"sheet": place})
