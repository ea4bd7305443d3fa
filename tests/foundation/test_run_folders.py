"""What is said of a run: how long, from which sources, on which machine; and the verbs that show it."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import jobs
from exemplar import engine, runs
from exemplar.errors import UserError
from exemplar.records import Score, Scores


def open_run(folder: Path, **more: Any) -> Any:
    return runs.open_run(
        folder, **({"command": "test", "config": {"ways": 5}, "seed": 3, "data": {"glyphs": "abc"}} | more)
    )


def done_run(folder: Path, **more: Any) -> Path:
    with open_run(folder, **more) as run:
        run.save(Scores.collect([Score("accuracy", 0.5, (0.4, 0.6), 10)]))
    return folder


def provenance(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "provenance.json").read_text())


def test_jobs_are_done_by_the_runs_own_backend_and_kept_in_its_folder(tmp_path):
    class Counting(engine.Here):
        n_jobs = 0

        def compute(self, function, todo, shares=None):
            type(self).n_jobs += len(todo)
            return super().compute(function, todo, shares)

    with pytest.raises(ZeroDivisionError), open_run(tmp_path / "run", backend=Counting()) as run:
        assert run.map(jobs.fail_at_three, [1, 2]) == [1, 2]
        raise ZeroDivisionError
    with open_run(tmp_path / "run", backend=Counting()) as run:
        assert run.map(jobs.fail_at_three, [1, 2, 4], label="four") == [1, 2, 4] and not run.finished
    assert Counting.n_jobs == 3  # two of them were kept


def test_a_duration_is_known_to_the_millisecond(tmp_path, monkeypatch):
    clock = iter([100.0, 102.5163])
    monkeypatch.setattr(runs.time, "monotonic", lambda: next(clock))
    with open_run(tmp_path):
        pass
    assert provenance(tmp_path)["duration_s"] == provenance(tmp_path)["sessions"][0]["seconds"] == 2.516


def test_a_run_says_who_ran_it_where_and_from_which_sources(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["exemplar", "draw", "score"])
    monkeypatch.setattr("platform.node", lambda: "lab-3")
    monkeypatch.setattr(runs, "package_sources", lambda: "sources")
    monkeypatch.setattr(runs, "_git", lambda: {"commit": "abc", "changed": True})
    monkeypatch.setattr(runs, "LIBRARIES", ("numpy", "no-such-library"))
    during = []
    with open_run(tmp_path):
        during.append(provenance(tmp_path))
    after = provenance(tmp_path)
    assert (during[0]["state"], after["state"]) == ("running", "finished")
    for said in (*during, after):
        assert (said["sources"], said["git"], said["exemplar"]) == (
            "sources",
            {"commit": "abc", "changed": True},
            "0.1.0",
        )
        assert said["libraries"] == {"numpy": metadata.version("numpy")} and said["host"]["name"] == "lab-3"
        (session,) = said["sessions"]
        assert (session["argv"], session["host"]) == (["draw", "score"], "lab-3") and session["started"].endswith(
            "+00:00"
        )


def test_git_says_which_commit_and_whether_files_were_changed(tmp_path, monkeypatch):
    package = tmp_path / "repository" / "package"
    package.mkdir(parents=True)
    (package / "runs.py").write_text("")
    monkeypatch.setattr(runs, "__file__", str(package / "runs.py"))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # where git itself runs the tests, before a commit
        monkeypatch.delenv(name, raising=False)

    def git(*words: str) -> str:
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=package.parent, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init")
    assert runs._git() is None  # installed into a folder of somebody's checkout
    git("add", "package/runs.py")
    git("commit", "-m", "first")
    (package.parent / "notes.txt").write_text("outside the package")
    assert runs._git() == {"commit": git("rev-parse", "HEAD"), "changed": False}
    for changed in (package / "runs.py", package / "new.py"):
        changed.write_text("1")
        assert runs._git() == {"commit": git("rev-parse", "HEAD"), "changed": True}
        git("add", ".")
        git("commit", "-m", "next")


@pytest.mark.parametrize("n_answers", [0, 1, 2])
@pytest.mark.parametrize("problem", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)])
def test_a_git_that_is_missing_or_hangs_holds_up_no_run(monkeypatch, n_answers, problem):
    answers = iter([subprocess.CompletedProcess([], 0, stdout="abc\n")] * n_answers)

    def ask(*words: Any, timeout: float, **how: Any) -> subprocess.CompletedProcess[str]:
        found = next(answers, None)
        if found is None:
            raise problem
        return found

    monkeypatch.setattr("subprocess.run", ask)
    assert runs._git() is None


def test_a_mistake_in_a_run_whose_folder_is_gone_is_still_that_mistake(tmp_path):
    with pytest.raises(UserError, match="too few"), open_run(tmp_path / "deep" / "run"):
        shutil.rmtree(tmp_path / "deep")
        raise UserError("too few drawings: add some")


def test_runs_are_shown_with_their_state(tmp_path):
    done_run(tmp_path / "b")
    with pytest.raises(RuntimeError), open_run(tmp_path / "a", variant="paper", command="draw score"):
        raise RuntimeError
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "config.json").write_bytes((tmp_path / "b" / "config.json").read_bytes())
    shown = runs.show_runs(str(tmp_path))
    assert [Path(run["folder"]).name for run in shown["runs"]] == ["a", "b", "c"]
    assert [run["provenance"]["state"] for run in shown["runs"]] == ["running", "finished", "never started"]
    head, *rows = [line.split() for line in shown.text.splitlines() if line.strip("─━ -")]
    assert head == ["folder", "command", "seed", "variant", "state", "seconds"]
    assert [row[1:] for row in rows[:1]] == [["draw", "score", "3", "paper", "running"]]
    assert rows[1][1:4] == ["test", "3", "finished"] and float(rows[1][4]) == provenance(tmp_path / "b")["duration_s"]
    assert rows[2][1:] == ["test", "3", "never", "started"]
    (tmp_path / "empty").mkdir()
    assert runs.show_runs(tmp_path / "empty").text == f"no runs below {tmp_path / 'empty'}"
    with pytest.raises(UserError, match="there is no folder .*nowhere"):
        runs.show_runs(tmp_path / "nowhere")


def test_one_run_is_shown_with_its_scores(tmp_path):
    folder = done_run(tmp_path / "run", variant="paper")
    shown = runs.show_run(str(folder))
    assert (shown["command"], shown["config"], shown["seed"], shown["variant"]) == ("test", {"ways": 5}, 3, "paper")
    assert shown["scores"] == [Score("accuracy", 0.5, (0.4, 0.6), 10).row()] and shown["tables"] == ["scores"]
    assert list(shown.scores) == runs.load_scores(folder) and shown.folder == folder
    assert all(word in shown.text for word in ("accuracy", "paper", "finished", "glyphs", "0.1.0"))
    with open_run(tmp_path / "bare"):
        pass
    bare = runs.show_run(tmp_path / "bare")
    assert bare["scores"] == [] and bare.scores is None and "accuracy" not in bare.text


@pytest.mark.parametrize("verb", [runs.show_runs, runs.show_run])
def test_verbs_list_their_arguments(verb):
    assert "Args:" in verb.__doc__ and "folder:" in verb.__doc__ and verb.summary


def test_files_that_are_no_runs_are_no_runs(tmp_path):
    (tmp_path / "config.json").write_text("not JSON")
    with pytest.raises(UserError, match="config.json cannot be read .*: remove the folder and run again"):
        runs.describe_run(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(UserError, match="config.json is no JSON object: remove the folder and run again"):
        runs.describe_run(tmp_path)
    assert runs.list_runs(tmp_path) == []


def test_the_first_difference_between_two_runs_is_said_in_full(tmp_path):
    done_run(tmp_path, config={"a": {"b": 1, "c": [1, 2]}, "long": "x" * 99})
    for config, said in (
        ({"a": {"b": 1, "c": [1, 3]}, "long": "x" * 99}, r"config\.a\.c is \[1, 2\] there, \[1, 3\] here"),
        ({"a": {"b": 2, "c": [1, 2]}, "long": "x" * 99}, r"config\.a\.b is 1 there, 2 here"),
        ({"a": {"b": 1, "c": [1, 2]}, "long": "y"}, rf"config\.long is '{'x' * 59} there, 'y' here"),
        ({"a": {"b": 1, "c": [1, 2]}}, r"config\.long is 'x+ there, None here"),
        ({"a": {"b": 1, "c": [1, 2]}, "long": "x" * 99, "new": 0}, r"config\.new is None there, 0 here"),
    ):
        with pytest.raises(
            UserError, match=rf"holds another run \({said}\): give --out another folder, or remove this one"
        ):
            runs.check_run(tmp_path, command="test", config=config, seed=3)
