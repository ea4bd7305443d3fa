"""Alphabets of invented characters, drawn here: nothing to download, and how much drawers vary is a knob.

A character is a small program of strokes (`programs`), a drawer has a hand (`hands`), and every drawing has a name, its
character's and its drawer's, from which alone it follows: a part of the set has exactly the drawings of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.images import ink
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import hands, programs
from exemplar.images.glyphs.hands import Traces
from exemplar.images.pixels import Packed

__all__ = ["SPLITS", "GlyphsConfig", "Traces", "load_glyphs", "redraw", "trace"]

SPLITS = {
    "all": "every character",
    "weak-train": "the characters after the third of each alphabet",
    "weak-test": "the first three characters of each alphabet",
    "background": "the first two thirds of the alphabets",
    "evaluation": "the other alphabets",
}
DRAWER = "drawer"  # the set's own drawers are drawer01, drawer02, …
N_WEAK_TEST = 3


@dataclass(frozen=True)
class GlyphsConfig:
    """alphabets: how many; characters: of an alphabet, on average (two to four thirds of it); drawers: each draws every
    character once; size: px; spread: how much drawings of a character vary, 0 not at all, 1 about as Omniglot's."""

    alphabets: int = 30
    characters: int = 30
    drawers: int = 20
    size: int = 105
    spread: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("alphabets", 1), ("characters", 4), ("drawers", 1), ("size", 16)):
            if getattr(self, name) < least:
                raise UserError(f"glyphs with {name}={getattr(self, name)}: give at least {least}")
        if not 0 <= self.spread <= 5:  # beyond, a small drawing is but a dot
            raise UserError(
                f"glyphs with spread={self.spread}: give a number from 0 (all alike) to 5; the default is 1"
            )


DEFAULT = GlyphsConfig()


def load_glyphs(split: str, config: GlyphsConfig = DEFAULT) -> ConceptSet:
    """The drawings of a split (see SPLITS), character by character, binary, one bit per pixel.

    Concepts are "Alphabet/character07", groups alphabets, makers "drawer03".
    """
    if split not in SPLITS:
        raise unknown("split of glyphs", split, SPLITS)
    concepts = [name for name, place in _catalogue(config).items() if _is_in(split, *place, config.alphabets)]
    if not concepts:
        raise UserError(f"the split {split} is empty with alphabets={config.alphabets}: ask for more alphabets")
    drawings = _draw(concepts, config.drawers, config, DRAWER)
    pixels = Packed(
        np.concatenate([Packed.of(_binary(traces, config.size)).bits for traces in drawings]), (config.size,) * 2
    )
    drawers = [f"{DRAWER}{k + 1:02d}" for k in range(config.drawers)]
    return ConceptSet.of(
        f"glyphs/{split}",
        pixels,
        concept=[concept for concept in concepts for _ in drawers],
        group=[concept.split("/")[0] for concept in concepts for _ in drawers],
        maker=drawers * len(concepts),
        simulated=True,
        family="glyphs",
    )


def redraw(
    concepts: Sequence[str],
    n: int,
    *,
    config: GlyphsConfig = DEFAULT,
    spread: float | None = None,
    drawer: str = "stranger",
) -> np.ndarray:
    """Each character drawn by n drawers, "stranger01", "stranger02", …: (len(concepts), n, size, size) uint8, ink 255.

    concepts: names as in the set; spread: the configuration's unless given. A drawer's name fixes the hand, with the
    character's it fixes the drawing; at another spread the same drawing varies more or less. drawer="drawer" gives the set's.
    """
    drawings = _draw(concepts, n, _at(spread, config), drawer)
    out = np.empty((len(concepts), n, config.size, config.size), np.uint8)
    for images, traces in zip(out, drawings, strict=True):
        images[:] = _binary(traces, config.size)
    return out


def trace(
    concepts: Sequence[str],
    n: int,
    *,
    config: GlyphsConfig = DEFAULT,
    spread: float | None = None,
    drawer: str = DRAWER,
) -> Traces:
    """The strokes of what `redraw` draws, by default here by the set's own drawers: len(concepts) · n drawings, the n of
    the first character first."""
    return hands.joined(list(_draw(concepts, n, _at(spread, config), drawer)))


def _draw(concepts: Sequence[str], n: int, config: GlyphsConfig, drawer: str) -> Iterator[Traces]:
    """The drawings of one character after the other, each by n drawers."""
    if n < 1 or len(concepts) == 0:
        raise UserError(f"{len(concepts)} characters by {n} drawers is nothing to draw: give at least one of each")
    catalogue = _catalogue(config)
    places = [_place(catalogue, concept) for concept in concepts]
    needed = {alphabet: number + 1 for alphabet, number in sorted(places)}  # characters follow from those before them
    drawers = [f"{drawer}{k + 1:02d}" for k in range(n)]
    their_hands = np.stack([hands.hand(name, config.seed) for name in drawers])

    def of(concept: str, alphabet: int, number: int) -> Traces:
        character = programs.characters(alphabet, needed[alphabet], config.seed)[number]
        noises = np.stack([hands.noise(concept, name, character, config.seed) for name in drawers])
        return hands.draw(character, their_hands, noises, spread=config.spread, size=config.size)

    return (of(concept, *place) for concept, place in zip(concepts, places, strict=True))


def _catalogue(config: GlyphsConfig) -> dict[str, tuple[int, int]]:
    """Each concept's alphabet and its number in it, from 0."""
    return {
        f"{name}/character{number + 1:02d}": (alphabet, number)
        for alphabet, name in enumerate(programs.names(config.alphabets, config.seed))
        for number in range(programs.count(alphabet, config.characters, config.seed))
    }


def _place(catalogue: dict[str, tuple[int, int]], concept: str) -> tuple[int, int]:
    if concept not in catalogue:
        raise unknown("glyph", concept, catalogue)
    return catalogue[concept]


def _is_in(split: str, alphabet: int, number: int, alphabets: int) -> bool:
    if split.startswith("weak"):
        return (number < N_WEAK_TEST) == (split == "weak-test")
    return split == "all" or (alphabet < round(alphabets * 2 / 3)) == (split == "background")


def _binary(traces: Traces, size: int) -> np.ndarray:
    """(n, size, size) uint8: ink 255 where the pen covers at least half of the pixel, as Omniglot's drawings are."""
    coverage = ink.render(traces.points, traces.strokes, traces.images, size=(size, size), width=traces.width)
    return np.where(coverage >= 128, np.uint8(255), np.uint8(0))


def _at(spread: float | None, config: GlyphsConfig) -> GlyphsConfig:
    return config if spread is None else replace(config, spread=spread)
