"""How `exemplar learn` answers: scores, tests and comparisons as tables or JSON, and what it writes into a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exemplar.cli.output import table
from exemplar.errors import unknown
from exemplar.files import whole_file
from exemplar.learn.agents import RULES
from exemplar.learn.benchmark import Verdict
from exemplar.learn.features import Features
from exemplar.learn.figures.curves import plot_learning, plot_tests
from exemplar.learn.measures.curves import Repeated
from exemplar.learn.measures.oneshot import Generalization, Points
from exemplar.learn.outcomes import Outcome, save_outcome
from exemplar.learn.running import Done, RunConfig
from exemplar.learn.scores import learning_curve
from exemplar.learn.stimuli import TRAINING, Stimuli
from exemplar.learn.trials import trials_of
from exemplar.records import Score, Scores
from exemplar.runs import Run, open_run
from exemplar.seeds import digest
from exemplar.stats import Estimate

if TYPE_CHECKING:
    from exemplar.learn.studies.encoder_rules import StudyConfig


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Scores by name, p values, rows and notes."""
    scores = {name: score.json() for name, score in verdict.scores.items()}
    about = {"p": verdict.p, "rows": verdict.rows, "same_images": verdict.same_images, "notes": verdict.notes}
    return {**scores, **about}


def verdict_text(verdict: Verdict) -> str:
    """The same for people."""
    parts = [score_table(verdict.scores)] if verdict.scores else []
    if verdict.p:
        parts.append(table(("test", "p"), [(name, f"{p:.4f}") for name, p in verdict.p.items()]))
    for names in dict.fromkeys(tuple(row) for row in verdict.rows):
        rows = [row for row in verdict.rows if tuple(row) == names]
        parts.append(table(names, [[_cell(value) for value in row.values()] for row in rows]))
    return "\n\n".join([*parts, *(f"Note: {note}." for note in verdict.notes)])


def score_table(scores: dict[str, Score]) -> str:
    rows = [(name, f"{s.value:.5f}", f"{s.ci95[0]:.5f} … {s.ci95[1]:.5f}", f"{s.n:,}") for name, s in scores.items()]
    return table(("score", "value", "95 %", "n"), rows)


def study_config(encoders: list[str] | None, rules: list[str] | None, truth: str | None, sizes: Any) -> StudyConfig:
    """Encoders by name, a network's standing for all its stages; truth: the study's own where it is among them, else the last.

    sizes: n_subtasks, n_one_shot, n_trials and n_sessions, by name.
    """
    from exemplar.learn.studies.encoder_rules import StudyConfig
    from exemplar.learn.studies.encoders import list_encoders
    from exemplar.learn.studies.populations import Population

    known = list_encoders()
    chosen = known
    if encoders:
        named = [[name for name in known if name == word or name.startswith(f"{word}/")] for word in encoders]
        for word, found in zip(encoders, named, strict=True):
            if not found:
                raise unknown("encoder", word, known)
        chosen = tuple(dict.fromkeys(name for found in named for name in found))
    some = tuple(dict.fromkeys(rules or RULES))
    usual = StudyConfig().truth
    true = truth or (usual.encoder if usual.encoder in chosen else chosen[-1])
    rule = usual.rule if usual.rule in some else some[0]
    return StudyConfig(encoders=chosen, rules=some, truth=Population(true, rule), **sizes)


def some_views(stimuli: Stimuli, experiment: int) -> tuple[np.ndarray, list[str]]:
    """Images (rows, columns, h, w) and names of rows, for a sheet: objects, and views that show what varies."""
    pictures = stimuli.pictures.resized(min(160, *stimuli.pictures.shape))
    n_subtasks, n_objects, n_images = stimuli.shape
    n_rows = min(8, n_subtasks * n_objects)
    test = stimuli.test[0, 0]
    if experiment == 2:  # the training image, then the strongest level of each transformation
        last = {str(name).split(" | ")[0]: place for place, name in enumerate(test) if name}
        columns = np.array([0, *last.values()])
        heads = " · ".join([TRAINING, *(str(test[place]) for place in last.values())])
    else:
        columns, heads = np.linspace(0, n_images - 1, min(10, n_images)).astype(int), ""
    rows = np.arange(n_rows)[:, None] * n_images + columns
    images = pictures.take(rows.ravel()).reshape(*rows.shape, *pictures.shape)
    names = [pictures.concept[int(row)] for row in rows[:, 0]]
    return images, [f"{name}   {heads}" if place == 0 and heads else name for place, name in enumerate(names)]


def write_run(run: Run, config: RunConfig, features: Features, done: Done, *, records: bool) -> None:
    """Into a run's folder: `behaviour.npz` (a bit a trial), scores, a figure, and the trials where they are asked for."""
    save_outcome(run.folder, done.outcome)
    run.save(Scores.collect(done.scores.values()))
    if records and features.image is not None and features.subtasks is not None:
        run.save(
            trials_of(done.choice, done.sessions, agent=config.name, subtasks=features.subtasks, image=features.image)
        )
    chance = 1 / done.sessions.n_choices
    if done.repeated is not None:
        figure = plot_learning({config.name: learning_curve(done.repeated)}, chance=chance)
    elif isinstance(done.outcome.result, Generalization):
        points = done.outcome.result.points()
        figure = plot_tests(points.tests, {config.name: _band(points)}, chance=chance)
    _write(run.folder / "figure.svg", figure)


def write_verdict(
    out: Path,
    command: str,
    verdict: Verdict,
    sides: tuple[Outcome, Outcome],
    *,
    about: dict[str, Any],
    seed: int,
) -> None:
    """A folder with scores and a figure of both sides."""
    data = {name: digest(*_content(side)) for name, side in zip(("first", "second"), sides, strict=True)}
    names = [side.agent for side in sides]
    if names[0] == names[1]:
        names = [f"{name} ({which})" for name, which in zip(names, ("first", "second"), strict=True)]
    with open_run(out, command=command, config=about, seed=seed, data=data) as run:
        if run.finished:
            return
        if verdict.scores:
            run.save(Scores.collect(verdict.scores.values()))
        chance, title = 1 / sides[0].n_choices, "" if verdict.same_images else "The two saw OTHER IMAGES"
        if verdict.curves is not None:
            both: tuple[Repeated, Repeated] = verdict.curves
            curves = {name: learning_curve(side) for name, side in zip(names, both, strict=True)}
            _write(run.folder / "figure.svg", plot_learning(curves, chance=chance, title=title))
        elif verdict.points is not None:
            tests = verdict.points[0].tests
            bands = {name: _band(side) for name, side in zip(names, verdict.points, strict=True)}
            _write(run.folder / "figure.svg", plot_tests(tests, bands, chance=chance, title=title))


def _band(points: Points) -> Estimate:
    """Accuracies with intervals of two standard errors."""
    reach = 1.96 * np.sqrt(points.variance)
    lo, hi = np.clip(points.accuracy - reach, 0, 1), np.clip(points.accuracy + reach, 0, 1)
    return Estimate(points.accuracy, lo, hi, len(points.tests))


def _content(side: Outcome) -> tuple[Any, ...]:
    """What a result consists of, for a digest."""
    result = side.result
    if isinstance(result, Generalization | Points):
        points = result.points()
        return points.accuracy, points.variance, points.tests
    curves = result.curves()
    return curves.n_correct, curves.n_sessions, curves.subtasks


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['value']:.3f} [{value['ci95'][0]:.3f}, {value['ci95'][1]:.3f}]"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
