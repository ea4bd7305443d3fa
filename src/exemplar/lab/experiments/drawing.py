"""Draw another one, by people: an exemplar is shown (or a word), variations of it are drawn with pen, mouse or finger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from exemplar import draw, images, seeds
from exemplar.errors import UserError
from exemplar.lab.experiments.protocol import Done, Next, Rejected, check_fields, read_flag, read_number
from exemplar.lab.experiments.texts import CONSENT, DRAWING_HINT, DRAWING_INSTRUCTIONS, DRAWING_LIMIT
from exemplar.lab.strokes import read_bitmap, read_strokes

LIMITS = {"undone": 1e6, "cleared": 1e6, "duration_ms": 1e9, "at": 1e15}
FIELDS = ("strokes", "pointer", "timed_out", *LIMITS)
POINTERS = ("pen", "mouse", "touch")
TITLES = {"copy": "Draw it again", "creative": "Draw a variation", "word": "Draw a word"}
SECONDS_A_DRAWING = {"copy": 12, "creative": 15, "word": 22}
# Words of Quick, Draw! that everybody can draw.
WORDS = ("apple", "bicycle", "bird", "butterfly", "cat", "clock", "fish", "flower", "house", "key", "ladder", "moon",
         "mushroom", "octopus", "star", "sun", "tent", "tree", "umbrella", "whale")  # fmt: skip


@dataclass(frozen=True)
class DrawingExperiment:
    """instruction: copy, creative or word; data, split: whose concepts; concepts: that a person draws; drawings: of each;
    limit_s: seconds for a drawing, None for no limit; wanted: sessions of each set of concepts."""

    type: ClassVar[str] = "drawing"
    name: str = "copy"
    instruction: str = "copy"
    data: str = "glyphs"
    split: str = "weak-test"
    words: tuple[str, ...] = WORDS
    concepts: int = 4
    drawings: int = 4
    limit_s: float | None = None
    wanted: int | None = None
    title: str = ""
    contact: str = ""
    ask: tuple[Mapping[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.instruction not in DRAWING_INSTRUCTIONS:
            raise UserError(f"There is no instruction {self.instruction!r}: choose {', '.join(DRAWING_INSTRUCTIONS)}.")
        for name in ("concepts", "drawings"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise UserError(f"{self.name}: {name} must be at least 1, got {getattr(self, name)}.")
        limit = self.limit_s
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int | float) or not 1 <= limit <= 600
        ):
            raise UserError(f"{self.name}: limit_s must be from 1 to 600 seconds, or null, got {limit!r}.")
        if self.instruction == "word" and len(self.words) < self.concepts:
            raise UserError(f"{self.name}: {self.concepts} concepts need as many words, there are {len(self.words)}.")

    @property
    def has_result(self) -> bool:
        """With fewer drawings of a character nothing can be said about how they vary."""
        return self.instruction != "word" and self.concepts >= 2 and self.drawings >= 3

    def describe(self) -> dict[str, Any]:
        limit = [] if self.limit_s is None else [DRAWING_LIMIT.format(seconds=self.limit_s)]
        minutes = self.concepts * self.drawings * SECONDS_A_DRAWING[self.instruction] / 60
        return {
            "name": self.name,
            "type": self.type,
            "title": self.title or TITLES[self.instruction],
            "summary": "See a drawing once (or read a word), and draw it in your own way.",
            "minutes": max(1, round(minutes)),
            "consent": list(CONSENT),
            "instructions": [*DRAWING_INSTRUCTIONS[self.instruction], *limit, DRAWING_HINT],
            "ask": [dict(field) for field in self.ask],
            "contact": self.contact,
        }

    def choose_next(self, done: Sequence[Done]) -> Next | Rejected | None:
        return None if done else Next("main", tuple(self.parts()), 1)

    def quota(self) -> int | None:
        return self.wanted

    def parts(self) -> dict[str, tuple[str, ...]]:
        """Sets of concepts, one of which a person draws; every concept is in one set, the last ones perhaps in none."""
        found = self.words if self.instruction == "word" else list_concepts(self.data, self.split)
        order = seeds.rng("lab", "drawing sets", len(found)).permutation(len(found))
        n = len(found) // self.concepts
        if not n:
            raise UserError(f"{self.data}/{self.split} has {len(found)} concepts, not {self.concepts}: ask for fewer.")
        sets = order[: n * self.concepts].reshape(n, self.concepts)
        return {f"set {k + 1:03d}": tuple(found[int(i)] for i in sorted(one)) for k, one in enumerate(sets)}

    def make_plan(self, kind: str, part: str, seed: int) -> dict[str, Any]:
        concepts = self.parts()[part]
        rng = seeds.rng("lab", "drawing", part, seed)
        order = [concepts[int(i)] for i in rng.permutation(len(concepts))]
        key = "word" if self.instruction == "word" else "exemplar"
        trials = [
            {"concept": concept, key: concept, "number": k + 1, "of": self.drawings}
            for concept in order
            for k in range(self.drawings)
        ]
        return {"type": self.type, "trials": trials}

    def show_plan(self, plan: Mapping[str, Any], address: Callable[[str], str]) -> dict[str, Any]:
        trials = [
            {
                "exemplar": address(trial["exemplar"]) if "exemplar" in trial else None,
                "word": trial.get("word"),
                "number": trial["number"],
                "of": trial["of"],
            }
            for trial in plan["trials"]
        ]
        return {"type": self.type, "instruction": self.instruction, "limit_s": self.limit_s, "trials": trials}

    def check_answer(
        self, plan: Mapping[str, Any], trial: int, answer: Mapping[str, Any], *, bot: bool = False
    ) -> bool | None:
        check_fields(answer, (*FIELDS, "bitmap") if bot else FIELDS)
        timed_out = read_flag(answer, "timed_out")
        for name, high in LIMITS.items():
            read_number(answer, name, low=0, high=high, missing=True)
        if answer.get("pointer") is not None and answer["pointer"] not in POINTERS:
            raise UserError(f"pointer must be one of {', '.join(POINTERS)}, got {str(answer['pointer'])[:40]!r}.")
        strokes = read_strokes(answer.get("strokes"))
        if "bitmap" in answer:
            read_bitmap(answer["bitmap"])
        elif not strokes and not timed_out:
            raise UserError("The drawing is empty: draw something.")
        return None

    def bonus(self, n_correct: int) -> float | None:
        return None

    def list_images(self) -> Sequence[str]:
        return [] if self.instruction == "word" else list_concepts(self.data, self.split)

    def draw_image(self, name: str) -> np.ndarray:
        """The exemplar, black on white."""
        task = find_task(self.data, self.split)
        shown: np.ndarray = 255 - task.exemplars[task.concepts.index(name)]
        return shown


@lru_cache(maxsize=8)
def list_concepts(data: str, split: str) -> tuple[str, ...]:
    found: tuple[str, ...] = images.load(data, split).concepts
    return found


@lru_cache(maxsize=8)
def find_task(data: str, split: str) -> draw.DrawingTask:
    """The task that every drawing agent has on these data, with the same exemplars."""
    return draw.make_task(images.load(data, split))
