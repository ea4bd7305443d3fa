"""How well judges tell an agent's drawings from people's: share of right choices, and d′, with intervals over participants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import norm

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
    """95 % interval of a share over participants who made different numbers of choices: Wilson's with as many choices as they
    are worth, so that it stays sensible near 0 and 1."""
    from scipy.stats import t

    total, share, k = float(n.sum()), float(right.sum() / n.sum()), len(n)
    effective, quantile = total, float(norm.ppf(0.975))
    if k > 1:
        between = (
            k / (k - 1) * float(((right - share * n) ** 2).sum()) / total**2
        )  # of the share, participants as units
        within = max(share * (1 - share), 0.25 / total) / total
        effective = total * min(1.0, within / between) if between > 0 else total
        quantile = float(t.ppf(0.975, k - 1)) if effective < total else quantile
    z2 = quantile**2 / effective
    middle, half = share + z2 / 2, quantile * np.sqrt(share * (1 - share) / effective + z2 / (4 * effective))
    return float(max(0.0, (middle - half) / (1 + z2))), float(min(1.0, (middle + half) / (1 + z2)))


def d_prime(share: float, n: float) -> float:
    """Of a choice between two, √2 z(share), at most as large as half a choice from certainty allows."""
    edge = 1 / (2 * n)
    return float(np.sqrt(2) * norm.ppf(min(max(share, edge), 1 - edge)))
