"""What a comparison of drawers found, in a sentence or two that claim no difference which was not tested.

Two drawers differ in a score where their paired difference does, its p corrected for all pairs (`measures/differences`). Who is
told apart from the data's own drawers is said by the null of the distance to them (`measures/told_apart`).
"""

from __future__ import annotations

from collections.abc import Sequence

from exemplar.draw.figures.drawers import Drawers, is_own_drawers
from exemplar.draw.figures.tables import list_names, main_recognizability, required_score, words
from exemplar.draw.measures.distance import P
from exemplar.draw.measures.told_apart import LEVEL, null_words
from exemplar.draw.pairing import Differences, find
from exemplar.draw.scored_runs import ScoredRun
from exemplar.records import Score

Found = list[tuple[str, Score]]  # agent, score


def compare_verdict(runs: Sequence[ScoredRun], drawers: Drawers, differences: Differences) -> str:
    """Who is nearest to the data's own drawers; where that is unknown, who is most diverse and most recognizable."""
    others = [run for run in runs if not is_own_drawers(run.agent)]
    own = next((run for run in runs if is_own_drawers(run.agent)), None)
    distances = [(run.agent, score) for run in others if (score := run.overall(drawers.distance)) is not None]
    if len(others) > 1 and len(distances) == len(others):
        said = _nearest(distances, drawers, differences)
    elif len(others) == 1 and own is not None:
        said = _beside(others[0], own, drawers, differences)
    elif len(runs) == 1:
        said = _alone(runs[0])
    else:
        said = _leaders(runs, differences)
    return " ".join(filter(None, [said, told_apart_sentence(others, drawers)]))


def told_apart_sentence(others: Sequence[ScoredRun], drawers: Drawers) -> str:
    """Who is told apart from the data's own drawers, and who is not; nothing where nobody was tested."""
    p = {run.agent: score.value for run in others if (score := run.overall(P + drawers.distance)) is not None}
    near, far = ([agent for agent, value in p.items() if (value < LEVEL) is apart] for apart in (False, True))
    parts = [
        f"{list_names(agents)} {'is' if len(agents) == 1 else 'are'} {null_words(value, drawers.them)}"
        for agents, value in ((near, 1.0), (far, 0.0))
        if agents
    ]
    return f"{'; '.join(parts)}." if parts else ""


def written(score: Score, digits: int = 2) -> str:
    """0.41 [0.39, 0.43]."""
    low, high = score.ci95
    return (
        f"{score.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]" if low == low else f"{score.value:.{digits}f}"
    )


def _nearest(distances: Found, drawers: Drawers, differences: Differences) -> str:
    order = sorted(distances, key=lambda entry: entry[1].value)
    tied, rest = _split_leaders(order, drawers.distance, differences)
    unit = f"of {drawers.their} standard deviations"
    if not rest:
        return (
            f"Who is nearest to {drawers.them} is not decided: no paired difference between the nearest and another of "
            f"{list_names([name for name, _ in tied])} is certain, from {tied[0][1].value:.2f} to {tied[-1][1].value:.2f} "
            f"{unit} away."
        )
    after = f"; next is {rest[0][0]}, {written(rest[0][1])} away."
    if len(tied) == 1:
        name, score = tied[0]
        return f"Nearest to {drawers.them} is {name}, {written(score)} {unit} away{after}"
    listed = list_names([f"{name} ({written(score)})" for name, score in tied])
    return f"Nearest to {drawers.them} are {listed} {unit} away, whose difference is not certain{after}"


def _beside(run: ScoredRun, own: ScoredRun, drawers: Drawers, differences: Differences) -> str:
    """One agent next to the data's own drawers."""
    parts = []
    for name, more, less in (("diversity", "more diverse", "less diverse"),
                             (main_recognizability(run)[0], "more recognizable", "less recognizable")):  # fmt: skip
        mine, theirs = required_score(run, name), required_score(own, name)
        numbers = f"({written(mine)} against {written(theirs)})"
        if _differ(run.agent, own.agent, name, differences):
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


def _leaders(runs: Sequence[ScoredRun], differences: Differences) -> str:
    """Without anyone to be near to: who is ahead in each of the two."""
    parts = []
    for name, most in (("diversity", "most diverse"), (main_recognizability(runs[0])[0], "most recognizable")):
        order = sorted(((run.agent, required_score(run, name)) for run in runs), key=lambda entry: -entry[1].value)
        tied, rest = _split_leaders(order, name, differences)
        if not rest:
            parts.append(f"no drawer is the {most}, as no paired difference is certain")
        elif len(tied) == 1:
            parts.append(
                f"{most} is {tied[0][0]}, at {written(tied[0][1])}, before {rest[0][0]} ({written(rest[0][1])})"
            )
        else:
            listed = list_names([f"{name} ({written(score)})" for name, score in tied])
            parts.append(f"{most} are {listed}, whose difference is not certain")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _split_leaders(order: Found, score: str, differences: Differences) -> tuple[Found, Found]:
    """Those that are not known to differ from the first, and the others; both in their order."""
    first = order[0][0]
    tied = [entry for entry in order if entry[0] == first or not _differ(first, entry[0], score, differences)]
    return tied, [entry for entry in order if entry not in tied]


def _differ(one: str, other: str, score: str, differences: Differences) -> bool:
    """Whether a paired difference is certain, all pairs considered; where there is none, it is not."""
    found = find(differences, one, other, score)
    return found is not None and found.differs
