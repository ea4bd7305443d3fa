"""Encoders × rules against people, on made-up files in the layout of the public ones: who is found, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from PIL import Image
from typer.testing import CliRunner

import exemplar as ex
from exemplar import seeds
from exemplar.cli import make_app
from exemplar.errors import UserError
from exemplar.learn.figures import strong
from exemplar.learn.figures import study as figures
from exemplar.learn.stimuli import public_stimuli
from exemplar.learn.studies.study_results import find_strong, load_study_results
from exemplar.records import Scores
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.space import PixelSpace

APP = make_app("learn")
N_SUBTASKS, N_IMAGES, N_PEOPLE = 8, 20, 14
TESTS = [("blur", 0.0625), ("blur", 0.125), ("scale", 0.5), ("scale", 1.5)]
ENCODERS = ("good", "fair", "worse", "bad", "worst")  # people learn from the first
SMALL = ("--sessions", 60, "--engine", "here", "--rule", "square", "--rule", "perceptron")


def say(*words: object) -> Any:
    done = CliRunner().invoke(APP, ["learn", *map(str, words), "--json"])
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


def write_images(folder: Path) -> None:
    """16 objects × 20 images (Experiment 1), 4 × 21 (Experiment 2) and warm-up images, each object a colour of its own."""
    rng = seeds.rng("made-up images")
    sets = {
        "MutatorHighVarImageset": ("MutatorObject", 16, 20),
        "MutatorOneShotImageset": ("MutatorOneshotObject", 4, 21),
    }
    sets["MutatorWarmupImageset"] = ("WarmupObject", 4, 10)
    for image_set, (name, n_objects, n_images) in sets.items():
        rows = []
        for item in range(n_objects):
            category = f"{name}{item:03d}"
            place = folder / "data" / "images" / image_set / category
            place.mkdir(parents=True)
            base = rng.uniform(40, 215, (6, 6))
            for k in range(n_images):
                pixels = np.clip(base + rng.normal(0, 18 + 3 * item, (6, 6)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(place / f"{category}-{k}.png")
                kind, level = ("original", 0.0) if k == 0 else TESTS[(k - 1) % 4]
                rows.append({"image_id": f"{category}-{k}.png", "category": category, "transformation": kind,
                             "transformation_level": level})  # fmt: skip
        table = pd.DataFrame(rows)
        if image_set != "MutatorOneShotImageset":
            table = table[["image_id", "category"]]
        table.to_csv(folder / "data" / f"meta-{image_set}.csv", index=False)


def write_people(folder: Path, features: dict[int, Any]) -> None:
    """People who learn from these features by the square rule, each with a lapse rate of their own, in both experiments."""
    rng = seeds.rng("made-up people")
    lapse = rng.uniform(0, 0.3, N_PEOPLE)
    (folder / "data" / "behavior").mkdir()
    for experiment, name in ((1, "highvar"), (2, "oneshot")):
        n = N_PEOPLE if experiment == 1 else 10 * N_PEOPLE
        record = run_record(features[experiment], experiment, n)
        frame = record.frame
        who = frame["session"].astype(int).to_numpy() % n % N_PEOPLE
        drawn = rng.random(len(frame))
        guesses = drawn < lapse[who]
        right = np.where(guesses, drawn < lapse[who] / 2, frame["correct"])
        session = frame["session"].astype(str)
        pd.DataFrame({
            "trial": frame["trial"], "assignment_id": "a" + session, "slot": 0, "worker_id": [f"w{k}" for k in who],
            "subtask": frame["subtask"].astype(str), "image_id": frame["stimulus"].astype(str), "trial_type": "normal",
            "stimulus_duration_msec": 200, "reaction_time_msec": rng.uniform(250, 900, len(frame)), "timed_out": 0,
            "perf": right.astype(int), "timestamp_start": 0,
        }).to_csv(folder / "data" / "behavior" / f"human-behavior-{name}-subtasks.csv", index=False)  # fmt: skip


def run_record(features: Any, experiment: int, n: int) -> Any:
    from exemplar.learn.running import RunConfig, run_learner

    return run_learner(RunConfig(experiment, n_sessions=n, n_trials=N_IMAGES), features, seed=9).record.table()


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """public/, and features of five encoders beside it, ever noisier; people learn from the first."""
    folder = tmp_path_factory.mktemp("people")
    write_images(folder / "public")
    good, rng = {}, seeds.rng("made-up features")
    for experiment, ending in ((1, ""), (2, "-one-shot")):
        stimuli = public_stimuli(folder / "public", experiment)
        pixels = stimuli.pictures.images.reshape(*stimuli.shape, -1) / 255
        warmup = stimuli.warmup.images.reshape(len(stimuli.warmup), -1) / 255
        for name, noise in zip(ENCODERS, (0.0, 0.15, 0.3, 0.6, 1.2), strict=True):
            given = {"features": pixels + noise * rng.standard_normal(pixels.shape), "warmup": warmup,
                     "subtask": np.array(stimuli.subtasks), "image": stimuli.image, "test": stimuli.test}  # fmt: skip
            np.savez(folder / f"{name}{ending}.npz", **given)
            if name == "good":
                good[experiment] = ex.learn.load_features(given)
    write_people(folder / "public", good)
    return folder


@pytest.fixture(scope="module")
def study(made_up: Path) -> Path:
    """The study of the five encoders and two rules, from features of both experiments."""
    files = [made_up / f"{name}{ending}.npz" for name in ENCODERS for ending in ("", "-one-shot")]
    given = [word for file in files for word in ("--features", file)]
    say("study", "--people", made_up / "public", *given, *SMALL, "--out", made_up / "study")
    return made_up / "study"


def test_figures_show_all_of_a_box_and_no_accuracy_above_1(study: Path) -> None:
    """Before, the region of people's repeats ended where models did, and a bar for people reached above 1."""
    found = load_study_results(study)
    axes = figures.plot_consistency(found).axes[0]
    box, (low, high) = axes.patches[0].get_bbox(), axes.get_ylim()
    assert low <= box.y0 < box.y1 <= high and box.y1 == pytest.approx(found["people_ceiling"][2])
    for bars in strong.plot_strong_tests(found, {}).axes[0].containers:
        if isinstance(bars, ErrorbarContainer):
            assert max(line.get_ydata().max() for line in bars.lines[1]) <= 1
    np.testing.assert_allclose(strong.within(np.array([0.99, 0.5]), np.array([0.05, 0.05])), [[0.05] * 2, [0.01, 0.05]])


def test_the_encoder_people_learn_from_is_near_and_others_are_rejected(study: Path) -> None:
    found = load_study_results(study)
    assert found.who == "people" and found.true is None and found.encoders == ENCODERS
    assert found["mse_n"].mean(axis=1).argmin() in (0, 1)  # hardly any noise was added to the second
    assert found.strong.sum() == 1 and found.strong[:2].any()
    assert found["p"][0, found.rules.index("square")] > 0.01 and (found["p"][4] < 0.001).all()
    assert found["one_shot_mse_n"].argmin() // 2 == 0 and np.isfinite(found["one_shot_p"]).all()
    assert found["levels"].shape == (5, 2, 2, 5) and (found["levels_p"][4, :, 1] < 0.05).all()
    scores = list(Scores.load(study))
    shares = {
        score.concept: score.value
        for score in scores
        if score.name == "models_rejected" and score.agent == "all models"
    }
    assert set(shares) >= {"Experiment 1", "Experiment 2", "early, hardest subtasks", "late, easiest subtasks"}
    assert shares["Experiment 1"] == (found["p"] < 0.05).mean()
    explained = {score.name: score.value for score in scores if score.agent == "of MSE_n"}
    assert explained["variance_of_encoder"] > 0.8 > explained["variance_of_rule"]
    (best,) = (score for score in scores if score.name == "strong_baseline_root_mse_n")
    assert best.space in ENCODERS[:2] and best.value == pytest.approx(np.sqrt(found["mse_n"].min()))


def test_its_page_shows_the_figures_of_the_paper(study: Path) -> None:
    page = (study / "index.html").read_text(encoding="utf-8")
    figures = {
        "errors",
        "matrix",
        "consistency",
        "phases",
        "one-shot",
        "experiments",
        "levels",
        "strong",
        "strong-one-shot",
    }
    # the encoders have no depth, and nobody is simulated
    assert {path.stem for path in (study / "figures").glob("*.svg")} == figures
    assert "SIMULATED" not in page and "simulated" not in page and "WHO" not in page
    assert re.search(r"The best model \([^)]+\) is 0\.\d+ from people", page) and "rejected as models of people" in page


def test_a_model_scores_in_a_study_as_it_does_alone(made_up: Path, study: Path) -> None:
    table = {(s.name, s.space, s.agent): s.value for s in Scores.load(study, "scores-models")}
    done = ex.learn.run(features=made_up / "worse.npz", rule="perceptron", sessions=60, trials=N_IMAGES)
    alone = ex.learn.score(done, people=made_up / "public", experiment=1)
    for name in ("mse_n", "lapse_rate", "trial_2", "consistency"):
        assert table[name, "worse", "perceptron"] == pytest.approx(alone[name]["value"])
    assert table["accuracy", "worse", "perceptron"] == pytest.approx(alone["accuracy"]["value"])
    found = load_study_results(study)
    assert found["p"][2, found.rules.index("perceptron")] == pytest.approx(alone["p"]["null"])


def test_runs_that_are_there_already_give_the_same_study(made_up: Path, study: Path, tmp_path: Path) -> None:
    for name in ENCODERS:
        given = ("--rule", "square", "--rule", "perceptron", "--sessions", 60, "--trials", N_IMAGES)
        found = say("run", "--features", made_up / f"{name}.npz", *given, "--out", tmp_path / name)
        assert set(found["rules"]) == {"square", "perceptron"}
        assert (tmp_path / name / "square" / "trials.npz").is_file()
    folders = [word for path in sorted(tmp_path.glob("*/*/config.json")) for word in ("--runs", path.parent)]
    say("study", "--people", made_up / "public", *folders, "--engine", "here", "--out", tmp_path / "study")
    one, other = load_study_results(study), load_study_results(tmp_path / "study")
    rows = np.ix_([other.encoders.index(name) for name in ENCODERS], [other.rules.index(rule) for rule in one.rules])
    for name in ("mse_n", "p", "accuracy", "consistency"):
        np.testing.assert_allclose(one[name], other[name][rows])
    assert np.isnan(other["one_shot_p"]).all() and not other.tests
    figures = {path.stem for path in (tmp_path / "study" / "figures").iterdir()}
    assert "one-shot" not in figures and "strong" in figures


def test_the_public_files_need_nothing_else(made_up: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = PixelSpace(PhotoInput((6, 6)))  # stages that cost nothing
    monkeypatch.setattr("exemplar.learn.stage_features.load_stage", lambda name: pixels)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    given = ("--encoder", "efficientnet-lite0/stem", "--encoder", "efficientnet-lite0/head", *SMALL)
    found = say("study", "--people", made_up / "public", *given, "--out", tmp_path / "study")
    assert found["models"] == 4 and found["participants"] == "people" and Path(found["page"]).is_file()
    arrays = load_study_results(tmp_path / "study")
    assert arrays.encoders == ("efficientnet-lite0/stem", "efficientnet-lite0/head") and len(arrays.tests) == 4
    assert (tmp_path / "study" / "figures" / "depth.svg").is_file()


def test_a_study_that_was_stopped_resumes(
    made_up: Path, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exemplar.learn.studies import people_models

    given = [word for name in ENCODERS for word in ("--features", made_up / f"{name}.npz")]
    words = ("study", "--people", made_up / "public", *given, *SMALL, "--out", tmp_path / "study")
    real, calls = people_models._score_first, []

    def stops(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(people_models, "_score_first", stops)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        say(*words)
    assert not (tmp_path / "study" / "scores.parquet").exists()
    say(*words)
    np.testing.assert_array_equal(load_study_results(tmp_path / "study")["mse_n"], load_study_results(study)["mse_n"])


WRONG: dict[str, tuple[Any, str]] = {
    "two sources": (lambda f: ("--people", f / "public", "--features", f / "good.npz", "--images", f / "public"), "give one of"),
    "nobody": (lambda f: ("--features", f / "good.npz"), "go with --people"),
    "no file": (lambda f: ("--people", f / "public", "--features", f / "none.npz"), "there is no file"),
    "half an encoder": (lambda f: ("--people", f / "public", "--features", f / "good-one-shot.npz"), "has no good.npz beside it"),
    "no run": (lambda f: ("--people", f / "public", "--runs", f / "public"), "is no run of"),
    "no rule": (lambda f: ("--people", f / "public", "--features", f / "good.npz", "--rule", "squar"), "did you mean square"),
    "no encoder": (lambda f: ("--people", f / "public", "--encoder", "resnet"), "no encoder"),
}  # fmt: skip


@pytest.mark.parametrize("words,sentence", WRONG.values(), ids=WRONG)
def test_a_study_of_what_is_not_there_is_refused(made_up: Path, tmp_path: Path, words: Any, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as problem:
        say("study", *words(made_up), "--out", tmp_path / "out")
    assert "\n" not in str(problem.value) and not (tmp_path / "out").exists()


def test_a_folder_is_not_believed_for_features_that_have_changed(made_up: Path, tmp_path: Path) -> None:
    names = [tmp_path / f"{name}.npz" for name in ("one", "two")]
    for file, given in zip(names, ("good", "worse"), strict=True):
        file.write_bytes((made_up / f"{given}.npz").read_bytes())
    files = [word for file in names for word in ("--features", file)]
    words = ("study", "--people", made_up / "public", *files, *SMALL, "--out", tmp_path / "out")
    before = say(*words)
    assert say(*words)["scores"] == before["scores"]
    names[1].write_bytes((made_up / "worst.npz").read_bytes())
    with pytest.raises(UserError, match="holds another run.*two"):
        say(*words)


def test_features_of_other_images_are_refused(made_up: Path, tmp_path: Path) -> None:
    with np.load(made_up / "good.npz") as kept:
        np.savez(tmp_path / "strange.npz", **{**kept, "image": np.char.add("x", kept["image"])})
    words = (
        "study",
        "--people",
        made_up / "public",
        "--features",
        tmp_path / "strange.npz",
        *SMALL,
        "--out",
        tmp_path / "out",
    )
    with pytest.raises(UserError, match=r"saw other images than people"):
        say(*words)


def test_the_best_hundredth_is_at_least_one_model() -> None:
    errors = seeds.rng("strong").random((68, 7))
    assert find_strong(errors).sum() == 5 and find_strong(errors)[np.unravel_index(errors.argmin(), errors.shape)]
    assert find_strong(errors[:2, :2]).sum() == 1
    assert (errors[find_strong(errors)].max() < errors[~find_strong(errors)]).all()
