"""People against people: half of a data set's drawers are the data, the other half the agent; changed, or as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.measures import sides
from exemplar.draw.measures.distance import Distance, measure_distance
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.intervals import sample_resamples
from exemplar.draw.tasks import PEOPLE, SIMULATED
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.encoding import encode_all
from exemplar.spaces.exemplars import central_exemplars

WAYS = 20
N_REPLICATES = 400  # for the interval of a distance


@dataclass(frozen=True, eq=False)
class EncodedPeople:
    """All drawings of a data set, as many of each concept: see, recognise: one (k, m, d) per critic; makers: (k, m);
    drawers: who they are."""

    see: tuple[np.ndarray, ...]
    recognise: tuple[np.ndarray, ...]
    makers: np.ndarray
    drawers: str

    @property
    def shape(self) -> tuple[int, int]:
        k, m = self.makers.shape
        return k, m

    def swapped(self, n_concepts: int, rng: np.random.Generator) -> EncodedPeople:
        """The same, but for so many concepts, at random, whose drawings are those of one another."""
        order = np.arange(len(self.makers))
        chosen = rng.permutation(len(order))[: max(n_concepts, 2)]
        wrong = chosen if n_concepts > 1 else chosen[:1]
        order[wrong] = np.roll(chosen, 1)[: len(wrong)]
        return replace(self, see=tuple(f[order] for f in self.see), recognise=tuple(f[order] for f in self.recognise))


def encode_people(data: ConceptSet, shown: Sequence[ConceptSet] = ()) -> list[EncodedPeople]:
    """The data by its critics, and other renderings of the same drawings. Those of a concept are in the order of makers."""
    critics = load_unseen_critics(data)
    spaces = (*critics.see, *critics.recognise)
    order = np.lexsort((data.maker.code, data.concept.code)).reshape(data.n_concepts, -1)
    encoded = encode_all(spaces, [data, *shown])
    drawers = SIMULATED if data.simulated else PEOPLE
    return [
        EncodedPeople(
            tuple(parts[which][order] for parts in encoded[: len(critics.see)]),
            tuple(parts[which][order] for parts in encoded[len(critics.see) :]),
            data.maker.code[order],
            drawers,
        )
        for which in range(1 + len(shown))
    ]


def split_distance(
    people: EncodedPeople, agent: EncodedPeople, rng: np.random.Generator, *, by_drawer: bool = True
) -> Distance:
    """How far a new half of the drawers is from the other half, the exemplar being the most typical of the latter.

    agent: the same drawings, or others in their place; by_drawer: whether drawers are split in halves, the same for all
    concepts, or drawings are, separately for each concept.
    """
    k, m = people.shape
    lot = np.tile(rng.permutation(m), (k, 1)) if by_drawer else rng.permuted(np.tile(np.arange(m), (k, 1)), axis=1)
    kept, new = lot[:, : m // 2], lot[:, m - m // 2 : -1]
    row = np.arange(k)
    labels = np.repeat(row, kept.shape[1])
    half = people.see[0][row[:, None], kept]
    typical = central_exemplars(half.reshape(-1, half.shape[2]), labels) % kept.shape[1]
    exemplar = kept[row, typical]
    rest = kept[kept != exemplar[:, None]].reshape(k, -1)

    def features(theirs: np.ndarray, mine: np.ndarray, name: str) -> CriticFeatures:
        return CriticFeatures(name, mine[row[:, None], new], theirs[row, exemplar], theirs[row[:, None], rest])

    encoded = EncodedDrawings(
        tuple(features(a, b, f"see{i}") for i, (a, b) in enumerate(zip(people.see, agent.see, strict=True))),
        tuple(
            features(a, b, f"name{i}") for i, (a, b) in enumerate(zip(people.recognise, agent.recognise, strict=True))
        ),
        agent="new",
        concepts=tuple(map(str, row)),
        groups=np.zeros(k, int),
        makers=people.makers[row[:, None], rest] if by_drawer else np.zeros_like(rest),
        chosen_by="centre",
        drawers=people.drawers,
    )
    see = [sides.normalised(seen, "sample") for seen in encoded.see]
    own, drawers = (sides.measure_side(see, encoded.recognise, side, unbiased=False) for side in ("drawn", "drawers"))
    resamples = sample_resamples(k, len(see), N_REPLICATES, rng)
    references = sides.fit_references(encoded, drawers, WAYS, None)
    return measure_distance(encoded, see, own, drawers, references, WAYS, resamples, unbiased=False, rng=rng)
