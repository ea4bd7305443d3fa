"""The seven rules on many encoding stages at once, on any device: `simulation` with a session in every lane of a tensor.

Needs torch and NumPy alone, so that it runs on a bare machine with a GPU. What a session keeps is what the compiled path keeps,
w·x of the images it will still show; a trial is one gather from the Gram matrices and one multiply-add over all stages,
rules, actions and sessions. For R rules, A actions and T trials that is about 8 R A T² bytes of memory traffic a session
in float64 (1.1 MB for seven rules and 100 trials, about 0.3 µs at 4 TB/s), however many dimensions the features have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from exemplar.errors import UserError, unknown

if TYPE_CHECKING:
    from exemplar.learn.tasks import Sessions

VARIANTS = ("paper", "hobj")
WEIGHT_LIMIT = 10.0  # of the exponential rule

# Preferences count in steps of this, so that what is equal on paper ties here (agents.linear). float32 has 24 bits for a
# preference of up to 10 and for the errors of a hundred additions: its steps must be coarser.
GRAIN = {torch.float64: 2.0**-40, torch.float32: 2.0**-18}

# Coefficient of x added to the chosen action's weights at rate 1, (sessions,) from its preference w·x and the reward ±1: the
# formulas of `agents`, for tensors. hobj: whether to follow that library at equality.
STEPS: dict[str, Callable[[Tensor, Tensor, bool], Tensor]] = {
    "perceptron": lambda preference, reward, hobj: reward * (reward * preference <= 0),
    "hinge": lambda preference, reward, hobj: reward * (reward * preference <= 1 if hobj else reward * preference < 1),
    "mae": lambda preference, reward, hobj: (
        torch.sign(reward - preference) if hobj else torch.where(preference < reward, 1.0, -1.0).to(reward)
    ),
    "square": lambda preference, reward, hobj: reward - preference,
    "exponential": lambda preference, reward, hobj: reward * torch.exp(-reward * preference),
    "cross-entropy": lambda preference, reward, hobj: 4 * reward * torch.sigmoid(-reward * preference),
}
RULES = (*STEPS, "reinforce")  # the last changes every action's weights
COMPARING = ("perceptron", "hinge", "mae")  # ask which side of a number a preference is on, not how large it is


@dataclass(frozen=True)
class Learners:
    """Linear learners, one of each rule. rules: of RULES; variant: "paper" or "hobj"; rate: learning rate > 0."""

    rules: tuple[str, ...] = RULES
    variant: str = "paper"
    rate: float = 1.0

    def __post_init__(self) -> None:
        for name in self.rules:
            if name not in RULES:
                raise unknown("rule", name, RULES)
        if self.variant not in VARIANTS:
            raise unknown("variant", self.variant, VARIANTS)
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise UserError(f"the learning rate {self.rate} must be a number above 0: 1 is the default")

    @property
    def hobj(self) -> bool:
        return self.variant == "hobj"

    @property
    def bounded(self) -> tuple[int, ...]:
        """Which of the rules keep their weights within WEIGHT_LIMIT."""
        return tuple(i for i, name in enumerate(self.rules) if name == "exponential")

    def steps(self, preference: Tensor, compared: Tensor, chosen: Tensor, reward: Tensor) -> Tensor:
        """Coefficients of x added to every action's weights, (rules, actions, sessions).

        preference: the same shape; compared: (rules, sessions) that of the chosen action, rounded; chosen: (rules, actions,
        sessions) which it was; reward: (rules, sessions).
        """
        size = torch.empty_like(preference)
        for i, name in enumerate(self.rules):
            if name == "reinforce":
                torch.mul(chosen[i].to(reward) - preference[i].softmax(0), self.rate * reward[i], out=size[i])
            else:
                top = compared[i] if name in COMPARING else (preference[i] * chosen[i]).sum(0)
                torch.mul(chosen[i], self.rate * STEPS[name](top, reward[i], self.hobj), out=size[i])
        return size


@dataclass(frozen=True, eq=False)
class SessionTensors:
    """What will be shown, which choice is right, and how ties are broken, in every session of every subtask, on one device.

    image: (subtasks, sessions, trials) int64, row of the subtask's images, object after object; answer: the same shape,
    int64, the choice that is right; tie_breaks: the same shape, float64 in [0, 1), what the session draws at its first tie,
    its second, …; n_choices: as many as objects; n_images: of each object.
    """

    image: Tensor
    answer: Tensor
    tie_breaks: Tensor
    n_choices: int
    n_images: int

    def to(self, device: torch.device | str) -> SessionTensors:
        image, answer, tie_breaks = (each.to(device) for each in (self.image, self.answer, self.tie_breaks))
        return SessionTensors(image, answer, tie_breaks, self.n_choices, self.n_images)


def session_tensors(sessions: Sessions) -> SessionTensors:
    """The very sessions that `simulation.simulate` would run, with the very random numbers it would draw."""
    from exemplar.learn.session_random import session_rng  # compiled code: not on a bare machine

    n_subtasks, n_sessions, n_trials = sessions.shape
    tie_breaks = np.stack([session_rng(sessions.key, i).random(n_trials) for i in range(n_subtasks * n_sessions)])
    image, answer = (torch.from_numpy(each.astype(np.int64)) for each in (sessions.image, sessions.answer))
    return SessionTensors(
        image, answer, torch.from_numpy(tie_breaks).view(image.shape), sessions.n_choices, sessions.n_images
    )


def sample_session_tensors(
    n_subtasks: int,
    n_sessions: int,
    *,
    n_trials: int = 100,
    n_images: int = 100,
    n_objects: int = 2,
    sequence: str = "paper",
    generator: torch.Generator,
) -> SessionTensors:
    """Sessions of Experiment 1 drawn on the generator's device: distributed as those of `tasks.ObjectLearning`."""
    if sequence not in VARIANTS:
        raise unknown("trial sequence", sequence, VARIANTS)
    if n_trials > n_images * (n_objects if sequence == "hobj" else 1):
        raise UserError(f"{n_trials} trials need more than {n_images} images of an object: give more, or fewer trials")
    device, total = generator.device, n_subtasks * n_sessions

    def random(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=device, dtype=torch.float64)

    if sequence == "paper":  # an object at random, then the next image in a random order of its own
        item = (random(total, n_trials) * n_objects).long()
        order = random(total, n_objects, n_images).argsort(2).flatten(1)
        seen = torch.nn.functional.one_hot(item, n_objects).cumsum(1).gather(2, item[:, :, None])[:, :, 0] - 1
        image = item * n_images + order.gather(1, item * n_images + seen)
    else:
        image = random(total, n_objects * n_images).argsort(1)[:, :n_trials]
    answer = random(total, n_objects).argsort(1).gather(1, image // n_images)  # one key an object, drawn per session
    shape = (n_subtasks, n_sessions, n_trials)
    tie_breaks = random(*shape)
    return SessionTensors(image.reshape(shape), answer.view(shape), tie_breaks, n_objects, n_images)


def gram_tensors(features: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """Products of all images of a subtask, (…, objects · images, objects · images), summed in float64.

    features: (…, objects, images, d), finite, of length in (0, 1].
    """
    images = features.flatten(-3, -2)
    grams = torch.empty(*images.shape[:-1], images.shape[-2], dtype=dtype, device=features.device)
    for subtasks, products in zip(images.unbind(), grams.unbind(), strict=True):  # float64 features of one at a time
        wide = subtasks.double()
        products.copy_(wide @ wide.mT)
    length = grams.diagonal(dim1=-2, dim2=-1)
    if not bool(((length > 0) & (length <= 1 + 1e-5)).all()):
        raise UserError("features must be finite and of length in (0, 1]: place them with fit_ball first")
    return grams


@torch.no_grad()
def simulate_stages(
    grams: Tensor, sessions: SessionTensors, learners: Learners, *, memory: int | None = None
) -> Tensor:
    """Choices (rules, stages, subtasks, sessions, trials) int8, on the device of `grams` and `sessions`.

    grams: (stages, subtasks, images, images) float64, or float32 for half the memory (choices then differ where preferences
    come within 2⁻¹⁸ of each other or of a rule's margin, and in what a session does after that); sessions: the same for every
    stage and rule; memory: bytes to work in, besides grams and choices.
    """
    _check_grams(grams, sessions)
    n_stages, n_subtasks, n_rows, _ = grams.shape
    _, n_sessions, n_trials = sessions.image.shape
    n_rules, total = len(learners.rules), n_stages * n_subtasks * n_sessions
    n_cells = n_rules * sessions.n_choices
    # products of every trial; indices, random numbers, a Gram row (twice while it is replaced); what one trial needs
    each = grams.element_size() * n_cells * n_trials + (56 + n_rules) * n_trials + 100 * n_cells
    # torch counts up to 2³¹ elements in one kernel, and a longer tensor in several
    size = max(1, min((memory or _memory_of(grams.device)) // each, (2**31 - 1) // (n_cells * n_trials)))
    choice = torch.empty((n_rules, total, n_trials), dtype=torch.int8, device=grams.device)
    finite = torch.ones(n_rules, dtype=torch.bool, device=grams.device)
    of_session = [part.flatten(0, 1) for part in (sessions.image, sessions.answer, sessions.tie_breaks)]
    for start in range(0, total, size):
        lane = torch.arange(start, min(start + size, total), device=grams.device)
        matrix, row = lane // n_sessions * n_rows**2, lane % (n_subtasks * n_sessions)
        image, answer, tie_breaks = (part[row].T.contiguous() for part in of_session)
        made, stayed = _run(learners, sessions.n_choices, grams.view(-1), matrix, n_rows, image, answer, tie_breaks)
        choice[:, start : start + size] = made.permute(1, 2, 0)
        finite &= stayed
    if not bool(finite.all()):
        wild = learners.rules[int(finite.int().argmin())]
        raise UserError(f"the rule {wild} diverges at rate {learners.rate}: give it a smaller one")
    return choice.view(n_rules, n_stages, n_subtasks, n_sessions, n_trials)


def _run(
    learners: Learners,
    n_choices: int,
    grams: Tensor,
    matrix: Tensor,
    n_rows: int,
    image: Tensor,
    answer: Tensor,
    tie_breaks: Tensor,
) -> tuple[Tensor, Tensor]:
    """Choices (trials, rules, sessions) int8, and for each rule whether it stayed finite.

    grams: (all cells,); matrix: (sessions,) where the session's own begins; n_rows: of each; image, answer, tie_breaks:
    (trials, sessions).
    """
    (n_trials, n_lanes), n_rules, grain = image.shape, len(learners.rules), GRAIN[grams.dtype]
    product = grams.new_zeros((n_trials, n_rules, n_choices, n_lanes))  # w·x: all weights, each trial's image
    length = {rule: grams.new_zeros((n_choices, n_lanes)) for rule in learners.bounded}  # ‖w‖²
    n_draws = torch.zeros((n_rules, n_lanes), dtype=torch.int64, device=grams.device)
    choice = torch.empty((n_trials, n_rules, n_lanes), dtype=torch.int8, device=grams.device)
    finite = torch.ones(n_rules, dtype=torch.bool, device=grams.device)
    for trial in range(n_trials):
        preference = (product[trial] / grain).round_().mul_(grain)
        top = preference.amax(1)
        finite &= top.isfinite().all(1)
        chosen, tied = _choose(preference == top[:, None], tie_breaks.gather(0, n_draws))
        n_draws += tied
        taken = chosen.byte().argmax(1)
        choice[trial] = taken
        reward = (taken == answer[trial]).to(grams.dtype).mul_(2).sub_(1)
        size = learners.steps(product[trial], top, chosen, reward)
        cell = matrix + image[trial] * n_rows  # where the row of the image shown begins
        row = grams.take(cell + image[trial + 1 :])  # its products with the images to come
        later = product[trial + 1 :].addcmul_(row[:, None, None], size)
        for rule, squared in length.items():
            squared += size[rule] * (2 * product[trial, rule] + size[rule] * grams.take(cell + image[trial]))
            total = squared.sum(0, keepdim=True) if learners.hobj else squared
            shrink = WEIGHT_LIMIT / total.clamp(min=WEIGHT_LIMIT**2).sqrt_()
            squared *= shrink * shrink
            later[:, rule] *= shrink
    return choice, finite


def _choose(is_top: Tensor, tie_breaks: Tensor) -> tuple[Tensor, Tensor]:
    """Of the most preferred actions, is_top (rules, actions, sessions), the one that tie_breaks (rules, sessions) point at; and
    whether there were several. With one only, any number in [0, 1) leaves that one."""
    rank = is_top.cumsum(1, dtype=torch.int8)
    n_equal = rank[:, -1]
    return is_top & (rank == (tie_breaks * n_equal).to(torch.int8)[:, None] + 1), n_equal > 1


def _memory_of(device: torch.device) -> int:
    """Bytes to work in, so few that caches still hold what a trial reads again (it is a hundredth), so many that the device
    is busy for longer than it takes to ask it."""
    return min(4 * 2**30, int(0.7 * torch.cuda.mem_get_info(device)[0])) if device.type == "cuda" else 64 * 2**20


def _check_grams(grams: Tensor, sessions: SessionTensors) -> None:
    n_rows = sessions.n_choices * sessions.n_images
    wanted = (len(sessions.image), n_rows, n_rows)
    if grams.ndim != 4 or tuple(grams.shape[1:]) != wanted or grams.dtype not in GRAIN or not grams.is_contiguous():
        raise UserError(
            f"the sessions show {wanted[0]} subtasks of {n_rows} images, the Gram matrices are {tuple(grams.shape)} "
            f"{grams.dtype}: give a contiguous (stages, subtasks, images, images), float64 or float32"
        )
    if grams.device != sessions.image.device:
        raise UserError(f"the Gram matrices are on {grams.device}, the sessions on {sessions.image.device}: move one")
