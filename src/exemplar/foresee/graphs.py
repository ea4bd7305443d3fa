"""Graphs of nearest neighbours by cosine, for many tasks at once: diffusion through them, and eigenvalues of their Laplacian.

Everything is in terms of the Gram matrix of a task's samples, (tasks, m, m), so that nothing here depends on the number of
features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from exemplar.errors import UserError
from exemplar.spaces.devices import takes_compiled_loops


@dataclass(frozen=True)
class GraphConfig:
    """neighbours: k of both graphs; weight: α, of a sample itself; power: κ, how often features are diffused.

    The paper's text says κ = 1; its authors' code squares (α I + E): that is power 2, the variant `coded`.
    """

    neighbours: int = 15
    weight: float = 0.75
    power: int = 1

    def __post_init__(self) -> None:
        if self.neighbours < 1:
            raise UserError(f"neighbours must be at least 1, got {self.neighbours}.")
        if self.power < 1:
            raise UserError(f"power must be at least 1, got {self.power}.")
        if not self.weight >= 0:
            raise UserError(f"The weight of a sample itself must be at least 0, got {self.weight}.")


VARIANTS = {"paper": GraphConfig(), "coded": GraphConfig(power=2)}


def cosines(gram: Tensor) -> Tensor:
    """(tasks, m, m) cosines of the samples with this Gram matrix; 0 for a sample of length 0."""
    length = gram.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()
    inverse = torch.where(length > 0, 1 / length.clamp(min=1e-30), 0)
    return gram * inverse[:, :, None] * inverse[:, None, :]


def nearest_neighbours(cosine: Tensor, neighbours: int) -> Tensor:
    """(tasks, m, m): each row keeps its k largest cosines to other samples (all of them where there are fewer); Eq. 6.

    A negative cosine is no edge: features after a ReLU have none.
    """
    m = cosine.shape[1]
    k = min(neighbours, m - 1)
    if k < 1:
        return torch.zeros_like(cosine)
    if takes_compiled_loops(cosine):
        from exemplar.foresee.neighbour_kernel import keep_nearest

        kept = torch.zeros_like(cosine)
        keep_nearest(cosine.contiguous().numpy(), k, kept.numpy())
        return kept
    others = cosine.clone()
    others.diagonal(dim1=1, dim2=2).fill_(-torch.inf)
    value, place = others.topk(k, dim=2, sorted=False)
    return torch.zeros_like(cosine).scatter_(2, place, value.clamp_(min=0))


def diffusion(gram: Tensor, graph: GraphConfig) -> Tensor:
    """(tasks, m, m): the matrix (α I + E)^κ that diffuses features, row by row; Eqs. 7 and 8."""
    edges = nearest_neighbours(cosines(gram), graph.neighbours)
    degree = edges.sum(dim=2)
    scale = torch.where(degree > 0, degree.clamp(min=1e-30).rsqrt(), 0)
    step = edges.mul_(scale[:, :, None]).mul_(scale[:, None, :])
    step.diagonal(dim1=1, dim2=2).add_(graph.weight)
    spread = step
    for _ in range(graph.power - 1):
        spread = spread @ step
    return spread


def laplacian_eigenvalues(gram: Tensor, graph: GraphConfig, n: int) -> Tensor:
    """(tasks, n), ascending: the n smallest (all m, where n is more) of the combinatorial Laplacian of the symmetrised graph,
    (W + Wᵀ) / 2; Definition 6."""
    edges = nearest_neighbours(cosines(gram), graph.neighbours)
    edges = (edges + edges.mT).div_(2)
    laplacian = edges.neg()
    laplacian.diagonal(dim1=1, dim2=2).add_(edges.sum(dim=2))
    n = min(n, laplacian.shape[1])
    return _smallest_each(laplacian, n) if gram.device.type == "cpu" else torch.linalg.eigvalsh(laplacian)[:, :n]


def _smallest_each(matrices: Tensor, n: int) -> Tensor:
    """(tasks, n): on a processor, where a few eigenvalues cost half as much as all of them."""
    try:
        import scipy.linalg
    except ModuleNotFoundError:  # a machine lent for its GPU need not have it
        return torch.linalg.eigvalsh(matrices)[:, :n]
    wanted = (0, n - 1)
    found = [
        scipy.linalg.eigh(one, eigvals_only=True, subset_by_index=wanted, driver="evr", check_finite=False)
        for one in matrices.numpy()
    ]
    return torch.from_numpy(np.stack(found))
