"""What a task's own labelled samples say of it: copies among them, accuracy with each left out, and whether a prediction can be
right beside that."""

from __future__ import annotations

from exemplar import stats
from exemplar.foresee.indicators.left_out import balanced_left_out
from exemplar.foresee.single_tasks import FewShotTask
from exemplar.records import Score


def find_copies(task: FewShotTask) -> list[str]:
    """Samples that are there twice, a sentence per kind: what is measured on them says nothing about others."""
    known = dict[bytes, set[int]]()
    n_copies = 0
    for row, label in zip(task.support, task.labels.tolist(), strict=True):
        n_copies += row.tobytes() in known
        known.setdefault(row.tobytes(), set()).add(label)
    said = []
    if n_copies:
        said.append(
            f"Labelled samples that are copies of others: {n_copies}. Leaving one out is no test then: remove them."
        )
    if n_both := sum(len(labels) > 1 for labels in known.values()):
        said.append(f"Samples that are labelled as more than one class: {n_both}. Keep one label of each.")
    n_known = 0 if task.queries is None else sum(row.tobytes() in known for row in task.queries)
    if n_known:
        said.append(
            f"Unlabelled samples that are copies of labelled ones: {n_known}. They make a task look easier: remove them."
        )
    return said


def score_left_out(task: FewShotTask) -> Score | None:
    """Accuracy of a ridge classifier on labelled samples it was not fitted to, one of each class left out in turn; None where a
    class has one sample."""
    if int(task.counts.min()) < 2:
        return None
    view = task.view()
    right = balanced_left_out(view.support[0], view.labels[0], task.n_ways).argmax(dim=1) == view.labels[0]
    return Score.of("left_out_accuracy", stats.proportion(int(right.sum()), len(right)))


def find_conflict(predicted: Score, left_out: Score | None) -> str:
    """A sentence where the two cannot both be right, because their intervals do not even touch; "" where they can. Wrong labels
    are what a predictor, which looks at how sure a classifier is, is most easily misled by."""
    if left_out is None or (left_out.ci95[1] >= predicted.ci95[0] and predicted.ci95[1] >= left_out.ci95[0]):
        return ""
    said = [f"{one.value:.2f} [{one.ci95[0]:.2f}, {one.ci95[1]:.2f}]" for one in (predicted, left_out)]
    return (
        f"The predictor ({said[0]}) and the labelled samples, left out in turn ({said[1]}), contradict each other: "
        "believe the lower, and check that all labels are right."
    )
