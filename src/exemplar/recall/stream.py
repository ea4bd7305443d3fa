"""One task as a learner meets it: support sets one at a time, each gone when the next comes, then targets without labels.

Between two sets the harness keeps nothing of the learner but its state, copied. The learner of the next set is another copy
of the one that was made before the task, restored from that state. What a learner keeps in itself is lost with it; what it
keeps in its class, its module or a closure is lost in the strict mode, where each copy is a process of its own (`strict`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.recall.meters.atm import Charge, charge_state
from exemplar.recall.states import State, copy_state, poison, read_state

METHODS = ("reset", "observe", "predict", "state", "restore")
FORM = "a learner has reset(n_labels, rng), observe(images, labels), predict(images), state() and restore(state)"


class Learner(Protocol):
    """What does the task. images: (n, channels, h, w) float32 in [0, 1], or (n, d) features; labels: (n,) int64 from 0."""

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        """Forget everything; whatever is random until the next reset comes from rng."""

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        """Learn from a support set, once. Afterwards both tensors are poisoned."""

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        """(n, n_labels) scores, whose softmax are the probabilities; −inf where a label has none."""

    def state(self) -> dict[str, Any]:
        """Everything learned since reset, as arrays by name."""

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """After a reset: go on from what `state` returned."""


@dataclass(frozen=True, eq=False)
class TaskImages:
    """One task, ready to be shown. support: (nss, n, …), support_label: (nss, n); target, target_label: likewise; n_labels:
    the output's width; number: names the task's random generators."""

    support: np.ndarray
    support_label: np.ndarray
    target: np.ndarray
    n_labels: int
    number: int

    def joint(self) -> TaskImages:
        """The same with all support sets shown at once: what no continual learner gets, for an upper bound."""
        support = self.support.reshape(1, -1, *self.support.shape[2:])
        return TaskImages(support, self.support_label.reshape(1, -1), self.target, self.n_labels, self.number)


@dataclass(frozen=True, eq=False)
class Streamed:
    """What came of one task. log_p: (nss, n, n_labels) of the targets, after the last set; own_log_p: of each set's targets
    right after that set (after the last one both are the same); charges: what was kept at each boundary; states: likewise."""

    log_p: np.ndarray
    own_log_p: np.ndarray | None
    charges: list[Charge]
    states: list[State]


class Host(Protocol):
    """Who runs a learner's methods: each call is a fresh copy of the learner."""

    def snapshot(self, n_labels: int, seed: tuple[Any, ...]) -> State:
        """The state of a learner that was reset and saw nothing."""

    def observe(
        self, n_labels: int, seed: tuple[Any, ...], state: State | None, images: np.ndarray, labels: np.ndarray
    ) -> State: ...

    def predict(self, n_labels: int, seed: tuple[Any, ...], state: State, images: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class InProcess:
    """Copies of a learner in this process. make: a new one, as it is before any task; who: in sentences about it."""

    make: Callable[[], Learner]
    who: str

    def snapshot(self, n_labels: int, seed: tuple[Any, ...]) -> State:
        return read_state(self._begin(n_labels, seed).state(), self.who)

    def observe(
        self, n_labels: int, seed: tuple[Any, ...], state: State | None, images: np.ndarray, labels: np.ndarray
    ) -> State:
        learner = self._begin(n_labels, seed, state)
        return show_set(learner, self.who, images, labels)

    def predict(self, n_labels: int, seed: tuple[Any, ...], state: State, images: np.ndarray) -> np.ndarray:
        return ask(self._begin(n_labels, seed, state), self.who, images, n_labels)

    def _begin(self, n_labels: int, seed: tuple[Any, ...], state: State | None = None) -> Learner:
        return begin(self.make(), n_labels, seed, state)


def copies_of(learner: Learner, who: str) -> InProcess:
    """A host whose learners are deep copies of this one, which itself never does anything."""
    return InProcess(lambda: copy.deepcopy(learner), who)


def begin(learner: Learner, n_labels: int, seed: tuple[Any, ...], state: State | None) -> Learner:
    """Reset, and restored where something was learned already."""
    learner.reset(n_labels, seeds.rng("recall learner", *seed))
    if state is not None:
        learner.restore(copy_state(state))
    return learner


def show_set(learner: Learner, who: str, images: np.ndarray, labels: np.ndarray) -> State:
    """A support set, which is poisoned before the learner is asked for its state."""
    shown, told = torch.from_numpy(images.copy()), torch.from_numpy(labels.astype(np.int64))
    learner.observe(shown, told)
    poison(shown, told)
    return read_state(learner.state(), who)


def ask(learner: Learner, who: str, images: np.ndarray, n_labels: int) -> np.ndarray:
    """(n, n_labels) log probabilities; a UserError says what is wrong with what the learner gave."""
    given = learner.predict(torch.from_numpy(images.copy()))
    if not isinstance(given, torch.Tensor | np.ndarray):
        raise UserError(f"{who}.predict gave a {type(given).__name__}: give a tensor (n, n_labels) of scores")
    scores = torch.as_tensor(given).detach().to("cpu", torch.float64)
    if scores.shape != (len(images), n_labels):
        raise UserError(
            f"{who}.predict gave {tuple(scores.shape)} scores for {len(images)} images and {n_labels} labels"
        )
    if torch.isnan(scores).any() or torch.isposinf(scores).any():
        raise UserError(
            f"{who}.predict gave scores that are NaN or +inf: a kept view of a support set is NaN; or it diverged"
        )
    if torch.isneginf(scores).all(dim=1).any():
        raise UserError(
            f"{who}.predict gave an image no label at all, all its scores are −inf: give at least one a number"
        )
    return scores.log_softmax(dim=1).numpy()


def stream_task(host: Host, task: TaskImages, *, seed: int = 0, history: bool = False) -> Streamed:
    """Show a task to a learner. history: also ask each set's targets right after it, to a copy that learns nothing from it."""
    name = (seed, task.number)
    snapshot = host.snapshot(task.n_labels, (*name, 0))
    state: State | None = None
    charges, states, own = [], [], []
    for place, (images, labels) in enumerate(zip(task.support, task.support_label, strict=True)):
        state = host.observe(task.n_labels, (*name, place), state, images, labels)
        n_seen = (place + 1) * len(labels)
        charges.append(charge_state(state, snapshot, n_samples=n_seen, n_labels=task.n_labels))
        states.append(state)
        if history and len(task.support) == len(task.target) and place < len(task.target) - 1:
            own.append(_ask_mixed(host, task, (*name, "own", place), state, task.target[place]))
    assert state is not None
    flat = task.target.reshape(-1, *task.target.shape[2:])
    log_p = _ask_mixed(host, task, (*name, "targets"), state, flat)
    log_p = log_p.reshape(*task.target.shape[:2], task.n_labels)
    asked = history and len(task.support) == len(task.target)
    return Streamed(log_p, np.stack([*own, log_p[-1]]) if asked else None, charges, states)


def _ask_mixed(host: Host, task: TaskImages, seed: tuple[Any, ...], state: State, images: np.ndarray) -> np.ndarray:
    """Predictions in the order of images, which are handed over in another: in a suite, a target's place tells its set."""
    order = seeds.rng("recall order of targets", *seed).permutation(len(images))
    mixed = host.predict(task.n_labels, seed, state, images[order])
    log_p = np.empty_like(mixed)
    log_p[order] = mixed
    return log_p


def check_names(first: list[State], other: list[State], who: str) -> None:
    """Names and types of what is kept must not depend on the task: they are not charged, and could hold anything."""
    for place, (one, another) in enumerate(zip(first, other, strict=True)):
        if {name: array.dtype for name, array in one.items()} != {name: array.dtype for name, array in another.items()}:
            raise UserError(
                f"{who}.state() has other names or types after support set {place + 1} of one task than of another: these must "
                "not depend on what is learned"
            )


def is_transductive(host: Host, task: TaskImages, state: State, *, seed: int = 0, n: int = 6) -> bool:
    """Whether targets predicted one by one are predicted otherwise than together."""
    flat = task.target.reshape(-1, *task.target.shape[2:])
    flat = flat[:: max(1, len(flat) // n)][:n]  # of several sets
    name = (seed, task.number, "targets")
    together = host.predict(task.n_labels, name, state, flat)
    alone = np.concatenate([host.predict(task.n_labels, name, state, flat[k : k + 1]) for k in range(len(flat))])
    return not np.allclose(np.exp(together), np.exp(alone), atol=1e-4)


def missing_methods(learner: Any, who: str) -> list[str]:
    return [f"{who} has no method {name}: {FORM}" for name in METHODS if not callable(getattr(learner, name, None))]


def largest(charges: list[Charge]) -> int:
    """Where along the task the most was kept."""
    return int(np.argmax([charge.bits for charge in charges]))
