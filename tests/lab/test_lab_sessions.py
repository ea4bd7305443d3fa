"""Whoever takes part: consent, sessions in order, every trial once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab_server import DRAWING, LEARNING, LINE, RIGHT, TOKEN, TURING, Person, client, settings

from exemplar.lab.sessions import Refused
from exemplar.lab.storage import RESULTS, SESSIONS, TRIALS


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    with client(settings(tmp_path, LEARNING, DRAWING, TURING)) as found:
        yield found


def test_nobody_takes_part_without_consent(lab: Any) -> None:
    refused = lab.post("/api/participants", json={"experiment": "objects", "consent": False})
    assert refused.status_code == 403 and "consent" in refused.json()["error"]
    assert (
        lab.get("/api/experimenter/progress", headers={"Authorization": f"Bearer {TOKEN}"}).json()["participants"] == []
    )


def test_a_session_goes_from_the_first_trial_to_the_completion_code(lab: Any) -> None:
    person = Person(lab, "objects")
    *sessions, end = person.do_all(right=True)
    assert [session["number"] for session in sessions] == [1, 2] and all(one["n_trials"] == 6 for one in sessions)
    assert end["state"] == "finished" and len(end["code"]) == 9
    assert person.claim() == end  # opened again
    images = [trial["image"] for trial in sessions[0]["plan"]["trials"]]
    assert len(set(images)) == 6  # never the same image twice
    assert all("object" not in image for image in images)  # and its address does not tell what it shows


def test_which_key_is_right_stays_the_same_for_an_object_within_a_session(lab: Any) -> None:
    person = Person(lab, "objects")
    plan = lab.app.state.lab.plan(person.claim()["session"])
    keys = {(trial["image"].split("-")[0], trial["right"]) for trial in plan["trials"]}
    assert len(keys) == len({name for name, _ in keys})


def test_a_trial_sent_again_is_kept_once_and_another_answer_is_refused(lab: Any) -> None:
    person = Person(lab, "objects")
    session = person.claim()["session"]
    first, again = person.answer(session, 0, RIGHT), person.answer(session, 0, RIGHT)
    assert first.status_code == again.status_code == 200 and first.json()["next"] == again.json()["next"] == 1
    other = person.answer(session, 0, {"choice": 1, "timed_out": False})
    assert other.status_code == 409 and other.json()["next"] == 1 and "already" in other.json()["error"]
    late = person.answer(session, 4, RIGHT)
    assert late.status_code == 409 and late.json() == {"error": "Trial 1 comes next.", "next": 1}


def test_a_reload_goes_on_at_the_next_trial_with_the_same_plan(lab: Any) -> None:
    person = Person(lab, "objects")
    before = person.claim()
    person.answer(before["session"], 0, RIGHT)
    after = person.claim("tab2")
    assert after["next"] == 1 and after["plan"] == before["plan"] and after["session"] == before["session"]


def test_the_tab_that_claimed_last_has_the_session(lab: Any) -> None:
    person = Person(lab, "objects")
    session = person.claim("one")["session"]
    person.claim("two")
    refused = person.answer(session, 0, RIGHT, tab="one")
    assert refused.status_code == 409 and refused.json()["other_tab"] is True
    assert person.answer(session, 0, RIGHT, tab="two").status_code == 200
    assert (
        person.answer(session, 0, RIGHT, tab="one").status_code == 200
    )  # what is kept already is acknowledged to anyone


def test_nobody_answers_for_somebody_else(lab: Any) -> None:
    one, other = Person(lab, "objects"), Person(lab, "objects")
    session = one.claim()["session"]
    assert other.answer(session, 0, RIGHT).status_code == 404
    assert lab.post("/api/sessions", json={"tab": "t"}).status_code == 401
    assert lab.get("/api/me", headers={"Authorization": "Bearer nobody"}).status_code == 401


@pytest.mark.parametrize("share,state", [(0.85, "session"), (0.84, "rejected")])
def test_the_prescreening_decides_at_85_percent(tmp_path: Path, share: float, state: str) -> None:
    with client(settings(tmp_path, LEARNING | {"prescreening": True})) as lab:
        person = Person(lab, "objects")
        session = person.claim()
        assert session["kind"] == "prescreening" and session["n_trials"] == 100
        for number, trial in enumerate(session["plan"]["trials"]):
            right = trial["right"] if number < 100 * share else 1 - trial["right"]
            person.answer(session["session"], number, {"choice": right, "timed_out": False})
        after = person.claim()
        assert after["state"] == state
        assert state == "session" or "84 of 100" in after["text"]


def test_warm_ups_come_first_on_other_objects(tmp_path: Path) -> None:
    with client(settings(tmp_path, LEARNING | {"warmups": 2})) as lab:
        person = Person(lab, "objects")
        first = person.claim()
        assert (first["kind"], first["n_trials"], first["of"]) == ("warm-up", 50, 4)
        plan = lab.app.state.lab.plan(first["session"])
        assert all(trial["image"].startswith("warmup") for trial in plan["trials"])


def test_subtasks_are_counterbalanced_and_nobody_does_one_twice(lab: Any) -> None:
    people = [Person(lab, "objects") for _ in range(6)]
    parts = []
    for person in people:
        person.do_all(right=True)
        plans = lab.app.state.lab
        mine = [plans.plan(f"s-{person.name}-{k}")["trials"][0]["image"].split("-")[0] for k in (1, 2)]
        parts += mine
        assert len({(int(name.removeprefix("object")) - 1) // 2 for name in mine}) == 2
    counts = Counter((int(name.removeprefix("object")) - 1) // 2 for name in parts)
    assert sorted(counts.values()) == [4, 4, 4]  # 12 sessions of 3 subtasks


def test_a_full_quota_ends_the_experiment(tmp_path: Path) -> None:
    with client(settings(tmp_path, LEARNING | {"wanted": 1, "sessions": 2})) as lab:
        ends = [[one["state"] for one in Person(lab, "objects").do_all(right=True)] for _ in range(3)]
    assert ends == [["session", "session", "finished"], ["session", "finished"], ["finished"]]


def test_a_session_that_was_begun_and_left_does_not_fill_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client(settings(tmp_path, LEARNING | {"subtasks": 1, "wanted": 1, "sessions": 1})) as lab:
        left = Person(lab, "objects")
        session = left.claim()["session"]
        assert Person(lab, "objects").claim()["state"] == "finished"  # full, as long as they may come back
        monkeypatch.setattr("exemplar.lab.counterbalancing.ABANDONED_S", -1.0)
        assert Person(lab, "objects").do_all(right=True)[0]["state"] == "session"
        assert left.claim()["session"] == session  # who comes back goes on all the same


def test_the_bonus_adds_up_over_sessions_reloads_and_to_the_end(tmp_path: Path) -> None:
    with client(settings(tmp_path, LEARNING | {"bonus_each": 0.25, "currency": "$"})) as lab:
        person = Person(lab, "objects")
        assert person.claim()["bonus"] == 0
        *sessions, end = person.do_all(right=True)
        assert [one["bonus"] for one in sessions] == [0, 1.5] and end["bonus"] == 3.0
        assert person.claim()["bonus"] == lab.get("/api/me", headers=person.headers).json()["bonus"] == 3.0
        other = Person(lab, "objects")
        session, right = other.claim(), []
        for number, trial in enumerate(session["plan"]["trials"]):
            right.append(number % 2 == 0)
            choice = trial["right"] if right[-1] else 1 - trial["right"]
            said = other.answer(session["session"], number, {"choice": choice, "timed_out": False}).json()
            assert said["bonus"] == 0.25 * sum(right)
        assert other.claim()["bonus"] == 0.75


def test_an_answer_that_arrives_after_withdrawing_is_refused_plainly(lab: Any) -> None:
    """Its sender was still known when it came in."""
    person = Person(lab, "objects")
    inside = lab.app.state.lab
    session, who = person.claim()["session"], inside.find(person.headers["Authorization"].split()[1])
    assert person.answer(session, 0, RIGHT).status_code == 200
    inside.withdraw(person.name)
    for late in (lambda: inside.answer(who, session, 1, "tab1", RIGHT), lambda: inside.claim(who, "tab1")):
        with pytest.raises(Refused) as problem:
            late()
        assert problem.value.status == 401


def test_nothing_of_a_deleted_participant_stays_in_the_files(tmp_path: Path) -> None:
    asked = {"ask": [{"name": "hand", "label": "Which hand?"}]}
    with client(settings(tmp_path, LEARNING | asked, DRAWING)) as lab:
        person = Person(lab, "objects", asked={"hand": "an unmistakable word"})
        person.do_all(right=True)
        drawer = Person(lab, "copy")
        drawer.do_all(LINE)
        inside = lab.app.state.lab
        with inside.storage.writing() as connection:
            connection.execute(RESULTS.insert().values(participant=drawer.name, result="an unmistakable picture"))
        for who in (person, drawer):
            assert lab.delete("/api/me", headers=who.headers).status_code == 200
        with inside.storage.reading() as connection:
            assert not any(connection.execute(table.select()).all() for table in (RESULTS, SESSIONS, TRIALS))
        for path in tmp_path.rglob("*"):
            found = path.read_bytes() if path.is_file() else b""
            assert b"unmistakable" not in found and person.name.encode() not in found, path


def test_withdrawing_deletes_everything_of_one_participant(lab: Any) -> None:
    stays, goes = Person(lab, "objects"), Person(lab, "objects")
    stays.do_all(right=True)
    goes.do_all(right=True)
    assert lab.delete("/api/me", headers=goes.headers).json() == {"deleted": True}
    assert lab.get("/api/me", headers=goes.headers).status_code == 401
    left = lab.get("/api/experimenter/progress", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert [one["participant"] for one in left["participants"]] == [stays.name]
    assert left["experiments"][0]["trials"] == 12


ANSWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "a key that is not there": ("objects", {"choice": 2, "timed_out": False}),
    "true for a key": ("objects", {"choice": True, "timed_out": False}),
    "no key and no time-out": ("objects", {"choice": None, "timed_out": False}),
    "a key and a time-out": ("objects", {"choice": 0, "timed_out": True}),
    "time running backwards": ("objects", RIGHT | {"reaction_time_ms": -3.0}),
    "half a frame": ("objects", RIGHT | {"dropped_frames": 0.5}),
    "something nobody asked for": ("objects", RIGHT | {"name": "Ada"}),
    "no strokes": ("copy", {"strokes": []}),
    "strokes that are text": ("copy", {"strokes": "none"}),
    "a point of two numbers": ("copy", {"strokes": [[[0.1, 0.2]]]}),
    "a number beyond all measure": ("copy", {"strokes": [[[0.1, 0.2, 10**400]]]}),
    "a point far outside": ("copy", {"strokes": [[[9.0, 0.2, 0.0]]]}),
    "more strokes than anyone draws": ("copy", {"strokes": [[[0.1, 0.2, 0.0]]] * 501}),
    "pixels instead of strokes": ("copy", {"strokes": [], "bitmap": "8x8:0000000000000000"}),
    "an unknown pointer": ("copy", LINE | {"pointer": "brush"}),
    "a third side": ("turing", {"choice": 2}),
}


@pytest.mark.parametrize("experiment,answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_none_is_refused_and_nothing_is_kept(
    lab: Any, experiment: str, answer: dict[str, Any]
) -> None:
    person = Person(lab, experiment)
    session = person.claim()["session"]
    refused = person.answer(session, 0, answer)
    assert refused.status_code == 422 and refused.json()["error"].endswith(".")
    assert person.claim()["next"] == 0


def test_numbers_that_are_not_finite_are_refused(lab: Any) -> None:
    person = Person(lab, "objects")
    session = person.claim()["session"]
    answer = '{"choice": 0, "reaction_time_ms": NaN}'
    body = f'{{"session": "{session}", "trial": 0, "tab": "tab1", "answer": {answer}}}'
    refused = lab.post("/api/trials", content=body, headers=person.headers | {"Content-Type": "application/json"})
    assert refused.status_code == 422
