"""What the spaces are worth: naming a new drawing after one, in a critic's space; and critics compared with each other.

A drawing is given to the class whose support (the one drawing seen of it) is nearest. Where it can be, accuracy is what
sampling episodes without end would give (`protonet.chance_of_nearest`), over all classes and all drawings but the support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from exemplar import engine, seeds, stats
from exemplar.files import write_npz
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.omniglot import load_omniglot_runs
from exemplar.images.sources import obtain
from exemplar.records import Drawings, Predictions, Score, Scores
from exemplar.runs import Run, open_run
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.objectives.maml import adapt, logits
from exemplar.spaces.objectives.protonet import chance_of_nearest
from exemplar.spaces.space import PixelSpace, Space
from exemplar.spaces.zoo import check_unseen, load_card, load_space

WAYS = 20
TEST = ("omniglot", "weak-test")
EXEMPLARS = "simclr-omniglot-s0"  # whose class centres are the exemplars
PROTONETS = ("protonet-omniglot-s0", "protonet-omniglot-s1", "protonet-omniglot-s2")
BACKGROUND, MAML = "protonet-omniglot-background-s0", "maml-omniglot-s0"
PIXELS = "pixels"


@dataclass(frozen=True)
class SeeingJob:
    """A data set's split, encoded by a space; layer: as in `load_space`."""

    space: str
    data: tuple[str, str]
    layer: str | None = None


@dataclass(frozen=True, eq=False)
class MamlJob:
    """rows: (episodes, ways, 1 + queries) rows of the test drawings, the first of each class the support."""

    rows: np.ndarray


@dataclass(frozen=True)
class EpisodesConfig:
    """rounds: how many episodes each class takes part in; queries: drawings of each to be named in one; block: episodes a
    job. A class's drawings are named rounds · queries times."""

    rounds: int = 8
    queries: int = 6
    block: int = 5


@dataclass(frozen=True)
class TourConfig:
    """n_neighbours: shown of each of n_asked drawings; n_mapped: characters on the map, n_each drawings of each."""

    n_asked: int = 3
    n_neighbours: int = 9
    n_mapped: int = 12
    n_each: int = 10


def encode_drawings(job: SeeingJob) -> np.ndarray:
    """(n, d) float32. A space that was trained on some of the concepts is refused."""
    data = load(*job.data)
    if job.space == PIXELS:
        return find_space(job.space).encode(data, device="cpu")
    check_unseen(load_card(job.space), data.concepts, data.name)
    return load_space(job.space, layer=job.layer).encode(data, device="cpu")


def find_space(name: str) -> Space:
    """A shipped space, or the pixels as the images' chapter of the tour compares them: 16 px a side, in grey."""
    return PixelSpace(PhotoInput((16, 16))) if name == PIXELS else load_space(name)


def distances(features: np.ndarray) -> np.ndarray:
    """(n, d) → (n, n) float32, Euclidean, without the rounding of the expanded square."""
    there = torch.from_numpy(features)
    return torch.cdist(there, there, compute_mode="donot_use_mm_for_euclid_dist").numpy()


def class_accuracies(distance: np.ndarray, label: np.ndarray, support: np.ndarray, ways: int) -> np.ndarray:
    """(k,) float64: for each class the expected share of its drawings, the support left out, that are nearest to their own
    class's support among `ways` classes at random.

    distance: (n, n); label: (n,) from 0 to k − 1; support: (k,) rows. A tie counts as lost.
    """
    to_support = distance[:, support]
    own = np.take_along_axis(to_support, label[:, None].astype(np.intp), axis=1)
    n_nearer = (to_support <= own).sum(axis=1) - 1
    chance = chance_of_nearest(torch.from_numpy(n_nearer), len(support), ways).numpy()
    query = np.ones(len(label))
    query[support] = 0
    return np.bincount(label, chance * query, len(support)) / np.bincount(label, query, len(support))


def random_supports(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n_each, k) rows: as many choices of a support as the rarest class has drawings, none chosen twice."""
    order = rng.permutation(len(label))
    rows = [order[label[order] == k] for k in range(label.max() + 1)]
    n_each = min(map(len, rows))
    return np.stack([mine[:n_each] for mine in rows], axis=1)


def accuracy_with_random_supports(
    distance: np.ndarray, label: np.ndarray, ways: int, rng: np.random.Generator
) -> np.ndarray:
    """(k,) as `class_accuracies`, the mean over supports such that every drawing is one once."""
    return np.mean([class_accuracies(distance, label, s, ways) for s in random_supports(label, rng)], axis=0)


def episode_accuracies(
    distance: np.ndarray, label: np.ndarray, support: np.ndarray, ways: int, n: int, rng: np.random.Generator
) -> np.ndarray:
    """(n,) share of right answers in n sampled episodes: `ways` classes, one drawing of each to be named."""
    classes = rng.random((n, len(support))).argpartition(ways, axis=1)[:, :ways]
    rest = np.stack([np.setdiff1d(np.flatnonzero(label == k), support) for k in range(len(support))])  # (k, each − 1)
    query = rest[classes, rng.integers(0, rest.shape[1], classes.shape)]
    near = distance[query[:, :, None], support[classes][:, None, :]]  # (n, queries, candidates)
    own = np.diagonal(near, axis1=1, axis2=2)
    return ((near <= own[:, :, None]).sum(axis=2) == 1).mean(axis=1)


def protonet_result(run: Run, seed: int) -> Scores:
    """1-shot accuracy of the shipped ProtoNets on Omniglot's weak-test, in closed form and by episodes."""
    data = load(*TEST)
    label = data.concept.code
    jobs = [SeeingJob(EXEMPLARS, TEST), *(SeeingJob(space, TEST, layer="") for space in PROTONETS)]
    seen, *features = run.map(encode_drawings, jobs, label="critics")
    exemplar, scores = central_exemplars(seen, label), []
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for space, feature in zip(PROTONETS, features, strict=True):
        distance = distances(feature)
        for ways in (WAYS, data.n_concepts):
            rng = seeds.rng("random support", seed)  # the same for every critic
            by_support = {
                "exemplar as support": class_accuracies(distance, label, exemplar, ways),
                "random drawing as support": accuracy_with_random_supports(distance, label, ways, rng),
            }
            for support, values in by_support.items():
                name = f"accuracy_{ways}_way"
                found.setdefault((name, support), []).append(values)
                scores.append(_mean_score(name, values, f"one seed, {support}", f"one seed, {support}", space=space))
        rng = seeds.rng("episodes", seed)
        shares = episode_accuracies(distance, label, exemplar, WAYS, 3750, rng)
        found.setdefault(("accuracy_20_way", "exemplar as support, 3750 episodes"), []).append(shares)
    means = [
        _mean_score(name, np.mean(values, axis=0), f"mean of 3 seeds, {support}", f"mean of 3 seeds, {support}")
        for (name, support), values in found.items()
    ]
    return _keep(run, means + scores)


def official_runs_result(run: Run, seed: int) -> Scores:
    """Omniglot's 20 official one-shot runs by a ProtoNet that knows the background alphabets only."""
    wrong = np.array(run.map(name_official_run, range(20), label="official runs"))
    agent = "ProtoNet trained on background"
    return _keep(run, [_mean_score("naming_error", wrong, "ProtoNet trained on background", agent, space=BACKGROUND)])


def name_official_run(number: int, space: str = BACKGROUND) -> float:
    """The share of errors in one official run; a space that was trained on any run's characters is refused."""
    runs = load_omniglot_runs(obtain("omniglot"))
    check_unseen(load_card(space), runs.concept.ravel(), "omniglot/evaluation")
    seen, new = (load_space(space, layer="").encode(part[number], device="cpu") for part in (runs.training, runs.test))
    nearest = np.square(new[:, None] - seen).sum(axis=2).argmin(axis=1)
    return float((nearest != runs.answer[number]).mean())


def sample_rounds(n_classes: int, ways: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """(episodes, ways) classes: each takes part `rounds` times, at most once an episode; a rest that fills none is left."""
    line: list[int] = []
    for _ in range(rounds):
        begun = line[len(line) - len(line) % ways :]
        classes = rng.permutation(n_classes)
        line += classes[np.argsort(np.isin(classes, begun), kind="stable")].tolist()  # those of the begun one come last
    return np.array(line[: len(line) // ways * ways]).reshape(-1, ways)


def maml_result(run: Run, seed: int) -> Scores:
    """MAML and ProtoNet in the same episodes: accuracy, rank correlation over classes, correlation of logits."""
    data, config = load(*TEST), EpisodesConfig()
    label = data.concept.code
    seen, feature = run.map(
        encode_drawings, [SeeingJob(EXEMPLARS, TEST), SeeingJob(PROTONETS[0], TEST, layer="")], label="critics"
    )
    exemplar, rng = central_exemplars(seen, label), seeds.rng("MAML and ProtoNet", seed)
    classes = sample_rounds(data.n_concepts, WAYS, config.rounds, rng)  # (episodes, ways)
    rows = np.stack([_episode_rows(label, exemplar, episode, config.queries, rng) for episode in classes])
    blocks = [rows[start : start + config.block] for start in range(0, len(rows), config.block)]
    answers = run.map(name_by_maml, [MamlJob(block) for block in blocks], label="MAML")
    by_maml = np.concatenate(answers).astype(np.float64)  # (episodes, ways · queries, ways)
    there = feature[rows].astype(np.float64)
    query, support = there[:, :, 1:].reshape(len(rows), -1, there.shape[3]), there[:, :, 0]
    distance = np.square(query[:, :, None] - support[:, None]).sum(axis=3)  # what ProtoNet's softmax takes, negated

    right = np.repeat(np.arange(WAYS), config.queries)  # each query's class, as its place in the episode
    concept = np.take_along_axis(classes, np.broadcast_to(right, (len(rows), len(right))), axis=1)
    scores, by_class, tables = [], [], []
    for agent, scale in (("MAML", by_maml), ("ProtoNet", -distance)):
        correct = (scale.argmax(axis=2) == right).ravel()
        by_class.append(np.bincount(concept.ravel(), correct) / np.bincount(concept.ravel()))
        scores.append(_mean_score("accuracy_20_way", by_class[-1], agent, agent))
        tables.append(_predictions(agent, scale, right))
    run.save(Predictions.join(tables))
    rank = stats.spearman(by_class[0], by_class[1], rng=seeds.rng("rank correlation", seed))
    found = {("rank_correlation", "accuracy of a class, MAML and ProtoNet"): rank}
    group, near = np.repeat(concept.ravel(), WAYS), np.sqrt(distance)
    for agent, other in (("distances", near), ("squared distances", distance)):
        r = stats.pearson(by_maml.ravel(), other.ravel(), groups=group, rng=seeds.rng("logits", seed))
        found["correlation", f"all logits of MAML, {agent} of ProtoNet"] = r
    own = [values[:, np.arange(len(right)), right].ravel() for values in (by_maml, near)]
    of_class = [np.bincount(concept.ravel(), values) / np.bincount(concept.ravel()) for values in own]
    r = stats.pearson(*of_class, rng=seeds.rng("logits by class", seed))
    found["correlation", "logit and distance of the right class, averaged by class"] = r
    scores += [Score(name, r.value, (r.lo, r.hi), r.n, agent=agent) for (name, agent), r in found.items()]
    return _keep(run, scores)


def name_by_maml(job: MamlJob) -> np.ndarray:
    """(episodes, ways · queries, ways) float32 logits after MAML has adapted to each episode's support."""
    card, space, data = load_card(MAML), load_space(MAML), load(*TEST)
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


def tour(folder: Path, *, seed: int = 0, backend: engine.Backend | None = None) -> None:
    """The spaces' part of `exemplar tour`: the same question asked of pixels, SimCLR and ProtoNet; neighbours; a map."""
    test = ("glyphs", "weak-test")
    data, config = load(*test), TourConfig()
    spaces = {PIXELS: None, "simclr-glyphs-s0": None, "protonet-glyphs-s0": ""}
    fingerprint = {data.name: data.fingerprint}
    with open_run(folder, command="tour spaces", config=config, seed=seed, data=fingerprint, backend=backend) as run:
        if run.finished:
            return
        features = run.map(encode_drawings, [SeeingJob(s, test, layer) for s, layer in spaces.items()], label="spaces")
        rng, scores, tables = seeds.rng("tour of spaces", seed), [], []
        asked = rng.choice(len(data), config.n_asked, replace=False)
        for space, feature in zip(spaces, features, strict=True):
            distance, same = distances(feature), seeds.rng("random support", seed)
            values = accuracy_with_random_supports(distance, data.concept.code, WAYS, same)
            scores.append(_mean_score("naming_accuracy", values, space, space))
            nearest = distance[asked].argsort(axis=1, kind="stable")[:, : config.n_neighbours + 1]
            tables.append(_drawings(data, nearest, space, seed))
        run.save(Drawings.join(tables), "drawings-nearest")
        mapped = data.concept.code == rng.choice(data.n_concepts, config.n_mapped, replace=False)[:, None]
        shown = np.stack([np.flatnonzero(mine)[: config.n_each] for mine in mapped])  # (characters, each)
        run.save(_drawings(data, shown, "mapped", seed), "drawings-mapped")
        places = {s: flat_map(f[shown.ravel()]) for s, f in zip(spaces, features, strict=True)}
        write_npz(run.folder / "map.npz", places)
        _keep(run, scores)


def flat_map(features: np.ndarray) -> np.ndarray:
    """(n, d) → (n, 2) float64: the two directions in which they spread most (principal components), sign fixed."""
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    axes *= np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
    return centred @ axes.T


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


def _drawings(data: ConceptSet, rows: np.ndarray, agent: str, seed: int) -> Drawings:
    """rows: (lines, n); the first of a line is the one asked about, and the others are numbered in order."""
    concept = np.array(data.concepts, dtype=object)[data.concept.code[rows.ravel()]]
    n_lines, n = rows.shape
    return Drawings.of(
        agent=agent,
        data=data.name,
        concept=concept,
        exemplar=np.repeat(rows[:, 0], n),
        index=np.tile(np.arange(n), n_lines),
        seed=seed,
        image=data.take(rows.ravel()),
    )


def _mean_score(name: str, values: np.ndarray, seed_name: str, agent: str, *, space: str = "") -> Score:
    """values: one a class, run or episode, over which the interval is; seed_name: decides which are drawn again, and stays when
    agent, the label, is reworded."""
    found = stats.bootstrap(values, rng=seeds.rng("interval", name, seed_name, space))
    return Score(name, found.value, (found.lo, found.hi), found.n, agent=agent, space=space)


def _keep(run: Run, scores: Sequence[Score]) -> Scores:
    table = Scores.collect(scores)
    run.save(table)
    return table
