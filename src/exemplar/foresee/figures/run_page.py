"""The page of `run`: how well each measure foretold performance, and the best of them task by task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure as Plot

from exemplar.foresee.evaluating import Evaluated
from exemplar.foresee.indicators import MEASURES, sees_scored
from exemplar.foresee.scores import Correlations
from exemplar.report.figures import ACCENT, INK, QUIET, styled
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table, format_score, score_words

PAGE, FIGURE = "index.html", "correlations"
N_SHOWN = 2_000  # tasks in a scatter plot


@styled
def plot_run(found: Evaluated, scored: Correlations) -> Plot:
    """Correlations as bars with intervals; and the best measure against performance, a dot per task."""
    names = list(scored.pearson)
    plot = Plot(figsize=(9.2, max(2.8, 0.36 * len(names) + 1.4)), layout="constrained")
    bars, dots = plot.subplots(1, 2, width_ratios=(1.15, 1))
    place = np.arange(len(names))[::-1]
    for at, name in zip(place, names, strict=True):
        score = scored.pearson[name]
        colour = ACCENT if sees_scored(name, found.config.setting) else INK
        bars.plot(score.ci95, (at, at), color=colour, linewidth=1.6)
        bars.plot([score.value], [at], "o", color=colour, markersize=5)
    bars.axvline(0, color=QUIET, linewidth=1)
    if scored.ceiling is not None and scored.ceiling < 1:
        for end in (-scored.ceiling, scored.ceiling):
            bars.axvline(end, color=QUIET, linestyle=":", linewidth=1)
    bars.set(
        yticks=place,
        yticklabels=list(map(score_words, names)),
        xlim=(-1, 1),
        xticks=(-1, -0.5, 0, 0.5, 1),
        xlabel="Pearson correlation",
    )
    if names:
        best = scored.best
        dots.plot(found.measures[best][:N_SHOWN], found.performance[:N_SHOWN], ".", color=INK, alpha=0.25, markersize=3)
        dots.set(xlabel=score_words(best), ylabel=found.what.replace("_", " "))
    return plot


def write_run_page(
    folder: Path, found: Evaluated, scored: Correlations, warnings: Sequence[str], made: Sequence[tuple[str, str]]
) -> Path:
    config, mean = found.config, scored.performance
    what = mean.name.replace("_", " ")
    tasks = f"{mean.n:,} tasks of {config.ways} classes, {config.shots} labelled samples and {config.queries} queries of each"
    if config.setting == "unsupervised":
        tasks = f"{mean.n:,} tasks of {config.ways} classes, {config.shots + config.queries} unlabelled samples of each"
    verdict = f"The {what} is {format_score(mean, 3)} on average"
    if scored.pearson:
        best = scored.pearson[scored.best]
        verdict += f"; {score_words(scored.best)} foretells it best, with a correlation of {format_score(best, 3)}."
    told = {name: score_words(name) for name in scored.pearson}
    rows = [
        (
            told[name],
            Cell.of(score),
            Cell.of(scored.spearman[name]),
            "yes" if sees_scored(name, config.setting) else "no",
        )
        for name, score in scored.pearson.items()
    ]
    bound = "" if scored.ceiling is None else "Dotted: the noise ceiling of the others. "
    caption = (
        f"Left: correlation of each measure with {what}; bars are 95 % intervals over {scored.over}, red measures use the "
        f"samples that are scored. {bound}Right: the best measure, a dot per task (at most "
        f"{N_SHOWN:,})."
    )
    chapter = Chapter(
        "Measures and what they foretold",
        (f"{tasks}, setting {config.setting}.",),
        (Figure.of_plot(plot_run(found, scored), caption, name=FIGURE),),
        [mean],
        tables=[
            Table(("measure", "Pearson", "Spearman", "uses the scored samples"), rows),
            Table(("measure", "what it is"), [(told[name], MEASURES[name].about) for name in told]),
        ],
        notes=[f"Warning: {sentence}" for sentence in warnings],
    )
    lead = "A measure needs no validation set. If it rises and falls with accuracy over tasks, it foretells it."
    return write_page(
        folder / PAGE,
        "Which measures foretell how well a few-shot classifier will do?",
        lead,
        [chapter],
        verdict=verdict,
        made=made,
    )
