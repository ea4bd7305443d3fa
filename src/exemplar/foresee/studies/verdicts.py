"""What decides whether a statement holds: each verdict is a function of the scores that were found.

Correlations are compared in the direction that a measure was meant to have, so that one whose sign flips counts as bad, not as
good (the paper reports absolute values).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from exemplar.foresee.indicators import MEASURES
from exemplar.foresee.studies.curves import PUBLISHED
from exemplar.records import Score

ROBUST = 0.75  # share of its balanced correlation that a robust measure keeps


class Found:
    """Scores by what they are of."""

    def __init__(self, scores: Iterable[Score]) -> None:
        self.scores = {(score.name, score.agent, score.concept, score.variant): score for score in scores}
        self.by = {key: score.value for key, score in self.scores.items()}

    def r(self, measure: str, setting: str, tasks: str) -> float:
        """Its correlation in the direction it was meant to have."""
        return MEASURES[measure].better * self.by[f"pearson_{measure}", setting, tasks, ""]

    def row(self, measure: str, setting: str, tasks: Iterable[str]) -> list[float]:
        return [self.r(measure, setting, one) for one in tasks]

    def value(self, name: str, agent: str, concept: str = "") -> float:
        return self.by[name, agent, concept, ""]


Verdict = tuple[bool, str]


SHOTS = [f"5-way {k}-shot 50-query" for k in (1, 5, 10, 20)]
WAYS = [f"{n}-way 5-shot 50-query" for n in (5, 10, 15)]
SEMI_SHOTS = [f"5-way {k}-shot 30-query" for k in (1, 5, 10, 20)]
SEMI_WAYS = [f"{n}-way 5-shot 30-query" for n in (5, 10, 15)]
SEMI_QUERIES = [f"5-way 5-shot {q}-query" for q in (5, 15, 30)]
SAMPLES = [f"5-way {m} samples" for m in (10, 20, 35)]
UNSUPERVISED_WAYS = [f"{n}-way 35 samples" for n in (5, 10, 15)]


def rises(values: list[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def told(values: Iterable[float]) -> str:
    return " ".join(f"{value:.2f}".replace("0.", ".") for value in values)


def supervised_order(found: Found) -> Verdict:
    loss, similarity, *others = (
        found.r(m, "supervised", SHOTS[1]) for m in ("lr_loss", "similarity", "davies_bouldin", "egv")
    )
    return loss >= similarity > max(others), f"loss {loss:.2f}, similarity {similarity:.2f}, DB and egv {told(others)}"


def follows(measure: str, setting: str, tasks: list[str], up: bool) -> Callable[[Found], Verdict]:
    def judge(found: Found) -> Verdict:
        values = found.row(measure, setting, tasks)
        return rises(values if up else values[::-1]), told(values)

    return judge


def confidence_best(found: Found) -> Verdict:
    own, *others = (
        found.r(m, "semi", SEMI_QUERIES[2]) for m in ("confidence", "lr_loss", "similarity", "davies_bouldin", "egv")
    )
    return own > max(others), f"{own:.2f} against {told(others)}"


def db_best(found: Found) -> Verdict:
    pairs = [(found.r("davies_bouldin", "unsupervised", t), found.r("egv", "unsupervised", t)) for t in SAMPLES]
    return all(a > b for a, b in pairs), "DB " + told(a for a, _ in pairs) + ", egv " + told(b for _, b in pairs)


def saturates(found: Found) -> Verdict:
    few, middle, many = found.row("confidence", "semi", SEMI_QUERIES)
    return many - middle < (middle - few) / 2, told((few, middle, many))


def depends_less(found: Found) -> Verdict:
    spans = {
        name: float(np.ptp(found.row("confidence", "semi", tasks)))
        for name, tasks in (("queries", SEMI_QUERIES), ("shots", SEMI_SHOTS), ("ways", SEMI_WAYS))
    }
    holds = max(spans["shots"], spans["ways"]) < spans["queries"]
    return holds, ", ".join(f"r spans {span:.2f} over {name}" for name, span in spans.items())


def depends_least(found: Found) -> Verdict:
    spans = {m: np.ptp(found.row(m, "semi", SEMI_SHOTS)) + np.ptp(found.row(m, "semi", SEMI_WAYS)) for m in PUBLISHED}
    return spans["confidence"] == min(spans.values()), ", ".join(f"{name} {span:.2f}" for name, span in spans.items())


def diffusion_helps(found: Found) -> Verdict:
    pairs = [(found.r(m, "semi", SEMI_SHOTS[0]), found.r(m, "supervised", SHOTS[0])) for m in ("lr_loss", "similarity")]
    return all(a > b for a, b in pairs), "; ".join(f"{a:.2f} after diffusion, {b:.2f} before" for a, b in pairs)


def best_index(found: Found) -> Verdict:
    cells = [("semi", tasks, n) for tasks, n in zip(SEMI_WAYS, (5, 10, 15), strict=True)]
    cells += [("unsupervised", tasks, n) for tasks, n in zip(UNSUPERVISED_WAYS, (5, 10, 15), strict=True)]
    best = [(found.value("best_eigenvalue_index", setting, tasks), n) for setting, tasks, n in cells]
    return all(index < n for index, n in best), ", ".join(f"{index:.0f} of N = {n}" for index, n in best)


def imbalance(p: str, balanced: str, ways: int, robust: bool) -> Callable[[Found], Verdict]:
    def judge(found: Found) -> Verdict:
        at = {m: [found.r(m, "semi", f"{ways}-way 5-shot 50-query, p = {q}") for q in (balanced, p)] for m in PUBLISHED}
        kept = {m: after / before for m, (before, after) in at.items()}
        own = kept["confidence"] >= ROBUST
        others = [m for m in PUBLISHED if m != "confidence"]
        holds = own and all(kept[m] < ROBUST for m in others) if robust else all(kept[m] >= ROBUST for m in PUBLISHED)
        return holds, ", ".join(f"{m} {before:.2f} → {after:.2f}" for m, (before, after) in at.items())

    return judge
