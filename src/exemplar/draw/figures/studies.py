"""Which figures belong to which study of drawing: what a study left in its run folder in, figures with captions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from exemplar.draw.figures.drawers import OF_PEOPLE, Drawers, drawers_called, drawers_of
from exemplar.draw.figures.plots import FittedCurve, interval, plot_curves, plot_plane, plot_ranked
from exemplar.draw.figures.study_plots import plot_agreement, plot_along, plot_densities, plot_map, plot_rows
from exemplar.draw.figures.tables import words
from exemplar.records import Score
from exemplar.rooms import Numbers

N_ROWS = 12  # concepts on a sheet of exemplars


@dataclass(frozen=True, eq=False)
class StudyRecord:
    """A finished study. name, data; scores: all of them; arrays: what it left for figures; published: (score, agent) → what
    others found on this data; made_by: who made the data, "people" or "simulated drawers", where that is known."""

    name: str
    data: str
    scores: Sequence[Score]
    arrays: Mapping[str, np.ndarray]
    published: Numbers
    made_by: str = ""

    @property
    def drawers(self) -> Drawers:
        """Who drew: people, or simulated drawers, as the study says; else by the names of the catalogue's data."""
        return drawers_called(self.made_by) if self.made_by else drawers_of(self.data.split(", "))

    def of(self, agent: str, *names: str) -> list[Score]:
        """The overall scores of what is compared, those of these names if any are given."""
        found = [s for s in self.scores if s.agent == agent and not s.space and not s.concept]
        return [s for s in found if not names or s.name in names]

    def named(self, *names: str) -> list[Score]:
        return [s for s in self.scores if s.name in names and not s.space and not s.concept]


@dataclass(frozen=True, eq=False)
class ShownFigure:
    """A figure, the name of its files and what to see in it; pixels: it consists of pictures, so that a page shows its PNG."""

    name: str
    figure: Figure
    caption: str
    pixels: bool = False


Show = Callable[[StudyRecord], list[ShownFigure]]


def show_critics(record: StudyRecord) -> list[ShownFigure]:
    found = []
    for measure, slug in (("spread", "spread"), ("cosine", "cosine"), ("cosine about the mean", "cosine-about-mean")):
        sides = [record.arrays[f"{kind}, {measure}"][0] for kind in ("SimCLR", "ProtoNet")]
        scores = record.of(f"ProtoNet and SimCLR, {measure}")
        figure = plot_agreement(
            sides[0], sides[1], scores, xlabel=f"{measure} by SimCLR", ylabel=f"{measure} by ProtoNet"
        )
        caption = (
            f"Diversity as {measure}, one dot per concept, by the first critic of each kind; above, over all pairs."
        )
        found.append(ShownFigure(f"agreement-{slug}", figure, caption))
    return [*found, rows_of(record, ("rank_correlation",), "rank correlation over concepts")]


def show_augmentation(record: StudyRecord) -> list[ShownFigure]:
    found = []
    for level in ("light", "strong"):
        scores = record.of(f"moderate and {level} augmentation")
        figure = plot_agreement(
            record.arrays["released moderate"][0], record.arrays[f"released {level}"][0], scores,
            xlabel="diversity, moderate views", ylabel=f"diversity, {level} views",
        )  # fmt: skip
        caption = f"One dot per concept: spread by a SimCLR trained with moderate views, and by one trained with {level} ones."
        found.append(ShownFigure(f"agreement-{level}", figure, caption))
    return [*found, rows_of(record, ("rank_correlation",), "rank correlation over concepts")]


def show_originality(record: StudyRecord) -> list[ShownFigure]:
    rows: dict[str, list[Score]] = {}
    for unit in ("drawings", "concepts"):
        for score in record.named(f"rank_correlation_of_{unit}"):
            rows.setdefault(score.agent, []).append(replace(score, agent=f"over {unit}"))
    caption = "Rank correlation of originality between two networks and two distances."
    return [ShownFigure("pairs", plot_rows(rows, xlabel="rank correlation"), caption)]


def show_normalisation(record: StudyRecord) -> list[ShownFigure]:
    labels = {"xlabel": "diversity, raw", "ylabel": "diversity, each drawing divided by its deviation"}
    concepts = plot_agreement(
        record.arrays["raw"], record.arrays["normalised"], record.of("raw and normalised, concepts"), **labels
    )
    of_agents = [s for s in record.scores if s.agent == "raw and normalised, agents"]
    raw, normalised = record.arrays["by agent"]
    agents = plot_agreement(raw, normalised, of_agents, **labels)
    names = [record.drawers.rename(str(agent)) for agent in record.arrays["agents"]]
    listed = ", ".join(f"{agent} ({x:.2f}, {y:.2f})" for agent, x, y in zip(names, raw, normalised, strict=True))
    return [
        ShownFigure("concepts", concepts, f"One dot per concept that {record.drawers.them} drew."),
        ShownFigure("agents", agents, f"One dot per agent, the mean over concepts: {listed}."),
    ]


def show_centre(record: StudyRecord) -> list[ShownFigure]:
    labels = {"xlabel": "distance to the exemplar", "ylabel": "distance to the centre"}
    by_concept, by_bin = ([s for s in record.scores if s.agent.endswith(f", {what}") and not s.space]
                          for what in ("concepts", "bins of originality"))  # fmt: skip
    return [
        ShownFigure(
            "concepts",
            plot_agreement(record.arrays["to exemplar"], record.arrays["to centre"], by_concept, **labels),
            "One dot per concept: the mean distance of its drawings to the exemplar, and to their own centre, of features "
            "that are divided by each drawing's own deviation.",
        ),
        ShownFigure(
            "bins",
            plot_agreement(record.arrays["bins to exemplar"], record.arrays["bins to centre"], by_bin, **labels),
            "One dot per bin of drawings of similar originality, the mean over concepts.",
        ),
    ]


def show_curve(record: StudyRecord) -> list[ShownFigure]:
    fields = FittedCurve.__dataclass_fields__
    curve = FittedCurve(**{name: record.arrays[name] for name in fields})
    density = (record.arrays["density_at"], record.arrays["density"])
    extent, who = (float(density[0][0]), float(density[0][-1])), record.drawers
    figure = plot_curves({who.agent: curve}, {who.agent: density}, {}, extent=extent)
    caption = (
        f"Top: how {who.their} drawings are distributed over originality. Bottom: how recognizable they are there, "
        f"{int(record.arrays['n_drawings'])} drawings per concept in {len(curve.originality)} bins, and a "
        "polynomial of degree 2."
    )
    return [ShownFigure("curve", figure, caption)]


def show_exemplars(record: StudyRecord) -> list[ShownFigure]:
    found = []
    names = dict.fromkeys(s.name for s in record.scores if s.name not in ("same_exemplar",))
    for name in names:
        rows = {s.agent: [replace(s, agent="")] for s in record.named(name)}
        of = f"{record.drawers.their} {words(name, record.drawers)}"
        caption = f"{of[0].upper()}{of[1:]}, by which of their drawings is the exemplar. The axis does not begin at 0."
        found.append(ShownFigure(name, plot_rows(rows, xlabel=words(name, record.drawers), zero=False), caption))
    choices = [name for name in record.arrays if name != "concepts"]
    first, *others = (record.arrays[name] for name in choices)
    shown = np.linspace(0, len(first) - 1, min(N_ROWS, len(first))).round().astype(int)
    sheet = plot_ranked(first[shown], np.stack(others, axis=1)[shown], names_of(record.arrays["concepts"][shown]))
    caption = f"Framed, the {choices[0]}; then {', '.join(choices[1:])}."
    return [*found, ShownFigure("exemplars", sheet, caption, pixels=True)]


def show_numbers(record: StudyRecord) -> list[ShownFigure]:
    found = []
    for slug, names in (
        ("spread", ("spread", "spread, corrected (c4)")),
        ("cosine", ("cosine",)),
        ("vendi", ("vendi",)),
    ):
        series = {
            name: ([float(s.agent.partition(" ")[0]) for s in record.named(name)], record.named(name)) for name in names
        }
        figure = plot_along(series, xlabel="drawings per concept", ylabel=f"diversity ({slug})", log=True)
        caption = (
            f"Diversity of {record.drawers.their} drawings with only so many of each concept, mean over random choices; bands "
            "are 95 % intervals."
        )
        found.append(ShownFigure(slug, figure, caption))
    return found


def show_ranked(record: StudyRecord) -> list[ShownFigure]:
    found, concepts, exemplars = [], record.arrays["concepts"], record.arrays["exemplars"]
    for kind in ("SimCLR", "ProtoNet"):
        places = record.arrays[f"{kind} concepts"]
        value = {s.concept: s for s in record.scores if s.agent == kind and s.concept}
        labels = [f"{value[str(concepts[p])].value:.2f}{interval(value[str(concepts[p])])}" for p in places]
        figure = plot_ranked(exemplars[places], record.arrays[f"{kind} drawings"], labels)
        caption = (
            f"Concepts from the least diverse to the most by {kind}, evenly chosen, with their diversity and exemplar."
        )
        found.append(ShownFigure(f"ranked-{kind.lower()}", figure, caption, pixels=True))
    places = record.arrays["sorted concepts"]
    figure = plot_ranked(exemplars[places], record.arrays["sorted drawings"], [""] * len(places))
    caption = "Drawings of some concepts, from the least original to the most."
    return [*found, ShownFigure("by-originality", figure, caption, pixels=True)]


def show_maps(record: StudyRecord) -> list[ShownFigure]:
    panels = {name: record.arrays[name] for name in ("in SimCLR", "in ProtoNet")}
    concept = record.arrays["concept"]
    caption = (
        f"Drawings of {len(np.unique(concept))} of the concepts, one colour each (colours repeat), where t-SNE of the drawings "
        "of all concepts puts them."
    )
    return [ShownFigure("maps", plot_map(panels, concept), caption)]


def show_data_sets(record: StudyRecord) -> list[ShownFigure]:
    found = []
    for how, axis in (
        ("sample", "each drawing divided by its own deviation"),
        ("people", "divided by the spread of the data's own drawers"),
    ):
        densities = {name.partition(" ")[2]: v for name, v in record.arrays.items() if name.startswith(f"{how} ")}
        figure = plot_densities(densities, f"diversity, {axis}")
        found.append(ShownFigure(f"densities-{how}", figure, "Distribution over concepts, one value each."))
    return found


def show_known(record: StudyRecord) -> list[ShownFigure]:
    agents = [str(agent) for agent in record.arrays["agents"]]
    ways = next(s.name for s in record.scores if s.name.startswith("recognizability_"))
    score = {(s.name, s.agent): s for s in record.scores}
    among = int(ways.split("_")[1]) if ways.split("_")[1].isdigit() else len(record.arrays["concepts"])
    name = {agent: record.drawers.rename(agent) for agent in agents}
    plane = plot_plane(
        {name[agent]: score["diversity", agent] for agent in agents},
        {name[agent]: score[ways, agent] for agent in agents}, chance=1 / among, ylabel=words(ways),
    )  # fmt: skip
    caption = "Copies must lie at 0 and 1, others and noise at chance, and redrawing must move right and down with its spread."
    sheet = known_sheet(record.arrays, drawers=record.drawers)
    return [ShownFigure("plane", plane, caption), ShownFigure("sheet", sheet, "What each drew.", pixels=True)]


def known_sheet(arrays: Mapping[str, np.ndarray], n_concepts: int = 3, drawers: Drawers = OF_PEOPLE) -> Figure:
    """One row per agent and concept: the exemplar in a frame, and drawings after it. arrays: of `known-answers.npz`."""
    agents = [str(agent) for agent in arrays["agents"]]
    places = np.linspace(0, len(arrays["exemplars"]) - 1, n_concepts + 2).round().astype(int)[1:-1]
    drawings = np.concatenate([arrays[f"drawings of {agent}"][places] for agent in agents])
    labels = [drawers.rename(agent) if row == 0 else "" for agent in agents for row in range(n_concepts)]
    breaks = range(n_concepts, len(labels), n_concepts)
    return plot_ranked(np.tile(arrays["exemplars"][places], (len(agents), 1, 1)), drawings, labels, breaks=list(breaks))


def names_of(concepts: np.ndarray) -> list[str]:
    """Concepts' names as labels, an alphabet above its character."""
    return [str(concept).replace("/", "\n") for concept in concepts]


def rows_of(record: StudyRecord, names: tuple[str, ...], xlabel: str) -> ShownFigure:
    """All scores of these names, a row each, beside what others found."""
    scores = record.named(*names)
    rows = {s.agent: [replace(s, agent="")] for s in scores}
    keys = {s.agent: (s.name, s.agent) for s in scores}
    published = {agent: record.published[key].value for agent, key in keys.items() if key in record.published}
    caption = "Every comparison, over all pairs of critics." + (
        " Diamonds: values found by others, see the table." if published else ""
    )
    return ShownFigure("rows", plot_rows(rows, xlabel=xlabel, published=published), caption)


def show_resolution(record: StudyRecord) -> list[ShownFigure]:
    """The distance of each format to the drawers, as it is and matched."""
    name = record.drawers.distance
    rows: dict[str, list[Score]] = {}
    for score in record.named(name):
        place, matched, _ = score.agent.partition(", matched")
        rows.setdefault(place, []).append(replace(score, agent="with --match" if matched else "as it is"))
    caption = f"The distance to {record.drawers.them} of their own drawings in another format."
    return [ShownFigure("distances", plot_rows(rows, xlabel=words(name, record.drawers)), caption)]


SHOW: dict[str, Show] = {  # study → its figures
    "critics-agree": show_critics,
    "augmentation": show_augmentation,
    "originality-agrees": show_originality,
    "normalisation": show_normalisation,
    "centre-and-exemplar": show_centre,
    "curve": show_curve,
    "exemplars": show_exemplars,
    "number-of-drawings": show_numbers,
    "ranked": show_ranked,
    "maps": show_maps,
    "data-sets": show_data_sets,
    "known-answers": show_known,
    "resolution": show_resolution,
}
