"""The room's own numbers: agents on Omniglot and CIFAR-FS, 600 tasks of each type; tuned networks, which take long, apart."""

from __future__ import annotations

from exemplar.recall.inputs import DataSource
from exemplar.recall.studies.comparison import StudyConfig, compute_study
from exemplar.records import Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run

FROZEN_FEATURES = (
    "chance", "last-set-only", "joint-oracle", "replay-latent", "replay-latent-fp16", "replay-latent-int8", "nearest-mean",
    "streaming-lda", "ridge", "protonet",
)  # fmt: skip
TUNED = ("chance", "init-tune", "pretrain-tune", "ewc", "lwf", "replay-raw")
OMNIGLOT, CIFAR_FS = DataSource("omniglot", "cfsl-test"), DataSource("cifar-fs", "test")


def omniglot_result(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(OMNIGLOT, FROZEN_FEATURES), seed)


def cifar_fs_result(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(CIFAR_FS, FROZEN_FEATURES), seed)


def omniglot_tuned(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(OMNIGLOT, TUNED, ("new-classes",)), seed)


def cifar_fs_tuned(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(CIFAR_FS, TUNED, ("new-classes",)), seed)


def omniglot_tuned_samples(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(OMNIGLOT, TUNED, ("new-samples",)), seed)


RESULTS = {
    "recall-omniglot": KeptResult(
        title="Continual few-shot learning on Omniglot, frozen features",
        text="",
        compute=omniglot_result,
        data=(("omniglot", "cfsl-test"),),
        quick=False,
    ),
    "recall-cifar-fs": KeptResult(
        title="Continual few-shot learning on CIFAR-FS, frozen features",
        text="",
        compute=cifar_fs_result,
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "recall-omniglot-tuned": KeptResult(
        title="Continual few-shot learning on Omniglot, tuned networks",
        text="",
        compute=omniglot_tuned,
        data=(("omniglot", "cfsl-test"),),
        quick=False,
    ),
    "recall-cifar-fs-tuned": KeptResult(
        title="Continual few-shot learning on CIFAR-FS, tuned networks",
        text="",
        compute=cifar_fs_tuned,
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "recall-omniglot-tuned-samples": KeptResult(
        title="Continual few-shot learning on Omniglot, tuned networks, new samples",
        text="",
        compute=omniglot_tuned_samples,
        data=(("omniglot", "cfsl-test"),),
        quick=False,
    ),
}
