"""exemplar draw quickdraw-fs: part Quick, Draw! into visual concepts, look at them, and build the data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exemplar.cli.output import Json, Seed, answer, pairs, table
from exemplar.cli.tour import Address, Engine, Workers

if TYPE_CHECKING:
    from exemplar.draw.quickdraw_fs import Built, Clusters

FIT = "`fit` for the effect the paper reports of its own"

app = typer.Typer(
    help="Build QuickDraw-FS: first `cluster` (long, goes on where it stopped), then `build` (short, as often as you like).",
    no_args_is_help=True,
)


@app.command()
def cluster(
    out: Annotated[Path, typer.Option("--out", help="The run's folder; one that was stopped goes on there.")] = Path(
        "quickdraw-clusters"
    ),
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Where the files of Quick, Draw! are; the data's place unless given."),
    ] = None,
    form: Annotated[str, typer.Option("--form", help="strokes (.ndjson) or bitmaps (.npy).")] = "strokes",
    space: Annotated[
        str, typer.Option("--space", help="Where distances are measured; FOLDER/NAME for your own.")
    ] = "simclr-quickdraw-s0",
    set_aside: Annotated[
        int, typer.Option("--set-aside", min=0, help="Drawings of each category that come first and are left out.")
    ] = 15_000,
    drawings: Annotated[
        int, typer.Option("--drawings", min=1, help="Drawings of each category that are parted, at most.")
    ] = 5_000,
    clusters: Annotated[int, typer.Option("--clusters", min=2, help="Clusters a category.")] = 6,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:N; a GPU wants --engine here.")] = "cpu",
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Steps 1 to 4: see each category's drawings in a space and part them into clusters, a category at a time."""
    from exemplar.draw.quickdraw_fs import ClusterConfig, cluster_folder
    from exemplar.draw.quickdraw_fs.clusters import COMMAND, describe_clusters
    from exemplar.engine import backend
    from exemplar.images.sources import obtain
    from exemplar.runs import check_run

    config = ClusterConfig(form, space, set_aside, drawings, clusters, device=device)
    who = backend(engine, workers, address)
    check_run(out, command=COMMAND, config=config, seed=seed)  # before gigabytes are fetched
    place = folder or obtain("quickdraw")
    about = describe_clusters(cluster_folder(out, place, config, seed=seed, backend=who))
    measures = ("size", "spread", "nearest_centre")
    rows = [(name.replace("_", " "), *about[name].values()) for name in measures]
    text = pairs({key: value for key, value in about.items() if key not in measures})
    text += "\n\n" + table(("of all clusters", *about["size"]), rows)
    text += f"\n\nNow build: exemplar draw quickdraw-fs build {out}"
    answer({"folder": str(out), "seed": seed, **about}, as_json=json, text=text)


@app.command()
def build(
    clusters: Annotated[Path, typer.Argument(help="The folder that `cluster` wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The run's folder: the data, the sheet, the verdicts.")] = Path(
        "quickdraw-fs"
    ),
    smallest: Annotated[int, typer.Option("--smallest", min=1, help="Drawings a cluster must have.")] = 500,
    max_spread: Annotated[
        str, typer.Option("--max-spread", help=f"Mean distance to the centre, at most; {FIT}.")
    ] = "fit",
    min_distance: Annotated[str, typer.Option("--min-distance", help=f"Of two centres, at least; {FIT}.")] = "fit",
    each: Annotated[int, typer.Option("--each", min=2, help="Drawings kept of a concept, with its exemplar.")] = 500,
    train_share: Annotated[float, typer.Option("--train-share", help="Of the concepts.")] = 550 / 665,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="A cluster to remove by hand, such as cat-3.")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Steps 5 to 8: remove small, spread and close clusters, keep an exemplar and drawings of the others, split them."""
    from exemplar.draw.quickdraw_fs import BuildConfig, Filters, build_data, load_clusters

    filters = Filters(smallest, _number(max_spread, "--max-spread"), _number(min_distance, "--min-distance"))
    found = load_clusters(clusters)
    built = build_data(out, found, BuildConfig(filters, each, train_share, tuple(drop or ())), seed=seed)
    result = _summary(built, found, each, write_sheet(out / "sheet.html", built, found))
    scores = {score.name: score.json() for score in built.scores}
    rows = [
        (name.replace("_", " "), result["clusters"][name], f"{share['value']:.1%}", _percent(share["ci95"]))
        for name, share in scores.items()
    ]
    text = table(("clusters", "n", "of all", "95 %"), rows) + "\n\n"
    used = built.filters
    result["fitted"] = [name for name in ("max_spread", "min_distance") if getattr(filters, name) is None]
    thresholds = f"{used.smallest} drawings, spread up to {used.max_spread:.1f}, centres {used.min_distance:.1f} apart"
    splits = {
        f"{split} set": f"{n} concepts × {each}, {result['files'][split]}" for split, n in result["concepts"].items()
    }
    if "min_distance" in result["fitted"]:
        thresholds += " (fitted to the paper's share of concepts, 665 of 2,070: that share is no finding)"
    text += pairs({"thresholds": thresholds, **splits, "sheet": result["sheet"], "note": result["note"]})
    answer({**result, "seed": seed, "scores": scores}, as_json=json, text=text)


def write_sheet(path: Path, built: Built, clusters: Clusters) -> Path:
    """The page on which every cluster is looked at, by what became of it."""
    from exemplar.draw.quickdraw_fs.build import PAPER
    from exemplar.draw.quickdraw_fs.sheet import sheet_rows
    from exemplar.report.page import Chapter, Figure, write_page
    from exemplar.report.sheets import sheet_png

    counts, thresholds = built.counts(), built.filters
    why = {
        "too spread": f"Their drawings lie further than {thresholds.max_spread:.1f} from the centre on average: junk, drawings "
        "that are all different.",
        "kept": "The most spread first: look here for junk that passed, and remove it with --drop.",
        "too close": f"Nearer than {thresholds.min_distance:.1f} to a larger cluster of the category: the same concept again.",
        "too small": f"Fewer than {thresholds.smallest} drawings.",
        "by hand": "Removed with --drop.",
    }
    figures: dict[str, list[Figure]] = {name: [] for name in why}
    for rows in sheet_rows(built, clusters):
        frames = {(row, 0): "#c8472b" for row in range(len(rows.labels))}
        picture = sheet_png(rows.images, rows.labels, frames=frames)
        caption = "Framed: the exemplar. Then drawings from the nearest to the centre to the farthest."
        figures[rows.verdict].append(Figure.of_png(picture, caption))
    chapters = [
        Chapter(f"{name.capitalize()}: {counts[name]}", [text], figures[name])
        for name, text in why.items()
        if counts[name]
    ]
    lead = (
        f"{built.verdict.size:,} clusters of {len(clusters.words)} categories, {clusters.size.sum():,} drawings seen in "
        f"{clusters.space}: {counts['kept']} concepts."
    )
    return write_page(path, "QuickDraw-FS: every cluster", lead, chapters, f"Note: {PAPER}.")


def _summary(built: Built, clusters: Clusters, each: int, sheet: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from exemplar.draw.quickdraw_fs.build import PAPER, SPLITS

    names = [score.name for score in built.scores]
    return {
        "clusters": dict(zip(names, built.counts().values(), strict=True)),
        "categories": len(clusters.words),
        "concepts": {split: int((built.split == split).sum()) for split in SPLITS},
        "drawings_each": each,
        "thresholds": asdict(built.filters),
        "files": {split: str(built.file(split)) for split in SPLITS},
        "sheet": str(sheet),
        "note": PAPER,
    }


def _number(value: str, option: str) -> float | None:
    from exemplar.errors import UserError

    if value == "fit":
        return None
    try:
        return float(value)
    except ValueError as problem:
        raise UserError(f"{option} {value} is no number: give one above 0, or fit") from problem


def _percent(ends: list[float]) -> str:
    return f"{ends[0]:.1%} – {ends[1]:.1%}"
