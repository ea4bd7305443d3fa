"""Show what matters, by people: ClickMe (Linsley et al. 2018), as Boutin et al. (2023, S) played it on drawings.

A player sees a drawing and its name, and paints over what tells what it is; a partner sees what was painted, and guesses. The
server alone looks through the partner's eyes: what a browser says of a guess is never believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from exemplar import attend, seeds
from exemplar.errors import UserError
from exemplar.lab.brush import BRUSH, MOST_PLACES, SIDE, paint, places_of, read_path, read_places
from exemplar.lab.experiments.protocol import Done, Next, Rejected, check_fields, read_flag, read_number
from exemplar.lab.experiments.texts import CLICKME_INSTRUCTIONS, CONSENT

TEMPLATES = "templates"
LIMITS = {"duration_ms": 1e9, "at": 1e15}
FIELDS = ("places", "pointer", "skipped", "timed_out", *LIMITS)
POINTERS = ("pen", "mouse", "touch")
MOST_POINTS = 100  # of a round
SECONDS_A_ROUND = 12


@dataclass(frozen=True)
class ClickMeExperiment:
    """data, split: drawings, as `exemplar attend maps` takes them; partner: who guesses, by name, as FOLDER/NAME, or templates
    (the exemplars, no training); only: concepts by name, otherwise those that the partner knows; concepts, drawings: how many,
    and of each; rounds: of a session, at most; sessions: that a person does; limit_s: from the first touch; show_exemplars:
    guesses as pictures, where names say nothing; wanted: sessions of each set of drawings."""

    type: ClassVar[str] = "clickme"
    name: str = "clickme"
    data: str = "glyphs"
    split: str | None = None
    partner: str = "partner-glyphs-25-s0"
    only: tuple[str, ...] = ()
    concepts: int = 25
    drawings: int = 10
    rounds: int = 25
    sessions: int = 1
    limit_s: float = 5.0
    show_exemplars: bool = False
    wanted: int | None = None
    title: str = ""
    contact: str = ""
    ask: tuple[Mapping[str, str], ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("concepts", 2), ("drawings", 1), ("rounds", 1), ("sessions", 1)):
            if getattr(self, name) < least:
                raise UserError(f"{self.name}: {name} must be at least {least}, got {getattr(self, name)}.")
        if not 1 <= self.limit_s <= 60:
            raise UserError(f"{self.name}: limit_s must be from 1 to 60 seconds, got {self.limit_s}.")

    @property
    def has_result(self) -> bool:
        return True

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "title": self.title or "Show what matters",
            "summary": "Uncover drawings for a partner, who has to guess what they are.",
            "minutes": max(1, round(self.sessions * self.rounds * SECONDS_A_ROUND / 60)),
            "consent": list(CONSENT),
            "instructions": [text.format(seconds=self.limit_s) for text in CLICKME_INSTRUCTIONS],
            "ask": [dict(field) for field in self.ask],
            "contact": self.contact,
            "about": f"Drawings: {self.data}{f'/{self.split}' if self.split else ''}"
            f"{', by simulated drawers' if self.data == 'glyphs' else ''}; partner: {self.partner}.",
        }

    # What comes next ----------------------------------------------------------------------------------------------------

    def choose_next(self, done: Sequence[Done]) -> Next | Rejected | None:
        sets = self.parts()
        left = tuple(name for name in sets if name not in {session.part for session in done})
        of = min(self.sessions, len(sets))
        return Next("main", left, of) if left and len(done) < of else None

    def quota(self) -> int | None:
        return self.wanted

    def parts(self) -> dict[str, tuple[str, ...]]:
        """Sets of drawings, one of which is a session; every drawing is in one set, and no set has a concept twice as long as
        there are others."""
        game = self.game()
        order = [
            seeds.rng("lab", "clickme sets", self.seed, concept).permutation(names).tolist()
            for concept, names in game.shown.items()
        ]
        turns = [one[k] for k in range(max(map(len, order))) for one in order if k < len(one)]
        n = -(-len(turns) // self.rounds)
        edges = [len(turns) * k // n for k in range(n + 1)]  # sets of one size, or nearly
        return {f"set {k + 1:03d}": tuple(turns[edges[k] : edges[k + 1]]) for k in range(n)}

    def make_plan(self, kind: str, part: str, seed: int) -> dict[str, Any]:
        game, names = self.game(), self.parts()[part]
        order = seeds.rng("lab", "clickme", part, seed).permutation(len(names))
        trials = [{"concept": game.concept_of(names[int(k)]), "drawing": names[int(k)]} for k in order]
        return {"type": self.type, "trials": trials}

    def show_plan(self, plan: Mapping[str, Any], address: Callable[[str], str]) -> dict[str, Any]:
        trials = [{"image": address(trial["drawing"]), "name": readable(trial["concept"])} for trial in plan["trials"]]
        shown = self.game().partner.concepts if self.show_exemplars else ()
        pictures = {readable(concept): address(EXEMPLAR + concept) for concept in shown}
        rules = {"limit_ms": round(1000 * self.limit_s), "side": SIDE, "brush": BRUSH}
        rules |= {"most_places": MOST_PLACES, "most_points": MOST_POINTS}
        return {"type": self.type, **rules, "pictures": pictures, "trials": trials}

    # The partner --------------------------------------------------------------------------------------------------------

    def guess(self, plan: Mapping[str, Any], trial: int, places: Any) -> dict[str, Any]:
        """What the partner says, shown what was painted at these places, and whether that is right."""
        said = self._look(plan["trials"][trial], read_places(places))
        return {"guess": readable(said), "right": said == plan["trials"][trial]["concept"]}

    def _look(self, planned: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> str:
        """ "" where nothing of the drawing can be seen: what a classifier says to an empty page is luck."""
        game = self.game()
        seen = attend.uncover(game.task.image[game.row_of(planned["drawing"])], paint(places))
        return attend.guess(game.partner, seen).name if seen.any() else ""

    def check_answer(
        self, plan: Mapping[str, Any], trial: int, answer: Mapping[str, Any], *, bot: bool = False
    ) -> bool | None:
        """Right if the partner is, when it sees all that was painted before it was skipped or time was up."""
        check_fields(answer, FIELDS)
        skipped, timed_out = read_flag(answer, "skipped"), read_flag(answer, "timed_out")
        for name, high in LIMITS.items():
            read_number(answer, name, low=0, high=high, missing=True)
        if answer.get("pointer") is not None and answer["pointer"] not in POINTERS:
            raise UserError(f"pointer must be one of {', '.join(POINTERS)}, got {str(answer['pointer'])[:40]!r}.")
        path = read_path(answer.get("places"), 1000 * self.limit_s)
        if skipped and timed_out:
            raise UserError("A round that was skipped has not timed out: only one of them can be true.")
        if not path and not skipped:
            raise UserError("Nothing was painted: paint something, or skip the drawing.")
        return not skipped and self._look(plan["trials"][trial], places_of(path)) == plan["trials"][trial]["concept"]

    def bonus(self, n_correct: int) -> float | None:
        return None

    # Images -------------------------------------------------------------------------------------------------------------

    def list_images(self) -> Sequence[str]:
        game = self.game()
        shown = [EXEMPLAR + concept for concept in game.partner.concepts] if self.show_exemplars else []
        return [*(name for names in game.shown.values() for name in names), *shown]

    def draw_image(self, name: str) -> np.ndarray:
        """Black on white, on the canvas."""
        game = self.game()
        if name.startswith(EXEMPLAR):
            return np.asarray(255 - game.task.exemplar[game.task.concepts.index(name.removeprefix(EXEMPLAR))])
        return np.asarray(255 - game.task.image[game.row_of(name)])

    def game(self) -> Game:
        return load_game(self.data, self.split, self.partner, self.only, self.concepts, self.drawings, self.seed)


EXEMPLAR = "exemplar|"


@dataclass(frozen=True, eq=False)
class Game:
    """task: on the canvas; name: (n,) of each of its drawings, from its pixels, so that records still know it should files
    change; shown: concept → names of the drawings that the partner recognizes as a whole."""

    task: attend.AttendTask
    partner: attend.Partner
    name: tuple[str, ...]
    shown: Mapping[str, tuple[str, ...]]

    def row_of(self, name: str) -> int:
        if name not in self.name:
            raise UserError(
                f"A drawing that was shown is no longer in {self.task.data}: put its files back as they were."
            )
        return self.name.index(name)

    def concept_of(self, name: str) -> str:
        return self.task.names[self.row_of(name)]


@lru_cache(maxsize=8)
def load_game(
    data: str, split: str | None, partner: str, only: tuple[str, ...], concepts: int, drawings: int, seed: int
) -> Game:
    """The drawings that models are asked about with the same arguments, and a partner who knows their concepts. Those that the
    partner does not recognize even as a whole are not shown: nobody could win."""
    trained = None if partner == TEMPLATES else attend.load_partner(partner)
    asked: dict[str, Any] = {"n_concepts": concepts, "n_drawings": drawings, "seed": seed, "size": SIDE}
    if trained is not None:
        strange = sorted(set(only) - set(trained.concepts))
        if strange:
            raise UserError(f"{partner} does not know {strange[0]}: train a partner on the concepts of the game.")
        only = only or trained.concepts[:concepts]
    task = attend.make_task(data, split, only=only, **asked)
    who: attend.Partner = trained or attend.Templates.of(task)
    names = tuple(seeds.digest(concept, image) for concept, image in zip(task.names, task.image, strict=True))
    told = [who.concepts[code] for code in who.log_p(task.image).argmax(axis=1)]
    shown: dict[str, tuple[str, ...]] = {
        concept: tuple(
            dict.fromkeys(name for name, of, said in zip(names, task.names, told, strict=True) if of == said == concept)
        )
        for concept in task.concepts
    }
    for concept, found in shown.items():
        if not found:
            raise UserError(
                f"{partner} recognizes none of the {drawings} drawings of {concept}, so nobody could win: train it longer, or "
                "choose others with `only`."
            )
    return Game(replace(task, warnings=()), who, names, shown)


def readable(concept: str) -> str:
    """A concept as players read it."""
    return concept.replace("/", ", ").replace("_", " ")


def count_points(ms: float, limit_s: float) -> int:
    """Of a round that was won: from MOST_POINTS for the first touch down to 1, by when its last place was painted."""
    return 1 + int((MOST_POINTS - 1) * max(0.0, 1 - ms / (1000 * limit_s)))
