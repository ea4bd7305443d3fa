"""From a request to a scored run, the verb `run`: features read or encoded, the learner run, everything kept in a folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.answers import Answer, by_name, format_scores
from exemplar.errors import UserError, shortened
from exemplar.images.objects import ObjectsConfig
from exemplar.learn.checking import knows_too_early
from exemplar.learn.features import Features, load_features
from exemplar.learn.outcomes import Outcome
from exemplar.learn.run_folders import COMPONENTS, FIGURE, write_learner_run
from exemplar.learn.running import LearnerRun, RunConfig, make_task, run_learner
from exemplar.learn.stage_features import encode_stimuli, load_working_stage
from exemplar.learn.stimuli import Stimuli, built_in_stimuli, public_stimuli
from exemplar.learn.user_agents import AgentSource, find_agent
from exemplar.records import Scores
from exemplar.runs import check_run, load_scores, open_run
from exemplar.seeds import digest

SELF_SCALED = (
    "There are no warm-up features, so features were centred and scaled by the task's own images, which tells the learner a "
    "little about them: give `warmup`."
)


@dataclass(frozen=True, eq=False)
class RunRequest:
    """What is asked of `run`, each field as the argument of its name: features or a stage, the learner, how long."""

    stage: str | None
    features: Path | str | Features | Mapping[str, np.ndarray] | None
    images: Path | str | None
    subtasks: int | None
    views: int | None
    choices: int
    experiment: int
    rule: str
    agent: Any
    rate: float
    sessions: int
    trials: int
    variant: str
    records: bool

    @property
    def learner(self) -> RunConfig:
        agent = self.agent if isinstance(self.agent, str | None) else _class_name(self.agent)
        return RunConfig(self.experiment, self.rule, agent, self.rate, self.sessions, self.trials, self.variant)

    def config(self) -> dict[str, Any]:
        """For config.json; what was given as an object is told by its name, and by a digest of its content elsewhere."""
        asked = dict(vars(self)) | {"agent": self.learner.agent}
        if isinstance(self.features, Features | Mapping):
            asked["features"] = "given as arrays"
        return asked


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LearnerAnswer(Answer):
    """The answer of `run`. outcome: what the learner did, for `score` and `compare`."""

    scores: Scores
    outcome: Outcome


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RulesAnswer(Answer):
    """The answer of `run` with several rules. outcomes: rule → what the learner did."""

    scores: Scores
    outcomes: Mapping[str, Outcome]


def run_rules(
    request: RunRequest, rules: Sequence[str], *, out: Path | str | None, device: str, seed: int
) -> RulesAnswer:
    """Several rules on the same features, which are read or encoded once; each has its run in a folder of its name."""
    requests = {rule: replace(request, rule=rule) for rule in dict.fromkeys(rules)}
    places = {rule: None if out is None else Path(out).expanduser() / rule for rule in requests}
    for rule, one in requests.items():
        _ = one.learner  # says what is wrong with a rule before any is run
        place = places[rule]
        if place is not None:
            check_run(place, **_about(one, seed))
    features = find_features(request, device)
    done = {
        rule: run_experiment(one, out=places[rule], device=device, seed=seed, features=features)
        for rule, one in requests.items()
    }
    scores = Scores.join([answer.scores for answer in done.values()])
    values: dict[str, Any] = {"rules": {rule: dict(answer.values) for rule, answer in done.items()}, "seed": seed}
    text = format_scores(list(scores), digits=5)
    if out is not None:
        values["out"], text = str(out), f"{text}\n\nKept in {out}, a folder for each rule."
    return RulesAnswer(
        values=values,
        text=text,
        scores=scores,
        warnings=tuple(dict.fromkeys(sentence for answer in done.values() for sentence in answer.warnings)),
        folder=None if out is None else Path(out).expanduser(),
        figures={rule: path for rule, answer in done.items() for path in list(answer.figures.values())[:1]},
        outcomes={rule: answer.outcome for rule, answer in done.items()},
    )


def run_experiment(
    request: RunRequest, *, out: Path | str | None, device: str, seed: int, features: Features | None = None
) -> LearnerAnswer:
    """Everything that is wrong with a request is said before anything long begins. features: where they are read already."""
    if request.records and out is None:
        raise UserError("--records keeps trials in a run folder: name it with --out")
    if device not in ("auto", "cpu"):
        from exemplar.spaces.devices import find_device  # brings torch, which features of a file do without

        find_device(device)  # says so if it is not there
    config, folder = request.learner, None if out is None else Path(out).expanduser()
    about = _about(request, seed)
    if folder is not None:
        check_run(folder, **about)
    source = None if request.agent is None else find_agent(request.agent)
    if source is not None:
        source.make(request.choices)
    features = features if features is not None else find_features(request, device)
    with nullcontext() if folder is None else open_run(folder, **about, data=_digests(features, source)) as run:
        done = run_learner(config, features, source=source, seed=seed)
        if run is not None and run.finished:
            _check_same_agent(run.folder, done)
        elif run is not None:
            write_learner_run(run, config, done, records=request.records)
    return _answer(request, done, out, folder, seed, features.unused)


def _about(request: RunRequest, seed: int) -> dict[str, Any]:
    """What a run's folder says it is of."""
    return {"command": "learn run", "config": request.config(), "seed": seed, "variant": request.learner.variant}


def find_features(request: RunRequest, device: str) -> Features:
    """From a file or arrays; or from a stage that encodes given images, or as many built-in ones as asked for."""
    built_in = (request.subtasks, request.views, request.choices)
    if (request.features is None) == (request.stage is None):
        raise UserError("give either --features FILE.npz or --stage NETWORK/LAYER")
    if request.features is not None:
        if request.images is not None or built_in != (None, None, 2):
            raise UserError(
                "--images, --subtasks, --views and --choices go with --stage: features are of images you chose yourself"
            )
        return load_features(request.features)
    stimuli = _find_stimuli(request)
    _, n_objects, n_images = stimuli.shape
    make_task(request.learner, n_images, n_objects)  # says if there are too few images, before they are encoded
    stage = load_working_stage(str(request.stage), device)
    n = len(stimuli.pictures) + len(stimuli.warmup)
    print(f"{request.stage}: {n:,} images, whose features are kept for the next time …", file=sys.stderr)
    return encode_stimuli(stage, stimuli, device=device)


def _find_stimuli(request: RunRequest) -> Stimuli:
    if request.images is None:
        n_objects = request.choices * request.subtasks if request.subtasks else None
        return built_in_stimuli(request.experiment, ObjectsConfig(n_objects, request.views), n_objects=request.choices)
    if (request.subtasks, request.views, request.choices) != (None, None, 2):
        raise UserError("--subtasks, --views and --choices are for built-in objects: leave them out with --images")
    return public_stimuli(request.images, request.experiment)


def _check_same_agent(folder: Path, done: LearnerRun) -> None:
    """An agent of one's own may have changed in ways that its file does not show, such as weights: what is in the folder must
    be what it does now."""
    kept = {score.name: repr(score.value) for score in load_scores(folder)}  # as text: NaN is NaN
    if any(kept.get(score.name) not in (None, repr(score.value)) for score in done.scores.values()):
        raise UserError(
            f"{folder} holds another run (the agent of that name did otherwise): give --out another folder, or remove this one"
        )


def _digests(features: Features, source: AgentSource | None) -> dict[str, str]:
    found = {"features": digest(features.images, features.warmup)}
    return found if source is None else found | {"agent": source.fingerprint}


def _answer(
    request: RunRequest,
    done: LearnerRun,
    out: Path | str | None,
    folder: Path | None,
    seed: int,
    unused: tuple[str, ...],
) -> LearnerAnswer:
    n_subtasks, _, n_trials = done.record.shown.shape
    values: dict[str, Any] = by_name(done.scores.values())
    values |= {"cpu_seconds": done.seconds[1], "cpu_seconds_simulation": done.seconds[0], "rule": done.outcome.agent}
    values |= {"experiment": request.experiment, "subtasks": n_subtasks, "sessions": request.sessions}
    values |= {"trials": n_trials, "scaled_by": done.scaled_by, "variant": request.variant, "seed": seed}
    if done.repeated is not None:
        values["curve"] = done.repeated.curves.accuracy.mean(axis=0).round(6).tolist()
    scores = list(done.scores.values())
    text = (
        f"{format_scores(scores, digits=5)}\n\n{done.seconds[1]:.2f} CPU seconds; features scaled by {done.scaled_by}."
    )
    if out is not None:
        values["out"], text = str(out), f"{text} Kept in {out}."
    return LearnerAnswer(
        values=values,
        text=text,
        scores=Scores.collect(scores),
        warnings=(*run_warnings(done), *([f"Arrays that are not used: {shortened(unused)}."] if unused else [])),
        folder=folder,
        figures={} if folder is None else {"learning": folder / FIGURE, "components": folder / COMPONENTS},
        outcome=done.outcome,
    )


def run_warnings(done: LearnerRun) -> tuple[str, ...]:
    early = knows_too_early(done.record.correct[:, :, 0].ravel(), 1 / done.record.n_choices)
    scaled = SELF_SCALED if done.scaled_by == "the images themselves" else ""
    return (*filter(None, (scaled, early and f"The learner knows too early: {early}.")),)


def _class_name(agent: Any) -> str:
    return agent.__name__ if isinstance(agent, type) else type(agent).__name__
