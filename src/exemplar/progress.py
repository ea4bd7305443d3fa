"""How far something is: a bar where standard error is a terminal, a line every half minute where it is a file; and whether
what was done is kept, for whoever stops it.

Within a job of `engine.map` nothing is shown: there the bar of all jobs moves by the job's share, whoever computes it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager

SECONDS_PER_LINE = 30.0
SECONDS_PER_MOVE = 0.5  # of a bar, between two steps

Shares = MutableSequence[float]  # how far each job is, of 1; 0 before it begins and when it has been counted

_kept = False  # whether anything was, since `forget_kept`
_job: tuple[Shares, int] | None = None  # where the job that this process works on says how far it is


@contextmanager
def progress(label: str, *, total: int, done: int = 0, shares: Shares = ()) -> Iterator[Callable[[], None]]:  # type: ignore[assignment]
    """Call what it gives after each step. shares: of the steps under way, how far each is."""
    if total == 0:
        yield lambda: None
        return
    if _job is not None:
        yield _tell(_job, total, done)
        return
    count = done

    def advance() -> None:
        nonlocal count
        count += 1

    with _shown(label, total, lambda: count, lambda: count + sum(shares)):
        yield advance


def note_kept() -> None:
    """Something that was done is kept, and whoever asks the same again resumes there."""
    global _kept
    _kept = True


def forget_kept() -> None:
    global _kept
    _kept = False


def is_kept() -> bool:
    """What to tell whoever stopped a command."""
    return _kept


@contextmanager
def within_job(shares: Shares | None, place: int) -> Iterator[None]:
    """What is done within moves the bar of all jobs instead of showing one of its own."""
    global _job
    before, _job = _job, None if shares is None else (shares, place)
    try:
        yield
    finally:
        if shares is not None:
            shares[place] = 0.0
        _job = before


def tell_share(share: float) -> bool:
    """Say how far the job is that this process works on; False where it works on none."""
    if _job is None:
        return False
    shares, place = _job
    shares[place] = max(shares[place], min(share, 0.99))  # it never goes back, and is done when it is counted
    return True


def _tell(job: tuple[Shares, int], total: int, done: int) -> Callable[[], None]:
    count = done

    def advance() -> None:
        nonlocal count
        count += 1
        tell_share(count / total)

    return advance


@contextmanager
def _shown(label: str, total: int, count: Callable[[], int], far: Callable[[], float]) -> Iterator[None]:
    """While it lasts, a thread shows how far it is: also when a step takes long, and nothing calls."""
    ended = threading.Event()
    seconds, show, finish = (_bar if sys.stderr.isatty() else _lines)(label, total, count, far)

    def watch() -> None:
        while not ended.wait(seconds):
            show()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
        finish()


Shown = tuple[float, Callable[[], None], Callable[[], None]]  # seconds between two, show, finish


def _lines(label: str, total: int, count: Callable[[], int], far: Callable[[], float]) -> Shown:
    began = time.monotonic()

    def show() -> None:
        minutes = (time.monotonic() - began) / 60
        print(
            f"{label}: {count()} of {total} ({100 * far() / total:.0f} %) after {minutes:.1f} min",
            file=sys.stderr,
            flush=True,
        )

    return SECONDS_PER_LINE, show, lambda: None


def _bar(label: str, total: int, count: Callable[[], int], far: Callable[[], float]) -> Shown:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}/{task.total}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total, count=count())
    bar.start()

    def finish() -> None:
        bar.update(task, completed=far(), count=count())
        bar.stop()

    return SECONDS_PER_MOVE, lambda: bar.update(task, completed=far(), count=count()), finish
