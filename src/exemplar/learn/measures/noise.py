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
    the residual r, which is noisy itself; freedom: degrees of freedom of `square`.
    """

    square: float
    along: float
    product: np.ndarray
    towards: float
    freedom: float


def session_covariance(side: Behaviour) -> SessionCovariance:
    """Covariances of sessions within each subtask, each session a unit of its own."""
    n = side.n_sessions
    _enough(n)
    sigma, square = np.empty((len(n), side.n_trials, side.n_trials)), np.empty(len(n))
    for subtask, count in enumerate(n):
        centred = _centred(side.correct[side.subtask == subtask])
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
    return SideNoise(max(square, 0.0), along, product, 4 * float((away * where.residual).sum()), np.inf)


def noise_of_people(people: Behaviour, where: Direction) -> SideNoise:
    """Of mean curves over participants, who may have done one subtask or many, and are independent of each other."""
    names, unit = np.unique(people.participant, return_inverse=True)
    n_subtasks, alone = len(people.subtasks), len(names) == len(unit)
    along, towards, own = np.zeros((3, len(names), n_subtasks))
    product = np.empty(where.a.shape)
    blocks: list[tuple[np.ndarray, np.ndarray]] = []  # of each subtask, who did it, and their Gram matrix
    units: list[np.ndarray] = []
    _enough(people.n_sessions)
    for subtask, n in enumerate(people.n_sessions):
        mine = people.subtask == subtask
        who, centred = _merged(unit[mine], _centred(people.correct[mine]) / n)
        along[who, subtask] = centred @ where.a[subtask]
        towards[who, subtask] = centred @ where.residual[subtask]
        gram = centred @ centred.T
        own[who, subtask] = np.diagonal(gram) - np.diagonal(gram).mean()
        blocks.append((who, gram))
        units.append(centred)
    n = np.array([len(who) for who, _ in blocks], np.float64)
    _enough(n)
    bessel = n / (n - 1)
    summed = along @ np.sqrt(bessel)
    for subtask, ((who, _), centred) in enumerate(zip(blocks, units, strict=True)):
        product[subtask] = np.sqrt(bessel[subtask]) * (summed[who] @ centred)
    parts = _pairs_within(blocks, along, where.length) if alone else _pairs(blocks, along, where.length)
    square, fourth = sum(part for part, _ in parts), sum(part for _, part in parts)
    freedom = 1.5 * square**2 / fourth * float(((n - 3) / (n - 1)).mean()) if fourth > 0 else np.inf
    # The residual holds each unit's own noise, more of it where a unit varies more: without it, its products are with others.
    projected = np.square(along.sum(axis=1)) / where.length
    mine = own @ (n / (n - 2)) - (projected - projected.mean()) * float((n / (n - 2)).mean())
    left = float(((n - 1) / (n - 2) ** 2).mean())  # what chance leaves of that correction, as a share of `square`
    influence = float(np.square(towards.sum(axis=1) - mine).sum()) * float(bessel.mean())
    return SideNoise(
        square=float(square),
        along=float(np.square(summed).sum()) / where.length,
        product=product,
        towards=4 * (influence - 2 * left * float(square)),
        freedom=float(max(freedom, 1.0)),
    )


def trace_with(people: Behaviour | SessionCovariance, model: SessionCovariance) -> float:
    """tr C_h C_m of two sides whose curves are means of sessions: the model's covariances are within subtasks."""
    if isinstance(people, SessionCovariance):
        return float((np.einsum("stu,stu->s", people.sigma, model.sigma) / (people.n * model.n)).sum())
    total = 0.0
    for subtask, n in enumerate(people.n_sessions):
        centred = _centred(people.correct[people.subtask == subtask])
        total += float(((centred @ model.sigma[subtask]) * centred).sum()) / ((n - 1) * n * model.n[subtask])
    return total


def _pairs(blocks: list[tuple[np.ndarray, np.ndarray]], along: np.ndarray, length: float) -> list[tuple[float, float]]:
    """Sums over pairs of units of the squared products of their projections, and of its square."""
    n = np.array([len(who) for who, _ in blocks], np.float64)
    scale = n / np.sqrt((n - 1) * (n - 3))
    weighted, did = along * np.sqrt(scale), np.zeros(along.shape)
    products = np.zeros((len(along), len(along)))
    for subtask, (who, gram) in enumerate(blocks):
        products[np.ix_(who, who)] += scale[subtask] * _u_centred(gram)
        did[who, subtask] = 1
    total = weighted.sum(axis=1)
    mixed, again = (weighted @ (did / divisor).T for divisor in (n - 2, np.sqrt((n - 1) * (n - 2))))
    mixed *= total[:, None]
    products -= (np.outer(total, total) + mixed + mixed.T - again.T @ again) / length
    squared = np.square(products)
    np.fill_diagonal(squared, 0)
    return [(float(squared.sum()), float(np.square(squared).sum()))]


def _pairs_within(
    blocks: list[tuple[np.ndarray, np.ndarray]], along: np.ndarray, length: float
) -> list[tuple[float, float]]:
    """`_pairs` where everyone did one session: two units of different subtasks have only their projections in common."""
    parts, sums, fourths = [], [], []
    for subtask, (who, gram) in enumerate(blocks):
        n, mine = len(who), along[who, subtask]
        scale = n / np.sqrt((n - 1) * (n - 3))
        squared = np.square(scale * _u_centred(gram - np.outer(mine, mine) / length))
        np.fill_diagonal(squared, 0)
        parts.append((float(squared.sum()), float(np.square(squared).sum())))
        sums.append(scale * float((mine**2).sum()) / length)
        fourths.append(scale**2 * float((mine**4).sum()) / length**2)
    across = [sum(some) ** 2 - float(np.square(some).sum()) for some in (sums, fourths)]
    return [*parts, (across[0], across[1])]


def _u_centred(gram: np.ndarray) -> np.ndarray:
    """A Gram matrix of centred units whose products, off the diagonal, have lost the bias that centring gave them."""
    n, own = len(gram), np.diagonal(gram)
    return gram + (own[:, None] + own) / (n - 2) - own.sum() / ((n - 1) * (n - 2))


def _merged(who: np.ndarray, centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units that did a subtask more than once, added up."""
    names, place = np.unique(who, return_inverse=True)
    if len(names) == len(who):
        return who, centred
    merged = np.zeros((len(names), centred.shape[1]))
    np.add.at(merged, place, centred)
    return names, merged


def _centred(correct: np.ndarray) -> np.ndarray:
    sessions = correct.astype(np.float64)
    return sessions - sessions.mean(axis=0)


def _enough(n: np.ndarray) -> None:
    if n.min() < FEWEST:
        raise UserError(
            f"a subtask has {int(n.min())} sessions or participants: how curves vary needs at least {FEWEST}"
        )
