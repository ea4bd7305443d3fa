"""The front door as a notebook and as the command line: the same values, pages, and mistakes in one sentence."""

import json

import numpy as np
import pytest

import exemplar as ex
from conftest import mistake
from exemplar import UserError

FEW = ("--data", "glyphs", "--concepts", "3", "--drawings", "2")


@pytest.fixture(scope="module")
def made(one_place, exemplar):
    """What the commands of the page print, as JSON, by verb."""
    found = {}
    for verb, words in {
        "play": ("play", "corners", "--participants", "5", *FEW, "--out", "people.npz"),
        "maps": ("maps", "--agent", "occlusion", *FEW, "--out", "maps.npz"),
        "ink": ("maps", "--agent", "ink", *FEW, "--out", "ink.npz"),
        "score": (
            "score",
            "people.npz",
            "--model",
            "maps.npz",
            "--model",
            "ink.npz",
            "--pairs",
            "500",
            "--out",
            "scored",
        ),
    }.items():
        said = exemplar("attend", *words, "--json")
        assert said.code == 0, said.err
        found[verb] = said.json()
    return found


def test_the_issues_keys_are_there(made):
    assert made["maps"]["maps"] == 6 and made["maps"]["cpu_seconds"] >= 0
    assert made["play"]["maps"] == made["play"]["right"] <= made["play"]["rounds"] == 30


def test_python_gives_what_the_command_prints(made):
    options = {"data": "glyphs", "concepts": 3, "drawings": 2}
    again = ex.attend.maps("occlusion", **options, out="again.npz")
    dropped = ("cpu_seconds", "out", "sheet")
    assert {k: v for k, v in again.json().items() if k not in dropped} == {
        k: v for k, v in made["maps"].items() if k not in dropped
    }
    scored = ex.attend.score("people.npz", model=["maps.npz", "ink.npz"], pairs=500, out="again-scored")
    known = {k: v for k, v in made["score"].items() if k not in ("run", "warnings")}
    assert {k: v for k, v in scored.json().items() if k not in ("run", "warnings")} == known
    printed = {(s.name, s.agent): s.value for s in scored.scores}
    assert made["score"]["models"]["occlusion"]["spearman"]["value"] == printed["spearman", "occlusion"]


def test_the_same_seed_writes_the_same_bytes(made, tmp_path):
    ex.attend.maps("random", data="glyphs", concepts=2, drawings=1, out=tmp_path / "a.npz")
    ex.attend.maps("random", data="glyphs", concepts=2, drawings=1, out=tmp_path / "b.npz")
    ex.attend.maps("random", data="glyphs", concepts=2, drawings=1, out=tmp_path / "c.npz", seed=1)
    a, b, c = ((tmp_path / f"{name}.npz").read_bytes() for name in "abc")
    assert a == b != c


def test_a_score_has_its_interval_its_n_and_a_page(made):
    scored = made["score"]
    assert set(scored["models"]) == {"occlusion", "ink"}
    for model in scored["models"].values():
        assert {"spearman", "spearman_after_ink", "centroid_distance", "gini", "p"} <= set(model)
        low, high = model["spearman"]["ci95"]
        assert low < model["spearman"]["value"] < high and model["spearman"]["n"] >= 2
    assert scored["reliability"]["value"] > scored["reliability_between"]["value"]
    from pathlib import Path

    page = Path(scored["run"], "index.html").read_text(encoding="utf-8")
    assert "What matters in a drawing" in page and page.count("<img") >= 4


def test_a_record_survives_its_file(made, tmp_path):
    record = ex.attend.load_maps("people.npz")
    ex.attend.save_maps(tmp_path / "copy.npz", record)
    assert ex.attend.load_maps(tmp_path / "copy.npz") == record
    record.save(tmp_path / "folder")
    assert ex.attend.load_maps(tmp_path / "folder") == record


def test_an_npz_of_ones_own_is_a_record(tmp_path):
    maps = np.random.default_rng(0).random((3, 8, 8))
    np.savez(tmp_path / "mine.npz", map=maps, image=(maps > 0.5) * np.uint8(255), concept=np.array(["a", "b", "b"]))
    found = ex.attend.load_maps(tmp_path / "mine.npz")
    assert list(found.frame["agent"].unique()) == ["mine"] and list(found.frame["participant"]) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("arrays", "word"),
    [
        ({"map": np.ones((2, 4, 4))}, "no array image"),
        ({"map": np.ones((2, 4, 4)), "image": np.ones((3, 4, 4)), "concept": np.array(["a", "b"])}, "one per map"),
        ({"map": np.ones((2, 4)), "image": np.ones((2, 4, 4)), "concept": np.array(["a", "b"])}, "3 dimensions"),
        ({"map": np.full((1, 4, 4), np.nan), "image": np.ones((1, 4, 4)), "concept": np.array(["a"])}, "NaN"),
        ({"map": np.ones((0, 4, 4)), "image": np.ones((0, 4, 4)), "concept": np.array([], dtype=str)}, "no maps"),
    ],
)  # fmt: skip
def test_files_that_are_no_records_are_refused(tmp_path, arrays, word):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(UserError, match=word):
        ex.attend.load_maps(tmp_path / "bad.npz")


def test_maps_of_different_sizes_in_one_file_are_refused(tmp_path):
    """NumPy would have to pickle them, and nothing is unpickled."""
    ragged = np.empty(2, object)
    ragged[:] = [np.ones((3, 3)), np.ones((4, 4))]
    np.savez(tmp_path / "ragged.npz", map=ragged, image=np.ones((2, 4, 4)), concept=np.array(["a", "b"]))
    with pytest.raises(UserError, match="map"):
        ex.attend.load_maps(tmp_path / "ragged.npz")


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("maps", "--agent", "ink", *FEW, "--out", "maps.txt"), "rename maps.txt to end with .npz"),
        (("maps", "--agent", "inc", *FEW), "did you mean ink"),
        (("maps", "--agent", "nope", *FEW), "there are cfgdm-quickdraw, gradient"),  # no agents that draw
        (("maps", "--agent", "nowhere/agent", *FEW), "there is no folder nowhere"),
        (("play", "painter", *FEW), "there is no agent 'painter'"),
        (("play", "ink", "--partner", "nobody/partner", *FEW), "there is no folder nobody"),
        (("play", "ink", "--reliability", "2", *FEW), "reliability"),
        (("score", "nothing.npz"), "nothing.npz is missing"),
        (("study", "nothing"), "there is no study 'nothing'"),
        (("partner", "train", "--data", "glyphs", "--concepts", "999"), "needs 999 concepts"),
        (("partner", "train", "--data", "glyphs", "--hidden", "12"), "a multiple of 8"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_leaves_nothing(exemplar, tmp_path, words, word):
    said = exemplar("attend", *words, cwd=tmp_path)
    assert word in mistake(said)
    assert not list(tmp_path.iterdir())


def test_another_run_folder_is_not_overwritten(made, exemplar):
    said = exemplar("attend", "score", "people.npz", "--pairs", "600", "--out", "scored")
    assert said.code == 2 and "holds another run" in said.err, said.err


def test_what_was_chosen_automatically_is_said(exemplar, tmp_path):
    said = exemplar("attend", "maps", "--agent", "ink", "--concepts", "2", "--drawings", "1", "--json", cwd=tmp_path)
    assert said.code == 0 and "chosen automatically" in said.err, said
    assert json.loads(said.out)["maps"] == 2
