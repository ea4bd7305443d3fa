"""What a learner did in every task of a suite, as arrays; on disk it is the table Predictions and the arrays of its memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from exemplar.files import read_npz, write_npz
from exemplar.records import Predictions

LOWEST = -100.0  # nats: what −inf counts as, so that a mean exists; how often it was needed is told
OWN, MEMORY = "predictions-at-own-set", "memory.npz"
CHARGED = ("atm", "atm_native", "atm_printed", "bits")


@dataclass(frozen=True, eq=False)
class Outcome:
    """log_p: (n, nss, m, labels) of each target after the last set, NaN in a task that failed; own_log_p: right after its own
    set, or None; label, target: (n, nss, m) right answers and rows; atm, atm_native, atm_printed: (n,); bits: (n, nss) kept at
    each boundary; failures: a sentence each; transductive: whether targets alone are predicted otherwise than together."""

    agent: str
    log_p: np.ndarray
    own_log_p: np.ndarray | None
    label: np.ndarray
    target: np.ndarray
    atm: np.ndarray
    atm_native: np.ndarray
    atm_printed: np.ndarray
    bits: np.ndarray
    failures: tuple[str, ...] = ()
    transductive: bool = False

    @property
    def failed(self) -> np.ndarray:
        """(n,) bool."""
        return np.isnan(self.log_p).any(axis=(1, 2, 3))

    def first(self, n: int) -> Outcome:
        """Of the first n tasks."""
        own = None if self.own_log_p is None else self.own_log_p[:n]
        rest = {name: getattr(self, name)[:n] for name in ("log_p", "label", "target", *CHARGED)}
        return replace(self, own_log_p=own, **rest)

    def right(self, log_p: np.ndarray) -> np.ndarray:
        """(n, nss, m) float: 1 where the most likely label is the right one; labels that tie share it; 0 in a failed task."""
        p = np.where(np.isnan(log_p), -np.inf, log_p)
        best = p.max(axis=3, keepdims=True)
        tied = (p == best) & np.isfinite(best)
        hit = np.take_along_axis(tied, self.label[..., None], axis=3)[..., 0]
        return hit / np.maximum(tied.sum(axis=3), 1)

    def nats(self) -> np.ndarray:
        """(n, nss, m) cross-entropy of each target; a failed task counts as one who says every label is as likely."""
        found = -np.take_along_axis(self.log_p, self.label[..., None], axis=3)[..., 0].astype(np.float64)
        return np.where(np.isnan(found), np.log(self.log_p.shape[3]), np.minimum(found, -LOWEST))

    def tables(self) -> dict[str, Predictions]:
        """name → table, of the tasks that did not fail."""
        found = {"predictions": self._table(self.log_p)}
        if self.own_log_p is not None:
            found[OWN] = self._table(self.own_log_p)
        return found

    def _table(self, log_p: np.ndarray) -> Predictions:
        n, nss, m, width = log_p.shape
        task, place, item = (axis.reshape(-1) for axis in np.indices((n, nss, m)))
        done = ~np.isnan(log_p).any(axis=3).reshape(-1)
        flat = log_p.reshape(-1, width)[done]
        return Predictions.of(
            agent=self.agent, task=task[done], set=place[done], item=item[done], label=self.label.reshape(-1)[done],
            predicted=flat.argmax(axis=1), log_p=flat,
        )  # fmt: skip

    def save(self, folder: Path) -> None:
        for name, table in self.tables().items():
            table.save(folder, name)
        write_npz(folder / MEMORY, {
            **{name: getattr(self, name) for name in CHARGED},
            "transductive": np.array(self.transductive), "failures": np.array(self.failures, dtype=np.str_).reshape(-1),
        })  # fmt: skip


def load_outcome(folder: Path, shape: tuple[int, int, int], label: np.ndarray, target: np.ndarray) -> Outcome:
    """What `save` wrote. shape: (n, nss, m); label, target: of the suite beside it."""
    kept = read_npz(folder / MEMORY, atm=("f", 1), atm_native=("f", 1), atm_printed=("f", 1), bits=("f", 2),
                    transductive=("b", 0), failures=("U", 1))  # fmt: skip
    there = Predictions.load(folder)
    own = _log_p(Predictions.load(folder, OWN), shape) if (folder / f"{OWN}.parquet").is_file() else None
    return Outcome(
        str(there["agent"].iloc[0]), _log_p(there, shape), own, label, target, kept["atm"], kept["atm_native"],
        kept["atm_printed"], kept["bits"], tuple(kept["failures"].tolist()), bool(kept["transductive"]),
    )  # fmt: skip


def _log_p(table: Predictions, shape: tuple[int, int, int]) -> np.ndarray:
    found = np.full((*shape, table.log_p.shape[1]), np.nan, np.float32)
    place = tuple(table[name].to_numpy() for name in ("task", "set", "item"))
    found[place] = table.log_p
    return found
