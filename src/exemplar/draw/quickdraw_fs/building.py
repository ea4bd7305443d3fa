"""QuickDraw-FS from the public files: the verbs `cluster_quickdraw` and `build_quickdraw`, and the page of every cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exemplar.answers import Answer, by_name, format_pairs, format_table
from exemplar.draw.quickdraw_fs import (
    BuildConfig,
    Built,
    ClusterConfig,
    Filters,
    build_data,
    cluster_folder,
    load_clusters,
)
from exemplar.draw.quickdraw_fs.build import PAPER, SPLITS
from exemplar.draw.quickdraw_fs.clusters import COMMAND, describe_clusters
from exemplar.draw.quickdraw_fs.sheet import sheet_rows
from exemplar.draw.quickdraw_fs.sources import file_name
from exemplar.engine import Backend
from exemplar.errors import UserError, shortened, unknown
from exemplar.images import sources
from exemplar.records import Scores
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.sheets import sheet_png
from exemplar.runs import check_run


def cluster_data(
    out: Path | str,
    folder: Path | str | None,
    form: str,
    space: str,
    set_aside: int,
    drawings: int,
    clusters: int,
    device: str,
    backend: Backend,
    seed: int,
) -> Answer:
    """Steps 1 to 4, one category at a time; what was stopped resumes."""
    config, place = ClusterConfig(form, space, set_aside, drawings, clusters, device=device), Path(out).expanduser()
    check_run(place, command=COMMAND, config=config, seed=seed)  # before gigabytes are fetched
    data = "quickdraw-bitmaps" if form == "bitmaps" else "quickdraw"
    files = Path(folder).expanduser() if folder is not None else sources.obtain(data)
    about = describe_clusters(cluster_folder(place, files, config, seed=seed, backend=backend))
    measures = ("size", "spread", "nearest_centre")
    rows = [(name.replace("_", " "), *about[name].values()) for name in measures]
    text = format_pairs({key: value for key, value in about.items() if key not in measures})
    text += "\n\n" + format_table(("of all clusters", *about["size"]), rows)
    text += f"\n\nNow build: exemplar draw quickdraw-fs build {out}"
    return Answer(values={"folder": str(out), "seed": seed, **about}, text=text, folder=place)


def build_from_clusters(
    clusters: Path | str,
    out: Path | str,
    smallest: int,
    max_spread: str,
    min_distance: str,
    variations: int,
    keep: str,
    split: str,
    train_share: float,
    drop: Sequence[str],
    pictures: Sequence[str],
    seed: int,
) -> Answer:
    """Steps 5 to 8: short, as often as you like."""
    filters = Filters(smallest, _number(max_spread, "--max-spread"), _number(min_distance, "--min-distance"))
    found, place = load_clusters(Path(clusters).expanduser()), Path(out).expanduser()
    config = BuildConfig(filters, variations, keep, split, train_share, tuple(drop or ()))
    for word in pictures:
        if word not in found.words:
            raise unknown("category", word, found.words)
    built = build_data(place, found, config, seed=seed)
    page = write_sheet(place / "sheet.html", built, pictures)
    values = _summary(built, page)
    values["fitted"] = [name for name in ("max_spread", "min_distance") if getattr(filters, name) is None]
    scores = by_name(built.scores)
    values |= {"seed": seed, "scores": scores}
    text = _text(built, values, scores)
    return Answer(values=values, text=text, scores=Scores.collect(built.scores), folder=place, page=page)


def _text(built: Built, values: dict[str, Any], scores: dict[str, Any]) -> str:
    rows = [
        (name.replace("_", " "), values["clusters"][name], f"{share['value']:.1%}", _percent(share["ci95"]))
        for name, share in scores.items()
    ]
    used = built.filters
    thresholds = f"{used.smallest} drawings, spread up to {used.max_spread:.1f}, centres {used.min_distance:.1f} apart"
    splits = {
        f"{split} set": f"{n} concepts × {values['drawings_each']}, {values['files'][split]}"
        for split, n in values["concepts"].items()
        if n
    }
    if values["fitted"]:
        thresholds += " (fitted: " + ", ".join(name.replace("_", " ") for name in values["fitted"]) + ")"
    facts = {"split": f"{built.config.split} (val is a part of train)", "thresholds": thresholds, **splits}
    if values["too_few"]:
        facts["skipped"] = f"too few drawings for a concept: {shortened(values['too_few'], 12)}"
    facts |= {"sheet": values["sheet"], "note": values["note"]}
    return format_table(("clusters", "n", "of all", "95 %"), rows) + "\n\n" + format_pairs(facts)


def write_sheet(path: Path, built: Built, pictures: Sequence[str] = ()) -> Path:
    """The page on which every cluster is shown, by what happened to it. pictures: categories shown on a plane, too."""
    clusters = built.clusters
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
    for rows in sheet_rows(built):
        frames = {(row, 0): "#c8472b" for row in range(len(rows.labels))}
        picture = sheet_png(rows.images, rows.labels, frames=frames)
        caption = "Framed: the exemplar. Then drawings from the nearest to the centre to the farthest."
        name = f"{rows.verdict.replace(' ', '-')}-{len(figures[rows.verdict]) + 1:02d}"
        figures[rows.verdict].append(Figure.of_png(picture, caption, name=name))
    chapters = [
        Chapter(f"{name.capitalize()}: {counts[name]}", [text], figures[name])
        for name, text in why.items()
        if counts[name]
    ]
    if pictures:
        chapters.insert(0, Chapter("Categories on a plane", [], [_picture(built, word) for word in pictures]))
    lead = (
        f"{(built.verdict >= 0).sum():,} clusters of {len(clusters.words)} categories, {clusters.size.sum():,} drawings "
        f"encoded by {clusters.space}: {counts['kept']} concepts."
    )
    return write_page(path, "QuickDraw-FS: every cluster", lead, chapters, f"Note: {PAPER}.")


def _picture(built: Built, word: str) -> Figure:
    from exemplar.draw.figures.clusters import plot_category

    caption = (
        f"Drawings of {word} in the first two principal components of {built.clusters.space}, by cluster; framed, the "
        "exemplars of those that are concepts."
    )
    name = f"clusters-{file_name(word, 'x').removesuffix('.x')}"
    return Figure.of_plot(plot_category(built, word), caption, name=name, heading=word)


def _summary(built: Built, sheet: Path) -> dict[str, Any]:
    names, clusters = [score.name for score in built.scores], built.clusters
    few = clusters.size.sum(axis=1) < built.filters.smallest
    return {
        "clusters": dict(zip(names, built.counts().values(), strict=True)),
        "categories": len(clusters.words),
        "too_few": [word for word, short in zip(clusters.words, few, strict=True) if short],
        "in_two_categories": int(clusters.size.sum() - built.size.sum()),
        "split": built.config.split,
        "concepts": built.n_concepts(),
        "drawings_each": built.config.n_variations + 1,
        "thresholds": asdict(built.filters),
        "files": {split: str(built.file(split)) for split in SPLITS if built.file(split).exists()},
        "sheet": str(sheet),
        "note": PAPER,
    }


def _number(value: str, option: str) -> float | None:
    if value == "fit":
        return None
    try:
        return float(value)
    except ValueError as problem:
        raise UserError(f"{option} {value} is not a number: give one above 0, or fit") from problem


def _percent(ends: list[float]) -> str:
    return f"{ends[0]:.1%} – {ends[1]:.1%}"
