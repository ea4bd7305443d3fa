"""Drawers whose true place in the plane is known: people with hands of their own, agents at a known distance from them.

Drawings are unlike what intervals and tests assume: contributions to diversity are lognormal, a drawing is named right or not,
concepts differ in both, and what moves an agent moves some concepts more than others, with heavy tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

SPREAD, LOG_SPREAD = 0.38, 0.28  # diversity over concepts, as Omniglot's people
EASE, EASE_SPREAD = 3.5, 1.2  # logit of being named right over concepts
N_TRUTH = 1_000_000  # draws from which the true place is computed


@dataclass(frozen=True)
class Agent:
    """more: of diversity, as a share; easier: on the logit scale; uneven: how much concepts differ in both; hands: whether its
    j-th drawings of all concepts are by one hand."""

    more: float = 0.0
    easier: float = 0.0
    uneven: float = 0.0
    hands: bool = False


@dataclass(frozen=True)
class World:
    """k concepts, n drawings of each, by s pairs of critics; hands: how much a drawer's hand shows in all concepts."""

    k: int
    n: int
    s: int = 1
    hands: float = 0.15

    def sample(self, agents: list[Agent], rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
        """People's plane, (s, k, n, 2) not yet scaled, then each agent's, of the same concepts."""
        spread, ease = SPREAD * np.exp(LOG_SPREAD * rng.normal(size=self.k)), rng.normal(EASE, EASE_SPREAD, self.k)
        people = self._draw(spread, ease, True, rng)
        drawn = []
        for agent in agents:
            scale = 0.2 * agent.uneven
            more = np.exp(scale * rng.normal(size=self.k) - scale**2 / 2) * (1 + agent.more)
            easier = agent.easier + agent.uneven * rng.standard_t(5, self.k)
            drawn.append(self._draw(spread * more, ease + easier, agent.hands, rng))
        return people, drawn

    def _draw(self, spread: np.ndarray, ease: np.ndarray, by_hand: bool, rng: np.random.Generator) -> np.ndarray:
        shape = (self.s, self.k, self.n)
        hand = self.hands * rng.normal(size=(2, 1 if by_hand else self.k, self.n))
        both = np.exp(0.5 * rng.normal(size=shape[1:]) - 0.125)
        across = spread[:, None] * (both * np.exp(0.2 * rng.normal(size=shape) - 0.02) + hand[0])
        up = rng.random(shape) < expit(ease[:, None] + 2 * hand[1])
        return np.stack([across, up], axis=-1)

    def true_place(self, agent: Agent, rng: np.random.Generator) -> np.ndarray:
        """(2,): where the agent is, seen from people, not yet scaled."""
        ease = rng.normal(EASE, EASE_SPREAD, N_TRUTH)
        hand, own = 2 * self.hands * rng.normal(size=(2, N_TRUTH))
        moved = (
            expit(ease + agent.easier + agent.uneven * rng.standard_t(5, N_TRUTH) + own).mean()
            - expit(ease + hand).mean()
        )
        return np.array([SPREAD * np.exp(LOG_SPREAD**2 / 2) * agent.more, moved])


def scaled(people: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, ...]:
    """All in units of people's deviation over concepts, by each critic; that itself, (s, 2), comes last. It is 0 where
    people's concepts do not differ."""
    unit = people.mean(axis=2).std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (*(plane / unit[:, None, None] for plane in (people, *others)), unit)
