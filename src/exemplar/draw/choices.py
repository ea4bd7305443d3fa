"""What a user chooses in words: among how many concepts drawings are named, and which concepts are scored at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, shortened
from exemplar.files import reading
from exemplar.images.concepts import ConceptSet

ALL = "all"


def read_ways(given: Any) -> tuple[int, ...]:
    """Numbers of ways, each once, 0 for all: of 20, "20", "all", "5,20,all", or several of these.

    >>> read_ways(["5,20", "all"])
    (5, 20, 0)
    """
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    words = [word for one in several for word in (one.split(",") if isinstance(one, str) else [one])]
    return tuple(dict.fromkeys(map(_read_way, words)))


def read_words(given: Any) -> tuple[str, ...]:
    """One word, number or path, or several, as text; None is none."""
    if given is None:
        return ()
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return tuple(map(str, several))


def _read_way(word: Any) -> int:
    text = str(word).strip()
    if text == ALL:
        return 0
    if isinstance(word, bool) or not text.isdecimal() or int(text) < 2:
        raise UserError(f"The number of ways must be 2 or more, or all, got {text!r}.")
    return int(text)


def check_ways(ways: Sequence[int], data: ConceptSet) -> None:
    """Refuse more ways than there are concepts."""
    if ways and max(ways) > data.n_concepts:
        raise UserError(
            f"{max(ways)} ways need as many concepts, {data.name} has {data.n_concepts}: lower --ways, or give all"
        )


def choose_concepts(data: ConceptSet, given: Sequence[Any], seed: int) -> tuple[str, ...]:
    """The names of the concepts that are asked for, in the data's order.

    given: names; or one number, of concepts chosen at random by the seed, the same for everyone; or one file with a name on
    each line. A name of the data goes before a number or a file.
    """
    words = [str(word) for word in given]
    if len(words) == 1 and words[0] not in data.concepts:
        (word,) = words
        if word.strip().isdecimal():
            return _some(data, int(word), seed)
        if _is_file(word):
            path = Path(word).expanduser()
            with reading(path, "a list of concepts"):
                words = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        elif Path(word).suffix == ".txt":
            raise UserError(f"There is no file {word} with names of concepts: check where it is.")
    wanted = set(words)
    found = tuple(data.only(concepts=wanted).concepts) if wanted else ()
    if len(found) < 2:
        raise UserError(f"Recognizability needs at least 2 concepts, --concepts names {shortened(found) or 'none'}.")
    return found


def _some(data: ConceptSet, number: int, seed: int) -> tuple[str, ...]:
    if not 2 <= number <= data.n_concepts:
        raise UserError(
            f"{data.name} has {data.n_concepts} concepts: give --concepts a number from 2 to {data.n_concepts}, got {number}."
        )
    chosen = np.sort(seeds.rng("some concepts", seed).permutation(data.n_concepts)[:number])
    return tuple(data.concepts[place] for place in chosen)


def _is_file(word: str) -> bool:
    try:
        return Path(word).expanduser().is_file()
    except (OSError, RuntimeError):  # what cannot be a path
        return False
