"""People are people: nobody takes their name, and who drew is known from what was recorded, not from what things are called."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exemplar as ex
from conftest import mistake
from exemplar.draw.own_drawers import RESERVED, are_own, is_reserved
from exemplar.draw.requests import Request, find_drawings
from exemplar.draw.scored_runs import read_scored
from exemplar.draw.scoring import score_drawings
from exemplar.errors import UserError
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Drawings, Scores
from exemplar.runs import load_scores

CRITICS: dict[str, Any] = {"see": ["pixels"], "recognise": ["pixels"]}
ASKED: dict[str, Any] = {"exemplar": "drawer:drawer01", **CRITICS}
WORDS = ("--exemplar", "drawer:drawer01", "--see", "pixels", "--recognise", "pixels")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))


def save(path: Path, **about: Any) -> str:
    """Eight characters by six drawers, as an npz."""
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=6, size=40))
    data = data.only(concepts=data.concepts[:8])
    concept, maker = (np.array(labels.names)[labels.code] for labels in (data.concept, data.maker))
    np.savez(path, images=data.images, concept=concept, maker=maker, **about)
    return str(path)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    return save(tmp_path / "mine.npz")


def drawn(mine: str, path: Path) -> Path:
    """An npz of noise."""
    found = find_drawings("noise", Request(data=mine, **ASKED).task, seed=0)
    np.savez(path, images=found.image, concept=found["concept"].to_numpy(str))
    return path


@pytest.mark.parametrize("name", [*RESERVED, " People", "HUMAN", "Simulated_Drawers", "people (2)", "ｐｅｏｐｌｅ"])
def test_nobody_takes_the_name_of_the_datas_own_drawers(mine: str, tmp_path: Path, name: str) -> None:
    assert is_reserved(name)
    file = drawn(mine, tmp_path / "theirs.npz")
    with pytest.raises(UserError, match="reserved for the data's own drawers"):
        ex.draw.score(str(file), data=mine, agent=name, **ASKED)

    def sample(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        pytest.fail("it was asked to draw first")

    sample.__name__ = name
    with pytest.raises(UserError, match="choose another name"):
        ex.draw.score(sample, data=mine, **ASKED)


@pytest.mark.parametrize("name", ["peopled", "humanoid", "simulated annealing", "my people"])
def test_other_names_are_free(mine: str, tmp_path: Path, name: str) -> None:
    assert ex.draw.score(str(drawn(mine, tmp_path / "x.npz")), data=mine, agent=name, **ASKED)["agent"] == name


def test_a_file_called_people_is_not_the_humans(mine: str, tmp_path: Path, exemplar: Any) -> None:
    """It was taken for them in `compare`, and no humans were added."""
    file = drawn(mine, tmp_path / "people.npz")
    for verb, more in (("score", ()), ("compare", ("copies",))):
        said = mistake(exemplar("draw", verb, str(file), *more, "--data", mine, *WORDS, cwd=tmp_path))
        assert "The name 'people' is reserved" in said
    assert not (tmp_path / "runs").exists()
    (tmp_path / "human").mkdir()
    shutil.move(str(file), tmp_path / "human.npz")
    said = mistake(exemplar("draw", "score", "./human.npz", "--data", mine, *WORDS, cwd=tmp_path))
    assert "The name 'human' is reserved" in said


def test_a_record_of_the_datas_own_drawings_may_be_called_so(mine: str) -> None:
    own = ex.draw.sample("human", data=mine, exemplar="drawer:drawer01", out="record").drawings
    by_word = ex.draw.score("human", data=mine, **ASKED)
    for given in (own, "record"):
        scored = ex.draw.score(given, data=mine, agent="Human", **ASKED)
        assert scored["agent"] == "people" and scored["diversity"] == by_word["diversity"]
        assert json.loads((scored.folder / "config.json").read_text())["config"]["own"] is True
    others = Drawings.of(**{name: own[name] for name in Drawings.COLUMNS}, image=255 - own.image)
    with pytest.raises(UserError, match="The name 'people' is reserved"):
        ex.draw.score(others, data=mine, **ASKED)


def test_the_right_image_of_another_concept_is_not_their_own(mine: str) -> None:
    task = Request(data=mine, **ASKED).task
    own = find_drawings("human", task, seed=0)
    columns = {name: own[name] for name in Drawings.COLUMNS}
    moved = Drawings.of(**columns, image=np.roll(own.image, task.n, axis=0))
    assert are_own(own, task) and not are_own(moved, task)


def test_scoring_by_hand_is_no_way_around(mine: str) -> None:
    request = Request(data=mine, **ASKED)
    found = find_drawings("noise", request.task, seed=0)
    columns = {name: found[name] for name in Drawings.COLUMNS} | {"agent": "people"}
    with pytest.raises(UserError, match="reserved"):
        score_drawings(Drawings.of(**columns, image=found.image), request.task, request.critics)


def made_old(folder: Path, agent: str) -> Path:
    """A run as before it was recorded who drew, under this name."""
    path = folder / "config.json"
    about = json.loads(path.read_text())
    for key in ("own", "drawers"):
        about["config"].pop(key, None)
    before, about["config"]["agent"] = about["config"]["agent"], agent
    path.write_text(json.dumps(about))
    with np.load(folder / "scored.npz") as stored:
        arrays = {**stored, "agent": np.array(agent)}
    np.savez(folder / "scored.npz", **arrays)
    Scores.collect([replace(s, agent=agent) if s.agent == before else s for s in load_scores(folder)]).save(folder)
    return folder


def test_an_old_run_of_someone_called_people_is_not_the_humans(mine: str, tmp_path: Path) -> None:
    impostor = made_old(ex.draw.score("noise", data=mine, out="old", **ASKED).folder, "people")
    human = ex.draw.score("human", data=mine, out="own", **ASKED).folder
    assert not read_scored(impostor).own and read_scored(human).own
    compared = ex.draw.compare([str(impostor), "copies"], data=mine, **ASKED)
    assert list(compared["runs"]) == [str(impostor), "copies", "human"]
    text = (tmp_path / "comparison.html").read_text()
    assert "an agent called people" in text
    old = made_old(human, "people")
    assert read_scored(old).own and read_scored(old).drawers == "people"


def test_a_run_folder_called_human_is_taken_for_people_only_if_it_is_theirs(mine: str) -> None:
    ex.draw.score("noise", data=mine, out="human", **ASKED)
    compared = ex.draw.compare(["human", "copies"], data=mine, **ASKED)
    agents = {name: read_scored(Path(folder)).agent for name, folder in compared["runs"].items()}
    assert agents == {"human": "people", "copies": "copies"}


def test_every_score_has_its_row_in_the_docs() -> None:
    rows = (Path(__file__).parents[2] / "docs" / "draw.md").read_text(encoding="utf-8").splitlines()
    told = {row.split("`")[1] for row in rows if row.startswith("| `")}
    asked: dict[str, Any] = {"data": "glyphs", "training": "glyphs/all", "episodes": 20, "n": 8, "exemplar": "random"}
    scored = ex.draw.score("redraw@1", **asked, **CRITICS)
    names = {score.name.replace("simulated_drawers", "people") for score in scored.overall}
    assert len(names) > 20
    for name in names:
        general = re.sub(r"^(ceiling|reliability_of)_.*", lambda found: f"{found[1]}_…", name)
        assert general in told or re.sub(r"_\d+_way_sampled$", "_…_way_sampled", general) in told, name


def test_people_who_drew_a_file_called_glyphs_are_people(tmp_path: Path) -> None:
    data = save(tmp_path / "glyphs.npz")
    compared = ex.draw.compare(["copies", "noise"], data=data, **ASKED)
    assert "human" in compared["runs"]
    page = (tmp_path / "comparison.html").read_text()
    assert "simulated" not in page[page.index("<main>") :] and "distance to people" in page


def test_simulated_drawers_stay_simulated_in_a_file_of_any_name(tmp_path: Path) -> None:
    data = save(tmp_path / "mine.npz", simulated=True)
    with pytest.raises(UserError, match="No person drew mine"):
        ex.draw.score("human", data=data, **ASKED)
    compared = ex.draw.compare(["copies", "noise"], data=data, **ASKED)
    assert "simulated" in compared["runs"]
    page = (tmp_path / "comparison.html").read_text()
    assert "distance to simulated drawers" in page and "nearest to the simulated drawers" in page
    study = ex.draw.study("exemplars", data=data, out="study")
    assert "trained on Omniglot's characters" in study.warnings[0]
    assert study.page is not None and "people" not in study.page.read_text().lower().replace("people's", "people")
