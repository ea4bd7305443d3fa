"""Run folders: resumed where they were killed, refused where they are another's, and honest about where they come from."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from exemplar import engine, runs
from exemplar.errors import UserError
from exemplar.records import Score, Scores

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Config:
    ways: int = 5
    spreads: tuple[float, ...] = (0.5, 1.0)


def open_run(folder: Path, config: object = Config(), **more):
    return runs.open_run(folder, command="test", config=config, seed=0, data={"glyphs": "abc"}, **more)


def tables(folder: Path) -> dict[str, bytes]:
    """Every record and score of a run: all but provenance and the lock."""
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.name not in ("provenance.json", ".lock")}


def test_a_finished_run_says_where_it_comes_from(tmp_path):
    with open_run(tmp_path / "run", variant="paper") as run:
        run.save(Scores.collect([Score("accuracy", 0.5, (0.4, 0.6), 10)]))
    about = runs.describe_run(tmp_path / "run")
    assert about["config"] == {"ways": 5, "spreads": [0.5, 1.0]} and about["tables"] == ["scores"]
    provenance = about["provenance"]
    assert provenance["state"] == "finished" and provenance["duration_s"] >= 0 and provenance["sessions_killed"] == 0
    assert (provenance["seed"], provenance["variant"], provenance["data"]) == (0, "paper", {"glyphs": "abc"})
    assert provenance["host"]["cores"] == os.cpu_count() and "numpy" in provenance["libraries"]
    assert runs.load_scores(tmp_path / "run") == [Score("accuracy", 0.5, (0.4, 0.6), 10)]


def test_a_run_that_failed_is_not_finished_and_goes_on(tmp_path):
    with pytest.raises(RuntimeError), open_run(tmp_path / "run"):
        raise RuntimeError
    assert runs.describe_run(tmp_path / "run")["provenance"]["state"] == "running"
    with open_run(tmp_path / "run") as run:
        assert not run.finished
    done = runs.describe_run(tmp_path / "run")["provenance"]
    assert (done["state"], done["sessions_killed"], len(done["sessions"])) == ("finished", 1, 2)
    with open_run(tmp_path / "run") as run:
        assert run.finished


def test_a_run_says_how_long_its_last_session_took_and_how_many_were_killed(tmp_path, monkeypatch):
    """What a killed session took nobody knows; it is counted as killed, never as 0 s or as part of the next."""
    clock = iter([100.0, 500.0, 502.5])
    monkeypatch.setattr(runs.time, "monotonic", lambda: next(clock))
    with pytest.raises(RuntimeError), open_run(tmp_path / "run"):  # from 100 on
        raise RuntimeError
    with open_run(tmp_path / "run"):  # 500 to 502.5
        pass
    done = runs.describe_run(tmp_path / "run")["provenance"]
    assert (done["duration_s"], done["sessions_killed"]) == (2.5, 1)
    assert [session.get("seconds") for session in done["sessions"]] == [None, 2.5]


def test_working_again_in_a_finished_run_leaves_it_as_it_was(tmp_path):
    import jobs

    for _ in range(2):
        with open_run(tmp_path / "run", backend=engine.Here()) as run:
            total = sum(run.map(jobs.fail_at_three, [1, 2]))
            run.save(Scores.collect([Score("total", total, (0, 9), 2)]))
        if not run.finished:
            before = tables(tmp_path / "run")
    assert run.finished and tables(tmp_path / "run") == before and "jobs.sqlite" not in before


@pytest.mark.parametrize(
    ("config", "seed", "what"),
    [(Config(ways=20), 0, "config.ways is 5 there, 20 here"), (Config(), 1, "seed is 0 there, 1 here")],
)
def test_another_run_is_not_overwritten(tmp_path, config, seed, what):
    with open_run(tmp_path):
        pass
    with (
        pytest.raises(UserError, match=what),
        runs.open_run(tmp_path, command="test", config=config, seed=seed, data={"glyphs": "abc"}),
    ):
        pass


def test_other_data_is_another_run(tmp_path):
    with open_run(tmp_path):
        pass
    with (
        pytest.raises(UserError, match=r"data\.glyphs is 'abc' there, 'xyz' here"),
        runs.open_run(tmp_path, command="test", config=Config(), seed=0, data={"glyphs": "xyz"}),
    ):
        pass


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match=r"is not empty and holds no run \(thesis.tex is there\)"), open_run(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UserError, match="is a file"), open_run(tmp_path / "thesis.tex"):
        pass


def test_two_processes_do_not_work_in_one_folder(tmp_path):
    with open_run(tmp_path), pytest.raises(UserError, match="another process is at work"), open_run(tmp_path):
        pass


def test_what_a_kill_left_half_written_is_swept_away(tmp_path):
    with pytest.raises(RuntimeError), open_run(tmp_path):
        raise RuntimeError
    (tmp_path / ".scores.parquet.99.part").write_bytes(b"half")
    with open_run(tmp_path):
        pass
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("content", ["", "{", "[1]", "\0" * 20])
def test_a_damaged_config_is_one_sentence(tmp_path, content):
    with open_run(tmp_path):
        pass
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"config\.json"), open_run(tmp_path):
        pass
    assert runs.list_runs(tmp_path) == []


def test_runs_are_found_below_a_folder(tmp_path):
    for name in ("b", "a/deep"):
        with open_run(tmp_path / name):
            pass
    (tmp_path / "config.json").write_text(json.dumps({"somebody": "else's"}))
    assert runs.list_runs(tmp_path) == [tmp_path / "a" / "deep", tmp_path / "b"]
    with pytest.raises(UserError, match="is no run folder"):
        runs.describe_run(tmp_path / "nowhere")


def test_records_are_the_same_for_one_two_and_four_workers(tmp_path):
    from killed_run import whole_run

    for workers in (1, 2, 4):
        whole_run(tmp_path / str(workers), engine.Pool(workers), n_jobs=6)
    assert tables(tmp_path / "1") == tables(tmp_path / "2") == tables(tmp_path / "4")


N_KILLS, KILL_SEED = 20, 20261115


@pytest.mark.long
def test_a_run_killed_at_random_moments_ends_as_if_it_had_not_been(tmp_path, capsys):
    """SIGKILL to a run and all its workers, at 20 random moments of its life, each then resumed to the end."""
    command = [sys.executable, "-W", "error", str(TESTS / "killed_run.py")]
    begun = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole")], check=True)
    life = time.monotonic() - begun
    moments = random.Random(KILL_SEED)
    with capsys.disabled():
        print(f" {N_KILLS} kills, seed {KILL_SEED}, an unkilled run takes {life:.1f} s")
    done_before_kill = 0
    for kill in range(N_KILLS):
        folder = tmp_path / f"killed-{kill}"
        moment = moments.uniform(0.05, 0.95) * life
        process = subprocess.Popen([*command, str(folder)], start_new_session=True)
        time.sleep(moment)
        done_before_kill += process.poll() is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        subprocess.run([*command, str(folder)], check=True)
        assert tables(folder) == tables(tmp_path / "whole"), f"kill {kill} after {moment:.2f} s"
    assert done_before_kill <= N_KILLS // 4  # else the kills came too late to mean anything


@pytest.mark.long
def test_workers_end_when_their_parent_is_killed(tmp_path):
    process = subprocess.Popen(
        [sys.executable, str(TESTS / "killed_run.py"), str(tmp_path / "run")], start_new_session=True
    )
    time.sleep(3)
    os.kill(process.pid, signal.SIGKILL)  # the parent alone
    process.wait()
    deadline = time.monotonic() + 20
    while _group_members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not _group_members(process.pid)


def _group_members(group: int) -> list[str]:
    found = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, text=True).stdout.split()
    return found


def test_numpy_numbers_in_a_configuration_are_plain():
    assert runs.plain({"a": np.int64(3), "b": (1, Path("x"))}) == {"a": 3, "b": [1, "x"]}


def test_a_name_that_no_file_system_takes_is_refused(tmp_path):
    with (
        pytest.raises(UserError, match="cannot be a folder"),
        runs.open_run(tmp_path / ("a" * 300), command="c", config={}, seed=0),
    ):
        pass


def refuse(folder: Path, problem: BaseException, **more) -> None:
    """A run in a folder that saves a table, and then comes to this end."""
    with pytest.raises(type(problem)), open_run(folder, **more) as run:
        run.save(Scores.collect([Score("accuracy", 0.5, (0.4, 0.6), 10)]))
        raise problem


def test_a_run_that_is_refused_leaves_nothing_of_the_folders_made_for_it(tmp_path):
    refuse(tmp_path / "runs" / "draw" / "mine", UserError("too few drawings: add some"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "runs").mkdir()
    refuse(tmp_path / "runs" / "draw" / "mine", UserError("too few drawings: add some"))
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]  # that was there before


def test_what_lies_beside_a_refused_run_stays(tmp_path):
    with pytest.raises(UserError), open_run(tmp_path / "runs" / "mine"):
        (tmp_path / "runs" / "notes.txt").write_text("mine")
        raise UserError("too few drawings: add some")
    assert [path.name for path in tmp_path.rglob("*")] == ["runs", "notes.txt"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), RuntimeError("a bug"), SystemExit(1)])
def test_a_run_that_was_stopped_stays_and_goes_on(tmp_path, problem):
    refuse(tmp_path / "run", problem)
    refuse(tmp_path / "run", UserError("the disk is full: make room"))  # it was there before, so it stays this time too
    assert (
        runs.load_scores(tmp_path / "run") and runs.describe_run(tmp_path / "run")["provenance"]["state"] == "running"
    )
    with open_run(tmp_path / "run") as run:
        assert not run.finished


def test_a_refused_run_stays_where_it_was_told_or_has_work_done(tmp_path):
    (tmp_path / "there").mkdir()
    refuse(tmp_path / "there", UserError("too few drawings: add some"))
    refuse(tmp_path / "done", UserError("a file is cut: fetch it again"), keep="*.parquet")
    refuse(tmp_path / "not", UserError("a file is cut: fetch it again"), keep="*.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["done", "there"]


def test_a_second_process_does_not_remove_what_the_first_works_on(tmp_path):
    with open_run(tmp_path / "run"):
        with pytest.raises(UserError, match="another process"), open_run(tmp_path / "run"):
            pass
        assert (tmp_path / "run" / "config.json").is_file()


def check_run(folder: Path, ways: int = 5, **more) -> None:
    runs.check_run(folder, command="test", config=Config(ways), seed=0, **more)


def test_a_place_is_refused_beforehand_as_it_would_be_later(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    with open_run(tmp_path / "run"), pytest.raises(UserError, match="another process is at work"):
        check_run(tmp_path / "run")
    for place, ways, data, sentence in (
        ("file", 5, None, "is a file: give --out a folder"),
        ("file/inside", 5, None, "cannot be written to"),
        ("full", 5, None, "is not empty and holds no run"),
        ("run", 20, None, "holds another run .config.ways is 5 there, 20 here"),
        ("run", 5, {"glyphs": "xyz"}, "holds another run .data.glyphs is 'abc' there, 'xyz' here"),
    ):
        with pytest.raises(UserError, match=sentence):
            check_run(tmp_path / place, ways, data=data)


def test_a_place_that_will_do_is_left_as_it_was(tmp_path):
    check_run(tmp_path / "new" / "run")
    assert not list(tmp_path.iterdir())
    with open_run(tmp_path / "run"):
        pass
    before = tables(tmp_path / "run")
    check_run(tmp_path / "run")  # whatever it reads
    check_run(tmp_path / "run", data={"glyphs": "abc"})
    assert tables(tmp_path / "run") == before
