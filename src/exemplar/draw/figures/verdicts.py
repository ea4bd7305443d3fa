"""What a comparison of drawers found, in one sentence that claims no difference its intervals do not support.

Two scores differ where their 95 % intervals do not overlap. That is a strict rule: whatever the correlation between the two, it
implies that the interval of their difference excludes 0 (for estimates that are about normal).
"""

from __future__ import annotations

from collections.abc import Sequence

from exemplar.draw.figures.drawers import Drawers, is_own_drawers
from exemplar.draw.figures.tables import list_names, main_recognizability, required_score, words
from exemplar.draw.scored_runs import ScoredRun
from exemplar.records import Score

Found = list[tuple[str, Score]]  # agent, score


def compare_verdict(runs: Sequence[ScoredRun], drawers: Drawers) -> str:
    """Who is nearest to the data's own drawers; where that is unknown, who is most diverse and most recognizable."""
    others = [run for run in runs if not is_own_drawers(run.agent)]
    own = next((run for run in runs if is_own_drawers(run.agent)), None)
    distances = [(run.agent, score) for run in others if (score := run.overall(drawers.distance)) is not None]
    if len(others) > 1 and len(distances) == len(others):
        return _nearest(distances, drawers)
    if len(others) == 1 and own is not None:
        return _beside(others[0], own, drawers)
    if len(runs) == 1:
        return _alone(runs[0])
    return _leaders(runs)


def differ(one: Score, other: Score) -> bool:
    """Whether the intervals of two scores do not overlap; a score without an interval differs from nothing."""
    return one.ci95[1] < other.ci95[0] or other.ci95[1] < one.ci95[0]


def written(score: Score, digits: int = 2) -> str:
    """0.41 [0.39, 0.43]."""
    low, high = score.ci95
    return (
        f"{score.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]" if low == low else f"{score.value:.{digits}f}"
    )


def _nearest(distances: Found, drawers: Drawers) -> str:
    order = sorted(distances, key=lambda entry: entry[1].value)
    tied, rest = _split_leaders(order)
    unit = f"of {drawers.their} standard deviations"
    if not rest:
        return (
            f"Who is nearest to {drawers.them} is not decided: the intervals of {list_names([name for name, _ in tied])} "
            f"overlap, from {tied[0][1].value:.2f} to {tied[-1][1].value:.2f} {unit} away."
        )
    after = f"; next is {rest[0][0]}, {written(rest[0][1])} away."
    if len(tied) == 1:
        name, score = tied[0]
        return f"Nearest to {drawers.them} is {name}, {written(score)} {unit} away{after}"
    listed = list_names([f"{name} ({written(score)})" for name, score in tied])
    return f"Nearest to {drawers.them} are {listed} {unit} away, whose intervals overlap{after}"


def _beside(run: ScoredRun, own: ScoredRun, drawers: Drawers) -> str:
    """One agent next to the data's own drawers."""
    parts = []
    for name, more, less in (("diversity", "more diverse", "less diverse"),
                             (main_recognizability(run)[0], "more recognizable", "less recognizable")):  # fmt: skip
        mine, theirs = required_score(run, name), required_score(own, name)
        numbers = f"({written(mine)} against {written(theirs)})"
        if differ(mine, theirs):
            parts.append(f"{more if mine.value > theirs.value else less} than {drawers.them} {numbers}")
        else:
            parts.append(f"not distinguishable from {drawers.them} in {words(name)} {numbers}")
    return f"The drawings of {run.agent} are {' and '.join(parts)}."


def _alone(run: ScoredRun) -> str:
    ways, among = main_recognizability(run)
    return (
        f"The drawings of {run.agent} have a diversity of {written(required_score(run, 'diversity'))} and a recognizability "
        f"of {written(required_score(run, ways))} among {among}, where chance is {1 / among:.2f}."
    )


def _leaders(runs: Sequence[ScoredRun]) -> str:
    """Without anyone to be near to: who is ahead in each of the two."""
    parts = []
    for name, most in (("diversity", "most diverse"), (main_recognizability(runs[0])[0], "most recognizable")):
        order = sorted(((run.agent, required_score(run, name)) for run in runs), key=lambda entry: -entry[1].value)
        tied, rest = _split_leaders(order)
        if not rest:
            parts.append(f"no drawer is the {most}, as the intervals of all overlap")
        elif len(tied) == 1:
            parts.append(
                f"{most} is {tied[0][0]}, at {written(tied[0][1])}, before {rest[0][0]} ({written(rest[0][1])})"
            )
        else:
            listed = list_names([f"{name} ({written(score)})" for name, score in tied])
            parts.append(f"{most} are {listed}, whose intervals overlap")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _split_leaders(order: Found) -> tuple[Found, Found]:
    """Those that do not differ from the first, and the others; both in their order."""
    tied = [entry for entry in order if not differ(order[0][1], entry[1])]
    return tied, [entry for entry in order if entry not in tied]
