"""The verbs `fit` and `predict`: a predictor made from a bank of features, and asked about one task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.answers import Answer, format_pairs
from exemplar.errors import UserError
from exemplar.files import npz_names, read_npz
from exemplar.foresee.own_samples import find_conflict, find_copies, score_left_out
from exemplar.foresee.predictor import GeneralizationPredictor
from exemplar.foresee.ready import SPACES, load_ready
from exemplar.foresee.running import BankRequest
from exemplar.foresee.single_tasks import FewShotTask
from exemplar.options import check_path
from exemplar.records import Score


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FitAnswer(Answer):
    """predictor: as it was fitted, ready to be asked."""

    predictor: GeneralizationPredictor


def fit_predictor(
    request: BankRequest, ways: Any, shots: Any, queries: Any, setting: str, *, out: Any, device: str, seed: int
) -> FitAnswer:
    place = None if out is None else check_path(out, ".json", "A predictor")
    numbers = {
        name: read_range(name, given) for name, given in (("ways", ways), ("shots", shots), ("queries", queries))
    }
    bank = request.find(device)
    made = GeneralizationPredictor.fit(bank, **numbers, setting=setting, seed=seed)  # type: ignore[arg-type]
    errors = {
        regime: {"mean_absolute_error": model.error, "always_the_mean": model.naive}
        for regime, model in made.models.items()
    }
    values: dict[str, Any] = {
        "errors": errors,
        "growth": made.growth,
        "source": made.source,
        **numbers,
        "setting": setting,
    }
    lines = [
        f"{regime}: on classes held out, accuracy is predicted to within {100 * one['mean_absolute_error']:.1f} % on average "
        f"(always predicting the mean: {100 * one['always_the_mean']:.1f} %)"
        for regime, one in errors.items()
    ]
    if place is not None:
        made.save(place)
        values["out"] = str(place)
        lines.append(f"Kept in {place}.")
    return FitAnswer(values=values | {"seed": seed}, text="\n".join(lines), warnings=bank.warnings, predictor=made)


def predict_task(given: Any, predictor: Any, *, level: float) -> Answer:
    """given: an npz or arrays by name, `support`, `labels` and perhaps `queries`; or a task."""
    task = find_task(given)
    asked = find_predictor(predictor, "supervised" if task.queries is None else "semi")
    value, interval = asked.predict(task), asked.interval(task, level)
    left_out, widest = score_left_out(task), asked.interval(task, 0.95)
    predicted = Score("predicted_accuracy", value, (min(widest[0], value), max(widest[1], value)), asked.n_scored(task))
    conflict = find_conflict(predicted, left_out)
    said = [*asked.find_warnings(task), conflict] if conflict else asked.find_warnings(task)
    warnings = (*task.warnings, *find_copies(task), *said)
    values = {
        "expected_accuracy": value,
        "interval": list(interval),
        "level": level,
        "per_class": asked.per_class(task),
    }
    values |= {"left_out_accuracy": None if left_out is None else left_out.json()}
    values |= {"familiar": not said, "warnings": list(warnings), "calibrated_on": asked.source}
    told = {
        "expected accuracy": f"{value:.3f}",
        f"{100 * level:g} % interval": f"{interval[0]:.3f} – {interval[1]:.3f}",
    }
    told |= {f"of {name}": f"{share:.3f}" for name, share in values["per_class"].items()}  # type: ignore[attr-defined]
    return Answer(values=values, text=format_pairs(told), warnings=warnings)


def find_task(given: Any) -> FewShotTask:
    if isinstance(given, FewShotTask):
        return given
    if isinstance(given, str | Path):
        path = Path(given).expanduser()
        there = npz_names(path)
        wanted: dict[str, tuple[str, int | None]] = {"support": ("fiu", 2), "labels": ("iuU", 1)}
        given = read_npz(path, **wanted, **({"queries": ("fiu", 2)} if "queries" in there else {}))
    if not isinstance(given, Mapping) or not {"support", "labels"} <= set(given):
        raise UserError(
            "A task has the arrays `support` and `labels`, and perhaps `queries`: give them by name, or as an npz."
        )
    return FewShotTask.of(given["support"], np.asarray(given["labels"]), given.get("queries"))


def find_predictor(given: Any, setting: str) -> GeneralizationPredictor:
    """A predictor, a file of one, or the encoder whose predictor ships."""
    if isinstance(given, GeneralizationPredictor):
        return given
    ready = load_ready(str(given), setting)
    if ready is not None:
        return ready
    if not str(given).endswith(".json"):
        raise UserError(
            f"No predictor ships for {given}: there are {' and '.join(SPACES)}, or give a .json file of your own."
        )
    return GeneralizationPredictor.load(given)


def read_range(name: str, given: Any) -> tuple[int, int]:
    """5, (2, 10), or as text "5" and "2-10"."""
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", given)
        if found is None:
            raise UserError(f"--{name} must be a number, or a range such as 2-10, got {given!r}.")
        return int(found[1]), int(found[2] or found[1])
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if len(pair) != 2:
        raise UserError(f"{name} must be a number, or a lowest and a highest one, got {given!r}.")
    return int(pair[0]), int(pair[1])
