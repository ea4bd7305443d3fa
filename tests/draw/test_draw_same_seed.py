"""The same seed gives the same drawings, whatever an agent is called and whatever generator it uses; who differs is told."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import exemplar as ex
from exemplar import seeds
from exemplar.draw.drawings import sample_drawings
from exemplar.draw.tasks import DrawingTask, make_task
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.user_code import seeded_globals

N = 4


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    return make_task(
        load_glyphs("weak-test", GlyphsConfig(alphabets=3, characters=4, drawers=N + 1, size=32)),
        exemplar="drawer:drawer01",
    )


def _noisy(exemplars: np.ndarray, n: int, noise: np.ndarray) -> np.ndarray:
    return np.clip(exemplars[:, None] + 0.2 * (noise - 0.5), 0, 1)


def by_torch(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return _noisy(exemplars, n, torch.rand(len(exemplars), n, *exemplars.shape[1:]).numpy())


def by_numpy(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return _noisy(exemplars, n, np.random.random((len(exemplars), n, *exemplars.shape[1:])))  # noqa: NPY002


def by_random(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return _noisy(exemplars, n, np.array([random.random() for _ in range(n)])[:, None, None])


def by_rng(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return _noisy(exemplars, n, rng.random((len(exemplars), n, *exemplars.shape[1:])))


CALLS = itertools.count()


def by_the_clock(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """No two calls are alike, as with the time, the order of a set, or a GPU."""
    return _noisy(exemplars, n, np.random.default_rng(next(CALLS)).random((len(exemplars), n, *exemplars.shape[1:])))


def after_the_neighbour(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return by_rng(np.roll(exemplars, 1, axis=0), n, rng)


def with_the_neighbours(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return by_rng(0.8 * exemplars + 0.2 * exemplars.mean(axis=0), n, rng)


def without_looking(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return by_rng(np.zeros_like(exemplars), n, rng)


@pytest.mark.parametrize("agent", [by_torch, by_numpy, by_random, by_rng])
def test_the_same_seed_gives_the_same_bytes_whichever_generator_draws(agent: Any, task: DrawingTask) -> None:
    one = sample_drawings(agent, task, seed=3)
    torch.rand(5), np.random.random(5), random.random()  # noqa: NPY002
    assert one == sample_drawings(agent, task, seed=3)
    assert not np.array_equal(one.image, sample_drawings(agent, task, seed=4).image)


def test_what_an_agent_is_called_does_not_change_what_it_draws(task: DrawingTask) -> None:
    one, other = (sample_drawings(by_rng, task, agent=name, seed=1).image for name in ("mine", "yours"))
    np.testing.assert_array_equal(one, other)


def test_the_generators_are_left_as_they_were() -> None:
    with seeded_globals(7):
        states = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
        with pytest.raises(ZeroDivisionError), seeded_globals(8):
            assert torch.rand(1) != torch.rand(1, generator=torch.Generator().manual_seed(7))
            random.random(), np.random.random(), 1 / 0  # noqa: NPY002
        assert random.getstate() == states[0]
        np.testing.assert_array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002
        assert torch.equal(torch.get_rng_state(), states[2])
        assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(7))


def test_an_agent_that_differs_from_itself_is_told_so(
    task: DrawingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    sample_drawings(by_the_clock, task, said=said)
    assert said == ["two calls of by_the_clock with the same seed differ: the scores hold for these drawings only"]
    for agent in (by_torch, by_rng):
        said = []
        sample_drawings(agent, task, said=said)
        assert said == []
    monkeypatch.chdir(tmp_path)
    drawn = ex.draw.sample(by_the_clock, data="glyphs", exemplar="random", n=3)  # type: ignore[arg-type]
    assert "two calls of by_the_clock with the same seed differ" in drawn.warnings[0]


@pytest.mark.parametrize(
    ("agent", "ok", "sentence"),
    [
        (by_rng, True, ""),
        (by_torch, True, "it uses the global generator of torch: the room seeds it"),
        (by_numpy, True, r"it uses the global generator of numpy.random: the room seeds it"),
        (by_random, True, "it uses the global generator of random: the room seeds it"),
        (
            by_the_clock,
            False,
            "two calls with the same rng give other drawings, though the global generators are seeded",
        ),
        (after_the_neighbour, False, "the order is shifted"),
        (with_the_neighbours, True, "it uses its neighbours"),
        (without_looking, True, "it does not look at what it is shown"),
    ],
)
def test_the_check_says_where_randomness_and_exemplars_come_from(agent: Any, ok: bool, sentence: str) -> None:
    checked = ex.draw.check_agent(agent)
    assert checked.ok == ok, checked.problems
    said = checked.problems if not ok else checked.remarks
    assert any(sentence in words for words in said) if sentence else said == (), said


@pytest.mark.parametrize("seed", [0, 5, 2**40])
def test_any_seed_will_do(seed: int, task: DrawingTask) -> None:
    assert len(sample_drawings(by_torch, task, seed=seed)) == len(task.concepts) * N
    assert seeds.seed("draw", seed) < 2**63
