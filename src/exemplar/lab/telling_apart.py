"""How well judges tell an agent's drawings from people's: share of right choices, and d′, with intervals over participants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import beta, norm, t

from exemplar.answers import Answer, as_rows, format_scores
from exemplar.errors import UserError
from exemplar.records import Score, Scores, Trials

MOST_SHARE = (
    0.999  # where d′ ends: it has no limit, and no experiment of this kind can tell larger ones from each other
)


def score_turing(folder: Path) -> Answer:
    trials = Trials.load(folder)
    scores = score_choices(trials)
    text = format_scores(list(scores), digits=3)
    return Answer(values={"scores": as_rows(scores)}, text=text, scores=Scores.collect(scores), folder=folder)


def score_choices(trials: Trials) -> list[Score]:
    """Per agent (the trials' subtask): `told_apart`, the share of right choices, .5 where nobody can tell; and `d_prime`."""
    frame = trials.frame
    if not len(frame):
        raise UserError("There are no choices to score.")
    found = []
    for agent, part in frame.groupby(frame["subtask"].astype(str), sort=True):
        by = part.groupby(part["participant"].astype(str), sort=True)["correct"].agg(["sum", "size"])
        right, n = by["sum"].to_numpy(float), by["size"].to_numpy(float)
        found += score_agent(str(agent), right, n)
    return found


def score_agent(agent: str, right: np.ndarray, n: np.ndarray) -> list[Score]:
    """right, n: (participants,) right choices and choices about one agent."""
    total = float(n.sum())
    share = float(right.sum() / total)
    lo, hi = share_interval(right, n)
    count = len(n) if len(n) > 1 else int(total)
    edge = max(1 / (2 * total), 1 - MOST_SHARE)  # as always or never right can be told from half a choice less or more
    apparent = min(max(share, edge), 1 - edge)
    return [
        Score("told_apart", share, (lo, hi), count, agent=agent),
        Score("d_prime", d_prime(apparent), (d_prime(lo), d_prime(hi)), count, agent=agent),
    ]


def share_interval(right: np.ndarray, n: np.ndarray) -> tuple[float, float]:
    """95 % interval of a share over participants who made different numbers of choices: `share_intervals` of one set."""
    lo, hi = share_intervals(right[None], n)
    return float(lo[0]), float(hi[0])


def share_intervals(right: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % intervals of shares over participants (Korn & Graubard 1998): Clopper and Pearson's, with as many choices as they
    are worth where participants differ by more than chance makes them differ.

    right: (sets, participants) right choices; n: (participants,) choices. Returns lo, hi: (sets,).
    """
    total, k = float(n.sum()), len(n)
    share = right.sum(axis=1) / total
    worth = np.full(len(right), total)
    if k > 1:
        # variance of the share, participants as units
        between = k / (k - 1) * ((right - share[:, None] * n) ** 2).sum(axis=1) / total**2
        differ = between > 0
        worth[differ] = np.minimum(total, share[differ] * (1 - share[differ]) / between[differ])
        # few people tell little about others
        worth *= (float(t.ppf(0.975, total - 1)) / float(t.ppf(0.975, k - 1))) ** 2
    hits = share * worth
    none, all_ = share <= 0, share >= 1
    misses = np.where(all_, 1.0, worth - hits)
    lo = np.where(none, 0.0, beta.ppf(0.025, np.where(none, 1.0, hits), np.where(all_, 0.0, misses) + 1))
    hi = np.where(all_, 1.0, beta.ppf(0.975, hits + 1, misses))
    return lo, hi


def d_prime(share: float) -> float:
    """Of a choice between two, √2 z(share), for shares up to MOST_SHARE: 4.37 stands for "this or more"."""
    return float(np.sqrt(2) * norm.ppf(min(max(share, 1 - MOST_SHARE), MOST_SHARE)))
