"""How agents of the rooms do the lab's tasks: they see what a browser shows, and answer as it would."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from PIL import Image

from exemplar import attend, draw, learn, seeds, spaces
from exemplar.errors import UserError
from exemplar.lab.experiments.drawing import find_task
from exemplar.lab.experiments.protocol import Experiment
from exemplar.lab.strokes import pack_bitmap
from exemplar.user_code import is_named, load_named

Fetch = Callable[[str], bytes]
Places = Sequence[tuple[int, int]]
Guess = Callable[[Places], Mapping[str, Any]]  # what a partner says to what was painted so far
MS_A_STROKE = 100.0  # of a bot that paints: forty take less than the limit
SIDE = 16  # px per side of what a bot without an encoder sees


class Player(Protocol):
    """One bot's hands and eyes."""

    def begin(self, plan: Mapping[str, Any], *, seed: int, number: int) -> None:
        """A new session. number: which of the participant's, from 1."""

    def answer(self, trial: Mapping[str, Any], fetch: Fetch, guess: Guess) -> dict[str, Any]: ...


class Learner:
    """An agent of `learn`: chooses by what it sees, and hears whether it was right."""

    def __init__(self, agent: str, encode: Callable[[np.ndarray], np.ndarray]) -> None:
        self.name, self.encode = agent, encode
        self.agent: learn.Agent | None = None

    def begin(self, plan: Mapping[str, Any], *, seed: int, number: int) -> None:
        kind = load_named(self.name, "class") if is_named(self.name) else None
        self.agent = kind() if kind else learn.make_agent(self.name, n_choices=plan["n_choices"])
        self.agent.reset(seeds.rng("lab bot", self.name, seed, number))

    def answer(self, trial: Mapping[str, Any], fetch: Fetch, guess: Guess) -> dict[str, Any]:
        assert self.agent is not None
        choice = int(self.agent.choose(self.encode(read_image(fetch(trial["image"])))))
        self.agent.feedback(1.0 if choice == trial["right"] else -1.0)
        return {"choice": choice, "timed_out": False}


class Drawer:
    """An agent of `draw`: draws after the exemplar. What it leaves is a bitmap, since it has no strokes."""

    def __init__(self, experiment: Any, agent: str) -> None:
        if experiment.instruction == "word":
            raise UserError(
                f"{experiment.name} shows words, and {agent} draws after drawings: choose another experiment."
            )
        self.name, self.sample = agent, draw.make_agent(agent, find_task(experiment.data, experiment.split))
        self.drawn: dict[tuple[str, int], np.ndarray] = {}
        self.seed, self.number = 0, 0

    def begin(self, plan: Mapping[str, Any], *, seed: int, number: int) -> None:
        self.seed, self.number, self.drawn = seed, number, {}

    def answer(self, trial: Mapping[str, Any], fetch: Fetch, guess: Guess) -> dict[str, Any]:
        shown = 255 - read_image(fetch(trial["exemplar"]))
        key = (trial["exemplar"], trial["of"])
        if key not in self.drawn:
            rng = seeds.rng("lab bot", self.name, self.seed, self.number, len(self.drawn))
            self.drawn[key] = draw_after(self.sample, shown, trial["of"], rng)
        return {"strokes": [], "bitmap": pack_bitmap(self.drawn[key][trial["number"] - 1])}


class Judge:
    """Whoever tells people's drawings from machines': "guesser", or a class with choose(left, right) of one's own."""

    def __init__(self, agent: str) -> None:
        if agent != "guesser" and not is_named(agent):
            raise UserError(f"{agent} cannot judge drawings: give guesser, or file.py:Class with choose(left, right).")
        self.name = agent
        self.rng = seeds.rng("lab bot")
        self.agent: Any = None

    def begin(self, plan: Mapping[str, Any], *, seed: int, number: int) -> None:
        self.rng = seeds.rng("lab bot", self.name, seed, number)
        self.agent = load_named(self.name, "class")() if is_named(self.name) else None

    def answer(self, trial: Mapping[str, Any], fetch: Fetch, guess: Guess) -> dict[str, Any]:
        if self.agent is None:
            return {"choice": int(self.rng.integers(2))}
        left, right = (255 - read_image(fetch(trial[side])) for side in ("left", "right"))
        return {"choice": int(self.agent.choose(left, right))}


class Painter:
    """A simulated player of `attend`, by what it prefers: ink, corners or random; and how reliably, as in corners@0.5."""

    def __init__(self, agent: str) -> None:
        self.name, _, share = agent.partition("@")
        try:
            self.reliability = float(share or 0.8)
        except ValueError:
            raise UserError(f"{agent}: how reliable a player is is a number from 0 to 1, as in corners@0.5.") from None
        self.player(np.full((8, 8), 255, np.uint8))  # says so if there is no such preference
        self.seed, self.number, self.round = 0, 0, 0

    def player(self, picture: np.ndarray) -> attend.Player:
        return attend.Player.seeing(self.name, picture[None], self.reliability)

    def begin(self, plan: Mapping[str, Any], *, seed: int, number: int) -> None:
        self.seed, self.number, self.round = seed, number, 0

    def answer(self, trial: Mapping[str, Any], fetch: Fetch, guess: Guess) -> dict[str, Any]:
        self.round += 1
        rng = seeds.rng("lab bot", self.name, self.reliability, self.seed, self.number, self.round)
        right = False

        def look(places: Places) -> bool:
            nonlocal right
            right = bool(guess(places)["right"])
            return right

        places = attend.play_one(self.player(255 - read_image(fetch(trial["image"]))), 0, look, rng)
        path = [[row, column, MS_A_STROKE * k] for k, (row, column) in enumerate(places)]
        return {"places": path, "skipped": False, "timed_out": not right}


def make_player(experiment: Experiment, agent: str, stage: str) -> Player:
    """The bot for an experiment. stage: what a learner sees by."""
    if experiment.type == "learning":
        if not is_named(agent):
            learn.make_agent(agent)  # says so if there is none of that name
        return Learner(agent, make_encoder(stage))
    if experiment.type == "drawing":
        return Drawer(experiment, agent)
    if experiment.type == "clickme":
        return Painter(agent)
    return Judge(agent)


def make_encoder(stage: str) -> Callable[[np.ndarray], np.ndarray]:
    """image (h, w) uint8 → features (d,) of norm 1."""
    if stage == "pixels":
        return lambda image: _unit(_shrunk(image).ravel() / 255 - 0.5)
    space = spaces.load(stage)
    return lambda image: _unit(np.asarray(space.encode(image[None], device="cpu"))[0])


def draw_after(sample: Any, exemplar: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, h, w) uint8, ink 255: what an agent draws after one exemplar (h, w)."""
    drawn = np.asarray(sample(exemplar[None].astype(np.float32) / 255, n, rng))
    return np.where(drawn[0] >= 0.5, 255, 0).astype(np.uint8)


def read_image(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("L"))


def agent_name(agent: str) -> str:
    """What the records call it: the class, where it is one's own."""
    return agent.rpartition(":")[2] if is_named(agent) else agent


def _shrunk(image: np.ndarray) -> np.ndarray:
    side = Image.fromarray(image).resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(side, float)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / max(float(np.linalg.norm(x)), 1e-12)
