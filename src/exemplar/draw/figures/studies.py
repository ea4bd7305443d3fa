"""Which figures belong to which study of drawing: what a study left in its run folder in, figures with captions out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from exemplar.draw.figures.plots import FittedCurve, interval, looks, plot_curves, plot_plane, plot_ranked, styled
from exemplar.draw.figures.study_plots import plot_agreement, plot_along, plot_map, plot_rows
from exemplar.records import Score
from exemplar.report.results import Published

SEEN = 12  # concepts on a sheet of exemplars or of known agents' drawings


@dataclass(frozen=True, eq=False)
class Study:
    """A finished study. name, data; scores: all of them; arrays: what it left for figures; published: score and agent →
    value and source, where the papers have it for this data."""

    name: str
    data: str
    scores: Sequence[Score]
    arrays: Mapping[str, np.ndarray]
    published: Published

    def of(self, agent: str, *names: str) -> list[Score]:
        """The overall scores of what is compared, those of these names if any are given."""
        found = [s for s in self.scores if s.agent == agent and not s.space and not s.concept]
        return [s for s in found if not names or s.name in names]

    def named(self, *names: str) -> list[Score]:
        return [s for s in self.scores if s.name in names and not s.space and not s.concept]


@dataclass(frozen=True, eq=False)
class Shown:
    """A figure, the name of its files and what to see in it; pixels: whether it is made of pictures, and a page shows its
    PNG."""

    name: str
    figure: Figure
    caption: str
    pixels: bool = False


def show_critics(study: Study) -> list[Shown]:
    found = []
    for measure, slug in (("spread", "spread"), ("cosine", "cosine"), ("cosine about the mean", "cosine-about-mean")):
        sides = [study.arrays[f"{kind}, {measure}"][0] for kind in ("SimCLR", "ProtoNet")]
        scores = study.of(f"ProtoNet and SimCLR, {measure}")
        figure = plot_agreement(
            sides[0], sides[1], scores, xlabel=f"{measure} by SimCLR", ylabel=f"{measure} by ProtoNet"
        )
        caption = f"Diversity as {measure}, one dot a concept, by the first critic of each kind; above, over all pairs."
        found.append(Shown(f"agreement-{slug}", figure, caption))
    return [*found, rows_of(study, ("rank_correlation",), "rank correlation over concepts")]


def show_augmentation(study: Study) -> list[Shown]:
    found = []
    for level in ("light", "strong", "coded"):
        scores = study.of(f"moderate and {level} augmentation")
        figure = plot_agreement(
            study.arrays["moderate"][0], study.arrays[level][0], scores,
            xlabel="diversity, moderate views", ylabel=f"diversity, {level} views",
        )  # fmt: skip
        caption = (
            f"One dot a concept: spread by a SimCLR trained with moderate views, and by one trained with {level} ones."
        )
        found.append(Shown(f"agreement-{level}", figure, caption))
    return [*found, rows_of(study, ("rank_correlation",), "rank correlation over concepts")]


def show_originality(study: Study) -> list[Shown]:
    rows: dict[str, list[Score]] = {}
    for unit in ("drawings", "concepts"):
        for score in study.named(f"rank_correlation_of_{unit}"):
            rows.setdefault(score.agent, []).append(replace(score, agent=f"over {unit}"))
    caption = "Rank correlation of originality between two networks and two distances."
    return [Shown("pairs", plot_rows(rows, xlabel="rank correlation"), caption)]


def show_normalisation(study: Study) -> list[Shown]:
    labels = {"xlabel": "diversity, raw", "ylabel": "diversity, each drawing divided by its deviation"}
    concepts = plot_agreement(
        study.arrays["raw"], study.arrays["normalised"], study.of("raw and normalised, concepts"), **labels
    )
    of_agents = [s for s in study.scores if s.agent == "raw and normalised, agents"]
    raw, normalised = study.arrays["by agent"]
    agents = plot_agreement(raw, normalised, of_agents, **labels)
    places = zip(map(str, study.arrays["agents"]), raw, normalised, strict=True)
    names = ", ".join(f"{agent} ({x:.2f}, {y:.2f})" for agent, x, y in places)
    return [
        Shown("concepts", concepts, "One dot a concept that people drew."),
        Shown("agents", agents, f"One dot an agent, the mean over concepts: {names}."),
    ]


def show_centre(study: Study) -> list[Shown]:
    labels = {"xlabel": "distance to the exemplar", "ylabel": "distance to the centre"}
    concepts, bins = "people, concepts", "people, bins of originality"
    return [
        Shown(
            "concepts",
            plot_agreement(study.arrays["to exemplar"], study.arrays["to centre"], study.of(concepts), **labels),
            "One dot a concept: the mean distance of its drawings to the exemplar, and to their own centre. Both in units "
            "of people's whole spread.",
        ),
        Shown(
            "bins",
            plot_agreement(study.arrays["bins to exemplar"], study.arrays["bins to centre"], study.of(bins), **labels),
            "One dot a bin of drawings of like originality, the mean over concepts.",
        ),
    ]


def show_curve(study: Study) -> list[Shown]:
    fields = FittedCurve.__dataclass_fields__
    curve = FittedCurve(**{name: study.arrays[name] for name in fields})
    density = (study.arrays["density_at"], study.arrays["density"])
    extent = (float(density[0][0]), float(density[0][-1]))
    figure = plot_curves({"people": curve}, {"people": density}, {}, extent=extent)
    caption = (
        "Above, how people's drawings are spread over originality; below, how recognizable they are there: "
        f"{int(study.arrays['n_drawings'])} drawings a concept in {len(curve.originality)} bins, and a polynomial of degree 2."
    )
    return [Shown("curve", figure, caption)]


def show_exemplars(study: Study) -> list[Shown]:
    found = []
    names = dict.fromkeys(s.name for s in study.scores if s.name not in ("same_exemplar",))
    for name in names:
        rows = {s.agent: [replace(s, agent="")] for s in study.named(name)}
        words = name.replace("_", " ")
        caption = f"People's {words}, by which of their drawings is the exemplar. The axis does not begin at 0."
        found.append(Shown(name, plot_rows(rows, xlabel=words, zero=False), caption))
    choices = [name for name in study.arrays if name != "concepts"]
    first, *others = (study.arrays[name] for name in choices)
    shown = np.linspace(0, len(first) - 1, min(SEEN, len(first))).round().astype(int)
    sheet = plot_ranked(first[shown], np.stack(others, axis=1)[shown], names_of(study.arrays["concepts"][shown]))
    found.append(Shown("exemplars", sheet, f"Framed, the {choices[0]}; then {', '.join(choices[1:])}.", pixels=True))
    return found


def show_numbers(study: Study) -> list[Shown]:
    found = []
    for slug, names in (
        ("spread", ("spread", "spread, corrected (c4)")),
        ("cosine", ("cosine",)),
        ("vendi", ("vendi",)),
    ):
        series = {
            name: ([float(s.agent.partition(" ")[0]) for s in study.named(name)], study.named(name)) for name in names
        }
        figure = plot_along(series, xlabel="drawings of each concept", ylabel=f"diversity ({slug})", log=True)
        caption = (
            "Diversity of people's drawings when only so many of each concept are there, mean over random choices."
        )
        found.append(Shown(slug, figure, caption))
    return found


def show_ranked(study: Study) -> list[Shown]:
    found, concepts, exemplars = [], study.arrays["concepts"], study.arrays["exemplars"]
    for kind in ("SimCLR", "ProtoNet"):
        places = study.arrays[f"{kind} concepts"]
        value = {s.concept: s for s in study.scores if s.agent == kind and s.concept}
        labels = [f"{value[str(concepts[p])].value:.2f}{interval(value[str(concepts[p])])}" for p in places]
        figure = plot_ranked(exemplars[places], study.arrays[f"{kind} drawings"], labels)
        caption = (
            f"Concepts from the least diverse to the most by {kind}, evenly chosen, with their diversity and exemplar."
        )
        found.append(Shown(f"ranked-{kind.lower()}", figure, caption, pixels=True))
    places = study.arrays["sorted concepts"]
    figure = plot_ranked(exemplars[places], study.arrays["sorted drawings"], [""] * len(places))
    caption = "Some concepts' drawings, from the least original to the most."
    return [*found, Shown("by-originality", figure, caption, pixels=True)]


def show_maps(study: Study) -> list[Shown]:
    panels = {name: study.arrays[name] for name in ("in SimCLR", "in ProtoNet")}
    concept = study.arrays["concept"]
    caption = (
        f"Drawings of {len(np.unique(concept))} of the concepts, a colour each (hues come again), where t-SNE of the drawings "
        "of all concepts puts them."
    )
    return [Shown("maps", plot_map(panels, concept), caption)]


def show_data_sets(study: Study) -> list[Shown]:
    found = []
    for how, words in (
        ("sample", "each drawing divided by its own deviation"),
        ("people", "divided by people's spread"),
    ):
        densities = {name.partition(" ")[2]: v for name, v in study.arrays.items() if name.startswith(f"{how} ")}
        found.append(
            Shown(f"densities-{how}", plot_densities(densities, f"diversity, {words}"), "One value a concept.")
        )
    return found


def show_known(study: Study) -> list[Shown]:
    agents = [str(agent) for agent in study.arrays["agents"]]
    ways = next(s.name for s in study.scores if s.name.startswith("recognizability_"))
    score = {(s.name, s.agent): s for s in study.scores}
    among = int(ways.split("_")[1]) if ways.split("_")[1].isdigit() else len(study.arrays["concepts"])
    plane = plot_plane(
        {agent: score["diversity", agent] for agent in agents}, {agent: score[ways, agent] for agent in agents},
        chance=1 / among, ylabel=ways.replace("_", " "),
    )  # fmt: skip
    caption = "Copies must lie at 0 and 1, others and noise at chance, and redrawing must move right and down with its spread."
    return [Shown("plane", plane, caption), Shown("sheet", known_sheet(study.arrays), "What each drew.", pixels=True)]


def known_sheet(arrays: Mapping[str, np.ndarray], n_concepts: int = 3) -> Figure:
    """A row an agent and concept: the exemplar in a frame, and drawings after it. arrays: of `known-answers.npz`."""
    agents = [str(agent) for agent in arrays["agents"]]
    places = np.linspace(0, len(arrays["exemplars"]) - 1, n_concepts + 2).round().astype(int)[1:-1]
    drawings = np.concatenate([arrays[f"drawings of {agent}"][places] for agent in agents])
    labels = [agent if row == 0 else "" for agent in agents for row in range(n_concepts)]
    breaks = range(n_concepts, len(labels), n_concepts)
    return plot_ranked(np.tile(arrays["exemplars"][places], (len(agents), 1, 1)), drawings, labels, breaks=list(breaks))


def names_of(concepts: np.ndarray) -> list[str]:
    """Concepts' names as labels, an alphabet above its character."""
    return [str(concept).replace("/", "\n") for concept in concepts]


def rows_of(study: Study, names: tuple[str, ...], xlabel: str) -> Shown:
    """All scores of these names, a row each, beside what was published."""
    scores = study.named(*names)
    rows = {s.agent: [replace(s, agent="")] for s in scores}
    published = {s.agent: study.published[s.name, s.agent][0] for s in scores if (s.name, s.agent) in study.published}
    caption = "Every comparison, over all pairs of critics." + (" Diamonds: published." if published else "")
    return Shown("rows", plot_rows(rows, xlabel=xlabel, published=published), caption)


@styled
def plot_densities(densities: Mapping[str, np.ndarray], xlabel: str) -> Figure:
    """Kernel densities. densities: name → (2, places), where and how dense."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, style in looks(list(densities)).items():
        where, height = densities[name]
        axes.fill_between(where, height, color=style["color"], alpha=0.13, linewidth=0)
        axes.plot(where, height, color=style["color"], linewidth=1.7, label=name)
    axes.set(xlabel=xlabel, ylabel="density", ylim=(0, None))
    axes.legend(fontsize=9.5)
    return figure
