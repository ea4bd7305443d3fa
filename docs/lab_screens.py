"""Pictures of every page of the lab, wide and narrow, light and dark, and the handful of them that docs/lab.md shows.

python docs/lab_screens.py            # docs/lab-*.png
python docs/lab_screens.py FOLDER     # and every page, to be looked at
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, Route, sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "speed"))

from lab_frames import ARGUMENTS, serve  # noqa: E402

TOKEN = "a-token-for-pictures"
LEARNING = {"type": "learning", "subtasks": 4, "sessions": 2, "trials": 3, "prescreening": False, "warmups": 0}
EXPERIMENTS: tuple[dict[str, Any], ...] = (
    LEARNING | {"name": "objects", "contact": "lab@example.org", "ask": [{"name": "age", "label": "Your age"}]},
    {"type": "drawing", "name": "create", "instruction": "creative", "concepts": 4, "drawings": 4},
    {"type": "drawing", "name": "quick", "instruction": "word", "limit_s": 20.0, "concepts": 2, "drawings": 2},
    {"type": "turing", "name": "turing", "trials": 6, "show_exemplar": True},
    {"type": "clickme", "name": "clickme", "rounds": 4, "show_exemplars": True},
)
SIZES = {"wide": (1300, 800), "narrow": (400, 780)}
LONG_MS = 4000  # what is shown for a moment is held for its picture
# Places on the drawing's ink, from top to bottom, as shares of its side.
INK = """() => {
  const canvas = document.querySelector(".clickme canvas.paper"), side = canvas.width, found = [];
  const pixels = canvas.getContext("2d").getImageData(0, 0, side, side).data;
  for (let row = 0; row < side; row += 14) for (let column = 0; column < side; column += 14)
    if (pixels[4 * (row * side + column)] < 128) found.push([column / side, row / side]);
  return found;
}"""
CURVE = [(0.25, 0.7), (0.3, 0.35), (0.5, 0.25), (0.68, 0.4), (0.55, 0.55), (0.4, 0.6), (0.6, 0.75), (0.78, 0.68)]


class Shots:
    """Pictures of one page, named after size, theme and what is shown."""

    def __init__(self, page: Page, folder: Path, look: str) -> None:
        self.page, self.folder, self.look = page, folder, look

    def take(self, name: str, *, whole: bool = True) -> None:
        self.page.screenshot(path=self.folder / f"{self.look}-{name}.png", full_page=whole)

    def press(self, label: str) -> None:
        self.page.get_by_role("button", name=label, exact=True).click()

    def begin(self, address: str, experiment: str) -> None:
        self.page.goto(f"{address}/take/{experiment}")
        self.page.get_by_label("I agree to take part").check()
        self.press("Take part")


def hold(route: Route) -> None:
    """Images, ticks and crosses stay long enough for a picture."""
    answer = route.fetch()
    said = answer.json()
    if "timing" in said.get("plan", {}):
        said["plan"]["timing"] |= {"image_ms": LONG_MS, "right_ms": LONG_MS, "wrong_ms": LONG_MS}
        for number, trial in enumerate(said["plan"]["trials"]):
            trial["right"] = number % 2  # so that F is right once, and wrong once
    route.fulfill(response=answer, json=said)


def take_learning(shots: Shots, address: str) -> None:
    page = shots.page
    page.route("**/api/sessions", hold)
    page.goto(f"{address}/")
    shots.take("index")
    page.goto(f"{address}/take/objects")
    shots.take("consent")
    shots.begin(address, "objects")
    page.get_by_label("Your age").wait_for()
    shots.take("asked")
    shots.press("Continue")
    page.get_by_role("button", name="I understand").wait_for()
    shots.take("instructions")
    shots.press("I understand")
    if page.get_by_role("button", name="Stay in this window").is_visible():
        shots.take("full-screen")
        shots.press("Stay in this window")
    page.get_by_role("button", name="It fits").wait_for()
    shots.take("card")
    shots.press("It fits")
    page.get_by_text("Everything is loaded.").wait_for()
    shots.take("ready")
    shots.press("Start")
    for trial in range(3):
        page.locator(".fixation").wait_for()
        if trial == 0:
            page.get_by_text("to start").wait_for()
            shots.take("hint", whole=False)
        shots.take(f"dot{trial}", whole=False)
        page.locator(".fixation").click()
        page.wait_for_timeout(150)
        shots.take(f"image{trial}", whole=False)
        page.locator(".circle").first.wait_for()
        shots.take(f"circles{trial}", whole=False)
        page.keyboard.press("f")
        page.locator(".mark svg").wait_for()
        shots.take(page.locator(".mark svg").get_attribute("class") or "", whole=False)
    page.get_by_role("heading", name="Session 2").wait_for()
    shots.take("break")
    take_mishaps(shots, address)


def take_mishaps(shots: Shots, address: str) -> None:
    page = shots.page
    other = page.context.new_page()
    other.goto(f"{address}/take/objects")
    page.get_by_role("heading", name="another tab").wait_for()
    shots.take("two-tabs")
    other.close()
    page.route("**/images/*", lambda route: route.abort())
    page.reload()
    page.get_by_role("heading", name="could not be loaded").wait_for()
    shots.take("images-missing")
    page.unroute("**/images/*")
    shots.press("Try again")
    page.route("**/api/trials", lambda route: route.abort())
    shots.press("Start")
    page.locator(".fixation").click()
    page.locator(".circle").first.click()
    page.locator("#notice").wait_for()
    shots.take("notice", whole=False)
    page.unroute("**/api/trials")
    page.goto(f"{address}/take/objects?simulate=data-only")
    page.locator("output.code").wait_for()
    shots.take("thanks")
    shots.press("Withdraw and delete my data")
    shots.take("withdraw")
    shots.press("Keep it")
    page.goto(f"{address}/take/nothing")
    shots.take("unknown")
    page.add_init_script("delete window.PointerEvent;")
    page.goto(f"{address}/take/turing")
    shots.take("old-browser")


def draw(page: Page) -> None:
    box = page.locator("canvas.paper").bounding_box()
    assert box is not None
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in CURVE]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=5)
    page.mouse.up()


def take_drawing(shots: Shots, address: str) -> None:
    page = shots.page
    for experiment in ("create", "quick"):
        shots.begin(address, experiment)
        shots.press("I understand")
        shots.press("Start")
        page.locator("canvas.paper").wait_for()
        draw(page)
        shots.take(experiment)
        page.goto(f"{address}/take/{experiment}?simulate=data-only")
        page.locator("output.code").wait_for()
        if experiment == "create":
            page.locator(".result img").wait_for(timeout=120_000)
            page.wait_for_timeout(300)
            shots.take("result")


def take_turing(shots: Shots, address: str) -> None:
    shots.begin(address, "turing")
    shots.press("I understand")
    shots.press("Start")
    shots.page.locator(".drawn").first.wait_for()
    shots.page.mouse.move(0, 0)
    shots.take("turing")


def take_clickme(shots: Shots, address: str) -> None:
    """A session of painting along the ink, each drawing until the partner is right or time is up."""
    page = shots.page
    shots.begin(address, "clickme")
    shots.press("I understand")
    shots.press("Start")
    following = page.get_by_role("button", name="Next", exact=True)
    n = int(page.locator(".count").inner_text().split(" of ")[1].split(" ")[0])
    for number in range(1, n + 1):
        page.get_by_text(f"Drawing {number} of {n}").wait_for()
        box = page.locator(".clickme canvas.paper").bounding_box()
        assert box is not None
        ink = page.evaluate(INK)
        for k, (x, y) in enumerate(ink):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
            if k == 0:
                page.mouse.down()
            if k == len(ink) // 3 and number == 1:
                page.locator(".guess strong").wait_for()
                shots.take("clickme")
            if following.is_visible():
                break
        page.mouse.up()
        following.wait_for()
        if number == 1:
            shots.take("clickme-outcome")
        following.click()
    page.locator("output.code").wait_for()
    page.locator(".result p:not(.small)").first.wait_for(timeout=120_000)
    page.wait_for_timeout(300)
    shots.take("clickme-result")


def take_experimenter(shots: Shots, address: str) -> None:
    page = shots.page
    page.goto(f"{address}/experimenter")
    shots.take("login")
    page.get_by_label("Token").fill(TOKEN)
    shots.press("Log in")
    page.get_by_role("heading", name="Participants").wait_for()
    page.locator("summary", has_text="Sessions per part").first.click()
    page.locator("summary", has_text="Change").last.click()
    page.locator("summary", has_text="Delete").last.click()
    page.locator("#participants").evaluate("table => (table.scrollLeft = 0)")
    shots.take("experimenter")


PARTS: tuple[Callable[[Shots, str], None], ...] = (
    take_learning, take_drawing, take_turing, take_clickme, take_experimenter,
)  # fmt: skip


def take_all(browser: Browser, address: str, folder: Path) -> None:
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            for part in PARTS:
                touch = size == "narrow"
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=theme, has_touch=touch, is_mobile=touch
                )
                page = context.new_page()
                page.set_default_timeout(60_000)
                part(Shots(page, folder, f"{size}-{theme}"), address)
                context.close()


def put_side_by_side(names: list[str], folder: Path, out: Path, height: int, gap: int = 12) -> None:
    """One picture of several, few colours: small enough to be kept."""
    shown = [Image.open(folder / f"{name}.png").convert("RGB") for name in names]
    shown = [one.resize((one.width * height // one.height, height), Image.Resampling.LANCZOS) for one in shown]
    sheet = Image.new("RGB", (sum(one.width for one in shown) + gap * (len(shown) - 1), height), "white")
    left = 0
    for one in shown:
        sheet.paste(one, (left, 0))
        left += one.width + gap
    sheet.quantize(128, dither=Image.Dither.NONE).save(out, optimize=True)
    print(f"{out.relative_to(HERE.parent)}: {out.stat().st_size // 1000} kB")


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        serve(Path(place), *EXPERIMENTS, token=TOKEN, simulation=True) as address,
    ):
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place) / "shots"
        folder.mkdir(parents=True, exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
            take_all(browser, address, folder)
            browser.close()
        trial = [f"wide-light-{name}" for name in ("dot1", "image1", "circles1", "right")]
        put_side_by_side(trial, folder, HERE / "lab-trial.png", 240)
        put_side_by_side(["wide-light-consent", "wide-light-create"], folder, HERE / "lab-pages.png", 480)
        phone = [f"narrow-{name}" for name in ("light-consent", "light-create", "dark-quick", "dark-turing")]
        put_side_by_side(phone, folder, HERE / "lab-phone.png", 560)
        clickme = ["wide-light-clickme", "narrow-dark-clickme-outcome", "narrow-light-clickme-result"]
        put_side_by_side(clickme, folder, HERE / "lab-clickme.png", 480)
        put_side_by_side(["wide-light-result"], folder, HERE / "lab-result.png", 800)
        put_side_by_side(["wide-light-experimenter"], folder, HERE / "lab-experimenter.png", 700)


if __name__ == "__main__":
    main()
