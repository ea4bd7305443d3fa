"""`exemplar spaces` as a user meets it: listed, read, trained, killed, resumed, and used; with right and wrong input."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import mistake
from exemplar import seeds
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.projection import PROJECTIONS
from exemplar.spaces.recipes import RECIPES, list_recipes, make_images
from exemplar.spaces.room import ROOM
from exemplar.spaces.space import PixelSpace
from exemplar.spaces.verbs import format_card_scores
from exemplar.spaces.weight_files import PACKED
from exemplar.spaces.zoo import list_spaces, load_card, load_space, shipped

CRITIC = "protonet-omniglot-s0"
LONG = 300 * "a"  # no file can be called this


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
    assert found["recipes"] == list(list_recipes()) and {*RECIPES} < {*list_recipes()} and len(found["stages"]) >= 60
    text = exemplar("spaces", "list").out
    assert all(name in text for name in list_spaces()) and "efficientnet-lite0/" in text
    layer = {space["name"]: space["layer"] for space in found["spaces"]}
    assert layer[CRITIC] == "feature" and layer["maml-omniglot-released-s0"] is None  # which encode would refuse
    (maml,) = (line for line in text.splitlines() if line.startswith("maml-omniglot-released-s0"))
    assert "adapted to tasks" in maml and "feature" not in maml


def test_a_damaged_card_hides_no_other(exemplar: Any, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", "protonet-omniglot-s1"
    shutil.copytree(shipped() / "concepts", mine / "concepts")
    for name in (CRITIC, other):
        for ending in (".json", PACKED):
            shutil.copy(shipped() / f"{name}{ending}", mine)
    (mine / f"{CRITIC}.json").write_text("{")
    said = exemplar("spaces", "list", "mine", "--json", cwd=tmp_path)
    assert (said.code, said.err) == (0, "")
    damaged, whole = said.json()["spaces"]
    assert damaged.keys() == {"name", "problem"} and damaged["name"] == f"mine/{CRITIC}"
    assert damaged["problem"].startswith(f"the card mine/{CRITIC}.json is damaged (")
    assert whole["name"] == f"mine/{other}" and whole["scores"] == load_card(other).scores
    lines = exemplar("spaces", "list", "mine", cwd=tmp_path).out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == [damaged["name"], whole["name"]]
    assert lines[2].endswith(damaged["problem"])


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"held_out_accuracy": 0.998, "held_out_accuracy_se": 0.002}, "accuracy 0.998 [0.994, 1.000]"),
        ({"accuracy_random": 0.001, "accuracy_random_se": 0.002}, "accuracy_random 0.001 [0.000, 0.005]"),
        ({"accuracy": 1.0, "accuracy_se": 0.0}, "accuracy 1.000 [1.000, 1.000]"),
        ({"accuracy": 0.5, "loss": 1.25}, "accuracy 0.500, loss 1.250"),
        ({"loss": 1.5, "loss_se": 0.5}, "loss 1.500 [0.520, 2.480]"),  # what is no accuracy may be above 1
        ({}, ""),
    ],
)
def test_scores_are_given_with_intervals_that_can_be(scores: dict[str, float], words: str) -> None:
    assert format_card_scores(scores) == words


def test_a_card_is_shown_short_and_whole(exemplar: Any) -> None:
    assert "1473, see --json" in exemplar("spaces", "card", CRITIC).out
    card = exemplar("spaces", "card", CRITIC, "--json").json()
    assert len(card["concepts"]) == 1473 and card["scores"] == load_card(CRITIC).scores


def test_drawings_of_ones_own_are_encoded(exemplar: Any, drawings: Path, tmp_path: Path) -> None:
    env = {"EXEMPLAR_CACHE": str(tmp_path / "cache")}
    words = ("spaces", "encode", CRITIC, "--data", drawings, "--device", "cpu")
    said = exemplar(*words, "--out", tmp_path / "one.npz", "--json", env=env)
    assert said.err == "" and said.json()["features"] == [12, 256] and said.json()["projection"] == "none"
    with np.load(tmp_path / "one.npz") as one, np.load(drawings) as own:
        np.testing.assert_array_equal(one["concept"], own["concept"])
        wanted = load_space(CRITIC).encode(own["images"], device="cpu")
        np.testing.assert_allclose(one["features"], wanted, atol=1e-5 * np.abs(wanted).max())
    again = exemplar(*words, "--out", "two.npz", cwd=tmp_path, env=env)  # kept features this time
    assert again.out == f"two.npz: 12 × 256 features of drawings in {CRITIC}\n"
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    said = exemplar(*words, "--layer", "last", "--out", tmp_path / "last.npz", "--json", env=env)
    assert said.json()["features"] == [12, 128]


def test_stages_of_pretrained_networks_encode_too(exemplar: Any, drawings: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "stage.npz", ("spaces", "encode", "efficientnet-lite0/block03", "--data", drawings)
    said = exemplar(*words, "--out", out, "--json", env={"EXEMPLAR_CACHE": str(tmp_path / "cache")})
    assert said.json()["features"] == [12, 2048]


def test_a_projection_is_said_and_can_be_chosen(exemplar: Any, drawings: Path, tmp_path: Path) -> None:
    def encode(name: str, *words: str) -> Any:
        return exemplar(
            *("spaces", "encode", name, "--data", drawings, "--out", tmp_path / f"{len(words)}.npz", *words),
            env={"EXEMPLAR_CACHE": str(tmp_path / "cache")},
        )

    wide = "efficientnet-lite0/block15"  # of 320 × 7 × 7
    assert "12 × 2048 features" in (text := encode(wide).out) and "a sparse random projection of 15,680" in text
    found = {}
    for projection in ("sparse", "dense", "none"):
        said = encode(wide, "--projection", projection, "--json").json()
        assert said["projection"] == projection
        with np.load(said["file"]) as file:
            found[projection] = file["features"]
    assert [features.shape[1] for features in found.values()] == [2048, 2048, 15_680]
    assert not np.allclose(found["sparse"], found["dense"])
    for projection in ("sparse", "dense"):
        wanted = PROJECTIONS[projection].draw(15_680)(torch.from_numpy(found["none"])).numpy()
        np.testing.assert_allclose(found[projection], wanted, atol=1e-4 * np.abs(wanted).max())
    narrow = encode("efficientnet-lite0/head", "--json").json()
    assert (narrow["projection"], narrow["features"]) == ("none", [12, 1280])


def test_an_encoding_that_was_stopped_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path))
    images = ConceptSet.of("many", (seeds.rng("many").random((1100, 6, 6)) < 0.3).astype(np.uint8) * 255, ["c"] * 1100)
    calls: list[int] = []

    class Stopped(PixelSpace):
        def encode(self, images: Any, *, device: str = "auto") -> np.ndarray:
            calls.append(len(images))
            if len(calls) == 2:
                raise KeyboardInterrupt
            return super().encode(images, device=device)

    space = Stopped(DrawingInput((6, 6)))
    with pytest.raises(KeyboardInterrupt):
        encode_kept(space, images, device="cpu")
    assert len(list((tmp_path / "features" / "parts").iterdir())) == 1
    found = encode_kept(space, images, device="cpu")
    assert calls == [512, 512, 512, 76]  # the first part is not computed again
    np.testing.assert_array_equal(found, images.images.reshape(1100, -1) / 255)
    assert not list((tmp_path / "features" / "parts").iterdir())
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "file"))  # nothing can be kept there, which costs no result
    np.testing.assert_array_equal(encode_kept(space, images, device="cpu"), found)


@pytest.mark.parametrize("name", [CRITIC, "efficientnet-lite0/stem"])
def test_encoding_shows_how_far_it_is_on_a_terminal(tmp_path: Path, name: str) -> None:
    images = (seeds.rng("many").random((513, 6, 6)) < 0.3).astype(np.uint8) * 255
    np.savez(tmp_path / "many.npz", images=images, concept=np.array(["c"] * 513))
    screen, terminal = pty.openpty()
    words = ["spaces", "encode", name, "--data", "many.npz", "--device", "cpu"]
    command = [sys.executable, "-c", "from exemplar.cli import main; main()", *words]
    env = {**os.environ, "EXEMPLAR_CACHE": str(tmp_path / "cache"), "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=terminal, text=True
    ) as process:
        os.close(terminal)
        shown = b""
        with suppress(OSError):  # how a terminal that everybody has left ends
            while part := os.read(screen, 1000):
                shown += part
        assert process.wait() == 0 and process.stdout is not None
        assert process.stdout.read().startswith("features.npz: 513 × ")
    os.close(screen)
    assert f"encoding 513 images in {name}" in shown.decode() and "/2" in shown.decode()  # of two parts


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


@pytest.mark.long
def test_a_space_is_trained_listed_and_used(
    exemplar: Any, drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exemplar.spaces.recipes.make_images", cache(make_images))  # made once for the three commands
    words = ("spaces", "train", "simclr-glyphs-s9", "--steps", "2", "--device", "cpu", "--out", "mine", "--json")
    said = exemplar(*words, cwd=tmp_path)
    assert said.code == 0 and said.err == "", said.err  # no library talks
    last = said.json()
    assert last["step"] == 2 and 0 < last["held_out_accuracy_random"] < 1 and "held_out_accuracy_random_se" in last
    text = exemplar(*words[:-1], cwd=tmp_path).out  # trained already: nothing is done again
    assert format_card_scores(load_card("simclr-glyphs-s9", tmp_path / "mine").scores) in text
    assert "_se" not in text and "held_out_" not in text
    (tmp_path / "mine" / "package.json").write_text('{"name": "somebody else\'s"}')
    found = exemplar("spaces", "list", "mine/", "--json", cwd=tmp_path).json()
    assert [space["name"] for space in found["spaces"]] == ["mine/simclr-glyphs-s9"]
    card = exemplar("spaces", "card", "mine/simclr-glyphs-s9", "--json", cwd=tmp_path).json()
    assert (card["seed"], card["training"]["steps"], len(card["concepts"])) == (9, 2, 779)
    used = ("spaces", "encode", "mine/simclr-glyphs-s9", "--data", drawings, "--json")
    assert exemplar(*used, cwd=tmp_path).json()["features"] == [12, 256]
    before = files(tmp_path)
    said = exemplar("spaces", "train", "simclr-glyphs-s9", "--steps", "1", "--out", "mine", cwd=tmp_path)
    assert "is trained for 2 steps already" in mistake(said)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("card", "protonet-omniglot"), "did you mean protonet-omniglot-s"),
        (("card", f"nowhere/{CRITIC}"), "there is no folder nowhere, and no pretrained network"),
        (("card", "efficientnet-lite0/head"), "has no card: it is a pretrained network or a stage of one"),
        (("list", "nowhere"), "there is no folder nowhere"),
        (("list", ""), "The folder name is empty: give one, or omit it to use the default."),
        (("train", "simclr-glyphs-s9", "--steps", "1", "--out", ""), "The folder name is empty"),
        (("train", "protonet-glyphs9"), "there is no recipe 'protonet-glyphs9': did you mean protonet-glyphs"),
        (("train", "simclr-glyphs-s9", "--steps", "0"), "steps must be at least 1, got 0."),
        (("train", "simclr-glyphs-s9", "--device", "gpu"), "there is no device 'gpu'"),
        (("train", "simclr-glyphs-s9", "--out", "/proc/nowhere"), "cannot be written"),
        (("encode", CRITIC), "Missing option '--data'"),
        (("encode", CRITIC, "--data", "DRAWINGS", "--layer", "featur"), "did you mean feature"),
        (
            ("encode", CRITIC, "--data", "DRAWINGS", "--out", "features.csv"),
            "A file of features is an .npz file: rename features.csv to end with .npz.",
        ),
        (("encode", CRITIC, "--data", "DRAWINGS", "--out", "/proc/nowhere/f.npz"), "cannot be written"),
        (("encode", CRITIC, "--data", "DRAWINGS", "--out", f"{LONG}.npz"), "cannot be written (File name too long)"),
        (
            ("encode", "efficientnet-lite0", "--data", "DRAWINGS"),
            "write NETWORK/LAYER, as in efficientnet-lite0/block03; its",
        ),
        (("encode", "efficientnet-lite0/blok03", "--data", "DRAWINGS"), "did you mean block03"),
        (("encode", "efficientnet-lite0/head", "--data", "DRAWINGS", "--layer", "head"), "leave --layer out"),
        (("encode", "efficientnet-lite9/head", "--data", "DRAWINGS"), "did you mean efficientnet-lite"),
        (("encode", "eficientnet-lite0/head", "--data", "DRAWINGS"), "did you mean efficientnet-lite0"),
        (("encode", "efficientnet-lite9", "--data", "DRAWINGS"), "did you mean efficientnet-lite"),
        (
            ("encode", "efficientnet-lite0/head", "--data", "DRAWINGS", "--projection", "spars"),
            "there is no projection 'spars': did you mean sparse?",
        ),
        (("encode", CRITIC, "--data", "DRAWINGS", "--projection", "none"), "leave --projection out"),
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
        (np.zeros((0, 20, 20), np.uint8), "wrong.npz holds no images"),
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


@pytest.mark.parametrize(
    "kind", ["truncated", "another network's", "another space's", "no weights", "a cut card", "conv4"]
)
def test_a_damaged_space_of_ones_own(exemplar: Any, drawings: Path, tmp_path: Path, kind: str) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(shipped() / "concepts", mine / "concepts")
    for ending in (".json", PACKED):
        shutil.copy(shipped() / f"{CRITIC}{ending}", mine)
    weights, card = mine / f"{CRITIC}{PACKED}", mine / f"{CRITIC}.json"
    match kind:
        case "truncated":
            weights.write_bytes(weights.read_bytes()[:-1000])
        case "another network's":
            weights.write_bytes((shipped() / f"simclr-quickdraw-nearest-s0{PACKED}").read_bytes())
        case "another space's":
            weights.write_bytes((shipped() / f"protonet-omniglot-s1{PACKED}").read_bytes())
        case "no weights":
            weights.unlink()
        case "a cut card":
            card.write_text(card.read_text()[:500])
        case "conv4":  # whose weights have the same names and shapes
            card.write_text(card.read_text().replace('"conv4-linear"', '"conv4"'))
    said = exemplar("spaces", "encode", f"mine/{CRITIC}", "--data", drawings, cwd=tmp_path)
    says = {"truncated": "damaged", "no weights": "no weights", "a cut card": "damaged"}
    assert says.get(kind, "do not belong together") in mistake(said)
    assert not (tmp_path / "features.npz").exists()


@pytest.mark.long
def test_a_training_killed_at_any_moment_resumes_to_the_same_weights(exemplar: Any, tmp_path: Path) -> None:
    env = {"EXEMPLAR_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    words = ["spaces", "train", "protonet-glyphs-s9", "--steps", "8", "--every", "2", "--device", "cpu", "--out"]
    whole = exemplar(*words, "whole", cwd=tmp_path, env=env)
    assert whole.code == 0 and whole.err == "", whole.err
    curve = tmp_path / "killed" / "training" / "protonet-glyphs-s9" / "curve.json"
    command = [sys.executable, "-c", "from exemplar.cli import main; main()", *words, "killed"]
    for n_seen in (1, 2):  # killed twice, each time a little after a checkpoint
        process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **env}, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 900
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


def test_the_learning_curves_of_a_space_are_a_figure(exemplar: Any, tmp_path: Path) -> None:
    said = exemplar("spaces", "card", "wrn28-4-cifar-fs", "--figure", tmp_path / "curve.svg", "--json")
    picture = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert said.code == 0 and len(said.json()["curve"]) == 10
    assert picture.count("held out") >= 2 and "accuracy 5 shot" in picture and "turn loss" in picture
    assert "A figure of learning curves is an .svg file: rename curve.txt to end with .svg." in mistake(
        exemplar("spaces", "card", "wrn28-4-cifar-fs", "--figure", "curve.txt", cwd=tmp_path)
    )
    shutil.copytree(shipped() / "concepts", tmp_path / "concepts")
    page = json.loads((shipped() / f"{CRITIC}.json").read_text())
    for curve in ([], [{"step": 1, "loss_se": 2.0}]):
        (tmp_path / f"{CRITIC}.json").write_text(json.dumps({**page, "curve": curve}))
        said = exemplar("spaces", "card", f"./{CRITIC}", "--figure", "none.svg", cwd=tmp_path)
        assert "has no learning curve" in mistake(said) and not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("protonet-glyphs-s" + "9" * 5000, "99999999999999999999… is no seed of protonet-glyphs"),
        ("protonet-glyphs-s" + "9" * 250, "is no seed of protonet-glyphs"),
        ("simclr-glyphs-s00", "00 is no seed of simclr-glyphs: write a whole number below 4294967296, without leading"),
        ("conv4-64-cifar-fs", "EXEMPLAR_DATA names"),
    ],
    ids=["5000 digits", "250 digits", "leading zeros", "no data"],
)
def test_a_training_that_cannot_begin_leaves_no_folder(exemplar: Any, tmp_path: Path, name: str, says: str) -> None:
    env = {"EXEMPLAR_DATA": str(tmp_path / "nowhere"), "EXEMPLAR_CACHE": str(tmp_path / "cache")}
    assert says in mistake(exemplar("spaces", "train", name, "--out", "mine", cwd=tmp_path, env=env))
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("words", "place", "kept", "sentence"),
    [
        (["spaces", "list"], "exemplar.spaces.verbs.list_known", True, "exemplar: stopped\n"),
        (
            ["spaces", "train", "simclr-glyphs", "--debug"],
            "exemplar.spaces.verbs.train_by_recipe",
            True,
            "exemplar: stopped; what was done so far is kept, and the same command resumes there\n",
        ),
        (
            ["spaces", "train", "simclr-glyphs"],
            "exemplar.spaces.verbs.train_by_recipe",
            False,
            "exemplar: stopped\n",
        ),
    ],
    ids=["keeps nothing", "resumes", "stopped too early"],
)
def test_ctrl_c_promises_only_what_the_command_keeps(
    tmp_path: Path, words: list[str], place: str, kept: bool, sentence: str
) -> None:
    module, _, function = place.rpartition(".")
    code = (
        f"import sys, {module} as module\n"
        "from exemplar import progress\n"
        f"def pressed(*given, **named):\n    {'progress.note_kept()' if kept else ''}\n    raise KeyboardInterrupt\n"
        f"module.{function} = pressed\n"
        "from exemplar.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path, timeout=900
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", sentence)


def test_what_resumes_after_ctrl_c_is_a_command() -> None:
    assert set(ROOM.resumes) <= set(ROOM.commands)


@pytest.mark.long
@pytest.mark.parametrize("devices", [1, 2])
def test_a_training_stopped_before_its_first_checkpoint_resumes(exemplar: Any, tmp_path: Path, devices: int) -> None:
    """Ctrl-C in a terminal, as soon as the bar is there: only the process itself gets it here, and tells the others."""
    env = {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    words = f"spaces train simclr-glyphs-s9 --steps 6 --device cpu --devices {devices} --out".split()
    whole = exemplar(*words, "whole", cwd=tmp_path, env=env)
    assert whole.code == 0 and whole.err == "", whole.err
    command = [sys.executable, "-c", "from exemplar.cli import main; main()", *words, "stopped"]
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"1/6 steps" not in shown:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # a terminal that nobody writes to any more
        while chunk := os.read(ours, 4096):
            shown += chunk
    assert process.wait(timeout=900) == 130
    assert shown.endswith(
        b"\r\nexemplar: stopped; what was done so far is kept, and the same command resumes there\r\n"
    )
    assert (tmp_path / "stopped" / "training" / "simclr-glyphs-s9" / "checkpoint.pt").exists()
    assert exemplar(*words, "stopped", cwd=tmp_path, env=env).code == 0
    about = [load_card("simclr-glyphs-s9", tmp_path / name) for name in ("whole", "stopped")]
    assert about[0].curve == about[1].curve
    one, other = (tmp_path / name / "simclr-glyphs-s9.safetensors" for name in ("whole", "stopped"))
    assert one.read_bytes() == other.read_bytes()
