"""Learn from right and wrong, by people: Experiments 1 and 2 of Lee & DiCarlo (2023), trial by trial as published.

A participant passes a prescreening on two familiar objects, does warm-ups, then subtasks, each once. Which object goes with
which key is drawn for every session, and images never repeat within Experiment 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from exemplar import images, learn, seeds
from exemplar.errors import UserError
from exemplar.lab.experiments.protocol import Done, Next, Rejected, check_fields, read_choice, read_flag, read_number
from exemplar.lab.experiments.texts import CONSENT, LEARNING_INSTRUCTIONS

KEYS = {2: ("f", "j"), 3: ("f", "g", "j"), 4: ("d", "f", "j", "k")}
TIMING = {"image_ms": 200, "blank_ms": 50, "limit_ms": 10_000, "right_ms": 50, "wrong_ms": 500, "gray_ms": 50}
PRESCREENING, WARM_UP, MAIN = "prescreening", "warm-up", "main"
N_SCREENED, BAR = 100, 0.85  # trials of the prescreening, and the share that must be right
SECONDS_A_TRIAL = 1.8
LIMITS = {"reaction_time_ms": 1e9, "refresh_hz": 2e3, "image_ms": 1e9, "image_px": 1e5, "at": 1e15}
FIELDS = ("choice", "timed_out", "dropped_frames", *LIMITS)


@dataclass(frozen=True)
class LearningExperiment:
    """experiment: 1 (ever new views) or 2 (one view, then others); subtasks: pairs of built-in objects, 64 and 32 as
    published; sessions: that a person does; trials: of a session of Experiment 1; prescreening: whether there is one;
    warmups: sessions on other objects first; wanted: sessions of each subtask; bonus_each: for each correct trial; degrees: of
    visual angle, of an image's side; limit_s: seconds for a choice; images: a folder in the public layout, instead of the
    built-in objects."""

    type: ClassVar[str] = "learning"
    has_result: ClassVar[bool] = False
    name: str = "objects"
    experiment: int = 1
    subtasks: int = 64
    sessions: int = 4
    trials: int = 100
    prescreening: bool = True
    warmups: int = 4
    wanted: int | None = None
    bonus_each: float = 0.0
    currency: str = ""
    degrees: float = 6.0
    limit_s: float = 10.0
    images: str | None = None
    title: str = ""
    contact: str = ""
    ask: tuple[Mapping[str, str], ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.experiment not in (1, 2):
            raise UserError(f"There is no Experiment {self.experiment}: choose 1 (ever new views) or 2 (one view).")
        for name, least in (("subtasks", 1), ("sessions", 1), ("trials", 1), ("warmups", 0)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise UserError(f"{self.name}: {name} must be at least {least}, got {getattr(self, name)}.")
        for name, low, high in (("bonus_each", 0, 1000), ("degrees", 0.5, 60), ("limit_s", 1, 3600)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise UserError(f"{self.name}: {name} must be a number from {low} to {high}, got {value!r}.")
        if self.warmups > 4:
            raise UserError(f"{self.name}: there are 8 warm-up objects, so at most 4 warm-ups, got {self.warmups}.")
        if self.images is None and self.sessions > self.subtasks:
            raise UserError(
                f"{self.name}: a person does each subtask once, so {self.sessions} sessions need as many subtasks; there are "
                f"{self.subtasks}."
            )

    # What the page says -------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        n_trials = self.sessions * (self.trials if self.experiment == 1 else 20)
        n_trials += N_SCREENED * self.prescreening + 50 * self.warmups
        plain = {1: "Which object was that?", 2: "Would you know it again?"}
        return {
            "name": self.name,
            "type": self.type,
            "title": self.title or plain[self.experiment],
            "summary": "Learn, by right and wrong alone, to tell apart objects that nobody has seen before.",
            "minutes": max(1, round(n_trials * SECONDS_A_TRIAL / 60)),
            "consent": list(CONSENT),
            "instructions": [text.format(seconds=self.limit_s) for text in LEARNING_INSTRUCTIONS],
            "ask": [dict(field) for field in self.ask],
            "contact": self.contact,
            "currency": self.currency,
        }

    # What comes next ----------------------------------------------------------------------------------------------------

    def choose_next(self, done: Sequence[Done]) -> Next | Rejected | None:
        of = self.prescreening + self.warmups + self.sessions
        if self.prescreening:
            screened = [session for session in done if session.kind == PRESCREENING]
            if not screened:
                return Next(PRESCREENING, (PRESCREENING,), of)
            if screened[0].n_correct < BAR * screened[0].n_trials:
                return Rejected(
                    f"You were right on {screened[0].n_correct} of {screened[0].n_trials} trials. This experiment goes on only "
                    f"from {BAR:.0%}, so it ends here. Thank you for your time."
                )
        warmed = [session for session in done if session.kind == WARM_UP]
        if len(warmed) < self.warmups:
            return Next(WARM_UP, (f"{WARM_UP} {len(warmed) + 1}",), of)
        main = [session.part for session in done if session.kind == MAIN]
        left = tuple(name for name in self._stimuli().subtasks if name not in main)
        return Next(MAIN, left, of) if left and len(main) < self.sessions else None

    def quota(self) -> int | None:
        return self.wanted

    # What is shown ------------------------------------------------------------------------------------------------------

    def make_plan(self, kind: str, part: str, seed: int) -> dict[str, Any]:
        names, task = self._part(kind, part)
        shown = task.sample(1, 1, rng=seeds.rng("lab", "learning", kind, part, seed))
        rows, answers = shown.image[0, 0], shown.answer[0, 0]
        trials = [
            {"image": names[int(row)], "right": int(right), "phase": str(phase)}
            for row, right, phase in zip(rows, answers, shown.phase, strict=True)
        ]
        return {"type": self.type, "n_choices": shown.n_choices, "trials": trials}

    def show_plan(self, plan: Mapping[str, Any], address: Callable[[str], str]) -> dict[str, Any]:
        n_choices = plan["n_choices"]
        return {
            "type": self.type,
            "n_choices": n_choices,
            "keys": KEYS.get(n_choices, tuple("1234567890")[:n_choices]),
            "degrees": self.degrees,
            "timing": TIMING | {"limit_ms": round(1000 * self.limit_s)},
            "trials": [{"image": address(trial["image"]), "right": trial["right"]} for trial in plan["trials"]],
        }

    def check_answer(
        self, plan: Mapping[str, Any], trial: int, answer: Mapping[str, Any], *, bot: bool = False
    ) -> bool | None:
        check_fields(answer, FIELDS)
        timed_out = read_flag(answer, "timed_out")
        choice = read_choice(answer, plan["n_choices"], missing=timed_out)
        if timed_out and choice is not None:
            raise UserError("A trial that timed out has no choice: leave choice null.")
        for name, high in LIMITS.items():
            read_number(answer, name, low=0, high=high, missing=True)
        dropped = read_number(answer, "dropped_frames", low=0, high=1_000_000, missing=True)
        if dropped is not None and dropped % 1:
            raise UserError(f"dropped_frames must be a whole number, got {dropped}.")
        return not timed_out and choice == plan["trials"][trial]["right"]

    def bonus(self, n_correct: int) -> float | None:
        return round(n_correct * self.bonus_each, 6) if self.bonus_each else None

    # Images -------------------------------------------------------------------------------------------------------------

    def list_images(self) -> Sequence[str]:
        return [name for names, _ in self._sets() for name in names]

    def draw_image(self, name: str) -> np.ndarray:
        for names, pictures in self._sets():
            if name in names:
                drawn: np.ndarray = pictures.take(np.array([names[name]]))[0]
                return drawn
        raise UserError(f"{self.name} has no image {name}.")

    def list_tests(self) -> list[tuple[str, str, str]]:
        """(image, object, test) of every image of the subtasks; test: "scale | 0.5", "" where it is not scored."""
        stimuli = self._stimuli()
        return [
            (str(image), concept, str(test))
            for subtask, images_of, tests_of in zip(stimuli.subtasks, stimuli.image, stimuli.test, strict=True)
            for concept, row, tests in zip(subtask.split(","), images_of, tests_of, strict=True)
            for image, test in zip(row, tests, strict=True)
        ]

    def _stimuli(self) -> learn.Stimuli:
        return _load_stimuli(self.experiment, self.subtasks, self.images, self.seed)

    def _sets(self) -> tuple[tuple[dict[str, int], Any], ...]:
        return _load_sets(self.experiment, self.subtasks, self.images, self.seed)

    def _part(self, kind: str, part: str) -> tuple[list[str], learn.ObjectLearning | learn.OneShot]:
        """The names of a subtask's images, object after object, and the task that says which are shown."""
        _, warm, familiar = self._sets()
        if kind == MAIN:
            stimuli = self._stimuli()
            _, n_objects, n_images = stimuli.shape
            names = stimuli.image[stimuli.subtasks.index(part)].ravel().tolist()
            if self.experiment == 2:
                return names, learn.OneShot(n_images, n_objects=n_objects)
            return names, learn.ObjectLearning(self.trials, n_images, n_objects)
        table, pictures = warm if kind == WARM_UP else familiar
        first = 2 * (int(part.rpartition(" ")[2]) - 1) if kind == WARM_UP else 0
        concepts = pictures.concepts[first : first + 2]
        of = [str(concept) for concept in pictures.concept]
        names = [name for concept in concepts for name, row in table.items() if of[row] == concept]
        n_images = len(names) // 2
        n_trials = min(N_SCREENED, n_images) if kind == PRESCREENING else n_images
        return names, learn.ObjectLearning(n_trials, n_images)


@lru_cache(maxsize=8)
def _load_stimuli(experiment: int, subtasks: int, folder: str | None, seed: int) -> learn.Stimuli:
    if folder is not None:
        return learn.public_stimuli(Path(folder).expanduser(), experiment)
    return learn.built_in_stimuli(experiment, images.ObjectsConfig(2 * subtasks, seed=seed))


@lru_cache(maxsize=8)
def _load_sets(experiment: int, subtasks: int, folder: str | None, seed: int) -> tuple[tuple[dict[str, int], Any], ...]:
    """(name → row, images) of the subtasks, the warm-ups and the prescreening."""
    stimuli = _load_stimuli(experiment, subtasks, folder, seed)
    familiar = images.load_objects("familiar", images.ObjectsConfig(seed=seed))
    return (
        ({name: row for row, name in enumerate(stimuli.image.ravel().tolist())}, stimuli.pictures),
        (_names(stimuli.warmup), stimuli.warmup),
        (_names(familiar), familiar),
    )


def _names(pictures: Any) -> dict[str, int]:
    pairs = zip(pictures.concept, pictures.maker, strict=True)
    return {f"{concept}-{maker}.png": row for row, (concept, maker) in enumerate(pairs)}
