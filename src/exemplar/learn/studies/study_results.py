"""What a study of encoders × rules keeps for its figures: the arrays in its run folder, written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar.files import npz_names, read_npz, write_npz

LEARNED, POPULATIONS = "learned", "populations"  # the two files
NULL_TESTS = {"p": "mse_n", "one_shot_p": "one_shot_mse_n"}  # p of what
TABLES = ("mse_n", "one_shot_mse_n", "accuracy", "early", "late", "consistency", *NULL_TESTS)  # (encoders, rules) each
STRONG = 0.01  # share of models that are called strong baseline models


def write_arrays(
    folder: Path, name: str, encoders: tuple[str, ...], rules: tuple[str, ...], arrays: Mapping[str, np.ndarray]
) -> None:
    """name: LEARNED or POPULATIONS."""
    write_npz(folder / f"{name}.npz", {"encoders": np.array(encoders), "rules": np.array(rules), **arrays})


def find_strong(errors: np.ndarray) -> np.ndarray:
    """Which models are the best 1 % by MSE_n, at least one: (encoders, rules) bool."""
    n = max(round(STRONG * errors.size), 1)
    best = np.zeros(errors.size, bool)
    best[np.argsort(errors, axis=None, kind="stable")[:n]] = True
    return best.reshape(errors.shape)


@dataclass(frozen=True, eq=False)
class StudyResults:
    """What `learned.npz` holds: tables are (encoders, rules). Its arrays called people_… are of people, or of simulated
    participants where there is a true model."""

    encoders: tuple[str, ...]
    rules: tuple[str, ...]
    tests: tuple[str, ...]
    arrays: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    @property
    def who(self) -> str:
        """Whom models are compared with."""
        return "people" if self.true is None else "simulated participants"

    @property
    def true(self) -> tuple[int, int] | None:
        """The model that is true, where participants are simulated."""
        place = self.arrays.get("true")
        return None if place is None else (int(place[0]), int(place[1]))

    @property
    def strong(self) -> np.ndarray:
        """(encoders, rules) which are the best 1 %."""
        return find_strong(self["mse_n"])

    @property
    def chance(self) -> float:
        return 1 / int(self.arrays.get("n_choices", np.array(2)))

    @property
    def networks(self) -> dict[str, np.ndarray]:
        """Network → places of its encoders, in order of depth; pixels are one of their own."""
        names = [name.rpartition("/")[0] or name for name in self.encoders]
        return {network: np.flatnonzero(np.array(names) == network) for network in dict.fromkeys(names)}

    @property
    def participants(self) -> np.ndarray:
        """(subtasks, trials) accuracy of people, or of the simulated participants."""
        accuracy: np.ndarray = self["people_n_correct"] / self._n_people
        return accuracy

    @property
    def models(self) -> np.ndarray:
        """(encoders, rules, subtasks, trials) accuracy."""
        n = self["n_sessions"]
        return self["n_correct"] / (n[..., None] if n.ndim else n)

    @property
    def floor(self) -> float:
        """The root of the least MSE_n that a perfect model would reach."""
        return float(np.sqrt((self.participants * (1 - self.participants) / (self._n_people - 1)).mean()))

    @property
    def one_shot_floor(self) -> float:
        """The same in Experiment 2."""
        return float(np.sqrt(self["people_one_shot_variance"].mean()))

    @property
    def _n_people(self) -> np.ndarray:
        n = self["people_sessions"]
        return n[:, None] if n.ndim else n


def load_study_results(folder: Path) -> StudyResults:
    """A study's arrays, from its run folder."""
    path = folder / f"{LEARNED}.npz"
    kinds: dict[str, tuple[str, int | None]] = {name: ("U", 1) for name in ("encoders", "rules", "tests")}
    kinds |= {name: ("f", 2) for name in TABLES} | {"depth": ("f", 1), "one_shot": ("f", 3)}
    kinds |= {"people_one_shot": ("f", 1), "people_one_shot_variance": ("f", 1), "people_n_correct": ("iu", 2)}
    kinds |= {"n_correct": ("iu", 4), "n_sessions": ("iu", None), "people_sessions": ("iu", None)}
    there = npz_names(path)
    extra: dict[str, tuple[str, int | None]] = {"true": ("i", 1), "n_choices": ("iu", 0), "levels": ("f", 4)}
    extra |= {"levels_p": ("f", 4), "people_accuracy": ("f", 1), "people_ceiling": ("f", 1)}
    arrays = read_npz(path, **kinds, **{name: kind for name, kind in extra.items() if name in there})
    names = {key: tuple(arrays.pop(key).tolist()) for key in ("encoders", "rules", "tests")}
    return StudyResults(names["encoders"], names["rules"], names["tests"], arrays)


def load_populations(folder: Path) -> dict[str, np.ndarray]:
    """encoders, rules: names; true, found, n_sessions: (populations,), the model that is true, the one found, and how many
    sessions each simulated population had per subtask."""
    return read_npz(
        folder / f"{POPULATIONS}.npz",
        encoders=("U", 1), rules=("U", 1), true=("iu", 1), found=("iu", 1), n_sessions=("iu", 1),
    )  # fmt: skip
