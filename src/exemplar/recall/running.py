"""Tasks of a suite shown to a learner, in parts that any process can do and that resume; and what came of them, as arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import engine
from exemplar.errors import UserError
from exemplar.files import first_line
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.inputs import DataSource
from exemplar.recall.meters.atm import across_task_memory, printed_atm
from exemplar.recall.outcomes import Outcome
from exemplar.recall.states import State
from exemplar.recall.stream import Host, TaskImages, check_names, copies_of, is_transductive, largest, stream_task
from exemplar.recall.strict import LearnerFailed, StrictHost
from exemplar.recall.suites import Suite

PART = 50  # tasks per job
N_TRANSDUCTIVE = 3  # tasks on which targets are also predicted one by one


@dataclass(frozen=True)
class StreamOptions:
    """strict: a process for every call; history: also ask each set's targets right after it; joint: show all sets at once."""

    strict: bool = False
    history: bool = True
    joint: bool = False


@dataclass(frozen=True, eq=False)
class StreamJob:
    """Some tasks of a suite. number: (n,) of the tasks; support, support_label, target: as in `Suite`, labels from 0."""

    agent: str
    space: str
    shape: tuple[int, int, int]
    source: DataSource
    options: StreamOptions
    n_labels: int
    number: np.ndarray
    support: np.ndarray
    support_label: np.ndarray
    target: np.ndarray
    seed: int


def make_jobs(
    agent: AgentSource, source: DataSource, suite: Suite, options: StreamOptions, seed: int
) -> list[StreamJob]:
    low = suite.first_label
    jobs = []
    plain = agent.agent if agent.given is not None else agent.plain()["agent"]
    for first in range(0, len(suite), PART):
        part = slice(first, first + PART)
        jobs.append(
            StreamJob(
                plain, agent.space, agent.shape, source, options, suite.shape.n_labels,
                np.arange(len(suite))[part], suite.support[part], suite.support_label[part] - low, suite.target[part], seed,
            )
        )  # fmt: skip
    return jobs


def do_tasks(job: StreamJob) -> dict[str, Any]:
    """Show the tasks of a job to its learner; arrays as `gather` reads them."""
    return show_tasks(job, AgentSource(job.agent, job.space, job.shape))


def show_tasks(job: StreamJob, agent: AgentSource) -> dict[str, Any]:
    """As `do_tasks`, with a learner that may come from Python."""
    n, nss, m = job.target.shape
    log_p = np.full((n, nss, m, job.n_labels), np.nan, np.float32)
    own = np.full_like(log_p, np.nan)
    bits, by_vectors = np.zeros((n, nss)), np.zeros(n)
    failures: list[str] = []
    n_transductive = 0
    first: list[State] = []
    image_shape = job.source.image_shape
    n_images = job.support.shape[1] * job.support.shape[2]
    with engine.one_thread(), make_host(agent, job.options) as host:
        for k in range(n):
            task = task_images(job, k, features=agent.takes_features)
            task = task.joint() if job.options.joint else task
            try:
                done = stream_task(host, task, seed=job.seed, history=job.options.history)
                if job.number[k] < N_TRANSDUCTIVE:
                    n_transductive += is_transductive(host, task, done.states[-1], seed=job.seed)
            except LearnerFailed as problem:
                failures.append(f"task {job.number[k]}: {problem}")
                continue
            first = first or done.states
            check_names(first, done.states, agent.name)
            log_p[k] = done.log_p
            if done.own_log_p is not None:
                own[k] = done.own_log_p
            bits[k, : len(done.charges)] = [charge.bits for charge in done.charges]
            most = largest(done.charges)
            by_vectors[k] = printed_atm(done.charges[most], done.states[most], n_images, int(np.prod(image_shape)))
    peak = bits.max(axis=1)
    return {
        "log_p": log_p, "own": own if job.options.history else None, "bits": bits, "failures": failures,
        "atm": np.array([across_task_memory(b, n_images, image_shape) for b in peak]),
        "atm_native": np.array([across_task_memory(b, n_images, image_shape, 8) for b in peak]),
        "atm_printed": by_vectors, "transductive": int(n_transductive),
    }  # fmt: skip


def task_images(job: StreamJob, k: int, *, features: bool) -> TaskImages:
    """The k-th task of a job with what its learner is handed."""

    def shown(rows: np.ndarray) -> np.ndarray:
        flat = rows.reshape(-1)
        found = job.source.features(job.space, flat) if features and job.space else job.source.images(flat)
        return found.reshape(*rows.shape, *found.shape[1:])

    return TaskImages(
        shown(job.support[k]), job.support_label[k], shown(job.target[k]), job.n_labels, int(job.number[k])
    )


@contextmanager
def make_host(agent: AgentSource, options: StreamOptions) -> Iterator[Host]:
    """Who runs the learner's methods."""
    if options.strict:
        with StrictHost(agent.plain(), agent.name) as host:
            yield host
    else:
        yield Guarded(copies_of(agent.make(), agent.name))


class Guarded:
    """A host whose learners' exceptions become `LearnerFailed`; what they print goes to standard error."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.host, name)

        def called(*args: Any) -> Any:
            before = sys.stdout
            sys.stdout = sys.stderr
            try:
                return method(*args)
            except (UserError, KeyboardInterrupt):
                raise
            except (Exception, SystemExit) as problem:
                raise LearnerFailed(f"{type(problem).__name__}: {first_line(problem)}") from problem
            finally:
                sys.stdout = before

        return called


def gather(parts: list[dict[str, Any]], suite: Suite, agent: str) -> Outcome:
    """The parts of all jobs, in order, as one outcome."""
    joined = {name: np.concatenate([np.asarray(part[name]) for part in parts])
              for name in ("log_p", "atm", "atm_native", "atm_printed", "bits")}  # fmt: skip
    own = None if parts[0]["own"] is None else np.concatenate([np.asarray(part["own"]) for part in parts])
    failures = [sentence for part in parts for sentence in part["failures"]]
    if len(failures) == len(suite):
        raise UserError(f"{agent} failed in every task, first in {failures[0]}: fix it")
    return Outcome(
        agent=agent, log_p=joined["log_p"], own_log_p=own, label=suite.target_label - suite.first_label, target=suite.target,
        atm=joined["atm"], atm_native=joined["atm_native"], atm_printed=joined["atm_printed"], bits=joined["bits"],
        failures=tuple(failures), transductive=sum(part["transductive"] for part in parts) > 0,
    )  # fmt: skip
