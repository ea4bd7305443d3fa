"""The k nearest neighbours of each sample of one task after the other, compiled: a row is read once, and few of it are moved.

The same as torch's `topk` in `graphs.nearest_neighbours`, which GPUs use; the tests compare them.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def keep_nearest(cosine, k, kept):  # type: ignore[no-untyped-def]
    """Fills kept (tasks, m, m), zeros before, with each row's k largest cosines to other samples that are above 0; float32."""
    tasks, m, _ = cosine.shape
    value, place = np.empty(k, np.float32), np.empty(k, np.int64)
    for task in range(tasks):
        for i in range(m):
            row, n = cosine[task, i], 0
            for j in range(m):
                new = row[j]
                if j == i or (n == k and new <= value[k - 1]):
                    continue
                at = n if n < k else k - 1
                while at > 0 and value[at - 1] < new:  # the largest first, the earlier of equal ones
                    value[at], place[at] = value[at - 1], place[at - 1]
                    at -= 1
                value[at], place[at] = new, j
                n = min(n + 1, k)
            for at in range(n):
                if value[at] > 0:
                    kept[task, i, place[at]] = value[at]
