"""Checks what callers hand in, once and in one wording, so that the formulas can trust it."""

from __future__ import annotations

from typing import Any

import numpy as np

from exemplar.errors import UserError, unknown


def numbers(values: Any, what: str, *, n_least: int = 1) -> np.ndarray:
    """values as float64 (n, ...): at least `n_least` units, every number finite."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise UserError(f"{what} must be numbers in a regular array: {problem}") from problem
    if array.ndim == 0:
        raise UserError(f"{what} must be a list of numbers, not the single number {array}")
    if array.size == 0:
        raise UserError(f"{what} is empty: give at least {n_least} of them")
    if len(array) < n_least:
        raise UserError(f"{what} has {len(array)}, at least {n_least} are needed: give more")
    wrong = ~np.isfinite(array)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise UserError(
            f"{what} has {array[place]} at {place[0] if len(place) == 1 else place} "
            f"({wrong.sum()} of {array.size} are not finite): leave those out or fill them in"
        )
    return array


def pair(x: Any, y: Any, *, n_least: int) -> tuple[np.ndarray, np.ndarray]:
    """Two measures of the same units, (n,) or (n, d) each, none of them constant."""
    first, second = numbers(x, "x", n_least=n_least), numbers(y, "y", n_least=n_least)
    if len(first) != len(second):
        raise UserError(f"x has {len(first)} units and y has {len(second)}: give both for the same units")
    for name, array in (("x", first), ("y", second)):
        if array.ndim > 2:
            raise UserError(f"{name} must be (n,) or (n, d), it is {array.shape}: flatten its measures")
        constant = np.flatnonzero(np.ptp(array.reshape(len(array), -1), axis=0) == 0)
        if len(constant):
            column = f" in column {constant[0]}" if array.ndim == 2 else ""
            raise UserError(f"{name} is constant{column}, so it has no correlation with anything: leave it out")
    if (
        first.ndim == second.ndim == 2
        and first.shape[1] != second.shape[1]
        and 1 not in (first.shape[1], second.shape[1])
    ):
        raise UserError(f"x has {first.shape[1]} measures and y has {second.shape[1]}: give as many, or one of x or y")
    return first, second


def codes(labels: Any, n: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """(n,) whole numbers in order of first appearance, so that renaming labels changes nothing; and the labels."""
    array = np.asarray(labels)
    if array.shape != (n,):
        raise UserError(f"{what} has the shape {array.shape}, there are {n} units: give one label for each")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise UserError(f"{what} has NaN at {int(np.flatnonzero(np.isnan(array))[0])}: give every unit a label")
    try:
        names, first, code = np.unique(array, return_index=True, return_inverse=True)
    except TypeError as problem:
        raise UserError(f"{what} mixes labels that cannot be compared ({problem}): make them all text") from problem
    order = np.argsort(first)
    return np.argsort(order)[code], names[order]


def one_of(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise unknown(kind, str(name), known)


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise UserError(f"the level {level} must lie between 0 and 1: 0.95 gives a 95 % interval")


def check_count(what: str, count: int, least: int) -> None:
    if count < least:
        raise UserError(f"{what} is {count}: give at least {least}")
