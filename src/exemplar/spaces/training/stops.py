"""Ctrl-C in a training: it stops between two steps, in one process or in several that have to agree."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

import torch

from exemplar.spaces.training.steps import mean_over_devices

if TYPE_CHECKING:
    from lightning_fabric import Fabric

INTERRUPT = {signal.SIGINT}


@contextmanager
def stops_between_steps() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C interrupts nothing: the function that is given says whether there was one, for the loop to stop
    after a whole step. The second stops at once, unless this is one of several processes, which have to agree."""
    asked, alone = False, multiprocessing.parent_process() is None
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield lambda: False  # who has other plans for Ctrl-C keeps them
        return

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked and alone:
            raise KeyboardInterrupt
        if alone and sys.stderr.isatty():  # not printed: a print may be what is interrupted here
            os.write(sys.stderr.fileno(), b"\r\x1b[Kstopping after this step; Ctrl-C again stops at once\n")
        asked = True

    signal.signal(signal.SIGINT, ask)
    if not alone:  # `launch_processes` has held it back until now
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)
    try:
        yield lambda: asked
    finally:
        if alone:  # else the process is about to end
            signal.signal(signal.SIGINT, signal.default_int_handler)


def launch_processes(fabric: Fabric, function: Callable[[Fabric], Any]) -> Any:
    """As `fabric.launch`, for several processes: Ctrl-C reaches all of them, but none before it can answer.

    Processes inherit from the thread that starts them that SIGINT is held back, until `stops_between_steps` lets it through;
    this thread stays free to hear it.
    """
    resource_tracker.ensure_running()  # its start would end the holding back
    before = multiprocessing.active_children()
    with ThreadPoolExecutor(1, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, INTERRUPT)) as pool:
        outcome = pool.submit(fabric.launch, function)
        try:
            return outcome.result()
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                if process not in before and process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)
            outcome.result()
            raise


def any_device(fabric: Fabric, asked: bool) -> bool:
    """Whether one of the devices was asked."""
    if fabric.world_size == 1:
        return asked
    return bool(mean_over_devices(fabric, torch.tensor(float(asked), device=fabric.device)) > 0)
