"""The only tables: what anyone did in a task, person or machine, and what it was worth.

A table knows its columns, their types and ranges, and says which row is wrong. On disk it is `drawings.parquet` and, where it
has images or maps, `drawings.npz` beside it; both are written whole or not at all, and read back exactly as they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from exemplar import seeds
from exemplar.columns import Beside, Column, has_rows
from exemplar.errors import UserError, shortened, unknown
from exemplar.files import DAMAGE, first_line, read_npz, whole_file, write_npz
from exemplar.unpacking import check_unpacked

if TYPE_CHECKING:
    from exemplar.stats import Estimate

VERSION = 1  # of the tables on disk; raised when a column changes its meaning

NAME = Column("text")
MAYBE_NAME = Column("text", gaps=True)
COUNT = Column("whole", low=0)
MAYBE_COUNT = Column("whole", low=0, gaps=True)
MAYBE_TIME = Column("real", low=0, gaps=True)
FLAG = Column("flag")
REAL = Column("real")
MAYBE_REAL = Column("real", gaps=True)


class Table:
    """Rows of one kind. `frame` holds the columns (text as categories); arrays such as `image` are attributes.

    Make one with `Drawings.of(agent="ddpm", concept=…, image=…)`: a single value stands for all rows.
    """

    TITLE: ClassVar[str]  # in the files of every run: it stays whatever the class is called
    COLUMNS: ClassVar[dict[str, Column]]
    ARRAYS: ClassVar[dict[str, Beside]] = {}
    KEY: ClassVar[tuple[str, ...]] = ()  # two rows that agree in all of these are one too many

    def __init__(self, frame: pd.DataFrame, arrays: dict[str, np.ndarray]) -> None:
        self.frame = frame
        self.arrays = arrays

    @classmethod
    def title(cls) -> str:
        return cls.TITLE

    @classmethod
    def of(cls, **values: Any) -> Self:
        """From columns and arrays by name, checked. A single value stands for all rows; columns with gaps may be left out."""
        names = [*cls.COLUMNS, *cls.ARRAYS]
        for name in values:
            if name not in names:
                raise unknown("column", name, names, where=cls.title())
        for name in names:
            if name not in values and not (name in cls.COLUMNS and cls.COLUMNS[name].gaps):
                raise UserError(f"{cls.title()} needs the column {name}, this has {shortened(values)}")
        several = {n: len(v) for n, v in values.items() if has_rows(v)}
        n_rows = next(iter(several.values()), 1)
        for name, length in several.items():
            if length != n_rows:
                raise UserError(f"{cls.title()}: {name} has {length} rows, {next(iter(several))} has {n_rows}")
        columns = {n: column.checked(values.get(n), n_rows, cls.title(), n) for n, column in cls.COLUMNS.items()}
        arrays = {n: beside.checked(values[n], cls.title(), n) for n, beside in cls.ARRAYS.items()}
        frame = pd.DataFrame(columns, index=pd.RangeIndex(n_rows))
        cls.check_rows(frame)
        return cls(frame, arrays)

    @classmethod
    def check_rows(cls, frame: pd.DataFrame) -> None:
        """What no single column can tell: here, that no row is a duplicate."""
        again = frame.duplicated(list(cls.KEY)).to_numpy() if cls.KEY else np.zeros(0, bool)
        if again.any():
            row = int(np.flatnonzero(again)[0])
            what = ", ".join(f"{key} {frame[key].iloc[row]}" for key in cls.KEY)
            raise UserError(f"{cls.title()} row {row} is a duplicate ({what}): keep one of them")

    def __getattr__(self, name: str) -> np.ndarray:
        if name in type(self).ARRAYS and "arrays" in self.__dict__:
            return self.arrays[name]
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, column: str) -> pd.Series:
        return self.frame[column]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and type(self) is type(other)
            and self.frame.equals(other.frame)
            and all(_same(array, other.arrays[name]) for name, array in self.arrays.items())
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def join(cls, tables: Iterable[Table]) -> Self:
        """The rows of all of them, in order."""
        parts = list(tables)
        if not parts:
            raise UserError(f"there are no {cls.title()} to join")
        for name in cls.ARRAYS:
            shapes = {part.arrays[name].shape[1:] for part in parts}
            if len(shapes) > 1:
                raise UserError(f"{cls.title()} whose {name} differs in shape cannot be joined: {shortened(shapes)}")
        columns: dict[str, Any] = {}
        for name, column in cls.COLUMNS.items():
            several = [part.frame[name] for part in parts]
            text = column.kind == "text"
            columns[name] = pd.api.types.union_categoricals(several) if text else pd.concat(several, ignore_index=True)
        return cls.of(**columns, **{n: np.concatenate([part.arrays[n] for part in parts]) for n in cls.ARRAYS})

    def subset(self, rows: Sequence[int] | np.ndarray) -> Self:
        """These rows (whole numbers, or a mask), in that order."""
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.intp)
        columns = {name: self.frame[name].iloc[chosen] for name in type(self).COLUMNS}
        return type(self).of(**columns, **{name: array[chosen] for name, array in self.arrays.items()})

    def save(self, folder: Path | str, name: str | None = None) -> Path:
        """Write `<name>.parquet` (and `.npz`) into a folder, each whole or not at all; returns the parquet's path."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        checked = type(self).of(**{column: self.frame[column] for column in type(self).COLUMNS}, **self.arrays)
        path = Path(folder) / f"{name or self.title()}.parquet"
        table = pa.Table.from_pandas(checked.frame, preserve_index=False)
        large = {title: array for title, array in checked.arrays.items() if array.ndim > 2}
        for title, array in checked.arrays.items():
            if title not in large:  # a short vector a row fits in the table itself
                flat = pa.array(array.ravel())
                table = table.append_column(title, pa.FixedSizeListArray.from_arrays(flat, array.shape[1]))
        about = {"table": self.title(), "version": VERSION, "arrays": seeds.digest(large)}
        table = table.replace_schema_metadata(
            {**(table.schema.metadata or {}), b"exemplar": json.dumps(about).encode()}
        )
        if large:
            write_npz(path.with_suffix(".npz"), large)
        with whole_file(path) as part:
            pq.write_table(table, part)
        return path

    @classmethod
    def load(cls, folder: Path | str, name: str | None = None) -> Self:
        """Read and check what `save` wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = Path(folder) / f"{name or cls.title()}.parquet"
        if not path.is_file():
            raise UserError(f"there is no file {path}")
        try:
            about_rows = pq.read_metadata(path)  # repeated values take next to nothing in the file
            check_unpacked(path, 8 * about_rows.num_rows * about_rows.num_columns)
            table = pq.read_table(path, memory_map=False, partitioning=None)
            about = json.loads((table.schema.metadata or {}).get(b"exemplar", b"null"))
            columns = {column: _from_arrow(table.column(column)) for column in table.column_names}
        except (pa.ArrowException, *DAMAGE) as problem:
            reason = first_line(problem)
            raise UserError(f"{path} is damaged, or no parquet file: make it again ({reason})") from problem
        if not isinstance(about, dict) or about.get("table") != cls.title():
            raise UserError(f"{path} holds no {cls.title()} written by Exemplar: give the file that does")
        if about.get("version") != VERSION:
            raise UserError(
                f"{path} was written as version {about.get('version')} of this table, this Exemplar reads version "
                f"{VERSION}: make it again, or use the Exemplar that wrote it"
            )
        beside = [title for title in cls.ARRAYS if title not in columns]
        arrays = read_npz(path.with_suffix(".npz"), **{title: ("uf", None) for title in beside}) if beside else {}
        if seeds.digest(arrays) != about.get("arrays"):
            raise UserError(f"{path.with_suffix('.npz')} does not belong to {path.name}: make both again")
        return cls.of(**columns, **arrays)


class Drawings(Table):
    """Drawings of a concept after one exemplar. image: (n, h, w) uint8, or float in [0, 1]; ink high on paper 0.

    exemplar: which image was shown (its row in the data); index: 0, 1, … within agent and concept.
    """

    TITLE: ClassVar = "drawings"
    COLUMNS: ClassVar = dict(agent=NAME, data=NAME, concept=NAME, exemplar=COUNT, index=COUNT, seed=COUNT)
    ARRAYS: ClassVar = dict(image=Beside((3,)))
    KEY: ClassVar = ("agent", "data", "concept", "exemplar", "index", "seed")


class Trials(Table):
    """One choice each. trial: from 0 within a session; choice: which option, missing where timed out (never correct)."""

    TITLE: ClassVar = "trials"
    COLUMNS: ClassVar = dict(
        agent=NAME, participant=NAME, subtask=NAME, session=NAME, trial=COUNT, phase=NAME, stimulus=NAME,
        choice=MAYBE_COUNT, correct=FLAG, reaction_time_ms=MAYBE_TIME, timed_out=FLAG,
        refresh_hz=MAYBE_TIME, dropped_frames=MAYBE_COUNT,
    )  # fmt: skip
    KEY: ClassVar = ("agent", "participant", "subtask", "session", "trial")
    FASTEST_MS: ClassVar = 20.0  # half of people's choices are never made within so few ms: such times are in seconds

    @classmethod
    def of(cls, **values: Any) -> Self:
        """As `Table.of`; whole numbers that name a participant, subtask, session or stimulus become text."""
        for name in ("participant", "subtask", "session", "stimulus"):
            kind = getattr(getattr(values.get(name), "dtype", None), "kind", "")
            if kind in "iu" and kind:
                values[name] = np.asarray(values[name]).astype(str).astype(object)
            elif isinstance(values.get(name), list) and all(type(word) is int for word in values[name]):
                values[name] = [str(word) for word in values[name]]
        return super().of(**values)

    @classmethod
    def check_rows(cls, frame: pd.DataFrame) -> None:
        super().check_rows(frame)
        wrong = np.flatnonzero(frame["timed_out"] & frame["correct"])
        if len(wrong):
            raise UserError(f"trials row {wrong[0]} is both timed out and correct: a time-out counts as incorrect")
        times = frame["reaction_time_ms"].dropna()
        if len(times) and 0 < (middle := float(times.median())) < cls.FASTEST_MS:
            raise UserError(
                f"reaction_time_ms has a median of {middle:.3g}, too little for milliseconds: if these are seconds, multiply "
                "by 1000"
            )

    @classmethod
    def load(cls, folder: Path | str, name: str | None = None) -> Self:
        """Read and check what `save` wrote, or what a simulation kept as arrays (`dense_trials`)."""
        from exemplar.dense_trials import DenseTrials, has_dense_trials

        whole = name is None and not (Path(folder) / f"{cls.title()}.parquet").is_file()
        if whole and has_dense_trials(folder):
            return cls(DenseTrials.load(folder).table().frame, {})
        return super().load(folder, name)


class Predictions(Table):
    """A classifier's answers. log_p: (n, labels) natural log of each label's probability, −inf where it has none."""

    TITLE: ClassVar = "predictions"
    COLUMNS: ClassVar = dict(agent=NAME, task=COUNT, set=COUNT, item=COUNT, label=COUNT, predicted=COUNT)
    ARRAYS: ClassVar = dict(log_p=Beside((2,), unit=False))
    KEY: ClassVar = ("agent", "task", "set", "item")


class Maps(Table):
    """What mattered where. image: (n, h, w[, 3]) what was looked at; map: (n, h, w) importance of each pixel, any scale."""

    TITLE: ClassVar = "maps"
    COLUMNS: ClassVar = dict(agent=NAME, participant=NAME, concept=NAME)
    ARRAYS: ClassVar = dict(image=Beside((3, 4)), map=Beside((3,), unit=False))


@dataclass(frozen=True)
class Score:
    """Never a bare number: value, 95 % interval and n. concept, space: "" where it is over all, or needs none."""

    name: str
    value: float
    ci95: tuple[float, float]
    n: int
    agent: str = ""
    concept: str = ""
    space: str = ""
    variant: str = ""

    def __post_init__(self) -> None:
        if not np.isfinite(self.value):
            raise UserError(f"the score {self.name} is {self.value}: it cannot be computed from these records")

    @classmethod
    def of(
        cls,
        name: str,
        estimate: Estimate,
        *,
        n: int | None = None,
        agent: str = "",
        concept: str = "",
        space: str = "",
        variant: str = "",
    ) -> Score:
        """An estimate as a score. n: other than the estimate's."""
        value, lo, hi = (float(part) for part in (estimate.value, estimate.lo, estimate.hi))
        return cls(name, value, (lo, hi), int(estimate.n if n is None else n), agent, concept, space, variant)

    @property
    def label(self) -> str:
        """Whose and of what, in words; "" where the name says it all."""
        return ", ".join(filter(None, (self.agent, self.concept, self.space, self.variant)))

    def row(self) -> dict[str, Any]:
        """With all its labels, as JSON has it."""
        return {key: getattr(self, key) for key in ("name", "agent", "concept", "space", "variant")} | self.json()

    def json(self) -> dict[str, Any]:
        ends = [None if np.isnan(end) else float(end) for end in self.ci95]
        return {"value": float(self.value), "ci95": ends, "n": int(self.n)}


class Scores(Table):
    """What the records were worth: one row a score, with its 95 % interval (missing only where n is 1)."""

    TITLE: ClassVar = "scores"
    COLUMNS: ClassVar = dict(
        name=NAME, value=REAL, lo=MAYBE_REAL, hi=MAYBE_REAL, n=Column("whole", low=1),
        agent=MAYBE_NAME, concept=MAYBE_NAME, space=MAYBE_NAME, variant=MAYBE_NAME,
    )  # fmt: skip
    KEY: ClassVar = ("name", "agent", "concept", "space", "variant")

    @classmethod
    def check_rows(cls, frame: pd.DataFrame) -> None:
        super().check_rows(frame)
        bare = (frame["lo"].isna() | frame["hi"].isna()) & (frame["n"] > 1)
        wrong = np.flatnonzero(bare | (frame["lo"] > frame["hi"]))
        if len(wrong):
            name = frame["name"].iloc[wrong[0]]
            raise UserError(f"scores row {wrong[0]} ({name}) has no proper interval: it must have lo ≤ hi")

    @classmethod
    def collect(cls, scores: Iterable[Score]) -> Scores:
        """A table of single scores."""
        rows = [asdict(score) for score in scores]
        ends = np.array([row.pop("ci95") for row in rows], dtype=np.float64).reshape(-1, 2)
        columns = {name: [row[name] for row in rows] for name in cls.COLUMNS if name not in ("lo", "hi")}
        return cls.of(**columns, lo=ends[:, 0], hi=ends[:, 1])

    def __iter__(self) -> Iterator[Score]:
        for row in self.frame.to_dict("records"):
            yield Score(ci95=(row.pop("lo"), row.pop("hi")), **{str(key): value for key, value in row.items()})


def _from_arrow(column: Any) -> Any:
    """One parquet column: a vector a row as (n, width), anything else as pandas has it."""
    import pyarrow as pa

    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # an empty table
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    if pa.types.is_fixed_size_list(column.type):
        return whole.flatten().to_numpy().reshape(len(column), column.type.list_size)
    return whole.to_pandas()


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
