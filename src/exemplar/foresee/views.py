"""What a classifier may look at in tasks of one shape, and what several measures share: each thing computed once, if at all.

Raw features are used as they are (supervised), or diffused through a graph of all samples first (semi-supervised and
unsupervised). A readout of diffused features is applied to raw ones and its scores are diffused, which is the same and costs
less. Every random draw has a generator of its own, so that the order in which things are asked for decides nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from exemplar import seeds
from exemplar.foresee.clustering import fit_n_means
from exemplar.foresee.graphs import GraphConfig, diffusion, laplacian_eigenvalues
from exemplar.spaces.readouts import Readout, fit_logistic_adam

PAPER_GRAPH = GraphConfig()


class TaskView:
    """Tasks without the answers.

    support: (tasks, n, d) of length 1; labels: (tasks, n); queries: (tasks, q, d), or None where there are none; n_ways;
    diffused: whether features are diffused; name: of the generators; n_eigenvalues: how many of the smallest are computed, N
    unless given. A user's task is one whose classes may differ in size.
    """

    def __init__(
        self,
        support: Tensor,
        labels: Tensor,
        queries: Tensor | None,
        n_ways: int,
        *,
        diffused: bool,
        graph: GraphConfig = PAPER_GRAPH,
        name: tuple[Any, ...] = (),
        n_eigenvalues: int | None = None,
    ) -> None:
        self.raw_support, self.labels, self.raw_queries, self.n_ways = support, labels, queries, n_ways
        self.diffused, self.graph, self.name = diffused, graph, name
        self.n_eigenvalues = n_eigenvalues or n_ways
        self.n_tasks, self.n_labelled, self.n_features = support.shape

    def rng(self, what: str) -> np.random.Generator:
        return seeds.rng("foresee", what, *self.name)

    @cached_property
    def samples(self) -> Tensor:
        """(tasks, m, d) raw: the support, then the queries where there are any."""
        return self.raw_support if self.raw_queries is None else torch.cat([self.raw_support, self.raw_queries], dim=1)

    @cached_property
    def mix(self) -> Tensor:
        """(tasks, m, m): diffused features are this times the raw ones."""
        return diffusion(self._raw_gram, self.graph)

    @cached_property
    def _raw_gram(self) -> Tensor:
        return self.samples @ self.samples.mT

    @cached_property
    def support(self) -> Tensor:
        """(tasks, n, d) as they are used."""
        return self.mix[:, : self.n_labelled] @ self.samples if self.diffused else self.raw_support

    @cached_property
    def queries(self) -> Tensor:
        """(tasks, q, d) as they are used."""
        assert self.raw_queries is not None
        return self.mix[:, self.n_labelled :] @ self.samples if self.diffused else self.raw_queries

    def score_queries(self, readout: Readout) -> Tensor:
        """(tasks, q, ways): the readout's scores of the queries as they are used."""
        assert self.raw_queries is not None
        if not self.diffused:
            return readout.scores(self.raw_queries)
        scores = self.mix[:, self.n_labelled :] @ (self.samples @ readout.weight.mT)
        return scores + readout.bias[:, None]

    @cached_property
    def gram(self) -> Tensor:
        """(tasks, m, m): of the samples that unsupervised measures see, as they are used: all of them if they are diffused,
        else the support alone."""
        if not self.diffused:
            return self.raw_support @ self.raw_support.mT
        return self.mix @ self._raw_gram @ self.mix.mT

    @cached_property
    def all_gram(self) -> Tensor:
        """(tasks, m, m): of all samples as they are used, the support first."""
        return self.gram if self.diffused else self._raw_gram

    @cached_property
    def support_gram(self) -> Tensor:
        """(tasks, n, n): of the support as it is used."""
        return self.gram[:, : self.n_labelled, : self.n_labelled]

    @cached_property
    def clusters(self) -> Tensor:
        """(tasks, m): N-means of those samples."""
        return fit_n_means(self.gram, self.n_ways, rng=self.rng("n-means"))

    @cached_property
    def query_clusters(self) -> Tensor:
        """(tasks, q): N-means of the queries, or, where features are diffused, of all samples."""
        assert self.raw_queries is not None
        if self.diffused:
            return self.clusters[:, self.n_labelled :]
        return fit_n_means(self.raw_queries @ self.raw_queries.mT, self.n_ways, rng=self.rng("n-means of queries"))

    @cached_property
    def eigenvalues(self) -> Tensor:
        """(tasks, n_eigenvalues), ascending: the smallest of the Laplacian of a graph of those samples."""
        return laplacian_eigenvalues(self.gram, self.graph, self.n_eigenvalues)

    def fit_logistic(self, what: str = "logistic") -> Readout:
        """The paper's logistic regression. what: another name draws other starts and batches."""
        return self._train(self.support, self.labels, what)

    def _train(self, x: Tensor, labels: Tensor, what: str) -> Readout:
        """In float32, for which training is compiled; a readout of the features' own type."""
        fitted = fit_logistic_adam(x.float(), labels, self.n_ways, rng=self.rng(what))
        return Readout(fitted.weight.to(x), fitted.bias.to(x))

    @cached_property
    def logistic(self) -> Readout:
        return self.fit_logistic()

    @cached_property
    def support_log_p(self) -> Tensor:
        """(tasks, n, ways): of the logistic regression, on its own training samples."""
        return self.logistic.log_p(self.support)

    @cached_property
    def query_log_p(self) -> Tensor:
        """(tasks, q, ways): of the logistic regression."""
        return self.score_queries(self.logistic).log_softmax(dim=2)

    @cached_property
    def query_p(self) -> Tensor:
        return self.query_log_p.exp()

    @cached_property
    def held_out_p(self) -> Tensor:
        """(tasks, n, ways): each labelled sample's probabilities by a logistic regression that was trained on the other half
        of the labelled samples, two halves per task, balanced by class as far as they can be."""
        half = halves(self.labels, self.rng("halves"))
        found = torch.empty((*self.labels.shape, self.n_ways), dtype=self.support.dtype, device=self.support.device)
        for side in (0, 1):
            train, test = (_rows(half == part) for part in (side, 1 - side))
            x, y = _take(self.support, train), self.labels.gather(1, train)
            p = self._train(x, y, f"half {side}").log_p(_take(self.support, test)).exp()
            found.scatter_(1, test[..., None].expand(-1, -1, self.n_ways), p)
        return found

    @property
    def least_shots(self) -> int:
        """Labelled samples of the smallest class of any task."""
        return int(torch.nn.functional.one_hot(self.labels, self.n_ways).sum(dim=1).min())


def halves(labels: Tensor, rng: np.random.Generator) -> Tensor:
    """(tasks, n) 0 or 1: every class in two halves as equal as they can be, at random; equally many of each in every task of
    one shape."""
    keys = torch.from_numpy(rng.random(tuple(labels.shape))).to(labels.device)
    order = (labels + keys).argsort(dim=1)  # by class, and at random within it
    ordered = labels.gather(1, order)
    place = torch.arange(labels.shape[1], device=labels.device).expand_as(labels)
    first = torch.searchsorted(ordered.contiguous(), ordered.contiguous())
    within = place - first
    return torch.empty_like(labels).scatter_(1, order, within % 2)


def _rows(mask: Tensor) -> Tensor:
    """(tasks, k) int64: where each row of the mask is true; all have equally many."""
    return mask.nonzero()[:, 1].reshape(len(mask), -1)


def _take(x: Tensor, rows: Tensor) -> Tensor:
    return x.gather(1, rows[..., None].expand(-1, -1, x.shape[2]))
