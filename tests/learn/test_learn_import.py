"""A CSV of one's own becomes Trials, with everything that was changed said; and how many people an experiment needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import exemplar as ex
from exemplar import seeds
from exemplar.cli import make_app
from exemplar.errors import UserError
from exemplar.learn.figures.score_page import name_sides
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.measures.power import power_to_tell_apart
from exemplar.records import Trials

APP = make_app("learn")
MAP = "participant=id,subtask=pair,trial=n,stimulus=image,correct=hit,choice=response,reaction_time_ms=rt"


def run(*words: object) -> Any:
    return CliRunner().invoke(APP, ["learn", *map(str, words)])


def say(*words: object) -> Any:
    done = run(*words, "--json")
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


def table(base: int = 1, seconds: bool = True, n_people: int = 6) -> pd.DataFrame:
    """6 people × 3 pairs × 5 trials in somebody's own words: numbers as names, keys as letters, times in seconds, gaze."""
    rng = seeds.rng("csv")
    rows = [
        {"id": who, "pair": pair, "n": n + base, "image": f"{pair[:3]}-{n}.png", "hit": int(rng.random() < 0.8),
         "response": "FJ"[int(rng.integers(2))], "rt": rng.uniform(0.3, 0.9) * (1 if seconds else 1000),
         "gaze_x": rng.normal()}
        for who in range(n_people) for pair in ("cat,dog", "cup,pan", "fir,oak") for n in range(5)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_csv_becomes_trials_and_says_what_was_done_to_it(tmp_path: Path) -> None:
    frame = table()
    frame.to_csv(tmp_path / "mine.csv", index=False)
    found = say("import", tmp_path / "mine.csv", "--map", MAP, "--out", tmp_path / "out")
    assert {name: found[name] for name in ("trials", "sessions", "participants", "subtasks", "choices")} == {
        "trials": 90, "sessions": 18, "participants": 6, "subtasks": 3, "choices": 2,
    }  # fmt: skip
    said = " | ".join(found["notes"])
    for words in ("participant is given as numbers", "no column is the session", "counted from 1, kept from 0",
                  "F = 0, J = 1", "in seconds", "left out: gaze_x"):  # fmt: skip
        assert words in said
    trials = Trials.load(tmp_path / "out")
    assert trials["trial"].min() == 0 and trials["trial"].max() == 4 and set(trials["agent"]) == {"human"}
    np.testing.assert_allclose(trials["reaction_time_ms"], 1000 * frame["rt"])
    np.testing.assert_array_equal(trials["correct"], frame["hit"] == 1)
    np.testing.assert_array_equal(trials["choice"].astype(int), (frame["response"] == "J").astype(int))
    from_python = ex.learn.import_trials(tmp_path / "mine.csv", out=tmp_path / "again", map=MAP)
    assert Trials.load(tmp_path / "again") == trials and from_python["notes"] == found["notes"]


def test_from_a_csv_to_a_comparison(tmp_path: Path) -> None:
    for name, better in (("lab", 0), ("online", 20)):
        frame = table(base=0, seconds=False, n_people=8)
        frame.loc[seeds.rng(name).permutation(len(frame))[:better], "hit"] = 1
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        notes = say("import", tmp_path / f"{name}.csv", "--map", MAP, "--out", tmp_path / name)["notes"]
        assert not any("seconds" in note or "counted from" in note for note in notes)
    found = say("compare", tmp_path / "lab", tmp_path / "online", "--out", tmp_path / "page")
    assert found["accuracy_difference"]["value"] <= 0 and found["images_in_common"]["share"] == 1
    assert (tmp_path / "page" / "index.html").is_file()
    assert say("human", tmp_path / "lab")["participants"] == 8


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), base=st.sampled_from([0, 1]), seconds=st.booleans())
def test_neither_the_order_of_rows_nor_the_base_nor_the_unit_matters(
    tmp_path: Path, order: Any, base: int, seconds: bool
) -> None:
    from exemplar.learn.importing import ImportRequest, read_trials

    rows = list(range(90))
    order.shuffle(rows)
    frame = table(base, seconds).iloc[rows]
    frame.to_csv(tmp_path / "mine.csv", index=False)
    trials, _ = read_trials(ImportRequest(tmp_path / "mine.csv", MAP, "human", "auto"))
    table().to_csv(tmp_path / "plain.csv", index=False)
    plain, _ = read_trials(ImportRequest(tmp_path / "plain.csv", MAP, "human", "auto"))
    key = ["participant", "subtask", "trial"]
    one, other = (side.frame.sort_values(key).reset_index(drop=True) for side in (trials, plain))
    pd.testing.assert_frame_equal(one, other, check_categorical=False)


WRONG: dict[str, tuple[Any, str, str]] = {
    "a column nobody has": (lambda f: f, MAP + ",phase=stage", "there is no column 'stage'"),
    "a column of no record": (lambda f: f, MAP + ",speed=rt", "there is no column of Trials 'speed'"),
    "no pair": (lambda f: f, "choice", "takes pairs such as choice=response"),
    "nothing said": (lambda f: f, "", "has no column participant, subtask.*--map participant="),
    "half right": (lambda f: f.assign(hit=f["hit"] * 0.5), MAP, "hit must be 0 or 1, or true or false, and line"),
    "no number": (lambda f: f.assign(n=f["n"].astype(object).where(f.index != 7, "x")), MAP, "n must be a number.*line 9 has 'x'"),
    "half a trial": (lambda f: f.assign(n=f["n"] + 0.5), MAP, "n must be a whole number from 0 or 1"),
    "sessions that start anywhere": (lambda f: f.assign(n=f["n"] + f["id"]), MAP, "starts at 1 to 6 in different sessions"),
    "nobody": (lambda f: f.assign(id=f["id"].astype(object).where(f.index != 3)), MAP, "id must not be empty, and line 5 has nothing"),
    "a phase of their own": (lambda f: f.assign(p="learn"), MAP + ",phase=p", "must be train, test or catch, and line 2 has 'learn'"),
    "no rows": (lambda f: f.iloc[:0], MAP, "has no rows"),
    "trials twice": (lambda f: pd.concat([f, f.iloc[:1]]), MAP, "are the same trial"),
}  # fmt: skip


@pytest.mark.parametrize("change,columns,sentence", WRONG.values(), ids=WRONG)
def test_a_wrong_table_is_one_sentence_and_writes_nothing(
    tmp_path: Path, change: Any, columns: str, sentence: str
) -> None:
    change(table()).to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(UserError, match=sentence) as problem:
        say("import", tmp_path / "mine.csv", "--map", columns, "--out", tmp_path / "out")
    assert "\n" not in str(problem.value) and not (tmp_path / "out").exists()


def test_a_time_out_is_never_correct_and_units_may_be_given(tmp_path: Path) -> None:
    frame = table().assign(late=lambda f: f.index < 4, hit=1)
    frame.to_csv(tmp_path / "mine.csv", index=False)
    given = ("import", tmp_path / "mine.csv", "--map", MAP + ",timed_out=late", "--out")
    assert any("4 trials were timed out and correct" in note for note in say(*given, tmp_path / "a")["notes"])
    assert Trials.load(tmp_path / "a")["correct"].sum() == 86
    with pytest.raises(UserError, match="too little for milliseconds"):
        say(*given, tmp_path / "b", "--time-unit", "ms")
    with pytest.raises(UserError, match="unit of time"):
        say(*given, tmp_path / "b", "--time-unit", "minutes")
    with pytest.raises(UserError, match=r"mine\.csv cannot be read|missing"):
        say("import", tmp_path / "no.csv", "--map", MAP)
    assert run(*given, tmp_path / "c").exit_code == 0


# power


def learners(ceiling: float, seed: object, n: int = 40) -> Behaviour:
    """6 subtasks learned up to a ceiling in 12 trials, all at one pace."""
    p = 0.5 + (ceiling - 0.5) * (1 - np.exp(-np.arange(12) / 2)) * np.linspace(0.6, 1, 6)[:, None, None]
    right = seeds.rng("power", seed).random((6, n, 12)) < p
    names = tuple(f"a{k},b{k}" for k in range(6))
    return Behaviour(right.reshape(-1, 12), np.repeat(np.arange(6), n), names, np.arange(6 * n).astype(str))


def test_power_is_the_level_for_the_same_model_and_grows_with_people():
    flat = Behaviour(
        seeds.rng("flat").random((240, 12)) < 0.7,
        np.repeat(np.arange(6), 40),
        learners(0.9, 0).subtasks,
        np.arange(240).astype(str),
    )
    true = learners(0.95, "true", 200)
    same = power_to_tell_apart(true, learners(0.95, "same", 200), n_people=(10,), n_subtasks=(6,), rng=seeds.rng(1))[0]
    assert same.rejection.value < 0.15 and same.level.value < 0.15 and 0.2 < same.recovery.value < 0.8
    few, many = power_to_tell_apart(true, flat, n_people=(5, 20), n_subtasks=(6,), lapse=0.1, rng=seeds.rng(2))
    assert few.rejection.value < many.rejection.value and many.rejection.value > 0.9 and many.recovery.value > 0.9
    assert many.level.value < 0.15
    for call, sentence in (
        (lambda: power_to_tell_apart(true, flat, n_people=(3,), rng=seeds.rng(0)), "at least 4 people"),
        (lambda: power_to_tell_apart(true, flat, n_people=(5,), n_subtasks=(7,), rng=seeds.rng(0)), "1 to 6 subtasks"),
        (
            lambda: power_to_tell_apart(learners(0.9, 1, 6), flat, rng=seeds.rng(0)),
            "50 people are drawn from a model's sessions, of which there are 6",
        ),
    ):
        with pytest.raises(UserError, match=sentence):
            call()


def test_a_model_that_shares_its_sessions_with_people_has_no_advantage():
    """The other model is the true one itself, session by session: people are as near to either."""
    true = learners(0.9, "shared", 60)
    (found,) = power_to_tell_apart(true, true, n_people=(20,), n_subtasks=(6,), n_experiments=100, rng=seeds.rng(3))
    assert found.recovery.lo < 0.5 < found.recovery.hi and found.rejection == found.level  # as near: decided by lot
    assert found.level.value < 0.15


def test_the_command_says_the_power_of_designs(tmp_path: Path) -> None:
    rng = seeds.rng("clouds of power")
    x = rng.standard_normal((4, 2, 12, 6)) + 1.5 * rng.standard_normal((4, 2, 1, 6))
    names = np.array([[[f"{s}{o}{i}" for i in range(12)] for o in range(2)] for s in range(4)])
    arrays = {"features": x, "image": names, "subtask": np.array(["a,b", "c,d", "e,f", "g,h"])}
    np.savez(tmp_path / "f.npz", **arrays)  # type: ignore[arg-type]
    for rule in ("square", "random-guesser"):
        say(
            "run",
            "--features",
            tmp_path / "f.npz",
            "--rule",
            rule,
            "--sessions",
            60,
            "--trials",
            12,
            "--out",
            tmp_path / rule,
        )
    given = ("power", tmp_path / "square", tmp_path / "random-guesser", "--people", "5,10", "--experiments", 20)
    found = say(*given)
    assert [(row["people"], row["subtasks"]) for row in found["designs"]] == [
        (n, k) for n in (5, 10) for k in (1, 2, 4)
    ]
    assert found["designs"][-1]["rejection"]["value"] > 0.9 and "true model rejected" in run(*given).stdout
    answer = ex.learn.power(tmp_path / "square", tmp_path / "random-guesser", people="5,10", experiments=20)
    assert answer["designs"] == found["designs"]
    with pytest.raises(UserError, match="--people takes whole numbers such as 5,10,20"):
        say(*given, "--people", "few")


@pytest.mark.parametrize(
    ("agents", "places", "names"),
    [
        (["human", "human"], ["runs/lab", "runs/online"], ("human (lab)", "human (online)")),
        (["human", "human"], ["a/lab", "b/lab"], ("human (first)", "human (second)")),
        (["human", "human"], [None, None], ("human (first)", "human (second)")),
        (["square", "human"], ["runs/lab", "runs/online"], ("square", "human")),
        (["human"], [None], ("human",)),
    ],
)
def test_sides_of_one_name_are_told_apart(agents: list[str], places: list[str | None], names: tuple[str, ...]) -> None:
    assert name_sides(agents, places) == names


class TestWhatAStrangerTried:
    def write(self, folder: Path, frame: pd.DataFrame, **more: Any) -> Path:
        frame.to_csv(folder / "mine.csv", index=False, **more)
        return folder / "mine.csv"

    def test_007_and_7_are_two_people(self, tmp_path: Path) -> None:
        frame = table(n_people=3)
        frame["id"] = frame["id"].map({0: "007", 1: "7", 2: "NA"})
        frame["image"] = [f"{k:03}" for k in range(len(frame))]
        ex.learn.import_trials(self.write(tmp_path, frame), out=tmp_path / "out", map=MAP)
        trials = Trials.load(tmp_path / "out")
        assert set(trials["participant"]) == {"007", "7", "NA"} and trials["stimulus"].tolist()[7] == "007"

    @pytest.mark.parametrize(
        ("keys", "kept"),
        [((70, 74), "70 = 0, 74 = 1"), ((1, 2), "counted from 1"), ((0, 1), ""), ((0, 9), "0 = 0, 9 = 1")],
    )
    def test_codes_of_keys_are_two_choices(self, keys: tuple[int, int], kept: str, tmp_path: Path) -> None:
        frame = table()
        frame["response"] = frame["response"].map(dict(zip("FJ", keys, strict=True)))
        found = ex.learn.import_trials(self.write(tmp_path, frame), out=tmp_path / "out", map=MAP)
        assert found["choices"] == 2 and kept in " | ".join(found["notes"])
        assert set(Trials.load(tmp_path / "out")["choice"]) == {0, 1}

    def test_a_key_for_no_answer_is_refused(self, tmp_path: Path) -> None:
        frame = table()
        frame["response"] = frame["response"].map({"F": 1, "J": 2})
        frame.loc[3, "response"] = 0
        with pytest.raises(UserError, match="3 different keys .* name 2 objects: leave trials without an answer empty"):
            ex.learn.import_trials(self.write(tmp_path, frame), out=tmp_path / "out", map=MAP)
        assert not (tmp_path / "out").exists()

    def test_an_unknown_number_of_choices_is_said(self, tmp_path: Path) -> None:
        frame = table().drop(columns="response")
        frame["pair"] = frame["pair"].str.replace(",", " or ")
        words = MAP.replace("choice=response,", "")
        found = ex.learn.import_trials(self.write(tmp_path, frame), out=tmp_path / "out", map=words)
        assert "nothing says how many choices a trial has, so 2 are taken" in " | ".join(found["notes"])

    @pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs")])
    def test_other_separators_and_a_mark_at_the_beginning(self, separator: str, word: str, tmp_path: Path) -> None:
        place = self.write(tmp_path, table(), sep=separator, encoding="utf-8-sig")
        found = ex.learn.import_trials(place, out=tmp_path / "out", map=MAP)
        assert found["trials"] == 90 and f"separated by {word}" in found["notes"][0]

    @pytest.mark.parametrize("words", ["correct=hit,correct=n", "correct=hit,choice=hit"])
    def test_a_column_is_mapped_once(self, words: str, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="twice"):
            ex.learn.import_trials(self.write(tmp_path, table()), out=tmp_path / "out", map=words)

    def test_a_record_beside_itself_is_told(self, tmp_path: Path) -> None:
        place = self.write(tmp_path, table(n_people=8))
        ex.learn.import_trials(place, out=tmp_path / "lab", map=MAP)
        found = ex.learn.compare(tmp_path / "lab", tmp_path / "lab")
        assert any("the same record" in warning for warning in found.warnings)

    @pytest.mark.parametrize(
        ("more", "said"),
        [({"device": "banana"}, "banana"), ({"agent": "mine.py:Mine", "rule": "hinge"}, "--agent brings its own rule")],
    )
    def test_options_that_would_do_nothing_are_refused(self, more: dict[str, str], said: str) -> None:
        features = seeds.rng("stranger").standard_normal((2, 2, 10, 4))
        with pytest.raises(UserError, match=said):
            ex.learn.run(features={"features": features}, sessions=5, trials=5, **more)  # type: ignore[arg-type]


def _lines(tmp_path: Path, *rows: str) -> Path:
    (tmp_path / "odd.csv").write_text("\n".join(("participant,subtask,trial,stimulus,correct,reaction_time_ms", *rows)))
    return tmp_path / "odd.csv"


def test_what_is_odd_in_a_table_is_told_by_its_line(tmp_path: Path) -> None:
    first = ['p,"a,b",0,x.png,1,500', 'p,"a,b",1,y.png,1,500']
    with pytest.raises(UserError, match="must not be below 0, and line 4 has '-5'"):
        ex.learn.import_trials(_lines(tmp_path, *first, 'q,"a,b",0,x.png,1,-5'), out=tmp_path / "out")
    with pytest.raises(UserError, match="lines 3 and 4 are the same trial"):
        ex.learn.import_trials(_lines(tmp_path, *first, first[1]), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    more = ['q,"a,b",0,x.png,1,500', 'q,"c,d",0,x.png,1,500']
    notes = ex.learn.import_trials(_lines(tmp_path, *first, *more), out=tmp_path / "out")["notes"]
    assert any("sessions have 1 to 2 trials" in note for note in notes)
    assert any("subtasks have 1 to 2 sessions" in note for note in notes)


def test_features_say_what_they_do_not_read_and_what_names_disagree(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((2, 2, 6, 4))
    np.savez(tmp_path / "near.npz", features=x, warm_up=x[0, 0])
    with pytest.raises(UserError, match="did you mean warmup"):
        ex.learn.run(features=tmp_path / "near.npz", sessions=5, trials=5)
    np.savez(tmp_path / "more.npz", features=x, pixels=x[0, 0])
    done = ex.learn.run(features=tmp_path / "more.npz", sessions=5, trials=5)
    assert any("not used: pixels" in warning for warning in done.warnings)
    for names, said in ((["a,b,c", "d,e,f"], "names 3 objects"), (["a,a", "b,c"], "an object twice")):
        with pytest.raises(UserError, match=said):
            ex.learn.run(features={"features": x, "subtask": np.array(names)}, sessions=5, trials=5)
