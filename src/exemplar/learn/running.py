"""One learner through one experiment: features into the ball, sessions drawn, choices made (the fast way if there is one)."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine, seeds
from exemplar.errors import UserError, unknown
from exemplar.files import first_line
from exemplar.learn.agents import OTHERS, Agent, LinearLearner, Prototype, RandomGuesser, make_agent
from exemplar.learn.features import Features
from exemplar.learn.measures.curves import Behaviour, Repeated, behaviour_of, repeat
from exemplar.learn.measures.oneshot import Generalization, generalization_of, interval_about
from exemplar.learn.outcomes import Outcome
from exemplar.learn.scores import score_accuracy, score_speed
from exemplar.learn.simulation import gram_matrices, run_agent, simulate
from exemplar.learn.tasks import VARIANTS, ObjectLearning, OneShot, Sessions
from exemplar.records import Score

FAST = (LinearLearner, Prototype, RandomGuesser)  # what `simulate` can do


@dataclass(frozen=True)
class RunConfig:
    """experiment: 1 or 2; rule: a name in `agents.AGENTS`; agent: instead, "file.py:Class"; n_sessions: of each subtask;
    n_trials: of a session of Experiment 1; variant: of rules, features' radius and trial sequences.
    """

    experiment: int = 1
    rule: str = "square"
    agent: str | None = None
    rate: float = 1.0
    n_sessions: int = 500
    n_trials: int = 100
    variant: str = "paper"

    def __post_init__(self) -> None:
        if self.experiment not in (1, 2):
            raise UserError(f"there is no Experiment {self.experiment}: choose 1 (ever new views) or 2 (one view)")
        if self.variant not in VARIANTS:
            raise unknown("variant", self.variant, VARIANTS)
        if self.agent is None:
            make_agent(
                self.rule, rate=self.rate, variant=self.variant
            )  # says what is wrong with them, before hours of work
        if self.rate != 1 and (self.agent is not None or self.rule in OTHERS):
            who = self.agent if self.agent is not None else self.rule
            raise UserError(f"{who} takes no learning rate from here, only plasticity rules do: leave --rate out")
        if self.n_sessions < 2:
            raise UserError(f"{self.n_sessions} sessions of a subtask give no variance: simulate at least 2")

    @property
    def name(self) -> str:
        """What the agent is called in records: the rule (with its rate, unless 1), or the class."""
        if self.agent is not None:
            return self.agent.rpartition(":")[2]
        return self.rule if self.rate == 1 else f"{self.rule} at rate {self.rate:g}"


@dataclass(frozen=True, eq=False)
class Done:
    """What a learner did. choice, sessions: what was chosen and shown; repeated: Experiment 1's curves with replicates;
    seconds: of simulation, and of simulation and scoring, CPU time after compilation.
    """

    outcome: Outcome
    choice: np.ndarray
    sessions: Sessions
    scores: dict[str, Score]
    scaled_by: str
    repeated: Repeated | None
    seconds: tuple[float, float]


def run_learner(config: RunConfig, features: Features, *, seed: int) -> Done:
    """Let the agent of a configuration learn every subtask, and score what it did by itself."""
    n_subtasks, n_objects, n_images = features.shape
    agent = load_agent(config.agent) if config.agent else None
    if agent is None:
        agent = make_agent(config.rule, n_choices=n_objects, rate=config.rate, variant=config.variant)
    task = make_task(config, n_images, n_objects)
    tests = _tests(features) if config.experiment == 2 else None
    with engine.one_thread(), _enough_memory(n_subtasks, config.n_sessions):
        placed, scaled_by = features.in_ball(config.variant)
        _compile(agent, placed, task)
        start = time.process_time()
        shown = task.sample(n_subtasks, config.n_sessions, rng=seeds.rng("learn run", seed))
        choice = _choices(agent, placed, shown)
        simulated = time.process_time() - start
        images = None
        names = features.subtasks or tuple(f"subtask{number:03d}" for number in range(n_subtasks))
        if features.image is not None:
            images = {name: frozenset(row.ravel().tolist()) for name, row in zip(names, features.image, strict=True)}
        rng, repeated = seeds.rng("learn run", "repeat", seed), None
        result: Behaviour | Generalization
        if tests is None:
            result = behaviour_of(choice, shown, names)
            repeated = repeat(result, rng=rng)
            scores = {**score_accuracy(repeated, agent=config.name), **score_speed(repeated, agent=config.name)}
            scores = {"accuracy": replace(scores.pop("overall"), name="accuracy"), **scores}
        else:
            result = generalization_of(choice, shown, *tests)
            scores = score_tests(result, agent=config.name, rng=rng)
        seconds = time.process_time() - start
    outcome = Outcome(config.name, result, images, n_objects)
    return Done(outcome, choice, shown, scores, scaled_by, repeated, (simulated, seconds))


def make_task(config: RunConfig, n_images: int, n_objects: int) -> ObjectLearning | OneShot:
    """The experiment's task with as many images of each object as there are."""
    if config.experiment == 1:
        return ObjectLearning(config.n_trials, n_images, n_objects, config.variant)
    n_training = 5 * n_objects  # then ten tests, of which the fifth and the last are catch trials
    return OneShot(n_images, n_training, 10, n_objects, (n_training + 4, n_training + 9), config.variant)


def score_tests(
    result: Generalization, *, agent: str = "", n_replicates: int = 1000, rng: np.random.Generator
) -> dict[str, Score]:
    """Experiment 2: accuracy over all tests, and over the levels of each transformation."""
    points, drawn = result.points(), result.resample(n_replicates, rng)[0]
    kind = np.array([name.split(" | ")[0] for name in points.tests])
    groups = {"accuracy": np.full(len(kind), True), **{name: kind == name for name in dict.fromkeys(kind.tolist())}}
    scores = {}
    for name, mine in groups.items():
        value, values = float(points.accuracy[mine].mean()), drawn[:, mine].mean(axis=1)
        around = interval_about(values, value, n=len(result))
        scores[name] = Score(name, value, (around.lo, around.hi), len(result), agent=agent)
    return scores


def load_agent(place: str) -> Agent:
    """An agent from a Python file, "file.py:Class": the class, made without arguments, has reset, choose and feedback.

    The file is run, as any program of yours that you start.
    """
    file, colon, name = place.rpartition(":")
    path = Path(file)
    if not colon or not file or not name:
        raise UserError(f"{place!r} does not name a file and a class: write --agent file.py:Class")
    if not path.is_file():
        raise UserError(f"there is no file {file!r}: write --agent file.py:Class")
    spec = importlib.util.spec_from_file_location(f"agent_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is no Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        with redirect_stdout(sys.stderr):  # standard output is for the answer
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        raise UserError(f"{path} cannot be run ({_what(problem)}): mend it") from problem
    kind = getattr(module, name, None)
    if not isinstance(kind, type):
        raise unknown(f"class in {path}", name, [key for key, value in vars(module).items() if isinstance(value, type)])
    try:
        with redirect_stdout(sys.stderr):
            agent = kind()
    except (Exception, SystemExit) as problem:
        raise UserError(f"{place} cannot be made without arguments ({_what(problem)}): give it defaults") from problem
    for method in ("reset", "choose", "feedback"):
        if not callable(getattr(agent, method, None)):
            raise UserError(f"{place} has no method {method}: an agent has reset(rng), choose(x) and feedback(reward)")
    return _Guarded(agent, place)


class _Guarded:
    """Somebody's agent; what goes wrong in it is said in a sentence that names it."""

    def __init__(self, agent: Any, name: str) -> None:
        self.agent, self.name = agent, name

    def reset(self, rng: np.random.Generator) -> None:
        self._call("reset", rng)

    def choose(self, x: np.ndarray) -> int:
        made = self._call("choose", x)
        if not isinstance(made, int | np.integer) or isinstance(made, bool):
            what = repr(made) if isinstance(made, float | str | bool | None) else f"something of {type(made)}"
            raise UserError(f"{self.name} chose {what}: choose must give a whole number, 0 for the first key")
        return int(made)

    def feedback(self, reward: float) -> None:
        self._call("feedback", reward)

    def _call(self, method: str, value: Any) -> Any:
        try:
            return getattr(self.agent, method)(value)
        except (Exception, SystemExit) as problem:
            raise UserError(f"{self.name} failed in {method} ({_what(problem)}): --debug shows where") from problem


def _what(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {first_line(problem)}"


@contextmanager
def _enough_memory(n_subtasks: int, n_sessions: int) -> Iterator[None]:
    try:
        yield
    except MemoryError as problem:
        raise UserError(
            f"{n_sessions:,} sessions of {n_subtasks} subtasks do not fit into memory: give fewer --sessions"
        ) from problem


def _choices(agent: Agent, placed: np.ndarray, shown: Sessions) -> np.ndarray:
    if isinstance(agent, FAST):
        return simulate(agent, gram_matrices(placed), shown)
    with redirect_stdout(sys.stderr):  # what an agent prints is not the answer
        return run_agent(agent, placed, shown)


def _compile(agent: Agent, placed: np.ndarray, task: ObjectLearning | OneShot) -> None:
    """Compile what is timed, on two sessions of one subtask."""
    few = task.sample(1, 2, rng=seeds.rng("compile"))
    if isinstance(agent, FAST):
        simulate(agent, gram_matrices(placed[:1]), few)
    repeat(behaviour_of(few.answer, few), n_replicates=2, rng=seeds.rng("compile"))


def _tests(features: Features) -> tuple[np.ndarray, tuple[str, ...]]:
    """(subtasks, objects · images) which test an image belongs to, −1 for none; and the tests' names."""
    if features.test is None:
        raise UserError(
            "Experiment 2 needs the array `test` (subtasks, objects, images), which test each image belongs to: "
            "`exemplar learn objects --experiment 2` writes it beside the images"
        )
    if (features.test[:, :, 0] != "").any():
        raise UserError("the first image of each object must be the one that is trained on, in no test: reorder them")
    tests = tuple(sorted(set(features.test.ravel().tolist()) - {""}))
    if not tests:
        raise UserError("no image belongs to a test: name tests in the array `test`, such as 'scale | 0.5'")
    place = {"": -1, **{name: number for number, name in enumerate(tests)}}
    codes = np.array([place[name] for name in features.test.ravel().tolist()])
    return codes.reshape(len(features.test), -1), tests
