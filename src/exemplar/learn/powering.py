"""How many people an experiment needs, the verb `power`: two models' runs in, what designs would show out."""

from __future__ import annotations

from typing import Any

from exemplar import engine, seeds
from exemplar.answers import Answer, format_table
from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.measures.power import Power, power_to_tell_apart
from exemplar.learn.outcomes import Outcome
from exemplar.learn.score_report import estimate_values
from exemplar.learn.shared_images import align_learning, share_images
from exemplar.stats import Estimate


def answer_power(
    true: Outcome, other: Outcome, *, people: str, subtasks: str, lapse: float, experiments: int, seed: int
) -> Answer:
    """true: the model that people are taken to learn as; other: the one to be told from it."""
    shared = share_images(true, other)
    if not shared.same:
        raise UserError(f"the two models saw different images ({shared.reason}): run both on the same")
    first, second = align_learning(true.learning(), other.learning())
    if not isinstance(first, Behaviour) or not isinstance(second, Behaviour):
        raise UserError("power needs the sessions of both models, not counts: give two runs")
    with engine.one_thread():
        found = power_to_tell_apart(
            first,
            second,
            n_people=_numbers(people, "people"),
            n_subtasks=_numbers(subtasks, "subtasks") if subtasks else None,
            lapse=lapse,
            n_experiments=experiments,
            rng=seeds.rng("learn power", seed),
        )
    names = [true.agent, other.agent]
    values = {"true": names[0], "other": names[1], "lapse": lapse, "experiments": experiments, "seed": seed}
    header = ("people per subtask", "subtasks", "nearer than the other", "other rejected", "true model rejected")
    rows = [(row.n_people, row.n_subtasks, *map(_share, _shares(row))) for row in found]
    text = (
        f"People who learn as {names[0]} does and lapse on {100 * lapse:g} % of trials; {names[1]} is the other model; shares "
        f"of {experiments} simulated experiments, by the calibrated null test at 5 %.\n\n{format_table(header, rows)}"
    )
    return Answer(values={**values, "designs": [_values(row) for row in found]}, text=text)


def _shares(row: Power) -> tuple[Estimate, Estimate, Estimate]:
    return row.recovery, row.rejection, row.level


def _values(row: Power) -> dict[str, Any]:
    shares = zip(("recovery", "rejection", "level"), _shares(row), strict=True)
    return {"people": row.n_people, "subtasks": row.n_subtasks} | {name: estimate_values(one) for name, one in shares}


def _share(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.lo:.2f}, {estimate.hi:.2f}]"


def _numbers(text: str, what: str) -> tuple[int, ...]:
    """ "5,10,20" → (5, 10, 20)."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word.isdigit() for word in words):
        raise UserError(f"--{what} takes whole numbers such as 5,10,20, got {text!r}")
    return tuple(int(word) for word in words)
