"""What a stage makes of a subtask: the images of its objects by their first two principal components."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from exemplar.learn.figures.subtasks import PAPER
from exemplar.report.figures import HUES, settled

N_SHOWN = 3


def plot_components(features: np.ndarray, subtasks: tuple[str, ...], accuracy: np.ndarray) -> Figure:
    """The hardest, the middle and the easiest subtask for a learner. features: (subtasks, objects, images, d); accuracy:
    (subtasks,) of the learner."""
    order = np.argsort(accuracy, kind="stable")
    chosen = list(dict.fromkeys(int(order[place]) for place in (0, len(order) // 2, len(order) - 1)))
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(3.2 * len(chosen) + 0.4, 3.7), layout="constrained")
        for axes, place in zip(np.atleast_1d(figure.subplots(1, len(chosen))), chosen, strict=True):
            images = features[place]
            for k, points in enumerate(project(images)):
                name = (
                    subtasks[place].split(",")[k]
                    if subtasks[place].count(",") == len(images) - 1
                    else f"object {k + 1}"
                )
                axes.plot(
                    points[:, 0], points[:, 1], "o", color=HUES[k % len(HUES)], markersize=3, alpha=0.75, label=name
                )
            axes.set(xlabel="first component", ylabel="second component")
            axes.set_title(f"accuracy {accuracy[place]:.2f}", loc="left")
            if len(images) <= 4:
                axes.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1)
            axes.set_xticks([])
            axes.set_yticks([])
        return settled(figure)


def project(images: np.ndarray) -> np.ndarray:
    """(objects, images, d) → (objects, images, 2): principal components of all images together."""
    flat = images.reshape(-1, images.shape[-1]).astype(np.float64)
    centred = flat - flat.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    found = centred @ axes[:2].T
    if found.shape[1] < 2:  # features of one dimension
        found = np.concatenate([found, np.zeros((len(found), 2 - found.shape[1]))], axis=1)
    return found.reshape(*images.shape[:2], 2)
