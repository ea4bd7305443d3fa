"""`exemplar draw` as a user meets it: one command from drawings to scores, and from scores to a page."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from conftest import Said, mistake
from exemplar.cli import main
from exemplar.draw import scoring
from exemplar.draw.agents import make_agent
from exemplar.draw.critics import load_critics
from exemplar.draw.drawings import read_drawings, sample_drawings, stack
from exemplar.draw.scores import ScoreConfig
from exemplar.draw.scoring import compute_scores
from exemplar.draw.tasks import DrawingTask, make_task, own_drawings
from exemplar.images.catalogue import load
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Drawings, Scores
from exemplar.spaces import encoding

Run = Callable[..., Said]
CRITICS = ("--see", "simclr-glyphs-s0", "--recognise", "protonet-glyphs-s0")
QUICK = ScoreConfig(n_replicates=50)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(autouse=True)
def in_one_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All work in one folder, as a user would: what one test has scored, another finds there."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(place / "cache"))
    monkeypatch.setattr("sys.path", [*sys.path])


@pytest.fixture
def draw(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """draw("score", …): the command line, here in this process, since most of its time is starting."""

    def run(*words: str | Path) -> Said:
        monkeypatch.setattr("sys.argv", ["exemplar", "draw", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return Said(int(end.value.code or 0), said.out, said.err)

    return run


@pytest.fixture(scope="session")
def glyphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An npz of a user's own: 24 characters by five drawers each."""
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=8, characters=4, drawers=5, size=50))
    path = tmp_path_factory.mktemp("data") / "mine.npz"
    concept, maker = (np.array(labels.names)[labels.code] for labels in (data.concept, data.maker))
    np.savez(path, images=data.images, concept=concept, maker=maker)
    return path


@pytest.fixture
def asked(glyphs: Path) -> tuple[str, ...]:
    return ("--data", str(glyphs), "--exemplar", "drawer:drawer01", *CRITICS)


@pytest.fixture
def task(glyphs: Path) -> DrawingTask:
    return make_task(load(str(glyphs)), exemplar="drawer:drawer01")


def save(path: Path, drawings: Drawings, images: np.ndarray | None = None) -> Path:
    np.savez(path, images=drawings.image if images is None else images, concept=drawings["concept"].to_numpy(str))
    return path


def files(folder: Path) -> dict[str, bytes]:
    """What is in a folder, but for when and how long."""
    skipped = ("provenance.json", ".lock")
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in skipped}


def test_copies_are_known_beforehand(draw: Run, asked: tuple[str, ...]) -> None:
    found = draw("score", "copies", *asked, "--json").json()
    assert found["diversity"]["value"] == 0 and found["originality"]["value"] == pytest.approx(0, abs=1e-6)
    assert found["recognizability_20_way"]["value"] == 1 and found["recognizability_all_way"]["value"] == 1
    assert (found["data"], found["split"], found["exemplar"]) == ("mine", None, "drawer drawer01")
    assert (found["agent"], found["n"], found["concepts"]) == ("copies", 4, 24)
    assert found["critics"] == {"see": ["simclr-glyphs-s0"], "recognise": ["protonet-glyphs-s0"]}
    assert found["seconds"] > 0 and any("diversity is 0" in sentence for sentence in found["warnings"])
    for name in ("diversity", "recognizability_20_way", "originality", "copy_rate"):
        assert set(found[name]) == {"value", "ci95", "n"}


def test_the_table_says_what_the_json_says_and_the_second_time_computes_nothing(
    draw: Run, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = draw("score", "human", *asked, "--json").json()
    monkeypatch.setattr(scoring, "compute_scores", lambda *a, **k: pytest.fail("computed again"))
    again = draw("score", "human", *asked)
    assert again.code == 0 and found["run"] in again.out and "centre" not in again.out
    for name in ("diversity", "recognizability_20_way"):
        (line,) = [line for line in again.out.splitlines() if line.startswith(f"{name} ")]
        assert f"{found[name]['value']:.4f}" in line
    assert "exemplar: warning: the generalization curve" in again.err


def test_a_run_holds_what_was_judged_and_can_be_judged_again(
    draw: Run, asked: tuple[str, ...], task: DrawingTask
) -> None:
    folder = Path(draw("score", "human", *asked, "--out", "run", "--json").json()["run"])
    assert Drawings.load(folder) == own_drawings(task) and len(Scores.load(folder)) > 24
    with np.load(folder / "scored.npz") as kept:
        assert kept["originality"].shape == kept["recognised"].shape == (24, 4)
        np.testing.assert_array_equal(kept["exemplars"], task.exemplars)
        np.testing.assert_array_equal(kept["drawings"], stack(own_drawings(task), task))
    again = draw("score", folder, *asked, "--json").json()
    assert again["run"] == draw("score", "human", *asked, "--json").json()["run"]  # it is the same drawings


def test_a_folder_of_another_run_is_refused(draw: Run, asked: tuple[str, ...]) -> None:
    assert draw("score", "human", *asked, "--out", "run").code == 0
    before = files(Path("run"))
    assert "run holds another run (config.agent is 'people' there" in mistake(
        draw("score", "copies", *asked, "--out", "run")
    )
    assert "holds another run" in mistake(draw("score", "human", *asked, "--n", "3", "--out", "run"))
    assert files(Path("run")) == before


def test_a_killed_run_resumes_and_ends_the_same(
    task: DrawingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after the first part of the drawings; its features are kept, and the tables come out byte for byte."""
    critics = load_critics("glyphs", see=["simclr-glyphs-s0"], recognise=["protonet-glyphs-s0"])
    drawings = sample_drawings(make_agent("noise", task), task)
    monkeypatch.setattr(encoding, "PART", 32)
    whole = scoring.score_drawings(drawings, task, critics, QUICK, out=tmp_path / "whole")
    encode, encoded = encoding.encode_networks, list[np.ndarray]()

    def stopped(spaces: Any, images: np.ndarray, **options: Any) -> Any:
        if len(encoded) == 1:
            encoded.append(images)
            raise KeyboardInterrupt
        encoded.append(images)
        return encode(spaces, images, **options)

    monkeypatch.setattr(encoding, "encode_networks", stopped)
    with pytest.raises(KeyboardInterrupt):
        scoring.score_drawings(drawings, task, critics, QUICK, out=tmp_path / "run")
    assert not (tmp_path / "run" / "scores.parquet").exists()
    scoring.score_drawings(drawings, task, critics, QUICK, out=tmp_path / "run")
    first, again = encoded[0], {image.tobytes() for images in encoded[2:] for image in images}
    assert len(first) == 32 and not {image.tobytes() for image in first} & again
    drawn = {image.tobytes() for image in drawings.image}
    assert len(drawn & again) == len(drawings) - 32
    assert files(tmp_path / "run") == files(whole)


def test_watching_a_space_changes_nothing_it_sees(task: DrawingTask, tmp_path: Path) -> None:
    critics = load_critics("glyphs", see=["simclr-glyphs-s0"], recognise=["protonet-glyphs-s0"])
    plain = compute_scores(own_drawings(task), task, critics, QUICK)
    folder = scoring.score_drawings(own_drawings(task), task, critics, QUICK, out=tmp_path / "run")
    assert Scores.load(folder) == plain.scores


def test_three_lines_of_python_do_what_the_command_does(draw: Run, asked: tuple[str, ...], task: DrawingTask) -> None:
    path = save(Path("mine.npz"), own_drawings(task))
    found = draw("score", path, *asked, "--json").json()
    critics = load_critics("mine", see=["simclr-glyphs-s0"], recognise=["protonet-glyphs-s0"])
    judged = compute_scores(read_drawings(path, task), task, critics)
    overall = {s.name: s.json() for s in judged.scores if not s.concept and not s.space}
    assert overall == {name: found[name] for name in overall} and found["agent"] == "mine"


def test_a_function_in_a_file_is_scored(draw: Run, asked: tuple[str, ...]) -> None:
    Path("lazy.py").write_text("def again(exemplars, n, rng):\n    return exemplars[:, None].repeat(n, axis=1)\n")
    found = draw("score", "lazy.py:again", *asked, "--json").json()
    assert found["agent"] == "lazy.again" and found["diversity"]["value"] == 0
    named = draw("score", "lazy:again", *asked, "--agent", "mine", "--json").json()
    assert named["agent"] == "mine" and named["diversity"] == found["diversity"]


def test_wrong_polarity_is_said_and_mended(draw: Run, asked: tuple[str, ...], task: DrawingTask) -> None:
    drawings = own_drawings(task)
    path = save(Path("white.npz"), drawings, 255 - drawings.image)
    said = draw("score", path, *asked, "--json")
    assert "look like dark ink on bright paper, unlike the exemplars: --invert inverts them" in said.err
    assert any("--invert" in sentence for sentence in said.json()["warnings"])
    turned = draw("score", path, *asked, "--invert", "--json")
    assert "--invert" not in turned.err
    human = draw("score", "human", *asked, "--json").json()
    assert turned.json()["diversity"] == human["diversity"] != said.json()["diversity"]


def test_fewer_drawings_are_compared_at_their_number(draw: Run, asked: tuple[str, ...], task: DrawingTask) -> None:
    path = save(Path("few.npz"), own_drawings(task, n=3))
    said = draw("score", path, *asked, "--json")
    assert said.json()["n"] == 3 and "fewer than the 4 asked for: everyone is compared at 3" in said.err
    assert draw("score", "human", *asked, "--n", "3", "--json").json()["diversity"] == said.json()["diversity"]


def test_copies_of_what_an_agent_was_trained_on_are_counted(draw: Run, asked: tuple[str, ...], glyphs: Path) -> None:
    """People have drawn the data: every drawing of theirs is in it."""
    found = draw("score", "human", *asked, "--training", glyphs, "--json").json()
    assert found["copy_rate_of_training"]["value"] == 1
    assert "copy_rate_of_training" not in draw("score", "human", *asked, "--json").json()


def test_exemplars_may_be_central_in_another_space(draw: Run, glyphs: Path) -> None:
    words = ("score", "copies", "--data", glyphs, "--exemplar", "centre:protonet-glyphs-s0", *CRITICS, "--json")
    assert draw(*words).json()["exemplar"] == "centre in protonet-glyphs-s0"


def test_a_critic_that_saw_the_concepts_is_refused_unless_allowed(
    draw: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = load_glyphs("weak-train", GlyphsConfig(alphabets=4, characters=9, drawers=4))
    monkeypatch.setattr("exemplar.draw.requests.load", lambda *a, **k: seen)
    words = ("score", "copies", "--data", "glyphs", "--exemplar", "drawer:drawer01", "--json")
    assert "were trained on 19 of these 19 concepts" in (said := mistake(draw(*words))) and "--allow-seen" in said
    assert not [path for path in Path().rglob("*") if path.is_file()]
    found = draw(*words, "--allow-seen").json()
    assert found["seen_concepts"] > 0 and any("trained on" in sentence for sentence in found["warnings"])


# what is wrong → the words, and what is said; {mine} is an npz of a user's drawings
WRONG = {
    "nobody": (("score", "copie"), "there is no drawer, file or folder 'copie': did you mean copies?"),
    "no such place": (("score", "nowhere.npz"), "there is no drawer, file or folder"),
    "redraw of what is no glyph": (("score", "redraw"), "programs of glyphs only, not of mine"),
    "no function": (("score", "json:nothing"), "there is no function 'nothing' in json"),
    "no critic": (("score", "copies", "--see", "simclr"), "there is no space 'simclr'"),
    "no exemplar": (("score", "copies", "--exemplar", "middle"), "there is no way to choose the exemplar 'middle'"),
    "too many": (("score", "human", "--n", "9"), "people made 4 drawings of some concept .*: ask for 4 or fewer"),
    "more than people": (("score", "copies", "--n", "9"), "people made 4 drawings of some concept .*: ask for 4"),
    "not a number of drawings": (("score", "copies", "--n", "2"), "n must be at least 3, got 2"),
    "more than fits": (("score", "copies", "--n", "999999999"), "people made 4 drawings .*, not 999999999"),
    "people": (("score", "people"), "did you mean human"),
    "a name no file can have": (("score", "x" * 400), "there is no drawer, file or folder"),
    "a folder nobody can make": (("score", "copies", "--out", "x" * 400), "cannot be written .File name too long"),
    "a critic twice": (("score", "copies", "--see", "simclr-glyphs-s0"), "simclr-glyphs-s0 is named twice"),
    "somebody twice": (("compare", "copies", "copies"), "copies is given twice"),
    "no page": (("compare", "copies", "--html", "page.png"), "rename page.png to end with .html"),
    "a page where a folder is": (("compare", "copies", "--html", "../a.html"), "a.html is a folder"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    what: str, draw: Run, asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, said = WRONG[what]
    (tmp_path.parent / "a.html").mkdir(exist_ok=True)
    problem = mistake(draw(*words[:2], *asked, *words[2:]))
    assert re.search(said, problem), problem
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_comparing_nothing_known_needs_data(draw: Run, asked: tuple[str, ...]) -> None:
    assert "Give --data" in mistake(draw("compare", "copies", "noise"))
    run = draw("score", "copies", *asked, "--json").json()["run"]
    assert "Give --data" in mistake(draw("compare", run, "noise", "--exemplar", "random"))


def test_a_page_compares_and_people_are_on_it(draw: Run, asked: tuple[str, ...], task: DrawingTask) -> None:
    run = draw("score", "copies", *asked, "--json").json()["run"]
    path = save(Path("mine.npz"), own_drawings(task))
    said = draw("compare", run, path, "noise", "--html", "page.html", "--json")
    found = said.json()
    assert list(found["runs"]) == [run, "mine.npz", "noise", "human"] and found["page"] == "page.html"
    page = Path("page.html").read_text(encoding="utf-8")
    for agent in ("copies", "mine", "noise", "people"):
        assert agent in page
    assert "https://" not in page.replace("https://www.w3.org", "")


def test_the_command_itself_scores_in_a_process_of_its_own(exemplar: Any, asked: tuple[str, ...], place: Path) -> None:
    said = exemplar("draw", "score", "copies", *asked, "--json", cwd=place, env={"EXEMPLAR_DATA": None})
    assert said.code == 0 and json.loads(said.out)["recognizability_all_way"]["value"] == 1
    assert all(line.startswith("exemplar: warning: ") for line in said.err.splitlines())


def test_glyphs_redrawn_by_their_program_need_no_data(draw: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = load_glyphs("weak-test", GlyphsConfig(alphabets=8, drawers=5))
    monkeypatch.setattr("exemplar.draw.requests.load", lambda name, split: few if name == "glyphs" else None)
    words = ("--data", "glyphs", "--exemplar", "drawer:drawer01", "--n", "3", *CRITICS, "--json")
    found = [draw("score", f"redraw@{spread}", *words).json() for spread in (0, 0.3, 1)]
    assert all((f["concepts"], f["data"], f["split"]) == (24, "glyphs", "weak-test") for f in found)
    diversity = [f["diversity"]["value"] for f in found]
    assert diversity[0] == pytest.approx(0, abs=1e-6) and diversity[0] < diversity[1] < diversity[2]
    assert found[1]["recognizability_20_way"]["value"] > found[2]["recognizability_20_way"]["value"]


def test_what_a_function_prints_is_no_part_of_the_answer(draw: Run, asked: tuple[str, ...]) -> None:
    again = "def again(exemplars, n, rng):\n    print('step 1')\n    return exemplars[:, None].repeat(n, axis=1)\n"
    Path("loud.py").write_text(f"print('loading')\n{again}")
    said = draw("score", "loud.py:again", *asked, "--json")
    assert said.json()["agent"] == "loud.again" and "loading" in said.err and "step 1" in said.err


def test_a_function_that_exits_is_the_users_to_mend(draw: Run, asked: tuple[str, ...]) -> None:
    Path("quits.py").write_text("import sys\ndef quits(exemplars, n, rng):\n    sys.exit(0)\n")
    Path("script.py").write_text("raise SystemExit(3)\n")
    assert "quits.quits failed to draw (SystemExit: 0)" in mistake(draw("score", "quits.py:quits", *asked))
    assert "script.py cannot be imported (SystemExit: 3)" in mistake(draw("score", "script.py:draw", *asked))


def test_drawings_of_another_size_than_the_exemplars_are_compared(
    draw: Run, asked: tuple[str, ...], task: DrawingTask
) -> None:
    path = save(Path("large.npz"), own_drawings(task), own_drawings(task).image.repeat(2, axis=1).repeat(2, axis=2))
    assert Path(draw("compare", path, *asked, "--html", "large.html", "--json").json()["page"]).is_file()


def test_where_people_drew_too_little_agents_are_compared_without_them(
    draw: Run, glyphs: Path, asked: tuple[str, ...]
) -> None:
    with np.load(glyphs) as whole:
        few = np.isin(whole["maker"], ["drawer01", "drawer02"])
        np.savez("two.npz", **{name: array[few] for name, array in whole.items()})
    words = ("compare", "copies", "noise", "--data", "two.npz", *asked[2:], "--n", "3", "--html", "two.html", "--json")
    assert list(draw(*words).json()["runs"]) == ["copies", "noise"]


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("config.json", lambda config: {}, "holds a run of None"),
        ("config.json", lambda config: {**config, "config": {"agent": "a"}}, "lacks the asked of a run"),
        ("config.json", lambda config: _asking(config, {"nonsense": 1}), "does not say what was drawn: give --data"),
        ("config.json", lambda config: _asking(config, {"data": 3}), "does not say what was drawn: give --data"),
        (
            "scored.npz",
            lambda arrays: arrays | {"recognised": np.zeros((3, 2))},
            "its recognised does not fit the rest",
        ),
        ("scored.npz", lambda arrays: arrays | {"density": np.zeros(0)}, "its density does not fit the rest"),
        ("scored.npz", lambda arrays: arrays | {"drawings": arrays["drawings"][:1]}, "its drawings does not fit"),
    ],
)
def test_a_run_that_was_altered_is_one_sentence(
    file: str, change: Callable[[Any], Any], said: str, draw: Run, asked: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    assert draw("score", "human", *asked, "--out", folder).code == 0
    path = folder / file
    if file == "config.json":
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
    else:
        with np.load(path) as kept:
            arrays = change(dict(kept))
        np.savez(path, **arrays)
    assert said in mistake(draw("compare", folder, "copies", "--html", tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()


def test_a_run_that_lost_its_scores_says_so(draw: Run, asked: tuple[str, ...], tmp_path: Path) -> None:
    words = ("score", "human", *asked, "--out", tmp_path / "run", "--json")
    (Path(draw(*words).json()["run"]) / "scores.parquet").unlink()
    assert "has lost its scores: remove it" in mistake(draw(*words))


def _asking(config: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    return {**config, "config": {**config["config"], "asked": asked}}


@pytest.mark.parametrize("study", ["curve", "ranked", "exemplars"])
def test_a_study_of_too_few_drawings_is_refused(study: str, draw: Run, glyphs: Path) -> None:
    with np.load(glyphs) as whole:
        few = np.isin(whole["maker"], ["drawer01", "drawer02"])
        np.savez("pairs.npz", **{name: array[few] for name, array in whole.items()})
    said = mistake(draw("study", study, "--data", "pairs.npz", "--out", f"study-{study}"))
    assert "pairs has 1 drawings of some concept besides the exemplar: this needs 3 or more" in said
    assert not Path(f"study-{study}").exists()


def test_a_study_that_is_refused_leaves_no_folders(
    draw: Run, glyphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with np.load(glyphs) as whole:
        one = np.isin(whole["concept"], whole["concept"][:1])
        np.savez("one.npz", **{name: array[one] for name, array in whole.items()})
    assert "a study over concepts needs 3 or more" in mistake(draw("study", "critics-agree", "--data", "one.npz"))
    assert [path.name for path in tmp_path.iterdir()] == ["one.npz"]


def test_a_folder_that_will_not_do_for_a_study_is_said_before_the_data_are_looked_for(draw: Run) -> None:
    Path("taken").write_text("mine")
    assert "taken is a file" in mistake(draw("study", "curve", "--data", "no-such-data", "--out", "taken"))


@pytest.mark.parametrize("out", ["file", "file/run", "link", "x" * 400], ids=["file", "in a file", "link", "long name"])
def test_a_place_that_cannot_be_written_is_said_before_the_data_are_looked_for(
    out: str, draw: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    Path("link").symlink_to("nowhere")
    assert "cannot be written" in mistake(draw("score", "copies", "--data", "no-such-data", "--out", out))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_names_that_macos_wrote_are_those_that_were_typed(
    draw: Run, task: DrawingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same drawings in folders with accents composed (NFC) and decomposed (NFD), as data and as what is scored."""
    monkeypatch.chdir(tmp_path)
    for form in ("NFC", "NFD"):
        for row, image in enumerate(task.data.images):
            concept = unicodedata.normalize(form, f"é{task.data.concept[row]}")
            for who, drawn in (("caractères", image), ("mirrored", image[:, ::-1])):
                Path(form, who, concept).mkdir(parents=True, exist_ok=True)
                Image.fromarray(drawn).save(Path(form, who, concept, f"{row}.png"))
    scores = []
    for data, who in (("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")):
        asked = ("--data", f"{data}/caractères", "--exemplar", "random", "--n", "4", *CRITICS)
        found = draw("score", f"{who}/caractères", *asked, "--json").json()
        scores.append({name: value for name, value in found.items() if isinstance(value, dict)})
    assert scores[0] == scores[1] == scores[2]
    page = draw("compare", "NFC/caractères", "NFD/mirrored", *asked, "--json")
    assert page.code == 0 and Path("comparison.html").is_file(), page.err
