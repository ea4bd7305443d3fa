"""People's data: the public files of Lee & DiCarlo (2023), trial by trial, or counts over sessions where those are missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from exemplar.errors import UserError, shortened
from exemplar.files import read_npz, reading
from exemplar.images.sources import obtain
from exemplar.learn.measures.curves import Curves, Learning
from exemplar.learn.measures.oneshot import Generalization, Points, count_tests
from exemplar.learn.measures.reading import behaviour_in, count_choices
from exemplar.learn.tasks import CATCH, TEST, TRAIN
from exemplar.records import Trials

BEHAVIOUR = {"highvar": "human-behavior-highvar-subtasks.csv", "oneshot": "human-behavior-oneshot-subtasks.csv"}
IMAGE_SETS = {
    "highvar": "MutatorHighVarImageset",
    "oneshot": "MutatorOneShotImageset",
    "warmup": "MutatorWarmupImageset",
}
COLUMNS = (
    "trial",
    "assignment_id",
    "worker_id",
    "subtask",
    "image_id",
    "trial_type",
    "reaction_time_msec",
    "timed_out",
    "perf",
)
UNSCORED = ("original", "combinednat")  # training images, and a transformation of four images that is no test


@dataclass(frozen=True, eq=False)
class ImageTable:
    """The images of an experiment, one per row, all (n,) text.

    image: its name; category: its object; test: "scale | 0.5", "" where it has none; relpath: its file, from `data`.
    """

    image: np.ndarray
    category: np.ndarray
    test: np.ndarray
    relpath: np.ndarray

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that are scored, by name."""
        return tuple(sorted({name for name in self.test.tolist() if name and name.split(" | ")[0] not in UNSCORED}))


def load_curves(folder: Path | str | None = None) -> Curves:
    """Experiment 1's counts over sessions: 64 subtasks × 100 trials. folder: where `object_learning_exp1_curves.npz` is."""
    path = _folder(folder) / "object_learning_exp1_curves.npz"
    data = read_npz(path, k_correct=("iu", 2), n_sessions=("iu", 1), subtask=("U", 1))
    counts, n, names = data["k_correct"].astype(np.int64), data["n_sessions"].astype(np.int64), data["subtask"]
    if not len(counts) == len(n) == len(names) or (counts < 0).any() or (counts > n[:, None]).any():
        raise UserError(f"{path} has counts that do not belong together: fetch or make it again")
    if len(set(names.tolist())) < len(names):
        raise UserError(f"{path} has two subtasks of the same name: give each its own")
    n_choices = {str(name).count(",") + 1 for name in names}
    if len(n_choices) > 1:
        raise UserError(f"{path} has subtasks of {min(n_choices)} to {max(n_choices)} objects: keep those of one kind")
    return Curves(counts, n, tuple(names.tolist()), max(2, *n_choices))


def load_people(folder: Path | str | None = None) -> Learning:
    """Experiment 1 in the most detail there is: sessions from the public files, else counts."""
    if folder is not None and (data_folder(folder) / "behavior").is_dir():
        return behaviour_in(load_trials(folder))
    return load_curves(folder)


def load_points(folder: Path | str | None = None) -> Points:
    """Experiment 2's 36 accuracies, lapse-corrected, read off a figure to about ±.002."""
    path = _folder(folder) / "object_learning_exp2_oneshot.npz"
    data = read_npz(path, transformation=("U", 1), level=("f", 1), phat=("f", 1), se=("f", 1))
    if len({len(array) for array in data.values()}) > 1 or not len(data["phat"]):
        raise UserError(
            f"{path} has {[len(array) for array in data.values()]} entries: give as many in each array, at least 1"
        )
    if not all(np.isfinite(data[name]).all() for name in ("level", "phat", "se")) or (data["se"] < 0).any():
        raise UserError(f"{path} has numbers that are not finite, or standard errors below 0: fetch or make it again")
    tests = tuple(test_name(kind, level) for kind, level in zip(data["transformation"], data["level"], strict=True))
    return Points(np.clip(data["phat"], 0, 1), data["se"] ** 2, tests)


def load_images(folder: Path | str, experiment: str) -> ImageTable:
    """The public metadata of "highvar" (Experiment 1), "oneshot" (2), or "warmup"."""
    path = data_folder(folder) / f"meta-{IMAGE_SETS[experiment]}.csv"
    table = _read_csv(path, ("image_id", "category"))
    again = table["image_id"].duplicated()
    if again.any():
        raise UserError(f"{path} has the image {table['image_id'][again].iloc[0]} twice: keep one of them")
    test = np.full(len(table), "", dtype=object)
    if experiment == "oneshot":
        table = _read_csv(path, ("image_id", "category", "transformation", "transformation_level"))
        level = pd.to_numeric(table["transformation_level"], errors="coerce")  # the training image has none
        pairs = zip(table["transformation"], level, strict=True)
        test = np.array([test_name(str(kind), level) for kind, level in pairs], dtype=object)
    image, category = table["image_id"].to_numpy(str), table["category"].to_numpy(str)
    places = [f"images/{IMAGE_SETS[experiment]}/{c}/{i}" for c, i in zip(category, image, strict=True)]
    return ImageTable(image, category, test.astype(str), table.get("relpath", pd.Series(places)).to_numpy(str))


def read_pairs(folder: Path | str, experiment: str) -> tuple[str, ...] | None:
    """The subtasks people did, by name, "A,B"; None where there is no behaviour."""
    path = data_folder(folder) / "behavior" / BEHAVIOUR[experiment]
    if not path.is_file():
        return None
    return tuple(sorted(_read_csv(path, ("subtask",))["subtask"].astype(str).unique().tolist()))


def load_trials(folder: Path | str, experiment: str = "highvar") -> Trials:
    """The public behaviour of people as Trials. folder: the one that holds `data/`, or `data` itself.

    Probe trials (25, 51, 77 and 103 of 104 in Experiment 1) are dropped and the others numbered again, from 0. Sessions may
    have any length, all the same. Columns that Trials do not have, such as gaze, are left out.
    """
    if experiment not in BEHAVIOUR:
        raise UserError(f"there is no experiment {experiment!r}: choose highvar (1) or oneshot (2)")
    path = data_folder(folder) / "behavior" / BEHAVIOUR[experiment]
    one_shot = experiment == "oneshot"
    table = _read_csv(path, (*COLUMNS, "slot") if one_shot else COLUMNS)
    for column in ("assignment_id", "worker_id", "subtask", "image_id"):
        if table[column].isna().any():
            raise _in_line(path, table, column, table[column].isna().to_numpy(), "must not be empty")
    trial = pd.to_numeric(table["trial"], errors="coerce")
    whole = (trial >= 0) & (trial < 2**31) & (trial % 1 == 0)
    if not whole.all():
        raise _in_line(path, table, "trial", ~whole.to_numpy(), "must be a whole number from 0")
    reaction = pd.to_numeric(table["reaction_time_msec"], errors="coerce")
    text = (reaction.isna() & table["reaction_time_msec"].notna()).to_numpy()
    if text.any():
        raise _in_line(path, table, "reaction_time_msec", text, "must be a number, or empty")
    session = table["assignment_id"].astype(str)
    if one_shot:
        session = session + "/" + table["slot"].astype(str)
    table = table.assign(session=session, trial=trial.astype(np.int64), reaction_time_msec=reaction)
    again = table.duplicated(["session", "trial"])
    if again.any():
        row = table[again].iloc[0]
        raise UserError(f"{path} has trial {row['trial']} of session {row['session']} twice: keep one of them")
    table = table[table["trial_type"] != "probe"].sort_values(["session", "trial"], kind="stable")
    images = load_images(folder, experiment)
    _check_images(path, table, images)
    number = table.groupby("session", sort=False).cumcount().to_numpy()
    length = table.groupby("session", sort=False).size()
    usual = int(length.mode().iloc[-1])
    short = length[length != usual]
    if len(short):
        raise UserError(
            f"{path}: {len(short)} of {len(length)} sessions do not have {usual} trials (the first is {short.index[0]} with "
            f"{short.iloc[0]}): leave those sessions out"
        )
    timed_out = _flags(path, table, "timed_out")
    return Trials.of(
        agent="human",
        participant=table["worker_id"].astype(str).to_numpy(),
        subtask=table["subtask"].astype(str).to_numpy(),
        session=table["session"].to_numpy(),
        trial=number,
        phase=_phases(table, images) if one_shot else TRAIN,
        stimulus=table["image_id"].astype(str).to_numpy(),
        correct=_flags(path, table, "perf") & ~timed_out,  # a time-out counts as incorrect
        timed_out=timed_out,
        reaction_time_ms=table["reaction_time_msec"].clip(lower=0).to_numpy(float),
    )


def generalization_in(trials: Trials, images: ImageTable, *, by_participant: bool = True) -> Generalization:
    """Experiment 2's Trials by test, with catch trials. by_participant: units are participants, whose sessions belong together;
    else sessions, as the paper draws them."""
    test_of = dict(zip(images.image.tolist(), images.test.tolist(), strict=True))
    place = {name: number for number, name in enumerate(images.tests)}
    keys = ["participant", "subtask", "session"]
    frame = trials.frame.sort_values([*keys, "trial"], kind="stable")
    unknown = sorted(set(frame["stimulus"].astype(str)) - set(test_of))
    if unknown:
        raise UserError(f"the images {shortened(unknown)} are not in the metadata: give the metadata of these trials")
    size = frame.groupby(keys, observed=True, sort=False).size().to_numpy()
    if len(set(size.tolist())) != 1:
        raise UserError(f"sessions have {size.min()} to {size.max()} trials: leave out those that are cut short")
    shape = (len(size), int(size[0]))
    code = np.array([place.get(test_of[name], -1) for name in frame["stimulus"].astype(str)]).reshape(shape)
    phase = frame["phase"].astype(str).to_numpy().reshape(shape)
    right = frame["correct"].to_numpy(bool).reshape(shape)
    which = np.where(phase == TEST, code, -1)
    found = count_tests(right, which, phase == CATCH, images.tests, count_choices(trials))
    participant = frame["participant"].astype(str).to_numpy().reshape(shape)[:, 0]
    return found.by(participant) if by_participant else found


def test_name(kind: str, level: float) -> str:
    """ "scale | 0.5": one of the 36 tests; levels are rounded to 6 digits, as the public metadata has them."""
    return f"{kind} | {round(float(level), 6)}"


def _check_images(path: Path, table: pd.DataFrame, images: ImageTable) -> None:
    """Every image must be known, and its object be one of the two that its row's subtask names."""
    category = dict(zip(images.image.tolist(), images.category.tolist(), strict=True))
    shown = table["image_id"].astype(str)
    strange = sorted(set(shown) - set(category))
    if strange:
        raise UserError(f"{path} shows images that are not in the metadata: {shortened(strange)}")
    objects = set(images.category.tolist())
    subtasks = table["subtask"].astype(str)
    wrong = [name for name in subtasks.unique() if not set(name.split(",")) <= objects]
    if wrong:
        raise UserError(f"{path} has subtasks whose objects are not in the metadata: {shortened(wrong)}")
    pairs = pd.DataFrame({"subtask": subtasks.to_numpy(), "category": shown.map(category).to_numpy()}).drop_duplicates()
    outside = [f"{s} ({c})" for s, c in pairs.itertuples(index=False) if c not in s.split(",")]
    if outside:
        raise UserError(f"{path} shows objects that do not belong to the subtask: {shortened(outside)}")


def _phases(table: pd.DataFrame, images: ImageTable) -> np.ndarray:
    """Experiment 2, however long: trials before a session's first test train, and the training images after it are catch trials
    (as published, 10 training trials and catch trials at 14 and 19, from 0)."""
    trained = {
        name for name, test in zip(images.image.tolist(), images.test.tolist(), strict=True) if _is_training(test)
    }
    is_test = ~table["image_id"].astype(str).isin(trained)
    begun = is_test.groupby(table["session"], sort=False).cumsum().to_numpy() > 0
    return np.where(is_test, TEST, np.where(begun, CATCH, TRAIN))


def _is_training(test: str) -> bool:
    return test.split(" | ")[0] == UNSCORED[0]


def _flags(path: Path, table: pd.DataFrame, column: str) -> np.ndarray:
    words = table[column].astype(object).replace({"True": 1, "False": 0, "TRUE": 1, "FALSE": 0})
    values = pd.to_numeric(words, errors="coerce")
    wrong = ~values.isin([0, 1]).to_numpy()
    if wrong.any():
        raise _in_line(path, table, column, wrong, "must be 0 or 1")
    return values.to_numpy().astype(bool)


def _in_line(path: Path, table: pd.DataFrame, column: str, wrong: np.ndarray, rule: str) -> UserError:
    """What is wrong with a column, and where first: the line in the file, whose first has the names."""
    place = int(np.flatnonzero(wrong)[0])
    value = table[column].iloc[place]
    what = "nothing" if pd.isna(value) else repr(str(value))
    return UserError(f"{path}: {column} {rule}, and line {int(table.index[place]) + 2} has {what}")


def _read_csv(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    with reading(path, "a CSV table"):
        table = pd.read_csv(path, low_memory=False)
    missing = [name for name in columns if name not in table]
    if missing:
        raise UserError(
            f"{path} has no column {shortened(missing)} (it has {shortened(table.columns)}): it is another file"
        )
    if not len(table):
        raise UserError(f"{path} has no rows: fetch it again")
    return table


def data_folder(folder: Path | str) -> Path:
    """The folder `data` itself, given that or the one around it."""
    place = Path(folder)
    return place / "data" if (place / "data").is_dir() else place


def _folder(folder: Path | str | None) -> Path:
    return obtain("human") if folder is None else Path(folder)
