"""Agents at the task: any agent one trial at a time, or the known ones in Gram space, hundreds of times faster, alike.

Weights are sums of images seen, so w·x is a sum of products between images. Those are few: of the images of one subtask, whose
Gram matrix all sessions and all rules share. A session keeps w·x of the images it will still show, and when it learns from
one, adds its products with those.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from exemplar.errors import UserError
from exemplar.learn.agents import Agent, LinearLearner, Prototype, RandomGuesser
from exemplar.learn.agents.linear import GRAIN, GRID, BoundedRule, PolicyRule, compares
from exemplar.learn.features import check_subtasks
from exemplar.learn.session_random import session_random, session_rng
from exemplar.learn.tasks import Sessions


def run_agent(agent: Agent, features: np.ndarray, sessions: Sessions) -> np.ndarray:
    """Choices (subtasks, sessions, trials) int8 of any agent, trial by trial.

    features: (subtasks, objects, images, d), in the ball of radius 1 (`Features.in_ball`).
    """
    images = _images(features, sessions)
    n_subtasks, n_sessions, n_trials = sessions.shape
    choice = np.empty(sessions.shape, np.int8)
    for subtask in range(n_subtasks):
        for session in range(n_sessions):
            agent.reset(session_rng(sessions.key, subtask * n_sessions + session))
            for trial in range(n_trials):
                made = agent.choose(images[subtask, sessions.image[subtask, session, trial]])
                if not 0 <= made < sessions.n_choices:
                    raise UserError(f"the agent chose {made}: a choice is 0 to {sessions.n_choices - 1}")
                agent.feedback(1.0 if made == sessions.answer[subtask, session, trial] else -1.0)
                choice[subtask, session, trial] = made
    return choice


def gram_matrices(features: np.ndarray) -> np.ndarray:
    """Products of all images of a subtask, (subtasks, objects · images, objects · images) float64: enough for any rule.

    features: (subtasks, objects, images, d), in the ball of radius 1.
    """
    check_subtasks(features)
    n_subtasks, n_objects, n_images, d = features.shape
    grams = np.empty((n_subtasks, n_objects * n_images, n_objects * n_images))
    for subtask, images in enumerate(features.reshape(n_subtasks, -1, d)):
        wide = images.astype(np.float64)
        np.matmul(wide, wide.T, out=grams[subtask])
    return grams


def simulate(agent: Agent, grams: np.ndarray, sessions: Sessions) -> np.ndarray:
    """Choices (subtasks, sessions, trials) int8, those that `run_agent` would give, from Gram matrices alone.

    agent: a LinearLearner with any rule, a Prototype or a RandomGuesser; grams: from `gram_matrices`.
    """
    n_subtasks, n_sessions, _ = sessions.shape
    n_rows = sessions.n_choices * sessions.n_images
    if grams.shape != (n_subtasks, n_rows, n_rows):
        raise UserError(
            f"the sessions show {n_subtasks} subtasks of {n_rows} images, the Gram matrices are {grams.shape}: make them match"
        )
    one_subtask = _compiled(agent, sessions.n_choices)
    choice = np.empty(sessions.shape, np.int8)
    for subtask in range(n_subtasks):
        first = subtask * n_sessions
        finite = one_subtask(
            grams[subtask], sessions.image[subtask], sessions.answer[subtask], sessions.key, first, choice[subtask]
        )
        if not finite:
            raise UserError(f"{agent} diverges: give it a smaller rate")
    return choice


def _images(features: np.ndarray, sessions: Sessions) -> np.ndarray:
    """(subtasks, objects · images, d) float64, checked against what the sessions show."""
    check_subtasks(features)
    n_subtasks, n_objects, n_images, d = features.shape
    wanted = (sessions.shape[0], sessions.n_choices, sessions.n_images)
    if (n_subtasks, n_objects, n_images) != wanted:
        raise UserError(
            f"the sessions show {wanted[0]} subtasks of {wanted[1]} objects with {wanted[2]} images, the features are of "
            f"{n_subtasks}, {n_objects} and {n_images}: make them match"
        )
    return features.reshape(n_subtasks, n_objects * n_images, d).astype(np.float64)


def _compiled(agent: Agent, n_choices: int) -> Callable[..., bool]:
    """(gram, image, answer, key, first session, choice to fill) → whether all stayed finite."""
    if getattr(agent, "n_choices", n_choices) != n_choices:
        raise UserError(
            f"{agent} does not have the {n_choices} choices of the sessions: make it with n_choices={n_choices}"
        )
    actions = tuple(range(n_choices))  # the length of a tuple is known when a kernel is compiled, which a number is not
    if isinstance(agent, Prototype):
        return lambda *rest: _prototype(actions, *rest)
    if isinstance(agent, RandomGuesser):
        return lambda *rest: _guess(n_choices, *rest[1:])
    if not isinstance(agent, LinearLearner):
        raise UserError(f"{type(agent).__name__} has no fast simulation: give it to run_agent, which takes any agent")
    rule = agent.rule
    if isinstance(rule, PolicyRule):
        each = _jit(type(rule).step_each)
        return lambda *rest: _linear_each(each, _numbers(rule), actions, *rest)
    step = _jit(type(rule).step)
    limit, together = (rule.limit, rule.together) if isinstance(rule, BoundedRule) else (np.inf, False)
    rounded = compares(rule)
    return lambda *rest: _linear(step, _numbers(rule), limit, together, rounded, actions, *rest)


_jit = cache(njit)  # a rule's own method, compiled once: there is one formula, whoever computes it


def _numbers(rule: Any) -> Any:
    """The rule's fields as a named tuple, which compiled code can read as it would the rule."""
    fields = asdict(rule)
    return _tuple_type(type(rule).__name__, tuple(fields))(**fields)


@cache
def _tuple_type(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


@njit(inline="always")
def _choose(
    actions: tuple[int, ...], preference: np.ndarray, key: np.ndarray, session: int, n_draws: int
) -> tuple[int, float, int]:
    """The most preferred action, at random among equals; how much it is preferred; and how many random numbers the session
    has used by then.

    Which of two it is cannot be foreseen, by a processor either: so there is no branch before a tie.
    """
    top = preference[0]
    for action in range(len(actions)):
        top = max(top, preference[action])
    first, n_equal = 0, 0
    for action in range(len(actions) - 1, -1, -1):
        is_top = preference[action] == top
        n_equal += is_top
        first = action if is_top else first
    if n_equal == 1:
        return first, top, n_draws
    left = int(session_random(key, session, n_draws) * n_equal)
    for action in range(first, len(actions)):
        if preference[action] == top:
            if left == 0:
                return action, top, n_draws + 1
            left -= 1
    return first, top, n_draws + 1


@njit(inline="always")
def _learn(product: np.ndarray, row: np.ndarray, later: np.ndarray, size: float) -> None:
    """Add `size` times an image to weights whose products with the images shown later are kept. row: of the Gram matrix."""
    for trial in range(len(later)):
        product[trial] += size * row[later[trial]]


@njit(nogil=True)
def _linear(
    step: Any,
    rule: Any,
    limit: float,
    together: bool,
    rounded: bool,
    actions: tuple[int, ...],
    gram: np.ndarray,
    image: np.ndarray,
    answer: np.ndarray,
    key: np.ndarray,
    first: int,
    choice: np.ndarray,
) -> bool:
    """All sessions of one subtask, with a rule that changes the chosen action's weights."""
    n_choices, n_trials = len(actions), image.shape[1]
    product = np.zeros((n_choices, n_trials))  # w · x of every action's weights and the image of every trial
    length = np.zeros(n_choices)  # ‖w‖²
    preference = np.empty(n_choices)
    for session in range(len(image)):
        product[:] = 0
        length[:] = 0
        n_draws = 0
        for trial in range(n_trials):
            for action in range(len(actions)):
                preference[action] = np.rint(product[action, trial] * GRID) * GRAIN
            taken, top, n_draws = _choose(actions, preference, key, first + session, n_draws)
            choice[session, trial] = taken
            if not np.isfinite(top):
                return False
            preferred = top if rounded else product[taken, trial]
            size = step(rule, preferred, 2.0 * (taken == answer[session, trial]) - 1.0)
            if size == 0:
                continue
            shown = image[session, trial]
            if limit < np.inf:
                length[taken] += size * (2 * product[taken, trial] + size * gram[shown, shown])
            _learn(product[taken, trial + 1 :], gram[shown], image[session, trial + 1 :], size)
            total = length.sum() if together else length[taken]
            if total > limit * limit:
                shrink = limit / np.sqrt(total)
                for action in range(len(actions)):
                    if together or action == taken:
                        length[action] *= shrink * shrink
                        product[action] *= shrink
    return True


@njit(nogil=True)
def _linear_each(
    step_each: Any,
    rule: Any,
    actions: tuple[int, ...],
    gram: np.ndarray,
    image: np.ndarray,
    answer: np.ndarray,
    key: np.ndarray,
    first: int,
    choice: np.ndarray,
) -> bool:
    """All sessions of one subtask, with a rule that changes every action's weights."""
    n_choices, n_trials = len(actions), image.shape[1]
    product = np.zeros((n_choices, n_trials))
    preference, odds = np.empty(n_choices), np.empty(n_choices)
    for session in range(len(image)):
        product[:] = 0
        n_draws = 0
        for trial in range(n_trials):
            for action in range(len(actions)):
                preference[action] = np.rint(product[action, trial] * GRID) * GRAIN
            taken, top, n_draws = _choose(actions, preference, key, first + session, n_draws)
            choice[session, trial] = taken
            if not np.isfinite(top):
                return False
            reward = 2.0 * (taken == answer[session, trial]) - 1.0
            for action in range(len(actions)):
                odds[action] = np.exp(product[action, trial] - product[taken, trial])
            total = odds.sum()
            for action in range(len(actions)):
                size = step_each(rule, odds[action] / total, action == taken, reward)
                _learn(product[action, trial + 1 :], gram[image[session, trial]], image[session, trial + 1 :], size)
    return True


@njit(cache=True, nogil=True)
def _prototype(
    actions: tuple[int, ...],
    gram: np.ndarray,
    image: np.ndarray,
    answer: np.ndarray,
    key: np.ndarray,
    first: int,
    choice: np.ndarray,
) -> bool:
    """All sessions of one subtask by nearest mean."""
    n_choices, n_trials = len(actions), image.shape[1]
    product = np.zeros((n_choices, n_trials))  # of every choice's sum of images and the image of every trial
    length, n_seen, preference = np.zeros(n_choices), np.zeros(n_choices), np.empty(n_choices)
    for session in range(len(image)):
        product[:] = 0
        length[:] = 0
        n_seen[:] = 0
        n_draws = 0
        for trial in range(n_trials):
            for action in range(len(actions)):
                seen = max(n_seen[action], 1.0)
                nearness = product[action, trial] / seen - length[action] / (2 * seen * seen)
                preference[action] = np.rint(nearness * GRID) * GRAIN
            taken, _, n_draws = _choose(actions, preference, key, first + session, n_draws)
            choice[session, trial] = taken
            right = answer[session, trial]
            if taken == right or n_choices == 2:
                shown = image[session, trial]
                length[right] += 2 * product[right, trial] + gram[shown, shown]
                n_seen[right] += 1
                _learn(product[right, trial + 1 :], gram[shown], image[session, trial + 1 :], 1.0)
    return True


@njit(cache=True, nogil=True)
def _guess(
    n_choices: int, image: np.ndarray, answer: np.ndarray, key: np.ndarray, first: int, choice: np.ndarray
) -> bool:
    for session in range(len(image)):
        for trial in range(image.shape[1]):
            choice[session, trial] = int(session_random(key, first + session, trial) * n_choices)
    return True
