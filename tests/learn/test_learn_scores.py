"""Scores of learning: MSE_n, lapses, the null test, accuracies, consistency, Experiment 2, individuals, power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import spearmanr, ttest_ind

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.sources import find
from exemplar.learn import people
from exemplar.learn.agents import RandomGuesser, make_agent
from exemplar.learn.measures.accuracy import widest_quantiles
from exemplar.learn.measures.curves import Behaviour, Curves, repeat
from exemplar.learn.measures.individuals import (
    Individuals,
    compare_populations,
    complete_individuals,
    individuality_test,
    who_outperforms,
)
from exemplar.learn.measures.mse import (
    fit_lapse,
    moments_of,
    mse_n,
    noise_floor,
    null_distribution,
    replicate_moments,
    score_guessing,
    score_mse,
)
from exemplar.learn.measures.oneshot import (
    Generalization,
    Points,
    compare_transformations,
    generalization_null,
    generalization_of,
    resampled_null,
    score_generalization,
)
from exemplar.learn.measures.reading import behaviour_in, behaviour_of
from exemplar.learn.measures.statespace import smooth_curves
from exemplar.learn.measures.variance import variance_explained
from exemplar.learn.scores import (
    compare_phases,
    learning_curve,
    score_accuracy,
    score_consistency,
    score_learner,
    score_speed,
)
from exemplar.learn.simulation import gram_matrices, simulate
from exemplar.learn.tasks import ObjectLearning, OneShot
from exemplar.records import Trials


def learners(
    n_subtasks: int, n_sessions: int, *, n_trials: int = 100, seed: object = 0, lapse: float = 0.0, worse: float = 0.0
) -> Behaviour:
    """Sessions whose accuracy rises from .5 to a ceiling of each subtask, shifted by how good the session's learner is."""
    rng = seeds.rng("learners", seed)
    ceiling = np.linspace(0.6, 0.97, n_subtasks)[:, None, None] - worse
    able = np.clip(ceiling + 0.08 * rng.standard_normal((n_subtasks, n_sessions, 1)), 0.5, 1)
    p = 0.5 + (able - 0.5) * (1 - np.exp(-np.arange(n_trials) / 4)) * (1 - lapse)
    return behaviour_from(rng.random(p.shape) < p)


def behaviour_from(correct: np.ndarray) -> Behaviour:
    n_subtasks, n_sessions, n_trials = correct.shape
    names = tuple(f"s{number:02d}" for number in range(n_subtasks))
    who = np.tile(np.array([f"w{number}" for number in range(n_sessions)]), n_subtasks)
    return Behaviour(correct.reshape(-1, n_trials), np.repeat(np.arange(n_subtasks), n_sessions), names, who)


@pytest.fixture(scope="module")
def pair():
    """(model, people), each repeated 500 times: the same learners, but people lapse on a tenth of trials."""
    model, humans = learners(16, 200, seed="m"), learners(16, 50, seed="h", lapse=0.1)
    return (
        model,
        humans,
        repeat(model, n_replicates=500, rng=seeds.rng(1)),
        repeat(humans, n_replicates=500, rng=seeds.rng(2)),
    )


needs_people = pytest.mark.skipif(
    find("human") is None, reason="people's curves are not on this machine: set EXEMPLAR_DATA"
)


@needs_people
def test_people_s_curves_at_hand_have_the_numbers_of_the_paper():
    curves = people.load_curves()
    scores = score_accuracy(repeat(curves, n_replicates=200, rng=seeds.rng(0)))
    published = {
        "trial_2": 0.651,
        "trial_100": 0.866,
        "accuracy": 0.825,
        "hardest_tenth": 0.656,
        "early": 0.670,
        "late": 0.854,
    }
    for name, value in published.items():
        assert scores[name].value == pytest.approx(value, abs=5e-4), name
        assert scores[name].ci95[0] < value < scores[name].ci95[1]
    assert curves.accuracy[:, 1:6].mean() == pytest.approx(0.725, abs=6e-4)
    assert noise_floor(curves) == pytest.approx(0.00273, abs=5e-6) and noise_floor(curves) ** 0.5 == pytest.approx(
        0.0523, abs=5e-5
    )
    speed = score_speed(repeat(curves, n_replicates=200, rng=seeds.rng(0)))
    assert speed["examples_to_75"].value == 4 and speed["examples_to_90_of_final"].value == 6


@needs_people
@pytest.mark.parametrize("variant,published", [("paper", 0.1162), ("hobj", 0.1135)])
def test_a_random_guesser_has_the_published_error(variant, published):
    curves = people.load_curves()
    sessions = ObjectLearning().sample(64, 500, rng=seeds.rng("guess"))
    guesser = behaviour_of(simulate(RandomGuesser(), np.zeros((64, 200, 200)), sessions), sessions, curves.subtasks)
    moments = moments_of(guesser.curves(), curves)
    assert mse_n(moments, variant) == pytest.approx(published, abs=1e-4)
    assert score_guessing(curves, variant) == pytest.approx(published, abs=6e-5)


@needs_people
def test_the_one_shot_points_at_hand_are_36_and_read_as_the_metadata_names_them():
    points = people.load_points()
    assert len(points.tests) == 36 and len({name.split(" | ")[0] for name in points.tests}) == 9
    assert "blur | 0.007812" in points.tests and "backgrounds | 0.215443" in points.tests
    assert points.accuracy.max() == 1 and 0.02 < points.variance.mean() ** 0.5 < 0.025


def test_mse_n_by_hand():
    model = Curves(np.array([[5, 10]]), np.array([10]), ("a",))  # .5, 1
    humans = Curves(np.array([[3, 4]]), np.array([5]), ("a",))  # .6, .8
    moments = moments_of(model, humans)
    raw = ((0.5 - 0.6) ** 2 + (1 - 0.8) ** 2) / 2
    own, theirs = (0.25 / 9 + 0) / 2, (0.24 / 4 + 0.16 / 4) / 2
    assert mse_n(moments, "paper", 0.0) == pytest.approx(raw - own)
    assert mse_n(moments, "hobj", 0.0) == pytest.approx(raw - own - theirs)
    lapsed = ((0.5 - 0.6) ** 2 + (0.75 - 0.8) ** 2) / 2
    assert mse_n(moments, "paper", 0.5) == pytest.approx(lapsed - own / 4)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), variant=st.sampled_from(["paper", "hobj"]), worse=st.floats(-0.3, 0.3))
def test_the_lapse_rate_is_the_best_there_is(seed, variant, worse):
    rng = seeds.rng("lapse", seed)
    model = Curves(rng.binomial(20, rng.uniform(0.3, 1, (4, 10))), np.full(4, 20), tuple("abcd"))
    humans = Curves(rng.binomial(10, np.clip(model.accuracy - worse, 0, 1)), np.full(4, 10), tuple("abcd"))
    moments = moments_of(model, humans)
    lapse = float(fit_lapse(moments, variant))
    assert 0 <= lapse <= 1

    def error(rate: float) -> float:
        squared = np.mean(((1 - rate) * model.accuracy + rate / 2 - humans.accuracy) ** 2)
        return squared - ((1 - rate) ** 2 * model.variance.mean() if variant == "paper" else 0)

    best = min(
        error(0), error(1), minimize_scalar(error, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).fun
    )
    assert error(lapse) <= best + 1e-12


def test_a_lapse_rate_put_in_is_found_again(pair):
    _, _, model, humans = pair
    for variant in ("paper", "hobj"):
        lapse = score_mse(model, humans, variant=variant)["lapse_rate"]
        assert lapse.value == pytest.approx(0.1, abs=0.02) and lapse.ci95[0] < 0.1 < lapse.ci95[1]


def test_a_perfect_model_reaches_the_noise_floor_or_zero(pair):
    _, humans, model, repeated = pair
    paper, hobj = (score_mse(model, repeated, variant=variant)["mse_n"] for variant in ("paper", "hobj"))
    assert paper.value == pytest.approx(noise_floor(humans), rel=0.1)
    assert hobj.value == pytest.approx(0, abs=0.1 * noise_floor(humans))
    assert paper.value - hobj.value == pytest.approx(noise_floor(humans), rel=0.01)  # lapse rates differ a little
    assert paper.ci95[0] < paper.value < paper.ci95[1] and hobj.ci95[0] < hobj.value < hobj.ci95[1]


def test_replicates_are_resampled_sessions_one_by_one(pair):
    # The matrix product against an explicit loop over the same draws.
    humans, rng = pair[1], seeds.rng(2)
    replicates = humans.resample_sessions(500, seeds.rng(2))
    explicit = np.empty((500, 16, 100))
    for subtask in range(16):
        mine = humans.correct[humans.subtask == subtask]
        for replicate, drawn in enumerate(rng.integers(0, len(mine), (500, len(mine)), dtype=np.uint16)):
            explicit[replicate, subtask] = mine[drawn].sum(axis=0)
    assert (explicit == replicates.n_correct).all() and replicates.resampled == "sessions"


def test_replicates_are_resampled_participants_with_all_their_sessions(pair):
    _, humans, _, repeated = pair
    rng, names = seeds.rng(2), np.unique(humans.participant)
    drawn = rng.integers(0, len(names), (500, len(names)), dtype=np.uint32)
    for replicate in (0, 123, 499):
        sessions = np.concatenate([np.flatnonzero(humans.participant == names[unit]) for unit in drawn[replicate]])
        for subtask in (0, 15):
            mine = sessions[humans.subtask[sessions] == subtask]
            assert (humans.correct[mine].sum(axis=0) == repeated.replicates.n_correct[replicate, subtask]).all()
            assert len(mine) == repeated.replicates.sizes[replicate, subtask]
    assert repeated.replicates.resampled == "participants" and repeated.n == len(names)


def test_moments_of_replicates_are_those_of_their_curves(pair):
    _, _, model, humans = pair
    moments = replicate_moments(model.replicates, humans.replicates, 0.5)
    for replicate in (0, 7):
        one, two = (
            Curves(
                side.replicates.n_correct[replicate].astype(float),
                side.replicates.sizes[replicate],
                side.curves.subtasks,
            )
            for side in (model, humans)
        )
        alone = moments_of(one, two)
        assert [getattr(moments, name)[replicate] for name in ("aa", "ab", "bb", "model_variance", "people_variance")] == pytest.approx(
            [alone.aa, alone.ab, alone.bb, alone.model_variance, alone.people_variance]
        )  # fmt: skip


def test_the_interval_of_mse_n_holds_its_expectation_about_95_times_in_100():
    expected = np.mean(
        [
            float(
                mse_n(
                    moments_of(
                        learners(6, 100, seed=("a", i), worse=0.1).curves(), learners(6, 25, seed=("b", i)).curves()
                    )
                )
            )
            for i in range(300)
        ]
    )
    inside = 0
    for i in range(100):
        sides = [
            repeat(learners(6, n, seed=("c", n, i), worse=w), n_replicates=200, rng=seeds.rng("ci", n, i))
            for n, w in ((100, 0.1), (25, 0.0))
        ]
        lo, hi = score_mse(*sides)["mse_n"].ci95
        inside += lo < expected < hi
    assert 86 <= inside <= 100


def test_the_null_test_spares_the_true_model_and_rejects_a_wrong_one():
    spared, rejected = [], []
    for i in range(30):
        humans = learners(16, 50, seed=("null", i))
        null = null_distribution(humans, np.full(16, 200), n_replicates=200, rng=seeds.rng("null", i))
        assert null.resampled == "sessions"
        spared.append(null.p(float(mse_n(moments_of(learners(16, 200, seed=("true", i)).curves(), humans.curves())))))
        rejected.append(
            null.p(
                float(
                    mse_n(
                        moments_of(
                            behaviour_from(
                                learners(16, 200, seed=("x", i)).correct.reshape(16, 200, 100)[::-1]
                            ).curves(),
                            humans.curves(),
                        )
                    )
                )
            )
        )
    assert np.mean(np.array(spared) < 0.05) <= 0.15
    assert max(rejected) < 0.05


def test_the_same_seed_gives_the_same_scores(pair):
    model, humans, *_ = pair
    first, second = (
        score_learner(*(repeat(side, n_replicates=100, rng=seeds.rng("again")) for side in (model, humans)))
        for _ in range(2)
    )
    assert first == second and {"mse_n", "accuracy", "consistency", "examples_to_75"} <= set(first)


def test_accuracies_and_their_intervals(pair):
    model, _, repeated, _ = pair
    scores, curve = score_accuracy(repeated, agent="me"), learning_curve(repeated)
    accuracy = model.correct.reshape(16, 200, 100).mean(axis=1)
    assert scores["accuracy"].value == pytest.approx(accuracy.mean()) and scores["accuracy"].agent == "me"
    assert scores["trial_2"].value == pytest.approx(curve.value[1]) and scores["trial_100"].value == pytest.approx(
        curve.value[99]
    )
    assert scores["early"].value == pytest.approx(accuracy[:, :5].mean()) and scores["late"].value == pytest.approx(
        accuracy[:, 94:].mean()
    )
    assert scores["hardest_tenth"].value == pytest.approx(np.sort(accuracy.mean(axis=1))[0])
    assert (curve.lo < curve.value).all() and (curve.value < curve.hi).all()
    # Sessions differ in how good they are: that shows in the interval of the whole, not only binomial noise.
    width = scores["accuracy"].ci95[1] - scores["accuracy"].ci95[0]
    binomial = 2 * 1.96 * np.sqrt((accuracy * (1 - accuracy)).mean() / (16 * 200 * 100))
    assert width > 1.5 * binomial


def test_examples_to_a_criterion_by_hand():
    curve = np.tile(np.array([50, 60, 75, 74, 80, 90]), (1, 1))
    scores = score_speed(repeat(Curves(curve, np.array([100]), ("a",)), n_replicates=50, rng=seeds.rng(0)))
    assert scores["examples_to_75"].value == 2 and scores["examples_to_90_of_final"].value == 5
    never = score_speed(repeat(Curves(curve // 2, np.array([100]), ("a",)), n_replicates=50, rng=seeds.rng(0)))
    assert "examples_to_75" not in never and never["examples_to_90_of_final"].value == 5


def test_consistency_is_spearman_s_with_a_ceiling_of_repeated_experiments(pair):
    model, humans, repeated, them = pair
    scores = score_consistency(repeated, them)
    sides = [side.correct.mean(axis=1).reshape(16, -1).mean(axis=1) for side in (model, humans)]
    assert scores["consistency"].value == pytest.approx(spearmanr(*sides).statistic)
    ceiling = [
        spearmanr(*(learners(16, 50, seed=("r", i, j), lapse=0.1).correct.mean(axis=1).reshape(16, 50).mean(axis=1) for j in (0, 1))).statistic
        for i in range(40)
    ]  # fmt: skip
    assert scores["consistency_ceiling"].value == pytest.approx(np.mean(ceiling), abs=0.02)
    turned = repeat(behaviour_from(model.correct.reshape(16, 200, 100)[::-1]), n_replicates=50, rng=seeds.rng(0))
    them_again = repeat(humans, n_replicates=50, rng=seeds.rng(3))
    assert score_consistency(turned, them_again)["consistency"].value < -0.9
    flat = Curves(np.full((16, 100), 10), np.full(16, 20), them_again.curves.subtasks)
    with pytest.raises(UserError, match="that differ"):
        score_consistency(repeat(flat, n_replicates=50, rng=seeds.rng(0)), them_again)


def test_a_model_that_is_slow_only_on_hard_subtasks_is_caught_there():
    humans = learners(16, 50, seed="early h")
    slow = learners(16, 200, seed="early m").correct.reshape(16, 200, 100).copy()
    slow[:4, :, :5] = seeds.rng("slow").random((4, 200, 5)) < 0.4
    found = compare_phases(
        *(
            repeat(side, n_replicates=400, rng=seeds.rng("phase", i))
            for i, side in enumerate((behaviour_from(slow), humans))
        ),
        rng=seeds.rng("phase null"),
    )
    p = {(row.phase, row.level): row.p for row in found}
    assert len(found) == 10 and p["early", "hardest"] < 0.02
    assert min(p["early", level] for level in ("hard", "easy", "easiest")) > 0.01
    row = next(row for row in found if (row.phase, row.level) == ("early", "hardest"))
    assert row.difference.value == pytest.approx(row.model.value - row.people.value) and row.difference.hi < 0


def test_only_the_same_subtasks_and_trials_are_compared(pair):
    _, humans, repeated, _ = pair
    for other, sentence in (
        (learners(15, 10), "different subtasks"),
        (learners(16, 10, n_trials=50), "same length"),
        (learners(16, 1), "fewer than 2 sessions"),
        (Behaviour(humans.correct, humans.subtask, humans.subtasks[::-1], humans.participant), "another order"),
    ):
        with pytest.raises(UserError, match=sentence):
            score_mse(repeated, repeat(other, n_replicates=2, rng=seeds.rng(0)))
    with pytest.raises(UserError, match="did you mean paper"):
        score_mse(repeated, repeated, variant="papr")


def test_behaviour_comes_back_from_trials_and_cut_sessions_are_refused():
    behaviour = learners(3, 4, n_trials=6)
    n = behaviour.correct.size
    columns = dict(
        agent="a", participant=np.repeat(behaviour.participant, 6), subtask=np.repeat(np.array(behaviour.subtasks)[behaviour.subtask], 6),
        session=np.repeat([f"session {i}" for i in range(12)], 6), trial=np.tile(np.arange(6), 12), phase="train", stimulus="x",
        correct=behaviour.correct.ravel(), timed_out=False,
    )  # fmt: skip
    order = seeds.rng("shuffled").permutation(n)
    trials = Trials.of(**columns).subset(order)
    back = behaviour_in(trials)
    assert (back.curves().n_correct == behaviour.curves().n_correct).all() and back.subtasks == behaviour.subtasks
    with pytest.raises(UserError, match="1 of 12 sessions are cut short"):
        behaviour_in(Trials.of(**columns).subset(np.arange(n - 1)))
    shifted = {**columns, "trial": np.where(np.arange(n) == n - 1, 9, columns["trial"])}
    with pytest.raises(UserError, match="numbered 0 to 9, not 0 to 5"):
        behaviour_in(Trials.of(**shifted))
    with pytest.raises(UserError, match="numbered 1 to 6 and must be counted from 0: subtract 1"):
        behaviour_in(Trials.of(**{**columns, "trial": columns["trial"] + 1}))


# Experiment 2


def test_catch_trials_correct_for_lapses_by_hand():
    counts = Generalization(
        np.array([[6.0, 9.0]]), np.array([[10.0, 10.0]]), np.array([19.0]), np.array([20.0]), ("a | 1", "b | 1")
    )
    points = counts.points()  # catch .95: lapse rate .1
    assert points.accuracy == pytest.approx([(0.6 - 0.05) / 0.9, (0.9 - 0.05) / 0.9])
    assert points.variance == pytest.approx(np.array([0.24 / 9, 0.09 / 9]) / 0.81)
    nothing = Generalization(np.array([[6.0]]), np.array([[10.0]]), np.zeros(1), np.zeros(1), ("a | 1",)).points()
    assert nothing.accuracy == pytest.approx([0.6])
    with pytest.raises(UserError, match="no better than by guessing"):
        Generalization(np.array([[6.0]]), np.array([[10.0]]), np.ones(1), np.full(1, 2.0), ("a | 1",)).points()
    with pytest.raises(UserError, match="fewer than twice"):
        Generalization(np.array([[1.0]]), np.array([[1.0]]), np.zeros(1), np.zeros(1), ("a | 1",)).points()


def one_shot_people(n_sessions: int, lapse: float, seed: object) -> tuple[Generalization, np.ndarray]:
    """Simulated people who generalise as they should, but guess on a share of trials."""
    task, rng = OneShot(n_images=13), seeds.rng("one shot", seed)
    sessions = task.sample(4, n_sessions // 4, rng=rng)
    test_of = np.tile(np.r_[-1, np.arange(12) % 6], 2)
    true = np.array([1.0, 0.95, 0.9, 0.8, 0.7, 0.6])
    p = np.where(sessions.phase == "test", true[np.maximum(test_of[sessions.image], 0)], 1.0)
    right = rng.random(p.shape) < p * (1 - lapse) + lapse / 2
    choice = np.where(right, sessions.answer, 1 - sessions.answer)
    tests = tuple(f"{kind} | {level}" for kind in ("blur", "scale") for level in (1, 2, 3))
    return generalization_of(choice, sessions, test_of, tests, correct_lapses=True), true


def test_a_resample_without_a_value_widens_the_interval_and_too_many_are_refused():
    counts, _ = one_shot_people(60, 0.1, "few")
    thin = Generalization(  # the first test was shown by four sessions alone, which some resamples leave out
        counts.n_correct.copy(), counts.n_shown.copy(), counts.catch_correct, counts.catch_shown, counts.tests
    )
    thin.n_shown[:, 0] = thin.n_correct[:, 0] = 0
    thin.n_shown[:4, 0] = thin.n_correct[:4, 0] = 2
    missing = np.isnan(thin.resample(1000, seeds.rng("thin"))[0]).any(axis=1).sum()
    assert 0 < missing < 25  # by (1 − 4/60)^60 = 1.6 %
    score = score_generalization(thin, counts, rng=seeds.rng("thin"))["mse_n"]
    assert np.isfinite(score.ci95).all() and score.ci95[0] < score.value < score.ci95[1]
    null = resampled_null(thin, 60, rng=seeds.rng("thin"))
    assert 900 < len(null.errors) < 1000 and np.isfinite(null.errors).all()
    thin.n_shown[1:4, 0] = thin.n_correct[1:4, 0] = 0
    with pytest.raises(UserError, match="shown fewer than twice.* give more sessions"):
        score_generalization(thin, counts, rng=seeds.rng("thin"))


def test_one_resample_of_people_who_guess_on_catch_trials_does_not_spoil_the_others():
    rng = seeds.rng("catch")
    caught = np.r_[np.ones(21), np.zeros(8)]  # .72: a few resamples come out below .5
    counts = Generalization(
        rng.integers(3, 6, (29, 2)).astype(float), np.full((29, 2), 6.0), caught, np.ones(29), ("a | 1", "b | 1")
    )
    drawn = counts.resample(1000, seeds.rng("catch"))[0]
    assert 0 < np.isnan(drawn).any(axis=1).sum() < 25
    for row in compare_transformations(counts, counts, rng=rng).values():
        assert row["difference"].lo < 0 < row["difference"].hi


def test_a_correlation_that_does_not_exist_counts_as_anything():
    known = np.linspace(0, 0.5, 99)
    assert widest_quantiles(known) == pytest.approx(np.quantile(known, (0.025, 0.975)))
    assert widest_quantiles(np.append(known, np.nan))[0] < widest_quantiles(known)[0]
    assert widest_quantiles(np.append(known, [np.nan] * 9)).tolist() == [-1, 1]


def test_lapses_are_taken_out_of_one_shot_accuracies_and_of_their_intervals():
    counts, true = one_shot_people(4000, 0.2, "lapse")
    points = counts.points()
    assert counts.n_shown.sum() == 4000 * 8 and counts.catch_shown.sum() == 8000
    assert np.abs(points.accuracy - true).max() < 0.03
    accuracies, _ = counts.resample(300, seeds.rng("os"))
    assert accuracies.std(axis=0)[3:] == pytest.approx(np.sqrt(points.variance[3:]), rel=0.35)


def test_drawing_people_adds_all_their_catch_trials():
    # hobj 2.0 keeps only the catch trials of each worker's last session.
    counts, _ = one_shot_people(40, 0.1, "by")
    merged = counts.by(np.repeat([f"w{i}" for i in range(10)], 4))
    assert len(merged) == 10 and merged.catch_shown.tolist() == [8.0] * 10
    assert merged.points().accuracy == pytest.approx(counts.points().accuracy)


def test_one_shot_mse_n_by_hand_and_without_difference_is_noise():
    a = Points(np.array([0.9, 0.7]), np.array([0.01, 0.02]), ("x | 1", "x | 2"))
    b = Points(np.array([0.8, 0.8]), np.array([0.03, 0.01]), ("x | 1", "x | 2"))
    assert score_generalization(a, b, rng=seeds.rng(0))["mse_n"].value == pytest.approx(0.01 - 0.015)
    assert score_generalization(a, b, variant="hobj", rng=seeds.rng(0))["mse_n"].value == pytest.approx(0.01 - 0.035)
    model, humans = one_shot_people(2000, 0.0, "m2")[0], one_shot_people(800, 0.1, "h2")[0]
    score = score_generalization(model, humans, variant="hobj", rng=seeds.rng("os2"))["mse_n"]
    assert score.ci95[0] < 0 < score.ci95[1]
    null = generalization_null(humans, model, rng=seeds.rng("os3"))
    assert (null.errors == resampled_null(humans, 2000, rng=seeds.rng("os3")).errors).all()
    assert generalization_null(b, model, rng=seeds.rng("os3")) is None
    paper = score_generalization(model, humans, rng=seeds.rng("os2"))["mse_n"]
    assert null.p(paper.value) > 0.01
    worse = Generalization(model.n_correct * 0.8, model.n_shown, model.catch_correct, model.catch_shown, model.tests)
    assert null.p(score_generalization(worse, humans, rng=seeds.rng("os2"))["mse_n"].value) < 0.01
    found = compare_transformations(worse, humans, rng=seeds.rng("os4"))
    assert set(found) == {"blur", "scale"} and found["blur"]["difference"].hi < 0
    with pytest.raises(UserError, match="different tests"):
        score_generalization(a, humans, rng=seeds.rng(0))


# Encoders and rules, individuals, power


def test_variance_explained_agrees_with_statsmodels():
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    rng = seeds.rng("anova")
    table = rng.normal(0, 1, (12, 1)) + rng.normal(0, 0.2, (1, 7)) + rng.normal(0, 0.1, (12, 7))
    shares, p = variance_explained(table, n_replicates=200, rng=rng)
    long = pd.DataFrame({"y": table.ravel(), "e": np.repeat(np.arange(12), 7), "r": np.tile(np.arange(7), 12)})
    oracle = anova_lm(ols("y ~ C(e) + C(r)", long).fit())
    squares = oracle["sum_sq"] / oracle["sum_sq"].sum()
    assert [shares[name].value for name in ("encoder", "rule", "remainder")] == pytest.approx(squares.to_numpy())
    assert [p["encoder"], p["rule"]] == pytest.approx(oracle["PR(>F)"].to_numpy()[:2], rel=1e-6, abs=0)
    assert all(s.ci95[0] <= s.value <= s.ci95[1] for s in shares.values())
    with pytest.raises(UserError, match="no variance"):
        variance_explained(np.ones((3, 3)), rng=rng)


def people_who_differ(spread: float, seed: object, n_people: int = 12, n_subtasks: int = 16) -> Behaviour:
    rng = seeds.rng("individuals", seed)
    p = np.clip(
        0.8 + spread * rng.standard_normal(n_people)[None, :, None] + rng.normal(0, 0.05, (n_subtasks, 1, 1)), 0.5, 0.99
    )
    return behaviour_from(rng.random((n_subtasks, n_people, 50)) < p)


def test_individuals_are_told_apart_only_where_they_differ():
    assert (
        individuality_test(complete_individuals(people_who_differ(0.08, 1)), n_permutations=500, rng=seeds.rng(0)).p
        < 0.01
    )
    alike = [
        individuality_test(complete_individuals(people_who_differ(0.0, i)), n_permutations=200, rng=seeds.rng(i)).p
        for i in range(40)
    ]
    assert np.mean(np.array(alike) < 0.05) < 0.2 and np.mean(alike) > 0.3


def test_only_participants_who_did_everything_once_are_individuals():
    behaviour = people_who_differ(0.05, 2)
    keep = ~((behaviour.participant == "w3") & (behaviour.subtask == 5))
    found = complete_individuals(
        Behaviour(behaviour.correct[keep], behaviour.subtask[keep], behaviour.subtasks, behaviour.participant[keep])
    )
    assert len(found.participants) == 11 and "w3" not in found.participants
    mine = behaviour.correct[behaviour.participant == "w7"]
    assert found.accuracy[found.participants.index("w7")] == pytest.approx(mine.mean(axis=1))
    assert found.n_correct[found.participants.index("w7")] == pytest.approx(mine.sum(axis=0))
    twice = np.r_[np.arange(len(behaviour.subtask)), 0]
    with pytest.raises(UserError, match="more than once"):
        complete_individuals(
            Behaviour(
                behaviour.correct[twice], behaviour.subtask[twice], behaviour.subtasks, behaviour.participant[twice]
            )
        )


def test_who_beats_a_model_is_welch_s_test_corrected():
    rng = seeds.rng("welch")
    accuracy = np.clip(rng.normal([[0.95], [0.88], [0.8]], 0.05, (3, 64)), 0, 1)
    individuals = Individuals(("best", "same", "worst"), tuple(map(str, range(64))), accuracy, np.zeros((3, 2)))
    model = behaviour_from(rng.random((64, 20, 100)) < 0.88)
    found = who_outperforms(individuals, model)
    oracle = ttest_ind(accuracy[0], model.correct.mean(axis=1), equal_var=False, alternative="greater").pvalue
    assert list(found) == ["best"] and found["best"] == pytest.approx(3 * oracle, rel=1e-6, abs=0)


def test_smoothed_curves_come_nearer_to_the_truth_than_raw_ones():
    rng = seeds.rng("smooth")
    true = 0.5 + 0.4 * (1 - np.exp(-np.arange(100) / 8)) * np.array([1.0, 0.6, 0.0])[:, None]
    right = rng.binomial(16, true)
    smooth = smooth_curves(right, np.full(right.shape, 16))
    assert (np.abs(smooth.accuracy - true).mean(axis=1) < 0.5 * np.abs(right / 16 - true).mean(axis=1)).all()
    assert ((smooth.lo < true) & (true < smooth.hi)).mean() > 0.85
    assert (smooth.lo < smooth.accuracy).all() and smooth.step[2] < smooth.step[0]
    with pytest.raises(UserError, match="0 ≤ right ≤ shown"):
        smooth_curves([[3, 2]], [[2, 2]])


def test_two_populations_are_compared_in_what_both_did():
    online, lab = people_who_differ(0.03, "on", 20), people_who_differ(0.03, "on", 20)
    few = lab.of(lab.subtasks[:8])
    scores, p = compare_populations(few, online, n_replicates=300, rng=seeds.rng(0))
    assert (
        scores["accuracy_difference"].value == pytest.approx(0)
        and p > 0.5
        and scores["consistency"].value == pytest.approx(1)
    )
    better = behaviour_from(seeds.rng("b").random((16, 20, 50)) < 0.95)
    scores, p = compare_populations(better, online, n_replicates=300, rng=seeds.rng(0))
    assert scores["accuracy_difference"].ci95[0] > 0.05 and p < 0.02
    scores, _ = compare_populations(lab.of(lab.subtasks[:2]), online, rng=seeds.rng(0))
    assert set(scores) == {"accuracy_difference"}
    counts, _ = compare_populations(few.curves(), online, n_replicates=300, rng=seeds.rng(0))
    assert counts["accuracy_difference"].value == pytest.approx(0)
    with pytest.raises(UserError, match="share no subtasks"):
        compare_populations(lab.renamed(tuple(f"other{k}" for k in range(16))), online, rng=seeds.rng(0))


def test_a_rule_scored_against_itself_fits_better_than_another_encoder():
    task = ObjectLearning()
    rng = seeds.rng("encoders")
    direction = rng.standard_normal((8, 2, 1, 20))
    noise = rng.standard_normal((8, 2, 100, 20))

    def encoder(apart: float) -> np.ndarray:
        x = (noise * 0.7 + direction * apart) / np.sqrt(20)
        return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1)

    def behave(apart: float, n: int, seed: str) -> Behaviour:
        sessions = task.sample(8, n, rng=seeds.rng(seed))
        return behaviour_of(simulate(make_agent("square"), gram_matrices(encoder(apart)), sessions), sessions)

    humans = repeat(behave(0.4, 50, "people"), n_replicates=100, rng=rng)
    errors = {
        apart: score_mse(repeat(behave(apart, 200, f"m{apart}"), n_replicates=100, rng=rng), humans)["mse_n"].value
        for apart in (0.2, 0.4, 0.8)
    }
    assert min(errors, key=errors.__getitem__) == 0.4
