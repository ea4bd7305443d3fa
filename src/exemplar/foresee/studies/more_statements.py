"""The statements on thresholds, labels and the predictor, the paper's and ours, and what decides whether they hold."""

from __future__ import annotations

from collections.abc import Callable

from exemplar.foresee.studies.labelling import IN_ROUNDS
from exemplar.foresee.studies.statements import Statement
from exemplar.foresee.studies.verdicts import Found, Verdict

SMALLER = 1.7  # times, the error of the predictor than that of the mean
MANY_LABELS, MANY_QUERIES = 50, 30  # of 250 labels; queries per class
NINE_IN_10, ONE_IN_20 = 0.9, 0.05


def transfers(measure: str, should: bool) -> Callable[[Found], Verdict]:
    def judge(found: Found) -> Verdict:
        shifts = [found.value(f"shift_of_{name}", measure) for name in ("false_alarms", "sensitivity")]
        kept = max(shifts) < 0.1
        return kept == should, f"mean shift of 1 − specificity {shifts[0]:.2f}, of sensitivity {shifts[1]:.2f}"

    return judge


def predicts(found: Found) -> Verdict:
    own = found.value("absolute_error", "confidence as predicted accuracy")
    naive = found.value("absolute_error", "always the mean")
    return own < naive, f"{100 * own:.2f} % against {100 * naive:.2f} %"


def labels_cross(found: Found) -> Verdict:
    gains = {
        int(key[2].split()[0]): value
        for key, value in found.by.items()
        if key[:2] == ("gain_remaining", "least-confident")
    }
    if not gains:
        raise KeyError("gain_remaining")
    ordered = [gains[n] for n in sorted(gains)]
    said = ", ".join(f"{n}: {100 * gains[n]:+.1f} %" for n in sorted(gains))
    return ordered[0] < 0 < ordered[-1], f"least confident less random by number of labels, {said}"


def beats_random(policy: str) -> Callable[[Found], Verdict]:
    """On held-out samples: the interval of its gain is nowhere below 0, and above 0 from 50 of 250 labels (20 %) on."""

    def judge(found: Found) -> Verdict:
        gains = {int(k[2].split()[0]): one for k, one in found.scores.items() if k[:2] == ("gain_held_out", policy)}
        if not gains:
            raise KeyError("gain_held_out")
        never_worse = all(one.ci95[1] >= 0 for one in gains.values())
        better = all(one.ci95[0] > 0 for n, one in gains.items() if n >= MANY_LABELS)
        said = (
            f"{n}: {100 * one.value:+.2f} % [{100 * one.ci95[0]:+.2f}, {100 * one.ci95[1]:+.2f}]"
            for n, one in sorted(gains.items())
        )
        return never_worse and better, f"gain by number of labels, {', '.join(said)}"

    return judge


def covers(found: Found) -> Verdict:
    said = {key[2]: score for key, score in found.scores.items() if key[:2] == ("coverage_90", "predictor")}
    worst = [found.value("coverage_90_worst_tenth", "predictor", tasks) for tasks in said]
    numbers = (
        f"{tasks}: {one.value:.3f}, worst tenth {low:.3f}"
        for (tasks, one), low in zip(said.items(), worst, strict=True)
    )
    return all(0.87 <= one.value <= 0.93 for one in said.values()), "; ".join(numbers)


def much_smaller_error(setting: str) -> Callable[[Found], Verdict]:
    """Of tasks of a setting with 30 scored samples per class or more."""

    def judge(found: Found) -> Verdict:
        said = {
            key[2]: value
            for key, value in found.by.items()
            if key[0] == "times_smaller_error" and key[2].startswith(setting) and _queries(key[2]) >= MANY_QUERIES
        }
        if not said:
            raise KeyError("times_smaller_error")
        return all(v >= SMALLER for v in said.values()), "; ".join(f"{tasks}: {v:.2f} ×" for tasks, v in said.items())

    return judge


def explains(found: Found) -> Verdict:
    """Of tasks with fewer than 30 queries per class, and of supervised ones, whose predictor sees none: above 0 for certain."""
    said = {
        key[2]: score
        for key, score in found.scores.items()
        if key[0] == "explained_share" and (key[2].startswith("supervised") or _queries(key[2]) < MANY_QUERIES)
    }
    if not said:
        raise KeyError("explained_share")
    numbers = (f"{tasks}: {s.value:.2f} [{s.ci95[0]:.2f}, {s.ci95[1]:.2f}]" for tasks, s in said.items())
    return all(score.ci95[0] > 0 for score in said.values()), "; ".join(numbers)


def tells_unlike(found: Found) -> Verdict:
    said = {
        f"{key[2]} ({key[1].removeprefix('shipped for ')}'s)": value
        for key, value in found.by.items()
        if key[0] == "called_unlike" and key[1].startswith("shipped for ")
    }
    if not said:
        raise KeyError("called_unlike")
    right = [
        value <= ONE_IN_20 if what.startswith("new classes") else value >= NINE_IN_10 for what, value in said.items()
    ]
    return all(right), "; ".join(f"{what}: {value:.2f}" for what, value in said.items())


def _queries(tasks: str) -> int:
    """30, of `semi, 5-way 5-shot 30-query`."""
    return int(tasks.removesuffix("-query").rsplit(" ", 1)[1])


THRESHOLD_STATEMENTS = (
    Statement(
        "a threshold on LR loss does not transfer to other classes",
        transfers("lr_loss", False),
        "Fig. 6a: shifts .15 and .36",
    ),
    Statement(
        "a threshold on Davies–Bouldin does not transfer to other classes",
        transfers("davies_bouldin", False),
        "Fig. 6b: shifts .34 and .14",
    ),
    Statement(
        "a threshold on confidence transfers to other classes",
        transfers("confidence", True),
        "Fig. 6c: shifts .02 and .05",
    ),
    Statement(
        "confidence as predicted accuracy beats always predicting the mean",
        predicts,
        "Section 5.7: 2.40 % against 4.14 %",
    ),
)
LABELLING_STATEMENTS = (
    Statement(
        "random labels win where they are few, the least confident where they are many",
        labels_cross,
        "Section 5.8, Fig. 7",
    ),
    Statement(
        "ours: class-balanced uncertainty, asked in rounds, is never worse than random labels on held-out samples, and better "
        "from 20 % on",
        beats_random(f"balanced{IN_ROUNDS}"),
    ),
    Statement(
        "ours: covering uncertain samples, all at once, is never worse than random labels on held-out samples, and better "
        "from 20 % on",
        beats_random("cover"),
    ),
)
PREDICTION_STATEMENTS = (
    Statement("ours: 90 % intervals cover 87 to 93 % on new classes, on average over splits", covers),
    Statement(
        "ours: semi-supervised, 30 queries per class or more: the error is 1.7 times smaller than that of the mean",
        much_smaller_error("semi"),
    ),
    Statement(
        "ours: with fewer queries, or none that it sees, part of the error that is not noise of counting is explained",
        explains,
    ),
    Statement(
        "ours: predictors that ship call other encoders and drawings unlike what they know (9 of 10 times), and new classes "
        "hardly ever (1 of 20 at most)",
        tells_unlike,
    ),
)
