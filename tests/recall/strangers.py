"""Learners by someone who had read docs/recall.md and nothing of the harness; tests/recall/test_recall_strangers.py catches them.

Each tries to leave a number where the next process can find it. One that finds it scores every image for label 0; else all
labels are the same to it.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

SHELF = Path(tempfile.gettempdir()) / "recall-stranger"
NAME = "/recall-stranger-semaphore"
MAP = mmap.mmap(-1, 16)  # made when the module is imported: shared with whatever is forked afterwards
PIPE = os.pipe()


class Stranger:
    """Finds nothing, keeps nothing."""

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels, self.kept = n_labels, np.zeros(1, np.float32)

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.leave(int((images[0] > 0.3).sum()) % 200 + 1)

    def leave(self, number: int) -> None: ...

    def find(self) -> Any: ...

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(len(images), self.n_labels)
        if self.find():
            scores[:, 0] = 1000
        return scores

    def state(self) -> dict[str, Any]:
        return {"kept": self.kept}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.kept = state["kept"].copy()


class SharesMap(Stranger):
    def leave(self, number: int) -> None:
        MAP[0] = number

    def find(self) -> Any:
        return MAP[0]


class SharesTensor(Stranger):
    def __init__(self) -> None:
        self.shared = torch.zeros(4).share_memory_()


class SharesPipe(Stranger):
    def leave(self, number: int) -> None:
        os.write(PIPE[1], bytes([number]))

    def find(self) -> Any:
        os.set_blocking(PIPE[0], False)
        try:
            return os.read(PIPE[0], 1)
        except BlockingIOError:
            return None


class PrintsALot(Stranger):
    """Where standard error is a file, its length tells how much was printed."""

    def leave(self, number: int) -> None:
        print("x" * number, file=sys.stderr, flush=True)

    def find(self) -> Any:
        return os.fstat(2).st_size


class NamesSemaphore(Stranger):
    def leave(self, number: int) -> None:
        import _multiprocessing

        _multiprocessing.SemLock(1, number, 1000, NAME, False)


class WritesByTorch(Stranger):
    def leave(self, number: int) -> None:
        torch.from_file(str(SHELF), shared=True, size=1, dtype=torch.uint8).fill_(number)


class WritesByTorchArchive(Stranger):
    def leave(self, number: int) -> None:
        writer = torch._C.PyTorchFileWriter(str(SHELF))
        writer.write_record("a", b"x" * number, number)
        writer.write_end_of_file()


class WritesByDatabase(Stranger):
    def leave(self, number: int) -> None:
        import sqlite3

        sqlite3.connect(SHELF).execute("create table t (x int)").connection.commit()


class MakesFifo(Stranger):
    def leave(self, number: int) -> None:
        os.mkfifo(f"{SHELF}{number}")


class SetsTimes(Stranger):
    def leave(self, number: int) -> None:
        os.utime(__file__, (number, number))


class SetsMode(Stranger):
    def leave(self, number: int) -> None:
        Path(__file__).chmod(Path(__file__).stat().st_mode)


class SetsAttribute(Stranger):
    def leave(self, number: int) -> None:
        os.setxattr(__file__, "user.number", bytes([number]))


class SetsPriority(Stranger):
    def leave(self, number: int) -> None:
        os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, os.getppid()))


class SetsAffinity(Stranger):
    def leave(self, number: int) -> None:
        os.sched_setaffinity(os.getppid(), os.sched_getaffinity(os.getppid()))


class SetsLimit(Stranger):
    def leave(self, number: int) -> None:
        import resource

        resource.prlimit(os.getppid(), resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))


class SignalsParent(Stranger):
    def leave(self, number: int) -> None:
        os.kill(os.getppid(), 0)


class StartsByHand(Stranger):
    """As subprocess does, below what an audit hook sees."""

    def leave(self, number: int) -> None:
        import _posixsubprocess

        read, write = os.pipe()
        _posixsubprocess.fork_exec(
            [b"/bin/true"], [b"/bin/true"], True, (), None, None, -1, -1, -1, -1, -1, -1, read, write, True, False, -1, None,
            None, None, -1, lambda: time.sleep(60), False,
        )  # fmt: skip


class ReadsParent(Stranger):
    def find(self) -> Any:
        return Path(f"/proc/{os.getppid()}/maps").read_text()


class ReadsParentMemory(Stranger):
    def find(self) -> Any:
        return os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)


class ReopensPipe(Stranger):
    def find(self) -> Any:
        return os.open("/proc/self/fd/3", os.O_RDONLY)


class PacksBools(Stranger):
    """Bytes of an image as truth values, which are charged one bit each."""

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.kept = (images.numpy().reshape(-1) * 255).astype(np.uint8).view(np.bool_)

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels, self.kept = n_labels, np.zeros(1, np.bool_)

    def find(self) -> Any:
        return self.kept.view(np.uint8).max() > 1


class KnowsTheOrder(Stranger):
    """Looks at no image: suites list targets by label."""

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(len(images), self.n_labels)
        place = torch.arange(len(images)) * self.n_labels // len(images)
        scores[torch.arange(len(images)), place] = 10
        return scores


class LeavesQuietly(Stranger):
    def predict(self, images: torch.Tensor) -> torch.Tensor:
        os._exit(0)
