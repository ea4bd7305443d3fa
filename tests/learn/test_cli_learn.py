"""`exemplar learn` as a user meets it: objects drawn, learners run, scored against the right people, refused with a reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import exemplar as ex
from conftest import mistake
from exemplar import engine, seeds
from exemplar.cli import make_app
from exemplar.dense_trials import DenseTrials
from exemplar.errors import UserError
from exemplar.images.objects import ObjectsConfig
from exemplar.learn.agents import make_agent
from exemplar.learn.exports import write_objects
from exemplar.learn.features import load_features
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.measures.oneshot import Points
from exemplar.learn.measures.reading import behaviour_of
from exemplar.learn.outcomes import load_outcome, outcome_in, outcome_of
from exemplar.learn.running import LearnerRun, run_learner
from exemplar.learn.score_report import ScoreReport, format_p
from exemplar.learn.simulation import gram_matrices, simulate
from exemplar.learn.stimuli import built_in_stimuli, public_stimuli
from exemplar.learn.tasks import ObjectLearning
from exemplar.records import Score, Trials
from exemplar.runs import open_run
from exemplar.spaces.ball import fit_ball
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.space import PixelSpace
from exemplar.stats import Estimate

SUBTASKS = ("cat,dog", "cup,pan", "fir,oak", "hat,cap", "sea,sky", "ant,bee")
SMALL = ("--sessions", "40", "--trials", "20")
APP = make_app("learn")


def say(*words: object) -> Any:
    """What the command answers as JSON; a user's mistake is raised."""
    done = CliRunner().invoke(APP, ["learn", *map(str, words), "--json"])
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


def made_features(*, far: float = 1.0, name: str = "") -> dict[str, np.ndarray]:
    """Two clouds a subtask, ever further apart; images are called "cat-00.png"."""
    rng = seeds.rng("clouds")
    apart = far * np.linspace(0.2, 1.2, 6)[:, None, None, None]
    x = rng.standard_normal((6, 2, 20, 12)) + rng.standard_normal((6, 2, 1, 12)) * apart + 3
    images = [[[f"{name}{item}-{k:02d}.png" for k in range(20)] for item in pair.split(",")] for pair in SUBTASKS]
    warmup = rng.standard_normal((60, 12)) * 1.5 + 3
    return {"features": x, "warmup": warmup, "subtask": np.array(SUBTASKS), "image": np.array(images)}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with features, and the runs `square`, `again` (another seed), `guesser`, and `others` (images of other names)."""
    folder = tmp_path_factory.mktemp("learn")
    np.savez(folder / "features.npz", **made_features())  # type: ignore[arg-type]
    np.savez(folder / "others.npz", **made_features(name="other-"))  # type: ignore[arg-type]
    bare = {name: array for name, array in made_features().items() if name in ("features", "warmup")}
    np.savez(folder / "bare.npz", **bare)  # type: ignore[arg-type]
    given = ("run", "--features", folder / "features.npz", *SMALL)
    say(*given, "--out", folder / "square", "--records")
    say(*given, "--seed", 1, "--out", folder / "again")
    say(*given, "--rule", "random-guesser", "--out", folder / "guesser")
    say("run", "--features", folder / "others.npz", *SMALL, "--out", folder / "others")
    say("run", "--features", folder / "bare.npz", *SMALL, "--out", folder / "bare")
    return folder


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Four small built-in objects for each experiment, as folders."""
    folder = tmp_path_factory.mktemp("objects")
    for experiment, views in ((1, 6), (2, None)):
        write_objects(folder / str(experiment), experiment, ObjectsConfig(4, views, size=24), backend=engine.Here())
    return {experiment: folder / str(experiment) for experiment in (1, 2)}


def test_people_come_out_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXEMPLAR_DATA", raising=False)  # their counts ship with the package
    found = say("human")
    value = {name: round(found[name]["value"], 4) for name in ("trial_2", "trial_100", "accuracy")}
    assert value == {"trial_2": 0.6508, "trial_100": 0.8659, "accuracy": 0.8249}
    assert found["root_noise_floor"]["value"] == pytest.approx(0.05227, abs=5e-6)
    assert found["random_guesser_mse_n"]["value"] == pytest.approx(0.11618, abs=5e-6)
    assert say("human", "--variant", "hobj")["random_guesser_mse_n"]["value"] == pytest.approx(0.113448, abs=5e-7)
    assert found["sessions"] == 3199 and found["one_shot_root_noise_floor"]["value"] == pytest.approx(0.0225, abs=1e-4)
    for name in ("trial_2", "noise_floor", "random_guesser_mse_n", "one_shot_accuracy"):
        low, high = found[name]["ci95"]
        assert low < found[name]["value"] < high


def test_counts_of_ones_own_are_read_and_said_to_be_counts(tmp_path: Path) -> None:
    counts = {"k_correct": np.array([[5, 8], [5, 9], [6, 4]]), "n_sessions": np.array([10, 10, 9])}
    np.savez(tmp_path / "object_learning_exp1_curves.npz", subtask=np.array(["a", "b", "c"]), **counts)  # type: ignore[arg-type]
    found = say("human", tmp_path)
    assert found["accuracy"]["value"] == pytest.approx((0.65 + 0.7 + 10 / 18) / 3)
    assert found["resampled"] == "trials" and "one_shot_accuracy" not in found and "too narrow" in found["notes"][0]


def test_a_run_is_what_the_simulation_says(work: Path) -> None:
    data = made_features()
    task = ObjectLearning(20, 20)
    shown = task.sample(6, 40, rng=seeds.rng("learn run", 0))
    placed = fit_ball(data["warmup"]).place(data["features"])
    curves = behaviour_of(simulate(make_agent("square"), gram_matrices(placed), shown), shown, SUBTASKS).curves()
    kept = load_outcome(work / "square")
    assert kept.agent == "square" and kept.subtasks == SUBTASKS
    np.testing.assert_array_equal(kept.result.curves().n_correct, curves.n_correct)  # type: ignore[union-attr]
    found = say("run", "--features", work / "features.npz", *SMALL)
    assert found["accuracy"]["value"] == pytest.approx(curves.accuracy.mean()) and found["cpu_seconds"] > 0
    assert found["scaled_by"] == "warm-up images" and len(found["curve"]) == 20


def test_the_same_seed_gives_the_same_answer(work: Path, tmp_path: Path) -> None:
    given = ("run", "--features", work / "features.npz", *SMALL, "--rule", "exponential", "--variant", "hobj")
    one, two = say(*given, "--out", tmp_path / "one"), say(*given, "--out", tmp_path / "two")
    for found in (one, two):
        for clock in ("cpu_seconds", "cpu_seconds_simulation", "out"):
            found.pop(clock)
    assert one == two
    for name in ("trials.npz", "scores.parquet", "figure.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_records_and_bits_of_a_run_tell_the_same(work: Path) -> None:
    record, kept = load_outcome(work / "square" / "trials.parquet"), load_outcome(work / "square")
    assert record.images == kept.images and record.agent == kept.agent
    assert isinstance(record.result, Behaviour) and isinstance(kept.result, Behaviour)
    np.testing.assert_array_equal(record.result.of(SUBTASKS).curves().n_correct, kept.result.curves().n_correct)
    one, other = (say("score", work / path, "--people", work / "again") for path in ("square", "square/trials.parquet"))
    assert (
        one["mse_n"]["value"] == other["mse_n"]["value"]
        and one["consistency"]["value"] == other["consistency"]["value"]
    )


def test_features_without_warm_up_are_left_alone_in_the_ball_and_scaled_by_themselves_outside(tmp_path: Path) -> None:
    x = made_features()["features"]
    inside = x / np.linalg.norm(x, axis=-1, keepdims=True)
    for name, array, by in (("in", inside, "nothing"), ("out", x, "the images themselves")):
        np.savez(tmp_path / f"{name}.npz", features=array)
        assert say("run", "--features", tmp_path / f"{name}.npz", *SMALL)["scaled_by"] == by
        placed, _ = load_features(tmp_path / f"{name}.npz").in_ball()
        assert np.linalg.norm(placed, axis=-1).max() <= 1 + 1e-9


def test_an_agent_of_ones_own_takes_the_slow_path_to_the_same_end(work: Path, tmp_path: Path) -> None:
    code = (
        "from exemplar.learn.agents import LinearLearner, Square\n"
        "class Mine(LinearLearner):\n"
        "    def __init__(self): super().__init__(Square())\n"
    )
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    given = ("run", "--features", work / "features.npz", "--sessions", 5, "--trials", 20)
    slow, fast = say(*given, "--agent", f"{tmp_path / 'mine.py'}:Mine"), say(*given)
    assert slow["rule"] == "Mine" and slow["curve"] == fast["curve"] and slow["accuracy"] == fast["accuracy"]


AGENTS = {
    "class Mine:\n    pass": "has no method reset",
    "class Mine:\n    def __init__(self, rate): pass": "without arguments",
    "class Mine:\n    reset = choose = feedback = lambda self, _: 'left'": "chose 'left'",
    "class Mine:\n    reset = choose = feedback = lambda self, _: 7": "chose 7: a choice is 0 to 1",
    "class Mine:\n    def reset(self, rng): pass\n    def choose(self, x): return x.colour": "failed in choose|no method",
    "class Other: pass": "did you mean",
    "class Mine:\n    reset = feedback = print\n    def choose(self, x): return x": "chose something of .*ndarray",
    "class Mine:\n    def reset(self, rng): raise ValueError('one\\ntwo')\n    choose = feedback = reset": "one two",
    "class Mine:\n    def reset(self, rng): raise SystemExit(0)\n    choose = feedback = reset": "failed in reset",
    "from functools import partial\nclass Mine:\n    reset = choose = feedback = partial(int, 'x')": "failed in reset",
    "raise SystemExit(0)": "cannot be imported",
    "import nothing_of_this_name": "cannot be imported",
}


@pytest.mark.parametrize("code,sentence", AGENTS.items(), ids=range(len(AGENTS)))
def test_an_agent_that_is_none_is_refused_in_a_sentence(work: Path, tmp_path: Path, code: str, sentence: str) -> None:
    (tmp_path / "mine.py").write_text(code.replace("Other", "Mina"), encoding="utf-8")
    with pytest.raises(UserError, match=sentence) as problem:
        say("run", "--features", work / "features.npz", *SMALL, "--agent", f"{tmp_path / 'mine.py'}:Mine")
    assert "\n" not in str(problem.value)


def test_what_an_agent_prints_is_not_the_answer(work: Path, tmp_path: Path) -> None:
    code = "print('made')\nclass Mine:\n    reset = feedback = print\n    def choose(self, x): return 0"
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    given = ("run", "--features", work / "features.npz", "--sessions", 2, "--trials", 3)
    assert say(*given, "--agent", f"{tmp_path / 'mine.py'}:Mine")["rule"] == "Mine"
    with pytest.raises(UserError, match="does not name a class: write file.py:NAME"):
        say(*given, "--agent", tmp_path / "mine.py")


def test_a_folder_is_not_believed_for_an_agent_whose_weights_are_others(work: Path, tmp_path: Path) -> None:
    """An object's code may be the same and its state another: the folder kept the first one's numbers."""

    class Mine:
        def __init__(self, key: int) -> None:
            self.key = key

        def reset(self, rng: np.random.Generator) -> None:
            self.n = 0

        def choose(self, x: np.ndarray) -> int:
            self.n += 1
            return int(self.n % 3 == 0) if self.key else int(x[0] > 0)

        def feedback(self, reward: float) -> None: ...

    asked: dict[str, Any] = {"features": work / "features.npz", "sessions": 5, "trials": 20, "out": tmp_path / "run"}
    first = ex.learn.run(agent=Mine(0), **asked)
    assert ex.learn.run(agent=Mine(0), **asked)["accuracy"] == first["accuracy"]
    with pytest.raises(UserError, match="holds another run .the agent of that name did otherwise"):
        ex.learn.run(agent=Mine(1), **asked)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float16, np.longdouble, ">f4"])
def test_numbers_of_any_kind_are_features(tmp_path: Path, kind: Any) -> None:
    x = np.rint(made_features()["features"] * 9).clip(1, 99)
    for name, array in (("as", x.astype(kind)), ("plain", x)):
        np.savez(tmp_path / f"{name}.npz", features=array)
    one, other = (say("run", "--features", tmp_path / f"{name}.npz", *SMALL)["curve"] for name in ("as", "plain"))
    assert one == other


def test_a_stage_or_device_that_is_none_is_said_before_anything_is_drawn(exemplar: Any) -> None:
    for words, sentence in (
        (("--stage", "pixels"), "is no stage"),
        (("--stage", "efficientnet-lite9/head"), "no network"),
    ):
        assert sentence in mistake(exemplar("learn", "run", *words, "--subtasks", "1"))


def test_the_page_of_two_says_which_is_which_and_no_p_is_0(work: Path, tmp_path: Path) -> None:
    say("compare", work / "square", work / "guesser", "--out", tmp_path / "far")
    far = (tmp_path / "far" / "index.html").read_text(encoding="utf-8")
    assert "square is more accurate than random-guesser, by 0." in far and "the first of square, the second of" in far
    say("compare", work / "square", work / "again", "--out", tmp_path / "near")
    near = (tmp_path / "near" / "index.html").read_text(encoding="utf-8")
    assert "square (square) and square (again) are not told apart by their accuracy" in near
    assert [format_p(p) for p in (0.0, 0.00004, 0.00006, 0.5)] == ["< 0.0001", "< 0.0001", "0.0001", "0.5000"]


def test_n_of_experiment_2_counts_tests() -> None:
    points = Points(np.array([0.9, 0.8]), np.array([0.01, 0.01]), ("blur | 1", "scale | 2"))
    score = Score.of("accuracy", Estimate(0.85, 0.8, 0.9, 2))
    report = ScoreReport({"accuracy": score}, points=(points, points))
    assert report.count_of("accuracy") == "2 tests" and "2 tests" in report.text()


def test_few_sessions_are_scored_and_compared_all_the_same(work: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        given = ("run", "--features", work / "features.npz", "--sessions", 2, "--trials", 2, "--seed", seed)
        say(*given, "--out", tmp_path / str(seed))
    found = say("score", tmp_path / "0", "--people", tmp_path / "1", "--out", tmp_path / "score")
    low, high = found["consistency"]["ci95"]
    assert -1 <= low <= high <= 1 and (tmp_path / "score" / "scores.parquet").is_file()
    found = say("compare", tmp_path / "0", tmp_path / "1")
    assert found["consistency"]["ci95"][0] >= -1 and {row["trials"] for row in found["rows"]} >= {"accuracy", "trial_2"}


TAMPERED: dict[str, dict[str, Any]] = {
    "fewer choices": {"second": np.zeros(6 * 39 * 20 // 8, np.uint8)},
    "fewer bits": {"right": np.zeros(6 * 39 * 20 // 8, np.uint8)},
    "a choice too many": {"n_choices": np.array([3]), "choice": np.full((6, 40, 20), 3, np.int8)},
    "subtasks of one name": {"subtasks": np.array(["a"] * 6)},
    "one choice": {"n_choices": np.array([1]), "choice": np.ones((6, 40, 20), np.int8)},
    "images cut off": {"images": np.array([["x"]] * 6)},
    "images of fewer subtasks": {"images": np.full((5, 40), "x")},
    "phases of fewer trials": {"phase": np.array(["train"] * 19)},
    "two agents": {"agent": np.array(["a", "b"])},
}


@pytest.mark.parametrize("arrays", TAMPERED.values(), ids=TAMPERED)
def test_a_run_that_was_tampered_with_is_refused(work: Path, tmp_path: Path, arrays: dict[str, Any]) -> None:
    with np.load(work / "square" / "trials.npz") as kept:
        np.savez(tmp_path / "trials.npz", **{**kept, **arrays})
    with pytest.raises(UserError, match="do not belong"):
        load_outcome(tmp_path)


def test_a_learner_is_not_told_from_its_own_kind_and_a_guesser_is(work: Path) -> None:
    found = say("score", work / "square", "--people", work / "again")
    assert found["same_images"] and found["p"]["null"] > 0.01 and found["null_test"] == "calibrated"
    assert found["images_in_common"] == {"share": 1.0, "by": "images", "subtasks": 6}
    as_published = say("score", work / "square", "--people", work / "again", "--null", "paper")
    assert set(as_published["p"]) >= {"null", "null_hobj"} and as_published["null_test"] == "paper"
    with pytest.raises(UserError, match="did you mean paper"):
        say("score", work / "square", "--people", work / "again", "--null", "papr")
    assert found["mse_n"]["value"] == pytest.approx(found["noise_floor"]["value"], abs=0.001)
    assert found["mse_n_hobj"]["value"] == pytest.approx(0, abs=0.001) and found["lapse_rate"]["value"] < 0.05
    assert {(row["phase"], row["subtasks"]) for row in found["rows"]} >= {("early", "all"), ("late", "hardest")}
    guesser = say("score", work / "guesser", "--people", work / "again")
    assert guesser["p"]["null"] < 0.01 and guesser["mse_n"]["value"] == pytest.approx(
        guesser["random_guesser_mse_n"]["value"], abs=0.01
    )


def test_a_model_on_other_images_is_refused_unless_told_otherwise(work: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"saw different images \(0.0 % of the images are the same\).*--other-images"
    ) as problem:
        say("score", work / "others", "--people", work / "again", "--out", tmp_path / "out")
    assert "\n" not in str(problem.value) and not (tmp_path / "out").exists()
    found = say("score", work / "others", "--people", work / "again", "--other-images", "--out", tmp_path / "out")
    assert not found["same_images"] and "OTHER IMAGES" in found["notes"][0]
    assert json.loads((tmp_path / "out" / "config.json").read_text())["config"]["other_images"] is True
    with pytest.raises(UserError, match="does not name the images|learned subtask000"):
        say("score", work / "bare", "--people", work / "again")
    paired = say("score", work / "bare", "--people", work / "again", "--other-images")  # unnamed: in the order given
    assert paired["mse_n"]["value"] == say("score", work / "square", "--people", work / "again")["mse_n"]["value"]


def test_built_in_objects_are_not_what_people_saw(work: Path) -> None:
    with pytest.raises(UserError, match="people learned MutatorObject000,MutatorObject095"):
        say("score", work / "square")
    with pytest.raises(UserError, match="64 subtasks, the model 6 others"):
        say("score", work / "square", "--other-images")


def test_two_populations_differ_where_they_do(work: Path, tmp_path: Path) -> None:
    alike = say("compare", work / "square", work / "again", "--out", tmp_path / "c")
    assert alike["p"]["accuracy_difference"] > 0.01 and (tmp_path / "c" / "figures" / "learning.svg").is_file()
    other = say("compare", work / "square", work / "guesser")
    assert other["p"]["accuracy_difference"] < 0.01 and other["accuracy_difference"]["ci95"][0] > 0
    late = next(row for row in other["rows"] if row["trials"] == "late")
    assert late["difference"]["value"] == pytest.approx(late["first"]["value"] - late["second"]["value"])
    with pytest.raises(UserError, match="saw different images"):
        say("compare", work / "square", work / "others")


def change(**arrays: Any) -> dict[str, Any]:
    data: dict[str, Any] = made_features()
    for name, new in arrays.items():
        data[name] = new(data.get(name)) if callable(new) else new
    return {name: array for name, array in data.items() if array is not None}


def with_value(value: float) -> Any:
    def put(array: np.ndarray) -> np.ndarray:
        array[2, 1, 3] = value
        return array

    return put


BAD_FEATURES = {
    "nan": (
        change(features=with_value(np.nan)),
        (),
        r"NaN or infinity in 1 of 240 images \(first in image \(2, 1, 3\)",
    ),
    "infinity": (change(features=with_value(np.inf)), (), "NaN or infinity"),
    "norm 0": (change(features=with_value(0)), (), r"norm 0 in 1 of the images \(the first is \(2, 1, 3\)\)"),
    "three dimensions": (change(features=lambda x: x[0]), (), r"must be \(subtasks, objects, images, d\)"),
    "one object": (change(features=lambda x: x[:, :1], image=None), (), "at least 2 objects"),
    "text": (change(features=lambda x: x.astype(str)), (), "features must be numbers"),
    "no features": (change(features=None), (), "has no array features"),
    "few images": (change(), ("--trials", "21"), "21 trials need as many images .* there are 20"),
    "few images in hobj": (change(), ("--trials", "41", "--variant", "hobj"), "41 trials need .* there are 40"),
    "warm-up of another size": (change(warmup=lambda x: x[:, 1:]), (), "12 dimensions and warmup has 11"),
    "warm-up all alike": (change(warmup=np.ones((9, 12))), (), "set the scale .* are the same"),
    "warm-up nan": (change(warmup=np.full((9, 12), np.nan)), (), "warm-up features have NaN"),
    "lengths overflow": (change(features=lambda x: x * 1e200), (), "scale them down"),
    "images of one name": (change(image=np.full((6, 2, 20), "x")), (), "two images of a subtask have the same name"),
    "a rate for who has none": (change(), ("--rule", "prototype", "--rate", "2"), "prototype takes no learning rate"),
    "sessions without end": (change(), ("--sessions", "99999999999"), "do not fit into memory"),
    "names": (change(subtask=lambda x: x[:3]), (), r"subtask must be \(6,\)"),
    "names twice": (change(subtask=np.array(["a"] * 6)), (), "the same name"),
    "image names": (change(image=lambda x: x[:, :, :4]), (), r"image must be \(6, 2, 20\)"),
    "no tests": (change(), ("--experiment", "2"), "needs the array `test`"),
    "unknown rule": (change(), ("--rule", "sqare"), "there is no agent 'sqare': did you mean square"),
    "unknown variant": (change(), ("--variant", "papers"), "did you mean paper"),
    "rate": (change(), ("--rate", "0"), "must be a number above 0"),
    "records without a place": (change(), ("--records",), "name it with --out"),
    "two sources": (change(), ("--stage", "efficientnet-lite0/block03"), "either --features"),
    "views": (change(), ("--views", "3"), "go with --stage"),
}


@pytest.mark.parametrize("data,options,sentence", BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_bad_features_and_options_are_refused_and_nothing_is_written(
    tmp_path: Path, data: dict[str, Any], options: tuple[str, ...], sentence: str
) -> None:
    np.savez(tmp_path / "f.npz", **data)
    out = () if "--records" in options else ("--out", tmp_path / "run")
    with pytest.raises(UserError, match=sentence) as problem:
        say("run", "--features", tmp_path / "f.npz", "--trials", 20, *options, *out)
    assert "\n" not in str(problem.value) and not (tmp_path / "run").exists()


def never(*_: Any, **__: Any) -> Any:
    pytest.fail("something long began")


def test_a_place_that_will_not_do_is_said_before_anything_long_begins(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("run_learner", "find_agent", "load_features"):
        monkeypatch.setattr(f"exemplar.learn.experiments.{place}", never)
    monkeypatch.setattr("exemplar.learn.scoring.load_outcome", never)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    given = ("run", "--features", work / "features.npz", *SMALL)
    for words in (given, (*given, "--agent", "mine.py:Mine"), ("score", work / "again"), ("compare", work, work)):
        for place, sentence in (
            (tmp_path / "file", "is a file: give --out a folder"),
            (tmp_path / "file" / "inside", "cannot be written .Not a directory"),
            (tmp_path / "full", "is not empty and holds no run"),
            (work / "square", "holds another run"),
        ):
            with pytest.raises(UserError, match=sentence):
                say(*words, "--out", place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]


def test_a_folder_whose_run_is_under_way_is_said_before_anything_long_begins(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(work / "again", tmp_path / "again")
    about = json.loads((tmp_path / "again" / "config.json").read_text())
    parts = {key: about[key] for key in ("command", "config", "seed", "variant", "data")}
    monkeypatch.setattr("exemplar.learn.experiments.run_learner", never)
    given = ("run", "--features", work / "features.npz", *SMALL, "--seed", 1, "--out", tmp_path / "again")
    with open_run(tmp_path / "again", **parts), pytest.raises(UserError, match="another process is at work"):
        say(*given)


def test_a_run_holds_its_folder_while_it_simulates(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("run", "--features", work / "features.npz", *SMALL, "--out", tmp_path / "run")

    def while_another_asks(*config: Any, **named: Any) -> LearnerRun:
        monkeypatch.setattr("exemplar.learn.experiments.run_learner", never)
        with pytest.raises(UserError, match="another process is at work"):
            say(*given)
        return run_learner(*config, **named)

    monkeypatch.setattr("exemplar.learn.experiments.run_learner", while_another_asks)
    say(*given)
    for name in ("trials.npz", "scores.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (work / "square" / name).read_bytes()


def test_features_that_have_changed_are_said_before_anyone_learns(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(work / "features.npz", tmp_path / "f.npz")
    given = ("run", "--features", tmp_path / "f.npz", *SMALL, "--out", tmp_path / "run")
    assert say(*given)["accuracy"] == say(*given)["accuracy"]  # the same again is no other run
    np.savez(tmp_path / "f.npz", **made_features(far=2.0))  # type: ignore[arg-type]
    monkeypatch.setattr("exemplar.learn.experiments.run_learner", never)
    with pytest.raises(UserError, match=r"holds another run \(data.features is"):
        say(*given)


def test_a_cut_or_missing_file_is_one_sentence(work: Path, tmp_path: Path, exemplar: Any) -> None:
    whole = (work / "features.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    said = exemplar("learn", "run", "--features", tmp_path / "cut.npz", "--json")
    assert "cannot be read as an npz archive" in mistake(said)
    for words, sentence in (
        (("run", "--features", tmp_path / "no.npz"), "is missing"),
        (("score", tmp_path / "nowhere"), "there is no file or folder"),
        (("score", tmp_path), "contains no recorded behaviour"),
        (("human", tmp_path), "contains no recorded behaviour"),
        (("compare", work / "square", work / "square" / "scores.parquet"), "holds no trials"),
        (("run", "--stage", "block03", "--subtasks", 1), "is no stage"),
        (("run",), "give either"),
    ):
        with pytest.raises(UserError, match=sentence):
            say(*words)


def test_the_command_prints_one_json_object_or_tables(work: Path, exemplar: Any) -> None:
    given = ("learn", "run", "--features", work / "features.npz", *SMALL, "--rule", "random-guesser")
    said = exemplar(*given, "--json")
    assert said.err == "" and said.json()["accuracy"]["n"] == 6 * 40
    text = CliRunner().invoke(APP, ["learn", "score", str(work / "square"), "--people", str(work / "again")]).stdout
    assert all(word in text for word in ("root_mse_n", "null (calibrated)", "consistency_ceiling", "early", "hardest"))


def test_a_verb_answers_what_its_command_prints(work: Path, tmp_path: Path) -> None:
    runs, features = [work / "square", work / "again"], work / "features.npz"
    objects = {"objects": 2, "views": 3, "size": 16, "engine": "here"}
    small = ("--objects", 2, "--views", 3, "--size", 16, "--engine", "here")
    for words, answer in (
        (("human", "--seed", 3), ex.learn.human(seed=3)),
        (("run", "--features", features, *SMALL), ex.learn.run(features=features, sessions=40, trials=20)),
        (("score", runs[0], "--people", runs[1]), ex.learn.score(runs[0], people=runs[1])),
        (("compare", *runs, "--no-catch"), ex.learn.compare(*runs, catch=False)),
        (("agents",), ex.learn.list_agents()),
        (("check-agent", "prototype"), ex.learn.check_agent("prototype")),
        (("objects", "--out", tmp_path / "a.npz", *small), ex.learn.objects(tmp_path / "b.npz", **objects)),
    ):
        printed, found = say(*words), answer.json()
        for own in ("cpu_seconds", "cpu_seconds_simulation", "out", "sheet"):  # clocks and places differ
            assert (printed.pop(own, None) is None) == (found.pop(own, None) is None)
        assert printed == json.loads(json.dumps(found))


def test_an_agent_that_breaks_the_contract_exits_with_1_and_a_line_per_finding(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    reset = choose = lambda self, _: 7", encoding="utf-8")
    done = CliRunner().invoke(APP, ["learn", "check-agent", f"{tmp_path / 'mine.py'}:Mine"])
    assert done.exit_code == 1 and "has no method feedback" in done.stdout.splitlines()[1]


def test_objects_on_disk_are_the_built_in_ones(objects: dict[int, Path]) -> None:
    for experiment, views in ((1, 6), (2, None)):
        made = built_in_stimuli(experiment, ObjectsConfig(4, views, size=24))
        read = public_stimuli(objects[experiment], experiment)
        assert read.subtasks == made.subtasks and len(set(made.image.ravel())) == made.image.size
        np.testing.assert_array_equal(read.image, made.image)
        np.testing.assert_array_equal(read.test, made.test)
        rows = np.array([0, 7, len(made.pictures) - 1])
        np.testing.assert_array_equal(read.pictures.take(rows), made.pictures.take(rows))
        assert len(read.warmup) == 400
    assert sorted(set(made.test.ravel())) == ["", *sorted({name for name in made.test.ravel() if name})]
    assert (made.test != "").sum() == 4 * 56 and len(set(made.test.ravel())) == 37


def test_images_of_another_seed_or_size_have_other_names() -> None:
    names = [
        set(built_in_stimuli(1, ObjectsConfig(objects, 3, size, seed=seed)).image.ravel())
        for objects, size, seed in ((4, 24, 0), (2, 24, 0), (4, 32, 0), (4, 24, 1))
    ]
    assert names[1] < names[0] and not names[0] & names[2] and not names[0] & names[3]


def test_objects_come_as_one_file_too_and_never_over_another(tmp_path: Path) -> None:
    given = ("objects", "--objects", 2, "--views", 3, "--size", 16, "--engine", "here")
    found = say(*given, "--out", tmp_path / "o.npz")
    with np.load(tmp_path / "o.npz") as data:
        assert data["images"].shape == (1, 2, 3, 16, 16) and data["warmup_images"].shape == (400, 16, 16)
        assert data["image"].shape == (1, 2, 3) and data["subtask"].tolist() == ["object001,object002"]
    assert found["subtasks"] == 1 and (tmp_path / "o-sheet.png").is_file()
    for words, sentence in (
        ((*given, "--out", tmp_path), "already exists"),
        ((*given, "--out", tmp_path / "o.npz"), "already exists"),
        (("objects", "--objects", 3, "--out", tmp_path / "odd"), "cannot be divided"),
        (("objects", "--experiment", 2, "--views", 9, "--out", tmp_path / "odd"), "always has 61 views"),
    ):
        with pytest.raises(UserError, match=sentence):
            say(*words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o-sheet.png", "o.npz"]


def test_one_shot_on_a_stage_keeps_what_its_records_tell(
    objects: dict[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = PixelSpace(PhotoInput((12, 12)))  # a stage that costs nothing
    monkeypatch.setattr("exemplar.learn.stage_features.load_stage", lambda name: pixels)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    given = ("run", "--experiment", 2, "--stage", "a/b", "--images", objects[2], "--sessions", 150)
    found = say(*given, "--out", tmp_path / "run", "--records")
    assert found["trials"] == 20 and 0.5 < found["accuracy"]["value"] < 1 and found["scaled_by"] == "warm-up images"
    assert found["scale"]["n"] == 300 and (tmp_path / "run" / "figure.svg").is_file()
    kept = load_outcome(tmp_path / "run")
    record = load_outcome(tmp_path / "run" / "trials.parquet", images=objects[2], catch=False)
    for one, other in zip(*(side.result.points().accuracy for side in (kept, record)), strict=True):  # type: ignore[union-attr]
        assert one == other
    same = say("score", tmp_path / "run" / "trials.parquet", "--images", objects[2], "--people", tmp_path / "run")
    assert (
        same["same_images"]
        and same["mse_n"]["value"] < 0
        and same["people_accuracy"] == same["accuracy"] | {"ci95": same["people_accuracy"]["ci95"]}
    )
    with pytest.raises(UserError, match="--images"):
        say("score", tmp_path / "run" / "trials.parquet", "--people", tmp_path / "run")
    with pytest.raises(UserError, match="is of Experiment 2, not 1"):
        say("score", tmp_path / "run", "--experiment", 1)
    with pytest.raises(UserError, match="100 trials need as many"):
        say("run", "--stage", "a/b", "--images", objects[1])


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_kept_comes_back_as_it_was(tmp_path: Path, data: st.DataObject) -> None:
    """As arrays, and as the table that `Trials.load` makes of them."""
    n_subtasks, n_sessions, n_trials, n_choices = (data.draw(st.integers(1, top)) for top in (3, 9, 19, 4))
    shape, rng = (n_subtasks, n_sessions, n_trials), seeds.rng("kept", n_subtasks, n_sessions, n_trials)
    names = tuple(",".join(f"s{k}{item}" for item in range(n_choices + 1)) for k in range(n_subtasks))
    images = np.array([[f"{name[:2]}-{i}.png" for i in range(7)] for name in names])
    dense = DenseTrials(
        "me", names, images, np.array(["train"] * n_trials), rng.integers(0, 7, shape).astype(np.uint16),
        rng.integers(0, n_choices + 1, shape).astype(np.int8), rng.random(shape) < 0.5, n_choices + 1,
    )  # fmt: skip
    dense.save(tmp_path)
    back, table = DenseTrials.load(tmp_path), Trials.load(tmp_path)
    assert (back.agent, back.subtasks, back.n_choices, back.named) == ("me", names, n_choices + 1, True)
    for name in ("images", "phase", "shown", "choice", "correct"):
        np.testing.assert_array_equal(getattr(back, name), getattr(dense, name))
    assert table == dense.table() and len(table) == np.prod(shape)
    one, other = outcome_of(back), outcome_in(table)
    assert one.subtasks == other.subtasks == names and one.n_choices == other.n_choices == n_choices + 1
    np.testing.assert_array_equal(one.learning().curves().n_correct, other.learning().curves().n_correct)


@pytest.mark.parametrize(
    ("n_choices", "n_images", "bytes_of_a_trial"), [(2, 200, 1.25), (2, 300, 2.25), (3, 200, 2.125)]
)
def test_a_trial_takes_a_byte_for_the_image_and_a_bit_for_each_key(
    tmp_path: Path, n_choices: int, n_images: int, bytes_of_a_trial: float
) -> None:
    shape, rng = (2, 300, 100), seeds.rng("small", n_choices, n_images)
    dense = DenseTrials(
        "me", ("a", "b"), np.array([[f"{s}{i}" for i in range(n_images)] for s in "ab"]), np.array(["train"] * 100),
        rng.integers(0, n_images, shape).astype(np.uint16), rng.integers(0, n_choices, shape).astype(np.int8),
        rng.random(shape) < 0.5, n_choices,
    )  # fmt: skip
    size = dense.save(tmp_path).stat().st_size
    assert bytes_of_a_trial <= (size - dense.images.nbytes) / dense.shown.size < bytes_of_a_trial + 0.1
    np.testing.assert_array_equal(DenseTrials.load(tmp_path).shown, dense.shown)


@pytest.mark.parametrize("command", ["score", "compare", "human"])
def test_a_folder_keeps_everything_that_is_printed_and_a_page_of_it(work: Path, tmp_path: Path, command: str) -> None:
    given = {
        "score": ("square", "--people", work / "again"),
        "compare": ("square", work / "again"),
        "human": ("again",),
    }
    first, *rest = given[command]
    found = say(command, work / first, *rest, "--out", tmp_path / "out")
    kept = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert kept == {name: value for name, value in found.items() if name != "out"}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    figures = {
        "score": {"learning", "levels", "agreement", "subtasks"},
        "compare": {"learning", "agreement", "subtasks"},
    }
    for name in figures.get(command, {"learning", "subtasks"}):
        assert "<svg" in (tmp_path / "out" / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    for name, p in found["p"].items():
        assert name in page and format_p(p).replace("<", "&lt;") in page
    assert page.count("data:image/svg+xml") == len(figures.get(command, {"learning", "subtasks"}))
    assert say(command, work / first, *rest, "--out", tmp_path / "out") == found  # the same again is the same folder


def test_several_rules_are_run_on_the_same_features(work: Path, tmp_path: Path) -> None:
    given = ("run", "--features", work / "features.npz", *SMALL, "--rule", "square", "--rule", "hinge")
    found = say(*given, "--out", tmp_path / "both")
    alone = say("run", "--features", work / "features.npz", *SMALL, "--rule", "hinge", "--out", tmp_path / "hinge")
    assert list(found["rules"]) == ["square", "hinge"] and found["rules"]["hinge"]["accuracy"] == alone["accuracy"]
    for name in ("trials.npz", "scores.parquet", "figure.svg", "components.svg"):
        assert (tmp_path / "both" / "hinge" / name).read_bytes() == (tmp_path / "hinge" / name).read_bytes()
    answer = ex.learn.run(features=work / "features.npz", rule=("square", "hinge"), sessions=40, trials=20)
    assert set(answer.outcomes) == {"square", "hinge"}  # type: ignore[union-attr]
    for words, sentence in (
        (("--rule", "squar"), "did you mean square"),
        (("--agent", "mine.py:Mine"), "brings its own rule"),
    ):
        with pytest.raises(UserError, match=sentence):
            say(*given, *words, "--out", tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
