"""The control S17: a standard classifier of Omniglot beside few-shot learners; does their loss on what is held out turn up?

Trained for the paper's 80 epochs with the network of Table S1, three seeds (two of the 5-shot ProtoNet), and again without the
ReLU between its last two layers, as the critics that ship; of those the 1-shot ProtoNets are the shipped ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import numpy as np

from exemplar import stats
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run, read_json
from exemplar.spaces.classifier import Classifier
from exemplar.spaces.protonet import ProtoNet
from exemplar.spaces.recipes import PROTONET, make_images, speed_options
from exemplar.spaces.training import train
from exemplar.spaces.training_images import Images
from exemplar.spaces.zoo import load_card

Curve = list[dict[str, float]]
CLASSIFIER, ONE_SHOT, FIVE_SHOT = "standard classifier", "1-shot ProtoNet", "5-shot ProtoNet"
S17: dict[str, tuple[Classifier | ProtoNet, int]] = {  # who is trained, and for how many steps: 80 epochs
    CLASSIFIER: (Classifier(), 18_240),
    ONE_SHOT: (ProtoNet(), 18_400),
    FIVE_SHOT: (ProtoNet(shots=5), 18_400),
}
NETWORKS = {"conv4": "as in Table S1", "conv4-linear": "without its ReLU"}
SEEDS = 3


@dataclass(frozen=True)
class Training:
    """who: a name in S17; network: one in NETWORKS; curve: a dict a look, every 500 steps."""

    who: str
    network: str
    seed: int
    curve: Curve

    def late_over_early(self, measure: str) -> float:
        """The mean of a measure in the last quarter of the training over that in the second."""
        early, late = self.quarters(measure)
        return float(late / early)

    def last_over_lowest(self, measure: str) -> float:
        """Where a measure ends next to the lowest it was: above 1 for any noisy curve."""
        values = [look[measure] for look in self.curve]
        return values[-1] / min(values)

    def quarters(self, measure: str) -> tuple[float, float]:
        """The means of a measure over the looks in the second and in the last quarter of the training.

        Not its lowest: the least of many noisy looks lies below what it is a sample of, so that any curve ends above it.
        """
        step = np.array([look["step"] for look in self.curve])
        value = np.array([look[measure] for look in self.curve])
        quarter = np.ceil(4 * step / step[-1])
        return float(value[quarter == 2].mean()), float(value[quarter == 4].mean())

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
    """Train the control's three networks (see `s17_images`). A training that was killed goes on."""
    trainings = []
    for who, (objective, steps) in objectives.items():
        data = every_character if isinstance(objective, Classifier) else weak_split
        place = folder / f"{who.replace(' ', '-')}-{network}-s{seed}"
        learner = replace(objective, network=network)
        options = speed_options(replace(PROTONET, objective=learner), device)
        curve = train(learner, data, steps=steps, seed=seed, folder=place, device=device, **options).curve
        trainings.append(Training(who, network, seed, curve))
    return trainings


def load_s17() -> list[Training]:
    """The control's trainings as they were made; the file says how, the cards that of the shipped ProtoNets."""
    page = read_json(Path(str(resources.files("exemplar"))) / "results" / "s17-curves.json")
    kept = [Training(t["who"], t["network"], t["seed"], t["curve"]) for t in page["trainings"]]
    last = S17[ONE_SHOT][1]
    return kept + [replace(t, curve=[look for look in t.curve if look["step"] <= last]) for t in load_shipped()]


def load_shipped() -> list[Training]:
    """The 1-shot ProtoNets that ship, over all of their 100 epochs."""
    cards = [load_card(f"protonet-omniglot-s{seed}") for seed in range(SEEDS)]
    return [Training(ONE_SHOT, card.architecture, card.seed, card.curve) for card in cards]


def s17_result(run: Run, seed: int) -> Scores:
    """Whether the loss on what is held out turns up: late in a training it is larger than early. Intervals are over seeds."""
    trainings, scores = load_s17(), []
    for network, words in NETWORKS.items():
        of_network = {who: [t for t in trainings if (t.who, t.network) == (who, network)] for who in S17}
        for who, some in of_network.items():
            scores += [_over_seeds(name, values, f"{who}, {words}") for name, values in _measures(some)]
        rises = {who: {t.seed: t.late_over_early("held_out_loss") for t in some} for who, some in of_network.items()}
        for who in (ONE_SHOT, FIVE_SHOT):
            more = [rises[CLASSIFIER][seed] - rise for seed, rise in rises[who].items()]
            scores.append(_over_seeds("rises_more_than_few_shot", more, f"{CLASSIFIER} than {who}, {words}"))
    whole = [training.late_over_early("held_out_loss") for training in load_shipped()]
    agent = f"{ONE_SHOT}, without its ReLU, all of its 100 epochs"
    scores.append(_over_seeds("test_loss_late_over_early", whole, agent))
    table = Scores.collect(scores)
    run.save(table)
    return table


def _measures(trainings: list[Training]) -> Iterator[tuple[str, list[float]]]:
    """Scores of the seeds of one learner, by name."""
    for name, measure in (("test_loss", "held_out_loss"), ("calibrated_test_loss", "held_out_calibrated_loss")):
        if all(training.has(measure) for training in trainings):
            yield f"{name}_late_over_early", [training.late_over_early(measure) for training in trainings]
    yield "test_loss_last_over_lowest", [training.last_over_lowest("held_out_loss") for training in trainings]
    accuracy = "held_out_accuracy" if trainings[0].has("held_out_accuracy") else "held_out_accuracy_exemplar"
    pairs = [training.quarters(accuracy) for training in trainings]
    yield "test_accuracy_late_minus_early", [late - early for early, late in pairs]


def _over_seeds(name: str, values: list[float], agent: str) -> Score:
    found = stats.mean(values)
    return Score(name, found.value, (found.lo, found.hi), found.n, agent=agent)
