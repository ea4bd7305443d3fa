"""What the README and the pages show as Python runs, and what they show as commands exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
ROOMS = [
    page for page in PAGES if page.parent in (ROOT, ROOT / "docs") and page.name != "index.md"
]  # test_guides runs the rest


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language ("" for commands)."""
    found: list[tuple[str, str]] = []
    inside: list[str] | None = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            if inside is None:
                inside, kind = [], line.removeprefix("```").strip()
            else:
                found.append((kind, "\n".join(inside) + "\n"))
                inside = None
        elif inside is not None:
            inside.append(line)
    return [text for kind, text in found if kind == language]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("page", [page for page in ROOMS if blocks(page, "python")], ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, elsewhere: Path, real_data: Any) -> None:
    """All its blocks in one session, as a reader would."""
    code = "\n".join(blocks(page, "python"))
    for name in ("omniglot", "quickdraw", "cifar-fs", "fc100"):
        if f'"{name}"' in code:
            real_data(name)
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})


def test_the_first_example_is_three_lines_and_one_command(elsewhere: Path, exemplar: Any) -> None:
    readme = ROOT / "README.md"
    lines = [line for line in blocks(readme, "python")[0].splitlines() if line.strip()]
    assert len(lines) == 3 and lines[0] == "import exemplar as ex"
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    (command,) = blocks(readme, "")[0].strip().splitlines()
    said = exemplar(*shlex.split(command)[1:], "--json", cwd=elsewhere)
    assert said.code == 0, said.err
    printed, answer = said.json(), names["scored"].json()
    assert {k: v for k, v in answer.items() if k != "seconds"} == {k: v for k, v in printed.items() if k != "seconds"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_shown_exists(page: Path) -> None:
    from typer.testing import CliRunner

    from exemplar.cli import list_groups, make_app

    known = {f"{group.name} {words}" for group in list_groups() for words in group.commands} | {"tour"}
    for line in "\n".join(blocks(page, "")).splitlines():
        if not line.startswith("exemplar "):
            continue
        words = shlex.split(line.partition("#")[0])[1:]
        command = next(
            (name for name in known if " ".join(words).startswith(f"{name} ") or " ".join(words) == name), ""
        )
        assert command, line
        said = CliRunner().invoke(make_app(words[0]), [*command.split(), "--help"]).stdout
        for word in words:
            if word.startswith("--"):
                assert word in re.sub(r"\s+", " ", said), f"{line}: {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_and_page_that_is_named_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = [name for name in re.findall(r"\]\(([^)#]+)[)#]", text) if "://" not in name]
    assert not [name for name in named if not (page.parent / name).exists()]
