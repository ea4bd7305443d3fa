"""How long the lab's images are on the screen: real trials in a real Chromium, by its requestAnimationFrame time stamps.

One session of object learning by keyboard; every trial's time stamps are kept in speed/results/lab_frames.ndjson.
Needs playwright and chromium. Asked: within one frame of 200 ms on at least 95 % of trials at 60 Hz.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from playwright.sync_api import Page, sync_playwright

from exemplar.files import whole_file
from exemplar.lab.server import LabSettings, create_app
from record import RESULTS, Row, record

N_TRIALS = 100
WANTED_MS, CLOCK_MS = 200.0, 0.1  # the browser rounds its time stamps to 0.1 ms
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
EXPERIMENT = {
    "type": "learning", "name": "objects", "subtasks": 1, "sessions": 1, "trials": N_TRIALS, "prescreening": False,
    "warmups": 0,
}  # fmt: skip
KEEP = "document.addEventListener('lab:trial', (event) => (window.kept ??= []).push(event.detail));"


@contextmanager
def serve(folder: Path, *experiments: dict[str, Any], **settings: Any) -> Iterator[str]:
    """A lab in a thread; its address."""
    app = create_app(
        LabSettings(str(folder / "lab.sqlite"), str(folder / "images"), experiments, requests=0, **settings)
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def take_part(page: Page, address: str) -> list[dict[str, Any]]:
    """A whole session at a person's pace; what the trials say of themselves."""
    page.set_default_timeout(120_000)
    page.goto(f"{address}/take/objects")
    page.get_by_label("I agree to take part").check()
    for label in ("Take part", "I understand", "Stay in this window", "It fits", "Start"):
        page.get_by_role("button", name=label, exact=True).click()
    for trial in range(N_TRIALS):
        page.locator(".fixation").wait_for()
        page.wait_for_timeout(150)
        page.keyboard.press("Space")
        page.locator(".circle").first.wait_for()
        page.wait_for_timeout(200)
        page.keyboard.press("fj"[trial % 2])
    page.locator("output.code").wait_for()
    kept: list[dict[str, Any]] = page.evaluate("window.kept")
    return kept


def keep_log(trials: list[dict[str, Any]]) -> None:
    fields = ("trial_index", "refresh_hz", "image_ms", "dropped_frames", "image_px", "frames")
    lines = [json.dumps({name: trial[name] for name in fields}) for trial in trials]
    with whole_file(RESULTS / "lab_frames.ndjson") as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder), EXPERIMENT) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        context = browser.new_context(viewport={"width": 1300, "height": 800})
        context.add_init_script(KEEP)
        trials = take_part(context.new_page(), address)
        version = browser.version
        browser.close()
    keep_log(trials)
    # From the raw time stamps, not from what the page made of them.
    shown = np.array([trial["frames"][-1] - trial["frames"][0] for trial in trials])
    hz = float(np.median([trial["refresh_hz"] for trial in trials]))
    dropped = np.array([trial["dropped_frames"] for trial in trials])
    within = np.abs(shown - WANTED_MS) <= 1000 / hz + CLOCK_MS
    low, median, high = np.quantile(shown, [0, 0.5, 1])
    share = float(within.mean())
    print(
        f"{len(trials)} trials at {hz:.1f} Hz: {share:.0%} within one frame of 200 ms; {low:.1f}, {median:.1f}, {high:.1f} ms"
    )
    print(f"{(dropped > 0).sum()} trials with dropped frames, {dropped.sum()} frames in all")
    record(
        __file__,
        "how long the lab's images are on the screen, by requestAnimationFrame time stamps in Chromium",
        [
            Row("trials within one frame of 200 ms", 100 * share, "%"),
            Row("shortest", float(low), "ms"),
            Row("median", float(median), "ms"),
            Row("longest", float(high), "ms"),
            Row("refresh rate, as the page measured it", hz, "Hz"),
            Row("trials with dropped frames", 100 * float((dropped > 0).mean()), "%"),
        ],
        seen=f"{share:.0%} of {len(trials)} trials within one frame of 200 ms at {hz:.0f} Hz",
        clock="time stamps of the browser",
        peers={"chromium": version},
        notes=[
            "Chromium without a display and without a GPU, so this is the page's timing, not a monitor's; other work had the "
            f"machine at a load of {load:.1f} when it began. Every trial's time stamps: `speed/results/lab_frames.ndjson`."
        ],
    )


if __name__ == "__main__":
    main()
