"""What scoring an experiment gives: scores, p values, comparisons and warnings, as JSON has them and as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from exemplar.answers import by_name, format_interval, format_table
from exemplar.learn.measures.curves import Repeated
from exemplar.learn.measures.individuals import Individuals
from exemplar.learn.measures.oneshot import Points
from exemplar.learn.measures.phases import PhaseDifference
from exemplar.learn.shared_images import SharedImages
from exemplar.records import Score
from exemplar.stats import Estimate

FIRST_SIDE = ("accuracy", "early", "late", "hardest_tenth")  # scores of the learner by itself, as are those of trials


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """scores: by name; p: name of a test → p; rows: comparisons, one per row; warnings: reasons not to trust them; notes: what
    else a reader should know; curves, points: both sides, in Experiment 1 with replicates, in 2 by test; shared: which images
    both saw, None where there is one side; null_test: "calibrated" or "paper"; individuals: who did all subtasks;
    phases: both sides early and late, by difficulty.
    """

    scores: dict[str, Score]
    p: dict[str, float] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    curves: tuple[Repeated, Repeated] | None = None
    points: tuple[Points, Points] | None = None
    shared: SharedImages | None = None
    null_test: str = ""
    individuals: Individuals | None = None
    phases: list[PhaseDifference] = field(default_factory=list)

    @property
    def same_images(self) -> bool:
        return self.shared is None or self.shared.same

    def unit_of(self, name: str) -> str:
        """What n counts, of a score by name: participants, sessions, subtasks or tests; "" where it is not known."""
        if self.points is not None and (self.curves is None or name.startswith("one_shot_")):
            return "tests"
        if name.startswith("consistency") and "accuracy_difference" not in self.scores:
            return "subtasks"
        if self.curves is None:
            return ""
        units = [side.unit for side in self.curves]
        if "accuracy_difference" in self.scores:
            return " and ".join(dict.fromkeys(units))
        of_first = name in FIRST_SIDE or name.startswith(("trial_", "examples_"))
        return units[0] if of_first else units[1]

    def count_of(self, name: str) -> str:
        """n of a score with what it counts; of two groups, both."""
        if "accuracy_difference" in self.scores and self.curves is not None:
            return " and ".join(f"{side.n:,} {side.unit}" for side in self.curves)
        return f"{self.scores[name].n:,} {self.unit_of(name)}".rstrip()

    def units(self) -> dict[str, str]:
        """Score → what its n counts, as far as it is known."""
        return {name: unit for name in self.scores if (unit := self.unit_of(name))}

    def values(self) -> dict[str, Any]:
        """As JSON has it: scores by name, p values, rows; `notes` holds the warnings, too."""
        about: dict[str, Any] = {"p": self.p, "rows": self.rows, "same_images": self.same_images}
        about |= {"images_in_common": self.shared.values()} if self.shared is not None else {}
        about |= {"null_test": self.null_test} if self.null_test else {}
        about |= {"units_of_n": units} if (units := self.units()) else {}
        return {**by_name(self.scores.values()), **about, "notes": [*self.warnings, *self.notes]}

    def text(self) -> str:
        """The same for people, without the warnings, which are told apart from the answer."""
        parts = [self._score_table()] if self.scores else []
        if self.p:
            parts.append(
                format_table(("test", "p"), [(self.name_test(name), format_p(p)) for name, p in self.p.items()])
            )
        for names in dict.fromkeys(tuple(row) for row in self.rows):
            rows = [row for row in self.rows if tuple(row) == names]
            parts.append(format_table(names, ([_cell(value) for value in row.values()] for row in rows)))
        return "\n\n".join([*parts, *(f"Note: {note}." for note in self.notes)])

    def _score_table(self) -> str:
        rows = [
            (name, f"{score.value:.5f}", format_interval(score.ci95, 5), self.count_of(name))
            for name, score in self.scores.items()
        ]
        return format_table(("score", "value", "95 %", "n"), rows)

    def name_test(self, name: str) -> str:
        """A test as people read it: the null test says which one it is."""
        return f"{name} ({self.null_test})" if name.startswith("null") and self.null_test else name


def estimate_values(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON has a score."""
    return {"value": float(estimate.value), "ci95": [float(estimate.lo), float(estimate.hi)], "n": int(estimate.n)}


def as_sentences(warnings: Iterable[str]) -> tuple[str, ...]:
    """With a capital letter and a full stop."""
    return tuple(f"{warning[:1].upper()}{warning[1:].rstrip('.')}." for warning in warnings)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['value']:.3f} [{value['ci95'][0]:.3f}, {value['ci95'][1]:.3f}]"
    return format_p(value) if isinstance(value, float) else str(value)


def format_p(p: float) -> str:
    """The only bare numbers of a report are p values; none of them is 0."""
    return "< 0.0001" if p < 0.00005 else f"{p:.4f}"
