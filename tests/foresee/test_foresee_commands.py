"""The room as it is used: `run`, `fit`, `predict`, `check`, `label-next` and `study`, from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exemplar as ex
from conftest import mistake
from exemplar.foresee.evaluating import BLOCK, Recipe, evaluate_tasks, join_evaluated
from exemplar.runs import describe_run

SMALL = ["--ways", "3", "--shots", "3", "--queries", "6", "--tasks", "70"]


def make_bank(n_classes: int = 12, samples: int = 40, d: int = 16, seed: int = 0) -> np.ndarray:
    """Simulated features after a ReLU, classes of which some lie close together."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, d))
    return np.maximum(centres[:, None] + 0.9 * rng.normal(size=(n_classes, samples, d)), 0) + 1e-3


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bank") / "bank.npz"
    np.savez(path, features=make_bank())
    return path


def without_time(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ("cpu_seconds", "out")}


@pytest.mark.parametrize("setting", ["supervised", "semi", "unsupervised"])
def test_command_and_python_give_the_same(exemplar, bank, setting):
    said = exemplar(
        "foresee", "run", "--features", bank, *SMALL, "--setting", setting, "--seed", "3", "--device", "cpu", "--json"
    )
    assert said.code == 0, said.err
    answer = ex.foresee.run(features=bank, ways=3, shots=3, queries=6, tasks=70, setting=setting, seed=3, device="cpu")
    printed = said.json()
    assert without_time(printed) == json.loads(json.dumps(without_time(answer.json())))
    what = "adjusted_rand_index" if setting == "unsupervised" else "accuracy"
    assert 0 < printed[what]["value"] <= 1 and printed["cpu_seconds"] > 0
    sees = {name for name, score in printed["correlation"].items() if score["sees_scored_queries"]}
    clusters, sure = {"davies_bouldin", "egv"}, {"confidence", "confidence_log"}
    assert sees == {"supervised": set(), "semi": clusters | sure, "unsupervised": clusters}[setting]
    assert printed["features"] == str(bank) and printed["classes"] == 12
    assert (printed["noise_ceiling"] is None) == (setting == "unsupervised")
    for score in printed["correlation"].values():
        assert score["ci95"][0] <= score["value"] <= score["ci95"][1] and score["n"] == 70 and "spearman" in score


def test_a_run_keeps_tasks_scores_figure_and_page(exemplar, bank, tmp_path):
    options = ["foresee", "run", "--features", bank, *SMALL, "--measures", "all", "--out", tmp_path / "run"]
    assert exemplar(*options).code == 0
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.json", "provenance.json", "scores.parquet", "tasks.npz", "figures", "index.html"} <= files
    page = (tmp_path / "run" / "index.html").read_text()
    assert "foretells it best" in page and "Noise" not in page.split("<body")[0]
    before = (tmp_path / "run" / "tasks.npz").read_bytes()
    assert exemplar(*options).code == 0  # again: the same run, nothing changes
    assert (tmp_path / "run" / "tasks.npz").read_bytes() == before
    assert "holds another run (seed" in mistake(exemplar(*options, "--seed", "1"))
    assert describe_run(tmp_path / "run")["provenance"]["state"] == "finished"


def test_blocks_of_tasks_are_the_same_whoever_computes_them():
    features = ex.foresee.FeatureBank.of(make_bank())
    config, recipe = ex.foresee.TaskConfig(3, 3, 6), Recipe(measures=("confidence", "davies_bouldin"))
    whole = evaluate_tasks(features, config, 2 * BLOCK + 5, recipe, seed=1)
    parts = join_evaluated(
        [evaluate_tasks(features, config, 2 * BLOCK + 5, recipe, seed=1, blocks=range(k, k + 1)) for k in range(3)]
    )
    np.testing.assert_array_equal(whole.performance, parts.performance)
    np.testing.assert_array_equal(whole.measures["confidence"], parts.measures["confidence"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--features", "nowhere.npz"], "nowhere.npz is missing"),
        ([], "Give --features FILE.npz, or --space NAME with --data NAME"),
        (["--space", "pixels"], "--space and --data go together"),
        (["--features", "BANK", "--data", "glyphs"], "instead of --features"),
        (["--features", "BANK", "--ways", "1"], "ways must be at least 2"),
        (["--features", "BANK", "--ways", "13"], "13 classes of at least 35 samples, there are 12"),
        (["--features", "BANK", "--queries", "400"], "there are 0 of 12: lower --ways, --shots or --queries"),
        (["--features", "BANK", "--setting", "semi-supervised"], "there is no setting 'semi-supervised'"),
        (["--features", "BANK", "--agent", "n-means"], "n-means needs --setting unsupervised"),
        (["--features", "BANK", "--agent", "knn"], "there is no agent 'knn'"),
        (["--features", "BANK", "--measures", "accuracy"], "there is no measure 'accuracy'"),
        (["--features", "BANK", "--variant", "mine"], "there is no variant 'mine'"),
        (["--features", "BANK", "--neighbours", "0"], "neighbours must be at least 1"),
        (["--features", "BANK", "--proportion", "2"], "between 0 and 1"),
        (["--features", "BANK", "--tasks", "5"], "tasks must be at least 10"),
        (["--features", "BANK", "--device", "tpu"], "there is no device 'tpu'"),
    ],
)
def test_mistakes_are_told_in_a_sentence_and_leave_nothing(exemplar, bank, tmp_path, options, sentence):
    words = [bank if word == "BANK" else word for word in options]
    assert sentence in mistake(exemplar("foresee", "run", *words, "--out", tmp_path / "new" / "run", cwd=tmp_path))
    assert not (tmp_path / "new").exists()


def test_more_neighbours_than_samples_and_negative_features_are_said(exemplar, tmp_path):
    np.savez(tmp_path / "signed.npz", features=make_bank() - 0.5)
    said = exemplar("foresee", "run", "--features", tmp_path / "signed.npz", *SMALL, "--neighbours", "50")
    assert said.code == 0 and "has no 50 neighbours" in said.err and "cosines then range from −1 to 1" in said.err


def test_intervals_of_tasks_that_share_most_classes_are_warned_of():
    few, many = (ex.foresee.run(features=make_bank(n), ways=5, shots=2, queries=4, tasks=200) for n in (10, 12))
    assert any("5 out of 10 classes share most" in said for said in few.warnings)
    assert not any("share most" in said for said in many.warnings)


def test_identical_samples_do_not_break_a_run(tmp_path):
    same = np.repeat(np.random.default_rng(0).random((6, 1, 8)), 20, axis=1)
    done = ex.foresee.run(features=same, ways=3, shots=2, queries=4, tasks=20, measures=["all"])
    assert 0.8 < done["accuracy"]["value"] <= 1 and np.isfinite(done["correlation"]["confidence"]["value"])
    assert any("copies of others: 114 of 120." in said for said in done.warnings)


AGENTS = """
import numpy as np

def nearest(support, labels, queries, rng):
    return labels[(queries @ support.T).argmax(axis=1)]

def guess(support, labels, queries, rng):
    return rng.choice(labels, len(queries))

def careless(support, labels, queries, rng):
    support *= 0
    return np.zeros(len(queries), int)

def wrong_shape(support, labels, queries, rng):
    return labels[:1]

def fails(support, labels, queries, rng):
    raise ValueError("oh no")

def random_global(support, labels, queries, rng):
    return np.random.default_rng().choice(labels, len(queries))
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENTS)
    return tmp_path / "agents.py"


def test_an_agent_of_ones_own_does_the_tasks(exemplar, bank, agents):
    found = [
        ex.foresee.run(features=bank, ways=3, shots=3, queries=6, tasks=40, agent=f"{agents}:{name}")
        for name in ("nearest", "guess")
    ]
    assert found[0]["accuracy"]["value"] > 0.6 > 0.45 > found[1]["accuracy"]["value"]
    assert "fails failed (ValueError: oh no)" in mistake(
        exemplar("foresee", "run", "--features", bank, *SMALL, "--agent", f"{agents}:fails")
    )


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("careless", "changes the arrays"),
        ("wrong_shape", "one label per query"),
        ("fails", "ValueError: oh no"),
        ("random_global", "with the same rng"),
    ],
)
def test_what_is_wrong_with_an_agent_is_said(exemplar, agents, name, finding):
    said = exemplar("foresee", "check-agent", f"{agents}:{name}")
    assert said.code == 1 and finding in said.out
    assert exemplar("foresee", "check-agent", f"{agents}:nearest").code == 0


def test_lists(exemplar):
    assert "diffuse" not in exemplar("foresee", "agents").out and "n-means" in exemplar("foresee", "agents").out
    assert "confidence_log" in exemplar("foresee", "measures").out


def test_a_study_resumes_judges_statements_and_makes_a_page(exemplar, tmp_path):
    np.savez(tmp_path / "large.npz", features=make_bank(12, 80))
    options = [
        "foresee",
        "study",
        "thresholds",
        "--features",
        tmp_path / "large.npz",
        "--tasks",
        "40",
        "--engine",
        "here",
    ]
    said = exemplar(*options, "--out", tmp_path / "study", "--json")
    assert said.code == 0, said.err
    names = {score["name"] for score in said.json()["scores"]}
    assert {"absolute_error", "bias"} <= names
    again = ex.foresee.study(
        "thresholds", features=tmp_path / "large.npz", tasks=40, engine="here", out=tmp_path / "study"
    )
    assert json.loads(json.dumps(again.json())) == said.json()
    files = {path.name for path in (tmp_path / "study").iterdir()}
    assert {"index.html", "figures", "scores.parquet"} <= files and not any(name.startswith("bank") for name in files)
    assert "there is no study 'none'" in mistake(
        exemplar("foresee", "study", "none", "--features", tmp_path / "large.npz")
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["supervised", "semi", "unsupervised", "imbalance", "neighbours", "labelling", "prediction"]
)
def test_every_study_runs_on_features_of_ones_own(tmp_path, name):
    done = ex.foresee.study(name, features=make_bank(20, 320), tasks=64, out=tmp_path / name, engine="here")
    assert done.page is not None and "<svg" in done.figures[name].read_text()


def test_measures_of_real_features_foretell_in_the_direction_they_should(real_data):
    """New classes of CIFAR-FS, 30 pictures of each of 10 classes, in the shipped conv4-64."""
    real_data("cifar-fs")
    photos = ex.load("cifar-fs", "test").sample(10, 30, rng=np.random.default_rng(0))
    done = ex.foresee.run(space="conv4-64-cifar-fs", data=photos, ways=5, shots=5, queries=15, tasks=300, device="cpu")
    assert done["accuracy"]["ci95"][0] > 1 / 5
    assert done["correlation"]["confidence"]["ci95"][0] > 0 > done["correlation"]["lr_loss"]["ci95"][1]


def save_photos(folder: Path, n: int = 4, unlabelled: int = 6) -> None:
    """Three kinds of pattern, in colour."""
    rng = np.random.default_rng(0)
    for kind in range(3):
        for k in range(n + unlabelled // 3):
            place = folder / ("stripes", "blobs", "sky")[kind] if k < n else folder / "unlabelled"
            place.mkdir(parents=True, exist_ok=True)
            y, x = np.mgrid[:48, :64] / 8 + rng.random()
            level = (np.sin(3 * x), np.sin(2 * x) * np.sin(2 * y), y / 8)[kind] * 100 + 128
            noisy = np.clip(level[..., None] * [1, 0.8, (kind + 1) / 3] + 12 * rng.normal(size=(48, 64, 3)), 0, 255)
            Image.fromarray(noisy.astype(np.uint8)).save(place / f"{kind}_{k}.png")


def test_check_says_what_to_expect_of_photographs(exemplar, tmp_path, one_place):
    save_photos(tmp_path / "photos")
    (tmp_path / "photos" / "sky" / "broken.jpg").write_bytes(b"no image")
    (tmp_path / "photos" / "notes.txt").write_text("mine")
    said = exemplar(
        "foresee", "check", tmp_path / "photos", "--out", tmp_path / "out", "--budget", "3", "--device", "cpu", "--json"
    )
    assert said.code == 0, said.err
    found = said.json()
    assert found["classes"] == {"blobs": 4, "sky": 4, "stripes": 4} and found["unlabelled"] == 6
    assert 0.6 <= found["expected_accuracy"]["value"] <= 1 and len(found["label_next"]) == 3
    assert found["skipped"] == ["sky/broken.jpg cannot be read"] and "1 file was skipped" in said.err
    assert sum(found["per_class"].values()) / 3 == pytest.approx(found["expected_accuracy"]["value"], abs=0.15)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "data:image/png" in page and "Label these next" in page and "unlabelled/broken" not in page
    same = ex.foresee.check(tmp_path / "photos", out=tmp_path / "same", budget=3, device="cpu")
    assert without_time(json.loads(json.dumps(same.json()))) == without_time(found)
    chosen = exemplar("foresee", "label-next", tmp_path / "photos", "--budget", "3", "--json").json()
    assert chosen["label_next"] == found["label_next"]
    assert json.loads(json.dumps(ex.foresee.label_next(tmp_path / "photos", budget=3).json())) == chosen


def test_copies_among_photographs_are_said(exemplar, tmp_path, one_place):
    """Who puts a photograph in twice would otherwise be told that a classifier is sure to know it."""
    save_photos(tmp_path / "photos")
    for place, copy in (
        ("stripes/0_0.png", "stripes/copy.png"),
        ("sky/2_0.png", "blobs/z.png"),
        ("sky/2_1.png", "unlabelled/z.png"),
    ):
        (tmp_path / "photos" / copy).write_bytes((tmp_path / "photos" / place).read_bytes())
    said = exemplar("foresee", "check", tmp_path / "photos", "--out", tmp_path / "out", "--json")
    assert said.code == 0
    for sentence in ("copies of others: 2.", "more than one class: 1.", "copies of labelled ones: 1."):
        assert sentence in said.err and any(sentence in one for one in said.json()["warnings"])


def test_photographs_that_cannot_be_checked(exemplar, tmp_path, one_place):
    save_photos(tmp_path / "photos", unlabelled=0)
    (tmp_path / "photos" / "unlabelled").mkdir()
    said = exemplar("foresee", "check", tmp_path / "photos", "--out", tmp_path / "out", "--json")
    assert said.code == 0 and said.json()["unlabelled"] == 0 and "unlabelled is empty" in said.err
    assert "no unlabelled samples to choose from" in mistake(exemplar("foresee", "label-next", tmp_path / "photos"))
    for name in ("stripes", "sky"):
        for path in (tmp_path / "photos" / name).iterdir():
            path.unlink()
    assert "photographs of 1 class, at least 2" in mistake(
        exemplar("foresee", "check", tmp_path / "photos", "--out", tmp_path / "a")
    )
    assert "There is no folder" in mistake(exemplar("foresee", "check", tmp_path / "nowhere", "--out", tmp_path / "b"))
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists()
