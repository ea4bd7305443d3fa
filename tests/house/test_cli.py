"""The command line as a user meets it, with right and wrong words."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from conftest import mistake
from exemplar.cli import list_groups
from exemplar.errors import UserError, shortened, unknown
from exemplar.images import sources
from exemplar.images.catalogue import CATALOGUE

NO_DATA = {"EXEMPLAR_DATA": None, "EXEMPLAR_CACHE": "/nonexistent/cache"}


def test_help_names_the_commands(exemplar):
    said = exemplar("--help", alone=True)
    assert said.code == 0 and "--debug" in said.out
    named = re.findall(r"^\W*([a-z-]+)\s{2,}", said.out, re.MULTILINE)
    assert {group.name for group in list_groups()} | {"tour"} <= set(named)


def test_data_list_says_what_is_here(exemplar):
    rows = {row["name"]: row for row in exemplar("data", "list", "--json", env=NO_DATA, alone=True).json()["data"]}
    assert set(rows) == {
        "glyphs",
        "objects",
        "omniglot",
        "quickdraw",
        "quickdraw-bitmaps",
        "quickdraw-fs",
        "cifar-fs",
        "fc100",
        "slimagenet64",
    }
    assert rows["glyphs"]["here"] and not rows["omniglot"]["here"]
    assert "weak-test" in rows["omniglot"]["splits"]


def test_glyphs_need_no_data_at_all(exemplar):
    about = exemplar("data", "show", "glyphs", "--split", "weak-test", "--json", env=NO_DATA).json()
    assert (about["concepts"], about["drawings"]) == (90, 1800)
    train = exemplar("data", "show", "glyphs", "--split", "weak-train", "--json", env=NO_DATA).json()
    assert (train["concepts"], train["drawings"]) == (779, 15580)


@pytest.mark.parametrize(("split", "concepts", "drawings"), [("weak-test", 150, 3000), ("weak-train", 1473, 29460)])
def test_omniglot_has_the_counts_of_the_papers(exemplar, real_data, split, concepts, drawings):
    real_data("omniglot")
    about = exemplar("data", "show", "omniglot", "--split", split, "--json").json()
    assert (about["concepts"], about["drawings"]) == (concepts, drawings)


def test_a_sheet_is_a_picture_of_the_size_asked_for(exemplar, tmp_path):
    said = exemplar("data", "sheet", "glyphs", "--concepts", "3", "--each", "4", "--out", tmp_path / "a.png", "--json")
    assert json.loads(said.out)["sheet"] == str(tmp_path / "a.png")
    exemplar("data", "sheet", "glyphs", "--concepts", "3", "--each", "4", "--out", tmp_path / "b.png")
    with Image.open(tmp_path / "a.png") as sheet:
        assert sheet.size == (4 + 4 * 109, 4 + 3 * 126)
        ink = np.asarray(sheet.convert("L")) < 60
    assert 0.01 < ink.mean() < 0.2
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_ones_own_folder_of_images_works(exemplar, tmp_path):
    rng = np.random.default_rng(0)
    for concept in ("cat", "dog"):
        (tmp_path / "mine" / concept).mkdir(parents=True)
        for k in range(3):
            Image.fromarray(rng.integers(0, 256, (20, 20, 3), np.uint8)).save(tmp_path / "mine" / concept / f"{k}.png")
    about = exemplar("data", "show", tmp_path / "mine", "--json").json()
    assert (about["concepts"], about["images"], about["shape"]) == (2, 6, [20, 20, 3])
    assert "drawings" not in about
    assert (
        exemplar("data", "sheet", tmp_path / "mine", "--concepts", "2", "--each", "3", "--out", tmp_path / "s.png").code
        == 0
    )


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("data", "show", "omniglott"), "did you mean omniglot?"),
        (
            ("data", "show", "glyphs", "--split", "weak-tset"),
            "there is no split of glyphs 'weak-tset': did you mean weak-test",
        ),
        (("data", "show", "glyphs", "--size", "0"), "size must be at least 1, got 0."),
        (("data", "show"), "Missing argument"),
        (("data", "shwo", "glyphs"), "No such command 'shwo'"),
        (("data", "show", "glyphs", "--splat", "x"), "No such option: --splat"),
        (
            ("data", "sheet", "glyphs", "--concepts", "5000"),
            "needs 5000 concepts of at least 10 images, glyphs/weak-test has 90",
        ),
        (("data", "sheet", "glyphs", "--out", "sheet.bmp"), "A sheet is a .png file"),
        (("data", "sheet", "glyphs", "--out", "/proc/nowhere/sheet.png"), "cannot be written"),
        (("data", "fetch", "glyphs"), "needs no fetching"),
        (("data", "fetch", "imagenet"), "there is no data set 'imagenet'"),
        (("runs", "show", "nowhere"), "is no run folder"),
        (("runs", "list", "nowhere"), "there is no folder nowhere"),
        (("tour", "--engine", "cloud"), "there is no engine 'cloud'"),
        (("tour", "--address", "here:1"), "--address belongs to --engine ray"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(exemplar, tmp_path, words, part):
    said = exemplar(*words, cwd=tmp_path)
    assert part in mistake(said)
    assert not list(tmp_path.iterdir())


def test_debug_shows_the_traceback(exemplar):
    said = exemplar("data", "show", "omniglott", "--debug")
    assert said.code == 2 and "Traceback" in said.err


def test_what_is_not_on_the_machine_says_how_to_get_it(exemplar, tmp_path):
    nobody = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "EXEMPLAR_CACHE": str(tmp_path)}
    sentence = mistake(exemplar("data", "show", "omniglot", env={**NO_DATA, **nobody}))
    assert "run `exemplar data fetch omniglot` again later" in sentence
    assert f"or put images_background.zip into {tmp_path / 'omniglot'} by hand" in sentence


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.found])
def test_data_that_is_not_here_is_named_with_the_command_that_fetches_it(exemplar, tmp_path, monkeypatch, name):
    def fail(*_, again: str, **__):
        raise UserError(f"no network: {again}")

    monkeypatch.setattr(sources, "fetch", fail)
    env = {**NO_DATA, "EXEMPLAR_CACHE": str(tmp_path)}
    assert f"exemplar data fetch {name}" in mistake(exemplar("data", "show", name, env=env))


def test_the_tour_tells_a_newcomer_what_this_is(exemplar, tmp_path):
    said = exemplar("tour", "--out", "tour", "--json", cwd=tmp_path, env=NO_DATA)
    assert said.code == 0, said.err
    page = (tmp_path / "tour" / "index.html").read_text(encoding="utf-8")
    assert "What can you do after seeing something once?" in page and len(re.findall("<figure[ >]", page)) >= 4
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(http|//)""", page)  # one file that needs no network
    before = {p.name: p.read_bytes() for p in (tmp_path / "tour" / "images").iterdir()}
    assert exemplar("tour", "--out", "tour", cwd=tmp_path, env=NO_DATA).code == 0
    assert {p.name: p.read_bytes() for p in (tmp_path / "tour" / "images").iterdir()} == before
    listed = exemplar("runs", "list", "--json", cwd=tmp_path).json()["runs"]
    assert [run["provenance"]["state"] for run in listed] == ["finished"] * len(said.json()["rooms"])
    shown = exemplar("runs", "show", "tour/images", "--json", cwd=tmp_path).json()
    accuracy = [score["value"] for score in shown["scores"]]
    assert accuracy == sorted(accuracy, reverse=True)  # hands that vary more are harder to read
    assert accuracy[0] > 0.8 and accuracy[-1] > 1 / 20  # which is chance
    assert "accuracy" in exemplar("runs", "show", "tour/images", cwd=tmp_path).out


def test_a_tour_into_somebody_elses_folder_is_refused(exemplar, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "holiday.jpg").write_bytes(b"")
    assert "is not empty and holds no run" in mistake_after_progress(exemplar("tour", "--out", tmp_path))


def mistake_after_progress(said) -> str:
    assert said.code == 2
    return said.err.strip().splitlines()[-1]


def test_errors_offer_near_names():
    assert str(unknown("split", "weak", ["weak-test", "weak-train"])).endswith("did you mean weak-test or weak-train?")
    assert str(unknown("split", "xyz", ["a", "b"])) == "there is no split 'xyz': there are a, b"
    assert shortened(range(10), most=3) == "0, 1, 2 and 7 more" and shortened([]) == "none"
    assert issubclass(UserError, Exception)


def test_a_name_no_file_system_takes_is_no_data_set(exemplar):
    assert "there is no data set, folder or file" in mistake(exemplar("data", "show", "a" * 300))


def test_who_is_stopped_is_told_that_what_is_done_is_kept(tmp_path):
    command = [sys.executable, "-c", "from exemplar.cli import main; main()", "tour", "--out", str(tmp_path / "tour")]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stderr is not None
    for _ in range(2):
        running.stderr.readline()  # the second chapter has begun
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=900)
    assert running.returncode == 130 and "the same command resumes there" in said


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("spaces", "encode", "simclr-glyphs-s0", "--data", "glyphs", "--out"), "x.npz"),
        (("draw", "compare", "copies", "--data", "glyphs", "--html"), "x.html"),
        (("results", "page", "--out"), "x.md"),
        (("learn", "objects", "--objects", "4", "--views", "2", "--out"), "x.npz"),
    ],
)
def test_a_place_where_no_file_can_be_is_refused_before_anything_long_begins(
    words, place, tmp_path, exemplar, monkeypatch
):
    for long_work in (
        "exemplar.images.catalogue.load",
        "exemplar.results.computing.compute",
        "exemplar.images.objects.load_objects",
    ):
        monkeypatch.setattr(long_work, lambda *_, **__: pytest.fail("something long began"))
    (tmp_path / "file").write_text("mine")
    assert "cannot be written (Not a directory)" in mistake(exemplar(*words, str(tmp_path / "file" / place)))
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / place).mkdir()
    said = mistake(exemplar(*words, str(tmp_path / place)))
    assert any(sentence in said for sentence in ("is a folder", "is there already", "already exists"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["file", place])
