"""Tasks, plasticity rules, and the two ways to simulate them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn import session_random as random
from exemplar.learn.agents import AGENTS, LinearLearner, RandomGuesser, list_rules, make_agent, make_rule
from exemplar.learn.simulation import gram_matrices, run_agent, simulate
from exemplar.learn.tasks import ObjectLearning, OneShot
from exemplar.spaces.ball import fit_ball


def make_features(
    n_subtasks: int, task, *, d: int = 20, apart: float = 0.4, unit: bool = False, seed: object = 0
) -> np.ndarray:
    rng = seeds.rng("test features", seed)
    x = rng.standard_normal((n_subtasks, task.n_objects, task.n_images, d)) * 0.7
    x = (x + rng.standard_normal((n_subtasks, task.n_objects, 1, d)) * apart) / np.sqrt(d)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / (length if unit else np.maximum(length, 1))


def one_session(agent, rewards_of, xs) -> list[int]:
    """The choices an agent makes; rewards_of: choice, trial → reward."""
    agent.reset(seeds.rng("one session"))
    made = []
    for trial, x in enumerate(xs):
        made.append(agent.choose(np.asarray(x, float)))
        agent.feedback(rewards_of(made[-1], trial))
    return made


# Rules by hand: w·x = p before the step, x of length 1 after it.
STEPS = [
    ("perceptron", "paper", 0.0, 1, 1.0), ("perceptron", "paper", 0.1, 1, 0.0), ("perceptron", "paper", 0.1, -1, -1.0),
    ("hinge", "paper", 0.9, 1, 1.0), ("hinge", "paper", 1.0, 1, 0.0), ("hinge", "hobj", 1.0, 1, 1.0), ("hinge", "hobj", 1.1, 1, 0.0),
    ("hinge", "paper", -1.0, -1, 0.0), ("hinge", "hobj", -1.0, -1, -1.0),
    ("mae", "paper", 0.5, 1, 1.0), ("mae", "paper", 1.0, 1, -1.0), ("mae", "hobj", 1.0, 1, 0.0), ("mae", "hobj", 1.5, 1, -1.0), ("mae", "paper", -0.5, -1, -1.0),
    ("square", "paper", 0.25, 1, 0.75), ("square", "paper", 0.25, -1, -1.25),
    ("exponential", "paper", 0.5, 1, np.exp(-0.5)), ("exponential", "paper", 0.5, -1, -np.exp(0.5)),
    ("cross-entropy", "paper", 0.0, 1, 2.0), ("cross-entropy", "paper", 1.0, -1, -4 / (1 + np.exp(-1.0))),
]  # fmt: skip


@pytest.mark.parametrize("name,variant,preference,reward,step", STEPS)
def test_the_rules_step_as_the_table_of_the_paper_says(name, variant, preference, reward, step):
    rule = make_rule(name, 1.0, variant)
    assert rule.step(preference, float(reward)) == pytest.approx(step)
    assert make_rule(name, 0.5, variant).step(preference, float(reward)) == pytest.approx(step / 2)


def test_reinforce_moves_every_action_by_its_probability():
    learner = make_agent("reinforce", n_choices=3)
    learner.reset(seeds.rng("r"))
    x = np.array([1.0, 0.0])
    learner.choose(x)
    learner.weights[:] = [[0.2, 0], [0.1, 0], [-0.3, 0]]
    chosen = learner.choose(x)
    assert chosen == 0
    learner.feedback(-1.0)
    p = np.exp([0.2, 0.1, -0.3]) / np.exp([0.2, 0.1, -0.3]).sum()
    assert np.allclose(learner.weights[:, 0], np.array([0.2, 0.1, -0.3]) - (np.array([1, 0, 0]) - p))


@pytest.mark.parametrize("variant,lengths", [("paper", (10.0, 9.0)), ("hobj", None)])
def test_the_exponential_rule_projects_weights_to_length_10(variant, lengths):
    learner = make_agent("exponential", variant=variant)
    learner.reset(seeds.rng("e"))
    x = np.array([0.6, 0.8])
    learner.choose(x)
    learner.weights[:] = [[0.0, -9.0], [-9.0, 0.0]]  # preferences −7.2 and −5.4
    assert learner.choose(x) == 1
    learner.feedback(1.0)  # a step of exp(5.4), far beyond 10
    found = np.linalg.norm(learner.weights, axis=1)
    if lengths:
        assert found[1] == pytest.approx(10) and found[0] == pytest.approx(9)
        raw = np.array([-9.0, 0]) + np.exp(5.4) * x
        assert np.allclose(learner.weights[1], raw / np.linalg.norm(raw) * 10)
    else:
        assert np.linalg.norm(found) == pytest.approx(10) and found[0] < 9


@pytest.mark.parametrize("name", list_rules())
def test_a_rule_is_a_constant_with_the_rate_1_unless_told(name):
    kind = AGENTS[name]
    assert kind() == make_rule(name) == make_rule(name, 1.0, "paper") and len({kind(), make_rule(name)}) == 1
    assert make_rule(name).rate == 1 and make_rule(name, 0.5) != make_rule(name)
    assert make_agent(name) == LinearLearner(make_rule(name), 2)
    with pytest.raises(FrozenInstanceError):
        kind().rate = 2.0


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_what_it_was_made_of_whatever_it_has_learned(name):
    learned, fresh = make_agent(name, n_choices=3), make_agent(name, n_choices=3)
    before = repr(fresh)
    one_session(learned, lambda choice, trial: 1.0, np.eye(4))
    assert learned == fresh and repr(learned) == before and "array" not in before
    assert list(signature(type(learned)).parameters) == (["rule"] if name in list_rules() else []) + ["n_choices"]
    with pytest.raises(TypeError):
        make_agent(name, 3)  # a bare number could be a rate


def test_an_error_without_a_key_teaches_prototypes_of_two_the_other_and_of_three_nothing():
    for n_choices, expected in ((2, [[0, 0], [0.6, 0.8]]), (3, [[0, 0], [0, 0], [0, 0]])):
        for pressed in (0, 1):
            agent = make_agent("prototype", n_choices=n_choices)
            agent.reset(seeds.rng("prototypes"))
            while agent.choose(np.array([0.6, 0.8])) != pressed:  # all are equally near
                pass
            agent.feedback(-1.0)
            turned = expected[::-1] if pressed else expected
            assert agent.total.tolist() == turned and agent.n_seen.sum() == (n_choices == 2)


@pytest.mark.parametrize("unit", [False, True], ids=["in the ball", "on its surface"])
@pytest.mark.parametrize("variant", ["paper", "hobj"])
@pytest.mark.parametrize("name", AGENTS)
def test_the_fast_path_makes_the_choices_of_the_slow_one(name, variant, unit):
    for task in (
        ObjectLearning(n_trials=60, sequence=variant),
        ObjectLearning(n_trials=30, n_images=30, n_objects=3),
        OneShot(sequence=variant),
        OneShot(n_training=9, n_objects=3, n_images=15, catch_trials=(9, 12)),
    ):
        features = make_features(2, task, unit=unit, seed=(name, variant))
        sessions = task.sample(2, 12, rng=seeds.rng("sessions", name, variant))
        agent = make_agent(name, n_choices=task.n_objects, variant=variant)
        fast = simulate(agent, gram_matrices(features), sessions)
        assert (fast == run_agent(agent, features, sessions)).all()
        assert len(np.unique(fast)) == task.n_objects


@settings(deadline=None, max_examples=15)
@given(rate=st.floats(0.01, 1), name=st.sampled_from(list_rules()), seed=st.integers(0, 10**6))
def test_fast_and_slow_agree_at_any_rate(rate, name, seed):
    task = ObjectLearning(n_trials=20, n_images=20)
    features, sessions = make_features(1, task, seed=seed), task.sample(1, 5, rng=seeds.rng(seed))
    agent = make_agent(name, rate=rate)
    assert (simulate(agent, gram_matrices(features), sessions) == run_agent(agent, features, sessions)).all()


@settings(deadline=None, max_examples=20)
@given(rate=st.floats(0.01, 100))
def test_choices_do_not_depend_on_the_learning_rate_of_a_perceptron(rate):
    task = ObjectLearning(n_trials=50, n_images=50)
    features, sessions = make_features(2, task), task.sample(2, 20, rng=seeds.rng("p"))
    grams = gram_matrices(features)
    assert (
        simulate(make_agent("perceptron", rate=rate), grams, sessions)
        == simulate(make_agent("perceptron"), grams, sessions)
    ).all()


@pytest.mark.parametrize("name", [*list_rules(), "prototype"])
def test_choices_do_not_depend_on_how_the_space_is_turned(name):
    task = ObjectLearning(n_trials=40, n_images=40)
    features, sessions = make_features(2, task, d=8), task.sample(2, 20, rng=seeds.rng("turn"))
    turn = np.linalg.qr(seeds.rng("turned").standard_normal((8, 8)))[0]
    agent = make_agent(name)
    assert (
        simulate(agent, gram_matrices(features), sessions) == simulate(agent, gram_matrices(features @ turn), sessions)
    ).all()


@pytest.mark.parametrize("name", [*list_rules(), "prototype"])
def test_whoever_learns_is_at_chance_first_and_better_later(name):
    task = ObjectLearning()
    features, sessions = make_features(8, task, apart=0.8), task.sample(8, 100, rng=seeds.rng("learn"))
    right = simulate(make_agent(name), gram_matrices(features), sessions) == sessions.answer
    assert abs(right[..., 0].mean() - 0.5) < 0.07
    assert right[..., 1].mean() > 0.55
    assert right[..., -10:].mean() > right[..., 1:11].mean() > 0.6


def test_a_tie_is_broken_evenly_among_those_who_tie():
    learner = make_agent("square", n_choices=3)
    learner.reset(seeds.rng("ties"))
    counts = np.bincount([learner.choose(np.ones(2)) for _ in range(3000)], minlength=3)
    assert (np.abs(counts - 1000) < 120).all()


def test_weights_that_cancel_on_paper_tie_again():
    # The MAE rule steps back at equality: x and −x leave 0, however x was rounded.
    task = OneShot(n_images=11)
    features = make_features(3, task, unit=True)
    sessions = task.sample(3, 200, rng=seeds.rng("cancel"))
    assert (
        simulate(make_agent("mae"), gram_matrices(features), sessions)
        == run_agent(make_agent("mae"), features, sessions)
    ).all()
    learner = make_agent("mae")
    x = features[0, 0, 0]
    one_session(learner, lambda choice, trial: 1.0, [x, x])
    assert sorted(learner.weights @ x) == [0.0, pytest.approx(0.0, abs=1e-12)]


def test_any_object_with_the_protocol_can_take_part():
    class AlwaysLeft:
        def reset(self, rng: np.random.Generator) -> None: ...
        def choose(self, x: np.ndarray) -> int:
            return 0

        def feedback(self, reward: float) -> None: ...  # fmt: skip

    task = ObjectLearning(n_trials=10, n_images=10)
    features, sessions = make_features(1, task), task.sample(1, 400, rng=seeds.rng("left"))
    right = run_agent(AlwaysLeft(), features, sessions) == sessions.answer
    assert abs(right.mean() - 0.5) < 0.05
    with pytest.raises(UserError, match="run_agent"):
        simulate(AlwaysLeft(), gram_matrices(features), sessions)


def test_a_session_s_generator_is_the_one_compiled_code_reads():
    key = random.draw_key(seeds.rng("key"))
    for session in (0, 1, 31_999, 2**40):
        numbers = random.session_rng(key, session).random(11)
        assert [random.session_random(key, session, draw) for draw in range(11)] == numbers.tolist()


@pytest.mark.parametrize("sequence", ["paper", "hobj"])
def test_no_image_is_shown_twice_and_objects_come_as_the_variant_says(sequence):
    task = ObjectLearning(sequence=sequence)
    sessions = task.sample(4, 500, rng=seeds.rng("exp1"))
    ordered = np.sort(sessions.image.reshape(-1, 100), axis=1)
    assert (np.diff(ordered, axis=1) > 0).all() and ordered.min() == 0 and ordered.max() == 199
    shown = sessions.object.sum(axis=2).ravel()  # of 100: binomial (paper) or hypergeometric (hobj)
    assert abs(shown.mean() - 50) < 0.5
    assert shown.var() == pytest.approx(25 if sequence == "paper" else 25 * 100 / 199, rel=0.1)
    assert np.bincount(sessions.image.ravel(), minlength=200).std() < 0.05 * sessions.image.size / 200
    for s in sessions.answer.reshape(-1, 100)[:50], sessions.object.reshape(-1, 100)[:50]:
        assert s.min() == 0 and s.max() == 1
    swapped = (sessions.answer != sessions.object).mean(axis=2).ravel()
    assert set(swapped) == {0.0, 1.0} and abs(swapped.mean() - 0.5) < 0.06  # one key an object, drawn per session


@pytest.mark.parametrize("sequence,catch", [("paper", [14, 19]), ("hobj", [9, 14, 19])])
def test_one_shot_sessions_train_on_one_view_five_times_and_never_repeat_a_test(sequence, catch):
    task = OneShot(sequence=sequence)
    sessions = task.sample(3, 300, rng=seeds.rng("exp2"))
    number = sessions.image.reshape(-1, 20) % task.n_images
    item = sessions.object.reshape(-1, 20)
    assert (number[:, :10] == 0).all() and (item[:, :10].sum(axis=1) == 5).all()
    assert (number[:, [14, 19]] == 0).all() and abs(item[:, 14].mean() - 0.5) < 0.06
    tests = sessions.image.reshape(-1, 20)[:, [10, 11, 12, 13, 15, 16, 17, 18]]
    assert (number[:, [10, 13, 15, 18]] > 0).all() and (np.diff(np.sort(tests, axis=1), axis=1) > 0).all()
    assert np.flatnonzero(sessions.phase == "catch").tolist() == catch


def test_the_same_seed_gives_the_same_sessions_and_choices():
    task = ObjectLearning(n_trials=30, n_images=30)
    first, second = (task.sample(2, 10, rng=seeds.rng("same")) for _ in range(2))
    assert (first.image == second.image).all() and (first.key == second.key).all()
    grams = gram_matrices(make_features(2, task))
    assert (simulate(make_agent("square"), grams, first) == simulate(make_agent("square"), grams, second)).all()


@pytest.mark.parametrize("variant,quantile", [("paper", 0.99), ("hobj", 0.999)])
def test_the_ball_has_the_radius_of_the_variant_and_holds_everything(variant, quantile):
    warmup = seeds.rng("warm").standard_normal((400, 6)) + 3
    ball = fit_ball(warmup, variant)
    length = np.linalg.norm(warmup - warmup.mean(axis=0), axis=1)
    assert ball.radius == pytest.approx(np.quantile(length, quantile))
    placed = np.linalg.norm(ball.place(warmup), axis=1)
    assert placed.max() == pytest.approx(1) and np.allclose(
        placed[length < ball.radius], length[length < ball.radius] / ball.radius
    )


BAD = {
    "a nan": (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x), "NaN or infinity"),
    "nothing": (lambda x: x * (np.arange(10)[:, None] != 3), "length 0"),
    "too long": (lambda x: x * 10, "ball of radius 1"),
    "flat": (lambda x: x[0], "reshape"),
    "text": (lambda x: x.astype(str), "array of numbers"),
}


@pytest.mark.parametrize("change,sentence", BAD.values(), ids=BAD)
def test_bad_features_are_refused_in_a_sentence(change, sentence):
    task = ObjectLearning(n_trials=10, n_images=10)
    features = make_features(2, task)
    for use in (gram_matrices, lambda x: run_agent(RandomGuesser(), x, task.sample(2, 1, rng=seeds.rng(0)))):
        with pytest.raises(UserError, match=sentence):
            use(change(features))


@pytest.mark.parametrize(
    "make,sentence",
    [
        (lambda: ObjectLearning(n_trials=101), "101 trials need"),
        (lambda: ObjectLearning(n_trials=201, sequence="hobj"), "201 trials need"),
        (lambda: ObjectLearning(sequence="hobi"), "did you mean hobj"),
        (lambda: ObjectLearning(n_objects=1), "at least 2 objects"),
        (lambda: OneShot(n_training=9), "equally often"),
        (lambda: OneShot(catch_trials=(3,)), "not in the test phase"),
        (lambda: OneShot(n_images=5), "10 test trials need"),
        (lambda: ObjectLearning().sample(0, 5, rng=seeds.rng(0)), "at least 1"),
        (lambda: make_agent("squar"), "did you mean square"),
        (lambda: make_agent("square", rate=0), "above 0"),
        (lambda: make_agent("square", rate=float("nan")), "above 0"),
        (lambda: make_agent("square", variant="papers"), "did you mean paper"),
        (lambda: make_agent("square", n_choices=1), "at least 2 choices"),
        (lambda: make_rule("squar"), "no rule 'squar'.*did you mean square"),
        (lambda: make_rule("prototype"), "rule"),
        (lambda: make_rule("square", rate=0), "above 0"),
        (lambda: make_rule("square", variant="papers"), "did you mean paper"),
    ],
)  # fmt: skip
def test_impossible_tasks_and_agents_are_refused_in_a_sentence(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


def test_features_sessions_and_agents_that_do_not_fit_are_refused():
    task = ObjectLearning(n_trials=10, n_images=10)
    features, sessions = make_features(2, task), task.sample(3, 2, rng=seeds.rng(0))
    with pytest.raises(UserError, match="make them match"):
        run_agent(make_agent("square"), features, sessions)
    with pytest.raises(UserError, match="make them match"):
        simulate(make_agent("square"), gram_matrices(features), sessions)
    with pytest.raises(UserError, match="choices of the sessions"):
        simulate(make_agent("square", n_choices=3), gram_matrices(features), task.sample(2, 2, rng=seeds.rng(0)))


def test_a_rate_that_diverges_is_told_so():
    task = ObjectLearning()
    features, sessions = make_features(2, task, unit=True), task.sample(2, 5, rng=seeds.rng(0))
    with pytest.raises(UserError, match="smaller rate"):
        simulate(make_agent("square", rate=1e9), gram_matrices(features), sessions)


def test_a_learner_of_a_rule_of_one_s_own_runs_on_both_paths():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Sign:
        """Steps by the reward alone."""

        rate: float = 0.5

        def step(self, preference: float, reward: float) -> float:
            return self.rate * reward

    task = ObjectLearning(n_trials=20, n_images=20)
    features, sessions = make_features(2, task), task.sample(2, 10, rng=seeds.rng("own"))
    agent = LinearLearner(Sign())
    assert (simulate(agent, gram_matrices(features), sessions) == run_agent(agent, features, sessions)).all()


@pytest.mark.parametrize("name", ["square", "cross-entropy", "exponential"])
def test_rounding_decides_ties_and_leaves_the_weights_alone(name):
    """At d = 1 the weights are one number, which the rule alone must change: a rounded preference moved it by 10⁻¹³."""
    learner, rule, rng = make_agent(name, rate=0.3), make_rule(name, rate=0.3), seeds.rng("rounding")
    learner.reset(seeds.rng("ties"))
    weights = np.zeros(2)
    for x, reward in zip(rng.uniform(-1, 1, 40), rng.choice([-1.0, 1.0], 40), strict=True):
        choice = learner.choose(np.array([x]))
        learner.feedback(reward)
        weights[choice] += rule.step(weights[choice] * x, reward) * x
    assert np.array_equal(learner.weights[:, 0], weights)


def test_a_tie_at_one_dimension_stays_a_tie():
    """Both actions end at the same weight by different roads; on paper their preferences are equal."""
    learner = make_agent("square", rate=0.5)
    learner.reset(seeds.rng("tie"))
    learner.choose(np.array([0.7]))
    third = 1 / 3
    learner.weights[:, 0] = [third + 2.0**-53, third]  # equal but for the last bit
    drawn = {learner.choose(np.array([0.7])) for _ in range(40)}
    assert drawn == {0, 1}


@pytest.mark.parametrize("name", list_rules())
def test_fast_and_slow_agree_at_one_dimension(name):
    """Where all images are multiples of one, ties and near ties are everywhere."""
    features = seeds.rng("one dimension").choice([-1.0, -0.6, 0.3, 0.6, 1.0], (2, 2, 30, 1))
    sessions = ObjectLearning(n_trials=30, n_images=30).sample(2, 40, rng=seeds.rng("one", name))
    for rate in (0.3, 1.0):
        agent = make_agent(name, rate=rate)
        assert (simulate(agent, gram_matrices(features), sessions) == run_agent(agent, features, sessions)).all()
