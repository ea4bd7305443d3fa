"""How much the distance between learning curves varies from one experiment to the next, in closed form.

People's mean curve is a sum over independent units, H̄ = Σ_u D_u: a unit is a participant with all sessions, each divided by the
number of sessions in its subtask. The sum of ⟨D_u, D_v⟩² over pairs of units is what the variance of ‖H̄ − μ‖² needs (Chen & Qin
2010), and it takes only Gram matrices of units, centred so that the sum has no bias in small samples (Székely & Rizzo 2013).
Fitting a lapse rate takes the direction a = model − chance out of the residual. It is therefore taken out of every unit too,
and then people who lapse differently, which moves them along a, add no noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour, Curves

FEWEST = 4  # sessions of a subtask; of fewer there is no unbiased estimate of a squared covariance


@dataclass(frozen=True, eq=False)
class SessionCovariance:
    """How sessions vary. curves: their means; sigma: (subtasks, trials, trials) covariance; square: (subtasks,) unbiased tr
    Σ².
    """

    curves: Curves
    sigma: np.ndarray
    square: np.ndarray

    @property
    def n(self) -> np.ndarray:
        """(subtasks,) sessions."""
        return self.curves.n_sessions


@dataclass(frozen=True, eq=False)
class Direction:
    """a: (subtasks, trials) model − chance where a lapse rate was fitted, else 0; residual: (subtasks, trials) people − chance
    − (1 − lapse)(model − chance), without its part along a.
    """

    a: np.ndarray
    residual: np.ndarray

    @property
    def length(self) -> float:
        """‖a‖²; 1 where a is 0, so that nothing is divided by 0."""
        return float((self.a * self.a).sum()) or 1.0


@dataclass(frozen=True, eq=False)
class SideNoise:
    """The sampling covariance C of one side's mean curves, as far as an error needs it; sums are over subtasks and trials.

    square: tr (PCP)², P projecting out the direction a; along: a′Ca / ‖a‖²; product: (subtasks, trials) Ca; towards: 4 r′Cr for
    the residual r, which is noisy itself; freedom: degrees of freedom of `square`; n_units: independent units, less those that
    means took.
    """

    square: float
    along: float
    product: np.ndarray
    towards: float
    freedom: float
    n_units: float


def session_covariance(side: Behaviour) -> SessionCovariance:
    """Covariances of sessions within each subtask, each session a unit of its own."""
    n = side.n_sessions
    _enough(n)
    sigma, square = np.empty((len(n), side.n_trials, side.n_trials)), np.empty(len(n))
    for subtask, count in enumerate(n):
        centred = _centred(side.correct[side.places[subtask]])
        sigma[subtask] = centred.T @ centred / (count - 1)
        length = np.square(centred).sum(axis=1)
        # without bias whatever the distribution (Himeno & Yamada 2014)
        whole, trace, fourth = np.square(sigma[subtask]).sum(), length.sum() / (count - 1), np.square(length).sum()
        inner = (count - 1) * (count - 2) * whole + trace**2 - count / (count - 1) * fourth
        square[subtask] = (count - 1) / (count * (count - 2) * (count - 3)) * inner
    return SessionCovariance(side.curves(), sigma, square)


def covariance_of_counts(people: Curves, model: SessionCovariance, keep: float) -> SessionCovariance:
    """What people's sessions would vary by if they learned as the model does and guessed on a share 1 − keep of the trials: the
    variance on a trial is in the counts, the covariance of two trials is the model's, times keep².
    """
    n, right = people.n_sessions, people.n_correct
    _enough(n)
    sigma, trials = keep**2 * model.sigma, np.arange(people.n_trials)
    sigma[:, trials, trials] = people.variance * n[:, None]
    wrong, size = n[:, None] - right, n[:, None].astype(np.float64)
    # p²(1 − p)² without bias, by factorial moments
    fourth = right * (right - 1) * wrong * (wrong - 1) / (size * (size - 1) * (size - 2) * (size - 3))
    between = model.square - np.square(model.sigma[:, trials, trials]).sum(axis=1)
    return SessionCovariance(people, sigma, keep**4 * between + fourth.sum(axis=1))


def noise_of_sessions(side: SessionCovariance, where: Direction, keep: float = 1.0) -> SideNoise:
    """Of mean curves over independent sessions, multiplied by `keep`."""
    share = keep**2 / side.n[:, None]
    product, away = ((side.sigma @ part[:, :, None])[:, :, 0] * share for part in (where.a, where.residual))
    along = float((product * where.a).sum()) / where.length
    square = float((side.square * keep**4 / (side.n * (side.n - 1))).sum())
    square += along**2 - 2 * float((product * product).sum()) / where.length
    return SideNoise(max(square, 0.0), along, product, 4 * float((away * where.residual).sum()), np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class UnitGroup:
    """Subtasks that as many units did. subtasks: (k,); who: (k, n) units; shares: (k, n, trials) their parts of the mean curve,
    centred; gram: (k, n, n) products of these."""

    subtasks: np.ndarray
    who: np.ndarray
    shares: np.ndarray
    gram: np.ndarray


@dataclass(frozen=True, eq=False)
class Units:
    """Participants and what they did. curves: over all; n: how many participants; alone: whether each did one session only."""

    curves: Curves
    n: int
    alone: bool
    groups: tuple[UnitGroup, ...]


def find_units(people: Behaviour) -> Units:
    """Participants as independent units. One's sessions in one subtask are added up."""
    names, unit = np.unique(people.participant, return_inverse=True)
    single: dict[int, list[int]] = {}
    found = []
    once = len(np.unique(people.subtask * len(names) + unit)) == len(unit)
    for subtask, place in enumerate(people.places):
        if once or len(np.unique(unit[place])) == len(place):
            single.setdefault(len(place), []).append(subtask)
        else:
            who, code = np.unique(unit[place], return_inverse=True)
            merged = np.zeros((1, len(who), people.n_trials))
            np.add.at(merged[0], code, _centred(people.correct[place]) / len(place))
            found.append(UnitGroup(np.array([subtask]), who[None], merged, merged @ merged.transpose(0, 2, 1)))
    for n, subtasks in single.items():
        sessions = np.stack([people.places[subtask] for subtask in subtasks])
        shares = people.correct[sessions].astype(np.float64)
        shares -= shares.mean(axis=1, keepdims=True)
        shares /= n
        found.append(UnitGroup(np.array(subtasks), unit[sessions], shares, shares @ shares.transpose(0, 2, 1)))
    _enough(np.array([group.who.shape[1] for group in found]))
    return Units(people.curves(), len(names), len(names) == len(unit), tuple(found))


def noise_of_units(units: Units, where: Direction) -> SideNoise:
    """Of mean curves over participants, who may have done one subtask or many, and are independent of each other."""
    groups, n_subtasks = units.groups, len(units.curves.subtasks)
    n, length = np.ones(n_subtasks), where.length
    along, towards, own = np.zeros((3, units.n, n_subtasks))
    for group in groups:
        place = group.who, group.subtasks[:, None]
        n[group.subtasks] = group.who.shape[1]
        along[place] = (group.shares @ where.a[group.subtasks, :, None])[:, :, 0]
        towards[place] = (group.shares @ where.residual[group.subtasks, :, None])[:, :, 0]
        size = np.diagonal(group.gram, axis1=1, axis2=2)
        own[place] = size - size.mean(axis=1, keepdims=True)
    bessel = n / (n - 1)
    summed, product = along @ np.sqrt(bessel), np.empty(where.a.shape)
    for group in groups:
        product[group.subtasks] = (summed[group.who][:, None] @ group.shares)[:, 0]
    square, fourth, n_pairs = (_pairs_within if units.alone else _pairs)(groups, along, length)
    shrink = float(((n - 3) / (n - 1)).mean())
    freedom = shrink * min(1.5 * square**2 / fourth, n_pairs) if fourth > 0 else np.inf
    # The influence of a unit on the U-statistic, in which it meets only others: the residual holds its own noise too.
    projected = np.square(along.sum(axis=1)) / length
    mine = own @ (n / (n - 2)) - (projected - projected.mean()) * float((n / (n - 2)).mean())
    influence = float(np.square(towards.sum(axis=1) - mine).sum()) * float(bessel.mean())
    return SideNoise(
        square=square,
        along=float(np.square(summed).sum()) / length,
        product=product * np.sqrt(bessel)[:, None],
        towards=4 * (influence - square * float((1 / (n - 2)).mean())),
        freedom=max(freedom, 1.0),
        n_units=units.n - (n_subtasks - 1 if units.alone else 0),
    )


def trace_with(people: Units | SessionCovariance, model: SessionCovariance) -> float:
    """tr C_h C_m of two sides: the model's covariances are within subtasks."""
    if isinstance(people, SessionCovariance):
        return float((np.einsum("stu,stu->s", people.sigma, model.sigma) / (people.n * model.n)).sum())
    total = 0.0
    for group in people.groups:
        n = group.who.shape[1]
        product = np.einsum("knt,knt->k", group.shares @ model.sigma[group.subtasks], group.shares)
        total += float((product / model.n[group.subtasks]).sum()) * n / (n - 1)
    return total


def _pairs(groups: tuple[UnitGroup, ...], along: np.ndarray, length: float) -> tuple[float, float, float]:
    """Over pairs of units, the sum of the squared products of their projections, of its square, and how many pairs."""
    products, did, n = np.zeros((len(along), len(along))), np.zeros(along.shape), np.ones(along.shape[1])
    for group in groups:
        size = group.who.shape[1]
        centred = size / np.sqrt((size - 1) * (size - 3)) * _u_centred(group.gram)
        if (group.who == group.who[0]).all():
            products[np.ix_(group.who[0], group.who[0])] += centred.sum(axis=0)
        else:
            np.add.at(products, (group.who[:, :, None], group.who[:, None, :]), centred)
        did[group.who, group.subtasks[:, None]] = 1
        n[group.subtasks] = size
    weighted = along * np.sqrt(n / np.sqrt((n - 1) * (n - 3)))
    total = weighted.sum(axis=1)
    mixed, again = (weighted @ (did / divisor).T for divisor in (n - 2, np.sqrt((n - 1) * (n - 2))))
    mixed *= total[:, None]
    products -= (np.outer(total, total) + mixed + mixed.T - again.T @ again) / length
    squared = np.square(products)
    np.fill_diagonal(squared, 0)
    met = did @ did.T > 0
    return float(squared.sum()), float(np.square(squared).sum()), (int(met.sum()) - len(met)) / 2


def _pairs_within(groups: tuple[UnitGroup, ...], along: np.ndarray, length: float) -> tuple[float, float, float]:
    """`_pairs` where everyone did one session: two units of different subtasks have only their projections in common."""
    square = fourth = n_pairs = 0.0
    sums, fourths = [], []
    for group in groups:
        k, n = group.who.shape
        mine = along[group.who, group.subtasks[:, None]]
        scale = n / np.sqrt((n - 1) * (n - 3))
        squared = np.square(scale * _u_centred(group.gram - mine[:, :, None] * mine[:, None] / length))
        squared[:, np.arange(n), np.arange(n)] = 0
        square, fourth = square + float(squared.sum()), fourth + float(np.square(squared).sum())
        n_pairs += k * n * (n - 1) / 2
        sums.append(scale * np.square(mine).sum(axis=1) / length)
        fourths.append(scale**2 * (mine**4).sum(axis=1) / length**2)
    across = [float(some.sum() ** 2 - np.square(some).sum()) for some in map(np.concatenate, (sums, fourths))]
    return square + across[0], fourth + across[1], n_pairs


def _u_centred(gram: np.ndarray) -> np.ndarray:
    """Gram matrices (k, n, n) of centred units whose products, off the diagonal, have lost the bias that centring gave them."""
    n, own = gram.shape[1], np.diagonal(gram, axis1=1, axis2=2)
    both: np.ndarray = gram + (own[:, :, None] + own[:, None]) / (n - 2)
    return both - own.sum(axis=1)[:, None, None] / ((n - 1) * (n - 2))


def _centred(correct: np.ndarray) -> np.ndarray:
    sessions = correct.astype(np.float64)
    return sessions - sessions.mean(axis=0)


def _enough(n: np.ndarray) -> None:
    if n.min() < FEWEST:
        raise UserError(
            f"a subtask has {int(n.min())} sessions or participants: how curves vary needs at least {FEWEST}"
        )
