"""A run becomes a submission, a submission is scored again, and whoever changes, cuts or mixes something is told so in a sentence.

Tasks are the leaderboards' own, made small.
"""

from __future__ import annotations

import doctest
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import exemplar as ex
from conftest import mistake
from exemplar import rooms
from exemplar.dense_trials import DenseTrials
from exemplar.errors import UserError
from exemplar.images.objects import ObjectsConfig
from exemplar.learn import leaderboard as learn_board
from exemplar.learn.stimuli import built_in_stimuli
from exemplar.recall import leaderboard as recall_board
from exemplar.recall.suites import load_suite
from exemplar.records import Drawings, Predictions, Scores
from exemplar.results import kept, standings
from exemplar.results.standings import format_index, format_page, list_rows
from exemplar.results.submitting import MANIFEST

PAGES = Path(__file__).parents[2] / "docs" / "leaderboards"
FEW = ObjectsConfig(8, 12)


@pytest.fixture(scope="module", autouse=True)
def small_tasks():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SUBTASKS": 4, "SESSIONS": 30, "TRIALS": 10}.items():
            patch.setattr(learn_board, name, value)
        patch.setattr(learn_board, "built_in_stimuli", lambda experiment: built_in_stimuli(experiment, FEW))
        yield


def learned(folder: Path, **changed: Any) -> Path:
    """A run of `learn run` on features of the images of the (small) task."""
    stimuli, rng = built_in_stimuli(1, FEW), np.random.default_rng(0)
    features = rng.standard_normal((4, 2, 12, 8)) + rng.standard_normal((4, 2, 1, 8))
    given = {"features": features, "subtask": np.array(stimuli.subtasks), "image": stimuli.image}
    ex.learn.run(**{"features": given, "sessions": 30, "trials": 10, "out": folder, **changed})
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned(tmp_path_factory.mktemp("runs") / "mine")


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(run, tmp_path / "mine")


@pytest.fixture
def packed(run: Path, tmp_path: Path) -> Path:
    return Path(ex.results.pack(run, tmp_path / "mine.zip")["submission"])


def test_a_run_and_what_is_packed_of_it_get_the_same_scores(run: Path, packed: Path) -> None:
    by_folder, by_file = ex.results.check(run), ex.results.check(packed)
    assert by_folder["scores"] == by_file["scores"] and by_file["leaderboard"] == "learn-objects"
    kept_scores = {score.name: score for score in Scores.load(run)}
    for name, score in by_file["scores"].items():
        assert score["value"] == pytest.approx(kept_scores[name].value)
    assert by_file["of"] == 11 and 1 <= by_file["place"] <= 11 and by_file["unproven"]


def test_the_same_run_packs_to_the_same_bytes_without_names_of_machines(
    run: Path, packed: Path, tmp_path: Path
) -> None:
    again = Path(ex.results.pack(run, tmp_path / "again.zip")["submission"])
    assert again.read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        about = json.loads(archive.read("provenance.json"))
        assert not {"host", "sessions", "git"} & set(about)
        assert not [name for name in archive.namelist() if name.endswith((".svg", ".html"))]


def test_the_command_prints_one_json_object(packed: Path, exemplar: Any) -> None:
    said = exemplar("results", "check", packed, "--json")
    assert said.code == 0, said.err
    assert {"leaderboard", "agent", "scores", "place", "of", "overlapping", "facts", "unproven", "files"} == set(
        said.json()
    )


def repack(packed: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(packed) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda files: files.update({"trials.npz": files["trials.npz"][:-1] + b"x"}),
            "trials.npz was changed after it was packed",
        ),
        (lambda files: files.pop("trials.npz"), "does not hold the files it lists (trials.npz)"),
        (lambda files: files.update({"more.json": b"{}"}), "does not hold the files it lists (more.json)"),
        (lambda files: files.update({"../out.json": b"{}"}), "is no submission, it has ../out.json in it"),
        (lambda files: files.update({"page.html": b"<p>"}), "is no submission, it has page.html in it"),
        (lambda files: files.pop(MANIFEST), "has no submission.json"),
        (lambda files: files.update({MANIFEST: b"[1]"}), "has no submission.json"),
        (lambda files: files.update({MANIFEST: b'{"files": 3}'}), "has no submission.json"),
    ],
    ids=["edited", "missing", "more", "outside", "page", "no manifest", "list", "number"],
)
def test_a_file_that_was_changed_is_refused(
    change: Callable[[dict[str, bytes]], None], sentence: str, packed: Path, exemplar: Any
) -> None:
    repack(packed, change)
    assert sentence in mistake(exemplar("results", "check", packed))


@pytest.mark.parametrize("cut", [0, 10, 2000])
def test_a_truncated_file_is_refused(cut: int, packed: Path, exemplar: Any) -> None:
    packed.write_bytes(packed.read_bytes()[:cut])
    assert "cannot be read as a submission" in mistake(exemplar("results", "check", packed))


def edited_scores(folder: Path) -> None:
    table = Scores.load(folder)
    columns = {name: table[name].to_numpy() for name in Scores.COLUMNS}
    columns["value"] = np.where(table["name"] == "accuracy", 0.99, columns["value"])
    columns["hi"] = np.where(table["name"] == "accuracy", 1.0, columns["hi"])
    Scores.of(**columns).save(folder)


def edited_trials(folder: Path, **changed: Callable[[DenseTrials], np.ndarray]) -> None:
    record = DenseTrials.load(folder)
    DenseTrials(**{**vars(record), **{name: change(record) for name, change in changed.items()}}).save(folder)


def edited_config(folder: Path, **changed: Any) -> None:
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**about, **changed}))


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (edited_scores, "do not follow from the records, accuracy square was 0.99"),
        (
            lambda f: edited_trials(f, correct=lambda r: np.ones_like(r.correct)),
            "do not agree with the keys of this seed",
        ),
        (
            lambda f: edited_trials(f, choice=lambda r: 1 - r.choice, correct=lambda r: ~r.correct),
            "do not follow from the records",
        ),
        (lambda f: edited_trials(f, shown=lambda r: r.shown[:, ::-1]), "images shown are not those of seed 0"),
        (lambda f: edited_trials(f, images=lambda r: np.char.add(r.images, "x")), "not the built-in objects"),
        (lambda f: edited_config(f, seed=1), "have seed 0, the run has seed 1: leave --seed out"),
        (lambda f: edited_config(f, command="attend maps"), "no leaderboard for runs of exemplar attend maps"),
        (lambda f: edited_config(f, command="foresee run"), "Runs of exemplar foresee run cannot be submitted"),
        (lambda f: edited_config(f, config={}), "is of no task on a leaderboard"),
        (lambda f: edited_config(f, seed="x"), "have seed 0, the run has seed x"),
        (lambda f: edited_config(f, config={"experiment": 1}), "is not as exemplar writes it (KeyError: 'variant')"),
        (lambda f: (f / "scores.parquet").unlink(), "has no scores.parquet"),
        (lambda f: (f / "trials.npz").write_bytes(b"PK"), "cannot be read as an npz archive"),
        (lambda f: (f / "provenance.json").write_text('{"state": "running"}'), "is not finished"),
    ],
    ids=[
        "scores",
        "correct",
        "flipped",
        "order",
        "images",
        "seed",
        "command",
        "closed",
        "no config",
        "seed of text",
        "no variant",
        "no scores",
        "cut",
        "unfinished",
    ],
)
def test_records_and_scores_that_were_edited_are_refused(
    edit: Callable[[Path], None], sentence: str, copy: Path, exemplar: Any
) -> None:
    edit(copy)
    assert sentence in mistake(exemplar("results", "check", copy))


def test_another_task_is_refused(tmp_path: Path, exemplar: Any) -> None:
    fewer = learned(tmp_path / "fewer", sessions=20)
    assert "the run 4 × 20 × 10" in mistake(exemplar("results", "check", fewer))
    unnamed = learned(tmp_path / "unnamed", features={"features": np.random.default_rng(0).random((4, 2, 12, 8))})
    assert "not the built-in objects" in mistake(exemplar("results", "check", unnamed))


def test_what_is_no_run_is_refused(tmp_path: Path, exemplar: Any) -> None:
    assert "There is no " in mistake(exemplar("results", "check", tmp_path / "nowhere"))
    assert "is no run folder" in mistake(exemplar("results", "check", tmp_path))
    assert "is an .zip" not in mistake(exemplar("results", "pack", tmp_path))


def test_names_from_outside_are_text_in_a_table() -> None:
    assert doctest.testmod(standings).failed == 0


def test_a_submission_that_is_kept_stands_on_the_page(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("learn-encoders.json", "renames.json"):
        shutil.copy(kept.FOLDER / name, tmp_path / name)
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    done = ex.results.check(packed, commit=True)
    room = rooms.load_room("learn")
    (board,) = room.leaderboards().values()
    rows = list_rows("learn-objects", board)
    assert [row.name for row in rows if row.submitted] == ["square"] and len(rows) == done["of"]
    assert rows[done["place"] - 1].submitted and "| square *(submitted)* |" in format_page(room)


def test_the_committed_pages_are_those_of_today() -> None:
    """Else: exemplar results leaderboards."""
    assert (PAGES / "index.md").read_text(encoding="utf-8") == format_index()
    for room in rooms.list_rooms():
        if room.leaderboards():
            assert (PAGES / f"{room.name}.md").read_text(encoding="utf-8") == format_page(room)
        else:
            assert not (PAGES / f"{room.name}.md").exists()


def test_every_board_has_rows_from_its_result_and_columns_that_are_there() -> None:
    for name, board in rooms.collect("leaderboards").items():
        rows = list_rows(name, board)
        assert len(rows) >= 2 and kept.load_kept(board.result) is not None, name
        assert bool(board.command) == (board.check is not None)
        if board.lowest is not None and any(board.columns[0] in row.scores for row in rows):
            values = [row.scores[board.columns[0]].value for row in rows if board.columns[0] in row.scores]
            assert values == sorted(values, reverse=not board.lowest)


# Drawings: the same drawings, exemplars and critics, or refused


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("drawn"))
        yield ex.draw.score("copies", data="glyphs", n=3, out="copies").folder.resolve()


def test_drawings_are_scored_again_by_their_own_task(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exemplar.draw.leaderboard.N", 3)
    done = ex.results.check(drawn)
    assert done["leaderboard"] == "draw-glyphs" and done["scores"]["diversity"]["value"] == pytest.approx(0, abs=1e-9)


def test_other_drawings_and_other_settings_are_refused(
    drawn: Path, tmp_path: Path, exemplar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exemplar.draw.leaderboard.N", 3)
    other = shutil.copytree(drawn, tmp_path / "other")
    table = Drawings.load(other)
    image = table.image.copy()
    image[0] = 255 - image[0]
    Drawings.of(**{name: table[name] for name in Drawings.COLUMNS}, image=image).save(other)
    assert "The drawings are not those that the run was scored with" in mistake(exemplar("results", "check", other))
    about = json.loads((drawn / "config.json").read_text())
    asked = about["config"]["asked"] | {"exemplar": "drawer:drawer01", "allow_seen": True}
    edited_config(other, config=about["config"] | {"asked": asked})
    assert "other exemplar, allow_seen: leave them out" in mistake(exemplar("results", "check", other))
    edited_config(other, config=about["config"] | {"n": 5})
    assert "compares 3 drawings of each concept, the run has 5" in mistake(exemplar("results", "check", other))


# Predictions: of the frozen suite, and such as a classifier can give


@pytest.fixture(scope="module")
def recalled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("recalled"))
        ex.recall.run("last-set-only", data="glyphs", type="new-classes", n=4, engine="here", out="mine")
        suite = load_suite("mine/suite.npz")
        patch.setitem(recall_board.FROZEN, suite.data, {"new-classes": suite.digest})
        yield Path("mine").resolve()


def test_predictions_are_scored_again(recalled: Path) -> None:
    placed = recall_board.check_run("glyphs/weak-test", "new-classes", recalled)
    assert [score.json() for score in placed.scores] == [score.json() for score in Scores.load(recalled)]


def edited_predictions(folder: Path, **changed: Callable[[Any], Any]) -> None:
    table = Predictions.load(folder)
    columns = {**{name: table[name].to_numpy() for name in Predictions.COLUMNS}, "log_p": table.log_p}
    columns["agent"] = np.asarray(columns["agent"], dtype=object)
    Predictions.of(**{**columns, **{name: change(columns[name]) for name, change in changed.items()}}).save(folder)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda f: edited_predictions(f, label=lambda x: (x + 1) % 5), "other right answers than the suite"),
        (lambda f: edited_predictions(f, log_p=lambda x: x + 1), "the probabilities add up to 2.718, not 1"),
        (lambda f: edited_predictions(f, predicted=lambda x: (x + 1) % 15), "not the most likely label"),
        (lambda f: edited_predictions(f, task=lambda x: x + 1), "a task that the suite does not have"),
        (lambda f: edited_predictions(f, agent=lambda x: np.where(np.arange(len(x)) > 3, "a", "b").astype(object)), "several agents"),
        (lambda f: np.savez(f / "memory.npz", **{**np.load(f / "memory.npz"), "atm": np.full(4, np.nan)}), "atm must be a number for each"),
        (lambda f: np.savez(f / "suite.npz", **{**np.load(f / "suite.npz"), "target": np.load(f / "suite.npz")["target"] + 1}), "suite.npz was changed"),
        (lambda f: edited_config(f, config={**json.loads((f / "config.json").read_text())["config"], "joint": True}), "that is a bound"),
        (lambda f: edited_config(f, config={**json.loads((f / "config.json").read_text())["config"], "agent": "m.py:M"}), "not in the strict mode"),
    ],
    ids=["labels", "not normalised", "predicted", "task", "agents", "memory", "suite", "joint", "not strict"],
)  # fmt: skip
def test_predictions_that_were_edited_are_refused(
    edit: Callable[[Path], None], sentence: str, recalled: Path, tmp_path: Path
) -> None:
    edit(shutil.copytree(recalled, tmp_path / "mine"))
    with pytest.raises(UserError, match=sentence):
        recall_board.check_run("glyphs/weak-test", "new-classes", tmp_path / "mine")


def test_foreign_columns_and_numbers_that_are_missing_are_refused(recalled: Path, tmp_path: Path) -> None:
    place = shutil.copytree(recalled, tmp_path / "mine")
    table = pq.read_table(place / "predictions.parquet")
    mood = pa.array(["good"] * len(table))
    pq.write_table(table.append_column("mood", mood), place / "predictions.parquet")
    with pytest.raises(UserError, match="no column 'mood' in predictions"):
        recall_board.check_run("glyphs/weak-test", "new-classes", place)
    log_p = table["log_p"].combine_chunks()
    values = log_p.flatten().to_numpy(zero_copy_only=False).copy()
    values[3] = np.nan
    missing = pa.FixedSizeListArray.from_arrays(pa.array(values, from_pandas=False), log_p.type.list_size)
    pq.write_table(table.set_column(table.column_names.index("log_p"), "log_p", missing), place / "predictions.parquet")
    with pytest.raises(UserError, match="row 0: log_p has values that are NaN"):
        recall_board.check_run("glyphs/weak-test", "new-classes", place)


def test_a_space_that_has_seen_the_classes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ex.recall.run("chance", data="glyphs", split="weak-train", n=2, engine="here", out="mine")
    suite, place = load_suite("mine/suite.npz"), tmp_path / "mine"
    monkeypatch.setitem(recall_board.FROZEN, suite.data, {"new-classes": suite.digest})
    config = json.loads((place / "config.json").read_text())["config"]
    edited_config(place, config={**config, "agent": "nearest-mean", "space": "protonet-glyphs-s0"})
    with pytest.raises(UserError, match=r"protonet-glyphs-s0 .*trained on"):
        recall_board.check_run("glyphs/weak-train", "new-classes", place)


@pytest.mark.long
def test_what_stands_on_the_board_is_what_a_submission_of_it_gets(tmp_path: Path) -> None:
    ex.draw.score("redraw@1", data="glyphs", out=tmp_path / "mine")
    done = ex.results.check(tmp_path / "mine")
    rows = {row.name: row for row in list_rows("draw-glyphs", rooms.collect("leaderboards")["draw-glyphs"])}
    for name, score in done["scores"].items():
        assert score["value"] == pytest.approx(rows["redraw@1"].scores[name].value, abs=1e-6)
