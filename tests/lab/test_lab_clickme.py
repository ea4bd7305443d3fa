"""ClickMe: the server judges, every place is kept, and what people painted is scored without conversion."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_server import ALL_OF_IT, CLICKME, LEARNING, TOKEN, Person, client, serving, settings
from PIL import Image

import exemplar as ex
from exemplar.lab.bots import Http, InProcess, take_part
from exemplar.lab.brush import paint, places_of
from exemplar.lab.experiments import make_experiment
from exemplar.lab.experiments.clickme import count_points
from exemplar.lab.exporting import write_export
from exemplar.lab.limits import Buckets
from exemplar.lab.own_maps import show_maps
from exemplar.lab.players import make_player
from exemplar.lab.server import open_lab
from exemplar.lab.storage import RESULTS
from exemplar.records import Maps

WON = {"places": ALL_OF_IT[:-1], "pointer": "mouse", "skipped": False, "timed_out": False}
CORNER = {"places": [[0, 0, 0.0]], "skipped": False, "timed_out": True}
SKIPPED: dict[str, Any] = {"places": [], "skipped": True, "timed_out": False}


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    with client(settings(tmp_path, CLICKME, LEARNING)) as found:
        yield found


def ask(lab: Any, person: Person, session: str, trial: int, places: Any, tab: str | None = None) -> Any:
    body = {"session": session, "trial": trial, "tab": tab or person.tab, "places": places}
    return lab.post("/api/guess", json=body, headers=person.headers)


def inside(lab: Any) -> Any:
    return lab.app.state.lab


def test_the_partner_sees_what_was_painted_and_nothing_else(lab: Any) -> None:
    person = Person(lab, "clickme")
    session = person.claim()
    shown = session["plan"]["trials"][0]
    planned = inside(lab).plan(session["session"])["trials"][0]
    game = inside(lab).experiments["clickme"].game()
    picture = game.task.image[game.row_of(planned["drawing"])]
    with Image.open(io.BytesIO(lab.get(shown["image"]).content)) as image:
        assert np.array_equal(255 - np.asarray(image), picture) and picture.shape == (256, 256)
    rows, columns = np.nonzero(picture)
    first = [[int(rows[0]), int(columns[0])]]
    for places in (first, [place[:2] for place in ALL_OF_IT]):
        said = ask(lab, person, session["session"], 0, places).json()
        seen = ex.attend.uncover(picture, paint(places))
        wanted = ex.attend.guess(ex.attend.Templates.of(game.task), seen).name
        assert said == {"guess": wanted.replace("/", ", "), "right": wanted == planned["concept"]}
    assert said["right"]  # drawings that the partner does not know as a whole are not shown
    assert person.claim()["next"] == 0  # a guess is kept nowhere


def test_the_server_judges_whatever_the_browser_says(lab: Any) -> None:
    person = Person(lab, "clickme")
    session = person.claim()["session"]
    assert person.answer(session, 0, WON | {"right": True}).status_code == 422  # not even a place to say so
    for trial, answer in enumerate((WON, CORNER, SKIPPED | {"places": WON["places"]}, SKIPPED)):
        assert person.answer(session, trial, answer).json()["next"] == trial + 1
    for trial in range(4, person.claim()["n_trials"]):
        person.answer(session, trial, SKIPPED)
    kept = [one.correct for one in read(lab)]
    assert kept[0] is True and not any(kept[1:])


def test_an_empty_page_is_no_guess(lab: Any) -> None:
    """A classifier says something even then, and would be right about one concept."""
    person = Person(lab, "clickme")
    session = person.claim()
    for trial in range(session["n_trials"]):
        assert ask(lab, person, session["session"], trial, [[0, 0]]).json() == {"guess": "", "right": False}
        person.answer(session["session"], trial, CORNER)
    assert not any(one.correct for one in read(lab))


def read(lab: Any, name: str = "clickme") -> list[Any]:
    from exemplar.lab.exporting import read_trials

    return list(read_trials(inside(lab), name))


def test_only_the_round_that_is_played_can_be_tried(lab: Any) -> None:
    one, other = Person(lab, "clickme"), Person(lab, "clickme")
    session = one.claim()["session"]
    other.claim()
    assert ask(lab, one, session, 1, [[1, 1]]).json()["next"] == 0
    assert ask(lab, other, session, 0, [[1, 1]]).status_code == 404
    assert ask(lab, one, session, 0, [[1, 1]], tab="another").json()["other_tab"] is True
    assert one.answer(session, 0, WON).status_code == 200
    assert ask(lab, one, session, 0, [[1, 1]]).status_code == 409  # it is over
    assert one.answer(session, 0, WON).json()["next"] == 1  # the same again is no other round
    assert one.answer(session, 0, CORNER).status_code == 409
    assert lab.delete("/api/me", headers=one.headers).status_code == 200
    assert ask(lab, one, session, 1, [[1, 1]]).status_code == 401
    learner = Person(lab, "objects")
    assert ask(lab, learner, learner.claim()["session"], 0, [[1, 1]]).status_code == 404


PLACES: dict[str, Any] = {
    "none": [],
    "outside": [[256, 0]],
    "before the edge": [[0, -1]],
    "half a pixel": [[1.5, 2]],
    "true for a row": [[True, 2]],
    "three numbers": [[1, 2, 3]],
    "text": "1,2",
    "too many": [[1, 1]] * 4001,
}


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_places_that_are_none_are_refused_in_a_sentence(lab: Any, places: Any) -> None:
    person = Person(lab, "clickme")
    refused = ask(lab, person, person.claim()["session"], 0, places)
    assert refused.status_code == 422 and refused.json()["error"].endswith(".")


def test_a_million_places_are_refused_before_they_are_read(lab: Any) -> None:
    person = Person(lab, "clickme")
    assert ask(lab, person, person.claim()["session"], 0, [[1, 1]] * 1_000_000).status_code == 413


ANSWERS: dict[str, Any] = {
    "nothing painted, not skipped": {"places": []},
    "a place outside": {"places": [[0, 256, 0.0]]},
    "no time": {"places": [[0, 0]]},
    "time running backwards": {"places": [[0, 0, 5.0], [0, 0, 4.0]]},
    "after time was up": {"places": [[0, 0, 6000.0]]},
    "a time that is text": {"places": [[0, 0, "1"]]},
    "a time beyond all measure": {"places": [[0, 0, 10**400]]},
    "skipped and timed out": {"places": [], "skipped": True, "timed_out": True},
    "an unknown pointer": WON | {"pointer": "nose"},
    "no places at all": {"skipped": True},
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_none_is_refused_and_nothing_is_kept(lab: Any, answer: dict[str, Any]) -> None:
    person = Person(lab, "clickme")
    refused = person.answer(person.claim()["session"], 0, answer)
    assert refused.status_code == 422 and refused.json()["error"].endswith(".")
    assert person.claim()["next"] == 0


def test_times_that_are_not_finite_are_refused(lab: Any) -> None:
    person = Person(lab, "clickme")
    session = person.claim()["session"]
    answer = '{"places": [[0, 0, NaN]], "skipped": false}'
    body = f'{{"session": "{session}", "trial": 0, "tab": "tab1", "answer": {answer}}}'
    refused = lab.post("/api/trials", content=body, headers=person.headers | {"Content-Type": "application/json"})
    assert refused.status_code == 422


def test_guesses_are_limited_for_each_participant() -> None:
    looks = Buckets(2.0, burst=1.0)
    assert [looks.allows("a", 0.0) for _ in range(3)] == [True, True, False]
    assert looks.allows("b", 0.0) and looks.allows("a", 0.5)
    assert all(Buckets(0.0).allows("a", 0.0) for _ in range(100))


def test_too_many_guesses_wait(tmp_path: Path) -> None:
    with client(settings(tmp_path, CLICKME, requests=1000.0)) as lab:
        lab.app.state.looks = Buckets(0.01, burst=3.0)
        person = Person(lab, "clickme")
        session = person.claim()["session"]
        said = [ask(lab, person, session, 0, [[1, 1]]) for _ in range(4)]
        assert [one.status_code for one in said] == [200, 200, 200, 429] and said[-1].headers["retry-after"] == "1"


def test_every_drawing_is_in_one_set_and_no_set_has_one_concept_only() -> None:
    experiment: Any = make_experiment(CLICKME | {"drawings": 4, "rounds": 5})
    sets, game = experiment.parts(), experiment.game()
    names = [name for part in sets.values() for name in part]
    assert sorted(names) == sorted(name for one in game.shown.values() for name in one)
    assert len(names) == len(set(names)) and max(map(len, sets.values())) <= 5
    counts = Counter(game.concept_of(name) for name in sets["set 001"])
    assert max(counts.values()) - min(counts.values()) <= 1 and len(counts) == 3
    assert experiment.parts() == sets  # whoever asks


def test_sets_are_counterbalanced_and_nobody_does_one_twice(tmp_path: Path) -> None:
    with client(settings(tmp_path, CLICKME | {"rounds": 3, "sessions": 2, "wanted": 2})) as lab:
        n_sets = len(inside(lab).experiments["clickme"].parts())
        assert n_sets >= 2
        ends = [Person(lab, "clickme").do_all(SKIPPED) for _ in range(n_sets + 1)]
        parts = Counter(one.part for one in read(lab) if one.trial == 0)
    assert all(len(one) == 3 for one in ends[:n_sets]) and set(parts.values()) == {2}
    assert [one["state"] for one in ends[-1]] == ["finished"]  # all sets are full


def test_what_people_painted_is_scored_by_attend_without_conversion(tmp_path: Path, exemplar: Any) -> None:
    with client(settings(tmp_path, CLICKME)) as lab:
        for shift in (4, 8, 12, 16):
            person = Person(lab, "clickme")
            session = person.claim()
            for trial in range(session["n_trials"]):
                places = [[row, column, 1.0 * k] for k, (row, column, _) in enumerate(ALL_OF_IT) if column > shift * 5]
                answer = WON | {"places": [[row, max(column - shift, 0), ms] for row, column, ms in places]}
                assert person.answer(session["session"], trial, answer).status_code == 200
        write_export(inside(lab), "clickme", tmp_path / "people")
        record, trials = Maps.load(tmp_path / "people"), read(lab)
    right = [one for one in trials if one.correct]
    assert len(record) == len(right) > 4 and set(record["agent"].astype(str)) == {"people"}
    for one, map_, concept in zip(right, record.map, record["concept"], strict=True):
        assert np.array_equal(map_, paint(places_of(one.answer["places"]))) and concept == one.planned["concept"]
    lines = [json.loads(line) for line in (tmp_path / "people" / "rounds.ndjson").read_text().splitlines()]
    assert [line["places"] for line in lines] == [one.answer["places"] for one in trials]
    assert [line["right"] for line in lines] == [one.correct for one in trials]
    marked = exemplar("attend", "maps", "--agent", "ink", "--data", tmp_path / "people" / "drawings.npz", "--concepts", 3,
                      "--drawings", 3, "--out", tmp_path / "ink.npz")  # fmt: skip
    assert marked.code == 0, marked.err
    scored = exemplar("attend", "score", tmp_path / "people", "--model", tmp_path / "ink.npz", "--pairs", 50, "--json",
                      "--out", tmp_path / "scored")  # fmt: skip
    assert scored.code == 0, scored.err
    said = json.loads(scored.out)
    assert (
        said["participants"] == 4 and said["annotations"] + said["dropped"] == len(record) and "ink" in said["models"]
    )


def test_models_are_asked_about_the_drawings_that_people_saw(tmp_path: Path) -> None:
    from exemplar.lab.exports.clicked import write_drawings

    game = make_experiment(CLICKME).game()  # type: ignore[attr-defined]
    write_drawings(game, tmp_path / "drawings.npz")
    task = ex.attend.make_task(tmp_path / "drawings.npz", n_concepts=3, n_drawings=3)
    assert task.concepts == game.task.concepts and np.array_equal(task.exemplar, game.task.exemplar)
    assert {one.tobytes() for one in task.image} == {one.tobytes() for one in game.task.image}


def test_nobody_right_and_everything_painted_leave_rounds_but_no_maps(tmp_path: Path) -> None:
    with client(settings(tmp_path, CLICKME)) as lab:
        Person(lab, "clickme").do_all(WON | {"places": ALL_OF_IT})
        write_export(inside(lab), "clickme", tmp_path / "people")
    assert paint(places_of(ALL_OF_IT)).all()  # type: ignore[arg-type]
    assert not (tmp_path / "people" / "maps.parquet").exists()
    lines = [json.loads(line) for line in (tmp_path / "people" / "rounds.ndjson").read_text().splitlines()]
    assert len(lines) > 4 and all(line["right"] for line in lines)


@pytest.mark.parametrize("agent", ["ink", "corners@0.5"])
def test_a_bot_leaves_the_same_records_through_a_server_and_without(tmp_path: Path, agent: str) -> None:
    folders = []
    for way in ("server", "here"):
        given = settings(tmp_path / way, CLICKME, bots=True)
        lab = open_lab(given)
        player = make_player(lab.experiments["clickme"], agent, "pixels")
        if way == "server":
            with serving(given) as address, closing(Http(address)) as host:
                take_part(host, player, "clickme", agent, 5)
        else:
            take_part(InProcess(lab), player, "clickme", agent, 5)
        folders.append(tmp_path / way / "out")
        write_export(lab, "clickme", folders[-1])
        lab.storage.close()
    one, other = (Maps.load(folder) for folder in folders)
    assert one == other and set(one["agent"].astype(str)) == {f"simulated players ({agent})"}
    rounds = [(folder / "rounds.ndjson").read_text() for folder in folders]
    assert rounds[0] == rounds[1] and len(rounds[0].splitlines()) > 4


def test_people_and_bots_are_kept_apart(tmp_path: Path) -> None:
    with client(settings(tmp_path, CLICKME, bots=True)) as lab:
        Person(lab, "clickme").do_all(WON)
        player = make_player(inside(lab).experiments["clickme"], "ink", "pixels")
        take_part(InProcess(inside(lab)), player, "clickme", "ink", 1)
        write_export(inside(lab), "clickme", tmp_path / "out")
    assert set(Maps.load(tmp_path / "out")["agent"].astype(str)) == {"people"}
    assert set(Maps.load(tmp_path / "out" / "bots-1")["agent"].astype(str)) == {"simulated players (ink)"}


def test_a_participant_sees_their_maps_beside_others(tmp_path: Path) -> None:
    with client(settings(tmp_path, CLICKME)) as lab:
        first, second = Person(lab, "clickme"), Person(lab, "clickme")
        found = []
        for person in (first, second):
            person.do_all(WON)
            who = inside(lab).find(person.headers["Authorization"].split()[1])
            found.append(show_maps(inside(lab), who))
        loser = Person(lab, "clickme")
        loser.do_all(SKIPPED)
        lost = show_maps(inside(lab), inside(lab).find(loser.headers["Authorization"].split()[1]))
    alone, together = found
    assert "neural network" in alone["text"][1] and "other participants" in together["text"][1]
    assert all("<svg" in one["svg"] and one["scores"]["points"] == 100 * one["scores"]["won"] for one in found)
    assert lost["svg"] == "" and lost["scores"] == {"rounds": lost["scores"]["rounds"], "won": 0, "points": 0}


def test_the_experimenter_sees_progress_and_what_is_played_with(lab: Any) -> None:
    Person(lab, "clickme").do_all(WON)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    shown = lab.get("/api/experimenter/progress", headers=headers).json()["experiments"][0]
    assert (shown["finished"], shown["by_group"][0]["sessions"]) == (1, 1)
    assert shown["about"] == "Drawings: glyphs, by simulated drawers; partner: templates."
    assert shown["about"] in lab.get("/experimenter", headers=headers).text
    assert lab.get("/experimenter/export/clickme.zip", headers=headers).status_code == 200


def test_what_somebody_painted_goes_from_the_results_of_others_too(lab: Any) -> None:
    goes, stays = Person(lab, "clickme"), Person(lab, "clickme")
    for person in (goes, stays):
        person.do_all(SKIPPED)
    with inside(lab).storage.writing() as connection:
        connection.execute(RESULTS.insert().values(participant=stays.name, result='{"text": ["beside another"]}'))
    assert lab.get("/api/me/result", headers=stays.headers).json()["text"] == ["beside another"]
    assert lab.delete("/api/me", headers=goes.headers).status_code == 200
    with inside(lab).storage.reading() as connection:
        assert connection.execute(RESULTS.select()).all() == []


def test_points_fall_with_time() -> None:
    assert [count_points(ms, 5.0) for ms in (0.0, 2500.0, 5000.0, 5200.0)] == [100, 50, 1, 1]


def test_drawings_that_changed_on_disk_are_missed_and_nothing_is_lost(tmp_path: Path) -> None:
    drawn = ex.images.redraw(["Noditu/character01", "Vose/character01"], 4)
    concept = np.repeat(["one", "two"], 4)

    def keep(images: np.ndarray) -> None:
        np.savez(tmp_path / "mine.npz", images=images.reshape(-1, 105, 105), concept=concept)

    keep(drawn)
    own = CLICKME | {"data": str(tmp_path / "mine.npz"), "concepts": 2, "only": ["one", "two"]}
    with client(settings(tmp_path, own)) as lab:
        Person(lab, "clickme").do_all(WON)
    keep(drawn[:, :, ::-1])
    from exemplar.lab.experiments.clickme import load_game

    load_game.cache_clear()
    with client(settings(tmp_path, own)) as lab:
        with pytest.raises(ex.UserError, match="put its files back"):
            write_export(inside(lab), "clickme", tmp_path / "out")
        keep(drawn)
        load_game.cache_clear()
        write_export(inside(lab), "clickme", tmp_path / "again")
    assert len(Maps.load(tmp_path / "again")) >= 1


SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "a partner that is not there": ({"partner": "nobody"}, "nobody"),
    "a concept the partner does not know": ({"partner": "partner-glyphs-25-s0", "only": ["cat"]}, "does not know cat"),
    "data that are not there": ({"data": "/no/where"}, "no data set"),
    "a concept that is not there": ({"only": ["cat", "dog"]}, "concept 'cat'"),
    "no time": ({"limit_s": 0.5}, "limit_s must be from 1 to 60"),
    "no rounds": ({"rounds": 0}, "rounds must be at least 1"),
}


@pytest.mark.parametrize("more,sentence", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_are_wrong_are_said_before_serving(tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ex.UserError, match=sentence):
        open_lab(settings(tmp_path, CLICKME | more))
    assert not list(tmp_path.iterdir())


def test_the_partner_that_ships_knows_characters_it_has_not_seen() -> None:
    """Drawn by other drawers than those it was trained on."""
    experiment: Any = make_experiment({"type": "clickme"})
    game = experiment.game()
    assert len(game.task.concepts) == 25 and len(game.task) == 250
    assert sum(map(len, game.shown.values())) / len(game.task) > 0.95
    assert game.partner.lipschitz_bound < 1.05
