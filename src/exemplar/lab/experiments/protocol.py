"""What the lab needs to know of an experiment: what is asked, what an answer must look like, what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from exemplar.errors import UserError


@dataclass(frozen=True)
class Next:
    """The session to do next. kind: prescreening, warm-up or main; parts: those to choose from, each of which a person does
    once; of: how many sessions there will be in all, None where nobody can say."""

    kind: str
    parts: tuple[str, ...]
    of: int | None = None


@dataclass(frozen=True)
class Done:
    """A finished session, as far as what comes next may depend on it."""

    kind: str
    part: str
    n_trials: int
    n_correct: int


@dataclass(frozen=True)
class Rejected:
    """The prescreening was failed. text: what the participant is told."""

    text: str


class Experiment(Protocol):
    """One experiment with its settings. name: in addresses and records; type: which page the browser shows.

    Its methods are pure: a plan follows from kind, part and seed, and holds everything a trial's record needs.
    """

    name: str
    type: str

    @property
    def has_result(self) -> bool:
        """Whether participants can be shown how they did."""

    def describe(self) -> dict[str, Any]:
        """title, summary, minutes, consent, instructions, ask and contact, for the page."""

    def choose_next(self, done: Sequence[Done]) -> Next | Rejected | None:
        """None where the participant has done everything."""

    def quota(self) -> int | None:
        """Sessions wanted of each part, None for no limit."""

    def make_plan(self, kind: str, part: str, seed: int) -> dict[str, Any]:
        """Plain values, kept with the session; `trials` has one entry per trial."""

    def show_plan(self, plan: Mapping[str, Any], address: Any) -> dict[str, Any]:
        """What the browser gets. address: name of an image → where it is."""

    def check_answer(
        self, plan: Mapping[str, Any], trial: int, answer: Mapping[str, Any], *, bot: bool = False
    ) -> bool | None:
        """Whether the answer is right, None where there is no right; UserError where it is no answer at all. bot: whether an
        agent gave it, which may draw pixels where people draw strokes."""

    def bonus(self, n_correct: int) -> float | None: ...

    def list_images(self) -> Sequence[str]:
        """Names of all images it can show."""

    def draw_image(self, name: str) -> np.ndarray:
        """(h, w) uint8, as a screen shows it."""


def read_number(
    answer: Mapping[str, Any], name: str, *, low: float, high: float, missing: bool = False
) -> float | None:
    """A finite number of the answer, in range; None where it may be missing and is."""
    value = answer.get(name)
    if value is None and missing:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UserError(f"{name} must be a number from {low:g} to {high:g}, got {str(value)[:40]!r}.")
    return float(value)


def read_choice(answer: Mapping[str, Any], n_choices: int, *, missing: bool = False) -> int | None:
    value = answer.get("choice")
    if value is None and missing:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < n_choices:
        raise UserError(f"choice must be a whole number from 0 to {n_choices - 1}, got {str(value)[:40]!r}.")
    return value


def read_flag(answer: Mapping[str, Any], name: str) -> bool:
    value = answer.get(name, False)
    if not isinstance(value, bool):
        raise UserError(f"{name} must be true or false, got {str(value)[:40]!r}.")
    return value


def check_fields(answer: Mapping[str, Any], known: Sequence[str]) -> None:
    """Nothing is kept that nobody knows the meaning of."""
    strange = sorted(set(answer) - set(known))
    if strange:
        raise UserError(f"An answer has no {strange[0][:40]!r}: it has {', '.join(known)}.")
