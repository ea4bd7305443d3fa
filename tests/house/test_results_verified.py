"""Results computed again: which are chosen, what counts as moved, and which sources a result comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import exemplar
from exemplar import rooms
from exemplar.records import Score, Scores
from exemplar.results import kept as keeping
from exemplar.results import verifying
from exemplar.results.kept import differences, load_kept
from exemplar.results.sources import code_that_counts
from exemplar.results.verifying import Check, choose, list_checks
from exemplar.rooms import KeptResult, Part, Room
from exemplar.runs import Run

ROOT = Path(__file__).parents[2]
A_STUDY = '''
"""What it is."""
from exemplar.errors import UserError
from exemplar.rooms import KeptResult
N = 3

def double(x):
    """Twice it."""
    if x < 0:
        raise UserError(f"{x} is below 0: give another")
    return 2 * x  # twice

KEPT = KeptResult(title="Doubles", text=f"All {N}." + " No more.", compute=double, published={("a", "b"): 1})
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""What it is."""', '"""What it was."""'),
        ('"""What it is."""\n', ""),
        ('"""Twice it."""', '"""Double of it."""'),
        ("# twice", "# double"),
        ('title="Doubles"', 'title="Pairs"'),
        ("All {N}.", "All of the {N}."),
        (" No more.", " Nothing else."),
        ("is below 0: give another", "must be at least 0"),
        ("): 1}", "): 2}"),
        ("2 * x", "(2 * x)"),
    ],
)
def test_what_only_describes_does_not_count_as_source(old, new):
    assert old in A_STUDY and code_that_counts(A_STUDY.replace(old, new)) == code_that_counts(A_STUDY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * x", "3 * x"),
        ("N = 3", "N = 4"),
        ("x < 0", "x <= 0"),
        ("compute=double", "compute=triple"),
        ("raise UserError", "raise ValueError"),
        ("return", "x = 2\n    return"),
        ("N = 3", 'N = "a text that may be the name of a seed"'),
        ("import KeptResult", "import KeptResult, Part"),
    ],
)
def test_a_changed_line_of_code_counts(old, new):
    assert old in A_STUDY and code_that_counts(A_STUDY.replace(old, new)) != code_that_counts(A_STUDY)


def score(value: float, lo: float = 0.4, hi: float = 0.6, n: int = 9) -> Score:
    return Score("accuracy", value, (lo, hi), n, agent="a")


@pytest.mark.parametrize(
    ("now", "moved"),
    [
        (score(0.5), False),
        (score(0.5 * (1 + 1e-11)), False),
        (score(0.5 * (1 + 1e-8)), True),
        (score(0.5, lo=0.4 * (1 + 1e-8)), True),
        (score(0.5, hi=0.6 * (1 + 1e-8)), True),
        (score(0.5, n=10), True),
        (score(0.5, lo=float("nan"), hi=float("nan")), True),
    ],
)
def test_a_score_that_moves_by_rounding_has_not_moved(now, moved):
    assert bool(differences([score(0.5)], [now])) == moved


def test_small_scores_are_compared_as_strictly_as_large_ones_and_zero_is_zero_up_to_rounding():
    small, other = (Score("p", value, (value, value), 9) for value in (1e-7, 1.001e-7))
    assert differences([small], [other])
    assert not differences([Score("gap", 0.0, (0.0, 0.0), 9)], [Score("gap", 1e-16, (-1e-16, 1e-16), 9)])


def test_every_room_is_chosen_before_any_has_a_second_and_the_time_is_kept():
    checks = [Check(room, f"{room}{k}", False, cost) for room in "abc" for k, cost in enumerate((5, 6, 100))]
    checks.append(Check("d", "d0", True, 20))
    chosen = choose(checks, 40)
    assert {check.room for check in chosen[:4]} == set("abcd") and sum(check.cpu_s for check in chosen) <= 40
    assert [check.name for check in choose(checks, 4)] == []
    everything = choose([*checks, Check("d", "d0", False, 21)], 1000)
    assert len(everything) == len({check.name for check in everything}) == 10 and not any(c.part for c in everything)


def test_what_ci_computes_again_covers_every_room_that_has_results():
    said = re.search(r"results verify --seconds (\d+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert said is not None and int(said[1]) == 180
    assert "make verify" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    chosen = choose(list_checks(), 180)
    assert {check.room for check in chosen} == {room.name for room in rooms.list_rooms() if room.results()}
    assert sum(check.cpu_s for check in chosen) <= 180


def test_a_result_that_reads_no_data_comes_out_the_same(capsys):
    answer = exemplar.results.verify(["s17-control"])
    assert answer.ok and answer["same"] == ["s17-control"] and answer["rooms"] == ["spaces"] and not answer["moved"]
    assert "s17-control: the same" in capsys.readouterr().err


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """toy(0.25, part=…): the house has one result, kept at .25, and its compute gives this."""
    row = {"name": "a", "value": 0.25, "ci95": [0.0, 1.0], "n": 3}
    rows = [row, row | {"name": "b"}]
    kept = {"scores": rows, "seed": 5, "provenance": {"duration_s": 1.0, "modules": "older"}}
    (tmp_path / "toy.json").write_text(json.dumps(kept))
    monkeypatch.setattr(keeping, "FOLDER", tmp_path)

    def make(value: float, **more: object) -> None:
        def both(run: Run, seed: int) -> Scores:
            assert seed == 5
            return _save(run, value, "ab")

        one = Part(lambda run, seed: _save(run, value, "a"), share=0.5)
        result = KeptResult("Toy", "", both, part=one, **more)  # type: ignore[arg-type]
        monkeypatch.setattr(rooms, "list_rooms", lambda: [Room("draw", "", "", {}, results=lambda: {"toy": result})])

    return make


def _save(run: Run, value: float, names: str) -> Scores:
    table = Scores.collect([Score(name, value, (0.0, 1.0), 3) for name in names])
    run.save(table)
    return table


def test_a_score_that_moved_fails_and_is_named(toy):
    toy(0.26)
    answer = exemplar.results.verify()
    assert not answer.ok and answer["same"] == []
    assert answer["moved"] == [f"toy: {name} was 0.25 [0, 1], n = 3, is 0.26 [0, 1], n = 3" for name in "ab"]


def test_a_part_is_held_against_the_scores_it_computes(toy):
    toy(0.25)
    answer = exemplar.results.verify(seconds=1.5)  # the whole is held to take two
    assert answer.ok and answer["same"] == ["toy"]
    toy(0.26)
    assert [sentence.split()[1] for sentence in exemplar.results.verify(seconds=1.5)["moved"]] == ["a"]


def test_sources_are_noted_for_what_came_out_the_same_and_scores_stay(toy, tmp_path):
    before = load_kept("toy")
    toy(0.26)
    exemplar.results.verify(commit=True)
    assert json.loads((tmp_path / "toy.json").read_text())["provenance"]["modules"] == "older"
    toy(0.25)
    exemplar.results.verify(seconds=1.5, commit=True)  # a part says nothing about the rest
    assert json.loads((tmp_path / "toy.json").read_text())["provenance"]["modules"] == "older"
    exemplar.results.verify(every=True, commit=True)
    after = load_kept("toy")
    assert before is not None and after is not None and after.scores == before.scores
    assert after.provenance["modules"] != "older" and after.provenance["cpu_s"] >= 0


def test_what_cannot_be_computed_here_is_skipped_by_name_and_a_failure_is_no_skip(toy, monkeypatch):
    monkeypatch.setattr(verifying, "find", lambda name: None)
    toy(0.25, files=("human",))
    answer = exemplar.results.verify(["toy"])
    assert not answer.ok and answer["skipped"] == {"toy": "human is not on this machine"} and answer["same"] == []
    toy(0.25, data=(("glyphs", "no such split"),))
    assert "could not be computed" in exemplar.results.verify(["toy"])["moved"][0]


def test_a_name_that_is_not_there_and_too_little_time_are_refused(exemplar):
    from conftest import mistake

    assert "did you mean s17-control" in mistake(exemplar("results", "verify", "s17-contol"))
    assert "seconds must be at least 1" in mistake(exemplar("results", "verify", "--seconds", "0"))
