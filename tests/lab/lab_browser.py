"""A lab in a process of its own, and a real Chromium that takes part in it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import exemplar as ex
from exemplar.lab.under_load import find_port

TOKEN = "the-experimenters-token"
PATIENCE_MS = 180_000  # every test waits for a condition; how long that takes is the machine's affair
CHROMIUM = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP: dict[str, Any] = {"viewport": {"width": 1100, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 400, "height": 780},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}
LEARNING = {
    "type": "learning",
    "name": "objects",
    "subtasks": 2,
    "sessions": 1,
    "trials": 4,
    "prescreening": False,
    "warmups": 0,
    "limit_s": 600,  # however busy the machine is; tests of what happens afterwards move the browser's clock
}
DRAWING = {"type": "drawing", "name": "copy", "concepts": 1, "drawings": 2}
QUICK = {"type": "drawing", "name": "quick", "instruction": "word", "limit_s": 600, "concepts": 1, "drawings": 2}
CLICKME = {
    "type": "clickme",
    "name": "clickme",
    "partner": "templates",
    "concepts": 3,
    "drawings": 3,
    "rounds": 9,
    "limit_s": 60,  # as above: a busy machine shall not end a round
    "show_exemplars": True,
}
TURING = {"type": "turing", "name": "turing", "trials": 4}


@dataclass
class RunningLab:
    """A server and what it has kept. port stays the same when it is started again."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = ["lab", "serve", "--port", self.port, "--database", self.folder / "lab.sqlite", "--token", TOKEN]
        words += ["--experiments", self.folder / "experiments.json", "--simulation", "--requests", 0]
        words += ["--no-draw-ahead"]  # a thousand images, of which a test shows ten
        code = "from exemplar.cli import main; main()"
        log = self.folder / "server.log"
        with log.open("w", encoding="utf-8") as out:
            self.process = subprocess.Popen([sys.executable, "-c", code, *map(str, words)], stderr=out, cwd=self.folder)
        while not self._answers():
            assert self.process.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthy", timeout=60) as said:
                return bool(said.status == 200)
        except OSError:
            return False

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(180)
            self.process = None

    def answers(self, experiment: str) -> pd.DataFrame:
        """What the export has: one row per trial, `answer` and `planned` as dictionaries."""
        out = self.folder / f"export-{len(list(self.folder.glob('export-*')))}"
        ex.lab.export(
            experiment, out=out, database=str(self.folder / "lab.sqlite"), experiments=self.folder / "experiments.json"
        )
        found = pd.read_csv(out / "answers.csv")
        return found.assign(answer=found.answer.map(json.loads), planned=found.planned.map(json.loads))


@contextmanager
def running_lab(folder: Path, *experiments: dict[str, Any]) -> Iterator[RunningLab]:
    (folder / "experiments.json").write_text(json.dumps(experiments), encoding="utf-8")
    lab = RunningLab(folder, find_port())
    lab.start()
    try:
        yield lab
    finally:
        lab.stop()


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; skips, saying so, where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=found, args=list(CHROMIUM), timeout=PATIENCE_MS)
        yield browser
        browser.close()


def open_page(browser: Any, device: dict[str, Any] = DESKTOP, *, before: str = "") -> Any:
    """A page in a profile of its own. Errors of its scripts are kept in page.problems; before: script that runs before the page's."""
    context = browser.new_context(**device)
    if before:
        context.add_init_script(before)
    return watch(context.new_page())


def watch(page: Any) -> Any:
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text) if "Content Security Policy" in said.text else None)
    page.set_default_timeout(PATIENCE_MS)
    return page


def press(page: Any, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()


def heading(page: Any, text: str) -> None:
    """Waits for the page with this title."""
    page.get_by_role("heading", level=1).filter(has_text=re.compile(re.escape(text))).wait_for()


def consent(page: Any, lab: RunningLab, experiment: str, query: str = "") -> None:
    """From the first page to the one that waits for Start."""
    page.goto(f"{lab.url}/take/{experiment}{query}")
    page.get_by_label("I agree to take part").check()
    press(page, "Take part")
    press(page, "I understand")
    if experiment == "objects":
        press(page, "Stay in this window")
        press(page, "It fits")


def code_of(page: Any) -> str:
    page.locator("output.code").wait_for()
    return str(page.locator("output.code").inner_text())


@dataclass(frozen=True)
class Hand:
    """How a person starts a trial of the learning task, and chooses. name: keyboard, mouse or touch."""

    name: str
    start: Callable[[Any], None]
    choose: Callable[[Any, int], None]


HANDS = {
    "keyboard": Hand(
        "keyboard", lambda page: page.keyboard.press("Space"), lambda page, k: page.keyboard.press("fj"[k])
    ),
    "mouse": Hand(
        "mouse", lambda page: page.locator(".fixation").click(), lambda page, k: page.locator(".circle").nth(k).click()
    ),
    "touch": Hand(
        "touch", lambda page: page.locator(".fixation").tap(), lambda page, k: page.locator(".circle").nth(k).tap()
    ),
}


def learn(page: Any, choices: Sequence[int], hand: Hand = HANDS["keyboard"]) -> None:
    """These choices, one per trial, from the start screen of the first."""
    for choice in choices:
        page.locator(".fixation").wait_for()
        hand.start(page)
        page.locator(".circle").first.wait_for()
        hand.choose(page, choice)
