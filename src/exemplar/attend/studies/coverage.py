"""Do the room's intervals hold what they say, and its tests their level? Experiments are simulated whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from exemplar import seeds, stats
from exemplar.attend.scores import compare_sparseness, score_agreement, score_reliability
from exemplar.attend.studies.simulated_maps import SIDE, annotate, as_spearman, noisy_maps
from exemplar.attend.studies.study import Asked, Study, StudyRequest
from exemplar.errors import UserError
from exemplar.records import Score
from exemplar.report.figures import ACCENT, QUIET, styled
from exemplar.runs import Run

RELIABILITIES = (0.0, 0.25, 0.5, 0.9)
SIZES = ((5, 4), (25, 4))  # concepts, participants of each
MODEL = 0.6  # Pearson's r of the simulated model with the truth
CONTRASTS = {"no difference": 0.0, "people sparser": 0.25}
BLOCK = 20  # experiments of a job


@dataclass(frozen=True)
class Job:
    """Some of the repeats. kind: reliability, model or sparseness; value: of what is varied."""

    kind: str
    value: float
    concepts: int
    participants: int
    first: int
    n: int
    seed: int


def simulate(job: Job) -> dict[str, Any]:
    """(n, 3) value, lo and hi of each score of each repeat; of tests, p in place of all three."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for repeat in range(job.first, job.first + job.n):
        rng = seeds.rng("attend coverage", job.kind, job.value, job.concepts, job.participants, job.seed, repeat)
        for name, row in SIMULATIONS[job.kind](job, rng).items():
            found.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def _reliability(job: Job, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    maps, _ = noisy_maps(job.value, job.concepts, 2, job.participants, rng=rng)
    scored = score_reliability(annotate(maps), n_pairs=2000, rng=rng).scores
    return {score.name: (score.value, *score.ci95) for score in scored}


def _model(job: Job, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """One image per concept; ink that both people and the model follow a little, and that the truth does not."""
    maps, truth = noisy_maps(job.value, job.concepts, 1, job.participants, rng=rng)
    own = rng.standard_normal(truth.shape, dtype=np.float32)
    model = MODEL * truth + np.sqrt(1 - MODEL**2) * own
    scored = score_agreement(annotate(maps), annotate(model[:, :, None], agent="model"), rng=rng).scores
    found = {s.name: (s.value, *s.ci95) for s in scored if s.name == "spearman_corrected"}
    noise = rng.standard_normal((2, *truth.shape), dtype=np.float32)
    ink = (rng.random(truth.shape) < 0.2).astype(np.float32)
    people, other = (2.0 * ink + 0.5 * part for part in noise)  # nothing but ink in common
    pictures = ink
    after = score_agreement(
        annotate(people[:, :, None], pictures=pictures), annotate(other[:, :, None], agent="model"), rng=rng
    ).scores
    return found | {s.name: (s.value, *s.ci95) for s in after if s.name == "spearman_after_ink"}


def _sparseness(job: Job, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """exp of fields: the steeper, the sparser; concepts differ, and so do people and model on each of them."""
    size = (job.concepts, 1, 1, 1, 1)
    shared = 1.5 + 0.3 * rng.standard_normal(size)
    steep = [shared + shift + 0.3 * rng.standard_normal(size) for shift in (job.value, 0.0)]
    fields = rng.standard_normal((2, job.concepts, 1, 1, SIDE, SIDE))
    first, second = (
        annotate(np.exp(slope * field), agent=agent)
        for slope, field, agent in zip(steep, fields, ("people", "model"), strict=True)
    )
    compared = compare_sparseness(first, second, rng=rng)
    p = compared.p["gini_difference"]
    return {"gini_test": (p, p, p)}


SIMULATIONS = {"reliability": _reliability, "model": _model, "sparseness": _sparseness}


def list_jobs(repeats: int, seed: int) -> list[Job]:
    cases = [("reliability", r, *size) for r in RELIABILITIES for size in SIZES]
    cases += [("model", r, *size) for r in (0.25, 0.5) for size in SIZES]
    cases += [("sparseness", shift, concepts, 1) for shift in CONTRASTS.values() for concepts, _ in SIZES]
    return [
        Job(kind, value, concepts, participants, first, min(BLOCK, repeats - first), seed)
        for kind, value, concepts, participants in cases
        for first in range(0, repeats, BLOCK)
    ]


def truth_of(name: str, value: float) -> float:
    """Of a score, when maps of one image correlate by `value`."""
    truths = {"reliability_between": 0.0, "spearman_after_ink": 0.0, "spearman_corrected": as_spearman(MODEL)}
    return truths.get(name, as_spearman(value))


def compute(run: Run, asked: Asked, seed: int) -> list[Score]:
    jobs = list_jobs(asked.config["repeats"], seed)
    done = run.map(simulate, jobs, label="simulating experiments")
    cases: dict[tuple[str, float, int], dict[str, list[np.ndarray]]] = {}
    for job, found in zip(jobs, done, strict=True):
        case = cases.setdefault((job.kind, job.value, job.concepts), {})
        for name, rows in found.items():
            case.setdefault(name, []).append(np.asarray(rows))
    scores = []
    for (kind, value, concepts), found in cases.items():
        for name, parts in found.items():
            rows = np.concatenate(parts)
            variant = f"{concepts} concepts"
            if kind == "sparseness":
                contrast = next(words for words, shift in CONTRASTS.items() if shift == value)
                below = stats.proportion(int((rows[:, 0] < 0.05).sum()), len(rows))
                scores.append(Score.of("rejected_at_05", below, agent=contrast, space=name, variant=variant))
                continue
            truth, agent = truth_of(name, value), f"reliability {value:g}"
            label: dict[str, Any] = {"agent": agent, "space": name, "variant": variant}
            inside = stats.proportion(int(((rows[:, 1] <= truth) & (truth <= rows[:, 2])).sum()), len(rows))
            scores.append(Score.of("bias", stats.mean(rows[:, 0] - truth), **label))
            scores.append(Score.of("coverage", inside, **label))
    return scores


@styled
def plot(scores: Sequence[Score]) -> Figure:
    covered = [score for score in scores if score.name == "coverage"]
    figure = Figure(figsize=(7.4, 0.9 + 0.21 * len(covered)), layout="constrained")
    axes = figure.add_subplot()
    for place, score in enumerate(reversed(covered)):
        axes.plot(score.ci95, (place, place), color=ACCENT, linewidth=1.4)
        axes.plot(score.value, place, "o", color=ACCENT, markersize=4)
    labels = [f"{s.space.replace('_', ' ')}, {s.agent}, {s.variant}" for s in reversed(covered)]
    axes.set_yticks(range(len(covered)), labels, fontsize=8)
    axes.axvline(0.95, color=QUIET, linestyle="--", linewidth=1)
    axes.set(xlabel="share of 95 % intervals that hold the truth", xlim=(0.8, 1.005))
    return figure


def prepare(request: StudyRequest, seed: int) -> Asked:
    if request.repeats < 4:
        raise UserError("Coverage needs at least 4 repeats.")
    lead = f"{request.repeats} simulated experiments of each kind; maps of {SIDE} × {SIDE} px."
    return Asked({"repeats": request.repeats}, lead)


def conclude(scores: Sequence[Score]) -> str:
    covered = [score.value for score in scores if score.name == "coverage"]
    biased = max(abs(score.value) for score in scores if score.name == "bias")
    level = [score.value for score in scores if score.name == "rejected_at_05" and score.agent == "no difference"]
    power = [score.value for score in scores if score.name == "rejected_at_05" and score.agent != "no difference"]
    return (
        f"95 % intervals hold the truth in {100 * min(covered):.0f} to {100 * max(covered):.0f} % of experiments; the largest "
        f"bias is {biased:.3f}. The test of sparseness rejects at .05 in {100 * max(level):.0f} % of experiments without a "
        f"difference at most, and in {100 * min(power):.0f} to {100 * max(power):.0f} % of those with one."
    )


COVERAGE = Study(
    "Do intervals cover, and do tests keep their level?",
    "Annotations are simulated as smooth Gaussian fields of which a chosen part is shared, so that every "
    "score's truth is known: "
    "the correlation of two people's maps of one image, of different images (0), of a model with the truth "
    "behind people's maps "
    "(noise-corrected), and of two that have nothing but ink in common (0 once ink is taken out). The test of "
    "sparseness is run on "
    "maps that are equally sparse but for chance, and on maps of people that are sparser.",
    prepare,
    compute,
    lambda scores: {"coverage": plot(scores)},
    {
        "coverage": "Each interval's coverage, with the 95 % interval of the simulation itself; the dashed line "
        "is what it should be."
    },
    conclude,
)
