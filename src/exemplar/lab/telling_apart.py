"""How well judges tell an agent's drawings from people's: share of right choices, and d′, with intervals over participants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import norm

from exemplar import stats
from exemplar.answers import Answer, as_rows, format_scores
from exemplar.errors import UserError
from exemplar.records import Score, Scores, Trials
from exemplar.stats import Estimate

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
    found = share_of_right(right, n)
    edge = max(1 / (2 * float(n.sum())), 1 - MOST_SHARE)  # always right cannot be told from right but for half a choice
    sensitivity = d_prime(min(max(found.value, edge), 1 - edge))
    return [
        Score.of("told_apart", found, agent=agent),
        Score("d_prime", sensitivity, (d_prime(found.lo), d_prime(found.hi)), found.n, agent=agent),
    ]


def share_of_right(right: np.ndarray, n: np.ndarray) -> Estimate:
    """The mean of participants' shares of right choices, however many choices each made, with a 95 % interval over participants
    (`exemplar.stats.mean_share`); of one participant, over choices (Clopper & Pearson)."""
    if len(n) == 1:
        return stats.proportion(int(right[0]), int(n[0]), method="clopper-pearson")
    return stats.mean_share(right / n)


def d_prime(share: float) -> float:
    """Of a choice between two, √2 z(share), for shares up to MOST_SHARE: 4.37 stands for "this or more"."""
    return float(np.sqrt(2) * norm.ppf(min(max(share, 1 - MOST_SHARE), MOST_SHARE)))
