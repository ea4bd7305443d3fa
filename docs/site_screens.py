"""Pictures of pages of the site, wide and narrow, light and dark, and what they load from elsewhere (nothing).

python docs/site_screens.py FOLDER            # after make docs; pictures of some pages into FOLDER
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Page, sync_playwright

SITE = Path(__file__).parents[1] / "build" / "site"
PAGES = (
    "index",
    "guides/generator",
    "concepts/scores",
    "reference/draw",
    "results",
    "leaderboards/recall",
    "extending/room",
    "draw",
)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SIZES = {"wide": (1300, 900), "narrow": (400, 800)}
CHROMIUM = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def visit(site: Path, names: tuple[str, ...] = PAGES) -> Iterator[tuple[Page, str, list[str]]]:
    """Each page in each size and theme: the page, "wide-light-index" and so on, and what went wrong: requests that left it,
    errors of its scripts, and text that is wider than the screen."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(CHROMIUM))
            for size, (width, height) in SIZES.items():
                for theme in ("light", "dark"):
                    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                    for name in names:
                        page = context.new_page()
                        asked, wrong = [], []
                        page.on("request", lambda request, asked=asked: asked.append(request.url))
                        page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
                        page.goto(f"{home}{name}.html", wait_until="networkidle")
                        wrong += [url for url in asked if not url.startswith((home, "data:"))]
                        over = page.evaluate(WIDER)
                        wrong += [f"{over} px too wide"] if over > 0 else []
                        yield page, f"{size}-{theme}-{name.replace('/', '-')}", wrong
                        page.close()
                    context.close()
            browser.close()
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page, name, wrong in visit(SITE):
        page.screenshot(path=folder / f"{name}.png")
        print(name, *wrong)


if __name__ == "__main__":
    main()
