"""`exemplar spaces` as a user meets it: listed, read, trained, killed, gone on with, and used; with right and wrong input."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import mistake
from exemplar import seeds
from exemplar.spaces.recipes import RECIPES
from exemplar.spaces.zoo import list_spaces, load_card, load_space, shipped

CRITIC = "protonet-omniglot-s0"


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An npz of somebody's own: twelve drawings of three concepts."""
    path = tmp_path_factory.mktemp("own") / "drawings.npz"
    images = (seeds.rng("own drawings").random((12, 30, 30)) < 0.2).astype(np.uint8) * 255
    np.savez(path, images=images, concept=np.repeat(["a", "b", "c"], 4))
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_list_names_spaces_stages_and_recipes(exemplar: Any) -> None:
    found = exemplar("spaces", "list", "--json").json()
    assert [space["name"] for space in found["spaces"]] == list(list_spaces())
    assert found["recipes"] == list(RECIPES) and len(found["stages"]) >= 60
    text = exemplar("spaces", "list").out
    assert all(name in text for name in list_spaces()) and "efficientnet-lite0/" in text


def test_a_card_is_shown_short_and_whole(exemplar: Any) -> None:
    assert "1473, see --json" in exemplar("spaces", "card", CRITIC).out
    card = exemplar("spaces", "card", CRITIC, "--json").json()
    assert len(card["concepts"]) == 1473 and card["scores"] == load_card(CRITIC).scores


def test_drawings_of_ones_own_are_encoded(exemplar: Any, drawings: Path, tmp_path: Path) -> None:
    env = {"EXEMPLAR_CACHE": str(tmp_path / "cache")}
    words = ("spaces", "encode", CRITIC, "--data", drawings, "--device", "cpu")
    said = exemplar(*words, "--out", tmp_path / "one.npz", "--json", env=env)
    assert said.err == "" and said.json()["features"] == [12, 256]
    with np.load(tmp_path / "one.npz") as one, np.load(drawings) as own:
        np.testing.assert_array_equal(one["concept"], own["concept"])
        wanted = load_space(CRITIC).encode(own["images"], device="cpu")
        np.testing.assert_allclose(one["features"], wanted, atol=1e-5 * np.abs(wanted).max())
    exemplar(*words, "--out", tmp_path / "two.npz", env=env)  # kept features this time
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    said = exemplar(*words, "--layer", "last", "--out", tmp_path / "last.npz", "--json", env=env)
    assert said.json()["features"] == [12, 128]


def test_stages_of_pretrained_networks_encode_too(exemplar: Any, drawings: Path, tmp_path: Path) -> None:
    out = tmp_path / "stage.npz"
    said = exemplar("spaces", "encode", "efficientnet-lite0/block03", "--data", drawings, "--out", out, "--json")
    assert said.json()["features"] == [12, 2048]


def test_omniglot_is_encoded_by_name_and_split(exemplar: Any, real_data: Any, tmp_path: Path) -> None:
    real_data("omniglot")
    out, env = tmp_path / "omniglot.npz", {"EXEMPLAR_CACHE": str(tmp_path / "cache")}
    words = ("spaces", "encode", CRITIC, "--data", "omniglot", "--split", "weak-test", "--out", out, "--json")
    assert exemplar(*words, env=env).json()["features"] == [3000, 256]
    with np.load(out) as found:
        assert len(set(found["concept"])) == 150 and len(set(found["group"])) == 50
        features, concept = found["features"], found["concept"]
    distance = np.square(features[:, None] - features[:40:20]).sum(2)  # two characters' first drawings
    own = np.flatnonzero(np.isin(concept, concept[[0, 20]]))
    assert (concept[[0, 20]][distance[own].argmin(1)] == concept[own]).mean() > 0.9


def test_a_space_is_trained_listed_and_used(exemplar: Any, drawings: Path, tmp_path: Path) -> None:
    words = ("spaces", "train", "simclr-glyphs-s9", "--steps", "2", "--device", "cpu", "--out", "mine", "--json")
    said = exemplar(*words, cwd=tmp_path)
    assert said.code == 0 and said.err == "", said.err  # no library talks
    assert said.json()["step"] == 2 and 0 < said.json()["held_out_accuracy_random"] < 1
    found = exemplar("spaces", "list", "--from", "mine", "--json", cwd=tmp_path).json()
    assert [space["name"] for space in found["spaces"]] == ["simclr-glyphs-s9"]
    card = exemplar("spaces", "card", "simclr-glyphs-s9", "--from", "mine", "--json", cwd=tmp_path).json()
    assert (card["seed"], card["training"]["steps"], len(card["concepts"])) == (9, 2, 779)
    used = ("spaces", "encode", "simclr-glyphs-s9", "--from", "mine", "--data", drawings, "--json")
    assert exemplar(*used, cwd=tmp_path).json()["features"] == [12, 256]
    before = files(tmp_path)
    said = exemplar("spaces", "train", "simclr-glyphs-s9", "--steps", "1", "--out", "mine", cwd=tmp_path)
    assert "is trained for 2 steps already" in mistake(said)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("card", "protonet-omniglot"), "did you mean protonet-omniglot-s"),
        (("card", CRITIC, "--from", "nowhere"), f"there is no space '{CRITIC}'"),
        (("train", "protonet-glyphs9"), "there is no recipe 'protonet-glyphs9': did you mean protonet-glyphs"),
        (("train", "simclr-glyphs-s9", "--steps", "0"), "Invalid value for '--steps'"),
        (("train", "simclr-glyphs-s9", "--device", "gpu"), "there is no device 'gpu'"),
        (("train", "simclr-glyphs-s9", "--out", "/proc/nowhere"), "cannot be written"),
        (("encode", CRITIC), "Missing option '--data'"),
        (("encode", CRITIC, "--data", "DRAWINGS", "--layer", "featur"), "did you mean feature"),
        (("encode", CRITIC, "--data", "DRAWINGS", "--out", "features.csv"), "features are an npz"),
        (("encode", CRITIC, "--data", "DRAWINGS", "--out", "/proc/nowhere/f.npz"), "cannot be written"),
        (("encode", "efficientnet-lite0/blok03", "--data", "DRAWINGS"), "did you mean block03"),
        (("encode", "efficientnet-lite0/head", "--data", "DRAWINGS", "--layer", "head"), "leave --layer out"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    exemplar: Any, drawings: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    given = [str(drawings) if word == "DRAWINGS" else word for word in words]
    assert says in mistake(exemplar("spaces", *given, cwd=tmp_path, env={"EXEMPLAR_CACHE": str(tmp_path / "cache")}))
    assert not [name for name in files(tmp_path) if not name.startswith("cache")]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("words", [("train", "simclr-glyphs-s9"), ("encode", CRITIC, "--data", "glyphs")])
def test_asking_for_a_gpu_where_there_is_none(exemplar: Any, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "there is no GPU here" in mistake(exemplar("spaces", *words, "--device", "cuda", cwd=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("images", "says"),
    [
        (np.zeros((4, 20, 20, 3), np.uint8), "drawings have one channel"),
        (np.zeros((4, 20, 20, 4), np.uint8), "(4, 20, 20, 4)"),
        (np.zeros((4, 0, 0), np.uint8), "(4, 0, 0)"),
        (np.zeros((0, 20, 20), np.uint8), ""),
        (np.full((4, 20, 20), np.nan), "NaN"),
        (np.zeros((4, 400), np.uint8), "(4, 400)"),
    ],
    ids=["colour", "four channels", "no pixels", "no images", "NaN", "flat"],
)
def test_images_that_a_critic_cannot_see(exemplar: Any, tmp_path: Path, images: np.ndarray, says: str) -> None:
    np.savez(tmp_path / "wrong.npz", images=images, concept=np.array(list("abcd")[: len(images)], "U1"))
    said = exemplar("spaces", "encode", CRITIC, "--data", "wrong.npz", cwd=tmp_path)
    assert says in mistake(said)
    assert list(files(tmp_path)) == ["wrong.npz"]


@pytest.mark.parametrize("kind", ["truncated", "another architecture", "another space's", "no weights", "a cut card"])
def test_a_damaged_space_of_ones_own(exemplar: Any, drawings: Path, tmp_path: Path, kind: str) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(shipped() / "concepts", mine / "concepts")
    for ending in (".json", ".safetensors"):
        shutil.copy(shipped() / f"{CRITIC}{ending}", mine)
    weights, card = mine / f"{CRITIC}.safetensors", mine / f"{CRITIC}.json"
    match kind:
        case "truncated":
            weights.write_bytes(weights.read_bytes()[:-1000])
        case "another architecture":
            weights.write_bytes((shipped() / "simclr-quickdraw-s0.safetensors").read_bytes())
        case "another space's":
            weights.write_bytes((shipped() / "protonet-omniglot-s1.safetensors").read_bytes())
        case "no weights":
            weights.unlink()
        case "a cut card":
            card.write_text(card.read_text()[:500])
    said = exemplar("spaces", "encode", CRITIC, "--from", "mine", "--data", drawings, cwd=tmp_path)
    says = {"truncated": "damaged", "another architecture": "does not hold the weights of a conv4",
            "another space's": "does not belong to the card", "no weights": "no weights", "a cut card": "damaged"}  # fmt: skip
    assert says[kind] in mistake(said)
    assert not (tmp_path / "features.npz").exists()


@pytest.mark.long
def test_a_training_killed_at_any_moment_goes_on_to_the_same_weights(exemplar: Any, tmp_path: Path) -> None:
    env = {"EXEMPLAR_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    words = ["spaces", "train", "protonet-glyphs-s9", "--steps", "8", "--every", "2", "--device", "cpu", "--out"]
    whole = exemplar(*words, "whole", cwd=tmp_path, env=env)
    assert whole.code == 0 and whole.err == "", whole.err
    curve = tmp_path / "killed" / "training" / "protonet-glyphs-s9" / "curve.json"
    command = [sys.executable, "-c", "from exemplar.cli import main; main()", *words, "killed"]
    for n_seen in (1, 2):  # killed twice, each time a little after a checkpoint
        process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **env}, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 240
        while not curve.exists() or len(json.loads(curve.read_text())) < n_seen:
            assert process.poll() is None and time.monotonic() < deadline, "the training ended before it was killed"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "killed" / "protonet-glyphs-s9.safetensors").exists()
    assert len(json.loads(curve.read_text())) < 4
    resumed = exemplar(*words, "killed", cwd=tmp_path, env=env)
    assert resumed.code == 0
    about = [load_card("protonet-glyphs-s9", tmp_path / name) for name in ("whole", "killed")]
    assert about[0].curve == about[1].curve and len(about[0].curve) == 4
    one, other = (tmp_path / name / "protonet-glyphs-s9.safetensors" for name in ("whole", "killed"))
    assert one.read_bytes() == other.read_bytes()
    assert not list((tmp_path / "killed").rglob("*.part"))


def test_the_learning_curves_of_a_space_are_a_figure(exemplar, tmp_path):
    said = exemplar("spaces", "card", "wrn28-4-cifar-fs", "--figure", tmp_path / "curve.svg", "--json")
    picture = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert said.code == 0 and len(said.json()["curve"]) == 10
    assert picture.count("held out") >= 2 and "accuracy 5 shot" in picture and "turn loss" in picture
    assert "call curve.txt something.svg" in mistake(
        exemplar("spaces", "card", "wrn28-4-cifar-fs", "--figure", "curve.txt", cwd=tmp_path)
    )
