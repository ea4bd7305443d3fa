"""Agents: one contract for all of them; what theory promises; what is charged to each."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import pytest
import torch

import exemplar as ex
from exemplar.errors import UserError
from exemplar.recall.agents.latent_replay import LatentReplay, dequantise, quantise
from exemplar.recall.agents.nearest_mean import NearestMean
from exemplar.recall.agents.registry import AGENTS
from exemplar.recall.agents.ridge import Ridge
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.agents.streaming_lda import StreamingLda
from exemplar.recall.checking import check_contract, find_source, make_task, right_labels
from exemplar.recall.inputs import SPACES
from exemplar.recall.stream import TaskImages, copies_of, stream_task
from exemplar.spaces.zoo import list_spaces, load_network
from exemplar.user_code import seeded_globals

THERE = set(list_spaces())
TRAINED = [  # agents whose weights ship
    name for name, entry in AGENTS.items() if not entry.meta_trained or SPACES["omniglot"].get(entry.space) in THERE
]
QUICK = ("nearest-mean",)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in TRAINED]
)
def test_every_agent_of_the_room_keeps_the_contract(name: str) -> None:
    """In processes of their own, too."""
    agent, features = find_source(name)
    assert [f.sentence for f in check_contract(agent, features=features) if f.failure] == []


@pytest.mark.parametrize("name", TRAINED)
def test_every_agent_of_the_room_streams_and_restores(name: str) -> None:
    agent, features = find_source(name)
    done = stream_task(copies_of(agent.make(), name), make_task(0, features=features), history=True)
    assert np.isfinite(done.log_p).all() and np.allclose(np.exp(done.log_p).sum(axis=2), 1)
    assert done.own_log_p is not None and len(done.charges) == 3
    right = (done.log_p.argmax(axis=2) == right_labels(make_task(0, features=features))).mean()
    assert right >= 1 / 9 or name in ("chance", "init-tune")


def random_task(rng: np.random.Generator, *, nss: int = 4, n: int = 10, d: int = 8, n_labels: int = 5) -> TaskImages:
    """Labels at random, so that a label comes back in several sets."""
    labels = np.stack([np.r_[np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)] for _ in range(nss)])
    centre = rng.standard_normal((n_labels, d))
    support = (centre[labels] + rng.standard_normal((nss, n, d))).astype(np.float32)
    target = (centre[labels] + rng.standard_normal((nss, n, d))).astype(np.float32)
    return TaskImages(support, labels, target, n_labels, 0)


@pytest.mark.parametrize(
    "make", [NearestMean, Ridge, StreamingLda, LatentReplay, lambda: LatentReplay(neighbours=True)]
)
@pytest.mark.parametrize("seed", range(3))
def test_running_sums_do_not_know_how_many_sets_there_were(make: Any, seed: int) -> None:
    """Streaming prototypical networks equal joint ones, and so do ridge, LDA and replay."""
    task = random_task(np.random.default_rng(seed))
    streamed, joint = (stream_task(copies_of(make(), "it"), one).log_p for one in (task, task.joint()))
    assert np.allclose(np.exp(streamed), np.exp(joint), atol=2e-5)
    assert np.array_equal(streamed.argmax(axis=2), joint.argmax(axis=2))


def test_nearest_mean_by_hand() -> None:
    """Means (0, 0) and (4, 0) after two sets; the target (1, 0) is at squared distances 1 and 9."""
    support = np.array([[[-1, 0], [3, 0]], [[1, 0], [5, 0]]], np.float32)
    task = TaskImages(support, np.array([[0, 1], [0, 1]]), np.array([[[1, 0]], [[1, 0]]], np.float32), 2, 0)
    done = stream_task(copies_of(NearestMean(), "it"), task)
    assert np.exp(done.log_p[0, 0]) == pytest.approx([1 / (1 + np.exp(-8)), 1 / (1 + np.exp(8))])
    assert done.states[-1]["mean"].tolist() == [[0, 0], [4, 0]] and done.states[-1]["count"].tolist() == [2, 2]


def test_the_mean_does_not_depend_on_the_order_of_sets() -> None:
    task = random_task(np.random.default_rng(0))
    turned = TaskImages(task.support[::-1], task.support_label[::-1], task.target, task.n_labels, 0)
    one, other = (stream_task(copies_of(NearestMean(), "it"), t).log_p for t in (task, turned))
    assert np.allclose(np.exp(one), np.exp(other), atol=1e-5)


def test_last_set_only_knows_nothing_of_earlier_sets() -> None:
    task = make_task(0, features=True)
    done = stream_task(copies_of(NearestMean(10.0, True, last_only=True), "it"), task)
    right = (done.log_p.argmax(axis=2) == right_labels(task)).mean(axis=1)
    assert right[:2].tolist() == [0, 0] and right[2] == 1


def test_lda_is_the_nearest_mean_while_every_class_has_one_sample() -> None:
    task = make_task(0, features=True)
    once = TaskImages(task.support[:, ::2], task.support_label[:, ::2], task.target, task.n_labels, 0)
    lda, mean = (
        stream_task(copies_of(make, "it"), once).log_p for make in (StreamingLda(scale=10.0), NearestMean(10.0, True))
    )
    assert np.array_equal(lda.argmax(axis=2), mean.argmax(axis=2)) and np.allclose(np.exp(lda), np.exp(mean), atol=1e-3)


@pytest.mark.parametrize(("precision", "bits", "off"), [("float32", 32, 0), ("float16", 16, 1e-3), ("int8", 8, 1e-2)])
def test_latents_are_kept_at_their_precision_and_charged_so(precision: str, bits: int, off: float) -> None:
    task = make_task(0, features=True)
    done = stream_task(copies_of(LatentReplay(precision), "it"), task)
    extra = 16 * 18 if precision == "int8" else 0  # the largest value of each vector
    assert done.charges[-1].bits == 18 * 64 * bits + extra
    x = torch.randn(5, 64)
    assert float((dequantise(quantise(x, precision)) - x).abs().max()) <= off * float(x.abs().max())


def test_tuned_networks_are_charged_all_their_weights_and_ewc_twice() -> None:
    charges = {}
    for name in ("pretrain-tune", "lwf", "ewc", "replay-raw", "replay-raw-uint8"):
        agent, _ = find_source(name)
        charges[name] = stream_task(copies_of(agent.make(), name), make_task(0, features=False)).charges[-1]
    weights = charges["pretrain-tune"].by_array
    parameters = sum(bits for name, bits in weights.items() if "running" not in name and "tracked" not in name)
    assert parameters == 32 * (111_936 + 64 * 9 + 9)  # conv4-64 for one channel, and 9 labels
    assert charges["lwf"].bits == charges["pretrain-tune"].bits + 9  # which labels it knew, a bit each
    assert charges["ewc"].bits == charges["pretrain-tune"].bits + parameters
    assert charges["replay-raw"].bits == 18 * 784 * 32 and charges["replay-raw-uint8"].bits == 18 * 784 * 8


def test_maml_adapts_set_after_set_and_says_what_it_cannot_do() -> None:
    from exemplar.recall.agents.maml import MamlLearner
    from exemplar.spaces.networks.adapted import build_learner

    with seeded_globals(0):
        network = build_learner("conv4-linear", 28, 1, 9)
    task = make_task(0, features=False)
    done = stream_task(copies_of(MamlLearner(network, 9, steps=3), "maml"), task)
    n_weights = sum(weight.numel() for weight in network.parameters())
    assert [charge.bits for charge in done.charges] == [32 * n_weights] * 3
    assert (done.log_p[2].argmax(axis=1) == right_labels(task)[2]).mean() > 0.5  # the set it saw last
    with pytest.raises(UserError, match="meta-trained for 9 labels, the task has 15"):
        MamlLearner(network, 9).reset(15, np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["maml", "oml"])
def test_meta_trained_learners_begin_every_task_with_the_same_weights(kind: str) -> None:
    from exemplar.recall.agents.maml import MamlLearner
    from exemplar.recall.agents.oml import OmlLearner
    from exemplar.spaces.networks.adapted import build_head_learner, build_learner

    with seeded_globals(0):
        learner: Any = (
            MamlLearner(build_learner("conv4-64", 28, 1, 9), 9)
            if kind == "maml"
            else OmlLearner(build_head_learner("conv4-64", 28, 1, 16, 9), 9)
        )
    task, answers = make_task(0, features=False), []
    for _ in range(2):  # one after the other, without copies
        learner.reset(9, np.random.default_rng(0))
        for images, labels in zip(task.support, task.support_label, strict=True):
            learner.observe(torch.from_numpy(images), torch.from_numpy(labels))
        answers.append(learner.predict(torch.from_numpy(task.target[0])))
    assert torch.equal(*answers)


def test_oml_is_charged_for_its_head_alone_and_is_not_transductive() -> None:
    from exemplar.recall.agents.oml import OmlLearner
    from exemplar.recall.stream import is_transductive
    from exemplar.spaces.networks.adapted import build_head_learner

    with seeded_globals(0):
        network = build_head_learner("conv4-64", 28, 1, 16, 9)
    task = make_task(0, features=False)
    done = stream_task(copies_of(OmlLearner(network, 9), "oml"), task)
    assert [charge.bits for charge in done.charges] == [32 * (64 * 16 + 16 + 16 * 9 + 9)] * 3
    assert not is_transductive(copies_of(OmlLearner(network, 9), "oml"), task, done.states[-1])


@pytest.mark.parametrize("words", ["run --data glyphs --n 2 --agent", "check-agent"])
def test_an_agent_whose_network_does_not_ship_says_how_to_train_it(
    exemplar: Any, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    from conftest import mistake

    monkeypatch.setitem(SPACES["omniglot"], "oml", "oml-omniglot-cfsl-s7")
    said = mistake(exemplar("recall", *words.split(), "oml"))
    assert "run `exemplar spaces train oml-omniglot-cfsl-s7 --out spaces`" in said


@pytest.mark.parametrize("words", ["run --data glyphs --n 2 --agent", "check-agent"])
def test_an_agent_of_photographs_refuses_drawings(exemplar: Any, words: str) -> None:
    from conftest import mistake

    said = mistake(exemplar("recall", *words.split(), "maml-plus-dense"))
    assert "maml-plus-dense has no network for" in said and "only for cifar-fs" in said


@pytest.mark.parametrize(("name", "least"), [("maml", 0.8), ("maml-plus", 0.9), ("oml", 0.85)])
def test_meta_trained_agents_know_a_first_set_of_omniglot(real_data: Any, name: str, least: float) -> None:
    """One support set of five characters that they never saw; chance is .2."""
    real_data("omniglot")
    done = ex.recall.run(name, data="omniglot", type="no-shift", n=10, engine="here")
    assert done["accuracy"]["value"] > least
    assert done["transductive"] == (name != "oml")


@pytest.mark.long
def test_oml_shown_everything_at_once_is_no_worse_if_it_takes_as_many_steps(real_data: Any) -> None:
    """Three sets of five steps: with five steps in all its joint version is behind, with fifteen it is not."""
    from exemplar.recall.agents.oml import OmlLearner
    from exemplar.recall.inputs import DataSource
    from exemplar.recall.running import StreamOptions, make_jobs, task_images
    from exemplar.recall.suites import make_suite
    from exemplar.recall.tasks import TYPES

    real_data("omniglot")
    agent = AgentSource("oml", SPACES["omniglot"]["oml"])
    source = DataSource("omniglot", "cfsl-test")
    suite, _ = make_suite(source.load(), TYPES["new-classes"], 20, 0)
    (job,) = make_jobs(agent, source, suite, StreamOptions(), 0)
    network: Any = load_network(agent.space, room="spaces")[0]
    found = {}
    for name, steps, joint in (("streaming", 5, False), ("joint", 5, True), ("as many steps", 15, True)):
        right = []
        for k in range(len(suite)):
            task = task_images(job, k, features=False)
            learner = OmlLearner(network, 15, steps, 0.1)
            done = stream_task(copies_of(learner, name), task.joint() if joint else task)
            right.append(float((done.log_p.argmax(axis=2) == suite.target_label[k] - suite.first_label).mean()))
        found[name] = np.mean(right)
    assert found["joint"] < found["streaming"] - 0.1
    assert found["as many steps"] > found["streaming"]


def test_a_learner_shares_its_network_with_its_copies_and_changes_nothing_of_it() -> None:
    for name in ("pretrain-tune", "ewc", "maml", "oml"):
        agent, _ = find_source(name)
        learner: Any = agent.make()
        shared = {"oml": "head.shared", "maml": "shared"}.get(name, "backbone")
        network = operator.attrgetter(shared)(learner).network
        assert operator.attrgetter(shared)(copy.deepcopy(learner)).network is network
        before = {key: value.clone() for key, value in network.state_dict().items()}
        stream_task(copies_of(learner, name), make_task(0, features=False), history=True)
        assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


def test_shown_one_set_there_is_nothing_to_keep() -> None:
    """EWC and LwF, shown all sets at once, are pretrain-tune so shown: what the study takes for their joint versions."""
    task = make_task(0, features=False).joint()
    once = {
        name: stream_task(copies_of(find_source(name)[0].make(), name), task).log_p
        for name in ("pretrain-tune", "ewc", "lwf")
    }
    assert np.array_equal(once["ewc"], once["pretrain-tune"]) and np.array_equal(once["lwf"], once["pretrain-tune"])


@pytest.mark.parametrize("name", ["nearest-mean", "pretrain-tune"])
def test_after_the_last_set_its_targets_are_asked_once(name: str) -> None:
    """With all others; asked alone, they would be answered the same."""
    agent, features = find_source(name)
    host, task = copies_of(agent.make(), name), make_task(0, features=features)
    done = stream_task(host, task, history=True)
    assert done.own_log_p is not None and np.array_equal(done.own_log_p[-1], done.log_p[-1])
    alone = host.predict(task.n_labels, (0, 0), done.states[-1], task.target[-1])
    assert np.allclose(np.exp(alone), np.exp(done.own_log_p[-1]), atol=1e-5)


def test_an_agent_without_its_network_says_so(exemplar: Any) -> None:
    from conftest import mistake

    said = mistake(
        exemplar("recall", "run", "--agent", "pretrain-tune", "--data", "glyphs", "--space", "protonet-glyphs-s0")
    )
    assert "takes images of" in said or "tunes a backbone" in said


def test_a_space_that_has_seen_the_suites_classes_is_refused(real_data: Any) -> None:
    real_data("omniglot")
    with pytest.raises(UserError, match="protonet-omniglot-any-s0 was trained"):
        ex.recall.run("protonet", data="omniglot", space="protonet-omniglot-any-s0", n=2)


def test_a_source_says_who_it_is() -> None:
    assert AgentSource("mine.py:Mine").is_own and AgentSource("mine.py:Mine").name == "Mine"
    assert AgentSource("protonet").takes_features and AgentSource("joint-oracle").is_joint
