"""The control S17: a standard classifier of Omniglot beside few-shot learners; does their loss on what is held out turn up?"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from exemplar import stats
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run, read_json
from exemplar.spaces.classifier import Classifier
from exemplar.spaces.protonet import ProtoNet
from exemplar.spaces.recipes import PROTONET, make_images
from exemplar.spaces.training import train
from exemplar.spaces.training_images import Images
from exemplar.spaces.training_steps import Objective

S17: dict[str, tuple[Objective, int]] = {  # the control S17: who is trained, and for how many steps
    "standard classifier": (Classifier(), 20_000),
    "5-shot ProtoNet": (ProtoNet(shots=5), 15_000),
    "1-shot ProtoNet": (ProtoNet(), PROTONET.steps),
}


def s17_images() -> tuple[Images, Images]:
    """What the control S17 is trained on: all of Omniglot with 2 drawings of each character held out, and the weak split."""
    return hold_out_drawings(load("omniglot", "all").resized(50, binarise=0.5)), make_images(PROTONET)


def hold_out_drawings(data: ConceptSet, n_train: int = 18) -> Images:
    """The first n_train drawings of each concept to train on, the rest of them held out."""
    label = data.concept.code
    order = np.argsort(label, kind="stable")
    place = np.empty_like(order)
    place[order] = np.concatenate([np.arange(n) for n in data.counts])  # from 0 within its concept
    images, first = data.images, place < n_train
    held_out = Images.of(images[~first], label[~first], data.concepts)
    return Images.of(images[first], label[first], data.concepts, held_out=held_out)


def train_s17(
    every_character: Images,
    weak_split: Images,
    folder: Path,
    *,
    seed: int = 0,
    device: str = "auto",
    objectives: Mapping[str, tuple[Objective, int]] = S17,
) -> dict[str, list[dict[str, float]]]:
    """Train the control's three networks (see `s17_images`); their curves. A training that was killed goes on."""
    curves = {}
    for name, (objective, steps) in objectives.items():
        data = every_character if isinstance(objective, Classifier) else weak_split
        replay = device != "cpu" and torch.cuda.is_available()
        place = folder / name.replace(" ", "-")
        curves[name] = train(objective, data, steps=steps, seed=seed, folder=place, device=device, replay=replay).curve
    return curves


def load_s17() -> dict[str, list[dict[str, Any]]]:
    """The curves of the control's trainings as they were made, by name; the file says how."""
    page = read_json(Path(str(resources.files("exemplar"))) / "results" / "s17-curves.json")
    return {name: training["curve"] for name, training in page["trainings"].items()}


def s17_result(run: Run, seed: int) -> Scores:
    """Whether the loss on what is held out rises in the second half of each training: its rank correlation with the step; and
    where loss and accuracy end, next to the best they were (of one training: without an interval)."""
    scores, one = [], (float("nan"), float("nan"))
    for name, curve in load_s17().items():
        late = [look for look in curve if look["step"] > curve[-1]["step"] / 2]
        trend = stats.spearman([look["step"] for look in late], [look["held_out_loss"] for look in late])
        scores.append(Score("trend_of_test_loss", trend.value, (trend.lo, trend.hi), trend.n, agent=name))
        loss = [look["held_out_loss"] for look in curve]
        kind = "held_out_accuracy_exemplar" if "held_out_accuracy_exemplar" in curve[0] else "held_out_accuracy"
        accuracy = [look[kind] for look in curve]
        scores.append(Score("last_test_loss_over_lowest", loss[-1] / min(loss), one, 1, agent=name))
        scores.append(Score("last_test_accuracy", accuracy[-1], one, 1, agent=name))
        scores.append(Score("best_test_accuracy", max(accuracy), one, 1, agent=name))
    table = Scores.collect(scores)
    run.save(table)
    return table
