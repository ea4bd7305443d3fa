"""Trials of many sessions of one length, kept as arrays: the columns of the table follow from their shape.

3.2 million trials of a simulation are 5 MB on disk, uncompressed: a byte says which image, a bit each which of two keys and
whether it was right. They are written in less than a hundredth of the time that a parquet table takes. `Trials.load` reads
either.
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
NARROW = 256  # images of a subtask whose numbers fit a byte


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
        # as few bytes as can be: to copy and check one costs more than to make it narrow
        arrays["shown"] = self.shown.astype(np.uint8 if self.images.shape[1] <= NARROW else np.uint16)
        arrays["right"] = np.packbits(self.correct)
        if self.n_choices == 2:
            arrays["second"] = np.packbits(self.choice)
        else:
            arrays["choice"] = self.choice.astype(np.int8)
        if self.tests is not None:
            arrays["tests"] = self.tests
        write_npz(folder / FILE, arrays, compressed=False)
        return folder / FILE

    @classmethod
    def load(cls, folder: Path | str) -> DenseTrials:
        """Read and check what `save` wrote."""
        path = Path(folder) / FILE
        about = read_npz(path, agent=("U", 1), n_choices=("iu", 1), named=("b", 1), subtasks=("U", 1), phase=("U", 1))
        kinds: dict[str, tuple[str, int | None]] = {"images": ("U", 2), "shown": ("u", 3), "right": ("u", 1)}
        there, n_choices = npz_names(path), about["n_choices"].tolist()
        kinds |= {"second": ("u", 1)} if n_choices == [2] else {"choice": ("i", 3)}
        if "tests" in there:
            kinds["tests"] = ("U", 2)
        data = read_npz(path, **kinds)
        shown, images = data["shown"].astype(np.uint16), data["images"]
        correct = _unpacked(data["right"], shown)
        choice = _unpacked(data["second"], shown) if "second" in data else data["choice"]
        names = tuple(about["subtasks"].tolist())
        fits = all(len(about[name]) == 1 for name in ("agent", "n_choices", "named"))
        fits = fits and shown.size > 0 and correct.shape == choice.shape == shown.shape
        fits = fits and int(shown.max()) < images.shape[1] and len(set(names)) == len(names) == len(shown)
        if not fits or not 0 <= int(choice.min()) <= int(choice.max()) < n_choices[0]:
            raise UserError(f"{path} has arrays that do not belong together: run it again")
        return cls(
            agent=str(about["agent"][0]),
            subtasks=names,
            images=images,
            phase=about["phase"],
            shown=shown,
            choice=choice.astype(np.int8),
            correct=correct.astype(bool),
            n_choices=int(n_choices[0]),
            tests=data.get("tests"),
            named=bool(about["named"][0]),
        )

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


def _unpacked(bits: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Bits as they were packed, in the shape of another array; none if they are not as many."""
    if len(bits) != -(-like.size // 8):
        return np.empty(0, np.uint8)
    return np.unpackbits(bits, count=like.size).reshape(like.shape)


def _category(code: np.ndarray, names: list[str] | tuple[str, ...]) -> pd.Categorical:
    return pd.Categorical.from_codes(code, categories=pd.Index(list(names), dtype=object))
