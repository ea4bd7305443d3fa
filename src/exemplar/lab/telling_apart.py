"""How well judges tell an agent's drawings from people's: share of right choices, and d′, with intervals over participants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import beta, norm, t

from exemplar.answers import Answer, as_rows, format_scores
from exemplar.errors import UserError
from exemplar.records import Score, Scores, Trials


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
    total, share = float(n.sum()), float(right.sum() / n.sum())
    lo, hi = share_interval(right, n)
    count = len(n) if len(n) > 1 else int(total)
    return [
        Score("told_apart", share, (lo, hi), count, agent=agent),
        Score("d_prime", d_prime(share, total), (d_prime(lo, total), d_prime(hi, total)), count, agent=agent),
    ]


def share_interval(right: np.ndarray, n: np.ndarray) -> tuple[float, float]:
    """95 % interval of a share over participants who made different numbers of choices (Korn & Graubard 1998): Clopper and
    Pearson's, with as many choices as they are worth where participants differ by more than chance makes them differ."""
    total, share, k = float(n.sum()), float(right.sum() / n.sum()), len(n)
    worth = total
    if k > 1:
        between = (
            k / (k - 1) * float(((right - share * n) ** 2).sum()) / total**2
        )  # of the share, participants as units
        worth = min(total, share * (1 - share) / between) if between > 0 else total
        worth *= (
            float(t.ppf(0.975, total - 1)) / float(t.ppf(0.975, k - 1))
        ) ** 2  # few people tell little about others
    hits = share * worth
    lo = float(beta.ppf(0.025, hits, worth - hits + 1)) if hits > 0 else 0.0
    hi = float(beta.ppf(0.975, hits + 1, worth - hits)) if hits < worth else 1.0
    return lo, hi


def d_prime(share: float, n: float) -> float:
    """Of a choice between two, √2 z(share), at most as large as half a choice from certainty allows."""
    edge = 1 / (2 * n)
    return float(np.sqrt(2) * norm.ppf(min(max(share, edge), 1 - edge)))
