"""Scores of what was done, from wherever it is kept: the verbs `human`, `score` and `compare`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.answers import Answer
from exemplar.errors import UserError, unknown
from exemplar.learn.benchmark import NULL_TESTS, score_against_people, score_people
from exemplar.learn.comparing import compare_outcomes
from exemplar.learn.experiments import LearnerAnswer
from exemplar.learn.measures.oneshot import score_points
from exemplar.learn.outcomes import Outcome, has_experiment, load_outcome, outcome_in
from exemplar.learn.run_folders import same_content, write_score_report
from exemplar.learn.score_report import ScoreReport, as_sentences
from exemplar.learn.tasks import VARIANTS
from exemplar.records import Scores, Trials
from exemplar.report.page import figures_folder
from exemplar.runs import check_run

Record = Path | str | Outcome | Trials | Answer  # what someone did: where it is kept, or as Python has it


@dataclass(frozen=True)
class ReadOptions:
    """How records are read, as `outcomes.load_outcome` takes them; other_images: whether different images may be compared."""

    experiment: int | None
    images: Path | str | None
    catch: bool
    other_images: bool


def describe_people(folder: Path | str | None, variant: str, *, out: Path | str | None, seed: int) -> Answer:
    """Experiment 1 by people, and Experiment 2 where it is there."""
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    config = {"folder": _said(folder), "variant": variant}
    place = _check_folder(out, "learn human", config, seed)
    outcome = load_outcome(folder, experiment=1)
    people = outcome.learning()
    report = score_people(people, variant=variant, agent=outcome.agent, seed=seed)
    assert report.curves is not None
    about: dict[str, Any] = {"subtasks": len(people.subtasks), "trials": people.n_trials}
    about |= {"choices": people.n_choices, "sessions": int(people.n_sessions.sum())}
    about |= {"resampled": report.curves[1].replicates.resampled}
    if people.n_participants:
        about["participants"] = people.n_participants
    if has_experiment(folder, 2):
        second = load_outcome(folder, experiment=2).tested()
        found = score_points(second, rng=seeds.rng("learn human", "one-shot", seed))
        named = {name: replace(score, name=name) for score in found for name in (f"one_shot_{score.name}",)}
        report = replace(report, scores={**report.scores, **named}, points=(second.points(), second.points()))
    values = {**report.values(), **about, "variant": variant, "seed": seed}
    head = (
        f"{about['sessions']:,} sessions of {about['subtasks']} subtask{'s' * (about['subtasks'] != 1)}, "
        f"{about['choices']} choices on a trial; intervals draw {about['resampled']}\n\n"
    )
    page = None
    if place is not None:
        page = write_score_report(place, "learn human", report, (outcome,), values=values, config=config, seed=seed)
        values["out"] = str(out)
    return _answer(report, values, place, head=head, page=page)


def score_record(
    record: Record, people: Record | None, options: ReadOptions, *, null: str, out: Path | str | None, seed: int
) -> Answer:
    """A learner against people, in the experiment that the record is of."""
    if null not in NULL_TESTS:
        raise unknown("null test", null, NULL_TESTS)
    config = {"record": _said(record), "people": _said(people), **vars(options), "null": null}
    folder = _check_folder(out, "learn score", config, seed)
    model = find_outcome(record, options)
    theirs = find_outcome(people, replace(options, experiment=model.experiment, catch=True))
    report = score_against_people(model, theirs, other_images=options.other_images, null=null, seed=seed)
    report = replace(report, warnings=[*same_record(model, theirs), *report.warnings])
    values = {**report.values(), "experiment": model.experiment, "agent": model.agent, "seed": seed}
    page = None
    if folder is not None:
        places = [config["record"], config["people"]]
        page = write_score_report(
            folder, "learn score", report, (model, theirs), values=values, config=config, seed=seed, places=places
        )
        values["out"] = str(out)
    return _answer(report, values, folder, page=page)


def compare_records(
    first: Record, second: Record, options: ReadOptions, *, out: Path | str | None, seed: int
) -> Answer:
    """Two populations, or two models."""
    config = {"first": _said(first), "second": _said(second), **vars(options)}
    folder = _check_folder(out, "learn compare", config, seed)
    one, other = (find_outcome(record, options) for record in (first, second))
    report = compare_outcomes(one, other, other_images=options.other_images, seed=seed)
    report = replace(report, warnings=[*same_record(one, other), *report.warnings])
    values = {**report.values(), "first": _said(first), "second": _said(second), "seed": seed}
    page = None
    if folder is not None:
        places = [config["first"], config["second"]]
        page = write_score_report(
            folder, "learn compare", report, (one, other), values=values, config=config, seed=seed, places=places
        )
        values["out"] = str(out)
    return _answer(report, values, folder, page=page)


def same_record(one: Outcome, other: Outcome) -> list[str]:
    return ["both sides are the same record: nothing can differ"] if same_content(one, other) else []


def find_outcome(record: Record | None, options: ReadOptions) -> Outcome:
    """What someone did. record: None for people's data; the answer of a run stands for what its learner did."""
    found: Outcome | None = None
    if isinstance(record, Outcome | LearnerAnswer):
        found = record if isinstance(record, Outcome) else record.outcome
    elif isinstance(record, Trials):
        found = outcome_in(record, options.images, catch=options.catch)
    elif isinstance(record, Answer):
        if record.folder is None:
            raise UserError("this answer has no run folder, so there is nothing to score: give it one with out")
        record = record.folder
    if found is None:
        place = None if record is None else Path(record).expanduser()  # type: ignore[arg-type]
        return load_outcome(place, experiment=options.experiment, images=options.images, catch=options.catch)
    if options.experiment not in (None, found.experiment):
        raise UserError(
            f"{found.agent} did Experiment {found.experiment}, not {options.experiment}: name one of the other experiment"
        )
    return found


def _answer(
    report: ScoreReport, values: dict[str, Any], folder: Path | None = None, *, head: str = "", page: Path | None = None
) -> Answer:
    found = (
        [] if page is None else sorted(figures_folder(page).glob("*.svg"), key=lambda p: (p.stem != "learning", p.stem))
    )
    figures = {path.stem: path for path in found}  # the learning curves first: notebooks show one
    return Answer(
        values=values,
        text=head + report.text() + (f"\n\n{page}" if page is not None else ""),
        scores=Scores.collect(report.scores.values()) if report.scores else None,
        warnings=as_sentences(report.warnings),
        folder=folder,
        page=page,
        figures=figures,
    )


def _check_folder(out: Path | str | None, command: str, config: dict[str, Any], seed: int) -> Path | None:
    """The folder to write, if it can be written."""
    if out is None:
        return None
    folder = Path(out).expanduser()
    check_run(folder, command=command, config=config, seed=seed)
    return folder


def _said(record: Record | None) -> str | None:
    """A record in config.json and in JSON: its place, or who did it; its content is told by a digest."""
    if record is None or isinstance(record, Path | str):
        return None if record is None else str(record)
    if isinstance(record, Answer) and record.folder is not None:
        return str(record.folder)
    return record.outcome.agent if isinstance(record, LearnerAnswer) else str(getattr(record, "agent", "Trials"))
