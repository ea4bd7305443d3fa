"""How people learned new objects: what Lee & DiCarlo (2023) report, from the counts over their sessions."""

from __future__ import annotations

import numpy as np

from exemplar import seeds, stats
from exemplar.learn.measures.curves import repeat
from exemplar.learn.measures.mse import score_both_limits
from exemplar.learn.people import load_curves, load_points
from exemplar.learn.scores import score_accuracy, score_speed
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult, Number
from exemplar.runs import Run


def people_result(run: Run, seed: int) -> Scores:
    """People's numbers in Experiments 1 and 2, from counts over sessions and accuracies per test."""
    counts = load_curves()
    people = repeat(counts, rng=seeds.rng("people", seed))
    scores = [*score_accuracy(people, agent="people").values(), *score_speed(people, agent="people").values()]
    scores += score_both_limits(counts, people, agent="people")
    points = load_points()
    kind = np.array([name.split(" | ")[0] for name in points.tests])
    drawn = points.resample(1000, seeds.rng("people's points", seed))[0]
    for name in dict.fromkeys(kind.tolist()):
        mine = kind == name
        value, values = float(points.accuracy[mine].mean()), drawn[:, mine].mean(axis=1)
        # accuracies drawn beyond 1 are cut there, which moves them: only their spread is used
        around = stats.interval(values - values.mean() + value, value, n=int(mine.sum()))
        cut = stats.Estimate(value, around.lo, min(around.hi, 1.0), around.n)
        scores.append(Score.of("one_shot_accuracy", cut, agent="people", concept=name))
    table = Scores.collect(scores)
    run.save(table)
    return table


PEOPLE = KeptResult(
    title="How people learn new objects",
    text="From counts over sessions: 64 subtasks × 100 trials, about 50 sessions each (Experiment 1), and 36 accuracies read "
    "off a figure to about ±.002 (Experiment 2). Intervals of Experiment 1 draw trials, since the sessions themselves are not "
    "available, and are too narrow for it.",
    compute=people_result,
    files=("human",),
    published={
        (name, "people"): Number(value, "Lee & DiCarlo 2023")
        for name, value in (
            ("trial_2", 0.65),
            ("trial_100", 0.87),
            ("accuracy", 0.82),
            ("hardest_tenth", 0.65),
            ("root_noise_floor", 0.05),
        )
    },
)
