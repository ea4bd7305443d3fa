"""A learning rate that is halved where the loss no longer falls."""

from __future__ import annotations

from collections.abc import Sequence

LESS = 1e-4  # a loss counts as lower if it is so by this share


def halved_on_plateau(curve: Sequence[dict[str, float]], patience: int) -> float:
    """The rate's share after this curve: halved each time the loss, of what is held out if something is, has not reached a new
    low for `patience` steps. A function of the curve alone, so that what is resumed goes on as it would have.

    >>> halved_on_plateau([{"step": 10, "loss": 2.0}, {"step": 20, "loss": 3.0}, {"step": 30, "loss": 2.5}], patience=20)
    0.5
    """
    share, lowest, since = 1.0, float("inf"), 0.0
    for entry in curve:
        loss = entry.get("held_out_loss", entry["loss"])
        if loss < lowest - LESS * abs(lowest if lowest < float("inf") else 0.0):
            lowest, since = loss, entry["step"]
        elif entry["step"] - since >= patience:
            share, since = share / 2, entry["step"]
    return share
