"""MAML and ProtoNet in the same episodes: how often each is right, and whether they find the same characters hard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from exemplar import seeds, stats
from exemplar.images.catalogue import load
from exemplar.records import Predictions, Score, Scores
from exemplar.rooms import KeptResult, Number
from exemplar.runs import Run
from exemplar.spaces.cards import check_unseen
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.objectives.maml import adapt, logits
from exemplar.spaces.studies.naming import (
    EXEMPLARS,
    PROTONETS,
    TEST,
    WAYS,
    EncodingJob,
    encode_set,
    mean_score,
    save_scores,
)
from exemplar.spaces.zoo import load_space

# Trainings that are compared with every ProtoNet: three seeds, and one with the ReLU of Table S1.
MAMLS = {
    "MAML": tuple(f"maml-omniglot-released-s{seed}" for seed in range(3)),
    "MAML with the ReLU": ("maml-omniglot-released-relu-s0",),
}
PAPER = "Boutin et al. 2022, S7"


@dataclass(frozen=True, eq=False)
class MamlJob:
    """rows: (episodes, ways, 1 + queries) rows of the test drawings, the first of each class the support; space: a MAML."""

    rows: np.ndarray
    space: str


@dataclass(frozen=True)
class EpisodesConfig:
    """rounds: how many episodes each class takes part in; queries: drawings of each to be named in one; block: episodes per
    job. A class's drawings are named rounds · queries times."""

    rounds: int = 8
    queries: int = 6
    block: int = 5


def sample_rounds(n_classes: int, ways: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """(episodes, ways) classes: each takes part `rounds` times, at most once per episode; a rest that fills none is left."""
    line: list[int] = []
    for _ in range(rounds):
        begun = line[len(line) - len(line) % ways :]
        classes = rng.permutation(n_classes)
        line += classes[np.argsort(np.isin(classes, begun), kind="stable")].tolist()  # those of the begun one come last
    return np.array(line[: len(line) // ways * ways]).reshape(-1, ways)


def maml_result(run: Run, seed: int) -> Scores:
    """MAMLs and ProtoNets in the same episodes: accuracy, rank correlation over classes, correlation of logits."""
    data, config = load(*TEST), EpisodesConfig()
    label = data.concept.code
    jobs = [EncodingJob(EXEMPLARS, TEST), *(EncodingJob(space, TEST, layer="") for space in PROTONETS)]
    by_simclr, *features = run.map(encode_set, jobs, label="critics")
    exemplar, rng = central_exemplars(by_simclr, label), seeds.rng("MAML and ProtoNet", seed)
    classes = sample_rounds(data.n_concepts, WAYS, config.rounds, rng)  # (episodes, ways)
    rows = np.stack([_episode_rows(label, exemplar, episode, config.queries, rng) for episode in classes])
    right = np.repeat(np.arange(WAYS), config.queries)  # each query's class, as its place in the episode
    concept = np.take_along_axis(classes, np.broadcast_to(right, (len(rows), len(right))), axis=1).ravel()
    distance = [_squared_distances(feature[rows].astype(np.float64)) for feature in features]
    protonets = [Answers(space, -squared, right, concept) for space, squared in zip(PROTONETS, distance, strict=True)]
    scores, tables = accuracy_scores("ProtoNet", protonets), [answers.predictions() for answers in protonets]
    blocks = [rows[start : start + config.block] for start in range(0, len(rows), config.block)]
    for kind, spaces in MAMLS.items():
        found = run.map(name_by_maml, [MamlJob(block, space) for space in spaces for block in blocks], label=kind)
        logits_of = np.split(np.concatenate(found).astype(np.float64), len(spaces))  # (episodes, ways · queries, ways)
        mamls = [Answers(space, values, right, concept) for space, values in zip(spaces, logits_of, strict=True)]
        scores += accuracy_scores(kind, mamls)
        scores += agreement_scores(kind, mamls, protonets, seed)
        tables += [answers.predictions() for answers in mamls]
    run.save(Predictions.join(tables))
    return save_scores(run, scores)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a learner said in all episodes. scale: (episodes, queries, ways), what its softmax takes; right: (queries,) each
    query's class, as its place in the episode; concept: (episodes · queries,) its class in the data."""

    space: str
    scale: np.ndarray
    right: np.ndarray
    concept: np.ndarray

    def by_class(self, values: np.ndarray) -> np.ndarray:
        """values: one per query → (k,) the mean of each class."""
        return np.bincount(self.concept, values.ravel()) / np.bincount(self.concept)

    @property
    def accuracy(self) -> np.ndarray:
        """(k,) share of a class's queries that were named right."""
        return self.by_class(self.scale.argmax(axis=2) == self.right)

    def predictions(self) -> Predictions:
        return _predictions(self.space, self.scale, self.right)


def accuracy_scores(kind: str, learners: Sequence[Answers]) -> list[Score]:
    """The mean over seeds, where there are several, and that of each."""
    values = [learner.accuracy for learner in learners]
    several = f"{kind}, mean of {len(learners)} seeds"
    scores = [mean_score("accuracy_20_way", np.mean(values, axis=0), kind, several)] if len(learners) > 1 else []
    return scores + [
        mean_score("accuracy_20_way", own, kind, kind, space=learner.space)
        for own, learner in zip(values, learners, strict=True)
    ]


def agreement_scores(kind: str, mamls: Sequence[Answers], protonets: Sequence[Answers], seed: int) -> list[Score]:
    """Over all pairs of a MAML and a ProtoNet: the mean with its interval over characters, then the lowest and the highest."""
    pairs = list(product(mamls, protonets))
    concept = pairs[0][0].concept

    def columns(of: Callable[[Answers], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """(n, pairs) of each side."""
        sides = {id(learner): of(learner).ravel() for learner in (*mamls, *protonets)}
        return np.stack([sides[id(a)] for a, _ in pairs], 1), np.stack([sides[id(b)] for _, b in pairs], 1)

    accuracy = columns(lambda learner: learner.accuracy)
    logit, negated = columns(lambda learner: learner.scale)
    squared = -negated
    right = pairs[0][0].right
    place = np.arange(len(right))
    own_logit = columns(lambda learner: learner.by_class(learner.scale[:, place, right]))[0]
    own_distance = columns(lambda learner: learner.by_class(np.sqrt(np.abs(learner.scale[:, place, right]))))[1]
    every = np.repeat(concept, WAYS)
    pearson, of_right = stats.weighted.pearson, "distance of the right class, averaged by class"
    found = (
        ("rank_correlation", f"accuracy of a class, {kind} and ProtoNet", stats.weighted.spearman(*accuracy), None),
        ("correlation", f"all logits of {kind}, distances of ProtoNet", pearson(logit, np.sqrt(squared)), every),
        ("correlation", f"all logits of {kind}, squared distances of ProtoNet", pearson(logit, squared), every),
        ("correlation", f"logit of {kind} and {of_right}", pearson(own_logit, own_distance), None),
    )
    return [
        score
        for name, agent, statistic, groups in found
        for score in _pair_scores(name, agent, statistic, groups, seed)
    ]


def _pair_scores(
    name: str, agent: str, statistic: stats.Statistic, groups: np.ndarray | None, seed: int
) -> Iterator[Score]:
    """statistic: gives a value for each pair."""
    rng = seeds.rng("pairs of learners", name, agent, seed)
    together = stats.Statistic(statistic.n, lambda weights: statistic(weights).mean(axis=1, keepdims=True))
    both = stats.Statistic(statistic.n, lambda weights: np.concatenate([together(weights), statistic(weights)], axis=1))
    found = stats.bootstrap(both, groups=groups, rng=rng)
    yield Score.of(name, found[0], agent=agent)
    if len(found.value) > 2:
        lowest, highest = (int(place(found.value[1:])) + 1 for place in (np.argmin, np.argmax))
        yield Score.of(f"{name}_lowest_pair", found[lowest], agent=agent)
        yield Score.of(f"{name}_highest_pair", found[highest], agent=agent)


def _squared_distances(there: np.ndarray) -> np.ndarray:
    """there: (episodes, ways, 1 + queries, d) → (episodes, ways · queries, ways), what ProtoNet's softmax takes, negated."""
    query, support = there[:, :, 1:].reshape(len(there), -1, there.shape[3]), there[:, :, 0]
    return np.stack([np.square(q[:, None] - s).sum(axis=2) for q, s in zip(query, support, strict=True)])


def name_by_maml(job: MamlJob) -> np.ndarray:
    """(episodes, ways · queries, ways) float32 logits after MAML has adapted to each episode's support."""
    space, data = load_space(job.space), load(*TEST)
    card = space.card
    assert card is not None
    check_unseen(card, data.concepts, data.name)
    answers = []
    for rows in job.rows:
        images = torch.from_numpy(space.input.prepare(data.take(rows.ravel()))).view(*rows.shape, 1, *space.input.size)
        with torch.no_grad():
            params = adapt(
                space.network,
                images[None, :, 0],
                torch.arange(len(rows))[None],
                card.training["test_steps"],
                card.training["inner_rate"],
            )
            answers.append(logits(space.network, params, images[:, 1:].flatten(0, 1)[None])[0].numpy())
    return np.stack(answers)


def _episode_rows(
    label: np.ndarray, exemplar: np.ndarray, classes: np.ndarray, queries: int, rng: np.random.Generator
) -> np.ndarray:
    """(ways, 1 + queries): each class's exemplar, and other drawings of it at random."""
    others = [rng.permutation(np.setdiff1d(np.flatnonzero(label == k), exemplar[k]))[:queries] for k in classes]
    return np.column_stack([exemplar[classes], np.stack(others)])


def _predictions(agent: str, scale: np.ndarray, right: np.ndarray) -> Predictions:
    """scale: (episodes, queries, ways), what the softmax takes; right: (queries,)."""
    n_tasks, n_items, ways = scale.shape
    log_p = torch.from_numpy(scale).log_softmax(2).numpy().astype(np.float32).reshape(-1, ways)
    return Predictions.of(
        agent=agent,
        task=np.repeat(np.arange(n_tasks), n_items),
        set=0,
        item=np.tile(np.arange(n_items), n_tasks),
        label=np.tile(right, n_tasks),
        predicted=scale.argmax(axis=2).ravel(),
        log_p=log_p,
    )


MAML_VS_PROTONET = KeptResult(
    title="MAML and ProtoNet in the same episodes",
    text="60 episodes of 20 of the 150 weak-test characters, each character in 8 of them, with 6 drawings to name a time; the "
    "exemplar is the support of both. MAML takes 10 steps, and its batch normalisation takes an episode's drawings "
    "together. Each MAML is compared with each of the three ProtoNets: the mean over pairs, with its interval over "
    "characters, then the lowest and the highest pair, each with its own. The paper gives .60 and −.62 in S7 (swapped in "
    "its main text) and does not say over which logits, nor whether the distance is squared. Known differences: their "
    "inner rate is .01, ours .1, chosen on other characters (`exemplar results run critic-choices`); ours has the "
    "ProtoNets' network, without the ReLU of Table S1, but for one training.\n\n"
    "Three seeds and one with the ReLU, 4,000 steps each. They name fewer drawings right than ProtoNets, and agree with "
    "the paper: over the nine pairs of seeds .60 for the ranks and −.62 for the distances both lie between the lowest and "
    "the highest pair, and .60 lies in the interval over characters; −.62 is just outside that of the mean, which does "
    "not hold what seeds change. With squared distances, −.62 is a little beyond most pairs. With the ReLU of Table S1 "
    "the distances agree far less (−.46). With one value per character, the logit and the distance of the right class "
    "hardly correlate, in either direction. Earlier versions of this page showed trainings of 1,250 steps, and before "
    "these one training, which had been replaced with the published numbers and both outcomes in view.",
    compute=maml_result,
    published={
        (name, agent.format(kind)): Number(value, PAPER)
        for kind in MAMLS
        for name, agent, value in (
            ("rank_correlation", "accuracy of a class, {} and ProtoNet", 0.60),
            ("correlation", "all logits of {}, distances of ProtoNet", -0.62),
            ("correlation", "all logits of {}, squared distances of ProtoNet", -0.62),
        )
    },
    data=(TEST,),
    quick=False,
)
