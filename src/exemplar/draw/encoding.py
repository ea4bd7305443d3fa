"""Drawings in the critics' spaces: each image decoded once and encoded once per network, before anything is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exemplar import seeds
from exemplar.draw.critics import Critics
from exemplar.draw.drawings import stack
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.intervals import Resamples, sample_resamples
from exemplar.draw.tasks import FEWEST, DrawingTask, matched_own_rows, own_rows
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.spaces.encoding import Watched
from exemplar.spaces.space import Space, encode_kept
from exemplar.store import Store

MOST = 20  # drawings per concept in a study, Omniglot's number: memory stays bounded, and data sets compare
N_REPLICATES = 1000


@dataclass(frozen=True, eq=False)
class EncodedSet:
    """Drawings of k concepts, n of each, in several spaces. spaces: (s,) names; features: one (k, n, d) per space."""

    spaces: tuple[str, ...]
    features: tuple[np.ndarray, ...]


def encode_drawings(
    drawings: Drawings,
    task: DrawingTask,
    critics: Critics,
    *,
    training: ConceptSet | None = None,
    store: Store | None = None,
    device: str = "auto",
) -> EncodedDrawings:
    """One agent's drawings, the data's own, and what the agent was trained on, in every critic's space.

    store: keeps features as they come, so that a killed run resumes; training: to look for copies of it.
    """
    agents = drawings["agent"].unique().tolist()
    if len(agents) != 1:
        raise UserError(f"These are drawings by {len(agents)} agents: score one at a time.")
    images = stack(drawings, task)
    k, n = images.shape[:2]
    own = matched_own_rows(task, n)
    flat = images.reshape(k * n, *images.shape[2:])
    rows = find_rows(flat, task.data)

    def encode(space: Space, training: ConceptSet | None) -> CriticFeatures:
        shown = Watched(space, store)
        data = encode_kept(shown, task.data, device=device)
        drawn = np.empty((k * n, data.shape[1]), np.float32)
        drawn[rows >= 0] = data[rows[rows >= 0]]
        if (rows < 0).any():
            fresh, place = np.unique(flat[rows < 0], axis=0, return_inverse=True)
            drawn[rows < 0] = shown.encode(fresh, device=device)[place.ravel()]
        return CriticFeatures(
            space.name,
            drawn.reshape(k, n, -1),
            data[task.exemplar],
            None if own is None else data[own],
            None if training is None else encode_kept(shown, training, device=device),
        )

    return EncodedDrawings(
        tuple(encode(space, training) for space in critics.see),
        tuple(encode(space, None) for space in critics.recognise),
        agent=str(agents[0]),
        concepts=task.concepts,
        groups=task.data.group.code[task.exemplar],
        makers=None if own is None else task.data.maker.code[own],
        chosen_by=task.chosen_by,
        drawers=task.drawers,
    )


def find_rows(images: np.ndarray, data: ConceptSet) -> np.ndarray:
    """(m,) the row of the data that is the very same image, −1 where there is none: its features are known already.

    images: (m, h, w) uint8.
    """
    if images.shape[1:] != data.shape:
        return np.full(len(images), -1)
    known = {image.tobytes(): row for row, image in enumerate(data.images)}
    return np.array([known.get(image.tobytes(), -1) for image in images])


def encode_own(task: DrawingTask, critics: Critics, n: int | None = None) -> EncodedDrawings:
    """The data's own drawings after the task's exemplars, as an agent's; n: the task's unless given."""
    n = n or task.n
    if n < FEWEST:
        raise UserError(
            f"{task.data.name} has {n} drawings of some concept besides the exemplar: this needs {FEWEST} or more of each, add "
            "some"
        )
    rows = own_rows(task, n)

    def encode(space: Space) -> CriticFeatures:
        data = encode_kept(Watched(space), task.data)
        return CriticFeatures(space.name, data[rows], data[task.exemplar], data[rows])

    return EncodedDrawings(
        tuple(map(encode, critics.see)),
        tuple(map(encode, critics.recognise)),
        agent=task.drawers,
        concepts=task.concepts,
        groups=task.data.group.code[task.exemplar],
        makers=task.data.maker.code[rows],
        chosen_by=task.chosen_by,
        drawers=task.drawers,
    )


def encode_data(data: ConceptSet, spaces: Sequence[Space], rows: np.ndarray) -> EncodedSet:
    """Some of the data's own drawings. rows: (k, n)."""
    names = tuple(space.name for space in spaces)
    return EncodedSet(names, tuple(encode_kept(Watched(space), data)[rows] for space in spaces))


def choose_rows(data: ConceptSet, n: int | None = None) -> np.ndarray:
    """(k, n) rows of the data, concept by concept, the first n; unless given as many as every one has, up to MOST."""
    if data.n_concepts < FEWEST:
        raise UserError(f"{data.name} has {data.n_concepts} concepts: a study over concepts needs {FEWEST} or more")
    n = min(int(data.counts.min()), MOST) if n is None else n
    if n < FEWEST:
        raise UserError(f"{data.name} has {n} drawings of some concept: this needs {FEWEST} or more of each, add some")
    order = np.argsort(data.concept.code, kind="stable")
    return order[(np.cumsum(data.counts) - data.counts)[:, None] + np.arange(n)]


def resample_concepts(n_concepts: int, n_critics: int, seed: int) -> Resamples:
    """Concepts and critics resampled, the same concepts in every study with this seed."""
    return sample_resamples(n_concepts, n_critics, N_REPLICATES, seeds.rng("concepts", seed))
