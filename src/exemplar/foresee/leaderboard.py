"""The room's leaderboard: which measures foretell accuracy. Measures are the room's own, so no run can be submitted."""

from __future__ import annotations

from exemplar.records import Score
from exemplar.rooms import Leaderboard

SETTINGS = ("supervised, 5-way 5-shot 50-query", "semi, 5-way 5-shot 30-query", "unsupervised, 5-way 35 samples")
READING = (
    "Correlation of each measure with accuracy over 10,000 tasks of CIFAR-FS's test classes. A negative sign is as good as a "
    "positive one: what counts is how far from 0 it is. A measure that sees the scored samples themselves has an advantage "
    "that the others lack. Measures are made in the package, so nothing can be submitted here. "
    "[What the numbers mean](../foresee.md#which-measures-foretell-accuracy)."
)


def make_boards() -> dict[str, Leaderboard]:
    return {f"foresee-{setting.partition(',')[0]}": _board(setting) for setting in SETTINGS}


def _board(setting: str) -> Leaderboard:
    def shows(score: Score) -> bool:
        return score.concept == setting and not score.variant

    return Leaderboard(
        title=f"CIFAR-FS, {setting}",
        text="",
        reading=READING,
        result="foresee-correlations",
        columns=("pearson", "spearman"),
        shows=shows,
        lowest=None,
    )
