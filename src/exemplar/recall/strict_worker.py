"""What runs in the processes of the strict mode (`strict`): makes the learner, then one child per call."""

from __future__ import annotations

import copy
import errno
import importlib
import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from exemplar.errors import UserError
from exemplar.files import first_line
from exemplar.recall.sandbox import close_off, is_available
from exemplar.recall.strict import BROUGHT_BACK, LENGTH, forward, receive, send
from exemplar.store import pack, unpack

PROCESSES = ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen", "os.spawn")
NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.__new__")
FILES = ("os.rename", "os.link", "os.symlink", "os.mkdir", "os.remove", "os.truncate", "shutil.copyfile", "shutil.move")
SHARED = {"_posixshmem", "multiprocessing.shared_memory", "sqlite3"}
CODE = (".py", ".pyc", ".so", ".pth")
SYSTEM = (
    "/proc/self/status",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu/online",
    "/dev/null",
    "/dev/urandom",
)


INSTALLED = tuple({"/usr/share/", sys.prefix, sys.base_prefix, str(Path(__file__).parents[1])})
LIBRARIES = {"exemplar", "torch", "numpy", "scipy", "sklearn", "pandas", "statsmodels", "numba", "timm", "transformers"}


class Refused(Exception):
    """The learner tried what a learner may not do."""


def watch() -> Callable[[str], list[str]]:
    """Install the audit hook; call what it gives with "making" (code of the learner's constructor runs: no writing, no
    processes, no network) or "learning" (its methods run: no reading of other than code either). It gives the list of files
    other than code that are read."""
    phase, read = ["free"], list[str]()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if phase[0] == "free":
            return
        if event in PROCESSES or event in NETWORK or event in FILES:
            raise Refused(f"it called {event}")
        if event == "import" and phase[0] == "learning" and str(args[0]) in SHARED:
            raise Refused(f"it imported {args[0]}")
        if event == "open":
            _check_open(phase[0], args, read)

    def enter(name: str) -> list[str]:
        phase[0] = name
        return read

    sys.addaudithook(hook)
    return enter


def _check_open(phase: str, args: tuple[Any, ...], read: list[str]) -> None:
    path, mode, flags = (*args, None, None, None)[:3]
    writes = (
        any(letter in mode for letter in "wax+")
        if isinstance(mode, str)
        else bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))
    )
    if writes and str(path) != os.devnull:
        raise Refused(f"it opened {path} for writing")
    if isinstance(path, str | bytes | Path):
        name = os.fsdecode(path)
        if name.endswith(CODE) or name in SYSTEM:
            return
        if phase == "learning" or name.startswith("/proc/"):
            raise Refused(f"it opened {name}")
        if not name.startswith(INSTALLED):
            read.append(name)


def main() -> None:
    """Read requests from standard input until it ends, and do each in a child; answers go to standard output."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import torch

    from exemplar.recall.agents.sources import make_from_source
    from exemplar.user_code import is_named

    torch.set_num_threads(1)
    _warm_up()
    enter = watch()
    source: dict[str, Any] = {}
    ours: Any = None
    while True:
        try:
            asked = receive(requests)
        except EOFError:
            return
        if "make" in asked:
            source, ours = asked["make"], None
            if not is_named(source["agent"]):  # our own code, made once; a user's runs in no process but children
                answer = _attempt(partial(_made, source))
                ours = answer.pop("learner", None)
                send(answers, answer)
                continue
        make = partial(copy.deepcopy, ours) if ours is not None else partial(make_from_source, source)
        content, said = in_child(partial(_do, make, source, asked, enter))
        if "make" in asked and content:
            _import_libraries(unpack(content).get("libraries", []))
        sys.stderr.buffer.write(said)
        sys.stderr.flush()
        forward(answers, content or pack({BROUGHT_BACK: "its process ended before it answered"}))


def _made(source: dict[str, Any]) -> dict[str, Any]:
    from exemplar.recall.agents.sources import make_from_source

    return {"learner": make_from_source(source), "read": [], "closed": is_available()}


def _import_libraries(names: list[str]) -> None:
    """Well-known packages that the learner imports, once instead of in every child; only as they are installed."""
    for name in names:
        top = name.partition(".")[0]
        with suppress(Exception):
            found = importlib.util.find_spec(top)
            if top in LIBRARIES and found is not None and str(found.origin).startswith(INSTALLED):
                importlib.import_module(name)


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


def in_child(work: Callable[[], dict[str, Any]]) -> tuple[bytes, bytes]:
    """What work gives, packed, and what it printed, from a process of its own that has nothing open but these two: no pipe or
    file of ours is there to leave something in. Nothing where it ended without an answer."""
    ours, theirs = os.pipe()
    printed = tempfile.TemporaryFile()  # noqa: SIM115  (closed below, in each process its own way)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            os.dup2(theirs, 3)  # last: what was printed to may have been 3
            os.closerange(4, 1 << 16)
            answer = pack(_attempt(work))
            left = memoryview(LENGTH.pack(len(answer)) + answer)
            while left:
                left = left[os.write(3, left) :]
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as stream:
        head = stream.read(LENGTH.size)
        n = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else 0
        content = stream.read(n)
    os.kill(pid, signal.SIGKILL)  # it has said all that it may
    os.waitpid(pid, 0)
    with printed:
        printed.seek(0)
        return content if n and len(content) == n else b"", printed.read()


def _do(
    make: Callable[[], Any], source: dict[str, Any], asked: dict[str, Any], enter: Callable[[str], list[str]]
) -> dict[str, Any]:
    from exemplar.recall.states import read_state
    from exemplar.recall.stream import ask, begin, show_set

    closed = close_off()
    read = enter("making")
    learner = make()
    if "make" in asked:
        names = [name for name in sys.modules if name.partition(".")[0] in LIBRARIES]
        return {"read": read, "closed": closed, "libraries": names}
    if "costs" in asked:
        return {"costs": _costs(make, source, asked["costs"])}
    enter("learning")
    who = type(learner).__name__
    begin(learner, asked["n_labels"], tuple(asked["seed"]), asked.get("state"))
    if asked["do"] == "snapshot":
        return {"state": read_state(learner.state(), who)}
    if asked["do"] == "observe":
        return {"state": show_set(learner, who, asked["images"], asked["labels"])}
    return {"log_p": ask(learner, who, asked["images"], asked["n_labels"])}


def _costs(make: Callable[[], Any], source: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """Costs of one task, measured where the learner runs: its code never is in the process that scores it."""
    from exemplar.recall.agents.sources import AgentSource
    from exemplar.recall.meters.costs import measure_costs
    from exemplar.recall.stream import TaskImages

    agent = AgentSource(source["agent"], source["space"], tuple(source["shape"]))
    return dict(vars(measure_costs(agent, TaskImages(**task))))


def _attempt(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except BaseException as problem:
        cause: BaseException | None = problem
        while cause is not None:  # some libraries, and our own guards, wrap what the hook raises
            if isinstance(cause, Refused) or (isinstance(cause, PermissionError) and cause.errno == errno.EPERM):
                return {"user_error": f"the learner may not do this in the strict mode: {first_line(cause)}"}
            cause = cause.__cause__ or cause.__context__
        if isinstance(problem, UserError):
            return {"user_error": str(problem)}
        return {BROUGHT_BACK: f"{type(problem).__name__}: {first_line(problem)}"}
