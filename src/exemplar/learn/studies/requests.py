"""A study as it is asked for by names, and what it answers: the verb `study`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exemplar import engine
from exemplar.answers import Answer, as_rows, format_scores
from exemplar.errors import unknown
from exemplar.learn.agents import PUBLISHED_RULES
from exemplar.learn.figures.study_page import write_study_page
from exemplar.learn.studies.encoder_rules import study_in_folder
from exemplar.learn.studies.encoders import list_encoders
from exemplar.learn.studies.models import StudyConfig
from exemplar.learn.studies.populations import Population
from exemplar.records import Scores
from exemplar.runs import load_scores


@dataclass(frozen=True)
class StudySizes:
    """subtasks, one_shot: of Experiments 1 and 2; trials: of a session of Experiment 1; sessions: of a model in a subtask."""

    subtasks: int
    one_shot: int
    trials: int
    sessions: int


def choose_study(encoders: Sequence[str], rules: Sequence[str], truth: str | None, sizes: StudySizes) -> StudyConfig:
    """Encoders by name, a network's standing for all its stages, all if none is named; the same for rules.

    truth: the encoder of the simulated participants; the study's default where it is among them, else the last.
    """
    known = list_encoders()
    chosen = known
    if encoders:
        named = [[name for name in known if name == word or name.startswith(f"{word}/")] for word in encoders]
        for word, found in zip(encoders, named, strict=True):
            if not found:
                raise unknown("encoder", word, known)
        chosen = tuple(dict.fromkeys(name for found in named for name in found))
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
