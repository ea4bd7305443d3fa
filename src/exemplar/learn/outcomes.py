"""What someone did in an experiment, and with which images, wherever it is kept: a run, Trials, the public files, counts.

A run keeps whether each trial was right, one bit per trial (0.4 MB for 32,000 sessions of 100): enough for every score, session
by session. Trials, which also tell what was shown and chosen, are 20 times as large and are kept where they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, shortened
from exemplar.files import npz_names, read_npz, write_npz
from exemplar.images.sources import find
from exemplar.learn.measures.curves import Behaviour, Curves, behaviour_in
from exemplar.learn.measures.oneshot import Generalization, Points
from exemplar.learn.people import (
    BEHAVIOUR,
    data_folder,
    generalization_in,
    load_curves,
    load_images,
    load_points,
    load_trials,
)
from exemplar.learn.tasks import TEST
from exemplar.records import Trials

KEPT = "behaviour.npz"
COUNTS = {1: "object_learning_exp1_curves.npz", 2: "object_learning_exp2_oneshot.npz"}
ONE_SHOT_OBJECT = "MutatorOneshotObject"  # what the public files call the objects of Experiment 2, before a number
Result = Behaviour | Curves | Generalization | Points


@dataclass(frozen=True, eq=False)
class Outcome:
    """agent: who; result: Behaviour or Curves (Experiment 1), Generalization or Points (2); images: subtask → names of the
    images in it, None where they are not known; n_choices: of a trial.
    """

    agent: str
    result: Result
    images: dict[str, frozenset[str]] | None
    n_choices: int = 2

    @property
    def experiment(self) -> int:
        return 1 if isinstance(self.result, Behaviour | Curves) else 2

    @property
    def subtasks(self) -> tuple[str, ...]:
        """Names, none where they are not known."""
        if isinstance(self.result, Behaviour | Curves):
            return self.result.subtasks
        return tuple(self.images or ())


def save_outcome(folder: Path, outcome: Outcome) -> Path:
    """Write `behaviour.npz` into a folder, whole or not at all."""
    result, path = outcome.result, folder / KEPT
    arrays = {"agent": np.array([outcome.agent]), "n_choices": np.array([outcome.n_choices])}
    if outcome.images is not None:
        names = list(outcome.images)
        pairs = [(place, image) for place, name in enumerate(names) for image in sorted(outcome.images[name])]
        arrays["shown_in"] = np.array([place for place, _ in pairs], np.uint16)
        arrays["shown"] = np.array([image for _, image in pairs])
        arrays["shown_subtask"] = np.array(names)
    if isinstance(result, Behaviour):
        arrays |= {"right": np.packbits(result.correct, axis=1), "n_trials": np.array([result.n_trials])}
        arrays |= {"subtask": result.subtask.astype(np.uint16), "subtasks": np.array(result.subtasks)}
        arrays["participant"] = result.participant.astype(str)
    elif isinstance(result, Generalization):
        counts = {"n_correct": result.n_correct, "n_shown": result.n_shown}
        counts |= {"catch_correct": result.catch_correct, "catch_shown": result.catch_shown}
        arrays |= {name: count.astype(np.uint16) for name, count in counts.items()}
        arrays["tests"] = np.array(result.tests)
    else:
        raise UserError("counts over sessions are kept in the file they came from: there is nothing more to save")
    write_npz(path, arrays)
    return path


def load_outcome(
    path: Path | str | None = None,
    *,
    experiment: int | None = None,
    images: Path | str | None = None,
    catch: bool = True,
) -> Outcome:
    """What is kept in a run's folder, a Trials file (or the folder with it), the public files, or counts.

    path: None for people's counts in EXEMPLAR_DATA; experiment: 1 unless given, where both are there; images: for Trials of
    Experiment 2, the folder with the metadata of the images (`data/meta-MutatorOneShotImageset.csv`), which tell the tests;
    catch: whether those are corrected by their catch trials, as people's are. A run's are not: a model does not lapse.
    """
    place = None if path is None else Path(path)
    if place is not None and not place.exists():
        raise UserError(f"there is no file or folder {place}")
    if place is None or (place / COUNTS[experiment or 1]).is_file():
        found = _counts(place, experiment or 1)
    elif (place / KEPT).is_file():
        found = _kept(place / KEPT)
    elif place.is_file() and place.suffix == ".parquet":
        found = outcome_in(Trials.load(place.parent, place.stem), images, catch=catch)
    elif (place / "trials.parquet").is_file():
        found = outcome_in(Trials.load(place), images, catch=catch)
    elif any((inner / "behavior").is_dir() for inner in (place, place / "data")):
        name = "oneshot" if experiment == 2 else "highvar"
        found = outcome_in(load_trials(place, name), place)
    else:
        raise UserError(
            f"{place} contains no recorded behaviour: give a run of `exemplar learn run`, a Trials file (.parquet), the public "
            "files (with data/behavior), or a folder with counts"
        )
    if experiment is not None and found.experiment != experiment:
        raise UserError(f"{place} is of Experiment {found.experiment}, not {experiment}: leave --experiment out")
    return found


def has_experiment(place: Path | str | None, experiment: int) -> bool:
    """Whether a folder (None: people's data on this machine) has public files or counts of this experiment."""
    found = Path(place) if place is not None else find("human")
    if found is None:
        return False
    public = data_folder(found) / "behavior" / BEHAVIOUR["highvar" if experiment == 1 else "oneshot"]
    return (found / COUNTS[experiment]).is_file() or public.is_file()


def outcome_in(trials: Trials, images: Path | str | None = None, *, catch: bool = True) -> Outcome:
    """Trials of one agent. images, catch: as in `load_outcome`."""
    agents = trials["agent"].unique().tolist()
    if len(agents) != 1:
        raise UserError(
            f"the trials are of {len(agents)} agents ({shortened(agents)}): keep one agent's in a file of its own"
        )
    pairs = trials.frame[["subtask", "stimulus"]].drop_duplicates()
    shown: dict[str, set[str]] = {}
    for subtask, image in zip(pairs["subtask"].astype(str), pairs["stimulus"].astype(str), strict=True):
        shown.setdefault(subtask, set()).add(image)
    seen = {name: frozenset(some) for name, some in sorted(shown.items())}
    n_choices = max(2, max((name.count(",") + 1 for name in seen), default=2))
    result: Result
    if not (trials["phase"] == TEST).any():
        result = behaviour_in(trials)
    elif images is None:
        raise UserError(
            "trials of Experiment 2 do not tell which test an image belongs to: name the folder with its metadata, --images"
        )
    else:
        counts = generalization_in(trials, load_images(images, "oneshot"))
        nothing = np.zeros_like(counts.catch_shown)
        result = counts if catch else replace(counts, catch_correct=nothing, catch_shown=nothing)
    return Outcome(str(agents[0]), result, seen, n_choices)


def same_images(model: Outcome, people: Outcome) -> tuple[bool, str]:
    """Whether both saw the same images in the same experiment, as far as can be told, and why it is said."""
    if model.experiment != people.experiment:
        raise UserError(
            f"one did Experiment {model.experiment}, the other Experiment {people.experiment}: compare the same experiment"
        )
    theirs, own = set(people.subtasks), set(model.subtasks)
    if isinstance(people.result, Points):
        objects = [name for subtask in own for name in subtask.split(",")]
        strange = sorted(name for name in objects if not name.startswith(ONE_SHOT_OBJECT))
        if not objects or strange:
            seen = f"of {shortened(strange, 3)}" if objects else "without names"
            return False, f"people saw objects called {ONE_SHOT_OBJECT}00 and so on, the model saw images {seen}"
        return True, "the objects have the same names (people's points do not name images)"
    shared = sorted(own & theirs)
    if not shared:
        names = shortened(sorted(own), 2) or "subtasks without names"
        return False, f"people learned {shortened(sorted(theirs), 2)}, the model learned {names}"
    if people.images is None:
        return True, "the subtasks have the same names (people's counts do not name images)"
    if model.images is None:
        return False, "the model's record does not name the images it saw (give features with the array `image`)"
    for name in shared:
        if not model.images[name] & people.images[name]:
            some = [min(side.images[name]) for side in (people, model) if side.images]
            return (
                False,
                f"in {name} people saw {some[0]} and others, the model {some[1]} and others, and none is the same",
            )
    return True, "images of the same names were shown"


def align(model: Outcome, people: Outcome) -> tuple[Result, Result]:
    """Both results over the subtasks (or tests) they share, in people's order; where they share no subtask, in the order each
    has them, which says little."""
    own, theirs = model.result, people.result
    if isinstance(own, Behaviour | Curves) and isinstance(theirs, Behaviour | Curves):
        shared = tuple(name for name in theirs.subtasks if name in own.subtasks)
        if shared:
            return _only(own, shared), _only(theirs, shared)
        if len(own.subtasks) != len(theirs.subtasks):
            raise UserError(
                f"people learned {len(theirs.subtasks)} subtasks, the model {len(own.subtasks)} others, which cannot be "
                "paired: run the model on the same number"
            )
        if isinstance(own, Behaviour):
            return Behaviour(own.correct, own.subtask, theirs.subtasks, own.participant), theirs
        return Curves(own.n_correct, own.n_sessions, theirs.subtasks), theirs
    if isinstance(own, Generalization | Points) and isinstance(theirs, Generalization | Points):
        return _reordered(own, theirs.tests), theirs
    raise UserError("the two did different experiments: compare the same one")


def _only(learning: Behaviour | Curves, subtasks: tuple[str, ...]) -> Behaviour | Curves:
    if learning.subtasks == subtasks:
        return learning
    if isinstance(learning, Behaviour):
        return learning.of(subtasks)
    rows = [learning.subtasks.index(name) for name in subtasks]
    return Curves(learning.n_correct[rows], learning.n_sessions[rows], subtasks)


def _reordered(result: Generalization | Points, tests: tuple[str, ...]) -> Generalization | Points:
    """With the same tests in another order, where they are the same."""
    if result.tests == tests or set(result.tests) != set(tests):
        return result
    columns = [result.tests.index(name) for name in tests]
    if isinstance(result, Points):
        return Points(result.accuracy[columns], result.variance[columns], tests)
    n_correct, n_shown = result.n_correct[:, columns], result.n_shown[:, columns]
    return Generalization(n_correct, n_shown, result.catch_correct, result.catch_shown, tests)


def _counts(place: Path | None, experiment: int) -> Outcome:
    return Outcome("human", load_curves(place) if experiment == 1 else load_points(place), None)


def _kept(path: Path) -> Outcome:
    """What `save_outcome` wrote."""
    there = npz_names(path)
    about = read_npz(path, agent=("U", 1), n_choices=("iu", 1))
    _check(path, len(about["agent"]) == len(about["n_choices"]) == 1 and int(about["n_choices"][0]) >= 2)
    images: dict[str, frozenset[str]] | None = None
    if "shown" in there:
        seen = read_npz(path, shown=("U", 1), shown_in=("u", 1), shown_subtask=("U", 1))
        names, place = seen["shown_subtask"].tolist(), seen["shown_in"]
        _check(path, len(place) == len(seen["shown"]) and set(place.tolist()) == set(range(len(set(names)))))
        images = {name: frozenset(seen["shown"][place == k].tolist()) for k, name in enumerate(names)}
    result: Result
    if "right" in there:
        data = read_npz(
            path, right=("u", 2), n_trials=("iu", 1), subtask=("u", 1), subtasks=("U", 1), participant=("U", 1)
        )
        names = tuple(data["subtasks"].tolist())
        _check(path, len(data["n_trials"]) == 1 and 1 <= int(data["n_trials"][0]) <= 8 * data["right"].shape[1])
        _check(path, len(data["right"]) == len(data["subtask"]) == len(data["participant"]) > 0)
        _check(path, int(data["subtask"].max()) < len(names) == len(set(names)))
        _check(path, images is None or set(images) == set(names))
        correct = np.unpackbits(data["right"], axis=1, count=int(data["n_trials"][0])).astype(bool)
        result = Behaviour(correct, data["subtask"].astype(np.intp), names, data["participant"])
    else:
        data = read_npz(
            path, n_correct=("u", 2), n_shown=("u", 2), catch_correct=("u", 1), catch_shown=("u", 1), tests=("U", 1)
        )
        whole = {name: count.astype(np.int64) for name, count in data.items() if name != "tests"}
        shape = (len(whole["n_shown"]), len(data["tests"]))
        _check(path, whole["n_shown"].shape == whole["n_correct"].shape == shape and min(shape) > 0)
        _check(path, len(whole["catch_shown"]) == len(whole["catch_correct"]) == shape[0])
        result = Generalization(**whole, tests=tuple(data["tests"].tolist()))
    return Outcome(str(about["agent"][0]), result, images, int(about["n_choices"][0]))


def _check(path: Path, fits: bool) -> None:
    if not fits:
        raise UserError(f"{path} has arrays that do not belong together: run it again")
