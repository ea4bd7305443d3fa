"""What a record says and what is made of it: who did what, among how many choices, with which images, in which units."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import exemplar as ex
from exemplar import seeds
from exemplar.cli import make_app
from exemplar.dense_trials import DenseTrials
from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour, Curves, repeat
from exemplar.learn.measures.mse import score_guessing
from exemplar.learn.measures.oneshot import Generalization
from exemplar.learn.measures.reading import behaviour_in, count_choices
from exemplar.learn.outcomes import Outcome, outcome_in
from exemplar.learn.people import ImageTable, generalization_in
from exemplar.learn.scores import score_accuracy
from exemplar.learn.shared_images import share_images
from exemplar.records import Trials

APP = make_app("learn")


def say(*words: object) -> Any:
    done = CliRunner().invoke(APP, ["learn", *map(str, words), "--json"])
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


def record(correct: np.ndarray, **columns: Any) -> Trials:
    """correct: (sessions, trials); columns: (sessions,) each, or one value for all, or (sessions, trials)."""
    n, t = correct.shape
    given: dict[str, Any] = {"agent": "me", "participant": "w", "subtask": "a,b", "session": np.arange(n).astype(str)}
    given |= {"phase": "train", "stimulus": "x", "trial": np.tile(np.arange(t), (n, 1)), **columns}
    rows = {}
    for name, value in given.items():
        array = np.asarray(value)
        rows[name] = np.broadcast_to(array[:, None] if array.ndim == 1 else array, (n, t)).ravel()
    return Trials.of(**rows, correct=correct.ravel(), timed_out=False)


# 1: sessions of Experiment 2 belong to who did them


def one_shot_record(sessions: np.ndarray) -> tuple[Trials, ImageTable]:
    """15 people × 4 sessions of 4 tests and a catch trial, whose sessions are called as given, (60,)."""
    rng = seeds.rng("one-shot record")
    names = [f"scale | {level}" for level in range(4)]
    images = np.array([f"test{k}.png" for k in range(4)] + ["train.png"])
    table = ImageTable(images, np.array(["a"] * 5), np.array([*names, ""]), images)
    shown = np.tile(np.arange(5), (60, 1))
    phase = np.tile(np.array(["test"] * 4 + ["catch"]), (60, 1))
    correct = (rng.random((60, 5)) < 0.8) | (shown == 4)
    who = np.repeat([f"w{k:02d}" for k in range(15)], 4)
    return record(correct, participant=who, session=sessions, phase=phase, stimulus=images[shown]), table


def test_sessions_numbered_alike_by_several_people_are_not_merged():
    alike, table = one_shot_record(np.tile(["1", "2", "3", "4"], 15))
    apart, _ = one_shot_record(np.arange(60).astype(str))
    by_session = [generalization_in(trials, table, by_participant=False) for trials in (alike, apart)]
    assert [len(one) for one in by_session] == [60, 60]
    assert (by_session[0].n_shown == 1).all() and (by_session[0].catch_shown == 1).all()
    assert [len(generalization_in(trials, table)) for trials in (alike, apart)] == [15, 15]
    np.testing.assert_array_equal(by_session[0].points().accuracy, by_session[1].points().accuracy)


# 2: chance comes from the record


def many_choices(n_choices: int, n_subtasks: int = 4, accuracy: float = 0.9) -> Trials:
    """12 sessions per subtask of 10 trials, by people who choose among n_choices objects."""
    rng = seeds.rng("choices", n_choices)
    objects = [",".join(f"o{s}-{k}" for k in range(n_choices)) for s in range(n_subtasks)]
    n = 12 * n_subtasks
    correct = rng.random((n, 10)) < accuracy
    choice = rng.integers(0, n_choices, (n, 10))
    who = np.tile([f"w{k}" for k in range(12)], n_subtasks)
    return record(correct, participant=who, subtask=np.repeat(objects, 12), choice=choice)


def test_a_guesser_among_sixteen_is_as_far_from_people_as_sixteen_choices_say(tmp_path):
    many_choices(16).save(tmp_path)
    found, behaviour = say("human", tmp_path), behaviour_in(many_choices(16))
    by_hand = np.square(behaviour.curves().accuracy - 1 / 16).mean()
    assert found["choices"] == 16 and found["random_guesser_mse_n"]["value"] == pytest.approx(by_hand)
    assert (
        by_hand == pytest.approx((0.9 - 1 / 16) ** 2, abs=0.04) and by_hand > 0.65
    )  # with a chance of a half it is .19
    assert score_guessing(behaviour) == pytest.approx(by_hand)
    assert count_choices(many_choices(2)) == 2


def test_keys_that_were_pressed_count_where_subtasks_do_not_name_objects():
    trials = record(np.ones((5, 4), bool), subtask="colours", choice=np.tile([0, 1, 2, 6], (5, 1)))
    assert count_choices(trials) == 7 and behaviour_in(trials).n_choices == 7
    with pytest.raises(UserError, match="2 to 3 objects"):
        count_choices(record(np.ones((2, 4), bool), subtask=np.array(["a,b", "a,b,c"])))


def test_a_model_with_another_number_of_choices_is_refused(tmp_path):
    for n in (2, 4):
        many_choices(n).save(tmp_path / str(n))
    with pytest.raises(UserError, match="one had 4 choices on a trial and the other 2"):
        say("score", tmp_path / "4", "--people", tmp_path / "2", "--other-images")
    with pytest.raises(UserError, match="one had 4 choices"):
        say("compare", tmp_path / "4", tmp_path / "2", "--other-images")


def test_catch_trials_are_corrected_by_the_chance_of_their_choices():
    """A quarter of trials guessed among 4: catch accuracy 1 − .25 · .75, tests of .7 are seen as .75 · .7 + .25 / 4."""
    n, keep, chance = 16000, 0.75, 0.25
    seen, catch = keep * 0.7 + (1 - keep) * chance, keep + (1 - keep) * chance
    counts = Generalization(
        np.array([[seen * n]]), np.array([[n]]), np.array([catch * n]), np.array([n]), ("scale | 1",), 4
    )
    assert counts.points().accuracy[0] == pytest.approx(0.7)
    two = Generalization(counts.n_correct, counts.n_shown, counts.catch_correct, counts.catch_shown, counts.tests)
    assert two.points().accuracy[0] != pytest.approx(0.7, abs=0.01)


# 3: which images both saw


def outcome(images: dict[str, list[str]] | None, subtasks: tuple[str, ...] = ("a,b", "c,d")) -> Outcome:
    n = len(subtasks)
    result = Behaviour(np.ones((4 * n, 3), bool), np.repeat(np.arange(n), 4), subtasks, np.arange(4 * n).astype(str))
    return Outcome("me", result, None if images is None else {name: frozenset(some) for name, some in images.items()})


def test_the_share_of_images_in_common_is_counted():
    mine = {name: [f"{name}{k}" for k in range(200)] for name in ("a,b", "c,d")}
    one_shared = {name: [some[0], *(f"other{k}" for k in range(199))] for name, some in mine.items()}
    most = {name: [*some[:185], *(f"other{k}" for k in range(15))] for name, some in mine.items()}
    few_seen = {name: some[:120] for name, some in mine.items()}  # few sessions do not show every image
    for theirs, share, same in (
        (mine, 1.0, True),
        (one_shared, 0.005, False),
        (most, 0.925, True),
        (few_seen, 1.0, True),
    ):
        found = share_images(outcome(mine), outcome(theirs))
        assert found.share == pytest.approx(share) and found.same is same and found.by == "images"
        assert share_images(outcome(theirs), outcome(mine)).share == pytest.approx(share)
    unnamed = share_images(outcome(None), outcome(mine))
    assert not unnamed.same and unnamed.share is None and "does not name the images" in unnamed.reason


def test_a_run_without_half_of_peoples_images_did_not_see_the_same():
    """Before, 100 %: all of its own images were people's."""
    names = [f"{k}.png" for k in range(20)]
    people, some = outcome({"a,b": names, "c,d": names}), outcome({"a,b": names[:10], "c,d": names[:10]})
    run, larger = replace(some, whole=True), replace(outcome({"a,b": [*names, "more.png"], "c,d": names}), whole=True)
    assert share_images(some, people).share == 1  # a record of what was shown lacks images by chance
    for found in (share_images(run, people), share_images(people, run)):
        assert found.share == 0.5 and not found.same
    assert share_images(run, larger).share == pytest.approx(20 / 41)
    assert share_images(larger, people).share == share_images(larger, some).share == 1


def test_counts_with_the_same_names_are_said_to_match_by_name_only():
    counts = Outcome("human", Curves(np.array([[3, 4]] * 2), np.array([5, 5]), ("a,b", "c,d")), None)
    found = share_images(outcome({"a,b": ["x"], "c,d": ["y"]}), counts)
    assert found.same and found.by == "names" and found.share is None
    assert found.warnings and "only names match" in found.warnings[0]
    borrowed = outcome(None, ("e,f", "g,h"))
    assert not share_images(borrowed, counts).same


def test_one_image_in_common_is_refused_and_the_share_is_reported(tmp_path):
    rng = seeds.rng("shared")
    for name, images in {"mine": "m", "other": "o"}.items():
        shown = np.array([["both.png", *(f"{images}{k}.png" for k in range(19))]] * 12)
        subtask = np.repeat(["a,b", "c,d", "e,f"], 4)
        record(rng.random((12, 20)) < 0.8, subtask=subtask, participant=np.arange(12).astype(str), stimulus=shown).save(
            tmp_path / name
        )
    with pytest.raises(UserError, match=r"5.0 % of the images are the same"):
        say("score", tmp_path / "mine", "--people", tmp_path / "other")
    found = say("score", tmp_path / "mine", "--people", tmp_path / "other", "--other-images")
    assert found["images_in_common"] == {"share": pytest.approx(0.05), "by": "images", "subtasks": 3}
    assert found["same_images"] is False


# 5: units, names and bases


def test_whole_numbers_name_sessions_and_seconds_are_not_milliseconds():
    right = np.ones((2, 3), bool)
    numbered = record(right, session=np.array([7, 8]), participant=np.array([1, 2]))
    assert numbered["session"].unique().tolist() == ["7", "8"] and numbered["participant"].unique().tolist() == [
        "1",
        "2",
    ]
    assert Trials.of(**{**dict(agent="a", phase="train", stimulus="x", correct=True, timed_out=False, subtask="s"),
                        "participant": [1, 2], "session": [1, 1], "trial": [0, 0]})["session"].iloc[0] == "1"  # fmt: skip
    columns = dict(
        agent="a", participant="p", subtask="s", session="1", trial=np.arange(5), phase="train", stimulus="x"
    )
    columns |= dict(correct=True, timed_out=False)
    Trials.of(**columns, reaction_time_ms=[312.0, 480, 1020, np.nan, 250])
    with pytest.raises(
        UserError, match="median of 0.48, too little for milliseconds: if these are seconds, multiply by"
    ):
        Trials.of(**columns, reaction_time_ms=[0.312, 0.48, 1.02, np.nan, 0.48])


def test_trials_counted_from_one_are_named_as_such():
    with pytest.raises(UserError, match="numbered 1 to 3 and must be counted from 0: subtract 1"):
        behaviour_in(record(np.ones((2, 3), bool), trial=np.tile(np.arange(1, 4), (2, 1))))


# 6: a run leaves Trials, and no aggregate becomes trials


def test_a_run_leaves_trials_whoever_learned(tmp_path):
    x = seeds.rng("left").standard_normal((2, 2, 12, 4)) + 3 * np.eye(4)[:2, None]
    for rule in ("square", "random-guesser"):
        done = ex.learn.run(features={"features": x}, rule=rule, sessions=5, trials=12, out=tmp_path / rule)
        trials = Trials.load(tmp_path / rule)
        assert len(trials) == 2 * 5 * 12 and set(trials["agent"]) == {rule}
        kept = outcome_in(trials).learning().curves()
        np.testing.assert_array_equal(kept.n_correct, done.outcome.learning().curves().n_correct)
        assert (trials["correct"].mean() - done["accuracy"]["value"]) == pytest.approx(0)
    dense = DenseTrials.load(tmp_path / "square")
    assert not dense.named and dense.images[0, 13] == "object1-image001"
    with pytest.raises(UserError, match="do not belong together"):
        DenseTrials("a", ("s",), dense.images[:1], dense.phase, dense.shown, dense.choice, dense.correct, 2)


def test_counts_and_sessions_answer_the_same_questions():
    behaviour = behaviour_in(many_choices(2))
    counts = behaviour.curves()
    some = behaviour.subtasks[2:0:-1]
    for side in (behaviour, counts):
        np.testing.assert_array_equal(side.of(some).curves().n_correct, counts.n_correct[[2, 1]])
        np.testing.assert_array_equal(side.window(2, 5).curves().n_correct, counts.n_correct[:, 2:5])
        assert side.renamed(("a", "b", "c", "d")).subtasks == ("a", "b", "c", "d") and side.experiment == 1
        assert score_accuracy(repeat(side, n_replicates=50, rng=seeds.rng(0)))["accuracy"].value == pytest.approx(
            counts.accuracy.mean()
        )
    assert counts.n_participants == 0 and behaviour.n_participants == 12 and not len(counts.session_accuracy)


# 9: participants are drawn where they are known


def test_intervals_are_wider_where_people_differ_and_are_known(tmp_path):
    rng = seeds.rng("able")
    able = np.clip(0.8 + 0.12 * rng.standard_normal(12), 0.5, 1)
    correct = rng.random((48, 20)) < np.tile(able, 4)[:, None]
    who = np.tile([f"w{k}" for k in range(12)], 4)
    subtask = np.repeat(["a,b", "c,d", "e,f", "g,h"], 12)
    record(correct, participant=who, subtask=subtask).save(tmp_path / "known")
    record(correct, participant=np.arange(48).astype(str), subtask=subtask).save(tmp_path / "unknown")
    known, unknown = (say("human", tmp_path / name) for name in ("known", "unknown"))
    assert known["resampled"] == "participants" and known["accuracy"]["n"] == 12
    assert unknown["resampled"] == "sessions" and unknown["accuracy"]["n"] == 48
    width = [found["accuracy"]["ci95"][1] - found["accuracy"]["ci95"][0] for found in (known, unknown)]
    sd = correct.reshape(4, 12, 20).mean(axis=(0, 2)).std(ddof=1) / np.sqrt(12)
    assert width[0] == pytest.approx(2 * 1.96 * sd, rel=0.12) and width[0] > 1.3 * width[1]


def test_a_subtask_few_people_did_is_still_resampled():
    """With 2 of 40 people in it, most draws of people leave a subtask empty: its sessions are drawn instead."""
    rng = seeds.rng("rare")
    subtask = np.array([0] * 40 + [1] * 2)
    who = np.array([f"w{k}" for k in [*range(40), 0, 1]])
    people = Behaviour(rng.random((42, 10)) < 0.7, subtask, ("a,b", "c,d"), who)
    drawn = people.resample(400, seeds.rng("drawn"))
    assert (drawn.sizes >= 2).all() and np.isfinite(drawn.over_trials()).all()
    assert drawn.over_trials()[:, 1].mean() == pytest.approx(people.correct[40:].mean(), abs=0.03)


def test_the_record_of_a_folder_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="contains no recorded behaviour.*learn import"):
        say("human", tmp_path)
