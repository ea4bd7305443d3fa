"""The process and its samplers: by hand, by what must hold, and beside diffusers' schedulers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from exemplar.draw.diffusion.process import Schedule, add_noise
from exemplar.draw.diffusion.samplers import SAMPLERS, Sampling, ancestral, ddim, dpm_solver, guide
from exemplar.errors import UserError

T = 60
SCHEDULE = Schedule(T)


def predict(x: torch.Tensor, t: int) -> torch.Tensor:
    """Any smooth function of image and time will do to compare trajectories."""
    return torch.sin(1.3 * x + t / T) * 0.7 + 0.2 * x.roll(1, dims=-1)


def noises(n: int) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(1)
    return [torch.randn(2, 1, 4, 4, generator=rng, dtype=torch.float64) for _ in range(n)]


def no_noise(step: int) -> torch.Tensor:
    raise AssertionError("a deterministic sampler asked for noise")


class TestSchedule:
    def test_the_published_one_at_600_steps(self) -> None:
        schedule = Schedule()
        assert schedule.beta[1] == pytest.approx(1e-4) and schedule.beta[-1] == pytest.approx(0.02)
        assert schedule.beta[0] == 0 and len(schedule.kept) == 601
        np.testing.assert_allclose(schedule.kept[2], (1 - schedule.beta[1]) * (1 - schedule.beta[2]))

    def test_rescaled_it_ends_equally_noisy_whatever_the_number_of_steps(self) -> None:
        ends = [math.sqrt(Schedule(steps).kept[-1]) for steps in (200, 400, 600, 900)]
        assert max(ends) < 0.06 and max(ends) - min(ends) < 0.01
        assert math.sqrt(Schedule(200, reference=None).kept[-1]) == pytest.approx(0.36, abs=0.01)  # as facts say

    def test_times_go_from_the_last_to_the_first(self) -> None:
        assert SCHEDULE.times(T) == tuple(range(T, 0, -1))
        assert SCHEDULE.times(4) == (60, 45, 30, 15) and SCHEDULE.times(1) == (60,)

    @pytest.mark.parametrize("n", [0, 61])
    def test_more_steps_than_there_are_are_refused(self, n: int) -> None:
        with pytest.raises(UserError, match=f"between 1 and 60 steps of this model, not {n}"):
            SCHEDULE.times(n)

    def test_a_schedule_that_leaves_the_range_is_refused(self) -> None:
        with pytest.raises(UserError, match="with 12 diffusion steps β would reach 1"):
            Schedule(12)

    def test_noise_is_added_as_in_equation_6(self) -> None:
        drawing, noise, time = torch.ones(2, 1, 1, 1), torch.full((2, 1, 1, 1), 3.0), torch.tensor([1, T])
        found = add_noise(drawing, noise, time, SCHEDULE).flatten()
        expected = [math.sqrt(SCHEDULE.kept[t]) + 3 * math.sqrt(1 - SCHEDULE.kept[t]) for t in (1, T)]
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float32))


@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("n", [1, 7, T])
def test_who_knows_the_noise_finds_the_drawing(name: str, n: int) -> None:
    """With the true noise of a single drawing as prediction every sampler ends at that drawing."""
    drawing = noises(1)[0]

    def truth(x: torch.Tensor, t: int) -> torch.Tensor:
        return (x - math.sqrt(SCHEDULE.kept[t]) * drawing) / math.sqrt(1 - SCHEDULE.kept[t])

    fresh = noises(n + 1)
    found = SAMPLERS[name](truth, fresh[0], SCHEDULE, SCHEDULE.times(n), lambda step: fresh[step + 1])
    torch.testing.assert_close(found, drawing, atol=1e-9, rtol=1e-9)


def test_one_ancestral_step_by_hand() -> None:
    """T = 2 with β = .25 and .5: two steps, the second without noise."""
    schedule = Schedule(2, first=0.25, last=0.5, reference=None)
    x, fresh = torch.tensor([[[[2.0]]]]), torch.tensor([[[[1.0]]]])
    found = ancestral(lambda x, t: torch.full_like(x, 0.5 * t), x, schedule, (2, 1), lambda step: fresh)
    kept = 0.75 * 0.5
    first = (2 - 0.5 / math.sqrt(1 - kept) * 1.0) / math.sqrt(0.5) + math.sqrt(0.5) * 1
    assert found.item() == pytest.approx((first - 0.25 / math.sqrt(0.25) * 0.5) / math.sqrt(0.75), rel=1e-6)


def test_fewer_times_are_a_schedule_of_their_own() -> None:
    """Ancestral steps over some of the times are those of the schedule whose β are what is lost between them."""
    times = SCHEDULE.times(6)
    kept = [1.0, *(SCHEDULE.kept[t] for t in reversed(times))]
    fresh = noises(7)

    def seen(x: torch.Tensor, k: int) -> torch.Tensor:
        return predict(x, times[6 - k])

    class Short:
        pass

    short: Any = Short()
    short.kept = np.array(kept)
    found = ancestral(predict, fresh[0], SCHEDULE, times, lambda step: fresh[step + 1])
    again = ancestral(seen, fresh[0], short, tuple(range(6, 0, -1)), lambda step: fresh[step + 1])
    torch.testing.assert_close(found, again)


@pytest.mark.parametrize("sampler", [ddim, dpm_solver])
def test_deterministic_samplers_converge_to_the_same_drawing(sampler: Callable[..., torch.Tensor]) -> None:
    x = noises(1)[0]
    schedule = Schedule(600)

    def smooth(x: torch.Tensor, t: int) -> torch.Tensor:
        return 0.3 * torch.tanh(x) * math.sqrt(1 - schedule.kept[t])

    best = dpm_solver(smooth, x, schedule, schedule.times(600), no_noise)
    errors = [
        float((sampler(smooth, x, schedule, schedule.times(n), no_noise) - best).abs().max()) for n in (10, 50, 300)
    ]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 0.02


def test_the_second_order_solver_needs_fewer_steps() -> None:
    x, schedule = noises(1)[0], Schedule(600)

    def smooth(x: torch.Tensor, t: int) -> torch.Tensor:
        return 0.3 * torch.tanh(x) * math.sqrt(1 - schedule.kept[t])

    best = dpm_solver(smooth, x, schedule, schedule.times(600), no_noise)
    first, second = (
        sampler(smooth, x, schedule, schedule.times(20), no_noise) - best for sampler in (ddim, dpm_solver)
    )
    assert second.abs().max() < first.abs().max()


def test_guidance_by_hand() -> None:
    one, other = torch.tensor([3.0]), torch.tensor([1.0])
    assert guide(one, other, 2.0).item() == 3 * 3 - 2 * 1
    assert guide(one, other, 0.0).item() == 3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sampler": "dim"}, "there is no sampler 'dim': did you mean ddim"),
        ({"steps": 0}, "at least 1 step"),
        ({"guidance": -1.0}, "guidance must be a number of at least 0"),
        ({"guidance": math.nan}, "guidance must be a number of at least 0"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Sampling(**settings)


class TestBesideDiffusers:
    """The same noise gives the same trajectory."""

    @pytest.fixture
    def library(self) -> Any:
        return pytest.importorskip("diffusers", reason="the oracle of the samplers: pip install diffusers")

    def test_betas(self, library: Any) -> None:
        theirs = library.DDPMScheduler(600, 1e-4, 0.02, "linear")
        np.testing.assert_allclose(Schedule().kept[1:], theirs.alphas_cumprod.numpy(), rtol=1e-5)

    def test_ancestral(self, library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        theirs = library.DDPMScheduler(
            T, trained_betas=SCHEDULE.beta[1:], variance_type="fixed_large", clip_sample=False
        )
        theirs.set_timesteps(T)
        fresh = noises(T + 1)
        given = iter(fresh[1:])
        module = "diffusers.schedulers.scheduling_ddpm.randn_tensor"
        monkeypatch.setattr(module, lambda *args, **kwargs: next(given))
        x = fresh[0]
        for t in theirs.timesteps:
            x = theirs.step(predict(x, int(t) + 1), t, x).prev_sample
        ours = ancestral(predict, fresh[0], SCHEDULE, SCHEDULE.times(T), lambda step: fresh[step + 1])
        torch.testing.assert_close(ours, x, atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize("n", [5, 20, T])
    def test_ddim(self, library: Any, n: int) -> None:
        theirs = library.DDIMScheduler(
            T, trained_betas=SCHEDULE.beta[1:], clip_sample=False, set_alpha_to_one=True, timestep_spacing="trailing"
        )
        theirs.set_timesteps(n)
        times = [int(t) + 1 for t in theirs.timesteps]
        assert tuple(times) == SCHEDULE.times(n)
        x = noises(1)[0]
        for t in theirs.timesteps:
            x = theirs.step(predict(x, int(t) + 1), t, x, eta=0).prev_sample
        ours = ddim(predict, noises(1)[0], SCHEDULE, times, no_noise)
        torch.testing.assert_close(ours, x, atol=1e-5, rtol=1e-5)

    @pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # the library's
    @pytest.mark.parametrize("n", [5, 20])
    def test_dpm_solver(self, library: Any, n: int) -> None:
        theirs = library.DPMSolverMultistepScheduler(
            T, trained_betas=SCHEDULE.beta[1:], algorithm_type="dpmsolver++", solver_order=2, solver_type="midpoint",
            lower_order_final=True, euler_at_final=True, final_sigmas_type="zero", timestep_spacing="trailing",
        )  # fmt: skip
        theirs.set_timesteps(n)
        times = [int(t) + 1 for t in theirs.timesteps]
        assert tuple(times) == SCHEDULE.times(n)
        x = noises(1)[0].float()
        for t in theirs.timesteps:
            x = theirs.step(predict(x, int(t) + 1), t, x).prev_sample
        ours = dpm_solver(predict, noises(1)[0].float(), SCHEDULE, times, no_noise)
        torch.testing.assert_close(ours, x, atol=1e-5, rtol=1e-5)
