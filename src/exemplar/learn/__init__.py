"""Learn from right and wrong: objects nobody has seen before, learned one choice at a time, by people and by plasticity rules.

    import exemplar as ex

    run = ex.learn.run("efficientnet-lite0/head", rule="square")   # or features="mine.npz", agent="mine.py:Mine"
    ex.learn.score(run, people=another)                            # MSE_n, noise floor, null test, consistency
    ex.learn.check_agent("mine.py:Mine")                           # what is wrong with an agent of your own

Tasks, agents and measures for work of your own: see `__all__`. Everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.errors import UserError
from exemplar.options import Address, Device, Engine, Names, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from exemplar.answers import Answer
    from exemplar.learn.agents import Agent, LinearLearner, Prototype, RandomGuesser, make_agent, make_rule
    from exemplar.learn.batched import (
        Learners,
        SessionTensors,
        gram_tensors,
        sample_session_tensors,
        session_tensors,
        simulate_stages,
    )
    from exemplar.learn.experiments import LearnerAnswer, RulesAnswer
    from exemplar.learn.features import Features, load_features
    from exemplar.learn.outcomes import Outcome, load_outcome
    from exemplar.learn.people import generalization_in, load_curves, load_images, load_people, load_points, load_trials
    from exemplar.learn.scores import (
        Behaviour,
        Curves,
        Excess,
        Generalization,
        Points,
        behaviour_in,
        behaviour_of,
        compare_phases,
        compare_populations,
        compare_transformations,
        complete_individuals,
        generalization_null,
        generalization_of,
        individuality_test,
        learning_curve,
        measure_excess,
        noise_floor,
        null_distribution,
        power_to_tell_apart,
        repeat,
        score_accuracy,
        score_consistency,
        score_generalization,
        score_learner,
        score_mse,
        score_speed,
        smooth_curves,
        variance_explained,
        who_outperforms,
    )
    from exemplar.learn.simulation import gram_matrices, run_agent, simulate
    from exemplar.learn.stimuli import Stimuli, built_in_stimuli, public_stimuli
    from exemplar.learn.tasks import ObjectLearning, OneShot, Sessions
    from exemplar.learn.trials import trials_of
    from exemplar.records import Trials

    FeaturesGiven = Path | str | Features | Mapping[str, np.ndarray]
    AgentGiven = str | type | Agent
    Record = Path | str | Outcome | Trials | Answer
else:  # what the command line parses
    FeaturesGiven = Path
    AgentGiven = str
    Record = Path

__all__ = [
    "Agent", "Behaviour", "Curves", "Excess", "Features", "Generalization", "Learners", "LinearLearner",
    "ObjectLearning", "OneShot", "Outcome", "Points", "Prototype", "RandomGuesser", "SessionTensors", "Sessions",
    "Stimuli", "behaviour_in", "behaviour_of", "built_in_stimuli", "check_agent", "compare", "compare_phases",
    "compare_populations", "compare_transformations", "complete_individuals", "generalization_in",
    "generalization_null", "generalization_of", "gram_matrices", "gram_tensors", "human", "import_trials",
    "individuality_test", "learning_curve", "list_agents", "load_curves", "load_features", "load_images",
    "load_outcome", "load_people", "load_points", "load_trials", "make_agent", "make_rule", "measure_excess",
    "noise_floor", "null_distribution", "objects", "power", "power_to_tell_apart", "public_stimuli", "repeat", "run",
    "run_agent", "sample_session_tensors", "score", "score_accuracy", "score_consistency", "score_generalization",
    "score_learner", "score_mse", "score_speed", "session_tensors", "simulate", "simulate_stages", "smooth_curves",
    "study", "trials_of", "variance_explained", "who_outperforms",
]  # fmt: skip

Variant = Annotated[str, Option("The paper, or the authors' library where it differs.", choices=("paper", "hobj"))]
Experiment = Annotated[int, Option("1: ever new views; 2: one view, then others.", low=1, high=2)]
WhichExperiment = Annotated[int | None, Option("1 or 2, where the data have both; 1 unless given.", low=1, high=2)]
Metadata = Annotated[Place | None, Option("For Trials of Experiment 2: the folder with the images' metadata.")]
OtherImages = Annotated[bool, Option("Compare although the two saw other images; the result says so.")]
Out = Annotated[Place | None, Option("The run folder to write; nothing is written unless given.")]


@verb
def objects(
    out: Annotated[Place, Option("A new folder (PNGs, public layout), or something.npz.")] = Path("objects"),
    experiment: Experiment = 1,
    objects: Annotated[int | None, Option("How many, an even number; 128 (64 in Experiment 2).", low=2)] = None,
    views: Annotated[int | None, Option("Of each object; 100. Experiment 2 always has 61.", low=1)] = None,
    size: Annotated[int, Option("px a side.", low=16, high=2048)] = 256,
    backgrounds: Annotated[Place | None, Option("A folder of photographs, instead of 1/f fields.")] = None,
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
) -> Answer:
    """Draw the built-in objects, for an encoder of your own: images, their names and poses, and a sheet to look at."""
    from exemplar.images.objects import ObjectsConfig
    from exemplar.learn.exports import export_objects

    photographs = None if backgrounds is None else Path(backgrounds)
    config = ObjectsConfig(objects, views, size, photographs, seed)
    return export_objects(out, experiment, config, backend=make_backend(engine, workers, address))


@verb
def human(
    folder: Annotated[
        Place | None,
        Option("The public files (with data/behavior), or counts; default: the counts that ship.", positional=True),
    ] = None,
    variant: Variant = "paper",
    out: Out = None,
    seed: Seed = 0,
) -> Answer:
    """How people learned new objects, and from one view: accuracies, speed, noise floor, what guessing scores, individuals."""
    from exemplar.learn.scoring import describe_people

    return describe_people(folder, variant, out=out, seed=seed)


@verb
def run(
    stage: Annotated[str | None, Option("An encoding stage: efficientnet-lite0/block03 and so on.")] = None,
    features: Annotated[
        FeaturesGiven | None,
        Option("Instead, npz: `features` (subtasks, 2, images, d); also `warmup`, `subtask`, `image`, `test`."),
    ] = None,
    images: Annotated[Place | None, Option("With --stage: images in the public layout, not the built-in ones.")] = None,
    subtasks: Annotated[int | None, Option("Of the built-in objects, the first.", low=1)] = None,
    views: Annotated[int | None, Option("Of each built-in object; 100.", low=1)] = None,
    choices: Annotated[int, Option("Built-in objects of a subtask, one per key; 2 as published.", low=2)] = 2,
    experiment: Experiment = 1,
    rule: Annotated[
        Names, Option("A plasticity rule (see `exemplar learn agents`), or several; square.", known="learn agents")
    ] = (),
    agent: Annotated[
        AgentGiven | None, Option("Instead: your own, file.py:Class with reset, choose and feedback.")
    ] = None,
    rate: Annotated[float, Option("Learning rate of the rule.")] = 1.0,
    sessions: Annotated[int, Option("Simulated sessions of each subtask.", low=2)] = 500,
    trials: Annotated[int, Option("Trials of a session of Experiment 1.", low=1)] = 100,
    variant: Variant = "paper",
    out: Out = None,
    records: Annotated[bool, Option("Keep the trials as a parquet table too, for other programs.")] = False,
    device: Device = "auto",
    seed: Seed = 0,
) -> LearnerAnswer | RulesAnswer:
    """Let a learner do an experiment, on your own encoder's features or a pretrained stage, and say how well and how fast.

    Features are centred and scaled by `warmup`; without, they must lie in the ball of radius 1, or are scaled by themselves.
    From Python, features may be arrays by name or `Features`, and agent a class or an object.

    Returns:
        Accuracies and speed; `outcome`, what the learner did, which `score` and `compare` take. Of several rules, `outcomes` by
        rule, and a run folder for each.

    >>> import exemplar as ex, numpy as np
    >>> x = np.random.default_rng(0).standard_normal((3, 2, 20, 8)) + 2 * np.eye(8)[:2, None]
    >>> done = ex.learn.run(features={"features": x}, rule="prototype", sessions=50, trials=20)
    >>> 0.8 < done["accuracy"]["value"] < 1
    True
    """
    from exemplar.learn.experiments import RunRequest, run_experiment, run_rules

    request = RunRequest(stage, features, images, subtasks, views, choices, experiment, (*rule, "square")[0], agent, rate,
                         sessions, trials, variant, records)  # fmt: skip
    if agent is not None and rule:
        raise UserError("--agent brings its own rule: leave --rule out, or run it by itself")
    if len(rule) > 1:
        return run_rules(request, rule, out=out, device=device, seed=seed)
    return run_experiment(request, out=out, device=device, seed=seed)


@verb
def score(
    record: Annotated[Record, Option("A run's folder, a Trials file, or the public files.", positional=True)],
    people: Annotated[Record | None, Option("Against whom, likewise; default: people's counts, which ship.")] = None,
    experiment: WhichExperiment = None,
    images: Metadata = None,
    catch: Annotated[bool, Option("Correct Trials of Experiment 2 by their catch trials, as people's are.")] = False,
    other_images: OtherImages = False,
    null: Annotated[
        str,
        Option(
            "Of Experiment 1; paper is right only near 50 sessions a subtask.",
            choices=("calibrated", "paper"),
            kind="null test",
        ),
    ] = "calibrated",
    out: Out = None,
    seed: Seed = 0,
) -> Answer:
    """A learner against people: MSE_n with noise floor and null test, lapse rate, accuracies, consistency, early and late."""
    from exemplar.learn.scoring import ReadOptions, score_record

    options = ReadOptions(experiment, images, catch, other_images)
    return score_record(record, people, options, null=null, out=out, seed=seed)


@verb
def study(
    out: Annotated[Place, Option("The run folder; a study that was stopped resumes there.")] = Path("runs/learn-study"),
    encoder: Annotated[Names, Option("pixels, a stage, or a network for all its stages; all unless given.")] = (),
    rule: Annotated[Names, Option("A plasticity rule; the seven published unless given.", known="learn agents")] = (),
    truth: Annotated[str | None, Option("The encoder of the simulated participants; one of those compared.")] = None,
    subtasks: Annotated[int, Option("Of Experiment 1.", low=4, high=64)] = 64,
    one_shot: Annotated[int, Option("Subtasks of Experiment 2.", low=2, high=32)] = 32,
    trials: Annotated[int, Option("Of a session of Experiment 1.", low=10)] = 100,
    sessions: Annotated[int, Option("Of each model in each subtask.", low=2)] = 500,
    people: Annotated[
        Place | None,
        Option("Compare with people instead: the public files (with data/behavior), a Trials folder, or counts."),
    ] = None,
    images: Annotated[
        Place | None, Option("With --people: the images they saw, in the public layout; their own folder unless given.")
    ] = None,
    features: Annotated[
        Names, Option("With --people, instead: NAME.npz per encoder (and NAME-one-shot.npz of Experiment 2).")
    ] = (),
    runs: Annotated[Names, Option("With --people, instead: folders of `learn run`, already made.")] = (),
    other_images: OtherImages = False,
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
) -> Answer:
    """Encoders × rules in both experiments, against people; or, on built-in objects, against SIMULATED participants.

    With people: how much encoder and rule explain of MSE_n, consistency, early and late at four levels of difficulty, how many
    models are rejected, and the best 1 % beside people. Without: which encoder of simulated participants is found again.
    """
    from exemplar.learn.studies.requests import ModelSources, StudyRequest, StudySizes, answer_request

    sources = ModelSources(images, tuple(map(str, features)), tuple(map(str, runs)), other_images)
    sizes = StudySizes(subtasks, one_shot, trials, sessions)
    request = StudyRequest(tuple(encoder), tuple(rule), truth, sizes, people, sources)
    return answer_request(request, out, seed=seed, backend=make_backend(engine, workers, address))


@verb
def compare(
    first: Annotated[Record, Option("A run's folder, a Trials file, or the public files.", positional=True)],
    second: Annotated[Record, Option("Another one.", positional=True)],
    experiment: WhichExperiment = None,
    images: Metadata = None,
    catch: Annotated[
        bool, Option("Whether to correct Trials of Experiment 2 by their catch trials.", name="--catch/--no-catch")
    ] = True,
    other_images: OtherImages = False,
    out: Out = None,
    seed: Seed = 0,
) -> Answer:
    """Two populations (in the lab and online) or two models: where they differ, with tests of no difference."""
    from exemplar.learn.scoring import ReadOptions, compare_records

    return compare_records(first, second, ReadOptions(experiment, images, catch, other_images), out=out, seed=seed)


@verb
def import_trials(
    file: Annotated[Place, Option("A CSV, one trial per row.", positional=True)],
    out: Annotated[Place, Option("The folder to write, which `score`, `compare` and `human` read.")] = Path("trials"),
    map: Annotated[
        str,
        Option(
            "Columns by other names: participant=id,subtask=pair,stimulus=image,correct=hit,choice=response and so on."
        ),
    ] = "",
    agent: Annotated[str, Option("Who did it, where no column says.")] = "human",
    time_unit: Annotated[str, Option("Of reaction times.", choices=("auto", "ms", "s"), kind="unit of time")] = "auto",
) -> Answer:
    """Trials from a CSV of your own; casting, units and whether trials count from 0 or 1 are taken care of, and said.

    Needed: participant, subtask (its objects, "A,B"), trial, stimulus and correct; session, choice, phase (train, test, catch),
    reaction_time_ms, timed_out, refresh_hz, dropped_frames and agent where there are such columns. Others, such as gaze, are
    left out, and named.

    >>> import exemplar as ex, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = ["who,pair,n,image,hit,rt"] + [f"p{p},cat:dog,{n},i{n}.png,{n % 2},0.5" for p in (1, 2) for n in (1, 2, 3)]
    >>> _ = (folder / "mine.csv").write_text("\\n".join(rows))
    >>> named = "participant=who,subtask=pair,trial=n,stimulus=image,correct=hit,reaction_time_ms=rt"
    >>> done = ex.learn.import_trials(folder / "mine.csv", out=folder / "trials", map=named)
    >>> done["sessions"], done["notes"][1]
    (2, 'trials are counted from 1, kept from 0')
    """
    from exemplar.learn.importing import ImportRequest, import_csv

    return import_csv(ImportRequest(Path(file).expanduser(), map, agent, time_unit), Path(out).expanduser())


@verb
def power(
    true: Annotated[Record, Option("A run of the model that people are taken to learn as.", positional=True)],
    other: Annotated[Record, Option("A run of the model to be told from it, on the same images.", positional=True)],
    people: Annotated[str, Option("Sessions of each subtask, each by someone else.")] = "5,10,20,50",
    subtasks: Annotated[
        str, Option("Numbers of subtasks, as 8,16; a quarter, a half and all of those run unless given.")
    ] = "",
    lapse: Annotated[float, Option("Share of trials on which people guess.", low=0, high=0.99)] = 0.1,
    experiments: Annotated[int, Option("Simulated for each design.", low=20)] = 200,
    seed: Seed = 0,
) -> Answer:
    """How many people and subtasks it takes to reject a wrong model, and to find the right one nearer to people."""
    from exemplar.learn.powering import answer_power
    from exemplar.learn.scoring import ReadOptions, find_outcome

    sides = [find_outcome(record, ReadOptions(1, None, False, False)) for record in (true, other)]
    return answer_power(*sides, people=people, subtasks=subtasks, lapse=lapse, experiments=experiments, seed=seed)


@verb
def list_agents() -> Answer:
    """The agents of this room, each in one line.

    >>> import exemplar as ex
    >>> ex.learn.list_agents()["agents"][-1]["name"]
    'random-guesser'
    """
    from exemplar.answers import Answer, format_pairs
    from exemplar.learn.agents import describe_agents

    rows = [{"name": name, "what": what} for name, what in describe_agents().items()]
    return Answer(values={"agents": rows}, text=format_pairs(describe_agents()))


@verb
def check_agent(
    agent: Annotated[
        AgentGiven, Option("file.py:Class, module:Class, or an agent of this room by name.", positional=True)
    ],
) -> Answer:
    """Check an agent against the contract of this room, and say what is wrong with it, one finding per line.

    It is made without arguments (or with n_choices, if it takes that), has reset(rng), choose(x) and feedback(reward), chooses
    whole numbers in range, takes all randomness from rng, neither changes x nor keeps it, and forgets in reset. From Python,
    it may be a class or an object. A remark, such as that it learns nothing, breaks no contract.

    >>> import exemplar as ex
    >>> ex.learn.check_agent("square")["passes"]
    True
    """
    from exemplar.learn.checking import answer_check

    return answer_check(agent)


_HOMES = {
    "agents": ("Agent", "LinearLearner", "Prototype", "RandomGuesser", "make_agent", "make_rule"),
    "batched": (
        "Learners",
        "SessionTensors",
        "gram_tensors",
        "sample_session_tensors",
        "session_tensors",
        "simulate_stages",
    ),
    "features": ("Features", "load_features"),
    "outcomes": ("Outcome", "load_outcome"),
    "people": ("generalization_in", "load_curves", "load_images", "load_people", "load_points", "load_trials"),
    "simulation": ("gram_matrices", "run_agent", "simulate"),
    "stimuli": ("Stimuli", "built_in_stimuli", "public_stimuli"),
    "tasks": ("ObjectLearning", "OneShot", "Sessions"),
    "trials": ("trials_of",),
}  # module of this room → the names it gives; all others in __all__ are scores


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'exemplar.learn' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "scores")
    return getattr(import_module(f"exemplar.learn.{home}"), name)


def __dir__() -> list[str]:
    return __all__
