"""Simulated sessions as Trials, the record that people leave too."""

from __future__ import annotations

import numpy as np
import pandas as pd

from exemplar.errors import UserError
from exemplar.learn.tasks import Sessions
from exemplar.records import Trials


def trials_of(
    choice: np.ndarray, sessions: Sessions, *, agent: str, subtasks: tuple[str, ...], image: np.ndarray
) -> Trials:
    """Every trial of simulated choices (subtasks, sessions, trials); each session is a participant of its own.

    subtasks: names; image: (subtasks, objects, images) names of images. 3.2 million trials take about 3 s, 1.5 GB while they
    are made, and 9 MB on disk.
    """
    n_subtasks, n_sessions, n_trials = sessions.shape
    if choice.shape != sessions.shape or len(subtasks) != n_subtasks or image.shape[0] != n_subtasks:
        raise UserError(
            f"choices {choice.shape}, {len(subtasks)} names and images {image.shape} do not belong together"
        )
    total = n_subtasks * n_sessions
    width = len(str(total - 1))
    session = _category(np.repeat(np.arange(total), n_trials), [f"{number:0{width}d}" for number in range(total)])
    names, code = np.unique(image.reshape(n_subtasks, -1), return_inverse=True)
    shown = np.take_along_axis(code.reshape(n_subtasks, 1, -1), sessions.image.astype(np.intp), axis=2)
    phases, phase = np.unique(sessions.phase, return_inverse=True)
    return Trials.of(
        agent=agent,
        participant=session,
        subtask=_category(np.repeat(np.arange(n_subtasks), n_sessions * n_trials), subtasks),
        session=session,
        trial=np.tile(np.arange(n_trials), total),
        phase=_category(np.tile(phase, total), phases.tolist()),
        stimulus=_category(shown.ravel(), names.tolist()),
        choice=choice.ravel(),
        correct=(choice == sessions.answer).ravel(),
        timed_out=False,
    )


def _category(code: np.ndarray, names: list[str] | tuple[str, ...]) -> pd.Categorical:
    return pd.Categorical.from_codes(code, categories=pd.Index(list(names), dtype=object))
