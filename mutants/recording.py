"""Which tests execute which lines of a module, found once per state of the checkout."""

from __future__ import annotations

import ast
import functools
import gc
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SIMPLE = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Record:
    """seconds: of each test by itself; tests: those that execute a line of a file, by f"{file}:{line}"."""

    seconds: dict[str, float]
    tests: dict[str, list[str]]

    def tests_of(self, root: Path, file: str, line: int, compiled: bool) -> list[str]:
        """Those that can notice a change in this line, the quickest first."""
        lines = executed_with((root / file).read_text(encoding="utf-8"), line)
        if lines is None or compiled:
            found = set(self.seconds)
        else:
            found = {test for one in lines for test in self.tests.get(f"{file}:{one}", [])}
        return sorted(found, key=lambda test: (self.seconds.get(test, 0.0), test))


def executed_with(code: str, line: int) -> range | None:
    """The lines of the statement, of a compound one those of its head; None where all tests execute it, or where nobody can
    say: outside functions, and in compiled ones."""
    inside: list[Any] = []
    statement: Any = ast.parse(code)
    while True:
        children = [child for child in _statements(statement) if _first(child) <= line <= child.end_lineno]
        if not children:
            break
        if isinstance(statement, SIMPLE):
            inside.append(statement)
        statement = children[0]
    if not inside or any("jit" in ast.unparse(mark) for function in inside for mark in function.decorator_list):
        return None
    body = getattr(statement, "body", None)
    last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno
    return range(_first(statement), last + 1)


def _statements(node: Any) -> Iterator[Any]:
    """Those within a statement, whatever lies between (handlers, cases)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _statements(child)


def _first(statement: Any) -> int:
    marks = getattr(statement, "decorator_list", [])
    return int(min([statement.lineno, *(mark.lineno for mark in marks)]))


def record_lines(
    checkout: Path, files: list[str], tests: list[str], environment: dict[str, str]
) -> dict[str, list[str]]:
    """Runs the tests with every line of these files traced; a test that fails for that (a deadline) counts for each line."""
    log = checkout.parent / "lines.tsv"
    log.unlink(missing_ok=True)
    traced = environment | {
        "PYTHONPATH": os.pathsep.join([str(HERE / "traced"), environment["PYTHONPATH"], str(HERE)]),
        "MUTANTS_FILES": os.pathsep.join(str(checkout / file) for file in files),
        "MUTANTS_CHECKOUT": str(checkout),
        "MUTANTS_LOG": str(log),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "recording", "--hypothesis-seed=0"]
    subprocess.run([*command, *tests], cwd=checkout, env=traced, capture_output=True, check=False)
    owners: dict[str, set[str]] = defaultdict(set)
    users: dict[str, set[str]] = defaultdict(set)
    for row in log.read_text(encoding="utf-8").splitlines():
        kind, *rest = row.split("\t")
        if kind == "uses":
            users[rest[1]].add(rest[0])
            users[""].add(rest[0])
        else:
            owners[f"{Path(rest[0]).relative_to(checkout)}:{rest[1]}"].add(kind)
    return {
        place: sorted(set().union(*(users.get(owner, {owner}) for owner in found)) | users["failed"])
        for place, found in owners.items()
    }


# The rest is pytest's side of it: a plugin.


def _say(*words: str) -> None:
    tracer = sys.modules["sitecustomize"]
    os.write(tracer.log, ("\t".join(["uses", *words]) + "\n").encode())


def _enter(context: str) -> str:
    tracer = sys.modules["sitecustomize"]
    before, tracer.context = tracer.context, context
    sys.settrace(tracer.follow)  # Ctrl-C within the tracer, say, has ended it
    os.environ["MUTANTS_CONTEXT"] = context
    return str(before)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        _say(item.nodeid, "")
        for fixtures in item._fixtureinfo.name2fixturedefs.values():  # type: ignore[attr-defined]
            for fixture in fixtures:
                _say(item.nodeid, _name(fixture))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """What an earlier test left in a cache, this one would compute by itself."""
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper and one.__module__.startswith(("exemplar", "test_", "conftest")):
            one.cache_clear()
    before = _enter(item.nodeid)
    try:
        return (yield)
    finally:
        _enter(before)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[Any]:
    """A fixture that several tests share is set up once, and used by all of them."""
    if fixturedef.scope == "function":
        return (yield)
    before = _enter(_name(fixturedef))
    try:
        return (yield)
    finally:
        _enter(before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _say(report.nodeid, "failed")


def _name(fixture: Any) -> str:
    return f"fixture {fixture.baseid} {fixture.argname}"
