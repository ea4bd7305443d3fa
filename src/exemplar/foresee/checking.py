"""Photographs of one's own: how well a classifier of them will do, which classes it will confuse, what to label next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, format_table
from exemplar.errors import UserError, unknown
from exemplar.foresee.figures.check_page import PAGE, write_check_page
from exemplar.foresee.labelling import POLICIES, check_budget, labelling_order
from exemplar.foresee.own_samples import find_conflict, find_copies, score_left_out
from exemplar.foresee.photos import Photos, load_photos
from exemplar.foresee.posteriors import expected_confusion
from exemplar.foresee.predictor import GeneralizationPredictor
from exemplar.foresee.ready import find_ready
from exemplar.foresee.single_tasks import FewShotTask
from exemplar.records import Score, Scores
from exemplar.report.how_made import how_made
from exemplar.runs import check_run, open_run, write_json
from exemplar.spaces.encoding import encode_all
from exemplar.spaces.loading import find_space

DEFAULT_SPACE = "efficientnet-lite0/head"
N_PAIRS, LEAST_SHARE = 5, 0.005  # confusions that are told, and the smallest of them


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is expected of a task. predicted: by the predictor, left_out: on labelled samples left out; either may be missing.
    trusted: which of the two is believed, and its score. after: expected accuracy once `order` is labelled."""

    task: FewShotTask
    predicted: Score | None
    left_out: Score | None
    trusted: Score
    confusion: np.ndarray
    order: list[int]
    after: float | None
    warnings: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Classes that will be confused most, half a percent at least: (true, named, share of the first's samples)."""
        names, shares = self.task.names, self.confusion
        pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b and shares[a, b] >= LEAST_SHARE]
        found = [(names[a], names[b], float(shares[a, b])) for a, b in pairs]
        return sorted(found, key=lambda pair: -pair[2])[:N_PAIRS]


def find_outlook(
    task: FewShotTask, predictor: GeneralizationPredictor | None, budget: int, policy: str, seed: int
) -> Outlook:
    """The predictor is believed where the task is like those it was calibrated on, unless the task's own left-out samples
    contradict it: then the lower of the two is. Where the task is unlike them, its own samples are believed."""
    left_out = score_left_out(task)
    predicted, conflict, warnings = None, "", [*task.warnings, *find_copies(task)]
    familiar = False
    if predictor is not None:
        said = predictor.find_warnings(task)
        lo, hi = predictor.interval(task, 0.95)
        value = predictor.predict(task)
        predicted = Score("predicted_accuracy", value, (min(lo, value), max(hi, value)), predictor.n_scored(task))
        conflict = find_conflict(predicted, left_out)
        familiar = not said
        warnings += [*said, conflict] if conflict else said
    else:
        warnings.append("No predictor was calibrated for this encoder: make one with exemplar foresee fit.")
    trusted = predicted if predicted is not None and (familiar or left_out is None) else left_out
    if conflict and predicted is not None and left_out is not None:
        trusted = min(predicted, left_out, key=lambda score: score.value)
    if trusted is None:
        raise UserError(
            "Nothing can be said: no predictor was calibrated for this encoder, and leaving samples out needs two labelled "
            "samples of each class."
        )
    if trusted is left_out and predicted is not None and not conflict:
        warnings.append(
            "What is expected is therefore taken from your own labelled samples, one of each class left out in turn."
        )
    view = task.view(diffused=task.queries is not None)
    order, after = list[int](), None
    if budget and task.queries is not None:
        order = labelling_order(view, policy, budget, rng=seeds.rng("foresee label next", seed))[0].tolist()
        if predictor is not None:
            after = _after(predictor, task, trusted.value, budget)
    confusion = expected_confusion(view, trusted.value)
    return Outlook(task, predicted, left_out, trusted, confusion, order, after, tuple(dict.fromkeys(warnings)))


def _after(predictor: GeneralizationPredictor, task: FewShotTask, now: float, budget: int) -> float:
    """As accuracy grew with labels on the calibration classes, from what is expected now."""
    odds = np.log(np.clip(now, 0.01, 0.99) / (1 - np.clip(now, 0.01, 0.99)))
    after = float(1 / (1 + np.exp(-odds - predictor.growth * np.log1p(budget / len(task.labels)))))
    return max(now, after)


def check_photos(
    folder: Path | str,
    space: Any,
    predictor: Path | str | None,
    budget: int,
    policy: str,
    *,
    out: Path | str,
    device: str,
    seed: int,
) -> Answer:
    place = Path(out).expanduser()
    config = {
        "photos": str(folder),
        "space": str(space),
        "predictor": str(predictor or ""),
        "budget": budget,
        "policy": policy,
    }
    about: dict[str, Any] = {"command": "foresee check", "config": config, "seed": seed}
    if policy not in POLICIES:
        raise unknown("policy", policy, POLICIES)
    check_run(place, **about)
    photos, task = encode_photos(folder, space, device)
    setting = "supervised" if task.queries is None else "semi"
    ready = GeneralizationPredictor.load(predictor) if predictor else find_ready(str(space), setting)
    outlook = find_outlook(task, ready, min(budget, task.n_queries), policy, seed)
    warnings = (*photos.warnings, *outlook.warnings)
    data = {"photos": seeds.digest(task.support, task.labels, task.queries if task.queries is not None else 0)}
    values = as_values(outlook, photos) | {"warnings": list(warnings), "out": str(out), "seed": seed}
    scores = [score for score in (outlook.predicted, outlook.left_out) if score is not None]
    with open_run(place, **about, data=data) as run:
        if not run.finished:
            run.save(Scores.collect(scores))
            write_json(run.folder / "report.json", values)
            write_check_page(run.folder, outlook, photos, warnings, how_made([run.folder]))
    return Answer(
        values=values,
        text=f"{describe(outlook, photos)}\n\n{place / PAGE}",
        scores=Scores.collect(scores),
        warnings=warnings,
        folder=place,
        page=place / PAGE,
    )


def suggest_labels(folder: Path | str, space: Any, budget: int, policy: str, *, device: str, seed: int) -> Answer:
    """Which photographs of the folder `unlabelled` to label next."""
    if policy not in POLICIES:
        raise unknown("policy", policy, POLICIES)
    photos, task = encode_photos(folder, space, device)
    check_budget(budget, task.n_queries)
    ready = find_ready(str(space), "semi")
    outlook = find_outlook(task, ready, budget, policy, seed)
    values = as_values(outlook, photos)
    kept = {name: values[name] for name in ("label_next", "expected_accuracy", "expected_after_labelling", "classes")}
    lines = "\n".join(values["label_next"])
    then = (
        ""
        if outlook.after is None
        else f"\n\nExpected accuracy {outlook.trusted.value:.2f} now, {outlook.after:.2f} after."
    )
    return Answer(
        values=kept | {"policy": policy, "seed": seed},
        text=lines + then,
        warnings=(*photos.warnings, *outlook.warnings),
    )


def encode_photos(folder: Path | str, space: Any, device: str) -> tuple[Photos, FewShotTask]:
    encoder = find_space(space)
    photos = load_photos(Path(folder).expanduser(), encoder.input)
    sets = [photos.labelled] if photos.unlabelled is None else [photos.labelled, photos.unlabelled]
    features = encode_all([encoder], sets, device=device)[0]
    labels = np.array(photos.labelled.concept.names)[photos.labelled.concept.code]
    return photos, FewShotTask.of(features[0], labels, features[1] if len(features) > 1 else None)


def as_values(outlook: Outlook, photos: Photos) -> dict[str, Any]:
    task, n_labelled = outlook.task, len(outlook.task.labels)
    per_class = {name: float(outlook.confusion[k, k]) for k, name in enumerate(task.names)}
    return {
        "expected_accuracy": outlook.trusted.json(),
        "taken_from": outlook.trusted.name,
        "predicted_accuracy": None if outlook.predicted is None else outlook.predicted.json(),
        "left_out_accuracy": None if outlook.left_out is None else outlook.left_out.json(),
        "classes": {name: int(n) for name, n in zip(task.names, task.counts, strict=True)},
        "unlabelled": task.n_queries,
        "skipped": list(photos.skipped),
        "per_class": per_class,
        "confused": [{"class": a, "named": b, "share": share} for a, b, share in outlook.pairs],
        "label_next": [str(photos.paths[n_labelled + row]) for row in outlook.order],
        "expected_after_labelling": outlook.after,
    }


def describe(outlook: Outlook, photos: Photos) -> str:
    task, best = outlook.task, outlook.trusted
    how = (
        "the calibrated predictor"
        if best.name == "predicted_accuracy"
        else "your own labelled photographs, left out in turn"
    )
    lines = [
        f"{len(task.labels)} labelled photographs of {task.n_ways} classes, {task.n_queries} unlabelled, "
        f"{len(photos.skipped)} skipped.",
        f"Expected accuracy: {best.value:.2f} [{best.ci95[0]:.2f}, {best.ci95[1]:.2f}] (95 %), from {how}.",
        "",
        format_table(
            ("class", "labelled", "expected accuracy"),
            [
                (name, int(n), f"{outlook.confusion[k, k]:.2f}")
                for k, (name, n) in enumerate(zip(task.names, task.counts, strict=True))
            ],
        ),
        "",
        format_table(("of", "will be called", "share"), [(a, b, f"{share:.2f}") for a, b, share in outlook.pairs])
        if outlook.pairs
        else "No two classes are likely to be confused.",
    ]
    if outlook.order:
        names = [str(photos.paths[len(task.labels) + row].name) for row in outlook.order]
        then = "" if outlook.after is None else f" (expected accuracy then: {outlook.after:.2f})"
        lines += ["", f"Label next{then}: {', '.join(names)}"]
    return "\n".join(lines)
