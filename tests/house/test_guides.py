"""The guides, concept pages and how-tos of the site are run from top to bottom, each in one folder, Python and commands alike."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [DOCS / "index.md", *(page for part in ("guides", "concepts", "extending") for page in (DOCS / part).glob("*.md"))]
)
SLOW = {
    "index",
    "photographs",
    "generator",
    "continual",
    "people",
    "encoder",
    "scores",
}  # networks of some size: with the long tests
ADDED = sorted((DOCS / "extending").glob("*.md"))
SERVES = "exemplar lab serve"  # waits for browsers; tests/lab has it
IN_COPY = """
import shlex, sys, warnings
warnings.simplefilter("error")
from exemplar.cli import main
for line in sys.stdin.read().splitlines():
    sys.argv = shlex.split(line)
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """(what stands after the fence, text) of each fenced block, in order."""
    inside: list[str] | None = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```") and inside is None:
            inside, kind = [], line.removeprefix("```").strip()
        elif line.startswith("```"):
            yield kind, "\n".join(inside or []) + "\n"
            inside = None
        elif inside is not None:
            inside.append(line)


def commands(text: str) -> list[str]:
    return [line.partition("  #")[0].strip() for line in text.splitlines() if line.startswith("exemplar ")]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.long] if page.stem in SLOW else []) for page in PAGES],
)
def test_a_page_runs_from_top_to_bottom(
    page: Path, one_place: None, tmp_path: Path, exemplar: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)
        for line in commands(text) if kind == "" else []:
            if not line.startswith(SERVES):
                said = exemplar(*shlex.split(line)[1:], cwd=tmp_path)
                assert said.code == 0, f"{line}: {said.err}"


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.long] if page.stem == "agent" else []) for page in ADDED],
)
def test_what_is_added_as_a_page_says_works_in_a_copy_of_the_package(page: Path, tmp_path: Path) -> None:
    home = tmp_path / "src" / "exemplar"
    shutil.copytree(ROOT / "src" / "exemplar", home, ignore=shutil.ignore_patterns("__pycache__", "weights", "results"))
    for part in ("weights", "results"):
        (home / part).symlink_to(ROOT / "src" / "exemplar" / part)
    lines: list[str] = []
    for kind, text in blocks(page):
        language, _, title = kind.partition(" title=")
        place = tmp_path / title.strip('"')
        if language == "python" and title:
            assert not place.exists(), f"{title} is there already"
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")
        elif language == "diff":
            place.write_text(patched(place.read_text(encoding="utf-8"), text), encoding="utf-8")
        elif language == "console":
            lines += commands(text)
    assert lines, "the page shows no command that uses what was added"
    done = subprocess.run(
        [sys.executable, "-c", IN_COPY], input="\n".join(lines), capture_output=True, text=True, cwd=tmp_path, timeout=600,
        env={"PYTHONPATH": str(tmp_path / "src"), "EXEMPLAR_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def patched(text: str, diff: str) -> str:
    """Lines with + go in after the line before them, which must be there once; lines with − go out."""
    before = ""
    for line in diff.splitlines():
        sign, line = line[:1], line[1:]
        assert sign == "+" or text.count(f"{line}\n") == 1, f"not there once: {line}"
        if sign == "+":
            text = text.replace(f"{before}\n", f"{before}\n{line}\n", 1)
        elif sign == "-":
            text = text.replace(f"{line}\n", "\0\n", 1)
        before = "\0" if sign == "-" else line
    return text.replace("\0\n", "")


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page.parent.name != "leaderboards"]
    from exemplar import rooms

    of_rooms = {"data.md", *(f"{name}.md" for name in rooms.ROOMS)}  # docs/site.py lists these
    assert [page for page in listed if page not in of_rooms and f" {page}\n" not in text] == []
