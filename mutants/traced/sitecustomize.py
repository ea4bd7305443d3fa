"""Notes which lines of the files under test are executed, and for which test. Python imports this when it starts, so that the
processes which tests start are traced, too; each line is written at once, since tests kill some of them."""

from __future__ import annotations

import os
import sys
import threading
from os import write  # as it is now: tests replace it
from types import FrameType
from typing import Any

FILES = set(filter(None, os.environ.get("MUTANTS_FILES", "").split(os.pathsep)))
CHECKOUT = os.environ.get("MUTANTS_CHECKOUT", "")
EVERYONE = ""

context = os.environ.get("MUTANTS_CONTEXT", EVERYONE)  # the test or shared fixture that is running
noted: set[tuple[str, str, int]] = set()


def follow(frame: FrameType, event: str, argument: object) -> Any:
    return note if frame.f_code.co_filename in FILES else None


def note(frame: FrameType, event: str, argument: object) -> Any:
    line = context, frame.f_code.co_filename, frame.f_lineno
    if event == "line" and line not in noted:
        noted.add(line)
        owner = EVERYONE if in_import(frame) else context
        write(log, f"{owner}\t{line[1]}\t{line[2]}\n".encode())
    return note


def in_import(frame: FrameType | None) -> bool:
    """What a module computes when it is imported, all tests use, whichever of them imported it first."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(CHECKOUT):
            return True
        frame = frame.f_back
    return False


if FILES:
    log = os.open(os.environ["MUTANTS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    threading.settrace(follow)
    sys.settrace(follow)
