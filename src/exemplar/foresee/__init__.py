"""Know how well you will do: how well a few-shot classifier generalizes, foretold without a validation set.

    import exemplar as ex

    ex.foresee.check("photos/")                                   # one folder per class, perhaps one called unlabelled
    ex.foresee.run(features="mine.npz", ways=5, shots=5)          # which measures foretell accuracy, over many tasks
    ex.foresee.measures(support, labels, queries)                 # of one task of your own

Everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.foresee.arguments import (
    AgentGiven,
    Doer,
    Features,
    Images,
    Number,
    Policy,
    PredictorGiven,
    Proportion,
    Queries,
    Shots,
    Space,
    Split,
    TaskGiven,
    Variant,
    Ways,
)
from exemplar.options import Address, Device, Engine, Names, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.foresee.banks import FeatureBank, encode_bank, join_banks, read_bank
    from exemplar.foresee.evaluating import Evaluated, Recipe, evaluate_tasks
    from exemplar.foresee.graphs import GraphConfig
    from exemplar.foresee.predicting import FitAnswer
    from exemplar.foresee.predictor import GeneralizationPredictor
    from exemplar.foresee.running import RunAnswer
    from exemplar.foresee.scores import noise_ceiling, score_measures
    from exemplar.foresee.single_tasks import FewShotTask, measures
    from exemplar.foresee.studying import StudyAnswer
    from exemplar.foresee.tasks import TaskConfig, Tasks, sample_tasks
    from exemplar.foresee.views import TaskView

__all__ = [
    "Evaluated",
    "FeatureBank",
    "FewShotTask",
    "GeneralizationPredictor",
    "GraphConfig",
    "Recipe",
    "TaskConfig",
    "TaskView",
    "Tasks",
    "check",
    "check_agent",
    "encode_bank",
    "evaluate_tasks",
    "fit",
    "join_banks",
    "label_next",
    "list_agents",
    "list_measures",
    "measures",
    "noise_ceiling",
    "predict",
    "read_bank",
    "run",
    "sample_tasks",
    "score_measures",
    "study",
]


@verb
def run(
    features: Features = None,
    space: Space = None,
    data: Images = None,
    split: Split = None,
    ways: Ways = 5,
    shots: Shots = 5,
    queries: Queries = 30,
    tasks: Annotated[int, Option("How many tasks.", low=10)] = 1000,
    setting: Annotated[str, Option("What labels there are.", choices=("supervised", "semi", "unsupervised"))] = "semi",
    agent: Doer = None,
    measures: Annotated[Names, Option("paper, all, or measures by name (`exemplar foresee measures`); paper.")] = (),
    proportion: Proportion = None,
    dirichlet: Annotated[float | None, Option("Instead: the concentration that shares are drawn with.")] = None,
    neighbours: Annotated[int | None, Option("Of each sample in the graphs; 15.", low=1)] = None,
    variant: Variant = "paper",
    out: Annotated[Place | None, Option("The run folder to write; nothing is written unless given.")] = None,
    device: Device = "auto",
    seed: Seed = 0,
) -> RunAnswer:
    """Few-shot tasks from a bank of features: how well an agent does, and which measures foretell it.

    Correlations keep their sign; intervals are over classes. From Python, features may be an array (classes, samples, d).

    Returns:
        `accuracy` (or `adjusted_rand_index`), `correlation` by measure, `noise_ceiling`; `tasks`: every task's values.

    >>> import exemplar as ex, numpy as np
    >>> x = np.random.default_rng(0).random((8, 40, 16)) + 2 * np.eye(16)[:8, None]
    >>> done = ex.foresee.run(features=x, ways=3, shots=2, queries=5, tasks=50)
    >>> 0.5 < done["accuracy"]["value"] <= 1
    True
    """
    from exemplar.foresee.running import BankRequest, RunRequest, run_tasks
    from exemplar.foresee.tasks import TaskConfig

    task = TaskConfig(ways, shots, queries, setting, proportion, dirichlet)
    bank = BankRequest(features, space, data, split)
    request = RunRequest(bank, task, tasks, agent, tuple(measures), neighbours, variant)
    return run_tasks(request, out=out, device=device, seed=seed)


@verb
def check(
    photos: Annotated[
        Place, Option("A folder: one sub-folder per class, and perhaps one called unlabelled.", positional=True)
    ],
    space: Annotated[
        str, Option("The encoder (see `exemplar spaces list`).", known="spaces")
    ] = "efficientnet-lite0/head",
    predictor: Annotated[
        Place | None, Option("A predictor of your own (`exemplar foresee fit`); one that ships unless given.")
    ] = None,
    budget: Annotated[int, Option("How many unlabelled photographs to suggest for labelling.", low=0)] = 8,
    policy: Policy = "cover",
    out: Annotated[Place, Option("The folder for the page and all it says.")] = Path("foresee-check"),
    device: Device = "auto",
    seed: Seed = 0,
) -> Answer:
    """How well a classifier of your own photographs will do: expected accuracy, likely confusions, what to label next.

    A calibrated predictor is believed where your photographs are like what it was calibrated on; where they are not, it says
    so, and your own labelled photographs, left out in turn, are what counts.

    Returns:
        `expected_accuracy`, `per_class`, `confused`, `label_next`; `page`: all of it with the pictures.
    """
    from exemplar.foresee.checking import check_photos

    return check_photos(photos, space, predictor, budget, policy, out=out, device=device, seed=seed)


@verb
def label_next(
    photos: Annotated[Place, Option("A folder: one sub-folder per class, and one called unlabelled.", positional=True)],
    budget: Annotated[int, Option("How many to label.", low=1)] = 8,
    policy: Policy = "cover",
    space: Annotated[
        str, Option("The encoder (see `exemplar spaces list`).", known="spaces")
    ] = "efficientnet-lite0/head",
    device: Device = "auto",
    seed: Seed = 0,
) -> Answer:
    """Which unlabelled photographs to label next, and what accuracy to expect then."""
    from exemplar.foresee.checking import suggest_labels

    return suggest_labels(photos, space, budget, policy, device=device, seed=seed)


@verb
def fit(
    features: Features = None,
    space: Space = None,
    data: Images = None,
    split: Split = None,
    ways: Annotated[Number, Option("N, classes of a task: a number, or a range such as 2-10.")] = "5",
    shots: Annotated[Number, Option("K, labelled samples per class, likewise.")] = "5",
    queries: Annotated[Number, Option("Q, unlabelled samples per class, likewise.")] = "30",
    setting: Annotated[str, Option("What labels there are.", choices=("supervised", "semi"))] = "semi",
    out: Annotated[Place | None, Option("The .json file to keep the predictor in.")] = None,
    device: Device = "auto",
    seed: Seed = 0,
) -> FitAnswer:
    """Make a predictor of accuracy from many samples of other classes, calibrated on groups of classes it has not seen.

    Returns:
        `errors`: its mean absolute error on classes held out; `predictor`: a `GeneralizationPredictor`.

    >>> import exemplar as ex, numpy as np
    >>> x = np.random.default_rng(0).random((20, 30, 8)) + 2 * np.random.default_rng(1).random((20, 1, 8))
    >>> fitted = ex.foresee.fit(features=x, ways="3-5", shots="3", queries="10")
    >>> task = {"support": x[:4, :3].reshape(12, 8), "labels": np.repeat(np.arange(4), 3), "queries": x[:4, 3:].reshape(-1, 8)}
    >>> 0 < ex.foresee.predict(task, predictor=fitted.predictor)["expected_accuracy"] <= 1
    True
    """
    from exemplar.foresee.predicting import fit_predictor
    from exemplar.foresee.running import BankRequest

    request = BankRequest(features, space, data, split)
    return fit_predictor(request, ways, shots, queries, setting, out=out, device=device, seed=seed)


@verb
def predict(
    task: Annotated[
        TaskGiven, Option("npz: `support` (n, d), `labels` (n,), and perhaps `queries` (q, d).", positional=True)
    ],
    predictor: Annotated[
        PredictorGiven, Option("A .json file, or the encoder whose predictor ships.")
    ] = "efficientnet-lite0/head",
    level: Annotated[float, Option("Of the interval.", low=0.01, high=0.99)] = 0.9,
) -> Answer:
    """Expected accuracy of a classifier of one task, with its interval, per class; says when the task is unlike all it knows.

    From Python, the task may be a dict of arrays, and the predictor a `GeneralizationPredictor`.
    """
    from exemplar.foresee.predicting import predict_task

    return predict_task(task, predictor, level=level)


@verb
def study(
    name: Annotated[
        str, Option("A study; a name that does not exist lists them.", known="foresee studies", positional=True)
    ],
    features: Features = None,
    space: Space = None,
    data: Images = None,
    split: Split = None,
    tasks: Annotated[int, Option("Tasks per point; the paper has 10,000.", low=20)] = 1000,
    out: Annotated[Place | None, Option("The run folder; runs/foresee/NAME-sSEED unless given.")] = None,
    device: Device = "auto",
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    seed: Seed = 0,
) -> StudyAnswer:
    """One of the paper's experiments on any bank of features: scores, a figure and a page; a study that was stopped resumes."""
    from exemplar.foresee.running import BankRequest
    from exemplar.foresee.studying import run_study

    request, backend = BankRequest(features, space, data, split), make_backend(engine, workers, address)
    return run_study(name, request, tasks, out=out, device=device, seed=seed, backend=backend)


@verb
def list_agents() -> Answer:
    """The agents of this room, each in one line.

    >>> import exemplar as ex
    >>> ex.foresee.list_agents()["agents"][0]["name"]
    'logistic'
    """
    from exemplar.foresee.agents import answer_list

    return answer_list()


@verb
def list_measures() -> Answer:
    """The measures of this room: what each is, its direction, and what it looks at.

    >>> import exemplar as ex
    >>> ex.foresee.list_measures()["measures"][0]["name"]
    'lr_loss'
    """
    from exemplar.foresee.single_tasks import describe_measures

    return describe_measures()


@verb
def check_agent(
    agent: Annotated[
        AgentGiven, Option("file.py:function, module:function, or an agent of this room by name.", positional=True)
    ],
) -> Answer:
    """Check an agent against the contract of this room, and say what is wrong with it, one finding per line.

    It is a function (support, labels, queries, rng) that gives a label for each query, takes all randomness from rng, changes
    nothing it is given, keeps nothing of another task, and does not care in which order samples come.

    >>> import exemplar as ex
    >>> ex.foresee.check_agent("nearest-mean")["passes"]
    True
    """
    from exemplar.foresee.agent_checks import answer_check

    return answer_check(agent)


_HOMES = {
    "banks": ("FeatureBank", "encode_bank", "join_banks", "read_bank"),
    "evaluating": ("Evaluated", "Recipe", "evaluate_tasks"),
    "graphs": ("GraphConfig",),
    "scores": ("noise_ceiling", "score_measures"),
    "predictor": ("GeneralizationPredictor",),
    "single_tasks": ("FewShotTask", "measures"),
    "tasks": ("TaskConfig", "Tasks", "sample_tasks"),
    "views": ("TaskView",),
}  # module of this room → the names it gives


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"exemplar.foresee.{module}"), name)
    raise AttributeError(f"module 'exemplar.foresee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
