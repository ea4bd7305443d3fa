"""Pictures of the pages that the guides end with, made by running the guides.

python docs/guide_screens.py [GUIDE …]      # docs/guide-*.png; some minutes
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from exemplar.cli import main as exemplar

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "house")]

from site_screens import CHROMIUM  # noqa: E402
from test_guides import SERVES, blocks, commands  # noqa: E402

PAGES = {
    "people": "described/index.html",
    "generator": "page.html",
    "photographs": "check/index.html",
    "continual": "both/index.html",
}


def run_guide(guide: str) -> None:
    """All blocks of a guide, here."""
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, text in blocks(HERE / "guides" / f"{guide}.md"):
        if kind == "python":
            exec(compile(text, guide, "exec"), names)
        for line in commands(text) if kind == "" else []:
            if not line.startswith(SERVES):
                sys.argv = shlex.split(line)
                try:
                    exemplar()
                except SystemExit as end:
                    assert not end.code, line


def picture(page: Path, out: Path, height: int = 900) -> None:
    """The top of a page, in few colours."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(CHROMIUM))
        view = browser.new_page(viewport={"width": 1300, "height": height}, color_scheme="light")
        view.goto(page.resolve().as_uri())
        view.screenshot(path=f"{folder}/shot.png")
        browser.close()
        with Image.open(f"{folder}/shot.png") as shot:
            small = shot.convert("RGB").resize((975, height * 3 // 4), Image.Resampling.LANCZOS)
        small.quantize(64, dither=Image.Dither.NONE).save(out, optimize=True)
    print(f"{out.name}: {out.stat().st_size // 1000} kB")


def main() -> None:
    """Of the guides that are named, or all."""
    for guide in sys.argv[1:] or list(PAGES):
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            run_guide(guide)
            picture(Path(PAGES[guide]), HERE / f"guide-{guide}.png")
            os.chdir(HERE)


if __name__ == "__main__":
    main()
