"""The room's own numbers: all agents on Omniglot and CIFAR-FS, 600 tasks of each type."""

from __future__ import annotations

from exemplar.recall.inputs import DataSource
from exemplar.recall.studies.comparison import StudyConfig, compute_study
from exemplar.records import Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run


def omniglot_result(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(DataSource("omniglot", "cfsl-test")), seed)


def cifar_fs_result(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(DataSource("cifar-fs", "test")), seed)


OMNIGLOT = KeptResult(
    title="Continual few-shot learning on Omniglot",
    text="",
    compute=omniglot_result,
    data=(("omniglot", "cfsl-test"),),
    quick=False,
)
CIFAR_FS = KeptResult(
    title="Continual few-shot learning on CIFAR-FS",
    text="",
    compute=cifar_fs_result,
    data=(("cifar-fs", "test"),),
    quick=False,
)
