"""Many stages at once in tensors: the choices of the compiled path, on a machine that has no compiler."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn import agents, tasks
from exemplar.learn.agents import make_agent
from exemplar.learn.agents.linear import GRAIN as COMPILED_GRAIN
from exemplar.learn.batched import (
    GRAIN,
    RULES,
    STEPS,
    VARIANTS,
    WEIGHT_LIMIT,
    Learners,
    SessionTensors,
    gram_tensors,
    sample_session_tensors,
    session_tensors,
    simulate_stages,
)
from exemplar.learn.simulation import gram_matrices, run_agent, simulate
from exemplar.learn.tasks import ObjectLearning, OneShot, Sessions


def make_features(
    n_stages: int, n_subtasks: int, task, *, d: int = 20, unit: bool = False, seed: object = 0
) -> np.ndarray:
    """(stages, subtasks, objects, images, d) in the ball of radius 1, easier from stage to stage."""
    rng = seeds.rng("batched features", seed)
    apart = np.linspace(0.1, 0.6, n_stages)[:, None, None, None, None]
    x = rng.standard_normal((n_stages, n_subtasks, task.n_objects, task.n_images, d)) * 0.7
    x = (x + rng.standard_normal((n_stages, n_subtasks, task.n_objects, 1, d)) * apart) / np.sqrt(d)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / (length if unit else np.maximum(length, 1))


def compiled(grams: torch.Tensor, sessions: Sessions, learners: Learners) -> np.ndarray:
    """(rules, stages, subtasks, sessions, trials) choices of the compiled path, one rule and one stage after the other."""
    makers = [
        make_agent(name, n_choices=sessions.n_choices, variant=learners.variant, rate=learners.rate)
        for name in learners.rules
    ]
    return np.stack([[simulate(agent, stage, sessions) for stage in grams.double().numpy()] for agent in makers])


def test_rules_variants_and_grain_are_those_of_the_compiled_path():
    assert set(RULES) == set(agents.PUBLISHED_RULES) and VARIANTS == tasks.VARIANTS
    assert GRAIN[torch.float64] == COMPILED_GRAIN and agents.Exponential().limit == WEIGHT_LIMIT


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_one_its_rule_s_own_file_says(name, variant):
    rule = agents.make_rule(name, 1.0, variant)
    preference = torch.tensor([-1000.0, -1.5, -1.0, -0.5, 0.0, 0.25, 1.0, 1.25, 30.0], dtype=torch.float64)
    if name == "exponential":
        preference = preference[1:]
    for reward in (-1.0, 1.0):
        found = STEPS[name](preference, torch.full_like(preference, reward), variant == "hobj")
        assert found.tolist() == pytest.approx(
            [rule.step(p, reward) for p in preference.tolist()], rel=1e-14, abs=1e-300
        )


@pytest.mark.parametrize("unit", [False, True], ids=["in the ball", "on its surface"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "task",
    [
        ObjectLearning(),
        ObjectLearning(sequence="hobj"),
        OneShot(),
        OneShot(n_training=40, n_testing=40, catch_trials=(41, 60)),
    ],
    ids=["paper", "hobj", "one-shot", "long one-shot"],
)
def test_every_rule_makes_the_choices_of_the_compiled_path(task, variant, unit):
    grams = gram_tensors(torch.from_numpy(make_features(2, 2, task, unit=unit, seed=variant)))
    sessions = task.sample(2, 40, rng=seeds.rng("batched sessions", variant))
    learners = Learners(variant=variant)
    found = simulate_stages(grams, session_tensors(sessions), learners).numpy()
    expected = compiled(grams, sessions, learners)
    assert found.shape == (7, 2, 2, 40, sessions.shape[2])
    for name, ours, theirs in zip(RULES, found, expected, strict=True):
        assert (ours == theirs).all(), name
    assert len(np.unique(found)) == task.n_objects and (found[0] != found[3]).any()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "task",
    [
        ObjectLearning(n_trials=30, n_images=30, n_objects=3),
        OneShot(n_training=9, n_objects=3, n_images=15, catch_trials=(9, 12)),
    ],
    ids=["views", "one-shot"],
)
def test_of_three_objects_every_rule_chooses_as_it_does_trial_by_trial(task, variant):
    features = make_features(1, 2, task, unit=True)
    sessions = task.sample(2, 15, rng=seeds.rng("three", variant))
    found = simulate_stages(
        gram_tensors(torch.from_numpy(features)), session_tensors(sessions), Learners(variant=variant)
    )
    for name, choice in zip(RULES, found.numpy(), strict=True):
        agent = make_agent(name, n_choices=3, variant=variant)
        assert (choice[0] == run_agent(agent, features[0], sessions)).all(), name
    assert len(found.unique()) == 3


@settings(deadline=None, max_examples=10)
@given(
    rate=st.floats(0.01, 1), variant=st.sampled_from(VARIANTS), memory=st.integers(1, 10**6), seed=st.integers(0, 10**6)
)
def test_they_agree_at_any_rate_in_any_memory(rate, variant, memory, seed):
    task = ObjectLearning(n_trials=20, n_images=20)
    grams = gram_tensors(torch.from_numpy(make_features(2, 1, task, seed=seed)))
    sessions, learners = task.sample(1, 6, rng=seeds.rng(seed)), Learners(variant=variant, rate=rate)
    found = simulate_stages(grams, session_tensors(sessions), learners, memory=memory)
    assert (found.numpy() == compiled(grams, sessions, learners)).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_that_reach_their_limit_are_shortened_alike(variant):
    # At rate 30 the exponential rule leaves the ball of radius 10 at its first step, and again and again.
    task = ObjectLearning(n_trials=40, n_images=40)
    grams = gram_tensors(torch.from_numpy(make_features(2, 2, task)))
    sessions = task.sample(2, 50, rng=seeds.rng("limit"))
    bounded = Learners(("exponential",), variant, 30.0)
    found = simulate_stages(grams, session_tensors(sessions), bounded)
    assert (found.numpy() == compiled(grams, sessions, bounded)).all()


def test_a_rule_does_the_same_whoever_learns_beside_it():
    task = ObjectLearning(n_trials=30, n_images=30)
    grams = gram_tensors(torch.from_numpy(make_features(2, 2, task)))
    sessions = session_tensors(task.sample(2, 20, rng=seeds.rng("beside")))
    together = simulate_stages(grams, sessions, Learners())
    for name, choice in zip(RULES, together, strict=True):
        assert (simulate_stages(grams, sessions, Learners((name,)))[0] == choice).all()
    turned = Learners(RULES[::-1])
    assert (simulate_stages(grams.flip(0).contiguous(), sessions, turned) == together.flip(0, 1)).all()


@pytest.mark.parametrize("unit", [False, True], ids=["in the ball", "on its surface"])
def test_float32_differs_only_where_preferences_nearly_tie(unit):
    task = ObjectLearning()
    grams = gram_tensors(torch.from_numpy(make_features(2, 3, task, unit=unit)))
    sessions = session_tensors(task.sample(3, 100, rng=seeds.rng("float32")))
    wide, narrow = (simulate_stages(g, sessions, Learners()) for g in (grams, grams.float()))
    assert (wide[..., 0] == narrow[..., 0]).all()  # the first tie is exact in any format
    assert ((wide != narrow).any(-1).double().mean(dim=(1, 2, 3)) < 0.01).all()  # sessions that ever differ, per rule
    curves = [(choice == sessions.answer).double().mean(dim=(1, 2, 3)) for choice in (wide, narrow)]
    assert (curves[0] - curves[1]).abs().max() < 0.005


def test_float32_keeps_the_ties_of_repeated_images():
    task = OneShot()
    grams = gram_tensors(torch.from_numpy(make_features(2, 3, task, unit=True)))
    sessions = session_tensors(task.sample(3, 100, rng=seeds.rng("repeated")))
    for variant in VARIANTS:
        wide, narrow = (simulate_stages(g, sessions, Learners(variant=variant)) for g in (grams, grams.float()))
        assert (wide != narrow).double().mean() < 1e-3


def test_gram_matrices_are_those_of_the_compiled_path():
    task = ObjectLearning(n_trials=10, n_images=10)
    features = make_features(2, 3, task).astype(np.float32)
    expected = np.stack([gram_matrices(stage) for stage in features])
    assert np.allclose(gram_tensors(torch.from_numpy(features)), expected, rtol=0, atol=1e-14)
    assert np.allclose(gram_tensors(torch.from_numpy(features[1])), expected[1], rtol=0, atol=1e-14)
    assert gram_tensors(torch.from_numpy(features), torch.float32).dtype == torch.float32


@pytest.mark.parametrize("sequence", VARIANTS)
def test_sessions_drawn_on_the_device_are_distributed_like_the_task_s(sequence):
    sessions = sample_session_tensors(4, 500, sequence=sequence, generator=seeds.torch_rng("drawn"))
    image = sessions.image.view(-1, 100)
    ordered = image.sort(dim=1).values
    assert (ordered.diff(dim=1) > 0).all() and ordered.min() == 0 and ordered.max() == 199
    shown = (image // 100).double().sum(dim=1)  # of 100: binomial (paper) or hypergeometric (hobj)
    assert abs(shown.mean() - 50) < 0.5
    assert float(shown.var()) == pytest.approx(25 if sequence == "paper" else 25 * 100 / 199, rel=0.1)
    assert image.flatten().bincount(minlength=200).double().std() < 0.05 * image.numel() / 200
    assert (image[:, 0] != image[:, 0].sort().values).any() and len(image[:, 0].unique()) > 190
    swapped = (sessions.answer.view(-1, 100) != image // 100).double().mean(dim=1)
    assert set(swapped.tolist()) == {0.0, 1.0} and abs(swapped.mean() - 0.5) < 0.06
    assert (
        abs(sessions.tie_breaks.mean() - 0.5) < 0.01
        and sessions.tie_breaks.min() >= 0
        and sessions.tie_breaks.max() < 1
    )
    again = sample_session_tensors(4, 500, sequence=sequence, generator=seeds.torch_rng("drawn"))
    assert (again.image == sessions.image).all() and (again.tie_breaks == sessions.tie_breaks).all()


@pytest.mark.parametrize("sequence", VARIANTS)
def test_learning_curves_do_not_depend_on_who_draws_the_sessions(sequence):
    task = ObjectLearning(sequence=sequence, n_trials=50, n_images=50)
    grams = gram_tensors(torch.from_numpy(make_features(1, 4, task)))
    generator = seeds.torch_rng("who draws", sequence)
    drawn = sample_session_tensors(4, 500, n_trials=50, n_images=50, sequence=sequence, generator=generator)
    given = session_tensors(task.sample(4, 500, rng=seeds.rng("who draws", sequence)))
    right = [
        (simulate_stages(grams, each, Learners()) == each.answer).double().flatten(1, 3) for each in (drawn, given)
    ]
    assert right[0].shape == (7, 2000, 50)
    error = sum(r.var(dim=1) / 2000 for r in right) ** 0.5
    z = (right[0].mean(dim=1) - right[1].mean(dim=1)) / error  # (rules, trials)
    assert z.abs().max() < 5 and z.pow(2).mean() < 2  # of standard normal numbers, correlated among the rules


BARE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numba", "pandas", "scipy", "sklearn", "pyarrow", "matplotlib", "llvmlite", "safetensors"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import torch
from exemplar import seeds
from exemplar.learn.batched import Learners, gram_tensors, sample_session_tensors, simulate_stages
rng = seeds.torch_rng("bare")
features = torch.randn((2, 3, 2, 20, 8), generator=rng)
features /= features.norm(dim=-1, keepdim=True)
sessions = sample_session_tensors(3, 5, n_trials=20, n_images=20, generator=rng)
print(tuple(simulate_stages(gram_tensors(features), sessions, Learners()).shape))
"""


def test_torch_and_numpy_are_all_it_needs():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", BARE], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(7, 2, 3, 5, 20)", done.stderr[-500:]


TASK = ObjectLearning(n_trials=10, n_images=10)
GRAMS = torch.eye(20, dtype=torch.float64).expand(2, 3, 20, 20).contiguous()


def run(grams: torch.Tensor = GRAMS, n_subtasks: int = 3, **of_learners) -> torch.Tensor:
    return simulate_stages(
        grams, session_tensors(TASK.sample(n_subtasks, 4, rng=seeds.rng(0))), Learners(**of_learners)
    )


@pytest.mark.parametrize(
    "use,sentence",
    [
        (lambda: run(n_subtasks=2), "2 subtasks of 20 images"),
        (lambda: run(GRAMS[0]), "give a contiguous"),
        (lambda: run(GRAMS.half()), "float16"),
        (lambda: run(GRAMS.transpose(0, 1)), "give a contiguous"),
        (lambda: run(GRAMS.to("meta")), "move one"),
        (lambda: run(rules=("squares",)), "did you mean square"),
        (lambda: run(variant="papers"), "did you mean paper"),
        (lambda: run(rate=0.0), "above 0"),
        (lambda: run(rate=float("nan")), "above 0"),
        (lambda: run((GRAMS + 1) / 2, rules=("perceptron", "square"), rate=1e100), "the rule square diverges"),
        (lambda: gram_tensors(torch.full((3, 2, 10, 4), torch.nan)), "fit_ball"),
        (lambda: gram_tensors(torch.zeros((3, 2, 10, 4))), "fit_ball"),
        (lambda: gram_tensors(torch.ones((3, 2, 10, 4))), "fit_ball"),
        (lambda: sample_session_tensors(2, 3, n_trials=101, generator=torch.Generator()), "101 trials need"),
        (
            lambda: sample_session_tensors(2, 3, n_trials=201, sequence="hobj", generator=torch.Generator()),
            "201 trials need",
        ),
        (lambda: sample_session_tensors(2, 3, sequence="hobi", generator=torch.Generator()), "did you mean hobj"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(use, sentence):
    with pytest.raises(UserError, match=sentence):
        use()


def test_sessions_can_move_to_another_device():
    moved = session_tensors(TASK.sample(3, 4, rng=seeds.rng(0))).to("meta")
    assert isinstance(moved, SessionTensors) and moved.image.device.type == moved.tie_breaks.device.type == "meta"
