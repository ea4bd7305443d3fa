"""What someone did in an experiment, and with which images, wherever it is kept: a run, Trials, the public files, aggregates.

Trials are the record, whoever learned. Published aggregates (counts over sessions, points read off a figure) are the second
kind of input: they give curves and can be resampled as Trials can, and are never expanded into trials that nobody recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar.dense_trials import DenseTrials, has_dense_trials
from exemplar.errors import UserError, shortened
from exemplar.images.sources import obtain
from exemplar.learn.measures.curves import Behaviour, Learning
from exemplar.learn.measures.oneshot import Tested, count_tests
from exemplar.learn.measures.reading import behaviour_in
from exemplar.learn.people import (
    BEHAVIOUR,
    IMAGE_SETS,
    data_folder,
    generalization_in,
    load_curves,
    load_images,
    load_points,
    load_trials,
)
from exemplar.learn.tasks import CATCH, TEST
from exemplar.records import Trials

COUNTS = {1: "object_learning_exp1_curves.npz", 2: "object_learning_exp2_oneshot.npz"}
Result = Learning | Tested


@dataclass(frozen=True, eq=False)
class Outcome:
    """agent: who; result: of Experiment 1 (Behaviour, or counts: Curves) or 2 (Generalization, or Points); images: subtask →
    names of the images in it, None where they are not known; whole: whether those are all that could have been shown, not
    only those that were.
    """

    agent: str
    result: Result
    images: dict[str, frozenset[str]] | None
    whole: bool = False

    @property
    def experiment(self) -> int:
        return self.result.experiment

    @property
    def n_choices(self) -> int:
        return self.result.n_choices

    @property
    def subtasks(self) -> tuple[str, ...]:
        """Names, none where they are not known."""
        return getattr(self.result, "subtasks", None) or tuple(self.images or ())

    def learning(self) -> Learning:
        """What was done in Experiment 1."""
        if self.result.experiment != 1:
            raise UserError(
                f"{self.agent} did Experiment 2, which has no learning curves: give a record of Experiment 1"
            )
        return self.result  # type: ignore[return-value]

    def tested(self) -> Tested:
        """What was done in Experiment 2."""
        if self.result.experiment != 2:
            raise UserError(f"{self.agent} did Experiment 1, which has no tests: give a record of Experiment 2")
        return self.result  # type: ignore[return-value]


def load_outcome(
    path: Path | str | None = None,
    *,
    experiment: int | None = None,
    images: Path | str | None = None,
    catch: bool = True,
) -> Outcome:
    """What is kept in a run's folder, a Trials file (or the folder with it), the public files, or aggregates.

    path: None for people's counts, which ship; experiment: 1 unless given, where both are there; images: for Trials of
    Experiment 2, the folder with the metadata of the images (`data/meta-MutatorOneShotImageset.csv`), which tell the tests;
    catch: whether those are corrected by their catch trials, as people's are. A run's are not: a model does not lapse.
    """
    place = None if path is None else Path(path)
    if place is not None and not place.exists():
        raise UserError(f"there is no file or folder {place}")
    if place is None or (place / COUNTS[experiment or 1]).is_file():
        found = Outcome("human", load_curves(place) if experiment in (None, 1) else load_points(place), None)
    elif has_dense_trials(place):
        found = outcome_of(DenseTrials.load(place))
    elif place.is_file() and place.suffix == ".parquet":
        found = outcome_in(Trials.load(place.parent, place.stem), _metadata(place.parent, images), catch=catch)
    elif (place / "trials.parquet").is_file():
        found = outcome_in(Trials.load(place), _metadata(place, images), catch=catch)
    elif any((inner / "behavior").is_dir() for inner in (place, place / "data")):
        found = outcome_in(load_trials(place, "oneshot" if experiment == 2 else "highvar"), place)
    else:
        raise UserError(
            f"{place} contains no recorded behaviour: give a run of `exemplar learn run`, a Trials file (.parquet; `exemplar "
            "learn import` makes one from a CSV), the public files (with data/behavior), or a folder with counts"
        )
    if experiment is not None and found.experiment != experiment:
        raise UserError(
            f"{place} is of Experiment {found.experiment}, not {experiment}: name one of the other experiment"
        )
    return found


def has_experiment(place: Path | str | None, experiment: int) -> bool:
    """Whether a folder (None: people's counts) has public files or counts of this experiment."""
    found = obtain("human") if place is None else Path(place)
    public = data_folder(found) / "behavior" / BEHAVIOUR["highvar" if experiment == 1 else "oneshot"]
    return (found / COUNTS[experiment]).is_file() or public.is_file()


def _metadata(place: Path, images: Path | str | None) -> Path | str | None:
    """The metadata that lie beside the trials, as `exemplar lab export` puts them, unless others are named."""
    beside = data_folder(place) / f"meta-{IMAGE_SETS['oneshot']}.csv"
    return place if images is None and beside.is_file() else images


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
    if not (trials["phase"] == TEST).any():
        return Outcome(str(agents[0]), behaviour_in(trials), seen)
    if images is None:
        raise UserError(
            "trials of Experiment 2 do not tell which test an image belongs to: name the folder with its metadata, --images"
        )
    counts = generalization_in(trials, load_images(images, "oneshot"))
    return Outcome(str(agents[0]), counts if catch else counts.without_catch_trials(), seen)


def outcome_of(dense: DenseTrials) -> Outcome:
    """What a simulation kept as arrays. A model does not lapse, so its catch trials are not used."""
    n_subtasks, n_sessions, n_trials = dense.shown.shape
    images = None
    if dense.named:
        images = {name: frozenset(row.tolist()) for name, row in zip(dense.subtasks, dense.images, strict=True)}
    right = dense.correct.reshape(-1, n_trials)
    if dense.tests is None:
        place, who = np.repeat(np.arange(n_subtasks), n_sessions), np.arange(len(right)).astype(str)
        return Outcome(dense.agent, Behaviour(right, place, dense.subtasks, who, dense.n_choices), images, True)
    tests = tuple(sorted(set(dense.tests.ravel().tolist()) - {""}))
    code = {"": -1, **{name: number for number, name in enumerate(tests)}}
    which = np.array([code[name] for name in dense.tests.ravel().tolist()]).reshape(n_subtasks, 1, -1)
    test = np.take_along_axis(which, dense.shown.astype(np.intp), axis=2).reshape(right.shape)
    test = np.where(dense.phase == TEST, test, -1)
    never = np.broadcast_to((dense.phase == CATCH) & False, right.shape)
    return Outcome(dense.agent, count_tests(right, test, never, tests, dense.n_choices), images, True)
