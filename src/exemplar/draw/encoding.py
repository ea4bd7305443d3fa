"""Drawings in the critics' spaces, before anything is scored: each image decoded once, and encoded once per network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exemplar import seeds
from exemplar.draw.critics import Critics
from exemplar.draw.drawings import count_each, stack
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.intervals import Resamples, sample_resamples
from exemplar.draw.tasks import FEWEST, DrawingTask, matched_own_rows, own_rows
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.spaces.encoding import encode_all
from exemplar.spaces.inputs import Images
from exemplar.spaces.space import Space
from exemplar.store import Store

MOST = 20  # drawings per concept in a study, Omniglot's number: memory stays bounded, and data sets compare
N_REPLICATES = 1000
ROUNDING = 4 * np.finfo(np.float32).eps  # of the largest feature: what differs by less is the same


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
    with_drawers: bool = True,
    device: str = "auto",
) -> EncodedDrawings:
    """One agent's drawings, the data's own, and what the agent was trained on, in every critic's space.

    store: keeps features as they come, so that a killed run resumes; training: to look for copies of it; with_drawers: whether
    the data's own drawings are wanted, as many as the agent's.
    """
    agents = drawings["agent"].unique().tolist()
    if len(agents) != 1:
        raise UserError(f"These are drawings by {len(agents)} agents: score one at a time.")
    images = stack(drawings, task)
    k, n = images.shape[:2]
    critics = critics.fix(task, images, str(agents[0]), training, drawn=count_each(drawings))
    own, spaces = matched_own_rows(task, n) if with_drawers else None, (*critics.see, *critics.recognise)
    part, exemplar, own_part = pick_needed(task.judged_data, task.exemplar, own)
    sets: list[Images] = [part, images.reshape(k * n, *images.shape[2:])]
    if task.judged_in is not None:
        sets.append(task.judged_exemplars)
    encoded = encode_all(spaces, sets, device=device, store=store)
    for space, (data, *_) in zip(spaces, encoded, strict=True):
        refuse_blind(space.name, data, task.data.name)
    trained: list[np.ndarray | None] = [None] * len(spaces)
    if training is not None:
        found = encode_all(critics.see, [training], device=device, store=store)
        trained[: len(critics.see)] = [features for (features,) in found]
    features = tuple(
        CriticFeatures(
            space.name,
            drawn.reshape(k, n, -1),
            exemplars[0] if exemplars else data[exemplar],
            None if own_part is None else data[own_part],
            seen_in_training,
        )
        for space, (data, drawn, *exemplars), seen_in_training in zip(spaces, encoded, trained, strict=True)
    )
    return _gather(features, task, critics, str(agents[0]), own)


def pick_needed(
    data: ConceptSet, rows: np.ndarray, more: np.ndarray | None
) -> tuple[ConceptSet, np.ndarray, np.ndarray | None]:
    """The images that are needed, and these rows, of any shape, among them. All of the data where most of it is needed: its
    features are then kept for the next run."""
    needed = np.unique(rows if more is None else np.concatenate([rows.ravel(), more.ravel()]))
    if 2 * len(needed) > len(data):
        return data, rows, more
    return data.subset(needed), np.searchsorted(needed, rows), None if more is None else np.searchsorted(needed, more)


def refuse_blind(critic: str, features: np.ndarray, data: str) -> None:
    """Refuse a critic that sees nothing: whose features (n, d) are the same for every image but for rounding."""
    if np.ptp(features, axis=0).max() <= ROUNDING * np.abs(features).max():
        raise UserError(
            f"the critic {critic} gives every image of {data} the same features, and so sees nothing in it: check what it "
            "returns, or name another"
        )


def encode_own(task: DrawingTask, critics: Critics, n: int | None = None) -> EncodedDrawings:
    """The data's own drawings after the task's exemplars, as an agent's; n: the task's unless given."""
    n = n or task.n
    if n < FEWEST:
        raise UserError(
            f"{task.data.name} has {n} drawings of some concept besides the exemplar: this needs {FEWEST} or more of each, add "
            "some"
        )
    rows, spaces = own_rows(task, n), (*critics.see, *critics.recognise)
    part, exemplar, own = pick_needed(task.data, task.exemplar, rows)
    features = tuple(
        CriticFeatures(space.name, data[own], data[exemplar], data[own])
        for space, (data,) in zip(spaces, encode_all(spaces, [part]), strict=True)
    )
    return _gather(features, task, critics, task.drawers, rows)


def _gather(
    features: tuple[CriticFeatures, ...], task: DrawingTask, critics: Critics, agent: str, own: np.ndarray | None
) -> EncodedDrawings:
    """features: of all critics, those that see first; own: (k, n) rows of the data's own drawings, or None."""
    return EncodedDrawings(
        features[: len(critics.see)],
        features[len(critics.see) :],
        agent=agent,
        concepts=task.concepts,
        groups=task.data.group.code[task.exemplar],
        makers=None if own is None else task.data.maker.code[own],
        chosen_by=task.chosen_by,
        drawers=task.drawers,
    )


def encode_data(data: ConceptSet, spaces: Sequence[Space], rows: np.ndarray) -> EncodedSet:
    """Some of the data's own drawings. rows: (k, n)."""
    names = tuple(space.name for space in spaces)
    part, chosen, _ = pick_needed(data, rows, None)
    return EncodedSet(names, tuple(features[chosen] for (features,) in encode_all(spaces, [part])))


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
