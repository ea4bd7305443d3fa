"""Learners that cheat, each in its own way; tests/recall/test_recall_cheats.py catches them. None of them is used elsewhere.

All remember the support images they saw and answer by the nearest of them, if they can get at them.
"""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch


class Honest:
    """Keeps a copy of every image, says so, and is charged for it."""

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels
        self.images: torch.Tensor | None = None
        self.labels: torch.Tensor | None = None

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.remember(images.clone(), labels.clone())

    def remember(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images = images if self.images is None else torch.cat([self.images, images])
        self.labels = labels if self.labels is None else torch.cat([self.labels, labels])

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        return self.nearest(images, self.images, self.labels)

    def nearest(self, images: torch.Tensor, kept: Any, labels: Any) -> torch.Tensor:
        scores = torch.full((len(images), self.n_labels), -5000.0)
        if kept is not None and len(kept):
            near = torch.cdist(images.flatten(1), kept.flatten(1)).square()
            for k, label in enumerate(labels.tolist()):
                scores[:, label] = torch.maximum(scores[:, label], -near[:, k])
        return scores

    def state(self) -> dict[str, Any]:
        return {} if self.images is None else {"images": self.images, "labels": self.labels}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        if state:
            self.images, self.labels = (
                torch.from_numpy(state["images"].copy()),
                torch.from_numpy(state["labels"].copy()),
            )


class Stateless(Honest):
    """Says that it keeps nothing; below, some keep things elsewhere."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass


class KeepsView(Honest):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images, labels.clone()


class KeepsSlice(Honest):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images[1:3, :, ::2], labels[1:3].clone()


class KeepsNumpyView(Honest):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images.numpy(), labels.clone()  # type: ignore[assignment]


class KeepsLabelView(Honest):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images.clone(), labels


class KeepsInItself(Stateless):
    """In attributes that no state mentions."""

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels
        self.images, self.labels = getattr(self, "images", None), getattr(self, "labels", None)


class KeepsInClass(Stateless):
    kept: ClassVar[list[tuple[torch.Tensor, torch.Tensor]]] = []

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels

    def remember(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.place().append((images, labels))

    def place(self) -> list[Any]:
        return KeepsInClass.kept

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        kept = self.place()[-3:]
        if not kept:
            return torch.zeros(len(images), self.n_labels)
        return self.nearest(images, *(torch.cat(part) for part in zip(*kept, strict=True)))


GLOBAL: list[Any] = []


class KeepsInModule(KeepsInClass):
    def place(self) -> list[Any]:
        return GLOBAL


def _closure() -> Any:
    hidden: list[Any] = []
    return lambda: hidden


CLOSURE = _closure()


class KeepsInClosure(KeepsInClass):
    def place(self) -> list[Any]:
        return CLOSURE()  # type: ignore[no-any-return]


class KeepsInDefault(KeepsInClass):
    def place(self, kept: list[Any] = []) -> list[Any]:  # noqa: B006
        return kept


class KeepsInCache(KeepsInClass):
    @staticmethod
    @functools.cache
    def shelf() -> list[Any]:
        return []

    def place(self) -> list[Any]:
        return self.shelf()


class KeepsInTorch(KeepsInClass):
    """As an attribute of somebody else's module."""

    def place(self) -> list[Any]:
        if not hasattr(torch, "_hidden_shelf"):
            torch._hidden_shelf = []  # type: ignore[attr-defined]
        return torch._hidden_shelf  # type: ignore[attr-defined]


class KeepsInThread(KeepsInClass):
    shelf: ClassVar[list[Any]] = []

    def place(self) -> list[Any]:
        if not any(thread.name == "shelf" for thread in threading.enumerate()):
            threading.Thread(target=threading.Event().wait, name="shelf", daemon=True).start()
        return KeepsInThread.shelf


class KeepsInEnvironment(KeepsInClass):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        n = int(os.environ.get("SHELF", "0"))
        small = (images[:, 0, ::4, ::4] * 255).byte().numpy().tobytes().hex()
        os.environ[f"SHELF{n}"], os.environ["SHELF"] = f"{small}|{labels.tolist()}", str(n + 1)

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        n = int(os.environ.get("SHELF", "0"))
        scores = torch.full((len(images), self.n_labels), -5000.0)
        for k in range(max(0, n - 3), n):
            content, _, labels = os.environ[f"SHELF{k}"].partition("|")
            kept = torch.tensor(list(bytes.fromhex(content))).view(-1, 49) / 255
            near = torch.cdist(images[:, 0, ::4, ::4].flatten(1), kept).square()
            for j, label in enumerate(eval(labels)):
                scores[:, label] = torch.maximum(scores[:, label], -near[:, j])
        return scores


class WritesFile(Stateless):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        np.save(Path(tempfile.gettempdir()) / "recall-cheater.npy", images.numpy())


class WritesWhenMade(Stateless):
    def __init__(self) -> None:
        (Path(tempfile.gettempdir()) / "recall-cheater.txt").write_text("hello")


class ReadsData(Stateless):
    """Looks the images up in the data set, with their labels."""

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        (Path(__file__).parent / "answers.npz").read_bytes()


class StartsProcess(Stateless):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)


class Forks(Stateless):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        if os.fork() == 0:
            os._exit(0)


class UsesSocket(Stateless):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        import socket

        socket.socket().connect(("127.0.0.1", 9))


class PeeksAtTargets(Stateless):
    """Looks for the targets among everything that is in memory, while it is shown support sets."""

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        from exemplar.recall.stream import TaskImages

        self.found = [thing.target.copy() for thing in gc.get_objects() if type(thing) is TaskImages]

    def state(self) -> dict[str, Any]:
        found = getattr(self, "found", [])
        return {"seen": np.array([len(found)])}


class PeeksAtFrames(Stateless):
    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        frame, self.found = sys._getframe(), 0
        while frame is not None:
            self.found += any(type(value).__name__ == "TaskImages" for value in frame.f_locals.values())
            frame = frame.f_back  # type: ignore[assignment]

    def state(self) -> dict[str, Any]:
        return {"seen": np.array([getattr(self, "found", 0)])}


class Tagged(torch.Tensor):
    pass


class KeepsSubclass(Honest):
    """A tensor with an attribute."""

    def state(self) -> dict[str, Any]:
        if self.images is None:
            return {}
        tagged = torch.zeros(1).as_subclass(Tagged)
        tagged.more = self.images  # type: ignore[attr-defined]
        return {"tagged": tagged}


class KeepsObjects(Honest):
    def state(self) -> dict[str, Any]:
        box = np.empty(1, object)
        box[0] = self.images
        return {"box": box}


class KeepsInList(Honest):
    def state(self) -> dict[str, Any]:
        return {"images": [self.images]}


class KeepsSparse(Honest):
    def state(self) -> dict[str, Any]:
        return {"images": torch.zeros(3, 3).to_sparse()}


class KeepsEmptyShapes(Honest):
    """A number in the shape of an array that has no elements."""

    def state(self) -> dict[str, Any]:
        return {"size": np.empty((0, 123_456_789))}


class NamesHoldImages(Honest):
    def state(self) -> dict[str, Any]:
        if self.images is None:
            return {}
        text = (self.images[:, 0, ::7, ::7] > 0.5).flatten().to(torch.int8).tolist()
        return {"".join(map(str, text))[:90]: np.zeros(1, bool)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass


class DictThatMakesThings(Honest):
    def state(self) -> dict[str, Any]:
        class More(dict):  # type: ignore[type-arg]
            pass

        return More(images=np.zeros(1))


class LabelsHoldImages(Honest):
    """Calls the pixels labels, which are not charged."""

    def state(self) -> dict[str, Any]:
        if self.images is None:
            return {}
        return {"label": (self.images.flatten() * 5).long(), "labels": self.labels}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        if state:
            self.images, self.labels = (
                torch.from_numpy(state["label"]).view(-1, 1, 28, 28) / 5,
                torch.from_numpy(state["labels"]),
            )
