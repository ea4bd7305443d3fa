"""Mapping jobs: the same results whoever computes, nothing twice, and failures that name their job."""

from __future__ import annotations

import importlib
import io
import sys

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
