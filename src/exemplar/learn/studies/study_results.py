"""What a study of encoders × rules keeps for its figures: the arrays in its run folder, written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar.files import read_npz, write_npz

LEARNED, POPULATIONS = "learned", "populations"  # the two files
NULL_TESTS = {"p": "mse_n", "one_shot_p": "one_shot_mse_n"}  # p of what
TABLES = ("mse_n", "one_shot_mse_n", "overall", "early", "late", "consistency", *NULL_TESTS)  # (encoders, rules) each


def write_arrays(
    folder: Path, name: str, encoders: tuple[str, ...], rules: tuple[str, ...], arrays: Mapping[str, np.ndarray]
) -> None:
    """name: LEARNED or POPULATIONS."""
    write_npz(folder / f"{name}.npz", {"encoders": np.array(encoders), "rules": np.array(rules), **arrays})


@dataclass(frozen=True, eq=False)
class StudyResults:
    """What `learned.npz` holds: tables are (encoders, rules). Its arrays called people_… are of simulated participants."""

    encoders: tuple[str, ...]
    rules: tuple[str, ...]
    tests: tuple[str, ...]
    arrays: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    @property
    def networks(self) -> dict[str, np.ndarray]:
        """Network → places of its encoders, in order of depth; pixels are one of their own."""
        names = [name.rpartition("/")[0] or name for name in self.encoders]
        return {network: np.flatnonzero(np.array(names) == network) for network in dict.fromkeys(names)}

    @property
    def participants(self) -> np.ndarray:
        """(subtasks, trials) accuracy of the simulated participants."""
        return self["people_n_correct"] / self["people_sessions"]

    @property
    def floor(self) -> float:
        """The root of the least MSE_n that a perfect model would reach."""
        return float(np.sqrt((self.participants * (1 - self.participants)).mean() / (self["people_sessions"] - 1)))


def load_study_results(folder: Path) -> StudyResults:
    """A study's arrays, from its run folder."""
    kinds: dict[str, tuple[str, int | None]] = {name: ("U", 1) for name in ("encoders", "rules", "tests")}
    kinds |= {name: ("f", 2) for name in TABLES} | {"depth": ("f", 1), "one_shot": ("f", 3), "true": ("i", 1)}
    kinds |= {"people_one_shot": ("f", 1), "people_one_shot_variance": ("f", 1), "people_n_correct": ("iu", 2)}
    kinds |= {"n_correct": ("iu", 4), "n_sessions": ("iu", 0), "people_sessions": ("iu", 0)}
    arrays = read_npz(folder / f"{LEARNED}.npz", **kinds)
    names = {key: tuple(arrays.pop(key).tolist()) for key in ("encoders", "rules", "tests")}
    return StudyResults(names["encoders"], names["rules"], names["tests"], arrays)


def load_populations(folder: Path) -> dict[str, np.ndarray]:
    """encoders, rules: names; true, found, n_sessions: (populations,), the model that is true, the one found, and how many
    sessions each simulated population had per subtask."""
    return read_npz(
        folder / f"{POPULATIONS}.npz",
        encoders=("U", 1), rules=("U", 1), true=("iu", 1), found=("iu", 1), n_sessions=("iu", 1),
    )  # fmt: skip
