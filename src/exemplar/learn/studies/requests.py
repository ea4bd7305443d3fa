"""A study as it is asked for by names, and what it answers: the verb `study`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exemplar import engine
from exemplar.answers import Answer, as_rows, format_scores
from exemplar.errors import UserError, unknown
from exemplar.learn.agents import PUBLISHED_RULES, list_rules
from exemplar.learn.figures.study_page import write_study_page
from exemplar.learn.studies.encoder_rules import study_in_folder
from exemplar.learn.studies.encoders import list_encoders
from exemplar.learn.studies.models import StudyConfig
from exemplar.learn.studies.people_study import PeopleStudyConfig, find_sources, rules_of, study_people_in_folder
from exemplar.learn.studies.populations import Population
from exemplar.records import Scores
from exemplar.runs import load_scores


@dataclass(frozen=True)
class ModelSources:
    """Where the models of a study with people come from: images: a folder in the public layout; features: npz files; runs:
    folders of `exemplar learn run`; other_images: whether they may be of other images than people's."""

    images: Path | str | None
    features: tuple[str, ...]
    runs: tuple[str, ...]
    other_images: bool = False


@dataclass(frozen=True)
class StudySizes:
    """subtasks, one_shot: of Experiments 1 and 2; trials: of a session of Experiment 1; sessions: of a model in a subtask."""

    subtasks: int
    one_shot: int
    trials: int
    sessions: int


@dataclass(frozen=True)
class StudyRequest:
    """What is asked of `study`, each field as the argument of its name."""

    encoders: tuple[str, ...]
    rules: tuple[str, ...]
    truth: str | None
    sizes: StudySizes
    people: Path | str | None
    sources: ModelSources


def answer_request(request: StudyRequest, out: Path | str, *, seed: int, backend: engine.Backend | None) -> Answer:
    """Against people where they are named, else against simulated participants."""
    sources = request.sources
    if request.people is not None:
        config = choose_people_study(request.people, request.encoders, request.rules, sources, request.sizes.sessions)
        return answer_people_study(config, out, seed=seed, backend=backend)
    if sources != ModelSources(None, (), ()):
        raise UserError("--images, --features, --runs and --other-images go with --people: name people's folder")
    asked = choose_study(request.encoders, request.rules, request.truth, request.sizes)
    return answer_study(asked, out, seed=seed, backend=backend)


def choose_encoders(names: Sequence[str]) -> tuple[str, ...]:
    """Encoders by name, a network's standing for all its stages; all if none is named."""
    known = list_encoders()
    if not names:
        return known
    found = [[name for name in known if name == word or name.startswith(f"{word}/")] for word in names]
    for word, some in zip(names, found, strict=True):
        if not some:
            raise unknown("encoder", word, known)
    return tuple(dict.fromkeys(name for some in found for name in some))


def choose_study(encoders: Sequence[str], rules: Sequence[str], truth: str | None, sizes: StudySizes) -> StudyConfig:
    """Encoders by name, a network's standing for all its stages, all if none is named; the same for rules.

    truth: the encoder of the simulated participants; the study's default where it is among them, else the last.
    """
    chosen = choose_encoders(encoders)
    some = tuple(dict.fromkeys(rules or PUBLISHED_RULES))
    default = StudyConfig().truth
    true = truth or (default.encoder if default.encoder in chosen else chosen[-1])
    rule = default.rule if default.rule in some else some[0]
    return StudyConfig(
        encoders=chosen,
        rules=some,
        truth=Population(true, rule),
        n_subtasks=sizes.subtasks,
        n_one_shot=sizes.one_shot,
        n_trials=sizes.trials,
        n_sessions=sizes.sessions,
    )


def choose_people_study(
    people: Path | str, encoders: Sequence[str], rules: Sequence[str], sources: ModelSources, sessions: int
) -> PeopleStudyConfig:
    """A study against people. people: their folder; encoders, rules: names, all unless given."""
    place = str(Path(people).expanduser())
    found = find_sources(sources.images, sources.features, sources.runs, choose_encoders(encoders), place)
    for rule in rules:
        if rule not in list_rules() and not sources.runs:
            raise unknown("rule", rule, list_rules())
    some = rules_of(
        found, tuple(dict.fromkeys(rules)) if sources.runs else tuple(dict.fromkeys(rules or PUBLISHED_RULES))
    )
    if not found or not some:
        raise UserError("there is no model to compare with people: name at least one encoder and one rule")
    return PeopleStudyConfig(found, some, place, sessions, other_images=sources.other_images)


def answer_people_study(
    config: PeopleStudyConfig, out: Path | str, *, seed: int, backend: engine.Backend | None
) -> Answer:
    """Run it, or resume it, and write its figures and page."""
    folder = study_people_in_folder(Path(out).expanduser(), config, seed=seed, backend=backend)
    (page, figures), scores = write_study_page(folder), load_scores(folder)
    n_models = len(config.sources) * len(config.rules)
    values = {"out": str(out), "encoders": len(config.sources), "rules": len(config.rules), "participants": "people"}
    values |= {"models": n_models, "scores": as_rows(scores), "figures": [str(path) for path in figures.values()]}
    values |= {"page": str(page), "seed": seed}
    text = f"{n_models} models against people. Open {page} in a browser.\n\n{format_scores(scores)}"
    return Answer(values=values, text=text, scores=Scores.collect(scores), folder=folder, page=page, figures=figures)


def answer_study(config: StudyConfig, out: Path | str, *, seed: int, backend: engine.Backend | None) -> Answer:
    """Run it, or resume it, and write its figures and page."""
    folder = study_in_folder(Path(out).expanduser(), config, seed=seed, backend=backend)
    (page, figures), scores = write_study_page(folder), load_scores(folder)
    values = {
        "out": str(out),
        "encoders": len(config.encoders),
        "rules": len(config.rules),
        "participants": "simulated",
        "scores": as_rows(scores),
        "figures": [str(path) for path in figures.values()],
        "page": str(page),
        "seed": seed,
    }
    models = f"{len(config.encoders)} encoders × {len(config.rules)} rules"
    text = f"{models}; participants are simulated. Open {page} in a browser.\n\n{format_scores(scores)}"
    return Answer(values=values, text=text, scores=Scores.collect(scores), folder=folder, page=page, figures=figures)
