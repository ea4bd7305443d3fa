"""A record of maps as scores read it: who marked which image of which concept, on one grid, blurred and ranked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exemplar import seeds
from exemplar.attend.measures.blurring import blur, resize_maps
from exemplar.attend.measures.ranking import rank_maps
from exemplar.errors import UserError
from exemplar.images.concepts import Labels
from exemplar.records import Maps


@dataclass(frozen=True, eq=False)
class Annotations:
    """One agent's maps. agent: its name; concept, participant: (n,) labels; image: (n,) int, which of the pictures was marked;
    pictures: (i, h, w) float32 in [0, 1], ink 1, on the grid of the maps; maps: (n, h, w) float32, any scale."""

    agent: str
    concept: Labels
    participant: Labels
    image: np.ndarray
    pictures: np.ndarray
    maps: np.ndarray

    @classmethod
    def of(cls, record: Maps) -> Annotations:
        """From a record that holds one agent."""
        frame = record.frame
        (agent,) = frame["agent"].unique()
        grey = _grey(record.image)
        names = [seeds.digest(concept, one) for concept, one in zip(frame["concept"], record.image, strict=True)]
        image = Labels.of(names)
        _, first = np.unique(image.code, return_index=True)
        maps = record.map.astype(np.float32)
        flat = maps.reshape(len(maps), -1)
        if not np.isfinite(flat).all():
            raise UserError(f"The maps of {agent} have infinite values: every importance must be a number.")
        pictures = np.clip(resize_maps(grey[first], (maps.shape[1], maps.shape[2])), 0, 1)
        return cls(str(agent), Labels.of(frame["concept"]), Labels.of(frame["participant"]), image.code, pictures, maps)

    def __len__(self) -> int:
        return len(self.maps)

    @property
    def size(self) -> tuple[int, int]:
        return self.maps.shape[1], self.maps.shape[2]

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.concept.names

    @property
    def names(self) -> list[str]:
        """What a sentence calls each row."""
        who = zip(self.participant.code, self.concept.code, strict=True)
        return [f"{self.participant.names[p]} for {self.concept.names[c]} ({self.agent})" for p, c in who]

    @cached_property
    def blurred(self) -> np.ndarray:
        """(n, h, w) float32."""
        return blur(self.maps)

    @cached_property
    def ranked(self) -> np.ndarray:
        """(n, h·w) float32, of the blurred maps."""
        if len(flat := np.flatnonzero(np.ptp(self.maps.reshape(len(self), -1), axis=1) == 0)):
            rank_maps(self.maps[flat[:1]], [self.names[flat[0]]])  # refuses it by name
        return rank_maps(self.blurred, self.names)

    @cached_property
    def mean_maps(self) -> np.ndarray:
        """(k, h, w): of each concept the mean over participants and images, as they are."""
        return np.stack([self.maps[self.rows(c)].mean(axis=0) for c in range(len(self.concepts))])

    @cached_property
    def mean_ink(self) -> np.ndarray:
        """(k, h, w) in [0, 1]: of each concept the mean ink under its annotations."""
        return np.stack([self.pictures[self.image[self.rows(c)]].mean(axis=0) for c in range(len(self.concepts))])

    def rows(self, concept: int) -> np.ndarray:
        return np.flatnonzero(self.concept.code == concept)

    def subset(self, rows: np.ndarray) -> Annotations:
        """These annotations (a mask, or whole numbers)."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        part = replace(
            self,
            concept=self.concept.subset(chosen),
            participant=self.participant.subset(chosen),
            image=self.image[chosen],
            maps=self.maps[chosen],
        )
        for name in ("blurred", "ranked"):  # kept, where they were made
            if name in self.__dict__:
                part.__dict__[name] = self.__dict__[name][chosen]
        return part

    def only(self, concepts: Sequence[str]) -> Annotations:
        """Of these concepts, in this order."""
        code = [self.concepts.index(concept) for concept in concepts]
        rows = np.concatenate([self.rows(c) for c in code])
        part = self.subset(rows)
        labels = Labels.of(self.concept.names[c] for c in self.concept.code[rows])
        return replace(part, concept=labels)

    def resized(self, size: tuple[int, int]) -> Annotations:
        if size == self.size:
            return self
        return replace(self, maps=resize_maps(self.maps, size), pictures=resize_maps(self.pictures, size))


def split_agents(record: Maps) -> list[Annotations]:
    """One per agent, in the order of the record."""
    if len(record) == 0:
        raise UserError("There are no maps in this record: make some first.")
    agents = record.frame["agent"].astype(str)
    return [Annotations.of(record.subset((agents == agent).to_numpy())) for agent in agents.unique()]


def to_one_size(all_of: Sequence[Annotations]) -> tuple[list[Annotations], list[str]]:
    """All on the grid of the largest, and a sentence for each that was resized; other proportions are refused."""
    largest = max((one.size for one in all_of), key=lambda size: size[0] * size[1])
    said = []
    for one in all_of:
        if one.size[0] * largest[1] != one.size[1] * largest[0]:
            raise UserError(
                f"The maps of {one.agent} are {_told(one.size)} and others {_told(largest)}: maps of other "
                "proportions cannot be "
                "compared, make them alike."
            )
        if one.size != largest:
            said.append(f"The maps of {one.agent} were resized from {_told(one.size)} to {_told(largest)}.")
    return [one.resized(largest) for one in all_of], said


def _grey(images: np.ndarray) -> np.ndarray:
    """(n, h, w) float32 in [0, 1]."""
    scaled = images.astype(np.float32) / np.float32(255 if images.dtype == np.uint8 else 1)
    return scaled.mean(axis=3) if images.ndim == 4 else scaled


def _told(size: tuple[int, int]) -> str:
    return f"{size[0]} × {size[1]} px"
