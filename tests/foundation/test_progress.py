"""Progress is seen wherever it is looked for, and who stops a command is told what is kept, if anything is."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from exemplar import engine, progress
from exemplar.runs import open_run
from exemplar.spaces.training.bar import step_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def slow(k: int) -> int:
    """A job that shows progress of its own, and waits until the bar of all jobs can have moved."""
    with progress.progress("inside", total=4) as advance:
        advance()
        advance()
        time.sleep(0.2)
    return k


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_PER_LINE", 0.02)
    monkeypatch.setattr(progress, "SECONDS_PER_MOVE", 0.02)
    progress.forget_kept()


def test_a_file_gets_a_line_now_and_then_though_no_step_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    with progress.progress("drawing", total=3) as advance:
        advance()
        while "drawing: 1 of 3 (33 %) after 0.0 min\n" not in written.getvalue():
            time.sleep(0.01)


@pytest.mark.parametrize("backend", [engine.Here(), engine.Pool(1)], ids=["here", "pool"])
def test_the_bar_of_all_jobs_moves_within_a_job(backend: engine.Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    assert engine.map(slow, [0], label="jobs", backend=backend) == [0]
    assert "jobs: 0 of 1 (50 %)" in written.getvalue() and "inside" not in written.getvalue()


def test_a_terminal_gets_one_bar_also_for_a_training_in_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    shares = [0.0]
    bar = progress.progress("trainings", total=1, shares=shares)
    with bar, progress.within_job(shares, 0), step_bar(10, shown=True) as show:
        show(5)
        assert shares == [0.5]
        show(2)  # never back
        assert shares == [0.5]
        time.sleep(0.1)
    assert "steps" not in screen.getvalue() and "trainings" in screen.getvalue()


def test_a_training_in_a_file_says_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exemplar.spaces.training.bar.SECONDS_PER_LINE", 0.0)
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    with step_bar(10, shown=True) as show:
        show(1, {"loss": 0.5})
        show(2)
    assert "\r" not in written.getvalue() and "2/10 steps" in written.getvalue() and "loss 0.5" in written.getvalue()


def stopped(words: str, exemplar: Any, monkeypatch: pytest.MonkeyPatch, *, kept: bool) -> str:
    def begin(*_: object, **__: object) -> None:
        if kept:
            progress.note_kept()
        raise KeyboardInterrupt

    monkeypatch.setattr("exemplar.touring.tour", begin)
    monkeypatch.setattr("exemplar.learn.studies.requests.answer_study", begin)
    monkeypatch.setattr("exemplar.learn.scoring.describe_people", begin)
    said = exemplar(*words.split())
    assert said.code == 130
    return said.err.strip()


def test_who_stops_a_command_is_told_what_is_kept_only_if_something_is(
    exemplar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stopped("learn study", exemplar, monkeypatch, kept=False) == "exemplar: stopped"
    assert "the same command resumes there" in stopped("learn study", exemplar, monkeypatch, kept=True)
    assert stopped("learn human", exemplar, monkeypatch, kept=True) == "exemplar: stopped"  # it does not resume


def test_jobs_and_finished_runs_are_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_run(tmp_path / "run", command="x", config={}, seed=0) as run:
        assert not progress.is_kept()
        run.map(slow, [0])
        assert progress.is_kept()
        raise KeyboardInterrupt
    progress.forget_kept()
    with open_run(tmp_path / "other", command="x", config={}, seed=0):
        pass
    assert progress.is_kept()
