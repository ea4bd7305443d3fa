"""The engine ray: what it asks of a cluster, here of a pretended one, and (long) of a real one on this machine."""

from __future__ import annotations

import logging
import os
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import jobs
from exemplar import engine
from exemplar.errors import UserError
from exemplar.store import pack


class PretendedRay:
    """Computes a task when its result is asked for. lost: jobs whose worker dies; most: the most tasks under way at once."""

    def __init__(self, running: bool = False, lost: tuple[int, ...] = (), **resources: float) -> None:
        self.running, self.lost, self.resources = running, lost, resources
        self.started: list[dict[str, Any]] = []
        self.options: list[dict[str, Any]] = []
        self.under_way: list[Any] = []
        self.most = 0
        self.exceptions = SimpleNamespace(RayError=type("RayError", (Exception,), {}))

    def is_initialized(self) -> bool:
        return self.running

    def init(self, **how: Any) -> None:
        self.running = True
        self.started.append(how)

    def shutdown(self) -> None:
        self.running = False

    def cluster_resources(self) -> dict[str, float]:
        assert self.running
        return self.resources

    def remote(self, **options: Any) -> Any:
        self.options.append(options)
        return lambda attempt: SimpleNamespace(remote=lambda *given: self._start(attempt, *given))

    def _start(self, attempt: Any, function: Any, job: Any) -> Any:
        class Reference:
            def compute(self) -> Any:
                return attempt(function, job)

        reference = Reference()
        reference.job = job  # type: ignore[attr-defined]
        self.under_way.append(reference)
        self.most = max(self.most, len(self.under_way))
        return reference

    def wait(self, references: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        assert num_returns <= len(references)
        return references[-num_returns:], references[:-num_returns]  # whichever is ready first

    def get(self, reference: Any) -> Any:
        self.under_way.remove(reference)
        if reference.job in self.lost:
            raise self.exceptions.RayError("The worker died.\n\nOut of memory\n")
        return reference.compute()


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Any:
    def start(**how: Any) -> PretendedRay:
        ray = PretendedRay(**how)
        monkeypatch.setitem(sys.modules, "ray", ray)
        return ray

    return start


@pytest.mark.parametrize("cores", [{}, {"CPU": 2.0}])
def test_results_are_those_of_this_process_whatever_ends_first(pretend, cores):
    ray = pretend(**cores)
    todo = list(range(11))
    here = [pack(result) for result in engine.map(jobs.fail_at_three, [9, *todo[4:]], backend=engine.Here())]
    assert [pack(result) for result in engine.map(jobs.fail_at_three, [9, *todo[4:]], backend=engine.Ray())] == here
    assert (
        ray.most == min(4 * int(cores.get("CPU", 1)), 8) and not ray.under_way
    )  # few wait in the cluster, none is left
    assert not ray.running


def test_a_job_asks_for_one_core_and_for_what_it_was_given(pretend):
    ray = pretend(CPU=4.0, GPU=1.0)
    assert engine.map(jobs.fail_at_three, [1], backend=engine.Ray(gpus=0.5, retries=2)) == [1]
    assert engine.map(jobs.fail_at_three, [1], backend=engine.Ray(gpus=1.0)) == [1]
    asked = [{"num_cpus": 1, "num_gpus": 0.5, "max_retries": 2}, {"num_cpus": 1, "num_gpus": 1.0, "max_retries": 0}]
    assert ray.options == asked


@pytest.mark.parametrize(("resources", "there"), [({"GPU": 1.0}, "1"), ({}, "0")])
def test_more_gpus_than_there_are_are_refused_and_the_cluster_is_left(pretend, resources, there):
    ray = pretend(**resources)
    with pytest.raises(
        UserError, match=f"^a job asks for 1.5 GPUs, the Ray cluster has {there}: lower --gpus-per-job$"
    ):
        engine.map(jobs.fail_at_three, [1], backend=engine.Ray(gpus=1.5))
    assert ray.started and not ray.running


def test_a_cluster_here_sees_what_this_process_sees_and_one_elsewhere_its_own_installation(pretend):
    """Both compute with one thread, say little, and are closed afterwards."""
    ray = pretend()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"ray://127.0.0.1:{listening.getsockname()[1]}"
        for asked in (None, "auto", "local", address, address.removeprefix("ray://")):
            assert engine.map(jobs.fail_at_three, [1], backend=engine.Ray(asked)) == [1]
            how = ray.started.pop()
            assert how["address"] == asked and not ray.running
            assert how["include_dashboard"] is (False if asked is None else None)
            assert (how["log_to_driver"], how["logging_level"]) == (False, logging.ERROR)
            variables = how["runtime_env"]["env_vars"]
            assert variables.items() >= engine.ONE_THREAD.items()
            if asked is None:
                assert variables["PYTHONPATH"].split(os.pathsep) == [path for path in sys.path if path]
            else:
                assert "PYTHONPATH" not in variables


def test_a_cluster_that_was_joined_before_stays_so(pretend):
    ray = pretend(running=True)
    assert engine.map(jobs.fail_at_three, [1], backend=engine.Ray()) == [1]
    assert ray.running and not ray.started


def test_a_job_that_the_cluster_lost_is_a_failure_and_the_others_are_done(pretend):
    pretend(lost=(2, 4))
    outcomes = dict(engine.Ray().compute(jobs.fail_at_three, range(6)))
    assert (
        outcomes[2]
        == outcomes[4]
        == engine.Failure("Ray could not run it (Out of memory)", "The worker died.\n\nOut of memory\n", False)
    )
    assert outcomes[3] != outcomes[2] and "three is too many" in outcomes[3].sentence
    assert {place for place, outcome in outcomes.items() if isinstance(outcome, bytes)} == {0, 1, 5}


def test_an_address_where_nobody_is_is_said_before_ray_waits_for_it(pretend):
    ray = pretend()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "nowhere"):
        with pytest.raises(
            UserError, match=f"^there is no Ray cluster at '{address}': start one, or leave --address out$"
        ):
            engine.map(jobs.fail_at_three, [1], backend=engine.Ray(address))
    assert not ray.started


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="the engine ray needs Ray: pip install 'exemplar-lab\\[cluster\\]'"):
        engine.map(jobs.fail_at_three, [1], backend=engine.Ray())


def test_what_belongs_to_ray_is_refused_elsewhere():
    assert engine.backend("ray", 3, "auto", 0.5, 2) == engine.Ray("auto", 0.5, 2)
    for name in ("pool", "here"):
        with pytest.raises(UserError, match=f"^--address belongs to --engine ray, not to {name}$"):
            engine.backend(name, address="auto")
        with pytest.raises(UserError, match=f"^--gpus-per-job belongs to --engine ray, not to {name}$"):
            engine.backend(name, gpus=0.5)


@pytest.mark.long
def test_ray_gives_the_pools_results():
    pytest.importorskip("ray", reason="the extra `cluster` is not installed: make test-all installs it")
    pool = [pack(result) for result in engine.map(jobs.draw_numbers, range(8), backend=engine.Pool(2))]
    ray = [pack(result) for result in engine.map(jobs.draw_numbers, range(8), backend=engine.Ray())]
    assert ray == pool
    with pytest.raises(engine.JobsFailed, match="1 of 5 jobs failed, the first 3: ValueError: three is too many"):
        engine.map(jobs.fail_at_three, range(5), backend=engine.Ray())
    with pytest.raises(UserError, match="there is no Ray cluster at '127.0.0.1:1'"):
        engine.map(jobs.fail_at_three, range(5), backend=engine.Ray("127.0.0.1:1"))
