"""What runs in the processes of the strict mode (`strict`): makes the learner, then one child per call."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from exemplar.errors import UserError
from exemplar.files import first_line
from exemplar.recall.strict import BROUGHT_BACK, receive, send

PROCESSES = ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen", "os.spawn")
NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.__new__")
FILES = ("os.rename", "os.link", "os.symlink", "os.mkdir", "os.remove", "os.truncate", "shutil.copyfile", "shutil.move")
SHARED = {"_posixshmem", "multiprocessing.shared_memory", "sqlite3"}
CODE = (".py", ".pyc", ".so", ".pth")


class Refused(Exception):
    """The learner tried what a learner may not do."""


def watch() -> Callable[[str], None]:
    """Install the audit hook; call what it gives with "free", "making" (code of the learner's constructor runs: no writing, no
    processes, no network) or "learning" (its methods run: no reading of other than code either)."""
    phase = ["free"]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if phase[0] == "free":
            return
        if event in PROCESSES or event in NETWORK or event in FILES:
            raise Refused(f"it called {event}")
        if event == "import" and phase[0] == "learning" and str(args[0]) in SHARED:
            raise Refused(f"it imported {args[0]}")
        if event == "open":
            _check_open(phase[0], args)

    def enter(name: str) -> None:
        phase[0] = name

    sys.addaudithook(hook)
    return enter


def _check_open(phase: str, args: tuple[Any, ...]) -> None:
    path, mode, flags = (*args, None, None, None)[:3]
    writes = (
        any(letter in mode for letter in "wax+")
        if isinstance(mode, str)
        else bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))
    )
    if writes and str(path) != os.devnull:
        raise Refused(f"it opened {path} for writing")
    if phase == "learning" and isinstance(path, str | bytes | Path):
        name = os.fsdecode(path)
        if not (name.endswith(CODE) or name.startswith(("/proc/", "/sys/", "/dev/"))):
            raise Refused(f"it opened {name}")


def main() -> None:
    """Read requests from standard input until it ends; answers go to standard output, whatever the learner prints to standard
    error."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import torch

    import exemplar.recall.agents.sources  # noqa: F401  (once, before any learner is made)

    torch.set_num_threads(1)
    _warm_up()
    enter = watch()
    learner: Any = None
    while True:
        try:
            asked = receive(requests)
        except EOFError:
            return
        if "make" in asked:
            enter("making")
            answer = _attempt(partial(_make, asked["make"]))
            enter("free")
            learner = answer.pop("learner", None)
            send(answers, answer)
        else:
            _in_child(learner, asked, answers, enter)


def _make(source: dict[str, Any]) -> dict[str, Any]:
    from exemplar.recall.agents.sources import make_from_source

    return {"learner": make_from_source(source)}


def _warm_up() -> None:
    """What torch imports and makes (its folders of compiled code) when something is used for the first time, done before
    anybody watches."""
    import torch
    from torch.func import grad, vmap

    weight = torch.zeros(1, requires_grad=True)
    for make in (torch.optim.SGD, torch.optim.Adam):
        optimizer = make([weight], 0.1)
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    vmap(grad(lambda x: x.square().sum()))(torch.zeros(2, 1))


def _in_child(learner: Any, asked: dict[str, Any], answers: Any, enter: Callable[[str], None]) -> None:
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        if status:
            send(answers, {BROUGHT_BACK: "its process ended before it answered"})
        return
    code = 1
    try:
        enter("learning")
        answer = _attempt(lambda: _do(learner, asked))
        enter("free")
        send(answers, answer)
        code = 0
    finally:
        os._exit(code)


def _do(learner: Any, asked: dict[str, Any]) -> dict[str, Any]:
    from exemplar.recall.states import read_state
    from exemplar.recall.stream import ask, begin, show_set

    who = type(learner).__name__
    begin(learner, asked["n_labels"], tuple(asked["seed"]), asked.get("state"))
    if asked["do"] == "snapshot":
        return {"state": read_state(learner.state(), who)}
    if asked["do"] == "observe":
        return {"state": show_set(learner, who, asked["images"], asked["labels"])}
    return {"log_p": ask(learner, who, asked["images"], asked["n_labels"])}


def _attempt(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except BaseException as problem:
        cause: BaseException | None = problem
        while cause is not None:  # some libraries, and our own guards, wrap what the hook raises
            if isinstance(cause, Refused):
                return {"user_error": f"the learner may not do this in the strict mode: {cause}"}
            cause = cause.__cause__ or cause.__context__
        if isinstance(problem, UserError):
            return {"user_error": str(problem)}
        return {BROUGHT_BACK: f"{type(problem).__name__}: {first_line(problem)}"}
