"""N-means of many tasks at once, from their Gram matrices: k-means++, Lloyd's iterations, the best of several starts.

A centre is the mean of its members, so every distance follows from the Gram matrix, and features are never touched.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.spaces.devices import takes_compiled_loops

N_STARTS = 10  # as scikit-learn's default was when the paper was written
N_ITERATIONS = 300


def fit_n_means(gram: Tensor, n: int, *, rng: np.random.Generator, n_starts: int = N_STARTS) -> Tensor:
    """(tasks, m) int64: each sample's cluster, of the start with the least inertia. gram: (tasks, m, m)."""
    tasks, m, _ = gram.shape
    if n >= m:  # each sample by itself; no start could do better
        return torch.arange(m, device=gram.device).expand(tasks, m).clone()
    own = gram.diagonal(dim1=1, dim2=2)
    distance = (own[:, :, None] + own[:, None, :] - 2 * gram).clamp_(min=0)
    centre = start_centres(distance, n, rng=rng, n_starts=n_starts)
    if takes_compiled_loops(gram):
        from exemplar.foresee.lloyd_kernel import nearest_first, settle_each

        first = nearest_first(distance.numpy(), centre.numpy())
        return torch.from_numpy(settle_each(gram.contiguous().numpy(), first, n, N_ITERATIONS))
    rows = torch.arange(tasks, device=gram.device)[:, None, None]
    member = distance[rows, centre].argmin(dim=2)  # (tasks, starts, m): nearest of the first centres
    return settle(gram, member.mT.contiguous(), n)


def start_centres(distance: Tensor, n: int, *, rng: np.random.Generator, n_starts: int) -> Tensor:
    """(tasks, starts, n) samples to start from, by greedy k-means++. distance: (tasks, m, m), squared."""
    tasks, m, _ = distance.shape
    n_tries = 2 + int(np.log(n))
    first = torch.from_numpy(rng.integers(0, m, (tasks, n_starts))).to(distance.device)
    drawn = torch.from_numpy(rng.random((tasks, n_starts, n - 1, n_tries))).to(distance)
    rows = torch.arange(tasks, device=distance.device)[:, None]
    nearest, chosen = distance[rows, first], [first]
    for step in range(n - 1):
        upto = nearest.cumsum(dim=2)
        wanted = drawn[:, :, step] * upto[..., -1:]
        tried = torch.searchsorted(upto, wanted, right=True).clamp_(max=m - 1)
        left = torch.minimum(nearest[:, :, None], distance[rows[..., None], tried])
        best = left.sum(dim=3).argmin(dim=2, keepdim=True)
        chosen.append(tried.gather(2, best)[..., 0])
        nearest = left.gather(2, best[..., None].expand(-1, -1, -1, m))[:, :, 0]
    return torch.stack(chosen, dim=2)


def settle(gram: Tensor, member: Tensor, n: int) -> Tensor:
    """(tasks, m): Lloyd's iterations from each start until nothing moves, then the best start. member: (tasks, m, starts)."""
    done = torch.empty(member.shape[:2], dtype=torch.int64, device=gram.device)
    active = torch.arange(len(gram), device=gram.device)
    for _ in range(N_ITERATIONS):
        apart, fit = _nearness(gram, member, n)
        moved = _fill_empty(gram, apart.argmin(dim=3), apart, n)
        still = (moved != member).flatten(1).any(dim=1)
        n_still = int(still.sum())
        if n_still * 8 <= 7 * len(active):  # tasks that are done are dropped, an eighth at a time
            rest = ~still
            done[active[rest]] = _best(member[rest], fit[rest])
            active, gram, moved = active[still], gram[still], moved[still]
        if not n_still:
            return done
        member = moved
    done[active] = _best(member, _nearness(gram, member, n)[1])
    return done


def _nearness(gram: Tensor, member: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Squared distances of samples to centres less what all centres share, (tasks, m, starts, n), infinite where a cluster is
    empty; and how well each start fits, (tasks, starts), which is −inertia up to a constant."""
    tasks, m, n_starts = member.shape
    belongs = (member[..., None] == torch.arange(n, device=gram.device)).to(gram)  # (tasks, m, starts, n)
    sums = (gram @ belongs.reshape(tasks, m, n_starts * n)).reshape(tasks, m, n_starts, n)
    count = belongs.sum(dim=1, keepdim=True)
    inner = (sums * belongs).sum(dim=1, keepdim=True)  # squared length of each cluster's sum
    fit = (inner / count.clamp(min=1)).sum(dim=(1, 3))
    apart = sums.mul_(-2 / count.clamp(min=1)).add_(inner / count.square())
    return apart.masked_fill_(count == 0, torch.inf), fit  # 0 / 0 only where it is empty


def _fill_empty(gram: Tensor, member: Tensor, apart: Tensor, n: int) -> Tensor:
    """An empty cluster takes the sample that is farthest from its own centre, out of a cluster of two or more."""
    count = (member[..., None] == torch.arange(n, device=gram.device)).sum(dim=1)  # (tasks, starts, n)
    for task, start, cluster in (count == 0).nonzero().tolist():
        own = member[task, :, start]
        far = apart[task, :, start].gather(1, own[:, None])[:, 0] + gram[task].diagonal()
        far[count[task, start][own] < 2] = -torch.inf
        place = int(far.argmax())
        count[task, start, own[place]] -= 1
        count[task, start, cluster] += 1
        member[task, place, start] = cluster
    return member


def _best(member: Tensor, fit: Tensor) -> Tensor:
    """(tasks, m): of the starts, the one that fits best."""
    return member[torch.arange(len(member), device=member.device), :, fit.argmax(dim=1)]


def centre_distances(gram: Tensor, member: Tensor, n: int) -> Tensor:
    """(tasks, m, n): distances from each sample to the mean of each cluster; member: (tasks, m)."""
    apart, _ = _nearness(gram, member[..., None], n)
    return (apart[:, :, 0] + gram.diagonal(dim1=1, dim2=2)[..., None]).clamp_(min=0).sqrt_()


def davies_bouldin(gram: Tensor, member: Tensor, n: int) -> Tensor:
    """(tasks,): Definition 5; member: (tasks, m) clusters. 0 is best; two clusters with one centre give infinity."""
    belongs = F.one_hot(member, n).to(gram)
    count = belongs.sum(dim=1)
    size = count.clamp(min=1)
    own = centre_distances(gram, member, n).gather(2, member[..., None])[..., 0]
    own = own * (count.gather(1, member) > 1)  # a sample alone is its own centre; rounding must not say otherwise
    spread = (belongs * own[..., None]).sum(dim=1) / size
    inner = belongs.mT @ gram @ belongs / (size[:, :, None] * size[:, None, :])
    norm = inner.diagonal(dim1=1, dim2=2)
    apart = (norm[:, :, None] + norm[:, None, :] - 2 * inner).clamp(min=0).sqrt()
    there = (count > 0)[:, :, None] & (count > 0)[:, None, :]
    both = spread[:, :, None] + spread[:, None, :]
    ratio = torch.where(there & (both > 0), both / apart, torch.zeros_like(both))
    ratio.diagonal(dim1=1, dim2=2).zero_()
    return ratio.amax(dim=2).sum(dim=1) / (count > 0).sum(dim=1)


def adjusted_rand(member: Tensor, truth: Tensor) -> Tensor:
    """(tasks,) float64, at most 1: how well clusters (tasks, m) agree with the truth (tasks, m), corrected for chance."""
    n, k = int(member.max()) + 1, int(truth.max()) + 1
    table = F.one_hot(member, n).double().mT @ F.one_hot(truth, k).double()

    def pairs(count: Tensor) -> Tensor:
        return (count * (count - 1) / 2).flatten(1).sum(dim=1)

    rows, columns = pairs(table.sum(dim=2)), pairs(table.sum(dim=1))
    m = member.shape[1]
    expected = rows * columns / max(m * (m - 1) / 2, 1)
    most = (rows + columns) / 2
    flat = most == expected  # everything together, or everything alone, in both
    return torch.where(flat, 1.0, (pairs(table) - expected) / torch.where(flat, 1.0, most - expected))
