"""What a user sees of a training: how far it is, how long still, and its latest numbers, on one line."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from exemplar.progress import SECONDS_PER_LINE, tell_share

HELD_OUT = "held_out_accuracy"  # the beginning of what is shown first


@contextmanager
def step_bar(steps: int, *, shown: bool) -> Iterator[Callable[..., None]]:
    """A line on standard error, if that is a terminal: how far, how long still, and the latest numbers. Call what it gives with
    the number of the step and, where there is one, the curve's new entry; the line ends with the training. In a file a line
    every half minute, and within a job of the engine its share of the bar of all jobs."""
    if tell_share(0.0):

        def tell(step: int, entry: dict[str, float] | None = None) -> None:
            tell_share(step / steps)

        yield tell
        return
    if not shown:
        yield lambda step, entry=None: None
        return
    first: tuple[int, float] | None = None
    moving = sys.stderr.isatty()
    pause = 0.2 if moving else SECONDS_PER_LINE
    last, numbers = 0.0 if moving else time.monotonic(), ""

    def show(step: int, entry: dict[str, float] | None = None) -> None:
        nonlocal first, last, numbers
        now = time.monotonic()
        first, numbers = first or (step, now), _in_short(entry) if entry else numbers
        if now - last < pause and not (moving and entry):
            return
        last = now
        took = (now - first[1]) / (step - first[0]) if step > first[0] else None
        left = "" if took is None else f", {took * (steps - step):.0f} s left"
        line = f"{step}/{steps} steps{left}  {numbers}"
        if moving:
            print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if moving and first is not None:
            print(file=sys.stderr)


def _in_short(entry: dict[str, float]) -> str:
    """Held-out accuracies first, then losses: a narrow terminal cuts off the rest."""
    accuracy = {name: value for name, value in entry.items() if name.startswith(HELD_OUT) and not name.endswith("_se")}
    words = [
        f"{name.removeprefix(HELD_OUT).strip('_').replace('_', ' ')} {value:.3g}" for name, value in accuracy.items()
    ]
    rest = sorted((name for name in entry if name not in {*accuracy, "step"}), key=lambda name: "loss" not in name)
    head = ["held-out accuracy " + ", ".join(word.strip() for word in words)] if words else []
    return "  ".join(head + [f"{name} {entry[name]:.3g}" for name in rest])
