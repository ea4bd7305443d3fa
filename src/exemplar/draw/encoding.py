"""What critics see of a data set's own drawings: the material of the studies, encoded once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exemplar import seeds
from exemplar.draw.critics import Critics, Seen, load_critics
from exemplar.draw.drawings import FEWEST
from exemplar.draw.measures.intervals import Resamples, sample_resamples
from exemplar.draw.measures.sides import Looks
from exemplar.draw.tasks import PEOPLE, DrawingTask, people_rows
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.encoding import Watched
from exemplar.spaces.space import Space, encode_kept
from exemplar.spaces.zoo import load_space

MOST = 20  # drawings of a concept in a study, Omniglot's number: memory stays bounded, and data sets compare
N_REPLICATES = 1000


@dataclass(frozen=True, eq=False)
class Sights:
    """Drawings of k concepts, n of each, in several spaces. spaces: (s,) names; features: one (k, n, d) a space."""

    spaces: tuple[str, ...]
    features: tuple[np.ndarray, ...]


def critics_of(data: ConceptSet, *, see: Sequence[str] = (), recognise: Sequence[str] = ()) -> Critics:
    """The critics of a data set, or those named, if they have seen none of its concepts."""
    critics = load_critics(data.name, see=see, recognise=recognise)
    critics.count_seen(data.concepts, data.name)
    return critics


def by_features(critics: Critics) -> Critics:
    """The same critics, but recognition's networks by the layer in which diversity is measured, not by their output."""
    return replace(critics, recognise=tuple(load_space(space.name) for space in critics.recognise))


def drawings_rows(data: ConceptSet, n: int | None = None) -> np.ndarray:
    """(k, n) rows of the data, concept by concept, the first n; unless given as many as every one has, up to MOST."""
    if data.n_concepts < FEWEST:
        raise UserError(f"{data.name} has {data.n_concepts} concepts: a study over concepts needs {FEWEST} or more")
    n = min(int(data.counts.min()), MOST) if n is None else n
    if n < FEWEST:
        raise UserError(f"{data.name} has {n} drawings of some concept: this needs {FEWEST} or more of each, add some")
    order = np.argsort(data.concept.code, kind="stable")
    return order[(np.cumsum(data.counts) - data.counts)[:, None] + np.arange(n)]


def see_drawings(data: ConceptSet, spaces: Sequence[Space], rows: np.ndarray) -> Sights:
    """rows: (k, n)."""
    return Sights(
        tuple(space.name for space in spaces), tuple(encode_kept(Watched(space), data)[rows] for space in spaces)
    )


def see_people(task: DrawingTask, critics: Critics, n: int | None = None) -> Looks:
    """What critics see of people's drawings after the task's exemplars, for `score_looks`; n: the task's unless given."""
    n = n or task.n
    if n < FEWEST:
        raise UserError(
            f"{task.data.name} has {n} drawings of some concept besides the exemplar: this needs {FEWEST} or more of each, add "
            "some"
        )
    rows = people_rows(task, n)

    def seen(space: Space) -> Seen:
        there = encode_kept(Watched(space), task.data)
        return Seen(space.name, there[rows], there[task.exemplar], there[rows], None)

    return Looks(
        tuple(map(seen, critics.see)),
        tuple(map(seen, critics.recognise)),
        agent=PEOPLE,
        concepts=task.concepts,
        groups=task.data.group.code[task.exemplar],
        makers=task.data.maker.code[rows],
        exemplars=task.chosen_by,
    )


def draw_again(n_concepts: int, n_critics: int, seed: int) -> Resamples:
    """Concepts and critics drawn again, the same concepts in every study with this seed."""
    return sample_resamples(n_concepts, n_critics, N_REPLICATES, seeds.rng("concepts", seed))
