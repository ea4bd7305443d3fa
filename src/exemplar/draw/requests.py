"""What everyone is asked, and by whom they are scored: the arguments of a verb become a task and its critics, each loaded
once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.draw.agents import AGENTS, is_agent, make_agent
from exemplar.draw.agents.trained import find_seen
from exemplar.draw.choices import check_ways, choose_concepts
from exemplar.draw.critics import Critics, load_critics
from exemplar.draw.drawings import arrange_drawings, read_drawings, sample_drawings
from exemplar.draw.own_drawers import HUMAN, SIMULATED_DRAWERS, claim, refuse_reserved
from exemplar.draw.sample_store import keep_samples
from exemplar.draw.scores import DEFAULT, ScoreConfig
from exemplar.draw.tasks import (
    FEWEST,
    PEOPLE,
    SIMULATED,
    DrawingTask,
    centre_of,
    make_task,
    matched_own_rows,
    narrow_task,
    own_drawings,
)
from exemplar.errors import UserError, unknown
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.spaces.loading import PYTHON, find_space

SPLITS = {
    "quickdraw": "test",
    "quickdraw-bitmaps": "test",
}  # where the catalogue's default is one that critics have seen


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments of `draw.score` and `draw.compare` that everyone shares, as the verb's signature declares them; training:
    what the agent was trained on, DATA or DATA/SPLIT, if copies of it are looked for; ways: none for the default ones; only:
    the concepts that are scored, as `choices.choose_concepts` takes them, none for all; people: whether the drawings are
    compared with the data's own; see, recognise: names, or in Python whatever `exemplar.spaces.load` takes; match:
    whether the data's own drawings are brought to the agent's format before both are judged."""

    data: str = ""
    split: str | None = None
    exemplar: str = "centre"
    n: int | None = None
    seed: int = 0
    allow_seen: bool = False
    see: tuple[Any, ...] = ()
    recognise: tuple[Any, ...] = ()
    training: str | None = None
    normalise: str = "sample"
    unbiased: bool = False
    ways: tuple[int, ...] = ()
    episodes: int = 0
    only: tuple[str, ...] = ()
    people: bool = True
    match: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.data, Path):
            object.__setattr__(self, "data", str(self.data))

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Request:
        """As the config.json of a run has it; what an older run did not know has its default."""
        names = {field.name for field in fields(cls)}
        if not isinstance(asked.get("data"), str) or not set(asked) <= names:
            raise UserError(
                "the first run folder does not say what was drawn: give --data, or score the drawings again"
            )
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()
        }
        return cls(**values)

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for."""
        return self == Request()

    def plain(self, n: int) -> dict[str, Any]:
        """For config.json; n: drawings per concept that were compared."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        named = {kind: [_say_critic(given) for given in getattr(self, kind)] for kind in ("see", "recognise")}
        return {**found, **named, "only": list(self._chosen) if self.only else [], "n": n}

    @cached_property
    def config(self) -> ScoreConfig:
        return ScoreConfig(
            ways=self.ways or DEFAULT.ways,
            normalise=self.normalise,
            unbiased=self.unbiased,
            episodes=self.episodes,
            with_drawers=self.people,
        )

    @cached_property
    def concepts(self) -> ConceptSet:
        """What is scored of the data; a mistake in what was asked is found before anything else is loaded."""
        data = self._whole.only(concepts=self._chosen) if self.only else self._whole
        if data.n_concepts < 2:
            raise UserError(f"Recognizability needs at least 2 concepts; {data.name} has {data.n_concepts}.")
        check_ways(self.ways, data)
        return data

    @property
    def _most_of_some(self) -> int | None:
        """As many drawings as there are of each of some concepts, besides the exemplar; None where all are asked for."""
        return max(int(self.concepts.counts.min()) - 1, 0) or None if self.only else None

    @cached_property
    def _chosen(self) -> tuple[str, ...]:
        """The names of the concepts that were asked for."""
        return choose_concepts(self._whole, self.only, self.seed)

    @cached_property
    def _whole(self) -> ConceptSet:
        """The data, each image decoded once."""
        _ = self.config  # a mistake in it is found before anything is loaded
        split = self.split or (SPLITS.get(self.data) if isinstance(self.data, str) else None)
        return load(self.data, split).in_memory()

    @cached_property
    def critics(self) -> Critics:
        """Each network loaded once, and refused if it was trained on these concepts."""
        chosen = {"see": self.see, "recognise": self.recognise}
        critics = load_critics(self._whole, allow_seen=self.allow_seen, **chosen)
        critics.find_seen(self.concepts)
        return critics

    @cached_property
    def task(self) -> DrawingTask:
        data, critics = (
            self.concepts,
            self.critics,
        )  # critics first: what they have seen is refused before anything long begins
        how, _, name = self.exemplar.partition(":")
        centred = how == "centre"
        own = centred and not name and self._whole.exemplars is not None
        task = make_task(
            self._whole,
            exemplar=how if centred else self.exemplar,
            space=critics.find(name or centre_of(self._whole)) if centred and not own else None,
            n=self.n or self._most_of_some,
            rng=seeds.rng("exemplars", self.seed),
        )
        if task.n < FEWEST:
            raise UserError(
                f"{task.drawers} made only {task.n} drawings of some concept of {data.name} besides the exemplar: say with "
                "--n how many to compare, and nothing is compared with them"
            )
        task = narrow_task(task, self._chosen) if self.only else task
        if self.people:
            matched_own_rows(task, task.n)  # before anyone draws more than can be compared
        return task

    @cached_property
    def training_images(self) -> ConceptSet | None:
        name, _, split = (self.training or "").partition("/")
        return load(name, split or None) if name in CATALOGUE else load(self.training) if self.training else None


def _say_critic(given: Any) -> str:
    """A critic for config.json: its name, or of an object what it is called, which is no name to find it by."""
    return str(given) if isinstance(given, str | Path) else f"{PYTHON}{find_space(given).name}"


def find_drawings(
    who: Any,
    task: DrawingTask,
    *,
    agent: str | None = None,
    invert: bool = False,
    size: int | None = None,
    seed: int,
    said: list[str] | None = None,
) -> Drawings:
    """The drawings that a user names, of every concept of the task: a record, a function, an array (k, n, h, w), or text.

    An agent's name goes before a file's: write ./copies for a folder of that name. Nobody but the data's own drawers has
    their name. said: where sentences go about what was changed on the way.
    """
    found = _find_drawings(who, task, agent, invert, size, seed, [] if said is None else said)
    return claim(found, task)


def _find_drawings(
    who: Any, task: DrawingTask, agent: str | None, invert: bool, size: int | None, seed: int, said: list[str]
) -> Drawings:
    if isinstance(who, Drawings):
        return read_drawings(who, task, agent=agent, invert=invert, size=size, said=said)
    if hasattr(who, "shape") and hasattr(who, "dtype"):
        return arrange_drawings(who, task, agent=agent or "array", seed=seed, said=said)
    if isinstance(who, Callable) and not isinstance(who, str | Path):  # type: ignore[arg-type]
        refuse_reserved(agent or str(getattr(who, "__name__", type(who).__name__)))  # before it draws
        return sample_drawings(who, task, agent=agent, seed=seed, said=said)
    text = str(who)
    if text in (HUMAN, SIMULATED_DRAWERS):
        return _own(text, task)
    if is_agent(text) or (":" in text and not is_there(text)):
        name = agent or name_drawer(text)
        refuse_reserved(name)
        asked = None if is_agent(text) else said  # the room's own keep the contract
        sample = make_agent(text, task)
        said += find_seen(sample, task)
        return sample_drawings(keep_samples(sample), task, agent=name, seed=seed, said=asked)
    if not is_there(text):
        if text in (PEOPLE, SIMULATED):
            raise UserError(f"there is no drawer '{text}': did you mean {own_word(task)}, the data's own drawings?")
        raise unknown("drawer, file or folder", text, (HUMAN, SIMULATED_DRAWERS, *AGENTS))
    return read_drawings(text, task, agent=agent, invert=invert, size=size, said=said)


def name_drawer(text: str) -> str:
    """What an agent is called in tables: its name, without the folders it lies in."""
    name = re.sub(r"(?:.*[/\\])?([^/\\]*)\.py:", r"\1:", text).replace(":", ".")
    return name.rpartition("/")[2] if is_agent(text) else name


def own_word(task: DrawingTask) -> str:
    """What to call the data's own drawers on the command line."""
    return SIMULATED_DRAWERS if task.data.simulated else HUMAN


def is_there(path: str) -> bool:
    """Whether there is such a file or folder; what cannot be a path, since it is too long, say, is not."""
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError):  # RuntimeError: ~nobody has no home
        return False


def _own(word: str, task: DrawingTask) -> Drawings:
    """The data's own drawings, by the word that says truly whose they are."""
    if word == own_word(task):
        return own_drawings(task)
    if task.data.simulated:
        raise UserError(
            f"No person drew {task.data.name}, the package did: write {SIMULATED_DRAWERS} for its own drawers, or give --data "
            "that people drew, such as omniglot."
        )
    raise UserError(f"{task.data.name} was not drawn by the package: write {HUMAN} for its own drawings.")
