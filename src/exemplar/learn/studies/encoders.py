"""Encoding stages at the tasks: the images of a few subtasks are drawn, encoded by every stage and learned from by every rule.

The features of all stages would be 9 GB, so they are never kept: a job encodes a few subtasks by all its encoders and gives
back which trials were right, one bit each. Features go through a sparse projection, which takes a quarter of the time of Gram
matrices of raw features (0.08 against 0.35 CPU-seconds for the stem and 200 images); both are little beside the networks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from exemplar import seeds
from exemplar.errors import unknown
from exemplar.images.concepts import ConceptSet
from exemplar.images.objects import TRANSFORMATIONS, ObjectsConfig, Views, load_objects, views
from exemplar.learn.agents import make_agent
from exemplar.learn.people import test_name
from exemplar.learn.simulation import gram_matrices, simulate
from exemplar.learn.tasks import ObjectLearning, OneShot, Sessions
from exemplar.records import Drawings
from exemplar.report.resizing import resize
from exemplar.spaces.ball import Ball, fit_ball
from exemplar.spaces.stages import SPARSE, Encoder, encode_layers, list_stages, load_encoder

PIXELS = "pixels"  # the images themselves: what an encoding stage must be better than
LEARNING, ONE_SHOT, WARM_UP = (
    "high-variation",
    "one-shot",
    "warm-up",
)  # images of Experiments 1 and 2, and for the scale


@dataclass(frozen=True)
class WarmUpJob:
    """encoders: of one network; n_images: of the warm-up objects', taken evenly."""

    encoders: tuple[str, ...]
    n_images: int


@dataclass(frozen=True, eq=False)
class LearningJob:
    """A few subtasks of an experiment, encoded by all encoders and learned by all rules.

    task: of Experiment 1 or 2; subtasks: the first, and the one after the last; n_sessions: of each model in a subtask;
    n_participants: of each model's simulated participants, whose sessions are their own; balls: encoder → (centre, radius).
    """

    task: ObjectLearning | OneShot
    subtasks: tuple[int, int]
    n_sessions: int
    n_participants: int
    rules: tuple[str, ...]
    balls: dict[str, tuple[np.ndarray, float]]
    seed: int


def list_encoders() -> tuple[str, ...]:
    """Pixels, and every stage of the networks that need no download."""
    return (PIXELS, *(stage.name for stage in list_stages()))


def network_of(encoder: str) -> str:
    """`efficientnet-lite0/block03` → `efficientnet-lite0`; pixels are a network of their own."""
    return encoder.rpartition("/")[0] or encoder


def depths(encoders: Sequence[str]) -> np.ndarray:
    """(encoders,) in [0, 1]: pixels 0, the last stage of a network 1, those between at equal steps."""
    layers: dict[str, list[str]] = {}
    for name in list_encoders():
        layers.setdefault(network_of(name), []).append(name)
    for name in encoders:
        if name not in layers.get(network_of(name), ()):
            raise unknown("encoder", name, list_encoders())
    place = {name: (k + 1) / len(names) for names in layers.values() for k, name in enumerate(names)}
    return np.array([0.0 if name == PIXELS else place[name] for name in encoders])


def encode(encoders: Sequence[str], images: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Encoder by encoder, (n, d ≤ 2,048) float32; at most one network's features are held. images: (n, h, w) uint8."""
    for network in dict.fromkeys(map(network_of, encoders)):
        if network == PIXELS:
            flat = torch.from_numpy(images.reshape(len(images), -1)).float() / 255
            yield PIXELS, SPARSE.draw(flat.shape[1])(flat).numpy()
        else:
            layers = [name.rpartition("/")[2] for name in encoders if network_of(name) == network]
            found = encode_layers(_load(network), layers, images, device="cpu")
            yield from ((f"{network}/{layer}", features) for layer, features in found.items())


@cache
def _load(network: str) -> Encoder:
    """Once per process, however many jobs it does."""
    return load_encoder(network)


def fit_balls(job: WarmUpJob) -> dict[str, Any]:
    """Encoder → [centre, radius] (see `features.Ball`), and the CPU-seconds it took."""
    start = time.process_time()
    data = load_objects(WARM_UP)
    images = data.take(np.unique(np.linspace(0, len(data) - 1, job.n_images).astype(int)))
    found = {name: fit_ball(features) for name, features in encode(job.encoders, images)}
    balls = {name: [ball.centre.astype(np.float32), ball.radius] for name, ball in found.items()}
    return {"balls": balls, "seconds": time.process_time() - start}


def learn_subtasks(job: LearningJob) -> dict[str, Any]:
    """For every encoder, `models` and `participants`: (rules, subtasks, bytes) uint8, the right trials as bits (`unpack`).

    Also the CPU-seconds of each part.
    """
    clock = [time.process_time()]
    seconds = dict.fromkeys(("draw", "encode", "simulate"), 0.0)

    def lap(part: str) -> None:
        clock.append(time.process_time())
        seconds[part] += clock[-1] - clock[-2]

    first, stop = job.subtasks
    n_images = job.task.n_images
    data = load_subtasks(job.task, stop)
    images = data.take(np.arange(2 * first * n_images, 2 * stop * n_images))
    shown = [sample_sessions(job.task, subtask, job.n_sessions, job.seed) for subtask in range(first, stop)]
    lap("draw")
    found: dict[str, Any] = {}
    for encoder, features in encode(tuple(job.balls), images):
        centre, radius = job.balls[encoder]
        placed = Ball(centre.astype(np.float64), radius).place(features)
        lap("encode")
        grams = gram_matrices(placed.reshape(stop - first, 2, n_images, -1))
        bits: dict[str, list[list[np.ndarray]]] = {"models": [], "participants": []}
        for rule in job.rules:
            agent = make_agent(rule)
            both: list[tuple[np.ndarray, np.ndarray]] = []
            for k, subtask in enumerate(range(first, stop)):
                theirs = sample_sessions(job.task, subtask, job.n_participants, job.seed, encoder, rule)
                both.append(
                    tuple(  # type: ignore[arg-type]
                        np.packbits(simulate(agent, grams[k : k + 1], sessions) == sessions.answer)
                        for sessions in (shown[k], theirs)
                    )
                )
            for who, column in zip(bits, zip(*both, strict=True), strict=True):
                bits[who].append(list(column))
        found[encoder] = {who: np.array(packed) for who, packed in bits.items()}
        lap("simulate")
    return {"encoders": found, "seconds": seconds}


def sample_sessions(task: ObjectLearning | OneShot, subtask: int, n_sessions: int, seed: int, *who: str) -> Sessions:
    """The sessions of one subtask, always the same: all models see one set of them, and each (encoder, rule) in `who` that
    stands for participants another, so that populations are independent of each other and of the models.
    """
    rng = seeds.rng("learning of objects", seed, task.seed_name, subtask, *who)
    return task.sample(1, n_sessions, rng=rng)


def unpack(bits: np.ndarray, n_sessions: int, n_trials: int) -> np.ndarray:
    """(..., bytes) → (..., sessions, trials) bool: which trials were right."""
    flat = np.unpackbits(bits, axis=-1, count=n_sessions * n_trials).astype(bool)
    return flat.reshape(*bits.shape[:-1], n_sessions, n_trials)


def one_shot_tests() -> tuple[np.ndarray, tuple[str, ...]]:
    """(images,) which test each image of an object belongs to, −1 for none, the same for all objects; and the tests' names."""
    table: Views = views(ONE_SHOT, ObjectsConfig(objects=1))
    names = [
        test_name(kind, level) if scored else ""
        for kind, level, scored in zip(table.transformation, table.level, table.scored, strict=True)
    ]
    tests = tuple(name for name in dict.fromkeys(names) if name)
    return np.array([tests.index(name) if name else -1 for name in names]), tests


def load_subtasks(task: ObjectLearning | OneShot, n: int) -> ConceptSet:
    """The images of the first n subtasks, object by object, drawn when asked for. Subtask k is the objects 2k and 2k + 1."""
    split = split_of(task)
    return load_objects(split, ObjectsConfig(objects=2 * n, views=None if split == ONE_SHOT else task.n_images))


def split_of(task: ObjectLearning | OneShot) -> str:
    """Which objects a task shows."""
    return ONE_SHOT if isinstance(task, OneShot) else LEARNING


def views_shown(split: str, n: int, n_views: int) -> Drawings:
    """The first views of n objects of a split; of Experiment 2, the training view and each transformation once."""
    table = views(split, ObjectsConfig(objects=n))
    if split == ONE_SHOT:
        kinds = table.transformation[: len(table) // n]
        rows = [0, *(np.flatnonzero(kinds == kind)[(kinds == kind).sum() // 2] for kind in TRANSFORMATIONS)]
    else:
        rows = list(range(n_views))
    chosen = np.array([k * (len(table) // n) + row for k in range(n) for row in rows])
    images = resize(load_objects(split, ObjectsConfig(objects=n)).take(chosen), (128, 128))
    concept = [table.concept[row] for row in chosen]
    number = np.tile(np.arange(len(rows)), n)
    return Drawings.of(
        agent=split, data="objects", concept=concept, exemplar=chosen, index=number, seed=0, image=images
    )
