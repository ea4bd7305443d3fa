"""The tool that breaks modules on purpose: which tests a change concerns, and what it counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CODE = """\
LIMIT = 3

def first(a, b=2):
    total = (a +
             b)
    if total > LIMIT and \\
            a:
        return LIMIT
    try:
        return total
    except ValueError:
        return 0

@njit(cache=True)
def second(a):
    return a + 1
"""


@pytest.fixture(scope="module")
def tool() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "mutants"))
        import outcomes
        import recording
        import sampling

        yield {"outcomes": outcomes, "recording": recording, "sampling": sampling}
        for name in ("outcomes", "recording", "sampling", "omissions"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("line", "lines"),
    [(5, range(4, 6)), (7, range(6, 8)), (8, range(8, 9)), (11, range(9, 10)), (12, range(12, 13)), (1, None), (3, None), (16, None)],
    ids=["statement", "head", "body", "handler", "in a handler", "module", "default", "compiled"],
)  # fmt: skip
def test_a_change_concerns_the_tests_that_execute_its_statement(tool: Any, line: int, lines: range | None) -> None:
    assert tool["recording"].executed_with(CODE, line) == lines


def test_quickest_tests_come_first_and_all_where_nobody_can_say(tool: Any, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    record = tool["recording"].Record({"slow": 2.0, "quick": 0.1, "other": 1.0}, {"code.py:4": ["slow", "quick"]})
    assert record.tests_of(tmp_path, "code.py", 5, compiled=False) == ["quick", "slow"]
    assert record.tests_of(tmp_path, "code.py", 8, compiled=False) == []
    assert record.tests_of(tmp_path, "code.py", 16, compiled=False) == ["quick", "other", "slow"]
    assert record.tests_of(tmp_path, "code.py", 5, compiled=True) == ["quick", "other", "slow"]


def test_a_sample_stays_the_same_mutants_when_lines_move(tool: Any, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    outcomes = tool["outcomes"].Outcomes("code", 1, folder=tmp_path)
    outcomes.draw(tmp_path, tool["sampling"].shuffle_mutants(tmp_path, ["code.py"], "code"), earlier=[])
    drawn = {key: (found["before"], found["after"]) for key, found in outcomes.found.items()}
    (tmp_path / "code.py").write_text(
        CODE.replace("LIMIT = 3", "LIMIT = 3\nMORE = 4 + 1").replace("    return a + 1", "    return a")
    )
    again = tool["outcomes"].Outcomes("code", 1, folder=tmp_path)
    todo = again.to_try(tmp_path, again=False)
    lines = (tmp_path / "code.py").read_text().splitlines()
    for key, mutant in todo.items():
        change = tool["sampling"].describe_change(
            (tmp_path / "code.py").read_text(), tool["sampling"].apply(tmp_path, mutant)
        )
        assert (change["before"], change["after"]) == drawn[key]
        assert change["before"].split()[0] in lines[mutant.line - 1]  # where it is now, not where it was
    gone = {key for key, found in again.found.items() if found["outcome"] == "gone"}
    assert (
        gone
        == set(drawn) - set(todo)
        == {key for key, (before, _) in drawn.items() if before == "return a + 1"}
        != set()
    )


def test_survivors_that_were_explained_or_are_noticed_now_are_counted_apart(tool: Any, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    outcomes = tool["outcomes"].Outcomes("code", 1, folder=tmp_path)
    outcomes.draw(tmp_path, tool["sampling"].shuffle_mutants(tmp_path, ["code.py"], "code")[:4], earlier=[])
    one, two, three, four = outcomes.found
    for key, found in ((one, "survived"), (two, "survived"), (three, "noticed"), (four, "survived"), (one, "noticed")):
        outcomes.keep(key, {"outcome": found})
    (tmp_path / "code-equivalent.toml").write_text(f'"{two}" = "the same number"\n')
    count = tool["outcomes"].Outcomes("code", 1, folder=tmp_path).count()
    assert count == {"mutants": 4, "at_first": 3, "noticed": 2, "gone": 0, "equivalent": 1, "survived": 1, "waiting": 0}


def test_every_module_has_sources_and_tests_and_every_argument_a_survivor(tool: Any) -> None:
    for name, about in tool["sampling"].modules().items():
        assert all((ROOT / path).exists() for path in [*about["sources"], *about["tests"]]), name
        samples = [tool["outcomes"].Outcomes(name, number) for number in (1, 2)]
        known = {key for sample in samples for key, found in sample.found.items() if found["outcome"] == "survived"}
        assert samples[0].equivalent.keys() <= known, name
