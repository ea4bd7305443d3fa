"""What is asked: here is one drawing of each concept, draw n more. What the data's own drawers did is in the data already."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exemplar.draw.default_critics import defaults_of
from exemplar.errors import UserError, shortened, unknown
from exemplar.images.concepts import ConceptSet
from exemplar.images.formats import Format, bring_to
from exemplar.records import Drawings
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.exemplars import central_exemplars, drawer_exemplars, random_exemplars
from exemplar.spaces.inputs import as_bytes
from exemplar.spaces.space import Space
from exemplar.spaces.zoo import load_space

PEOPLE, SIMULATED = "people", "simulated drawers"  # who made the data: never the one where it was the other
OWN = "centre of its cluster, as the data set comes with it"  # how exemplars of QuickDraw-FS were chosen
FEWEST = 3  # drawings per concept: with fewer there is no telling how certain a score is


@dataclass(frozen=True, eq=False)
class DrawingTask:
    """One exemplar per concept, n drawings asked of each.

    data: the concepts, k of them, and what its own drawers drew; exemplar: (k,) rows of data, in the order of its concepts;
    chosen_by: "centre in simclr-omniglot-released-s0", "drawer drawer04" or "random". whole: the task that this is a part of,
    where only some of its concepts were asked for; judged_in: the format that the data's own drawings are brought to before
    critics see them, their own unless given.
    """

    data: ConceptSet
    exemplar: np.ndarray
    chosen_by: str
    n: int
    whole: DrawingTask | None = None
    judged_in: Format | None = None

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.data.concepts

    @property
    def drawers(self) -> str:
        """Who made the data: people, or simulated drawers where the package drew it."""
        return SIMULATED if self.data.simulated else PEOPLE

    @property
    def exemplar_rows(self) -> np.ndarray:
        """(k,) rows of the whole data, as records have them: the same whether all concepts were asked for or some."""
        if self.whole is None:
            return self.exemplar
        return self.whole.exemplar[[self.whole.concepts.index(name) for name in self.concepts]]

    @property
    def left_out(self) -> frozenset[str]:
        """Concepts of the whole data that were not asked for: drawings of these are passed over."""
        return frozenset(self.whole.concepts if self.whole else ()) - frozenset(self.concepts)

    @cached_property
    def exemplars(self) -> np.ndarray:
        """(k, h, w) uint8, ink 255."""
        return self.data.take(self.exemplar)

    @cached_property
    def judged_data(self) -> ConceptSet:
        """The data as critics see it."""
        return self.data if self.judged_in is None else bring_to(self.data, self.judged_in).in_memory()

    @cached_property
    def judged_exemplars(self) -> np.ndarray:
        """(k, h, w) uint8: the exemplars as critics see them. They get the strokes of the drawings but keep their resolution:
        so drawings are recognised best, and as original as they were (see the study `resolution`)."""
        if self.judged_in is None:
            return self.exemplars
        size = (self.data.shape[0], self.data.shape[1])
        return bring_to(self.data, replace(self.judged_in, size=size, grain=size)).take(self.exemplar)


def make_task(
    data: ConceptSet,
    *,
    exemplar: str = "centre",
    space: Space | None = None,
    n: int | None = None,
    rng: np.random.Generator | None = None,
) -> DrawingTask:
    """The task on a set of drawings.

    exemplar: "centre", the exemplar that the data set comes with, where it does and no space is given, else the drawing nearest
    to its concept's mean (Eq. 1) in `space` (centre_of's unless given); "drawer:NAME", that maker's; "random", any, by rng.
    n: drawings asked of each concept, by default as many as its drawers made of every concept besides the exemplar, so that
    everyone is compared at their number.
    """
    if len(data.shape) != 2:
        raise UserError(f"{data.name} holds colour images: drawing needs drawings, of one channel")
    if len(data) == 0:
        raise UserError(f"{data.name} is empty: give drawings of at least two concepts")
    fewest = int(data.counts.min())
    if n is None and fewest < 2:
        alone = [name for name, count in zip(data.concepts, data.counts, strict=True) if count < 2]
        raise UserError(
            f"{data.name} has only one drawing of {shortened(alone, 3)}, and that is the exemplar: add drawings, or say with "
            "--n how many are asked for"
        )
    if n is not None and n < 1:
        raise UserError(f"The number of drawings per concept must be at least 1, got {n}.")
    labels = data.concept.code
    kind, _, maker = exemplar.partition(":")
    match kind, maker:
        case "centre", "" if space is None and data.exemplars is not None:
            rows, chosen_by = data.exemplars, OWN
        case "centre", "":
            space = space or load_space(centre_of(data))
            rows = central_exemplars(encode_kept(space, data), labels)
            chosen_by = f"centre in {space.name}"
        case "drawer", name if name:
            if name not in data.maker.names:
                raise unknown("drawer", name, data.maker.names, where=data.name)
            rows = drawer_exemplars(labels, data.maker.code, data.maker.names.index(name))
            chosen_by = f"drawer {name}"
        case "random", "":
            if rng is None:
                raise TypeError("random exemplars need rng")
            rows, chosen_by = random_exemplars(labels, rng=rng), "random"
        case _:
            raise unknown("way to choose the exemplar", exemplar, ("centre", "drawer:NAME", "random"))
    return DrawingTask(data, rows, chosen_by, fewest - 1 if n is None else n)


def narrow_task(task: DrawingTask, concepts: Collection[str]) -> DrawingTask:
    """The task on some of its concepts, with the same exemplars."""
    places = [place for place, name in enumerate(task.concepts) if name in concepts]
    inside = np.isin(task.data.concept.code, places)
    row = np.cumsum(inside) - 1  # of each image that stays, among those that do
    return replace(task, data=task.data.subset(inside), exemplar=row[task.exemplar[places]], whole=task)


def centre_of(data: ConceptSet | str) -> str:
    """The name of the space in which exemplars of this data are central unless another is given."""
    return defaults_of(data).centre


def own_drawings(task: DrawingTask, *, n: int | None = None, rng: np.random.Generator | None = None) -> Drawings:
    """What the data's own drawers drew: n drawings of each concept (the task's unless given), never the exemplar.

    Without rng they are the first ones in the data's order, with it any.
    """
    n = task.n if n is None else n
    left = task.data.counts - 1
    if n > left.min():
        few = [name for name, count in zip(task.concepts, left, strict=True) if count < n]
        raise UserError(
            f"{task.drawers} made fewer than {n} drawings of {shortened(few, 3)} besides the exemplar: ask for {left.min()} or "
            "fewer"
        )
    rows = own_rows(task, n, rng=rng)
    return as_drawings(task.data.take(rows.ravel()).reshape(*rows.shape, *task.data.shape), task, agent=task.drawers)


def own_rows(task: DrawingTask, n: int, *, rng: np.random.Generator | None = None) -> np.ndarray:
    """(k, n) rows of the data: its own drawings of each concept without the exemplar, the first n, or by rng any n."""
    labels = task.data.concept.code
    order = np.arange(len(labels)) if rng is None else rng.permutation(len(labels))
    order = order[~np.isin(order, task.exemplar)]
    order = order[np.argsort(labels[order], kind="stable")]  # by concept, as they came within
    starts = np.searchsorted(labels[order], np.arange(len(task.concepts)))
    return order[starts[:, None] + np.arange(n)]


def matched_own_rows(task: DrawingTask, n: int) -> np.ndarray | None:
    """(k, n) rows of the data: as many of its own drawings as there are of the agent's; None where it has too few."""
    n_own = int(task.data.counts.min()) - 1
    if n < FEWEST:
        raise UserError(f"there are {n} drawings of some concept: scores need at least {FEWEST} of each")
    if n_own < FEWEST:
        return None
    if n > n_own:
        raise UserError(
            f"{task.drawers} made {n_own} drawings of some concept besides the exemplar, not {n}, and scores depend on the "
            f"number: ask for {n_own} or fewer, or compare nothing with {task.drawers} (--no-people)"
        )
    return own_rows(task, n)


def as_drawings(images: np.ndarray, task: DrawingTask, *, agent: str, seed: int = 0) -> Drawings:
    """A record of these. images: (k, n, h, w) uint8, or float in [0, 1], ink high, concepts in the task's order."""
    k, n = images.shape[:2]
    return Drawings.of(
        agent=agent,
        data=task.data.name,
        concept=np.repeat(np.array(task.concepts, dtype=object), n),
        exemplar=np.repeat(task.exemplar_rows, n),
        index=np.tile(np.arange(n), k),
        seed=seed,
        image=as_bytes(images.reshape(k * n, *images.shape[2:])),
    )


def concept_of(task: DrawingTask, exemplars: np.ndarray) -> np.ndarray:
    """(m,) which of the task's concepts each of these exemplars stands for: for agents that are told the answer.

    exemplars: (m, h, w) float32 in [0, 1], some of the task's, in any order.
    """
    known = {image.tobytes(): place for place, image in reversed(list(enumerate(task.exemplars)))}
    shown = [known.get(image.tobytes(), -1) for image in as_bytes(exemplars)]
    if -1 in shown:
        raise UserError(f"exemplar {shown.index(-1)} is none of {task.data.name}'s: show this agent those of its task")
    return np.array(shown, np.intp)
