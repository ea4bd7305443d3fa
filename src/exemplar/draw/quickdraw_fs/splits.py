"""Which concepts are for training, for choosing and for testing: at random, as published, or by category, which is stricter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.images.lists import read_list
from exemplar.images.quickdraw_fs import in_category_test

TRAIN, VAL, TEST = "train", "val", "test"  # what is for choosing is for training, too, once all is chosen
PUBLISHED, CATEGORY = "published", "category"
KINDS = (PUBLISHED, CATEGORY)


def split_at_random(n: int, train_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) text: of n concepts in random order the first share for training, the others for testing, as in the paper; of those
    for training as many as are for testing are for choosing, a half at most."""
    n_train = min(max(round(n * train_share), 1), n - 1)
    order, part = rng.permutation(n), np.full(n, TEST, dtype="<U5")
    part[order[:n_train]] = TRAIN
    part[order[: min(n - n_train, n_train // 2)]] = VAL
    return part


def split_by_category(words: Sequence[str]) -> np.ndarray:
    """(n,) text, from each concept's category: by a hash of its name, whatever other categories there are."""
    chosen_on = read_list("quickdraw_val")
    parts = [TEST if in_category_test(word) else VAL if word in chosen_on else TRAIN for word in words]
    return np.array(parts, dtype="<U5")


def members(part: np.ndarray, split: str) -> np.ndarray:
    """(n,) bool: which concepts a split holds; those for choosing are in train, too."""
    return part == split if split != TRAIN else (part == TRAIN) | (part == VAL)


def check_split(part: np.ndarray, kind: str) -> None:
    """Refuse a split of which a side is empty."""
    if kind not in KINDS:
        raise unknown("way to split concepts", kind, KINDS)
    for split in (TRAIN, TEST):
        if not members(part, split).any():
            raise UserError(f"none of the {len(part)} concepts is for {split} when split by {kind}: add categories")
