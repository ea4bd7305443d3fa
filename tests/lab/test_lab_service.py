"""The lab as a service: nothing acknowledged is lost, whatever is killed; nothing strange makes it fail."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from lab_server import CLICKME, DRAWING, LEARNING, RIGHT, TOKEN, TURING, Person, client, settings
from postgres import postgres

from exemplar import UserError
from exemplar.lab.serving import remember_experiments
from exemplar.lab.storage import SETTINGS as TABLE
from exemplar.lab.storage import DatabaseBusy, open_storage
from exemplar.lab.under_load import LoadConfig, everyone, find_port, run_load


def check(config: LoadConfig) -> None:
    print(f"kills {config.kills}, seed {config.seed}")
    result = run_load(config)
    assert len(result.down) == config.kills
    assert result.acknowledged == config.participants * config.trials
    assert (result.lost, result.doubled, result.strange, result.unfinished) == (0, 0, 0, 0)


def test_a_few_participants_at_once_lose_nothing_when_the_server_is_killed() -> None:
    check(LoadConfig(participants=6, trials=12, pace_s=0.4, kills=1, images=False))


@pytest.mark.long
def test_two_hundred_participants_and_ten_kills() -> None:
    check(LoadConfig(participants=200, trials=100, pace_s=1.2, kills=10))


@pytest.mark.long
def test_two_servers_on_one_postgresql_and_one_of_them_killed() -> None:
    with postgres() as database:
        check(LoadConfig(participants=40, trials=40, pace_s=0.6, kills=3, servers=2, images=False, database=database))


@pytest.mark.long
def test_the_whole_interface_works_on_postgresql(tmp_path: Path) -> None:
    with postgres() as database, client(settings(tmp_path, LEARNING, DRAWING, TURING, database=database)) as lab:
        person = Person(lab, "objects")
        assert person.do_all(right=True)[-1]["state"] == "finished"
        page = lab.get("/api/experimenter/progress", headers={"Authorization": f"Bearer {TOKEN}"}).json()
        assert page["server"]["database"] == "PostgreSQL" and page["participants"][0]["accuracy"] == 1
        assert (
            lab.get("/experimenter/export/objects.zip", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        )
        assert lab.delete("/api/me", headers=person.headers).status_code == 200


@pytest.mark.long
def test_any_of_two_servers_on_one_postgresql_guesses_and_judges_alike(tmp_path: Path) -> None:
    with postgres() as database:
        here, there = (settings(tmp_path / name, CLICKME, database=database) for name in "ab")
        with client(here) as one, client(there) as other:
            person = Person(one, "clickme")
            session = person.claim()
            for trial in range(session["n_trials"]):
                places = [[row, column] for row in range(10, 256, 20) for column in range(10, 236, 20)]
                body = {"session": session["session"], "trial": trial, "tab": "tab1", "places": places}
                said = [lab.post("/api/guess", json=body, headers=person.headers).json() for lab in (one, other)]
                assert said[0] == said[1] and "right" in said[0]
                answer = {"places": [[*place, 0.0] for place in places], "skipped": False, "timed_out": False}
                person.client = (one, other)[trial % 2]
                assert person.answer(session["session"], trial, answer).json()["next"] == trial + 1


@pytest.mark.long
def test_no_request_that_the_description_allows_makes_the_server_fail(tmp_path: Path) -> None:
    import schemathesis
    from hypothesis import HealthCheck, given, seed
    from hypothesis import settings as limits

    with client(settings(tmp_path, LEARNING, DRAWING, TURING, CLICKME, bots=True)) as lab:
        schema = schemathesis.openapi.from_asgi("/openapi.json", lab.app)
        names = set()
        for found in schema.get_all_operations():
            operation = found.ok()
            names.add(operation.path)

            @seed(0)
            @limits(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy())
            def try_it(case: Any) -> None:
                person, player = Person(lab, "objects"), Person(lab, "clickme")
                mine = dict(case.body) if isinstance(case.body, dict) else None
                if case.path == "/api/guess" and mine is not None:  # of a round that is being played, too
                    mine |= {"session": player.claim()["session"], "trial": 0, "tab": player.tab}
                    assert lab.post(case.path, json=mine, headers=player.headers).status_code in (200, 422)
                for headers in (person.headers, {"Authorization": f"Bearer {TOKEN}"}):
                    response = case.call(headers=headers)
                    assert response.status_code < 500, (case.method, case.path, response.text)

            try_it()
        assert {"/api/trials", "/api/guess", "/api/participants", "/experimenter/exclude"} <= names


def test_a_database_that_is_locked_says_so_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with client(settings(tmp_path, LEARNING)) as lab:
        person = Person(lab, "objects")
        session = person.claim()["session"]
        engine = lab.app.state.lab.storage.engine
        engine.dispose()
        monkeypatch.setattr("exemplar.lab.storage.WAIT_MS", 50)
        other = sqlite3.connect(tmp_path / "lab.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        busy = person.answer(session, 0, RIGHT)
        assert busy.status_code == 503 and "locked" in busy.json()["error"] and busy.headers["retry-after"] == "1"
        other.execute("COMMIT")
        other.close()
        assert person.answer(session, 0, RIGHT).json()["next"] == 1


COMMANDS = {
    "no database": (("participants",), "There is no database"),
    "no such experiment": (("simulate", "nothing", "--out", "q"), "there is no experiment 'nothing'"),
    "neither server nor folder": (("simulate", "objects"), "Give --server"),
    "a port that is no number": (("simulate", "objects", "--server", "http://127.0.0.1:1x"), "is no address"),
    "no such agent": (("simulate", "objects", "--agent", "nobody", "--out", "q"), "there is no agent 'nobody'"),
    "words for one who draws after drawings": (("simulate", "quick", "--agent", "copies", "--out", "q"), "shows words"),
    "a file that is not there": (("serve", "--experiments", "none.json"), "cannot be read"),
    "a short token": (("serve", "--token", "secret"), "can be guessed"),
    "nobody": (("load", "--participants", "0"), "at least 1"),
}
SETTINGS = {
    "a misspelt setting": ('[{"type": "learning", "subtaks": 3}]', "did you mean subtasks"),
    "more sessions than subtasks": ('[{"type": "learning", "subtasks": 2, "sessions": 5}]', "each subtask once"),
    "a name that is no address": ('[{"type": "turing", "name": "a b"}]', "part of an address"),
    "one name twice": ('[{"type": "turing"}, {"type": "turing"}]', "Two experiments"),
    "no list": ('{"a": 1}', "a list of experiments"),
    "no JSON": ("no", "no JSON file"),
    "no such type": ('[{"type": "dancing"}]', "type of experiment 'dancing'"),
    "a bonus in words": ('[{"type": "learning", "bonus_each": "much"}]', "bonus_each must be a number"),
    "a quota of none": ('[{"type": "learning", "wanted": 0}]', "wanted must be at least 1"),
    "text for a number": ('[{"type": "learning", "trials": "100"}]', 'trials must be a whole number, got "100"'),
    "more trials than images": ('[{"type": "learning", "trials": 500}]', "as many images of each object"),
    "questions without names": ('[{"type": "turing", "ask": [{"label": "Age?"}]}]', "ask is a list of"),
    "one question twice": (
        '[{"type": "turing", "ask": [{"name": "a", "label": "A"}, {"name": "a", "label": "B"}]}]',
        "names of its own",
    ),
    "nobody to judge": ('[{"type": "turing", "agents": ["nobody"]}]', "there is no agent 'nobody'"),
    "what no one sets": ('[{"type": "learning", "has_result": true}]', "no setting 'has_result'"),
    "too many concepts": ('[{"type": "drawing", "concepts": 900}]', "ask for fewer"),
}


@pytest.mark.parametrize("words,sentence", COMMANDS.values(), ids=COMMANDS)
def test_a_mistake_is_one_sentence_and_leaves_nothing(tmp_path: Path, exemplar: Any, words: Any, sentence: str) -> None:
    said = exemplar("lab", *words, cwd=tmp_path)
    assert said.code == 2 and sentence in said.err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text,sentence", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_are_wrong_are_said_before_serving(
    tmp_path: Path, exemplar: Any, text: str, sentence: str
) -> None:
    (tmp_path / "mine.json").write_text(text)
    said = exemplar("lab", "serve", "--experiments", "mine.json", "--no-draw-ahead", cwd=tmp_path)
    assert said.code == 2 and sentence in said.err, said.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_commands_know_the_experiments_as_they_were_served(tmp_path: Path, exemplar: Any) -> None:
    mine = LEARNING | {"name": "mine"}
    with client(settings(tmp_path, mine)) as lab:
        Person(lab, "mine").do_all(right=True)
        remember_experiments(lab.app.state.lab.storage, [mine])
        with pytest.raises(UserError, match=r"participants of mine, whose seed was 0 and would be 1"):
            remember_experiments(lab.app.state.lab.storage, [mine | {"seed": 1}])
        remember_experiments(lab.app.state.lab.storage, [TURING])  # another one; mine is kept for those who took part
    said = exemplar("lab", "export", "mine", "--out", "people", cwd=tmp_path)
    assert said.code == 0, said.err
    assert (tmp_path / "people" / "trials.parquet").is_file()
    assert "mine" in exemplar("lab", "participants", cwd=tmp_path).out


def test_a_database_that_is_read_only_can_be_exported_and_refuses_answers(tmp_path: Path, exemplar: Any) -> None:
    with client(settings(tmp_path, LEARNING)) as lab:
        Person(lab, "objects").do_all(right=True)
        person = Person(lab, "objects")
        session = person.claim()["session"]
        remember_experiments(lab.app.state.lab.storage, [LEARNING])
    address = f"sqlite:///file:{tmp_path / 'lab.sqlite'}?mode=ro&uri=true"
    with client(settings(tmp_path, LEARNING, database=address)) as lab:
        refused = lab.post(
            "/api/trials", headers=person.headers, json={"session": session, "trial": 0, "tab": "tab1", "answer": RIGHT}
        )
        assert refused.status_code == 503 and "readonly" in refused.json()["error"]
        assert lab.get("/").status_code == 200
    said = exemplar("lab", "export", "objects", "--out", tmp_path / "people", "--database", address)
    assert said.code == 0, said.err
    said = exemplar("lab", "delete", person.name, "--database", address)
    assert said.code == 2 and "readonly" in said.err and said.err.count("\n") == 1


def test_threads_that_write_at_once_stand_in_line(tmp_path: Path) -> None:
    """SQLite's own waiting sleeps longer and longer, which is where the slowest answers came from: here it does not wait."""
    storage = open_storage(tmp_path / "lab.sqlite")
    sa.event.listen(storage.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout = 0"))
    storage.engine.dispose()

    def write(name: str) -> None:
        for number in range(20):
            storage.set_setting(name, str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, "abcdefgh"))
    assert [storage.read_setting(name) for name in "abcdefgh"] == ["19"] * 8
    storage.close()


def test_two_requests_at_the_same_instant_are_no_error_of_the_server(tmp_path: Path) -> None:
    """The second finds a row that the first has just written: it is asked to come again."""
    with client(settings(tmp_path, LEARNING)) as lab:
        storage = lab.app.state.lab.storage
        storage.set_setting("name", "one")
        with pytest.raises(DatabaseBusy), storage.writing() as connection:
            connection.execute(TABLE.insert().values(name="name", value="two"))
        assert storage.read_setting("name") == "one"


def test_ports_of_servers_are_not_those_that_clients_are_given() -> None:
    """Else a client that knocks while the server is down may be connected to itself, and the server never starts again."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(given.read_text().split()[0]) if given.is_file() else 32768
    assert all(find_port() < first for _ in range(20))


def test_killing_ends_when_nobody_sends_anything_any_more() -> None:
    """The kill would come long after the last trial."""

    class NoFleet:
        ports = (1,)

    async def nobody(*_: Any) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exemplar.lab.under_load.Browser.take_part", nobody)
        result = asyncio.run(everyone(LoadConfig(participants=2, pace_s=1000.0, kills=3), NoFleet()))
    assert result.down == []


WRONG = {
    "a folder": lambda place: place,
    "no such dialect": lambda place: "nosql://there",
    "a server that is not there": lambda place: "postgresql://nobody@127.0.0.1:1/none",
    "a file that is no database": lambda place: _text(place / "notes.txt"),
}


def _text(path: Path) -> Path:
    path.write_text("these are notes, not a database\n" * 100)
    return path


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_a_database_that_cannot_be_used_is_said_at_the_start(tmp_path: Path, make: Any) -> None:
    with pytest.raises(UserError) as problem:
        open_storage(make(tmp_path))
    assert "\n" not in str(problem.value)
