"""Trials of many sessions of one length, kept as arrays: the columns of the table follow from their shape.

3.2 million trials of a simulation are 10 MB on disk, uncompressed, written in a hundredth of the time that a parquet table of
them takes. `Trials.load` reads either.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from exemplar.errors import UserError
from exemplar.files import npz_names, read_npz, write_npz
from exemplar.records import Trials

FILE = "trials.npz"


@dataclass(frozen=True, eq=False)
class DenseTrials:
    """What one agent did in every session of every subtask; each session is a participant of its own.

    subtasks: names; images: (subtasks, images) names; phase: (trials,) text; shown: (subtasks, sessions, trials) uint16, which
    of the subtask's images; choice: the same shape, int8; correct: the same shape, bool; n_choices: of a trial; tests:
    (subtasks, images) text, which test an image belongs to ("" for none), None where there are no tests; named: whether the
    names of images were given, rather than made up.
    """

    agent: str
    subtasks: tuple[str, ...]
    images: np.ndarray
    phase: np.ndarray
    shown: np.ndarray
    choice: np.ndarray
    correct: np.ndarray
    n_choices: int
    tests: np.ndarray | None = None
    named: bool = True

    def __post_init__(self) -> None:
        n_subtasks, _, n_trials = self.shown.shape
        shapes = self.choice.shape == self.correct.shape == self.shown.shape
        if not shapes or len(self.subtasks) != n_subtasks or len(self.images) != n_subtasks:
            raise UserError(
                f"choices {self.choice.shape} of {self.shown.shape} trials, {len(self.subtasks)} names and images "
                f"{self.images.shape} do not belong together"
            )
        if self.phase.shape != (n_trials,) or (self.tests is not None and self.tests.shape != self.images.shape):
            raise UserError(f"phases {self.phase.shape} and tests do not belong to {n_trials} trials: give as many")

    def save(self, folder: Path) -> Path:
        """Write `trials.npz` into a folder, whole or not at all."""
        arrays = {"agent": np.array([self.agent]), "subtasks": np.array(self.subtasks), "images": self.images}
        arrays |= {"phase": self.phase, "n_choices": np.array([self.n_choices]), "named": np.array([self.named])}
        arrays |= {"shown": self.shown.astype(np.uint16), "choice": self.choice.astype(np.int8)}
        arrays |= {"right": np.packbits(self.correct, axis=2)}
        if self.tests is not None:
            arrays["tests"] = self.tests
        write_npz(folder / FILE, arrays, compressed=False)
        return folder / FILE

    @classmethod
    def load(cls, folder: Path | str) -> DenseTrials:
        """Read and check what `save` wrote."""
        path = Path(folder) / FILE
        about = read_npz(path, agent=("U", 1), n_choices=("iu", 1), named=("b", 1), subtasks=("U", 1), phase=("U", 1))
        kinds: dict[str, tuple[str, int | None]] = {"images": ("U", 2), "shown": ("u", 3)}
        kinds |= {"choice": ("i", 3), "right": ("u", 3)}
        if "tests" in npz_names(path):
            kinds["tests"] = ("U", 2)
        data = read_npz(path, **kinds)
        shown, choice, right, images = (data[name] for name in ("shown", "choice", "right", "images"))
        names = tuple(about["subtasks"].tolist())
        one_each = [len(about[name]) == 1 for name in ("agent", "n_choices", "named")]
        fits = all(one_each) and shown.size > 0 and right.shape == (*shown.shape[:2], -(-shown.shape[2] // 8))
        fits = fits and int(shown.max()) < images.shape[1] and len(set(names)) == len(names) == len(shown)
        if not fits or not 0 <= int(choice.min()) <= int(choice.max()) < int(about["n_choices"][0]):
            raise UserError(f"{path} has arrays that do not belong together: run it again")
        correct = np.unpackbits(right, axis=2, count=shown.shape[2]).astype(bool)
        n_choices, named = int(about["n_choices"][0]), bool(about["named"][0])
        who = str(about["agent"][0])
        return cls(who, names, images, about["phase"], shown, choice, correct, n_choices, data.get("tests"), named)

    def table(self) -> Trials:
        """Every trial, one row each. 3.2 million take about 3 s, and 1.5 GB while they are made."""
        n_subtasks, n_sessions, n_trials = self.shown.shape
        total = n_subtasks * n_sessions
        width = len(str(total - 1))
        session = _category(np.repeat(np.arange(total), n_trials), [f"{number:0{width}d}" for number in range(total)])
        names, code = np.unique(self.images, return_inverse=True)
        shown = np.take_along_axis(code.reshape(n_subtasks, 1, -1), self.shown.astype(np.intp), axis=2)
        phases, phase = np.unique(self.phase, return_inverse=True)
        return Trials.of(
            agent=self.agent,
            participant=session,
            subtask=_category(np.repeat(np.arange(n_subtasks), n_sessions * n_trials), self.subtasks),
            session=session,
            trial=np.tile(np.arange(n_trials), total),
            phase=_category(np.tile(phase, total), phases.tolist()),
            stimulus=_category(shown.ravel(), names.tolist()),
            choice=self.choice.ravel(),
            correct=self.correct.ravel(),
            timed_out=False,
        )


def has_dense_trials(folder: Path | str) -> bool:
    return (Path(folder) / FILE).is_file()


def _category(code: np.ndarray, names: list[str] | tuple[str, ...]) -> pd.Categorical:
    return pd.Categorical.from_codes(code, categories=pd.Index(list(names), dtype=object))
