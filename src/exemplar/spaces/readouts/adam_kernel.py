"""One task's logistic regression by Adam after the other, compiled: a task's weights stay in the processor's first caches.

The same steps as `logistic.descend` takes for all tasks at once on a GPU; both are compared with torch's own Adam in the tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BETA2, EPSILON = np.float32(0.999), np.float32(1e-8)  # torch's
GAIN1, GAIN2 = np.float32(0.1), np.float32(0.001)  # 1 − β, rounded once
ONE = np.float32(1)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def descend_each(  # type: ignore[no-untyped-def]
    weight, bias, x, y, order, rate, penalty, batch
):
    """Trains weight (tasks, classes, d) and bias (tasks, classes) in place; float32.

    x: (tasks, n, d) float32; y: (tasks, n) int64; order: (tasks, epochs, n) int64; rate, penalty: float32.
    """
    tasks, classes, d = weight.shape
    n = x.shape[1]
    first, second = np.empty((classes, d), np.float32), np.empty((classes, d), np.float32)
    first_bias, second_bias = np.empty(classes, np.float32), np.empty(classes, np.float32)
    slope, error = np.empty(d, np.float32), np.empty((batch, classes), np.float32)
    for task in range(tasks):
        first[:], second[:], first_bias[:], second_bias[:] = 0, 0, 0, 0
        power1, power2 = 1.0, 1.0
        for epoch in range(order.shape[1]):
            for start in range(0, n - batch + 1, batch):
                power1 *= 0.9
                power2 *= 0.999
                step = np.float32(rate / (1 - power1))
                scale = np.float32(1 / np.sqrt(1 - power2))
                for b in range(batch):
                    row = order[task, epoch, start + b]
                    _errors(error[b], weight[task], bias[task], x[task, row], y[task, row], batch)
                for c in range(classes):
                    w, m, v = weight[task, c], first[c], second[c]
                    for j in range(d):
                        slope[j] = penalty * w[j]
                    slope_bias = penalty * bias[task, c]
                    for b in range(batch):
                        size = error[b, c]
                        slope_bias += size
                        sample = x[task, order[task, epoch, start + b]]
                        for j in range(d):
                            slope[j] += size * sample[j]
                    for j in range(d):
                        m[j] += GAIN1 * (slope[j] - m[j])
                        v[j] = BETA2 * v[j] + GAIN2 * slope[j] * slope[j]
                        w[j] -= step * m[j] / (np.sqrt(v[j]) * scale + EPSILON)
                    first_bias[c] += GAIN1 * (slope_bias - first_bias[c])
                    second_bias[c] = BETA2 * second_bias[c] + GAIN2 * slope_bias * slope_bias
                    bias[task, c] -= step * first_bias[c] / (np.sqrt(second_bias[c]) * scale + EPSILON)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def _errors(error, weight, bias, sample, label, batch):  # type: ignore[no-untyped-def]
    """Fills error (classes,): softmax less one-hot, over the size of the batch."""
    largest = np.float32(-np.inf)
    for c in range(len(bias)):
        total = np.float32(0)
        w = weight[c]
        for j in range(len(sample)):
            total += w[j] * sample[j]
        error[c] = total + bias[c]
        largest = max(largest, error[c])
    whole = np.float32(0)
    for c in range(len(bias)):
        error[c] = np.exp(error[c] - largest)
        whole += error[c]
    for c in range(len(bias)):
        error[c] = (error[c] / whole - (ONE if c == label else np.float32(0))) / np.float32(batch)
