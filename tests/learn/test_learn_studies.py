"""The study of encoders × rules on made-up objects, simulated populations whose truth is known, and what people did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exemplar as ex
from exemplar import seeds
from exemplar.engine import Here
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.learn.agents import make_agent
from exemplar.learn.benchmark import _too_few
from exemplar.learn.figures.curves import plot_curves
from exemplar.learn.figures.objects import objects_sheet
from exemplar.learn.figures.study import plot_confusion, plot_figures
from exemplar.learn.figures.study_page import CAPTIONS, find_verdict, write_study_page
from exemplar.learn.measures.curves import Behaviour, repeat
from exemplar.learn.measures.mse import moments_of, mse_n, null_distribution, score_limits
from exemplar.learn.measures.reading import behaviour_in
from exemplar.learn.simulation import run_agent
from exemplar.learn.studies import encoders
from exemplar.learn.studies.encoder_rules import study_in_folder
from exemplar.learn.studies.encoders import (
    PIXELS,
    LearningJob,
    depths,
    learn_subtasks,
    list_encoders,
    one_shot_tests,
    sample_sessions,
    unpack,
    views_shown,
)
from exemplar.learn.studies.findings import score_depth, score_models, score_variances
from exemplar.learn.studies.models import StudyConfig
from exemplar.learn.studies.people import people_result
from exemplar.learn.studies.populations import (
    Population,
    PopulationsJob,
    add_lapses,
    as_behaviour,
    design_populations,
    population_nulls,
    recover,
    score_recovery,
)
from exemplar.learn.studies.study_results import load_study_results
from exemplar.learn.tasks import ObjectLearning, OneShot
from exemplar.learn.tour import make_tour, write_chapter
from exemplar.records import Drawings, Score, Trials
from exemplar.report.figures import render
from exemplar.runs import load_scores, open_run
from exemplar.spaces.ball import Ball

WEAK, STRONG = "efficientnet-lite0/stem", "efficientnet-lite0/head"
MIDDLE = ("efficientnet-lite0/block04", "efficientnet-lite0/block11", "efficientnet-lite0/block14")
ENCODERS = (PIXELS, WEAK, *MIDDLE, STRONG)
CLARITY = {
    PIXELS: 0.0,
    WEAK: 0.3,
    MIDDLE[0]: 0.5,
    MIDDLE[1]: 0.75,
    MIDDLE[2]: 1.0,
    STRONG: 2.0,
}  # how far apart the made-up features put two objects


def made_up_objects(split: str, config: Any = SimpleNamespace(objects=None, views=None)) -> ConceptSet:
    """Images that only say which object and which view they are: nothing is rendered."""
    n, n_views = config.objects or 8, config.views or (61 if split == "one-shot" else 50)
    number = np.stack([part.ravel() for part in np.indices((n, n_views))], axis=1).astype(np.uint8)
    names = [f"{split}{k:03d}" for k in range(n) for _ in range(n_views)]
    return ConceptSet.of(split, number[:, None, :], names, maker=[f"view{k:03d}" for k in number[:, 1]])


def made_up_features(names: Sequence[str], images: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """An object's place, as clear as the encoder is, and noise that belongs to the encoder and the view."""
    for name in names:
        rows = []
        for k, view in images[:, 0].astype(int).tolist():
            place = seeds.rng("object", k).normal(size=6) * CLARITY[name]
            rows.append(place + seeds.rng("view", name, k, view).normal(size=6))
        yield name, np.array(rows, np.float32)


@pytest.fixture(scope="module")
def made_up() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "load_objects", made_up_objects)
        patch.setattr(encoders, "encode", made_up_features)
        yield


SMALL = dict(
    encoders=ENCODERS, rules=("perceptron", "square"), n_subtasks=6, n_one_shot=10, n_trials=20, n_sessions=60,
    truth=Population(STRONG, "square", 0.1, 40), n_participants=(10, 40), n_warm_up=40, n_replicates=200,
)  # fmt: skip


@pytest.fixture(scope="module")
def small_study(made_up: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study_in_folder(tmp_path_factory.mktemp("study") / "run", StudyConfig(**SMALL), seed=0, backend=Here())


def job(subtasks: tuple[int, int], task: ObjectLearning | OneShot | None = None) -> LearningJob:
    balls = {name: (np.zeros(6, np.float32), 8.0) for name in ENCODERS}
    return LearningJob(task or ObjectLearning(20, 20), subtasks, 12, 5, ("square", "reinforce"), balls, 3)


def found(scores: Sequence[Score], name: str, agent: str = "", space: str = "") -> Score:
    mine = [s for s in scores if s.name == name and space in s.space]
    (one,) = [s for s in mine if s.agent == agent and s.space == space] or [s for s in mine if agent in s.agent]
    return one


def coin_flips(chances: np.ndarray, n: int, *name: Any) -> np.ndarray:
    """(subtasks, trials) → (subtasks, sessions, trials) bool."""
    return seeds.rng(*name).random((len(chances), n, chances.shape[1])) < chances[:, None]


# encoders


def test_every_stage_has_a_depth_and_the_last_of_a_network_is_at_1():
    names = list_encoders()
    found = dict(zip(names, depths(names), strict=True))
    assert len(names) == 68 and found[PIXELS] == 0
    assert all(found[f"efficientnet-lite{k}/logits"] == 1 for k in range(3))
    assert 0 < found["efficientnet-lite0/stem"] < found["efficientnet-lite0/block00"] < 1
    with pytest.raises(UserError, match="block99"):
        depths(["efficientnet-lite0/block99"])


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 4), st.integers(1, 7), st.integers(1, 9), st.integers(0, 99))
def test_bits_keep_what_was_right(n_subtasks: int, n_sessions: int, n_trials: int, seed: int):
    right = seeds.rng("bits", seed).random((n_subtasks, n_sessions, n_trials)) < 0.5
    bits = np.stack([np.packbits(one) for one in right])
    assert (unpack(bits, n_sessions, n_trials) == right).all()


def test_participants_do_not_share_their_sessions_with_models_nor_with_each_other():
    task = ObjectLearning(20, 20)
    sets = [
        sample_sessions(task, 4, 30, 0, *who) for who in ((), (WEAK, "square"), (WEAK, "hinge"), (STRONG, "square"))
    ]
    again = sample_sessions(task, 4, 30, 0, WEAK, "square")
    assert (again.image == sets[1].image).all() and (again.key == sets[1].key).all()
    for a, b in ((0, 1), (1, 2), (1, 3)):
        assert (sets[a].image != sets[b].image).mean() > 0.9


def test_it_does_not_matter_how_subtasks_are_put_into_jobs(made_up: None):
    whole, parts = learn_subtasks(job((0, 3))), [learn_subtasks(job((k, k + 1))) for k in range(3)]
    for name, who in product(ENCODERS, ("models", "participants")):
        joined = np.concatenate([part["encoders"][name][who] for part in parts], axis=1)
        assert (whole["encoders"][name][who] == joined).all()


@pytest.mark.parametrize("task", [ObjectLearning(20, 20), OneShot()])
def test_a_job_gives_what_agents_do_trial_by_trial(made_up: None, task: ObjectLearning | OneShot):
    asked = job((1, 2), task)
    data = encoders.load_subtasks(task, 2)
    images = data.take(np.arange(2 * task.n_images, 4 * task.n_images))
    ((_, features),) = made_up_features([STRONG], images)
    placed = Ball(np.zeros(6), 8.0).place(features).reshape(1, 2, task.n_images, 6)
    for number, rule in enumerate(asked.rules):
        sessions = sample_sessions(task, 1, 5, asked.seed, STRONG, rule)
        right = run_agent(make_agent(rule), placed, sessions) == sessions.answer
        bits = learn_subtasks(asked)["encoders"][STRONG]["participants"][number]
        assert (unpack(bits, 5, right.shape[2]) == right).all()


def test_the_one_shot_set_has_36_tests_of_56_images():
    test_of, tests = one_shot_tests()
    assert len(tests) == 36 and len(test_of) == 61
    assert (test_of >= 0).sum() == 56 and test_of[0] == -1 and (test_of[-4:] == -1).all()
    assert np.bincount(test_of[test_of >= 0]).tolist()[:4] == [2, 2, 2, 2] and tests[0] == "inplanetranslation | 0.125"


# populations


@settings(deadline=None, max_examples=15)
@given(st.floats(0, 0.95), st.floats(0.2, 1))
def test_lapses_pull_accuracy_towards_a_half(lapse: float, accuracy: float):
    right = seeds.rng("right", 0).random((40, 50, 10)) < accuracy
    lapsing = add_lapses(right, lapse, rng=seeds.rng("lapse", 0))
    expected = (1 - lapse) * right.mean() + lapse / 2
    assert lapsing.mean() == pytest.approx(expected, abs=0.02)
    assert (add_lapses(right, 0, rng=seeds.rng("lapse", 1)) == right).all()


def test_every_encoder_meets_every_rule_and_every_rule_every_lapse_rate():
    populations = design_populations(("a", "b", "c", "d"), ("r", "s"), (0.0, 0.1, 0.2, 0.3), (10, 50))
    assert len(populations) == 16 == len(set(populations))
    for rule, n in product("rs", (10, 50)):
        assert {p.lapse for p in populations if (p.rule, p.n_sessions) == (rule, n)} == {0.0, 0.1, 0.2, 0.3}


@pytest.mark.parametrize(("lapse", "n"), [(1.0, 50), (-0.1, 50), (0.1, 1)])
def test_impossible_populations_are_refused(lapse: float, n: int):
    with pytest.raises(UserError, match="give"):
        Population(STRONG, "square", lapse, n)


def recovery_of(chances: np.ndarray, n_people: int = 40, lapse: float = 0.1) -> Any:
    """chances: (models, subtasks, trials) of 2 encoders × 2 rules; one population of each."""
    populations = [Population(e, r, lapse, n_people) for e in ENCODERS[:2] for r in ("r", "s")]
    models = np.stack([coin_flips(one, 500, "model", k).sum(axis=1) for k, one in enumerate(chances)])
    nulls = []
    for k, population in enumerate(populations):
        right = coin_flips(chances[k], n_people, "people", k)
        bits = np.stack([np.packbits(one) for one in right])[None]
        nulls.append(
            population_nulls(PopulationsJob((population,), (0,), bits, n_people, chances.shape[2], 500, 300, 0))
        )
    counts, errors = (np.concatenate([null[key] for null in nulls]) for key in ("n_correct", "errors"))
    return recover(populations, ENCODERS[:2], ("r", "s"), models, 500, counts, errors), models, counts


def test_the_true_model_is_found_and_kept_and_very_different_ones_are_rejected():
    trials, ends = np.linspace(0, 1, 30), np.array([0.55, 0.65, 0.8, 0.95])
    slope = 0.5 + (ends - 0.5)[:, None, None] * np.sqrt(trials)  # (models, 1, trials)
    order = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]])  # each finds other subtasks easy
    chances = slope[:, 0][order]  # (models, subtasks, trials)
    result, _, _ = recovery_of(chances)
    assert (result.found == result.true).all()
    assert (result.p[result.true, np.arange(4)] > 0.05).all()
    assert (np.where(np.eye(4, dtype=bool), 0, result.p) < 0.05).all()
    assert result.lapse == pytest.approx([0.1] * 4, abs=0.09)  # 3 standard errors: √(.005 / Σ(m − ½)²) ≈ .03
    assert result.confusion().tolist() == [[2, 0], [0, 2]]


def test_errors_of_all_pairs_at_once_are_those_of_each_pair():
    chances = seeds.rng("chances").uniform(0.4, 1, (4, 3, 8))
    result, models, counts = recovery_of(chances, n_people=12)
    for population in range(4):
        errors = []
        for model in range(4):
            sides = [
                replace(as_behaviour(np.zeros((3, 2, 8), bool)).curves(), n_correct=side, n_sessions=np.full(3, n))
                for side, n in ((models[model], 500), (counts[population], 12))
            ]
            errors.append(float(mse_n(moments_of(*sides))))
        assert result.found[population] == int(np.argmin(errors))
        right = coin_flips(chances[population], 12, "people", population)
        name = (
            "population",
            0,
            *(getattr(result.populations[population], key) for key in ("encoder", "rule", "n_sessions")),
        )
        people = as_behaviour(add_lapses(right, 0.1, rng=seeds.rng(*name, "lapses")))
        null = null_distribution(people, np.full(3, 500), n_replicates=300, rng=seeds.rng(*name, "null"))
        assert result.p[:, population] == pytest.approx([null.p(error) for error in errors])


def test_recovery_by_hand():
    """Two encoders, two rules, four populations: the third is taken for the other encoder, the fourth for the other rule."""
    chances = np.full((4, 2, 5), 0.7)
    result, _, _ = recovery_of(chances, n_people=5)
    p = np.full((4, 4), 0.5)
    p[0, 0] = 0.01  # the true model of the first is rejected
    p[2:, 0] = 0.01  # and both models of the other encoder
    p[1, 1] = 0.04
    result = replace(result, found=np.array([0, 1, 0, 2]), p=p, lapse=np.array([0.1, 0.1, 0.1, 0.3]))
    scores = {s.name: s for s in score_recovery(result, rng=seeds.rng("hand"))}
    expected = {
        "encoder_found": 3 / 4, "rule_found": 3 / 4, "type_1_error": 2 / 4, "lapse_rate_bias": 0.05,
        "power_other_encoder": 1 / 4, "power_other_rule": 0.0, "network_found": 3 / 4,
    }  # fmt: skip
    assert {name: scores[name].value for name in expected} == pytest.approx(expected)
    assert scores["type_1_error"].ci95[0] < 0.5 < scores["type_1_error"].ci95[1]
    assert all(score.n == 4 for score in scores.values())


# findings


def test_a_table_of_encoders_alone_leaves_nothing_to_the_rule():
    table = np.repeat(np.array([0.5, 0.6, 0.8, 0.9])[:, None], 4, axis=1) + seeds.rng("t").normal(0, 1e-6, (4, 4))
    scores = score_variances({"it": table, "rules": table.T}, rng=seeds.rng("v"))
    assert [round(s.value, 6) for s in scores] == [1, 0, 0, 0, 1, 0]
    assert [s.agent for s in scores] == ["of it"] * 3 + ["of rules"] * 3


def test_depth_correlates_with_what_grows_with_it():
    names = [f"efficientnet-lite0/{layer}" for layer in ("stem", "block03", "block09", "block15", "head")]
    rng = seeds.rng("depth")
    accuracy = np.linspace(0.5, 0.9, 5)[:, None, None, None] + rng.normal(0, 0.001, (5, 2, 8, 12))
    scores = score_depth([PIXELS, *names], np.concatenate([accuracy[:1] + 1, accuracy]), rng=rng)  # pixels stay out
    assert found(scores, "depth_correlation", "accuracy", "all networks").value == pytest.approx(1)
    falling = score_depth(names, accuracy[::-1], rng=rng)
    assert found(falling, "depth_correlation", "early", "all networks").value == pytest.approx(-1)
    third = found(falling, "deepest_minus_shallowest_third", "accuracy")
    assert third.value == pytest.approx(accuracy[:2].mean() - accuracy[3:].mean(), abs=1e-9) and third.ci95[1] < 0


def test_the_best_stage_of_a_network_is_named():
    accuracy = np.zeros((3, 2, 5, 4)) + np.array([0.5, 0.9, 0.7])[:, None, None, None]
    names = ["efficientnet-lite0/stem", "efficientnet-lite0/block15", "efficientnet-lite0/logits"]
    scores = score_models(names, ("r", "s"), accuracy, rng=seeds.rng("best"))
    assert [(s.space, round(s.value, 6)) for s in scores[2:]] == list(zip(names, (0.5, 0.9, 0.7), strict=True))
    assert [round(s.value, 6) for s in scores[:2]] == [0.7, 0.7]


def test_limits_of_a_single_cell_by_hand():
    """6 of 10 right in one cell, 10 of 10 in the other: noise .6 · .4 / 9 and 0, and a guesser is .1² and .5² off."""
    correct = np.zeros((1, 10, 2), bool)
    correct[0, :6, 0], correct[0, :, 1] = True, True
    people, noise = as_behaviour(correct), 0.6 * 0.4 / 9 / 2
    for variant, guessing in (("paper", 0.13), ("hobj", 0.13 - noise)):
        scores = score_limits(people, repeat(people, rng=seeds.rng("l")), variant=variant)
        assert scores["root_noise_floor"].value == pytest.approx(noise**0.5)
        assert scores["random_guesser_mse_n"].value == pytest.approx(guessing)


# the study


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"encoders": (PIXELS, "efficientnet-lite9/stem")}, "efficientnet-lite9/stem"),
        ({"rules": ("square", "squre")}, "squre"),
        ({"rules": ("square",)}, "2 rules"),
        ({"truth": Population(STRONG, "hinge")}, "must be in the study"),
        ({"n_subtasks": 65}, "64 pairs"),
        ({"n_trials": 5}, "too few"),
        ({"n_sessions": 14}, "14 sessions of each model .* raise --one-shot or --sessions"),
        ({"n_one_shot": 3}, "40 sessions of simulated participants .* raise --one-shot, until"),
        ({"n_participants": ()}, "needs"),
    ],
)
def test_a_study_that_cannot_be_is_refused_in_one_sentence(change: dict[str, Any], says: str):
    with pytest.raises(UserError, match=says) as problem:
        StudyConfig(**{**SMALL, **change})
    assert "\n" not in str(problem.value)


def test_a_clearer_encoder_learns_better_and_explains_the_variance(small_study: Path):
    data, scores = load_study_results(small_study), load_scores(small_study)
    overall = data["accuracy"].mean(axis=1)
    assert overall[0] < 0.56 and (np.diff(overall) > 0).all() and overall[-1] > 0.8
    assert found(scores, "variance_of_encoder", "of accuracy").value > 0.9
    assert found(scores, "variance_of_rule", "of accuracy").value < 0.05


def test_the_truth_comes_out_of_the_study(small_study: Path):
    data, scores = load_study_results(small_study), load_scores(small_study)
    assert tuple(data["true"]) == (5, 1)
    assert data["mse_n"].argmin() // 2 == 5 and data["p"][5, 1] > 0.05 and (data["p"][:5] < 0.05).all()
    lapse = found(scores, "lapse_rate", "the true model")
    assert lapse.ci95[0] < 0.1 < lapse.ci95[1]
    assert found(scores, "encoder_found", "40 simulated participants a subtask, accuracy").value > 0.8
    people = found(scores, "accuracy", "simulated participants")
    assert people.value == pytest.approx(data.participants.mean())


def test_nobody_in_a_study_is_called_a_person(small_study: Path):
    assert not [s for s in load_scores(small_study) if {"people", "human", "humans"} & set(s.agent.lower().split())]


def test_the_same_seed_gives_the_same_study_and_another_seed_another(small_study: Path, made_up: None, tmp_path: Path):
    again = study_in_folder(tmp_path / "again", StudyConfig(**SMALL, n_block=3), seed=0, backend=Here())
    for name in ("scores.parquet", "scores-models.parquet", "learned.npz", "populations.npz"):
        assert (again / name).read_bytes() == (small_study / name).read_bytes()
    other = study_in_folder(tmp_path / "other", StudyConfig(**SMALL), seed=1, backend=Here())
    assert (other / "learned.npz").read_bytes() != (small_study / "learned.npz").read_bytes()


def test_the_verb_answers_with_every_score_and_figure(made_up: None, tmp_path: Path):
    given: dict[str, Any] = {"encoder": ENCODERS, "rule": ["perceptron", "square"], "truth": STRONG, "engine": "here"}
    sizes = {"subtasks": 4, "one_shot": 4, "trials": 20, "sessions": 50}
    answer = ex.learn.study(tmp_path / "study", **given, **sizes)
    assert answer["encoders"] == 6 and answer["rules"] == 2 and answer["participants"] == "simulated"
    assert answer["scores"] == [score.row() for score in load_scores(tmp_path / "study")] and len(answer.scores) > 50
    assert answer["figures"] == [str(path) for path in answer.figures.values()] and answer.page.is_file()
    assert (
        answer.json() == ex.learn.study(tmp_path / "study", **given, **sizes).json()
    )  # finished: nothing is done again
    with pytest.raises(UserError, match="holds another run"):
        ex.learn.study(tmp_path / "study", **given, **{**sizes, "trials": 21})


def test_a_study_is_drawn(small_study: Path):
    figures = plot_figures(small_study)
    assert set(figures) >= {
        "errors",
        "matrix",
        "depth",
        "consistency",
        "phases",
        "one-shot",
        "confusion",
    }
    assert render(plot_confusion(small_study)) == render(figures["confusion"])


def test_a_study_has_a_page_that_says_what_was_found_and_who_was_simulated(small_study: Path):
    page, figures = write_study_page(small_study)
    text = page.read_text(encoding="utf-8")
    assert set(figures) == set(CAPTIONS) - {"levels"} and text.count("data:image/svg+xml") == len(figures)
    assert "SIMULATED" in text and find_verdict(load_scores(small_study)) in text
    assert re.match(
        r"Of the variance of accuracy, the encoder explains 9\d\.\d % \[[\d., ]+\] and the rule \d\.\d % \[[\d., ]+\]; from 40 "
        r"simulated participants per "
        r"subtask, the true encoder is found in \d+ %\.$",
        find_verdict(load_scores(small_study)),
    )


def test_the_tour_keeps_simulated_participants_as_trials(
    made_up: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    blank = Drawings.of(
        agent="x",
        data="objects",
        concept=list("aabb"),
        exemplar=0,
        index=[0, 1] * 2,
        seed=0,
        image=np.zeros((4, 8, 8), np.uint8),
    )
    monkeypatch.setattr("exemplar.learn.tour.views_shown", lambda *_: blank)
    make_tour(tmp_path / "tour", 0, Here())
    trials = Trials.load(tmp_path / "tour")
    assert set(trials["agent"]) == {"simulated participants"}
    behaviour: Behaviour = behaviour_in(trials)
    scores = load_scores(tmp_path / "tour")
    assert behaviour.correct.mean() == pytest.approx(found(scores, "accuracy", "simulated").value)
    errors = {s.agent: s.value for s in scores if s.name == "root_mse_n"}
    assert min(errors, key=lambda name: errors[name]) == STRONG
    right = trials.frame[trials["correct"]]
    keys = right.assign(item=right["stimulus"].astype(str).str[:-8]).groupby(["session", "item"], observed=True)[
        "choice"
    ]
    assert keys.nunique().max() == 1  # in a session, an object always has the same key
    chapter = write_chapter(tmp_path / "tour")
    assert len(chapter.figures) == 2 and "No person took part" in " ".join(chapter.text)
    assert scores and not {"people", "human"} & {word for score in scores for word in score.agent.split()}


def test_the_first_view_of_a_one_shot_row_is_the_one_that_is_learned():
    shown = views_shown("one-shot", 1, 9)
    assert shown["index"].tolist() == list(range(10)) and shown["exemplar"].iloc[0] == 0
    assert objects_sheet(shown)[:4] == b"\x89PNG"


def test_curves_are_drawn_with_their_names():
    curves = {name: np.stack([np.linspace(0.5, end, 9)] * 3) for name, end in (("a", 0.6), ("b", 0.9))}
    assert len(plot_curves(curves, {"a": "A", "b": "B"}).axes[0].lines) == 3  # and guessing


def test_people_learn_as_published(tmp_path: Path):
    with open_run(tmp_path / "run", command="test", config={}, seed=0) as run:
        scores = list(people_result(run, 0))
    published = {
        "trial_2": 0.651,
        "trial_100": 0.866,
        "accuracy": 0.825,
        "hardest_tenth": 0.656,
        "root_noise_floor": 0.0523,
    }
    for name, value in published.items():
        score = found(scores, name)
        assert score.value == pytest.approx(value, abs=6e-4) and score.ci95[0] <= value <= score.ci95[1]
    for form, value in (("paper", 0.1162), ("hobj", 0.1135)):
        (guesser,) = [s for s in scores if s.name == "random_guesser_mse_n" and s.variant == form]
        assert guesser.value == pytest.approx(value, abs=1e-4)
    assert found(scores, "examples_to_75").value == 4


def test_the_null_test_is_not_offered_unwarned_where_people_are_few():
    rng = seeds.rng("few")
    few, many = (as_behaviour(rng.random((2, n, 3)) < 0.7) for n in (39, 40))
    assert "only 39 sessions" in _too_few(few)[0] and _too_few(many) == []
