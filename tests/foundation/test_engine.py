"""Mapping jobs: the same results whoever computes, nothing twice, and failures that name their job."""

from __future__ import annotations

import importlib
import io
import os
import sqlite3
import sys
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import jobs
from exemplar import engine
from exemplar.errors import UserError
from exemplar.store import Store, code_of, pack, package_sources, unpack

results = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@settings(deadline=None)
@given(results)
def test_a_result_is_unpacked_exactly_as_it_was_packed(result):
    assert same(unpack(pack(result)), result)


def test_results_are_the_same_bytes_for_one_two_and_four_workers_and_here():
    here = [pack(result) for result in engine.map(jobs.draw_numbers, range(6), backend=engine.Here())]
    for workers in (1, 2, 4):
        assert [pack(r) for r in engine.map(jobs.draw_numbers, range(6), backend=engine.Pool(workers))] == here


def test_every_worker_has_one_thread():
    import torch

    before = torch.get_num_threads()
    for backend in (engine.Pool(1), engine.Here()):
        (found,) = engine.map(jobs.threads, [0], backend=backend)
        assert found["torch"] == 1 and set(found["blas"]) == {1}
    assert torch.get_num_threads() == before


def test_results_come_in_the_order_of_the_jobs():
    assert engine.map(jobs.fail_at_three, [9, 1, 5], backend=engine.Here()) == [9, 1, 5]
    assert engine.map(jobs.fail_at_three, []) == []


@pytest.mark.parametrize("backend", [engine.Here(), engine.Pool(2)])
def test_a_failure_names_its_job_and_keeps_the_other_results(tmp_path, backend):
    store = Store(tmp_path / "jobs.sqlite")
    with pytest.raises(
        engine.JobsFailed, match="1 of 5 jobs failed, the first 3: ValueError: three is too many"
    ) as caught:
        engine.map(jobs.fail_at_three, range(5), backend=backend, store=store)
    assert "Traceback" in caught.value.details
    assert engine.map(jobs.fail_at_three, [0, 1, 2, 4], store=store) == [0, 1, 2, 4]


def test_a_job_whose_process_dies_is_named_and_the_others_are_done():
    with pytest.raises(engine.JobsFailed, match="1 of 4 jobs failed, the first 2: its process died"):
        engine.map(jobs.die_at_two, range(4), backend=engine.Pool(2))


def test_a_users_mistake_in_every_job_is_said_once():
    with pytest.raises(UserError, match="^lower --ways$"):
        engine.map(jobs.user_mistake, range(3), backend=engine.Here())


@pytest.mark.parametrize("todo", [[5, 6], [6, 5]])
def test_users_mistakes_that_differ_are_counted(todo):
    with pytest.raises(
        engine.JobsFailed, match=f"^2 of 2 jobs failed, the first {todo[0]}: lower --ways to {todo[0]};"
    ) as caught:
        engine.map(jobs.own_mistake, todo, backend=engine.Here())
    assert caught.value.details.count("Traceback") == 2 and f"lower --ways to {todo[1]}" in caught.value.details


@pytest.mark.parametrize(("workers", "cores", "expected"), [(None, 7, 7), (None, None, 1), (3, 7, 3), (9, 7, 9)])
def test_a_pool_has_as_many_workers_as_asked_for_else_one_per_core(monkeypatch, workers, cores, expected):
    asked = []
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr(
        engine.Pool, "_round", lambda pool, function, jobs, n, _: asked.append(n) or iter([(0, b"done")])
    )
    assert list(engine.Pool(workers).compute(jobs.fail_at_three, [1])) == [(0, b"done")]
    assert asked == [expected]


def test_a_pool_starts_no_more_processes_than_there_are_jobs(monkeypatch):
    started = []

    class Executor:
        def __init__(self, n, context, initializer, initargs):
            started.append((n, context.get_start_method(), initializer, os.environ["OMP_NUM_THREADS"]))
            raise InterruptedError

    monkeypatch.setattr(engine, "ProcessPoolExecutor", Executor)
    for workers, n_jobs in ((4, 2), (2, 4)):
        with pytest.raises(InterruptedError):
            list(engine.Pool(workers).compute(jobs.fail_at_three, range(n_jobs)))
    assert started == 2 * [(2, "spawn", engine.begin_worker, "1")]
    assert list(engine.Pool(4).compute(jobs.fail_at_three, [])) == [] and len(started) == 2


def test_a_pool_that_is_stopped_begins_no_further_jobs(tmp_path, monkeypatch):
    stop = ProcessPoolExecutor.shutdown

    def shutdown(pool, wait=True, *, cancel_futures=False):
        stop(pool, wait=False, cancel_futures=cancel_futures)
        (tmp_path / "go").touch()
        stop(pool, wait=wait)

    monkeypatch.setattr(ProcessPoolExecutor, "shutdown", shutdown)
    outcomes = engine.Pool(1).compute(jobs.wait_for_go, [(str(tmp_path), k) for k in range(20)])
    assert next(outcomes)[0] == 0
    outcomes.close()
    assert 1 <= len(list(tmp_path.glob("[0-9]*"))) < 10  # the first, and those that were already on their way


def test_a_worker_ends_when_the_process_that_started_it_has_ended(monkeypatch):
    ended, codes = threading.Event(), []
    parent = type("Parent", (), {"join": lambda self: ended.wait()})()
    monkeypatch.setattr("multiprocessing.parent_process", lambda: parent)
    monkeypatch.setattr("os._exit", codes.append)
    before = set(threading.enumerate())
    engine.end_with_parent()
    (watcher,) = set(threading.enumerate()) - before
    assert watcher.daemon and codes == []  # it keeps no worker alive that is done
    ended.set()
    watcher.join(timeout=30)
    assert codes == [1]


def test_what_nobody_started_watches_nobody(monkeypatch):
    monkeypatch.setattr("os._exit", lambda code: pytest.fail("ended"))
    before = set(threading.enumerate())
    engine.end_with_parent()
    for watcher in set(threading.enumerate()) - before:
        watcher.join(timeout=30)


def test_environment_variables_are_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("EXEMPLAR_ONE", "1")
    monkeypatch.delenv("EXEMPLAR_TWO", raising=False)
    with pytest.raises(InterruptedError), engine.environment({"EXEMPLAR_ONE": "2", "EXEMPLAR_TWO": "2"}):
        assert os.environ["EXEMPLAR_ONE"] == os.environ["EXEMPLAR_TWO"] == "2"
        raise InterruptedError
    assert os.environ["EXEMPLAR_ONE"] == "1" and "EXEMPLAR_TWO" not in os.environ


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal_is_a_bar_that_goes_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    with engine.progress("drawing", total=5, done=2) as advance:
        advance()
    said = sys.stderr.getvalue()
    assert all(word in said for word in ("drawing", "━", "3/5", "-:--:--")), said
    assert said.endswith("\x1b[1A\x1b[2K")  # up one line, which is erased
    monkeypatch.setattr("sys.stderr", Terminal())
    with engine.progress("nothing", total=0):
        pass
    assert sys.stderr.getvalue() == ""


def test_nothing_is_computed_twice(tmp_path):
    calls = tmp_path / "calls"
    calls.mkdir()
    store = Store(tmp_path / "jobs.sqlite")
    todo = [(str(calls), k) for k in range(4)]
    engine.map(jobs.count_calls, todo[:2], backend=engine.Here(), store=store)
    assert engine.map(jobs.count_calls, todo, backend=engine.Here(), store=store) == [0, 1, 4, 9]
    assert engine.map(jobs.count_calls, todo, backend=engine.Here(), store=store) == [0, 1, 4, 9]
    assert len(list(calls.iterdir())) == 4


def test_results_of_other_code_are_never_used_again(tmp_path, monkeypatch):
    """A job's file that was edited, and a package that was: the job is done again, and its old result comes back with the code."""
    store, file = Store(tmp_path / "jobs.sqlite"), tmp_path / "edited_jobs.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def result_of(power: int) -> list[int]:
        file.write_text(f"def grow(k):\n    return k ** {power}\n")
        sys.modules.pop("edited_jobs", None)
        importlib.invalidate_caches()
        function = importlib.import_module("edited_jobs").grow
        return engine.map(function, [2, 3], backend=engine.Here(), store=store)

    assert [result_of(power) for power in (2, 3, 2)] == [[4, 9], [8, 27], [4, 9]]
    calls = tmp_path / "calls"
    calls.mkdir()
    for sources in ("before", "after", "before"):
        monkeypatch.setattr("exemplar.store.package_sources", lambda sources=sources: sources)
        assert engine.map(jobs.count_calls, [(str(calls), 3)], backend=engine.Here(), store=store) == [9]
    assert len(list(calls.iterdir())) == 2


def test_two_functions_of_one_file_do_not_share_results():
    assert code_of(jobs.fail_at_three) != code_of(jobs.die_at_two)
    assert code_of(abs) != code_of(len)  # functions without a file


def test_a_kept_result_is_never_unpickled():
    file = io.BytesIO()
    np.savez(file, tree=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        unpack(file.getvalue())


def test_the_packages_sources_are_every_file_its_name_and_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr("exemplar.store.__file__", str(tmp_path / "store.py"))
    found = []
    for name, content in (("a.py", "1"), ("a.py", "2"), ("deep/b.py", "2"), ("deep/c.py", "2"), ("notes.txt", "x")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        found.append(package_sources.__wrapped__())
    assert len(set(found[:4])) == 4 and found[4] == found[3]  # only Python counts
    (tmp_path / "a.py").rename(tmp_path / "z.py")
    assert package_sources.__wrapped__() not in found


@pytest.mark.parametrize(
    "content",
    [b"not a database at all, but long enough to have a header of its own" * 10, b"SQLite format 3\0" + b"\1" * 500],
)
def test_a_damaged_store_is_one_sentence(tmp_path, content):
    (tmp_path / "jobs.sqlite").write_bytes(content)
    with pytest.raises(UserError, match="cannot be used"):
        engine.map(jobs.fail_at_three, [1], backend=engine.Here(), store=Store(tmp_path / "jobs.sqlite"))


def test_a_store_leaves_no_file_open(tmp_path, monkeypatch):
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda *words, **more: opened.append(connect(*words, **more)) or opened[-1])
    store = Store(tmp_path / "jobs.sqlite")
    store.put("key", b"packed")
    assert store.get(["key", "other"]) == {"key": b"packed"} and len(opened) == 2
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_what_cannot_be_sent_or_kept_is_refused():
    with pytest.raises(UserError, match="define it at the top of a module"):
        engine.map(lambda k: k, [1], backend=engine.Pool(1))
    with pytest.raises(UserError, match="a job must return numbers, text, arrays"):
        engine.map(jobs.bad_result, [1], backend=engine.Here())


def test_engines_are_named():
    assert engine.backend("here") == engine.Here()
    assert engine.backend("pool", 3) == engine.Pool(3)
    assert engine.backend("ray", address="auto") == engine.Ray("auto")
    for wrong in (lambda: engine.backend("cloud"), lambda: engine.backend("pool", address="x"), lambda: engine.Pool(0)):
        with pytest.raises(UserError):
            wrong()
