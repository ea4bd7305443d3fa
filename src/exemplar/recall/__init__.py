"""Keep what you learned: continual few-shot tasks by the specification, with data flow, memory and computation enforced.

    import exemplar as ex

    ex.recall.make_tasks("glyphs", type="new-classes", n=20)       # tasks as indices, with a SHA-256
    run = ex.recall.run("protonet", data="glyphs", n=20)           # or agent="mine.py:Mine"
    ex.recall.check_agent("mine.py:Mine")                          # what is wrong with a learner of your own

Tasks, streams and meters for work of your own: see `__all__`. Everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.options import Address, Engine, Names, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.recall.experiments import RunAnswer
    from exemplar.recall.meters.atm import across_task_memory, charge_state
    from exemplar.recall.meters.macs import count_operations
    from exemplar.recall.meters.memory import peak_memory
    from exemplar.recall.rules import find_violation
    from exemplar.recall.stream import Learner, TaskImages, copies_of, stream_task
    from exemplar.recall.strict import StrictHost
    from exemplar.recall.suites import Suite, load_suite, make_suite
    from exemplar.recall.tasks import TaskShape, sample_indices

    AgentGiven = str | type | Learner
else:  # what the command line parses
    AgentGiven = str

__all__ = [
    "Learner", "StrictHost", "Suite", "TaskImages", "TaskShape", "across_task_memory", "charge_state", "check",
    "check_agent", "compare", "copies_of", "count_operations", "find_violation", "list_agents", "list_types", "load_suite",
    "make_suite", "make_tasks", "peak_memory", "run", "sample_indices", "stream_task", "study",
]  # fmt: skip

Data = Annotated[
    str, Option("A data set, a folder with one sub-folder per class, or an npz of images and concepts.", known="data")
]
Split = Annotated[str | None, Option("Of the data; cfsl-test of Omniglot, else test, unless given.")]
Type = Annotated[str | None, Option("A task type (`exemplar recall types`); new-classes unless given.")]
Nss = Annotated[int | None, Option("Support sets of a task (NSS).", low=1)]
Cci = Annotated[int | None, Option("Support sets in a row that share their classes (CCI).", low=1)]
Ways = Annotated[int | None, Option("Classes of a support set (N_C); 5 unless given.", low=1)]
Shots = Annotated[int | None, Option("Support samples of a class in each set (K_S); 1 unless given.", low=1)]
Targets = Annotated[int | None, Option("Target samples of a class in each set (K_T); 5 unless given.", low=1)]
Overwrite = Annotated[
    bool | None, Option("Whether later classes take the labels of earlier ones.", name="--overwrite/--no-overwrite")
]
Policy = Annotated[
    str | None, Option("All samples distinct, or target sets may share samples.", choices=("strict", "unseen"))
]
Count = Annotated[int, Option("Tasks.", low=1)]
Out = Annotated[Place | None, Option("The run folder to write; nothing is written unless given.")]
Size = Annotated[int | None, Option("px of the images handed over; drawings 28, photographs as they are.", low=4)]
AllowSeen = Annotated[bool, Option("Allow a space that was trained on classes of the suite; the result says so.")]


def _changes(**given: Any) -> dict[str, Any]:
    return given


@verb
def make_tasks(
    data: Data = "omniglot",
    split: Split = None,
    type: Type = None,
    nss: Nss = None,
    cci: Cci = None,
    ways: Ways = None,
    shots: Shots = None,
    targets: Targets = None,
    overwrite: Overwrite = None,
    policy: Policy = None,
    n: Count = 600,
    out: Annotated[Place | None, Option("An .npz to write; nothing is written unless given.")] = None,
    seed: Seed = 0,
) -> Answer:
    """Make a suite of distinct tasks as indices, with a SHA-256 for each and for all, and the fingerprint of its data.

    >>> import exemplar as ex
    >>> made = ex.recall.make_tasks("glyphs", type="new-classes-and-samples", n=10)
    >>> made["tasks"], made["unique"], made["labels"], len(made["sha256"])
    (10, 10, 10, 64)
    """
    from exemplar.recall.task_verbs import answer_tasks, find_data, find_shape

    changes = _changes(nss=nss, cci=cci, ways=ways, shots=shots, targets=targets, overwrite=overwrite, policy=policy)
    shape = find_shape(type, changes)
    return answer_tasks(find_data(data, split), shape, n, seed, out)


@verb
def check(
    suite: Annotated[Place, Option("An .npz with a suite of tasks, ours or another's.", positional=True)],
    data: Annotated[str | None, Option("What its rows are rows of; the data it names unless given.")] = None,
    split: Split = None,
) -> Answer:
    """Hold a suite against every rule of the specification; names the first that is broken, and exits with 1 then.

    >>> import exemplar as ex
    >>> _ = ex.recall.make_tasks("glyphs", n=3, out="held.npz")
    >>> ex.recall.check("held.npz")["passes"]
    True
    """
    from exemplar.recall.task_verbs import answer_check

    return answer_check(suite, data, split)


@verb
def run(
    agent: Annotated[
        AgentGiven,
        Option("One of the room (`exemplar recall agents`), or your own, file.py:Class.", known="recall agents"),
    ] = "protonet",
    data: Data = "omniglot",
    split: Split = None,
    type: Type = None,
    nss: Nss = None,
    cci: Cci = None,
    ways: Ways = None,
    shots: Shots = None,
    targets: Targets = None,
    overwrite: Overwrite = None,
    policy: Policy = None,
    suite: Annotated[Place | None, Option("Tasks from this .npz instead.")] = None,
    n: Count = 600,
    space: Annotated[
        str | None, Option("What the agent stands on; the one that suits the data unless given.", known="spaces")
    ] = None,
    size: Size = None,
    strict: Annotated[
        bool | None,
        Option("A process for every call of the learner; your own agents unless given.", name="--strict/--no-strict"),
    ] = None,
    joint: Annotated[bool, Option("Show all support sets at once: the agent's joint version, an upper bound.")] = False,
    history: Annotated[
        bool, Option("Whether to ask each set's targets right after it too, of a copy.", name="--history/--no-history")
    ] = True,
    allow_seen: AllowSeen = False,
    out: Out = None,
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
) -> RunAnswer:
    """Let a learner do continual few-shot tasks: accuracy, cross-entropy, forgetting, memory kept (ATM), MACs, peak memory.

    >>> import exemplar as ex
    >>> done = ex.recall.run("nearest-mean", data="glyphs", n=4, engine="here", space="protonet-glyphs-s0")
    >>> 0.2 < done["accuracy"]["value"] <= 1 and done["tasks"] == 4
    True
    """
    from exemplar.recall.experiments import RunRequest, run_agent
    from exemplar.recall.inputs import DataSource
    from exemplar.recall.running import StreamOptions

    changes = _changes(nss=nss, cci=cci, ways=ways, shots=shots, targets=targets, overwrite=overwrite, policy=policy)
    options = StreamOptions(history=history, joint=joint)
    source = DataSource(str(data), split, size)
    request = RunRequest(agent, source, space, type, changes, suite, n, options, strict, allow_seen)
    return run_agent(request, out=out, seed=seed, backend=make_backend(engine, workers, address))


@verb
def compare(
    runs: Annotated[Names, Option("Two or more folders of `recall run`, on the same suite.", positional=True)],
    out: Out = None,
) -> Answer:
    """Compare learners on the same tasks, paired: differences with intervals, p of no difference (Holm), Pareto front.

    >>> import exemplar as ex
    >>> for agent in ("chance", "joint-oracle"):
    ...     _ = ex.recall.run(agent, data="glyphs", n=3, engine="here", out=agent)
    >>> ex.recall.compare(["joint-oracle", "chance"])["differences"][0]["accuracy"]["value"] > 0
    True
    """
    from exemplar.recall.comparing import compare_runs

    return compare_runs(runs, out)


@verb
def study(
    out: Annotated[Place, Option("The run folder; a study that was stopped resumes there.")] = Path(
        "runs/recall-study"
    ),
    data: Data = "omniglot",
    split: Split = None,
    agent: Annotated[
        Names, Option("One of the room, or several; all that have their weights unless given.", known="recall agents")
    ] = (),
    type: Annotated[Names, Option("A task type, or several; all unless given.")] = (),
    n: Annotated[int, Option("Tasks of each type.", low=2)] = 600,
    space: Annotated[
        str | None, Option("What agents of frozen features stand on; what suits the data unless given.")
    ] = None,
    size: Size = None,
    allow_seen: AllowSeen = False,
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
) -> Answer:
    """Agents × task types on one data set: a table per type, forgetting curves, and accuracy against memory and MACs."""
    from exemplar.recall.inputs import DataSource
    from exemplar.recall.studies.comparison import StudyConfig, answer_study

    source = DataSource(str(data), split, size)
    config = StudyConfig(source, tuple(agent), tuple(type), n, space, allow_seen)
    return answer_study(config, out, seed=seed, backend=make_backend(engine, workers, address))


@verb
def list_agents() -> Answer:
    """The agents of this room, each in one line.

    >>> import exemplar as ex
    >>> ex.recall.list_agents()["agents"][0]["name"]
    'chance'
    """
    from exemplar.answers import Answer, format_pairs
    from exemplar.recall.agents.registry import describe_agents

    rows = [{"name": name, "what": what} for name, what in describe_agents().items()]
    return Answer(values={"agents": rows}, text=format_pairs(describe_agents()))


@verb
def list_types() -> Answer:
    """The task types, each with its numbers.

    >>> import exemplar as ex
    >>> [row["nss"] for row in ex.recall.list_types()["types"]]
    [1, 3, 3, 3, 4]
    """
    from exemplar.answers import Answer, format_table
    from exemplar.recall.tasks import ABOUT_TYPES, TYPES

    rows = [{"name": name, "what": ABOUT_TYPES[name], **vars(shape)} for name, shape in TYPES.items()]
    header = ("name", "NSS", "CCI", "overwrite", "what")
    lines = [(row["name"], row["nss"], row["cci"], "yes" if row["overwrite"] else "no", row["what"]) for row in rows]
    return Answer(values={"types": rows}, text=format_table(header, lines))


@verb
def check_agent(
    agent: Annotated[
        AgentGiven, Option("file.py:Class, module:Class, or an agent of this room by name.", positional=True)
    ],
) -> Answer:
    """Check a learner against the contract of this room, and say what is wrong with it, one finding per line.

    It is made without arguments; has reset, observe, predict, state and restore; gives finite scores of the right shape; keeps
    nothing but its state; forgets in reset; takes its randomness from rng; and does in processes of its own, one for each
    support set, what it does in one. From Python, it may be a class or an object. A remark breaks no contract.

    >>> import exemplar as ex
    >>> ex.recall.check_agent("nearest-mean")["passes"]
    True
    """
    from exemplar.recall.checking import answer_check

    return answer_check(agent)


_HOMES = {
    "meters.atm": ("across_task_memory", "charge_state"),
    "meters.macs": ("count_operations",),
    "meters.memory": ("peak_memory",),
    "rules": ("find_violation",),
    "stream": ("Learner", "TaskImages", "copies_of", "stream_task"),
    "strict": ("StrictHost",),
    "suites": ("Suite", "load_suite", "make_suite"),
    "tasks": ("TaskShape", "sample_indices"),
}  # module of this room → the names it gives


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'exemplar.recall' has no attribute {name!r}")
    home = next(module for module, names in _HOMES.items() if name in names)
    return getattr(import_module(f"exemplar.recall.{home}"), name)


def __dir__() -> list[str]:
    return __all__
