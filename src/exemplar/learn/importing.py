"""Trials from a CSV of one's own: columns by other names, text and numbers cast, times and counts put into the record's units.

Whatever is changed on the way is said. The verb `import_trials`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from exemplar.answers import Answer, format_pairs
from exemplar.errors import UserError, shortened, unknown
from exemplar.files import reading
from exemplar.learn.measures.reading import count_choices
from exemplar.learn.tasks import CATCH, TEST, TRAIN
from exemplar.records import Trials
from exemplar.runs import check_run, open_run
from exemplar.seeds import digest

NEEDED = ("participant", "subtask", "trial", "stimulus", "correct")
MAY_HAVE = ("session", "choice", "phase", "reaction_time_ms", "timed_out", "refresh_hz", "dropped_frames", "agent")
YES, NO = {"1", "1.0", "true", "yes", "y", "correct", "right"}, {"0", "0.0", "false", "no", "n", "incorrect", "wrong"}
TIME_UNITS = ("auto", "ms", "s")
MISSING = ("NA", "N/A", "NaN", "nan", "null", "None")  # what programs write for nothing in a column of numbers
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
PHASES = (TRAIN, TEST, CATCH)


@dataclass(frozen=True)
class ImportRequest:
    """file: a CSV; columns: "choice=response,trial=n", a column of the record = theirs; agent: who, where no column says;
    time_unit: of reaction times."""

    file: Path
    columns: str
    agent: str
    time_unit: str


def import_csv(request: ImportRequest, out: Path) -> Answer:
    """A CSV as `trials.parquet` in a new folder, with everything that was changed on the way."""
    if request.time_unit not in TIME_UNITS:
        raise unknown("unit of time", request.time_unit, TIME_UNITS)
    config: dict[str, Any] = {**vars(request), "file": str(request.file)}
    check_run(out, command="learn import", config=config, seed=0)
    trials, notes = read_trials(request)
    frame = trials.frame
    with open_run(out, command="learn import", config=config, seed=0, data={"csv": digest(frame.to_csv())}) as run:
        if not run.finished:
            run.save(trials)
    n_sessions = len(frame[["participant", "subtask", "session"]].drop_duplicates())
    values = {"out": str(out), "trials": len(trials), "sessions": n_sessions, "choices": count_choices(trials)}
    values |= {"participants": int(frame["participant"].nunique()), "subtasks": int(frame["subtask"].nunique())}
    values |= {"notes": notes}
    shown = {name: value for name, value in values.items() if name not in ("out", "notes")}
    text = "\n".join([format_pairs(shown), "", *(f"Note: {note}." for note in notes), f"Kept in {out}."])
    return Answer(values=values, text=text, folder=out)


def read_trials(request: ImportRequest) -> tuple[Trials, list[str]]:
    """The table as Trials, and what was done to it, a note each."""
    table, separator = _read(request.file)
    if not len(table):
        raise UserError(f"{request.file} has no rows: give a table with at least one trial")
    names = _columns(request, table)
    notes = [] if separator == "," else [f"columns are separated by {SEPARATORS[separator]}"]
    given = {name: table[theirs] for name, theirs in names.items()}
    for name in ("participant", "subtask", "session", "stimulus", "agent"):
        if name in given:
            given[name] = _text(given[name], request.file, names[name], name, notes)
    if "session" not in given:
        given["session"] = given["participant"] + "/" + given["subtask"]
        notes.append("no column is the session: all trials of a participant in a subtask are one session")
    sessions = [given["participant"], given["subtask"], given["session"]]
    given["trial"] = _trials(given["trial"], sessions, request.file, names["trial"], notes)
    given["correct"] = _flags(given["correct"], request.file, names["correct"])
    if "timed_out" in given:
        given["timed_out"] = _flags(given["timed_out"], request.file, names["timed_out"])
        late = given["timed_out"] & given["correct"]
        if late.any():
            given["correct"] &= ~given["timed_out"]
            notes.append(f"{int(late.sum())} trials were timed out and correct: a time-out counts as incorrect")
    if "choice" in given:
        objects = {name.count(",") + 1 for name in given["subtask"].unique()}
        n_named = objects.pop() if len(objects) == 1 else 1
        given["choice"] = _choices(given["choice"], n_named, request.file, names["choice"], notes)
    elif not given["subtask"].str.contains(",").any():
        notes.append(
            "nothing says how many choices a trial has, so 2 are taken: name each subtask by its objects (cat,dog,car), or map "
            "a column to choice"
        )
    if "phase" in given:
        given["phase"] = _phases(given["phase"], request.file, names["phase"])
    if "reaction_time_ms" in given:
        times = _numbers(given["reaction_time_ms"], request.file, names["reaction_time_ms"])
        _refuse(times < 0, given["reaction_time_ms"], request.file, names["reaction_time_ms"], "must not be below 0")
        given["reaction_time_ms"] = _milliseconds(times, request.time_unit, notes)
    for name in ("refresh_hz", "dropped_frames"):
        if name in given:
            given[name] = _numbers(given[name], request.file, names[name])
    _check_duplicates(given, request.file)
    notes += _unequal(given)
    unused = [name for name in table.columns if name not in names.values()]
    if unused:
        notes.append(f"columns that Trials do not have are left out: {shortened(unused, 8)}")
    columns: dict[str, Any] = {"agent": request.agent, "phase": TRAIN, "timed_out": False}
    return Trials.of(**{**columns, **{name: column.to_numpy() for name, column in given.items()}}), notes


def _check_duplicates(given: dict[str, pd.Series], file: Path) -> None:
    """A trial that is there twice, by the lines of the file."""
    keys = pd.DataFrame({name: given[name] for name in ("participant", "subtask", "session", "trial")})
    again = np.flatnonzero(keys.duplicated().to_numpy())
    if len(again):
        first = int(np.flatnonzero((keys == keys.iloc[again[0]]).all(axis=1).to_numpy())[0])
        raise UserError(
            f"{file}: lines {first + 2} and {again[0] + 2} are the same trial of the same session: keep one of them, or map a "
            "column to session"
        )


def _unequal(given: dict[str, pd.Series]) -> list[str]:
    """What makes records hard to compare: sessions of different length, subtasks with different numbers of sessions."""
    frame = pd.DataFrame({name: given[name] for name in ("participant", "subtask", "session")})
    length = frame.groupby(["participant", "subtask", "session"]).size()
    n = length.groupby("subtask").size()
    notes = []
    if length.min() < length.max():
        short = int((length < length.max()).sum())
        notes.append(
            f"sessions have {length.min()} to {length.max()} trials: scoring needs as many in each, so leave out the {short} "
            "that are shorter, or cut the others"
        )
    if n.min() < n.max():
        notes.append(f"subtasks have {n.min()} to {n.max()} sessions; each subtask counts the same all the same")
    return notes


def _read(file: Path) -> tuple[pd.DataFrame, str]:
    """Every cell as the text it is, so that 007 and 7 are two people; nothing where it is empty. And what separates columns."""
    with reading(file, "a CSV table"):
        with file.open(encoding="utf-8-sig") as opened:
            head = opened.readline()
        separator = max(SEPARATORS, key=head.count)
        return pd.read_csv(file, sep=separator, dtype=str, keep_default_na=False, na_values=[""]), separator


def _columns(request: ImportRequest, table: pd.DataFrame) -> dict[str, str]:
    """A column of the record → theirs."""
    known = (*NEEDED, *MAY_HAVE)
    names: dict[str, str] = {}
    for pair in filter(None, request.columns.split(",")):
        name, equals, theirs = (part.strip() for part in pair.partition("="))
        if not equals or not theirs:
            raise UserError(f"--map takes pairs such as choice=response, got {pair.strip()!r}")
        if name not in known:
            raise unknown("column of Trials", name, known)
        if theirs not in table.columns:
            raise unknown("column", theirs, table.columns.tolist(), where=str(request.file))
        if name in names or theirs in names.values():
            raise UserError(f"--map names {name if name in names else theirs} twice: give each column once")
        names[name] = theirs
    names |= {name: name for name in known if name not in names and name in table.columns}
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise UserError(
            f"{request.file} has no column {shortened(missing)} (it has {shortened(table.columns, 8)}): say which is it, "
            f"--map {missing[0]}=…"
        )
    return names


def _text(column: pd.Series, file: Path, theirs: str, name: str, notes: list[str]) -> pd.Series:
    """Names, as they are written; whole numbers lose a ".0" that another program gave them."""
    _refuse(column.isna(), column, file, theirs, "must not be empty")
    if column.str.fullmatch(r"-?\d+\.0").all():
        column = column.str.removesuffix(".0")
    if pd.to_numeric(column, errors="coerce").notna().all():
        notes.append(f"{name} is given as numbers, kept as text")
    return column


def _trials(column: pd.Series, sessions: list[pd.Series], file: Path, theirs: str, notes: list[str]) -> pd.Series:
    """Whole numbers from 0 in every session."""
    number = _numbers(column, file, theirs)
    _refuse(
        number.isna() | (number % 1 != 0) | (number < 0), column, file, theirs, "must be a whole number from 0 or 1"
    )
    first = number.groupby(sessions).transform("min")
    if (first == 1).all():
        notes.append("trials are counted from 1, kept from 0")
        number = number - 1
    elif not (first == 0).all():
        raise UserError(
            f"{file}: {theirs} starts at {int(first.min())} to {int(first.max())} in different sessions: number the trials of "
            "each session from 0, or of each from 1"
        )
    return number.astype(np.int64)


def _flags(column: pd.Series, file: Path, theirs: str) -> pd.Series:
    words = column.astype(str).str.strip().str.lower()
    _refuse(~words.isin(YES | NO), column, file, theirs, "must be 0 or 1, or true or false")
    return words.isin(YES)


def _choices(column: pd.Series, n_named: int, file: Path, theirs: str, notes: list[str]) -> pd.Series:
    """Keys as whole numbers from 0. Names of keys, and codes that count neither from 0 nor from 1, are numbered in order.

    n_named: objects in the names of the subtasks, 1 where these do not say."""
    column = column.mask(column.isin(MISSING))
    number = pd.to_numeric(column, errors="coerce")
    named = bool((number.isna() & column.notna()).any())
    keys = sorted(column.dropna().unique(), key=(lambda key: key) if named else float)
    if n_named > 1 and len(keys) > n_named:
        raise UserError(
            f"{file}: {theirs} has {len(keys)} different keys ({shortened(keys)}), and subtasks name {n_named} objects: leave "
            "trials without an answer empty"
        )
    if len(keys) > 127:
        raise UserError(f"{file}: {theirs} has {len(keys)} different values, too many for keys: map another column")
    if not named:
        _refuse(
            (number < 0) | (number % 1 != 0) & number.notna(), column, file, theirs, "must be a whole number from 0"
        )
    from_one = bool(keys) and number.min() == 1
    coded = bool(keys) and (number.min() > 1 or 1 < n_named <= number.max() - from_one)
    if named or coded:
        what = "choices are named" if named else "choices are codes of keys"
        notes.append(f"{what}, kept as " + ", ".join(f"{key} = {place}" for place, key in enumerate(keys[:8])))
        return column.map({key: float(place) for place, key in enumerate(keys)}).astype(float)
    if from_one:
        notes.append("choices are counted from 1, kept from 0")
        number = number - 1
    return number.astype(float)


def _phases(column: pd.Series, file: Path, theirs: str) -> pd.Series:
    words = column.astype(str)
    _refuse(~words.isin(PHASES), column, file, theirs, f"must be {', '.join(PHASES[:-1])} or {PHASES[-1]}")
    return words


def _milliseconds(times: pd.Series, unit: str, notes: list[str]) -> pd.Series:
    """Reaction times in ms; "auto" takes a median below 20 for seconds."""
    middle = float(times.median()) if times.notna().any() else np.inf
    if unit == "s" or (unit == "auto" and middle < Trials.FASTEST_MS):
        notes.append(f"reaction times are in seconds (median {middle:.3g}), kept in ms")
        return times * 1000
    return times


def _numbers(column: pd.Series, file: Path, theirs: str) -> pd.Series:
    column = column.mask(column.isin(MISSING))
    number = pd.to_numeric(column, errors="coerce")
    _refuse(number.isna() & column.notna(), column, file, theirs, "must be a number, or empty")
    return number


def _refuse(wrong: pd.Series, column: pd.Series, file: Path, theirs: str, rule: str) -> None:
    """Says what is wrong with a column, and in which line of the file first."""
    if wrong.any():
        place = int(np.flatnonzero(wrong.to_numpy())[0])
        value = column.iloc[place]
        what = "nothing" if pd.isna(value) else repr(str(value))
        raise UserError(f"{file}: {theirs} {rule}, and line {place + 2} has {what}")
