"""The room's own numbers: all its agents on Omniglot and CIFAR-FS, five task types."""

from __future__ import annotations

from exemplar.recall.inputs import DataSource
from exemplar.recall.studies.comparison import StudyConfig, compute_study
from exemplar.recall.studies.coverage import coverage_result
from exemplar.records import Scores
from exemplar.rooms import KeptResult, Part
from exemplar.runs import Run

FROZEN_FEATURES = (
    "chance", "last-set-only", "joint-oracle", "replay-latent", "replay-latent-fp16", "replay-latent-int8", "nearest-mean",
    "streaming-lda", "ridge", "protonet",
)  # fmt: skip
TUNED = ("init-tune", "pretrain-tune", "ewc", "lwf", "replay-raw", "maml", "maml-plus", "oml")
JOINT = (
    "nearest-mean", "streaming-lda", "ridge", "replay-latent", "protonet", "init-tune", "pretrain-tune", "maml", "maml-plus",
    "oml",
)  # fmt: skip
PART = "no-shift"  # the type that stands for all where there is little time
OMNIGLOT, CIFAR_FS = DataSource("omniglot", "cfsl-test"), DataSource("cifar-fs", "test")
N_TUNED = 100  # tasks of each type that agents who compute gradients do; each of the others does 600 in seconds
FEWER = tuple((name, N_TUNED) for name in (*TUNED, *(f"{name} (joint)" for name in JOINT if name in TUNED)))


def omniglot_result(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(OMNIGLOT, FROZEN_FEATURES + TUNED, joint=JOINT, fewer=FEWER), seed)


def cifar_fs_result(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(CIFAR_FS, FROZEN_FEATURES + TUNED, joint=JOINT, fewer=FEWER), seed)


def omniglot_part(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(OMNIGLOT, FROZEN_FEATURES, (PART,)), seed)


def cifar_fs_part(run: Run, seed: int) -> Scores:
    return compute_study(run, StudyConfig(CIFAR_FS, FROZEN_FEATURES, (PART,)), seed)


SUITES = (
    "Suites are the frozen ones, seed 0; networks were trained on other classes (`cfsl-train`, CIFAR-FS `train`). Costs were "
    f"measured on one task. 600 tasks of each of five types; agents who compute gradients ({', '.join(TUNED)}) did the first "
    f"{N_TUNED}, since 600 of each would take hours of one core. `joint_minus_streaming` is accuracy with all support sets "
    "shown at once less that set by set, on the same tasks; for `ewc` and `lwf`, who are `pretrain-tune` when shown one set, "
    "it is against that. "
)
STEPS = (
    "`oml` shown everything at once may be behind itself set by set: it takes 5 steps then, where the stream takes 5 for each "
    "set; a test shows that with as many steps it is not. "
)
RESULTS = {
    "recall-omniglot": KeptResult(
        title="Continual few-shot learning on Omniglot",
        text=SUITES
        + "\n\nStreaming prototypical networks equal joint ones in every task, as they must, and everything is above chance. "
        "Their memory, .083 at NSS 3 (64 numbers and a counter for 784 "
        "pixels), and 0.89 billion MACs a task are what the literature's embedding should cost (.082 and .88). With "
        "overwritten labels they lose most of those on frozen features that remember: a label then stands for three classes, "
        "and the mean of three tight clusters lies between them; the nearest neighbour (`joint-oracle`) does not mind. "
        "That oracle is a bound by what it is shown, not by how it decides: with several samples of a class, means "
        "are better than neighbours. `replay-latent` is `ridge` by another memory, and 8 bits cost it nothing. The "
        "ridge's cross-entropy is high since it regresses on 0 and 1.\n\nTuned networks forget: with new classes they name the "
        "last set alone (`init-tune`, `pretrain-tune`), `ewc` keeps part and `lwf` little; tuned on all images at the end "
        "(`replay-raw`) or shown everything at once the same network comes close to prototypes, so it is forgetting that costs "
        "them, although all their weights count as memory. `maml` learns one set about as well as `pretrain-tune` and forgets "
        "it as fast: no stream was in its training. None was in that of `maml-plus`, which keeps far more, "
        "though not in every task: its first and longest learned step is in the last convolution and hardly in the last "
        "layer (with that step's rates set to 0 by hand it forgets as `maml` does). "
        "`oml`, trained on streams, adapts a small head alone and keeps as much. " + STEPS,
        compute=omniglot_result,
        data=(("omniglot", "cfsl-test"),),
        part=Part(omniglot_part, share=0.01),
        quick=False,
    ),
    "recall-cifar-fs": KeptResult(
        title="Continual few-shot learning on CIFAR-FS",
        text=SUITES + "CIFAR-FS stands in for SlimageNet64.\n\nThe pretrained network "
        "(`conv4-64-cifar-fs`, with augmentation and rotations) is better than the one trained as a prototypical "
        "network, which had 3,000 plain steps on a CPU: `nearest-mean` is ahead of `protonet` in every type, and the "
        "`joint-oracle`, which stands on the latter's features, is no upper bound here. Streaming LDA ranks as well "
        "as the others but is far too sure (cross-entropy above 14) once it estimates a covariance of 256 features "
        "from ten samples: its accuracy can be believed, its probabilities cannot.\n\nMeta-trained agents, after 3,000 plain "
        "steps, too, are behind `pretrain-tune` even with one set. `maml-plus` is as good as `maml` with one set and worse "
        "where sets follow each other, with a cross-entropy that says it diverges: some of its learned rates are negative, "
        "most in the first step, and uphill steps that did no harm once do when repeated (with those rates set to 0 by hand it "
        "is like `maml`). " + STEPS,
        compute=cifar_fs_result,
        data=(("cifar-fs", "test"),),
        part=Part(cifar_fs_part, share=0.01),
        quick=False,
    ),
    "recall-coverage": KeptResult(
        title="Do the intervals of continual few-shot learning hold the truth?",
        text="SIMULATED learners on tasks that are hard for both or for one of them, 75 targets each, with true accuracies "
        "from .5 to .999; 2,000 experiments of 10, 30 and 100 tasks, 500 of 600.\n\nThe interval of accuracy holds "
        "the truth in "
        "94 to 100 % of experiments: with few tasks it is wide on purpose, for nothing is assumed about how tasks "
        "differ. That of "
        "the paired difference holds it in 93 to 97 %, and in 89 % where 10 tasks compare learners at .999 and .99, whose "
        "differences are mostly 0: `recall compare` warns below 30 tasks. The paired test at 5 % rejects equal "
        "learners in 1 to "
        "5 %, and finds a difference of .05 at .5 in 13 % of experiments of 10 tasks, 44 % of 30, 92 % of 100 and all of 600.",
        compute=coverage_result,
        quick=False,
    ),
}
