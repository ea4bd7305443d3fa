"""The room's agents by name: the only list, and how each is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exemplar.errors import UserError, unknown
from exemplar.recall.agents.chance import Chance
from exemplar.recall.agents.ewc import Ewc
from exemplar.recall.agents.latent_replay import LatentReplay
from exemplar.recall.agents.lwf import Lwf
from exemplar.recall.agents.maml import MamlLearner
from exemplar.recall.agents.nearest_mean import NearestMean
from exemplar.recall.agents.oml import OmlLearner
from exemplar.recall.agents.raw_replay import RawReplay
from exemplar.recall.agents.ridge import Ridge
from exemplar.recall.agents.streaming_lda import StreamingLda
from exemplar.recall.agents.tuning import Tuning, TuningConfig
from exemplar.recall.stream import Learner
from exemplar.spaces.networks import BACKBONE, NETWORKS, build_network
from exemplar.spaces.zoo import load_network

Make = Callable[..., Learner]
META_TRAINED = ("maml", "oml")  # as cards call their architecture
BARE = "conv4-64"  # the literature's low-end network, for agents that begin untrained


@dataclass(frozen=True)
class Entry:
    """what: one line; make: from nothing (features), or from (backbone, n_features); takes: "features" of a frozen space, or
    "images"; network: "" (none), "bare" (untrained), "pretrained", or one of META_TRAINED; space: which kind of space suits it,
    a key of `inputs.SPACES`; joint: it is shown all support sets at once, which no continual learner may be."""

    what: str
    make: Make
    takes: str = "features"
    network: str = ""
    space: str = "pretrained"
    joint: bool = False

    @property
    def meta_trained(self) -> bool:
        """Whether it begins with weights that were trained to be adapted."""
        return self.network in META_TRAINED


AT_ONCE = TuningConfig(head_rate=0.1)  # of replay, which has one chance for all sets


def _tuned(**options: Any) -> Make:
    return lambda backbone, n: Tuning(backbone, n, **options)


AGENTS: dict[str, Entry] = {
    "chance": Entry("Every label is as likely as every other: the lower bound.", Chance, space=""),
    "last-set-only": Entry(
        "Nearest mean that remembers the last support set alone.", lambda: NearestMean(10.0, True, last_only=True)
    ),
    "joint-oracle": Entry(
        "Nearest neighbour among all support samples, shown at once: a bound, no continual learner.",
        lambda: LatentReplay(neighbours=True, scale=1.0), space="protonet", joint=True,
    ),
    "init-tune": Entry(
        "An untrained network, tuned on each support set.",
        _tuned(fresh=True, config=TuningConfig(rate=1.0, head_rate=0.1)), "images", "bare", "",
    ),
    "pretrain-tune": Entry("A pretrained network, tuned on each support set.", _tuned(), "images", "pretrained"),
    "ewc": Entry(
        "Pretrain and tune, with weights held where earlier sets needed them.",
        lambda backbone, n: Tuning(backbone, n, keeper=Ewc()), "images", "pretrained",
    ),
    "lwf": Entry(
        "Pretrain and tune, distilling what the network said before.",
        lambda backbone, n: Tuning(backbone, n, keeper=Lwf()), "images", "pretrained",
    ),
    "replay-raw": Entry(
        "Every image kept (float32); a pretrained network tuned on all of them at the end.",
        lambda backbone, n: RawReplay(Tuning(backbone, n, AT_ONCE)), "images", "pretrained",
    ),
    "replay-raw-uint8": Entry(
        "The same, images kept as bytes.",
        lambda backbone, n: RawReplay(Tuning(backbone, n, AT_ONCE), "uint8"), "images", "pretrained",
    ),
    "replay-latent": Entry("Every feature vector kept (float32), and a ridge fitted to all.", LatentReplay),
    "replay-latent-fp16": Entry("The same at 16 bits.", lambda: LatentReplay("float16")),
    "replay-latent-int8": Entry("The same at 8 bits.", lambda: LatentReplay("int8")),
    "nearest-mean": Entry("Nearest mean of pretrained features.", lambda: NearestMean(10.0, True)),
    "streaming-lda": Entry("Running means and one running covariance of pretrained features.", StreamingLda),
    "ridge": Entry("Ridge regression on pretrained features, from running sums.", Ridge),
    "protonet": Entry("Prototypical networks: running means of an embedding trained for it.", NearestMean, space="protonet"),
    "maml": Entry("MAML: meta-trained weights, adapted set after set.", MamlLearner, "images", "maml", "maml"),
    "maml-plus": Entry(
        "MAML++: the same, with learned rates and a loss after every step.", MamlLearner, "images", "maml", "maml-plus"
    ),
    "maml-plus-dense": Entry(
        "MAML++ on a DenseNet, the literature's high-end kind of network (photographs only).", MamlLearner, "images", "maml",
        "maml-plus-dense",
    ),
    "oml": Entry(
        "OML: features meta-trained on streams, and a small head tuned set after set.", OmlLearner, "images", "oml", "oml"
    ),
}  # fmt: skip


def describe_agents() -> dict[str, str]:
    return {name: entry.what for name, entry in AGENTS.items()}


def find_entry(name: str) -> Entry:
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    return AGENTS[name]


def make_agent(name: str, space: str, shape: tuple[int, ...]) -> Learner:
    """A new learner. space: the network an agent of images begins with; shape: (channels, h, w) of its images."""
    entry = find_entry(name)
    if not entry.network:
        return entry.make()
    if entry.network == "bare":
        channels, side, _ = shape
        network = build_network(BARE, {"channels": channels, "size": side})
        return entry.make(network, network.n_features)
    network, card = load_network(space, room="spaces")
    if entry.meta_trained:
        if card.architecture != entry.network:
            raise UserError(
                f"{name} needs a network that {entry.network.upper()} trained, {space} is a {card.architecture}: give "
                "--space another"
            )
        training = card.training
        steps = int(training.get("test_steps", training["inner_steps"]))
        return entry.make(network, int(card.config["ways"]), steps, float(training["inner_rate"]))
    kinds = {NETWORKS[key].architecture or key for key in NETWORKS if NETWORKS[key].kind == BACKBONE}
    if card.architecture not in kinds:
        raise UserError(
            f"{name} tunes a backbone, {space} is a {card.architecture}: give --space one of {', '.join(sorted(kinds))}"
        )
    return entry.make(network, network.n_features)
