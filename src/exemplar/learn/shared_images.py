"""Whether two learned from the same images: how many they share, how that is known, and what to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exemplar.errors import UserError, shortened
from exemplar.learn.measures.curves import Learning
from exemplar.learn.measures.oneshot import Tested
from exemplar.learn.outcomes import Outcome

ENOUGH = 0.9  # share of images in common; below, two are not compared unless told
ONE_SHOT_OBJECT = "MutatorOneshotObject"  # what the public files call the objects of Experiment 2, before a number


@dataclass(frozen=True)
class SharedImages:
    """share: of the images of the one who saw fewer, in the subtasks both did, those the other saw too; None where nobody can
    tell; by: what was compared, "images", "names" (only names of subtasks or objects are known), or "nothing"; n_subtasks: both
    did; reason: why, in words.
    """

    share: float | None
    by: str
    n_subtasks: int
    reason: str

    @property
    def same(self) -> bool:
        return self.by == "names" or (self.share is not None and self.share >= ENOUGH)

    @property
    def warnings(self) -> list[str]:
        return [f"only names match: {self.reason}, so nobody can tell whether both saw the same images"] * (
            self.by == "names"
        )

    @property
    def notes(self) -> list[str]:
        """The share in common, where images are known."""
        return [f"{100 * (self.share or 0):.1f} % of the images are the same, in {self.n_subtasks} subtasks"] * (
            self.by == "images"
        )

    def values(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"share": self.share, "by": self.by, "subtasks": self.n_subtasks}


def share_images(model: Outcome, people: Outcome) -> SharedImages:
    """What two records have in common, as far as can be told."""
    if model.experiment != people.experiment:
        raise UserError(
            f"one did Experiment {model.experiment}, the other Experiment {people.experiment}: compare the same experiment"
        )
    if model.n_choices != people.n_choices:
        raise UserError(
            f"one had {model.n_choices} choices on a trial and the other {people.n_choices}: compare tasks with as many"
        )
    theirs, own = set(people.subtasks), set(model.subtasks)
    if not theirs:
        return _by_object_names(own)
    shared = sorted(own & theirs)
    if not shared:
        names = shortened(sorted(own), 2) or "subtasks without names"
        return SharedImages(
            0.0, "nothing", 0, f"people learned {shortened(sorted(theirs), 2)}, the model learned {names}"
        )
    if people.images is None:
        reason = "people's counts do not name images, and the subtasks have the same names"
        return SharedImages(None, "names", len(shared), reason)
    if model.images is None:
        reason = "the model's record does not name the images it saw (give features with the array `image`)"
        return SharedImages(None, "nothing", len(shared), reason)
    common = sum(len(model.images[name] & people.images[name]) for name in shared)
    share = common / sum(_of_how_many(model, people, name) for name in shared)
    return SharedImages(share, "images", len(shared), f"{100 * share:.1f} % of the images are the same")


def _of_how_many(model: Outcome, people: Outcome, name: str) -> int:
    """Images of a subtask that could be the same. A record of what was shown may lack some by chance, and a run's has all: what
    people saw and a model did not have is another image."""
    assert model.images is not None and people.images is not None
    sizes = len(model.images[name]), len(people.images[name])
    if model.whole == people.whole:
        return max(sizes) if model.whole else min(sizes)
    return sizes[0] if people.whole else sizes[1]


def _by_object_names(own: set[str]) -> SharedImages:
    """People's published points name neither images nor subtasks, only what the objects were called."""
    objects = [name for subtask in own for name in subtask.split(",")]
    strange = sorted(name for name in objects if not name.startswith(ONE_SHOT_OBJECT))
    if objects and not strange:
        reason = "people's points do not name images, and the objects have the same names"
        return SharedImages(None, "names", len(own), reason)
    seen = f"of {shortened(strange, 3)}" if objects else "without names"
    return SharedImages(
        0.0, "nothing", 0, f"people saw objects called {ONE_SHOT_OBJECT}00 and so on, the model saw images {seen}"
    )


def align_learning(own: Learning, theirs: Learning) -> tuple[Learning, Learning]:
    """Both over the subtasks they share, in people's order; where they share none, in the order each has them, which says
    little."""
    shared = tuple(name for name in theirs.subtasks if name in own.subtasks)
    if shared:
        return own.of(shared), theirs.of(shared)
    if len(own.subtasks) != len(theirs.subtasks):
        raise UserError(
            f"people learned {len(theirs.subtasks)} subtasks, the model {len(own.subtasks)} others, which cannot be paired: "
            "run the model on the same number"
        )
    return own.renamed(theirs.subtasks), theirs


def align_tests(own: Tested, theirs: Tested) -> tuple[Tested, Tested]:
    """Both with the tests in people's order."""
    return own.of(theirs.tests), theirs
