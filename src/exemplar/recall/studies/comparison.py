"""Agents × task types on one data set, on the same tasks: the verb `study`, and the kept results of the room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine
from exemplar.answers import Answer, as_rows, format_table
from exemplar.errors import UserError, unknown
from exemplar.recall.agents.registry import AGENTS, find_entry
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.experiments import Prepared, find_costs
from exemplar.recall.figures.study_page import write_study_page
from exemplar.recall.inputs import (
    DataSource,
    check_fits,
    check_seen,
    check_trained,
    choose_space,
    encode_first,
    has_network,
)
from exemplar.recall.outcomes import Outcome
from exemplar.recall.run_folders import PAGE
from exemplar.recall.running import StreamJob, StreamOptions, do_tasks, gather, make_jobs
from exemplar.recall.scores import compare_outcomes, score_outcome
from exemplar.recall.suites import make_suite
from exemplar.recall.tasks import TYPES
from exemplar.records import Score, Scores
from exemplar.runs import Run, check_run, load_scores, open_run
from exemplar.stats import Estimate

JOINT = ("pretrain-tune", "protonet")  # agents whose joint version is run beside them
AS_JOINT = {"ewc": "pretrain-tune", "lwf": "pretrain-tune"}  # shown one set, there is nothing to keep: the same as this


@dataclass(frozen=True)
class StudyConfig:
    """agents, kinds: names, () for all; n: tasks of each type; space: of agents on frozen features; joint: agents that are
    also run with all support sets at once; fewer: names in the study that do
    only the first so many tasks of each type."""

    source: DataSource
    agents: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    n: int = 600
    space: str | None = None
    allow_seen: bool = False
    joint: tuple[str, ...] = JOINT
    fewer: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        for name in self.agents:
            find_entry(name)
        for name in self.kinds:
            if name not in TYPES:
                raise unknown("task type", name, TYPES)

    @property
    def all_kinds(self) -> tuple[str, ...]:
        return self.kinds or tuple(TYPES)

    def learners(self) -> dict[str, AgentSource]:
        """Name in the study → agent; without a choice, all whose weights are here, and joint versions of some."""
        found = {}
        for name in self.agents or AGENTS:
            if not self.agents and not has_network(name, self.source):
                continue
            entry = find_entry(name)
            takes_space = entry.takes == "features" and entry.space == "pretrained"
            space, _ = choose_space(name, self.space if takes_space else None, self.source)
            check_trained(name, space)
            agent = AgentSource(name, space, self.source.image_shape)
            check_fits(agent, self.source)
            found[name] = agent
            if name in self.joint:
                found[f"{name} (joint)"] = agent
        return found


def answer_study(config: StudyConfig, out: Path | str, *, seed: int, backend: engine.Backend) -> Answer:
    folder = Path(out).expanduser()
    about: dict[str, Any] = {"command": "recall study", "config": config, "seed": seed}
    check_run(folder, **about)
    data = config.source.load()
    warnings = _check(config)
    with open_run(folder, **about, data={data.name: data.fingerprint}, backend=backend, keep="jobs.sqlite") as run:
        if not run.finished:
            compute_study(run, config, seed)
            write_study_page(run.folder, data.name)
    scores = load_scores(folder)
    values = {
        "data": data.name,
        "types": list(config.all_kinds),
        "tasks": config.n,
        "scores": as_rows(scores),
        "out": str(out),
    }
    return Answer(
        values=values, text=f"{summarise(scores)}\n\nKept in {folder}; its page is {folder / PAGE}.", warnings=warnings,
        scores=Scores.collect(scores), folder=folder, page=folder / PAGE,
    )  # fmt: skip


def _check(config: StudyConfig) -> tuple[str, ...]:
    """Everything that can be wrong, before anything long begins; warnings."""
    spaces = {agent.space for agent in config.learners().values() if agent.space}
    for kind in config.all_kinds:
        TYPES[kind].check_supply(config.source.load().counts, config.source.load().name)
    if config.n < 2:
        raise UserError("a study needs at least 2 tasks of each type: raise --n")
    found = [sentence for space in sorted(spaces)
             for sentence in check_seen(space, config.source, allow_seen=config.allow_seen)]  # fmt: skip
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class Cell:
    """One agent in one task type: what to do, and its jobs."""

    name: str
    ready: Prepared
    jobs: list[StreamJob]


def plan_study(config: StudyConfig, seed: int) -> list[Cell]:
    """Every agent in every type, in order."""
    found = []
    for kind in config.all_kinds:
        suite, _ = make_suite(config.source.load(), TYPES[kind], config.n, seed)
        for name, agent in config.learners().items():
            joint = agent.is_joint or name.endswith("(joint)")
            if joint and not agent.is_joint and suite.shape.nss == 1:
                continue  # the same as the streaming version
            options = StreamOptions(history=suite.shape.nss > 1 and not joint, joint=joint)
            some = suite.first(dict(config.fewer).get(name, config.n))
            ready = Prepared(agent, config.source, some, options, kind, (), ())
            found.append(Cell(name, ready, make_jobs(agent, config.source, some, options, seed)))
    return found


def compute_study(run: Run, config: StudyConfig, seed: int) -> Scores:
    """Every agent in every type, all jobs at once; scores into the run's folder."""
    cells = plan_study(config, seed)
    for cell in cells:
        encode_first(cell.ready.agent, config.source)
    parts = iter(run.map(do_tasks, [job for cell in cells for job in cell.jobs], label="tasks, 50 at a time"))
    scores: list[Score] = []
    done: dict[str, dict[str, Outcome]] = {kind: {} for kind in config.all_kinds}
    for cell in cells:
        kind = cell.ready.kind
        outcome = gather([next(parts) for _ in cell.jobs], cell.ready.suite, cell.name)
        done[kind][cell.name] = outcome
        scores += score_outcome(outcome, variant=kind)
        scores += _costs(cell.ready, cell.name, kind, seed)
    for kind, outcomes in done.items():
        scores += _pairs(outcomes, kind)
    table = Scores.collect(scores)
    run.save(table)
    return table


def _costs(ready: Prepared, name: str, kind: str, seed: int) -> list[Score]:
    """Measured once, the same for every task of a type: n is 1, and there is no interval."""
    costs, training = find_costs(ready, seed)
    numbers = {
        "macs_adaptation_per_set": float(np.mean(costs.macs_per_set)),
        "macs_targets": float(costs.macs_targets),
        "macs_task": float(costs.macs_task),
        "peak_bytes_task": float(costs.peak_bytes),
        "unknown_operators": float(len(costs.unknown)),
    }
    if training is not None:
        numbers |= {"macs_training_step": float(training.macs), "peak_bytes_training_step": float(training.peak_bytes)}
    nan = float("nan")
    return [Score.of(key, Estimate(value, nan, nan, 1), agent=name, variant=kind) for key, value in numbers.items()]


def _pairs(done: Mapping[str, Outcome], kind: str) -> list[Score]:
    """Each joint version against its streaming one, and everyone against chance, paired by task; where one did fewer tasks,
    on those."""
    found = []
    for name, outcome in done.items():
        joint = done.get(f"{AS_JOINT.get(name, name)} (joint)")
        if joint is not None:
            found.append(_difference("joint_minus_streaming", joint, outcome, name, kind))
        if name != "chance" and "chance" in done:
            found.append(_difference("accuracy_above_chance", outcome, done["chance"], name, kind))
    return found


def _difference(name: str, one: Outcome, other: Outcome, agent: str, kind: str) -> Score:
    n = min(len(one.label), len(other.label))
    both = compare_outcomes(one.first(n), other.first(n))
    return Score.of(name, both.accuracy, agent=agent, variant=kind)


def summarise(scores: Sequence[Score]) -> str:
    """The accuracies, agents × types."""
    kinds = list(dict.fromkeys(score.variant for score in scores))
    value = {(score.agent, score.variant): score.value for score in scores if score.name == "accuracy"}
    agents = list(dict.fromkeys(agent for agent, _ in value))
    rows = [
        [agent, *(f"{value[agent, kind]:.3f}" if (agent, kind) in value else "" for kind in kinds)] for agent in agents
    ]
    return format_table(["accuracy", *kinds], rows)
