"""The page of `attend score`: maps side by side, how reliable people are, how near models come, who is sparser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exemplar.attend.figures.overlays import plot_side_by_side, short_name
from exemplar.attend.figures.plots import plot_agreement, plot_paired, plot_reliability
from exemplar.attend.measures.blurring import blur
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import format_score

if TYPE_CHECKING:
    from exemplar.attend.scoring import ScoredMaps

PAGE = "index.html"
MOST_SHOWN = 10  # concepts side by side


def write_score_page(folder: Path, scored: ScoredMaps) -> Path:
    chapters = [show_maps(scored)]
    if scored.reliability is not None:
        chapters.append(show_reliability(scored))
    if scored.models:
        chapters.append(show_agreement(scored))
    if scored.sparseness:
        chapters.append(show_sparseness(scored))
    chapters.append(Chapter("Every number", scores=scored.scores, notes=scored.warnings))
    lead = (
        f"{len(scored.people)} maps by {scored.people.agent}, {len(scored.people.participant.names)} participants, "
        f"{len(scored.people.concepts)} concepts."
    )
    return write_page(
        folder / PAGE, "What matters in a drawing", lead, chapters, verdict=verdict(scored), made=how_made([folder])
    )


def verdict(scored: ScoredMaps) -> str:
    """What was found, in a sentence or two."""
    said = []
    for score in scored.scores:
        if score.name == "reliability":
            said.append(f"Two participants' maps of one image correlate at {format_score(score)}.")
    for model in scored.models:
        found = {s.name: s for s in scored.scores if s.agent == model.agent}
        said.append(
            f"Maps by {short_name(model.agent, 40)} correlate with theirs at {format_score(found['spearman'])}, and at "
            f"{format_score(found['spearman_after_ink'])} after ink is taken out."
        )
    return " ".join(said)


def show_maps(scored: ScoredMaps) -> Chapter:
    people = scored.people
    names = list(people.concepts)
    for model in scored.models:
        names = [name for name in names if name in model.concepts]
    chosen = [names[k] for k in np.unique(np.linspace(0, len(names) - 1, min(MOST_SHOWN, len(names))).astype(int))]
    shown = {one.agent: blur(one.only(chosen).mean_maps) for one in (people, *scored.models)}
    ours = people.only(chosen)
    pictures = ours.pictures[[ours.image[ours.rows(c)[0]] for c in range(len(chosen))]]
    figure = Figure.of_plot(
        plot_side_by_side(pictures, shown, chosen),
        "Each concept's mean map, blurred, over one of its drawings: red where most matters. Every map has a scale of its own.",
        name="side-by-side",
        pixels=True,
    )
    return Chapter("Side by side", (), (figure,))


def show_reliability(scored: ScoredMaps) -> Chapter:
    assert scored.reliability is not None
    figure = Figure.of_plot(
        plot_reliability(scored.reliability.within, scored.reliability.between),
        f"Random pairs of participants ({len(scored.reliability.within):,} each); the paper found .47 for the "
        "same image and .05 "
        "for two annotations at random.",
        name="reliability",
    )
    text = (
        "Maps are blurred with a Gaussian of 49 px on 256 before they are ranked. "
        f"{scored.n_dropped} annotations were dropped because they are unlike the others of their image.",
    )
    return Chapter(f"Do {scored.people.agent} agree?", text, (figure,), scores=scored.reliability.scores)


def show_agreement(scored: ScoredMaps) -> Chapter:
    ceiling = next((score for score in scored.scores if score.name == "ceiling"), None)
    kept = [
        s
        for s in scored.scores
        if s.name in ("spearman", "spearman_after_ink", "spearman_corrected", "centroid_distance")
    ]
    text = (
        "A map that is just the ink correlates with people's, who paint on ink. What is left when ink is taken out of both, "
        "blurred as the maps are and wider, is what a model shares with people besides.",
        *(
            ["The ceiling is how well a perfect model could do, given how many people marked each concept."]
            if ceiling
            else []
        ),
    )
    figure = Figure.of_plot(
        plot_agreement(scored.scores, ceiling),
        "Rank correlation (Spearman) of a model's mean map of each concept with theirs; bars are 95 % intervals over concepts.",
        name="agreement",
    )
    return Chapter(f"Do models agree with {scored.people.agent}?", text, (figure,), scores=kept)


def show_sparseness(scored: ScoredMaps) -> Chapter:
    common = [one for one in (scored.people, *scored.models) if one.agent in scored.sparseness]
    figures, said = [], []
    sizes = {len(scored.sparseness[one.agent]["gini"]) for one in common}
    if len(common) > 1 and len(sizes) == 1:
        values = {one.agent: scored.sparseness[one.agent]["gini"] for one in common}
        caption = "Gini coefficient of each concept's mean map, a line per concept; bars are means."
        figures.append(Figure.of_plot(plot_paired(values, "Gini coefficient"), caption, name="sparseness"))
    for model, comparison in scored.sparser.items():
        score = next(s for s in comparison.scores if s.name == "gini_difference")
        p = comparison.p.get("gini_difference")
        claim = "" if p is None else f" (one-sided permutation test, p = {p:.3g})"
        said.append(
            f"Gini coefficient of {scored.people.agent} less {short_name(model, 40)}: {format_score(score)}{claim}."
        )
    text = (
        "The paper says that people's maps are sparser than the model's. A higher Gini coefficient is sparser.",
        *said,
    )
    names = ("gini", "entropy", "half_area", "ink_overlap", "ink_area")
    return Chapter("Who is sparser?", text, figures, scores=[s for s in scored.scores if s.name in names])
