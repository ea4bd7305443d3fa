"""What a column of a table may hold: text, whole numbers, reals, flags, or an array beside the table; checked row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from exemplar.errors import UserError

PIXELS = (np.uint8, np.float16, np.float32, np.float64)


@dataclass(frozen=True)
class Column:
    """kind: text, whole, real or flag; low, high: the range, ends included; gaps: may be missing (NaN, or "" for text)."""

    kind: str
    low: float = -np.inf
    high: float = np.inf
    gaps: bool = False

    def checked(self, value: Any, n_rows: int, table: str, name: str) -> Any:
        """The column in the one type of its kind; `value` is one value a row, or one for all. Says which row is wrong."""
        if value is None:
            value = "" if self.kind == "text" else np.nan
        if isinstance(value, str):
            value = pd.Categorical.from_codes(np.zeros(n_rows, np.int8), categories=pd.Index([value], dtype=object))
        elif not has_rows(value):
            value = np.full(n_rows, value)
        if self.kind == "text":
            return self._text(value, table, name)
        values = as_array(value)
        if values.ndim != 1:
            raise UserError(f"{table}: {name} must have one value a row, it is an array of shape {values.shape}")
        if self.kind == "flag":
            good = np.isin(values, (0, 1)) if values.dtype.kind in "biuf" else np.zeros(len(values), bool)
            _require(good, values, table, name, "true or false")
            return values.astype(bool)
        return self._number(values, table, name)

    def _text(self, value: Any, table: str, name: str) -> pd.Categorical:
        """Categories in alphabetical order, so that the same rows make the same bytes."""
        if isinstance(value, pd.Series | pd.Index):
            value = value.array
        if isinstance(value, pd.Categorical):  # only the few distinct words need a look
            words, code = value.categories, value.codes
        else:
            text = as_array(value, text=True)
            odd = next((row for row, word in enumerate(text) if not isinstance(word, str) and word is not None), None)
            if odd is not None:
                raise UserError(f"{table} row {odd}: {name} is {text[odd]!r:.80}, it must be text that is not empty")
            code, words = pd.factorize(text, use_na_sentinel=True)
        for place, word in enumerate(words):
            if not isinstance(word, str) or (word == "" and not self.gaps) or not _is_unicode(word):
                wrong = np.flatnonzero(code == place)
                if len(wrong):
                    raise UserError(f"{table} row {wrong[0]}: {name} is {word!r}, it must be text that is not empty")
        missing = np.flatnonzero(code < 0)
        if len(missing):
            raise UserError(f"{table} row {missing[0]}: {name} is missing, it must be text that is not empty")
        used = np.unique(code)
        order = sorted(used, key=lambda place: words[place])
        rank = np.zeros(len(words) + 1, np.int64)
        rank[order] = np.arange(len(order))
        categories = pd.Index([words[k] for k in order], dtype=object)
        return pd.Categorical.from_codes(rank[code], categories=categories)

    def _number(self, values: np.ndarray, table: str, name: str) -> Any:
        if values.dtype.kind not in "iuf":  # objects may be numbers with gaps; text that looks like a number is text
            missing = np.array([v is None or v is pd.NA for v in values], bool)
            number = np.array([isinstance(v, int | float | np.integer | np.floating) for v in values], bool)
            if (
                values.dtype.kind != "O"
                or not (missing | number).all()
                or any(isinstance(v, np.complexfloating) for v in values)
            ):
                raise UserError(f"{table}: {name} must be numbers, not {values.dtype}")
            values = np.where(missing, np.nan, values).astype(np.float64)
        gap = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
        if not self.gaps:
            _require(~gap, values, table, name, "a number")
        with np.errstate(invalid="ignore"):
            _require(gap | np.isfinite(values), values, table, name, "finite")
            inside = gap | ((values >= self.low) & (values <= self.high))
            bounds = f"in [{self.low:g}, {self.high:g}]" if np.isfinite(self.high) else f"at least {self.low:g}"
            _require(inside, values, table, name, bounds)
            if self.kind == "real":
                return values.astype(np.float64)
            if values.dtype.kind == "f":
                whole = gap | ((values == np.floor(values)) & (np.abs(values) < 2.0**63))
            else:
                whole = values <= np.iinfo(np.int64).max
        _require(whole, values, table, name, "a whole number below 2⁶³")
        if self.gaps:
            return pd.arrays.IntegerArray(np.where(gap, 0, values).astype(np.int64), gap)
        return values.astype(np.int64)


@dataclass(frozen=True)
class Beside:
    """An array with one entry a row. axes: its dimensions, the row's included; unit: floats must lie in [0, 1]."""

    axes: tuple[int, ...]
    unit: bool = True

    def checked(self, value: Any, table: str, name: str) -> np.ndarray:
        array = np.asarray(value)
        if array.ndim not in self.axes or array.dtype not in PIXELS:
            axes = " or ".join(map(str, self.axes))
            raise UserError(
                f"{table}: {name} must be uint8 or float of {axes} dimensions, it is {array.shape} {array.dtype}"
            )
        if array.dtype != np.uint8 and array.size:
            flat = array.reshape(len(array), -1)
            good = (flat >= 0) & (flat <= 1) if self.unit else ~np.isnan(flat)
            if not good.all():
                row = int(np.flatnonzero(~good.all(axis=1))[0])
                what = "outside [0, 1], or NaN" if self.unit else "that are NaN"
                raise UserError(f"{table} row {row}: {name} has values {what}")
        return array


def has_rows(value: Any) -> bool:
    """Whether this is one value a row, rather than one for all of them."""
    return not isinstance(value, str) and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0


def as_array(values: Any, *, text: bool = False) -> np.ndarray:
    """A NumPy array of what a list or a pandas column holds; missing whole numbers become NaN."""
    if isinstance(values, pd.Series | pd.Index):
        values = values.array
    if isinstance(values, pd.arrays.IntegerArray):
        return values.to_numpy(dtype=np.float64, na_value=np.nan) if values.isna().any() else values.to_numpy(np.int64)
    if text or isinstance(values, pd.Categorical):
        return np.asarray(values, dtype=object)
    try:
        return np.asarray(values)
    except ValueError as problem:
        raise UserError("a column must have one value a row, this one holds lists of different lengths") from problem


def _require(good: np.ndarray, values: np.ndarray, table: str, name: str, must: str) -> None:
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise UserError(f"{table} row {row}: {name} is {values[row]!s:.80}, it must be {must}")


def _is_unicode(word: str) -> bool:
    """False for text with lone surrogates, which no file format can hold."""
    return not any("\ud800" <= letter <= "\udfff" for letter in word)
