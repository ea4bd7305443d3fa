"""What people and bots leave: the same records, whichever way they came."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_server import DRAWING, LEARNING, LINE, TOKEN, TURING, Person, client, serving, settings

import exemplar as ex
from exemplar.lab.bots import Http, InProcess, take_part
from exemplar.lab.players import make_encoder, make_player
from exemplar.lab.server import open_lab
from exemplar.lab.strokes import pack_bitmap, read_bitmap, render_answers
from exemplar.records import Drawings, Trials

CASES = {"learning": (LEARNING, "square"), "drawing": (DRAWING, "redraw@1"), "turing": (TURING, "guesser")}


@pytest.mark.parametrize("experiment,agent", CASES.values(), ids=CASES)
def test_a_bot_leaves_the_same_records_through_a_server_and_without(
    tmp_path: Path, experiment: dict[str, Any], agent: str
) -> None:
    from exemplar.lab.exporting import write_export

    folders = []
    name = experiment["name"]
    for way in ("server", "here"):
        given = settings(tmp_path / way, experiment, bots=True)
        lab = open_lab(given)
        player = make_player(lab.experiments[name], agent, "pixels")
        if way == "server":
            with serving(given) as address, closing(Http(address)) as host:
                take_part(host, player, name, agent, 5)
        else:
            take_part(InProcess(lab), player, name, agent, 5)
        folders.append(tmp_path / way / "out")
        write_export(lab, name, folders[-1])
        lab.storage.close()
    kind = Drawings if experiment["type"] == "drawing" else Trials
    one, other = (kind.load(folder) for folder in folders)
    assert one == other and len(one) and set(one["agent"].astype(str)) == {agent}


def test_what_people_did_is_scored_by_learn_without_conversion(tmp_path: Path, exemplar: Any) -> None:
    with client(settings(tmp_path, LEARNING | {"subtasks": 2, "trials": 8})) as lab:
        for _ in range(3):
            Person(lab, "objects").do_all(right=True)
        from exemplar.lab.exporting import write_export

        write_export(lab.app.state.lab, "objects", tmp_path / "people")
    trials = Trials.load(tmp_path / "people")
    assert len(trials) == 3 * 2 * 8 and trials["correct"].all()
    assert set(trials["agent"].astype(str)) == {"people"} and trials["participant"].nunique() == 3
    said = exemplar("learn", "human", tmp_path / "people", "--json")
    assert said.code == 0, said.err
    stimuli = ex.learn.built_in_stimuli(1, ex.images.ObjectsConfig(4))
    x = np.random.default_rng(0).standard_normal((*stimuli.shape, 8)) + 2 * np.eye(8)[:2, None]
    np.savez(tmp_path / "f.npz", features=x, image=stimuli.image, subtask=np.array(stimuli.subtasks))
    model = exemplar(
        "learn",
        "run",
        "--features",
        tmp_path / "f.npz",
        "--sessions",
        "5",
        "--trials",
        "8",
        "--out",
        tmp_path / "model",
    )
    assert model.code == 0, model.err
    scored = exemplar("learn", "score", tmp_path / "model", "--people", tmp_path / "people", "--json")
    assert scored.code == 0, scored.err


def one_view(folder: Path, n: int) -> Path:
    """n bots do Experiment 2; the folder of their records."""
    given = LEARNING | {"experiment": 2, "subtasks": 2, "sessions": 2}
    (folder / "mine.json").write_text(json.dumps([given]))
    ex.lab.simulate("objects", agent="prototype", n=n, experiments=folder / "mine.json", out=folder / "people")
    return folder / "people"


def test_the_export_of_experiment_2_tells_which_test_an_image_belongs_to(tmp_path: Path) -> None:
    folder = one_view(tmp_path, 1)
    trials = Trials.load(folder).frame
    first = trials[trials["session"] == trials["session"].iloc[0]]
    assert np.flatnonzero(first["phase"] == "catch").tolist() == [14, 19] and (first["phase"] == "test").sum() == 8
    stimuli = ex.learn.built_in_stimuli(2, ex.images.ObjectsConfig(4))
    test_of = dict(zip(stimuli.image.ravel().tolist(), stimuli.test.ravel().tolist(), strict=True))
    metadata = ex.learn.load_images(folder, "oneshot")
    told = dict(zip(metadata.image.tolist(), metadata.test.tolist(), strict=True))
    assert set(told) == set(trials["stimulus"].astype(str))
    for image, test in told.items():
        kind = "original" if image in stimuli.image[:, :, 0] else "combinednat"  # neither is scored
        assert test == test_of[image] or (not test_of[image] and test.startswith(kind))
    assert ex.learn.load_outcome(folder).experiment == 2


@pytest.mark.long
def test_what_was_done_after_one_view_is_scored_without_conversion(tmp_path: Path, exemplar: Any) -> None:
    people = one_view(tmp_path, 60)
    stimuli = ex.learn.built_in_stimuli(2, ex.images.ObjectsConfig(4))
    x = np.random.default_rng(0).standard_normal((*stimuli.shape, 8)) + 2 * np.eye(8)[:2, None]
    np.savez(tmp_path / "f.npz", features=x, image=stimuli.image, subtask=np.array(stimuli.subtasks), test=stimuli.test)
    words = ("--features", tmp_path / "f.npz", "--sessions", "100", "--experiment", "2", "--out", tmp_path / "model")
    model = exemplar("learn", "run", *words)
    assert model.code == 0, model.err
    scored = exemplar("learn", "score", tmp_path / "model", "--people", people, "--json")
    assert scored.code == 0, scored.err


def test_a_time_out_is_an_error_without_a_choice(tmp_path: Path) -> None:
    from exemplar.lab.exporting import write_export

    with client(settings(tmp_path, LEARNING | {"sessions": 1})) as lab:
        Person(lab, "objects").do_all({"choice": None, "timed_out": True, "reaction_time_ms": None, "refresh_hz": 60.0})
        write_export(lab.app.state.lab, "objects", tmp_path / "people")
    trials = Trials.load(tmp_path / "people")
    assert trials["timed_out"].all() and not trials["correct"].any() and trials["choice"].isna().all()
    assert (trials["refresh_hz"] == 60).all()


def test_the_public_columns_say_the_same(tmp_path: Path) -> None:
    import pandas as pd

    from exemplar.lab.exporting import write_export

    with client(settings(tmp_path, LEARNING | {"sessions": 1})) as lab:
        Person(lab, "objects").do_all(right=True)
        write_export(lab.app.state.lab, "objects", tmp_path / "people")
    public = pd.read_csv(tmp_path / "people" / "human-behavior-highvar-subtasks.csv")
    trials = Trials.load(tmp_path / "people")
    assert public["perf"].tolist() == [1] * 6 and public["image_id"].tolist() == trials["stimulus"].astype(str).tolist()
    assert {"trial", "assignment_id", "worker_id", "subtask", "trial_type", "reaction_time_msec", "timed_out"} <= set(
        public
    )


def test_drawings_become_images_where_they_were_drawn(tmp_path: Path) -> None:
    from exemplar.lab.exporting import write_export

    with client(settings(tmp_path, DRAWING)) as lab:
        end = Person(lab, "copy").do_all(LINE)[-1]
        assert end["result"] == "/api/me/result"
        write_export(lab.app.state.lab, "copy", tmp_path / "people")
    record = Drawings.load(tmp_path / "people")
    assert len(record) == 6 and set(record["agent"].astype(str)) == {"lab people"}
    ink = record.image[0] > 0
    assert ink[94, 21] and ink[10, 10] and ink[73, 84] and not ink[20, 90]  # (y, x): the dot, the line's ends, paper
    lines = (tmp_path / "people" / "strokes.ndjson").read_text().splitlines()
    assert json.loads(lines[0])["strokes"] == LINE["strokes"]
    assert len((tmp_path / "people" / "concepts.txt").read_text().split("\n")) == 3


def test_the_experimenter_gets_codes_bonuses_and_what_was_asked(tmp_path: Path) -> None:
    import pandas as pd

    from exemplar.lab.exporting import write_export

    paid = {
        "bonus_each": 0.5,
        "ask": [{"name": "age", "label": "Age"}, {"name": "hand", "label": "Hand"}],
        "sessions": 1,
    }
    with client(settings(tmp_path, LEARNING | paid)) as lab:
        ends = [Person(lab, "objects", asked={"age": age}).do_all(right=True)[-1] for age in ("33", "=1+1")]
        Person(lab, "objects")  # who has done nothing yet
        write_export(lab.app.state.lab, "objects", tmp_path / "people")
        shown = lab.get("/api/experimenter/progress", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    people = pd.read_csv(tmp_path / "people" / "participants.csv", dtype=str, keep_default_na=False)
    assert people["completion_code"].tolist() == [end["code"] for end in ends]
    assert people["bonus"].astype(float).tolist() == [3.0, 3.0] and people["sessions"].tolist() == ["1", "1"]
    assert people["asked_age"].tolist() == ["33", "'=1+1"]  # a formula would be run by a spreadsheet
    assert people["asked_hand"].tolist() == ["", ""]
    assert [one["code"] for one in shown["participants"]] == ["", ends[1]["code"], ends[0]["code"]]


def test_an_excluded_participant_is_not_exported(tmp_path: Path) -> None:
    import sqlalchemy as sa

    from exemplar.lab.exporting import read_trials
    from exemplar.lab.storage import PARTICIPANTS

    with client(settings(tmp_path, LEARNING)) as http:
        lab = http.app.state.lab
        kept, out = Person(http, "objects"), Person(http, "objects")
        kept.do_all(right=True)
        out.do_all(right=True)
        with lab.storage.writing() as connection:
            connection.execute(sa.update(PARTICIPANTS).where(PARTICIPANTS.c.id == out.name).values(excluded=True))
        assert {one.participant for one in read_trials(lab, "objects")} == {kept.name}
        assert {one.participant for one in read_trials(lab, "objects", excluded=True)} == {kept.name, out.name}


def test_an_unfinished_session_is_not_exported(tmp_path: Path) -> None:
    from exemplar.lab.exporting import read_trials

    with client(settings(tmp_path, LEARNING)) as http:
        person = Person(http, "objects")
        person.answer(person.claim()["session"], 0, {"choice": 0, "timed_out": False})
        assert list(read_trials(http.app.state.lab, "objects")) == []


def test_a_bitmap_comes_back_as_it_was() -> None:
    image = 255 * (np.random.default_rng(0).random((105, 105)) < 0.2).astype(np.uint8)
    assert np.array_equal(read_bitmap(pack_bitmap(image)), image)
    assert np.array_equal(render_answers([{"strokes": [], "bitmap": pack_bitmap(image)}])[0], image)
    for wrong in ("8x8:00", "0x0:", "axb:00", "8x8:zz", "9999x9999:00"):
        with pytest.raises(ex.UserError):
            read_bitmap(wrong)


def test_bots_need_permission_and_never_pass_for_people(tmp_path: Path) -> None:
    bot = {"experiment": "objects", "consent": True, "bot": {"agent": "square", "seed": 1}}
    with client(settings(tmp_path, LEARNING)) as lab:
        assert lab.post("/api/participants", json=bot).status_code == 403
    with client(settings(tmp_path, LEARNING, bots=True)) as lab:
        people = bot | {"bot": {"agent": "people", "seed": 1}}
        assert lab.post("/api/participants", json=people).status_code == 422
        assert lab.post("/api/participants", json=bot).status_code == 201
        assert (
            lab.post("/api/participants", json=bot).status_code == 409
        )  # the same bot twice would be the same records twice


def test_a_participant_sees_their_drawings_among_others(tmp_path: Path) -> None:
    from exemplar.lab.own_plane import place_in_plane

    with client(settings(tmp_path, DRAWING | {"concepts": 3})) as http:
        person, lab = Person(http, "copy"), http.app.state.lab
        session = person.claim()
        for number, trial in enumerate(session["plan"]["trials"]):
            end = int(trial["exemplar"][8:10], 16) / 256  # the same for all drawings of one character
            person.answer(session["session"], number, {"strokes": [[[0.1, 0.1, 0.0], [0.9, end, 9.0]]]})
        assert person.claim()["state"] == "finished"
        result = place_in_plane(lab, lab.find(person.headers["Authorization"].split()[1]))
    assert "<svg" in result["svg"] and len(result["text"]) == 3
    assert result["scores"]["diversity"]["value"] == pytest.approx(0, abs=1e-6)  # the same line, over and over
    assert set(result["scores"]) >= {"diversity", "recognizability_all_way"}


def test_drawings_of_agents_that_ship_appear_in_the_plane_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exemplar.lab import own_plane

    monkeypatch.setattr(own_plane, "KEPT", tmp_path / "kept")
    ex.draw.sample("redraw@2", data="glyphs", n=3, out=tmp_path / "kept" / "mine")
    concepts = list(ex.load("glyphs", "weak-test").concepts[:3])
    assert own_plane.find_kept("glyphs/weak-test", concepts, 3) == [tmp_path / "kept" / "mine"]
    for other in (
        ("glyphs/weak-test", concepts, 4),
        ("omniglot/weak-test", concepts, 3),
        ("glyphs/weak-test", ["a"], 1),
    ):
        assert own_plane.find_kept(*other) == []
    with client(settings(tmp_path, DRAWING | {"concepts": 3})) as http:
        person, lab = Person(http, "copy"), http.app.state.lab
        session = person.claim()
        for number in range(session["n_trials"]):
            stroke = [[0.1, 0.1, 0.0], [0.9, 0.1 + 0.08 * number, 9.0]]
            person.answer(session["session"], number, {"strokes": [stroke]})
        person.claim()
        result = own_plane.place_in_plane(lab, lab.find(person.headers["Authorization"].split()[1]))
    assert "redraw@2" in result["svg"]


def test_a_bot_can_see_by_a_stage_of_a_pretrained_network() -> None:
    see = make_encoder("efficientnet-lite0/head")
    features = see(np.zeros((32, 32), np.uint8))
    assert features.shape == (1280,) and np.linalg.norm(features) == pytest.approx(1)
