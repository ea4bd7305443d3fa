"""How often the intervals of a Turing test hold the truth: simulated judges, few and many, near chance and near certainty."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from exemplar import seeds, stats
from exemplar.lab.telling_apart import MOST_SHARE
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run

PEOPLE = (1, 2, 5, 10, 20, 60)
CHOICES = (10, 20, 100)  # of each about one agent
SHARES = (0.5, 0.75, 0.95, 0.99, 0.9995)
SPREADS = (0.0, 0.05, 0.1)  # standard deviation of people's own shares, as a beta distribution has it
N_SETS = 2000


def coverage_result(run: Run, seed: int) -> Scores:
    scores = Scores.collect(list(simulate(seed, N_SETS)))
    run.save(scores)
    return scores


def simulate(seed: int, n_sets: int) -> Iterator[Score]:
    """For each number of people and truth the number of choices and the spread in which fewest intervals hold it; one person,
    who speaks of nobody else, has no spread."""
    for people in PEOPLE:
        for share in SHARES:
            told, sensitivity = [], []
            for choices, spread in itertools.product(CHOICES, SPREADS if people > 1 else (0.0,)):
                rng = seeds.rng("turing coverage", seed, people, choices, share, spread)
                lo, hi = intervals(sample_right(n_sets, people, choices, share, spread, rng), choices)
                told.append(int(((lo <= share) & (share <= hi)).sum()))
                # d′ grows with the share up to where it ends
                low, truth, high = (np.clip(one, 1 - MOST_SHARE, MOST_SHARE) for one in (lo, share, hi))
                sensitivity.append(int(((low <= truth) & (truth <= high)).sum()))
            agent = f"{people} people, truth {share:g}" if people > 1 else f"1 person, truth {share:g}"
            yield Score.of("coverage_of_told_apart", stats.proportion(min(told), n_sets), agent=agent)
            yield Score.of("coverage_of_d_prime", stats.proportion(min(sensitivity), n_sets), agent=agent)


def intervals(right: np.ndarray, choices: int) -> tuple[np.ndarray, np.ndarray]:
    """lo, hi: (sets,) of the share of right choices, as `share_of_right` has them. right: (sets, people)."""
    if right.shape[1] == 1:
        found = stats.proportion(right[:, 0], choices, method="clopper-pearson")
    else:
        found = stats.mean_share(right.T / choices)
    # a mean of shares such as .95 is a sum of floats: as large as the truth is large enough
    return np.asarray(found.lo) - 1e-12, np.asarray(found.hi) + 1e-12


def sample_right(
    n_sets: int, people: int, choices: int, share: float, spread: float, rng: np.random.Generator
) -> np.ndarray:
    """(n_sets, people) right choices. spread: at most what leaves most people between never and always right."""
    variance = min(spread**2, 0.5 * share * (1 - share))
    own = np.full((n_sets, people), share)
    if variance:
        total = share * (1 - share) / variance - 1
        own = rng.beta(share * total, (1 - share) * total, (n_sets, people))
    return rng.binomial(choices, own).astype(float)


KEPT = KeptResult(
    title="How often the intervals of a Turing test hold the truth",
    text="Judges whose own shares of right choices vary by 0, .05 or .1 (standard deviation of a beta distribution) around a "
    "known truth, with 10, 20 or 100 choices each, 2,000 sets of judges in each cell; shown is the cell of a row in which "
    "fewest intervals hold the truth. With one judge choices are all there is, and the interval speaks of "
    "this judge only. Near 1 nearly all judges are always right and a "
    "few are not, and a handful of judges rarely shows one of them: the interval reckons with one judge who was not asked "
    "(`exemplar.stats.mean_share`), and is wide for it. d′ grows with the share, so it is held as often; it ends at 4.37 (99.9 "
    "% right), which stands for this or more.",
    compute=coverage_result,
    quick=False,
)
