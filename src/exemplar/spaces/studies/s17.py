"""The control S17: a standard classifier of Omniglot beside few-shot learners; does their loss on what is held out turn up?

Trained for the paper's 80 epochs with the network of Table S1, and, a few seeds, without the ReLU between its last two layers,
as the critics that ship; of those the 1-shot ProtoNets are the shipped ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import numpy as np

from exemplar import stats
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run, read_json
from exemplar.spaces.objectives.classifier import Classifier
from exemplar.spaces.objectives.protonet import ProtoNet
from exemplar.spaces.recipes import PROTONET, make_images, speed_options
from exemplar.spaces.training.images import Images
from exemplar.spaces.training.loop import train
from exemplar.spaces.zoo import load_card

Curve = list[dict[str, float]]
CLASSIFIER, ONE_SHOT, FIVE_SHOT = "standard classifier", "1-shot ProtoNet", "5-shot ProtoNet"
SHORT = "1-shot ProtoNet, 100 episodes an epoch"
S17: dict[str, tuple[Classifier | ProtoNet, int]] = {  # who is trained, and for how many steps: 80 epochs
    CLASSIFIER: (Classifier(), 18_240),
    ONE_SHOT: (ProtoNet(), 18_400),
    FIVE_SHOT: (ProtoNet(shots=5), 18_400),
    SHORT: (ProtoNet(epoch=100), 8_000),  # what an epoch of episodes is the paper does not say
}
NETWORKS = {"conv4": "as in Table S1", "conv4-linear": "without its ReLU"}
SHIPPED = 3  # seeds of the 1-shot ProtoNet
LOSSES = {  # how a score is called, and the measure of a curve it is made of
    "test_loss": "held_out_loss",
    "test_loss_20_way": "held_out_loss_20_way",
    "calibrated_test_loss": "held_out_calibrated_loss",
}


@dataclass(frozen=True)
class Training:
    """who: a name in S17; network: one in NETWORKS; curve: a dict a look, every 500 steps; before: whether it was made before
    it was settled how a rise is measured."""

    who: str
    network: str
    seed: int
    curve: Curve
    before: bool = False

    def values(self, measure: str) -> np.ndarray:
        """(looks,) float64."""
        return np.array([look[measure] for look in self.curve])

    def quarters(self, measure: str) -> tuple[float, float]:
        """The means of a measure over the looks in the second and in the last quarter of the training.

        Not its lowest: the least of many noisy looks lies below what it is a sample of, so that any curve ends above it.
        """
        _, early, _, late = stats.quarter_means(self.values("step"), self.values(measure))
        return float(early), float(late)

    def late_over_early(self, measure: str) -> float:
        """The mean of a measure in the last quarter of the training over that in the second."""
        early, late = self.quarters(measure)
        return late / early

    def has(self, measure: str) -> bool:
        return measure in self.curve[0]


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
    network: str = "conv4",
    seed: int = 0,
    device: str = "auto",
    objectives: Mapping[str, tuple[Classifier | ProtoNet, int]] = S17,
) -> list[Training]:
    """Train the control's networks (see `s17_images`). A training that was killed goes on."""
    trainings = []
    for who, (objective, steps) in objectives.items():
        data = every_character if isinstance(objective, Classifier) else weak_split
        place = folder / f"{who.replace(',', '').replace(' ', '-')}-{network}-s{seed}"
        learner = replace(objective, network=network)
        options = speed_options(replace(PROTONET, objective=learner), device)
        curve = train(learner, data, steps=steps, seed=seed, folder=place, device=device, **options).curve
        trainings.append(Training(who, network, seed, curve))
    return trainings


def load_s17() -> list[Training]:
    """The control's trainings as they were made; the file says how, the cards that of the shipped ProtoNets."""
    page = read_json(Path(str(resources.files("exemplar"))) / "results" / "s17-curves.json")
    kept = [Training(t["who"], t["network"], t["seed"], t["curve"], t["before"]) for t in page["trainings"]]
    last = S17[ONE_SHOT][1]
    return kept + [replace(t, curve=[look for look in t.curve if look["step"] <= last]) for t in load_shipped()]


def load_shipped() -> list[Training]:
    """The 1-shot ProtoNets that ship, over all of their 100 epochs."""
    cards = [load_card(f"protonet-omniglot-s{seed}") for seed in range(SHIPPED)]
    return [Training(ONE_SHOT, card.architecture, card.seed, card.curve, before=True) for card in cards]


def s17_result(run: Run, seed: int) -> Scores:
    """Whether the loss on what is held out turns up: late in a training it is larger than early. Intervals are over seeds."""
    trainings, scores = load_s17(), []
    for network, words in NETWORKS.items():
        for who in S17:
            everyone = [t for t in trainings if (t.who, t.network) == (who, network)]
            settled = [t for t in everyone if not t.before]
            for name, values in _measures(settled or everyone):
                scores.append(_over_seeds(name, values, f"{who}, {words}"))
            if settled and len(settled) < len(everyone):
                values = [t.late_over_early("held_out_loss") for t in everyone]
                scores.append(_over_seeds("test_loss_late_over_early", values, f"{who}, {words}, with earlier ones"))
    whole = [training.late_over_early("held_out_loss") for training in load_shipped()]
    agent = f"{ONE_SHOT}, without its ReLU, all of its 100 epochs"
    scores.append(_over_seeds("test_loss_late_over_early", whole, agent))
    table = Scores.collect(scores)
    run.save(table)
    return table


def end_over_lowest(trainings: Sequence[Training], measure: str) -> list[float]:
    """How far each training ends above where it was when the mean of the others was lowest.

    Where its own curve is lowest it is so by chance, too; where the others' is, it is not.
    """
    curves = np.stack([training.values(measure) for training in trainings])
    others = (curves.sum(axis=0) - curves) / (len(curves) - 1)
    lowest = curves[np.arange(len(curves)), others.argmin(axis=1)]
    return list(curves[:, -1] / lowest)


def _measures(trainings: Sequence[Training]) -> Iterator[tuple[str, list[float]]]:
    """Scores of the seeds of one learner, by name."""
    if not trainings:
        return
    for name, measure in LOSSES.items():
        if all(training.has(measure) for training in trainings):
            yield f"{name}_late_over_early", [training.late_over_early(measure) for training in trainings]
    yield "test_loss_end_over_lowest", end_over_lowest(trainings, "held_out_loss")
    accuracy = "held_out_accuracy" if trainings[0].has("held_out_accuracy") else "held_out_accuracy_exemplar"
    pairs = [training.quarters(accuracy) for training in trainings]
    yield "test_accuracy_late_minus_early", [late - early for early, late in pairs]


def _over_seeds(name: str, values: list[float], agent: str) -> Score:
    found = stats.mean(values)
    return Score(name, found.value, (found.lo, found.hi), found.n, agent=agent)
