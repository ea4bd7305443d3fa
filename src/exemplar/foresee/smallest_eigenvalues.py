"""The few smallest eigenvalues of many symmetric matrices at once, on a GPU.

The library there takes one matrix after the other, and finds all of its eigenvalues. Here all matrices are brought to
tridiagonal form together (Householder), and the wanted eigenvalues are closed in on by counting how many lie below a place
(Sturm): each round tries many places between two bounds, which is a row of small operations however many matrices there are.
"""

from __future__ import annotations

import torch
from torch import Tensor

N_PLACES, N_ROUNDS = 63, 7  # 6 bits per round
TINY = 1e-300  # in place of a pivot that is 0


def smallest_eigenvalues(matrices: Tensor, n: int) -> Tensor:
    """(tasks, n), ascending, of the type that came in, computed in float64. matrices: (tasks, m, m), symmetric."""
    middle, beside = tridiagonal(matrices.double())
    reach = torch.nn.functional.pad(beside.abs(), (1, 1))
    reach = reach[:, 1:] + reach[:, :-1]
    low, high = ((middle + sign * reach) for sign in (-1, 1))  # Gershgorin
    ends = [end[:, None].expand(-1, n) for end in (low.amin(1), high.amax(1))]
    rank = torch.arange(n, device=matrices.device)[:, None]
    share = torch.arange(1, N_PLACES + 1, device=matrices.device, dtype=torch.float64) / (N_PLACES + 1)
    for _ in range(N_ROUNDS):
        width = ends[1] - ends[0]
        places = ends[0][..., None] + width[..., None] * share  # (tasks, n, places)
        above = count_below(middle, beside, places) > rank
        first = torch.where(above.any(2), above.int().argmax(2), N_PLACES)  # the first place that is above
        ends = [ends[0] + width * first / (N_PLACES + 1), ends[0] + width * (first + 1) / (N_PLACES + 1)]
    return ((ends[0] + ends[1]) / 2).to(matrices.dtype)


def tridiagonal(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """Diagonal (tasks, m) and what stands beside it (tasks, m − 1), of a tridiagonal matrix with the same eigenvalues."""
    rest, middle, beside = matrices, [], []
    for _ in range(matrices.shape[1] - 2):
        middle.append(rest[:, 0, 0])
        column = rest[:, 1:, 0]
        length = column.norm(dim=1)
        end = torch.where(column[:, 0] > 0, -length, length)
        mirror = column.clone()
        mirror[:, 0] -= end
        square = mirror.square().sum(1, keepdim=True)
        mirror = mirror * torch.where(square > 0, (2 / square.clamp(min=TINY)).sqrt(), 0.0)  # I − v vᵀ mirrors
        image = (rest[:, 1:, 1:] @ mirror[..., None])[..., 0]
        image = image - mirror * (0.5 * (image * mirror).sum(1, keepdim=True))
        both, other = torch.stack([mirror, image], 2), torch.stack([image, mirror], 1)
        rest = torch.baddbmm(rest[:, 1:, 1:], both, other, alpha=-1)
        beside.append(end)
    middle += [rest[:, k, k] for k in range(rest.shape[1])]
    beside += [rest[:, 0, 1]] if rest.shape[1] > 1 else []
    return torch.stack(middle, 1), torch.stack(beside, 1) if beside else matrices.new_zeros(len(matrices), 0)


def count_below(middle: Tensor, beside: Tensor, places: Tensor) -> Tensor:
    """How many eigenvalues lie below each place: the negative pivots of T − place (Sturm). places: (tasks, n, p)."""
    square = beside.square()
    pivot = middle[:, 0, None, None] - places
    count = (pivot < 0).int()
    for k in range(1, middle.shape[1]):
        pivot = torch.where(pivot.abs() < TINY, -TINY, pivot)
        pivot = middle[:, k, None, None] - places - square[:, k - 1, None, None] / pivot
        count += pivot < 0
    return count
