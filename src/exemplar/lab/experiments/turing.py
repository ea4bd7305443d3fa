"""Which of two drawings did a person make? People as judges of drawing agents, concept by concept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from exemplar import draw, seeds
from exemplar.errors import UserError
from exemplar.lab.experiments.drawing import find_task, list_concepts
from exemplar.lab.experiments.protocol import Done, Next, Rejected, check_fields, read_choice, read_number
from exemplar.lab.experiments.texts import CONSENT, TURING_INSTRUCTIONS
from exemplar.records import Drawings

FIELDS = ("choice", "reaction_time_ms", "at")
PEOPLE = "people"
PER_CONCEPT = 3  # drawings of each agent that may be shown


@dataclass(frozen=True)
class TuringExperiment:
    """agents: drawing agents (`exemplar draw agents`), or folders of their drawings; data, split: whose concepts, and people's
    drawings of them; trials: of a session; show_exemplar: whether the exemplar stands above the two."""

    type: ClassVar[str] = "turing"
    has_result: ClassVar[bool] = False
    name: str = "turing"
    agents: tuple[str, ...] = ("redraw@1", "redraw@2")
    data: str = "glyphs"
    split: str = "weak-test"
    trials: int = 20
    show_exemplar: bool = False
    title: str = ""
    contact: str = ""
    ask: tuple[Mapping[str, str], ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.agents:
            raise UserError(f"{self.name} has no agents to judge: name some in `agents`.")
        if not isinstance(self.trials, int) or self.trials < 1:
            raise UserError(f"{self.name}: trials must be at least 1, got {self.trials}.")

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "title": self.title or "Person or machine?",
            "summary": "Tell a person's drawing from a computer's.",
            "minutes": max(1, round(self.trials * 4 / 60)),
            "consent": list(CONSENT),
            "instructions": list(TURING_INSTRUCTIONS),
            "ask": [dict(field) for field in self.ask],
            "contact": self.contact,
        }

    def choose_next(self, done: Sequence[Done]) -> Next | Rejected | None:
        return None if done else Next("main", ("all",), 1)

    def quota(self) -> int | None:
        return None

    def make_plan(self, kind: str, part: str, seed: int) -> dict[str, Any]:
        """Agents in turn, concepts without repetition as long as there are any left, sides at random."""
        rng = seeds.rng("lab", "turing", seed)
        concepts = list_concepts(self.data, self.split)
        order = np.concatenate([rng.permutation(len(concepts)) for _ in range(-(-self.trials // len(concepts)))])
        agents = rng.permutation(np.arange(self.trials) % len(self.agents))
        trials = []
        for concept, agent in zip(order[: self.trials], agents, strict=True):
            mine, theirs = rng.integers(PER_CONCEPT, size=2)
            person, machine = (
                f"{PEOPLE}|{concepts[concept]}|{mine}",
                f"{self.agents[agent]}|{concepts[concept]}|{theirs}",
            )
            right = int(rng.integers(2))
            sides = (person, machine) if right == 0 else (machine, person)
            one = {"concept": concepts[concept], "agent": self.agents[agent], "left": sides[0], "right": sides[1]}
            trials.append(one | {"answer": right, "exemplar": f"exemplar|{concepts[concept]}|0"})
        return {"type": self.type, "trials": trials}

    def show_plan(self, plan: Mapping[str, Any], address: Callable[[str], str]) -> dict[str, Any]:
        trials = [
            {
                "exemplar": address(trial["exemplar"]) if self.show_exemplar else None,
                "left": address(trial["left"]),
                "right": address(trial["right"]),
            }
            for trial in plan["trials"]
        ]
        return {"type": self.type, "trials": trials}

    def check_answer(
        self, plan: Mapping[str, Any], trial: int, answer: Mapping[str, Any], *, bot: bool = False
    ) -> bool | None:
        check_fields(answer, FIELDS)
        read_number(answer, "reaction_time_ms", low=0, high=1e9, missing=True)
        read_number(answer, "at", low=0, high=1e15, missing=True)
        return read_choice(answer, 2) == plan["trials"][trial]["answer"]

    def bonus(self, n_correct: int) -> float | None:
        return None

    def list_images(self) -> Sequence[str]:
        for who in self.agents:
            _check_agent(who, self.data, self.split, self.seed)
        makers = [(who, PER_CONCEPT) for who in (PEOPLE, *self.agents)] + [("exemplar", 1)]
        concepts = list_concepts(self.data, self.split)
        return [f"{who}|{concept}|{k}" for who, n in makers for concept in concepts for k in range(n)]

    def draw_image(self, name: str) -> np.ndarray:
        """Black on white, all of one size, so that nothing but the drawing tells who made it."""
        who, concept, number = name.split("|")
        task = find_task(self.data, self.split)
        place = task.concepts.index(concept)
        if who == "exemplar":
            return np.asarray(255 - task.exemplars[place])
        found = load_drawings(who, self.data, self.split, self.seed)
        return np.asarray(255 - found[place, int(number)])


def _check_agent(who: str, data: str, split: str, seed: int) -> None:
    """Whether there is such an agent, or are such drawings; it draws later, when its drawings are asked for."""
    if Path(who).is_dir():
        load_drawings(who, data, split, seed)
    else:
        draw.make_agent(who, find_task(data, split))


@lru_cache(maxsize=32)
def load_drawings(who: str, data: str, split: str, seed: int) -> np.ndarray:
    """(concepts, PER_CONCEPT, h, w) uint8, ink 255: what these drawers drew of every concept."""
    task = find_task(data, split)
    if who == PEOPLE:
        own: np.ndarray = np.stack(
            [
                task.data.take(_others(task, place, seeds.rng("lab", "turing people", seed, place)))
                for place in range(len(task.concepts))
            ]
        )
        return own
    if Path(who).is_dir():
        record = draw.read_drawings(Path(who), task)
    else:
        with TemporaryDirectory() as place:
            record = draw.sample(
                who, data=data, split=split, n=PER_CONCEPT, out=Path(place) / "drawn", seed=seed
            ).drawings
    return _by_concept(record, task.concepts, who)


def _others(task: draw.DrawingTask, place: int, rng: np.random.Generator) -> np.ndarray:
    """Some of the data's own drawings of a concept, never the exemplar."""
    rows = np.setdiff1d(np.flatnonzero(task.data.concept.code == place), task.exemplar)
    if len(rows) < PER_CONCEPT:
        raise UserError(f"{task.data.name} has fewer than {PER_CONCEPT + 1} drawings of {task.concepts[place]}.")
    return rng.choice(rows, PER_CONCEPT, replace=False)


def _by_concept(record: Drawings, concepts: Sequence[str], who: str) -> np.ndarray:
    labels = record["concept"].astype(str).to_numpy()
    image = record.image if record.image.dtype == np.uint8 else np.rint(255 * record.image).astype(np.uint8)
    parts = [image[labels == concept][:PER_CONCEPT] for concept in concepts]
    if min(map(len, parts)) < PER_CONCEPT:
        raise UserError(f"{who} has fewer than {PER_CONCEPT} drawings of some concept: draw more of them.")
    return np.stack(parts)
