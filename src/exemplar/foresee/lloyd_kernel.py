"""Lloyd's iterations of one task's start after the other, compiled: only samples that move change a cluster's sum.

The same as `clustering.settle` does for all tasks at once on a GPU; the tests compare them.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def nearest_first(distance, centre):  # type: ignore[no-untyped-def]
    """(tasks, starts, m) int64: for each start, which of its first centres is nearest to each sample.

    distance: (tasks, m, m) float32; centre: (tasks, starts, n) int64, samples.
    """
    tasks, n_starts, n = centre.shape
    m = distance.shape[1]
    member, nearest = np.zeros((tasks, n_starts, m), np.int64), np.empty(m, np.float32)
    for task in range(tasks):
        for start in range(n_starts):
            own = member[task, start]
            nearest[:] = np.inf
            for c in range(n):
                row = distance[task, centre[task, start, c]]
                for i in range(m):  # without a branch, so that it is compiled to vectors
                    closer = row[i] < nearest[i]
                    nearest[i] = row[i] if closer else nearest[i]
                    own[i] = c if closer else own[i]
    return member


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def settle_each(gram, member, n, n_iterations):  # type: ignore[no-untyped-def]
    """(tasks, m) int64, the best start's clusters. gram: (tasks, m, m) float32; member: (tasks, starts, m) int64."""
    tasks, n_starts, m = member.shape
    found = np.empty((tasks, m), np.int64)
    sums, count = np.empty((n, m), np.float32), np.empty(n, np.int64)
    nearest, which = np.empty(m, np.float32), np.zeros(m, np.int32)
    for task in range(tasks):
        best = np.float32(-np.inf)
        for start in range(n_starts):
            own = member[task, start].astype(np.int32)
            _sum_members(gram[task], own, sums, count)
            for _ in range(n_iterations):
                _find_nearest(sums, count, own, nearest, which)
                _fill_empty(gram[task], which, nearest, count)
                moved = False
                for i in range(m):
                    old, new = own[i], which[i]
                    if old != new:
                        moved = True
                        own[i] = new
                        row, less, more = gram[task, i], sums[old], sums[new]
                        for j in range(m):
                            less[j] -= row[j]
                            more[j] += row[j]
                if not moved:
                    break
                count[:] = 0
                for i in range(m):
                    count[own[i]] += 1
            _sum_members(gram[task], own, sums, count)  # afresh: what was added and taken away has been rounded
            fit = np.float32(0)
            for i in range(m):
                fit += sums[own[i], i] / count[own[i]]
            if fit > best:
                best = fit
                found[task] = own
    return found


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _sum_members(gram, own, sums, count):  # type: ignore[no-untyped-def]
    sums[:], count[:] = 0, 0
    for i in range(len(own)):
        count[own[i]] += 1
        row, total = gram[i], sums[own[i]]
        for j in range(len(own)):
            total[j] += row[j]


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _find_nearest(sums, count, own, nearest, which):  # type: ignore[no-untyped-def]
    """Fills which (m,) with the nearest centre, and nearest (m,) with its squared distance less the sample's own length."""
    nearest[:] = np.inf
    for c in range(len(count)):
        if count[c] == 0:
            continue
        total, inner = sums[c], np.float32(0)
        for i in range(len(own)):
            inner += total[i] if own[i] == c else np.float32(0)
        norm = inner / np.float32(count[c]) / np.float32(count[c])
        scale = np.float32(-2) / np.float32(count[c])
        here = np.int32(c)
        for i in range(len(own)):  # without a branch, so that it is compiled to vectors
            apart = norm + scale * total[i]
            closer = apart < nearest[i]
            nearest[i] = apart if closer else nearest[i]
            which[i] = here if closer else which[i]


@njit(cache=True, error_model="numpy")
def _fill_empty(gram, which, nearest, count):  # type: ignore[no-untyped-def]
    """An empty cluster takes the sample that is farthest from its own centre, out of a cluster of two or more."""
    count[:] = 0
    for i in range(len(which)):
        count[which[i]] += 1
    for c in range(len(count)):
        if count[c] == 0:
            far, place = np.float32(-np.inf), -1
            for i in range(len(which)):
                apart = nearest[i] + gram[i, i]
                if count[which[i]] > 1 and apart > far:
                    far, place = apart, i
            count[which[place]] -= 1
            count[c] += 1
            which[place] = c
