"""Every page a command writes, in a real browser: nothing serious for axe-core, nothing wider than the window, nothing fetched."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exemplar.rooms import list_rooms

sys.path.append(str(Path(__file__).parents[1]))

from page_commands import PAGES

AXE = "axe-core@4.14.0"  # MPL-2.0; fetched by npm, which needs less room than a copy here
CHROMIUM = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
LOOKS = [(width, scheme) for width in (1300, 400) for scheme in ("light", "dark")]
NO_PAGE = {
    "data": "list show fetch sheet",
    "spaces": "list card train encode",
    "draw": "score sample train grid agents check-agent elsewhere quickdraw-fs",
    "attend": "maps play partner agents check-agent",
    "learn": "objects run import power agents check-agent",
    "recall": "tasks check agents types check-agent",
    "foresee": "label-next fit predict agents measures check-agent",
    "lab": "serve experiments simulate participants export delete turing load",
}


def test_every_command_either_writes_a_page_that_is_looked_at_or_none() -> None:
    written = {tuple(command.split()[:2]) for command in PAGES}
    for room in list_rooms():
        group = room.group or room.name
        commands = {command.split()[0] for command in room.commands}
        pages = {command for which, *rest in written if which == group for command in rest}
        assert not pages & set(NO_PAGE[group].split())
        assert pages | set(NO_PAGE[group].split()) == commands
        if group != "learn":  # whose studies are results
            asked = {words[2] for words in map(str.split, PAGES) if words[0] == group and len(words) > 2}
            assert asked in (set(room.studies()), set())
    assert {"draw", "attend", "foresee"} <= {command.split()[0] for command in PAGES if len(command.split()) > 2}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    npm, place = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("axe-core comes by npm, which is not on this machine")
    said = subprocess.run([npm, "pack", AXE], cwd=place, capture_output=True, text=True, timeout=300, check=False)
    if said.returncode:
        pytest.skip(f"npm could not fetch {AXE}")
    with tarfile.open(next(place.glob("*.tgz"))) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        with member:
            return member.read().decode()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM))
        yield started
        started.close()


@pytest.mark.long
@pytest.mark.parametrize("command", PAGES)
def test_a_page_can_be_read_by_anybody(command: str, browser: Any, axe: str, tmp_path: Path) -> None:
    page = PAGES[command](tmp_path / command.replace(" ", "-"))
    for width, scheme in LOOKS:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab = context.new_page()
        wrong: list[str] = []
        tab.on("request", lambda asked, wrong=wrong: wrong.append(asked.url))
        tab.on("pageerror", lambda problem, wrong=wrong: wrong.append(str(problem)))
        tab.goto(page.resolve().as_uri())
        assert [one for one in wrong if not one.startswith(("data:", page.resolve().as_uri()))] == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, (width, scheme)
        assert tab.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        tab.evaluate(axe)
        found = tab.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        told = [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]
        assert told == [], (width, scheme)
        context.close()


def test_figures_are_beside_every_page_as_png_and_svg(tmp_path: Path) -> None:
    page = PAGES["recall run"](tmp_path / "run")
    names = {path.name for path in (page.parent / "figures").iterdir()}
    assert names == {f"{name}.{ending}" for name in ("forgetting", "memory") for ending in ("png", "svg")}
