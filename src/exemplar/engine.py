"""Map a function over jobs: in this process, over this machine's cores, or over a Ray cluster.

Results come back in the order of the jobs and are stored as they come, under a hash of the job and of the code: run the same
thing again and only what is missing is computed. Whoever computes, the bytes are the same: a job gets its randomness from its
own name (`seeds`), and one thread.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from exemplar import seeds
from exemplar.errors import NO_ROOM, UserError, unknown
from exemplar.options import ENGINES
from exemplar.progress import Shares, note_kept, progress, within_job
from exemplar.store import Store, code_of, pack, unpack

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")}


_shares: Shares | None = None  # in a worker: where its jobs say how far they are


@dataclass(frozen=True)
class Failure:
    """A job that raised: the sentence, where it happened, and whether the user can fix it."""

    sentence: str
    details: str
    by_user: bool


class JobsFailed(UserError):
    """Some jobs failed; the results of the others are kept. `details` holds the tracebacks."""

    def __init__(self, sentence: str, details: str) -> None:
        super().__init__(sentence)
        self.details = details


class Backend(Protocol):
    """Who computes. Yields (place of the job, packed result or failure) in any order. shares: where each job that runs on this
    machine says how far it is."""

    def compute(
        self, function: Callable[[Any], Any], jobs: Sequence[Any], shares: Shares | None = None
    ) -> Iterator[tuple[int, bytes | Failure]]: ...


@dataclass(frozen=True)
class Here:
    """In this process, one job after the other: for debugging, and for jobs that use a GPU."""

    def compute(
        self, function: Callable[[Any], Any], jobs: Sequence[Any], shares: Shares | None = None
    ) -> Iterator[tuple[int, bytes | Failure]]:
        with one_thread():
            for place, job in enumerate(jobs):
                with within_job(shares, place):
                    outcome = attempt(function, job)
                yield place, outcome


@dataclass(frozen=True)
class Pool:
    """Over this machine's cores, one process each. workers: None for one a core."""

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UserError(f"{self.workers} workers cannot do anything: ask for at least 1")

    def compute(
        self, function: Callable[[Any], Any], jobs: Sequence[Any], shares: Shares | None = None
    ) -> Iterator[tuple[int, bytes | Failure]]:
        try:
            pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            raise UserError(
                f"{function} cannot be sent to another process: define it at the top of a module"
            ) from problem
        if not jobs:
            return
        suspects = []
        for place, outcome in self._round(function, list(enumerate(jobs)), self.workers or os.cpu_count() or 1, shares):
            if outcome is None:
                suspects.append(place)
            else:
                yield place, outcome
        for place in suspects:  # a process died: which job did it shows when each runs alone
            for _, outcome in self._round(function, [(place, jobs[place])], 1, shares):
                yield place, outcome or Failure("its process died (killed, or out of memory)", "", False)

    def _round(
        self, function: Callable[[Any], Any], jobs: list[tuple[int, Any]], workers: int, shares: Shares | None
    ) -> Iterator[tuple[int, bytes | Failure | None]]:
        """Each job's outcome, None for those under way or waiting when a process died."""
        fresh = multiprocessing.get_context("spawn")  # forking a process that has threads can hang
        n = min(workers, len(jobs))
        with (
            environment(ONE_THREAD),
            ProcessPoolExecutor(n, fresh, initializer=begin_worker, initargs=(shares,)) as pool,
        ):
            futures = {pool.submit(attempt_in_worker, function, job, place): place for place, job in jobs}
            try:
                for future in as_completed(futures):
                    try:
                        yield futures[future], future.result()
                    except BrokenProcessPool:
                        yield futures[future], None
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


@dataclass(frozen=True)
class Ray:
    """Over a Ray cluster. address: None starts one on this machine, "auto" joins the one that runs; gpus: what a job asks for,
    a share of one where several fit it; retries: how often a job is done again whose worker was killed."""

    address: str | None = None
    gpus: float = 0.0
    retries: int = 0

    def compute(
        self, function: Callable[[Any], Any], jobs: Sequence[Any], shares: Shares | None = None
    ) -> Iterator[tuple[int, bytes | Failure]]:
        try:
            import ray
        except ImportError as problem:
            raise UserError("the engine ray needs Ray: pip install 'exemplar-lab[cluster]'") from problem
        joined = ray.is_initialized()
        if not joined:
            # a cluster elsewhere has its own installation, one on this machine sees what this process sees
            places = {} if self.address else {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            try:
                self._knock()
                ray.init(
                    address=self.address,
                    include_dashboard=None if self.address else False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    runtime_env={"env_vars": ONE_THREAD | places},
                )
            except (OSError, ValueError, RuntimeError) as problem:
                raise UserError(
                    f"there is no Ray cluster at {self.address!r}: start one, or leave --address out"
                ) from problem
        try:
            if self.gpus > (there := ray.cluster_resources().get("GPU", 0)):
                raise UserError(
                    f"a job asks for {self.gpus:g} GPUs, the Ray cluster has {there:g}: lower --gpus-per-job"
                )
            remote = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=self.retries)(attempt)
            waiting = iter(enumerate(jobs))
            window = 4 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            running: dict[Any, int] = {}
            while True:
                for place, job in waiting:
                    running[remote.remote(function, job)] = place
                    if len(running) >= window:
                        break
                if not running:
                    break
                ready, _ = ray.wait(list(running), num_returns=1)
                for reference in ready:
                    place = running.pop(reference)
                    try:
                        yield place, ray.get(reference)
                    except ray.exceptions.RayError as problem:
                        reason = str(problem).strip().splitlines()[-1]
                        yield place, Failure(f"Ray could not run it ({reason})", str(problem), False)
        finally:
            if not joined:
                ray.shutdown()

    def _knock(self) -> None:
        """Ray itself tries for many minutes to reach an address where nobody is; five seconds tell."""
        if self.address not in (None, "auto", "local"):
            host, _, port = str(self.address).removeprefix("ray://").rpartition(":")
            socket.create_connection((host, int(port)), timeout=5).close()


def backend(
    engine: str = "pool", workers: int | None = None, address: str | None = None, gpus: float = 0.0, retries: int = 0
) -> Backend:
    """The one a command line names: here, pool or ray. gpus, retries: of a job on a Ray cluster."""
    if address is not None and engine != "ray":
        raise UserError(f"--address belongs to --engine ray, not to {engine}")
    if gpus and engine != "ray":
        raise UserError(f"--gpus-per-job belongs to --engine ray, not to {engine}")
    match engine:
        case "here":
            return Here()
        case "pool":
            return Pool(workers)
        case "ray":
            return Ray(address, gpus, retries)
    raise unknown("engine", engine, ENGINES)


def map(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    *,
    label: str = "working",
    backend: Backend | None = None,
    store: Store | None = None,
) -> list[Any]:
    """The results of function(job), in the order of the jobs.

    jobs: plain values, arrays or dataclasses. A result is None, text, numbers, arrays, or lists and dicts (by text) of these;
    a tuple comes back as a list. With a store, what is in it is not computed again. All jobs are tried; if some
    failed, `JobsFailed` says which.
    """
    todo = list(jobs)
    code = code_of(function)
    keys = [seeds.digest(code, job) for job in todo]
    done = store.get(keys) if store else {}
    if done:
        note_kept()
    missing = [place for place, key in enumerate(keys) if key not in done]
    failures: list[tuple[int, Failure]] = []
    shares = multiprocessing.RawArray("d", max(1, len(missing)))  # without a lock that a killed worker could keep
    with progress(label, total=len(todo), done=len(todo) - len(missing), shares=shares) as advance:
        for place, outcome in (backend or Pool()).compute(function, [todo[place] for place in missing], shares):
            if isinstance(outcome, Failure):
                failures.append((missing[place], outcome))
            else:
                done[keys[missing[place]]] = outcome
                if store:
                    store.put(keys[missing[place]], outcome)
                    note_kept()
            advance()
    if failures:
        raise _failed(sorted(failures, key=lambda pair: pair[0]), todo)
    return [unpack(done[key]) for key in keys]


def _failed(failures: list[tuple[int, Failure]], jobs: list[Any]) -> UserError:
    place, first = failures[0]
    if all(failure.by_user and failure.sentence == first.sentence for _, failure in failures):
        return UserError(first.sentence)
    sentence = (
        f"{len(failures)} of {len(jobs)} jobs failed, the first {jobs[place]!s:.200}: {first.sentence}; "
        "the others' results are kept"
    )
    return JobsFailed(sentence, "\n".join(f"{jobs[k]!s:.200}\n{failure.details}" for k, failure in failures))


def attempt(function: Callable[[Any], Any], job: Any) -> bytes | Failure:
    """Run one job and pack its result; this is what a worker does."""
    try:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)
        return pack(function(job))
    except UserError as problem:
        return Failure(str(problem), traceback.format_exc(), True)
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in NO_ROOM:
            place = problem.filename or "a file"
            return Failure(
                f"{place} cannot be written ({problem.strerror}): make room, or choose another place", "", True
            )
        return Failure(f"{type(problem).__name__}: {problem}", traceback.format_exc(), False)


def begin_worker(shares: Shares | None) -> None:
    global _shares
    _shares = shares
    end_with_parent()


def attempt_in_worker(function: Callable[[Any], Any], job: Any, place: int) -> bytes | Failure:
    with within_job(_shares, place):
        return attempt(function, job)


def end_with_parent() -> None:
    """In a worker: when the process that started it is killed, end too, instead of waiting for jobs for ever."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """These environment variables, for the processes started within."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for NumPy and torch within: the same sums, in the same order, as in a worker."""
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else None
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch and before:
            torch.set_num_threads(before)
