"""ClickMe in a real browser, with mouse, finger and keyboard: what is kept is what was painted, and the partner saw just that."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from lab_browser import CLICKME, DESKTOP, PHONE, chromium, code_of, consent, heading, open_page, press, running_lab

from exemplar.lab.brush import paint, places_of
from exemplar.lab.experiments import make_experiment

pytestmark = pytest.mark.long
ROWS = [20 * k + 10 for k in range(13)]  # one way and back again: all of the canvas


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with running_lab(tmp_path_factory.mktemp("lab"), CLICKME) as found:
        yield found


@pytest.fixture(scope="module")
def game():
    return make_experiment(CLICKME).game()


def where(page, row, column):
    box = page.locator(".clickme canvas.paper").bounding_box()
    inner = box["width"] - 4  # within its border
    return box["x"] + 2 + (column + 0.5) / 256 * inner, box["y"] + 2 + (row + 0.5) / 256 * inner


class Mouse:
    def __init__(self, page):
        self.page = page

    def begin(self, row, column):
        self.page.mouse.move(*where(self.page, row, column))
        self.page.mouse.down()

    def move(self, row, column):
        self.page.mouse.move(*where(self.page, row, column), steps=6)

    def end(self):
        self.page.mouse.up()


class Finger:
    """As a touch screen sends it."""

    def __init__(self, page):
        self.page, self.screen = page, page.context.new_cdp_session(page)

    def touch(self, kind, *points):
        where_to = [{"x": x, "y": y} for x, y in points]
        self.screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where_to})

    def begin(self, row, column):
        self.touch("touchStart", where(self.page, row, column))

    def move(self, row, column):
        self.touch("touchMove", where(self.page, row, column))

    def end(self):
        self.touch("touchEnd")


HANDS = {"mouse": (DESKTOP, Mouse), "touch": (PHONE, Finger)}


def is_over(page):
    return page.get_by_role("button", name="Next", exact=True).is_visible()


def paint_all(page, hand):
    """Until the partner is right: every drawing of this game it knows as a whole."""
    hand.begin(ROWS[0], 5)
    for k, row in enumerate(ROWS):
        ends = (5, 250) if k % 2 == 0 else (250, 5)
        for column in ends:
            if not is_over(page):
                hand.move(row, column)
    hand.end()
    page.get_by_role("button", name="Next", exact=True).wait_for()


def newest(lab):
    kept = lab.answers("clickme")
    return kept[kept.participant == kept.participant.iloc[-1]].reset_index(drop=True)


def begin(page, lab, query=""):
    consent(page, lab, "clickme", query)
    press(page, "Start")
    page.locator(".clickme canvas.paper").wait_for()


def check_round(game, kept):
    """The partner, shown what was kept, says the concept, and did not before its last looks."""
    picture = game.task.image[game.row_of(kept.planned["drawing"])]
    said = game.partner.log_p(np.where(paint(places_of(kept.answer["places"])), picture, 0)[None]).argmax()
    assert game.partner.concepts[said] == kept.planned["concept"]
    steps = [max(abs(a[0] - b[0]), abs(a[1] - b[1])) for a, b in itertools.pairwise(kept.answer["places"])]
    assert max(steps, default=0) <= 4  # a line without gaps
    times = [ms for _, _, ms in kept.answer["places"]]
    assert times == sorted(times) and times[0] == 0 and times[-1] <= kept.answer["duration_ms"]


@pytest.mark.parametrize("name", HANDS)
def test_a_session_from_consent_to_completion(lab, game, browser, name):
    device, kind = HANDS[name]
    page = open_page(browser, device)
    asked = []
    page.on("request", lambda request: asked.append(request) if request.url.endswith("/api/guess") else None)
    begin(page, lab)
    hand, n = kind(page), len(make_experiment(CLICKME).parts()["set 001"])
    for number in range(1, n + 1):
        page.get_by_text(f"Drawing {number} of {n}").wait_for()
        if number == 2:
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")  # skipped, by keyboard alone
            continue
        paint_all(page, hand)
        page.get_by_text("Right!").wait_for()
        assert page.evaluate("document.activeElement.textContent") == "Next"
        if number == 3:
            page.keyboard.press("Enter")
        else:
            press(page, "Next")
    assert len(code_of(page)) == 9
    page.locator(".result img").wait_for()
    page.get_by_text(f"recognized {n - 1} of {n} drawings").wait_for()
    kept = newest(lab)
    assert kept.trial.tolist() == list(range(n))
    for one in kept.itertuples():
        if one.trial == 1:
            assert one.answer["skipped"] and one.answer["places"] == []
            continue
        assert one.answer["pointer"] == name and not one.answer["timed_out"]
        check_round(game, one)
        mine = [request.post_data_json for request in asked if request.post_data_json["trial"] == one.trial]
        assert mine[-1]["places"] == [
            [row, column] for row, column, _ in one.answer["places"]
        ]  # what was right is what is kept
    assert page.problems == []
    page.context.close()


def test_time_is_up_after_a_while(lab, browser):
    page = open_page(browser)
    page.clock.install()
    begin(page, lab)
    hand = Mouse(page)
    hand.begin(30, 1)  # paper
    page.clock.fast_forward(1000 * CLICKME["limit_s"] + 1)
    page.get_by_text("Time is up.").wait_for()
    hand.move(100, 100)  # too late
    hand.end()
    press(page, "Next")
    page.get_by_text("Drawing 2 of").wait_for()
    finish(page)
    first = newest(lab).answer[0]
    assert first["timed_out"] and not first["skipped"] and [place[:2] for place in first["places"]] == [[30, 1]]
    page.context.close()


def finish(page):
    while page.locator("output.code").count() == 0:
        skip = page.get_by_role("button", name="Skip", exact=True)
        if skip.is_visible():
            skip.click()
        page.wait_for_timeout(50)


def test_a_reload_goes_on_with_the_next_drawing_and_the_points_stay(lab, game, browser):
    page = open_page(browser)
    begin(page, lab)
    paint_all(page, Mouse(page))
    points = page.locator(".outcome").inner_text().split("In all: ")[1]
    press(page, "Next")
    hand = Mouse(page)
    hand.begin(100, 100)  # in the middle of the second
    page.reload()
    page.get_by_text("you go on at trial 2 of").wait_for()
    press(page, "Continue")
    paint_all(page, Mouse(page))
    won = page.locator(".outcome").inner_text()
    assert float(won.split("In all: ")[1].rstrip(".")) == float(points.rstrip(".")) + float(
        won.split("Right! ")[1].split(" ")[0]
    )
    press(page, "Next")
    finish(page)
    kept = newest(lab)
    assert not kept.duplicated(["session", "trial"]).any()
    check_round(game, next(kept.itertuples()))
    page.context.close()


def test_a_partner_that_does_not_answer_loses_nothing(lab, game, browser):
    page = open_page(browser)
    begin(page, lab)
    page.route("**/api/guess", lambda route: route.abort())
    page.clock.install()
    hand = Mouse(page)
    hand.begin(ROWS[0], 5)
    for k, row in enumerate(ROWS):
        for column in (5, 250) if k % 2 == 0 else (250, 5):
            hand.move(row, column)
    hand.end()
    page.get_by_text("does not answer").wait_for()
    page.clock.fast_forward(1000 * CLICKME["limit_s"])
    page.get_by_text("will look later").wait_for()
    page.unroute("**/api/guess")
    press(page, "Next")
    finish(page)
    check_round(game, next(newest(lab).itertuples()))  # it did look later
    page.context.close()


def test_two_tabs_take_turns(lab, browser):
    page = open_page(browser)
    begin(page, lab)
    other = page.context.new_page()
    other.goto(f"{lab.url}/take/clickme")
    heading(page, "open in another tab")
    press(other, "Start")
    finish(other)
    kept = newest(lab)
    assert not kept.duplicated(["session", "trial"]).any() and page.problems == []
    page.context.close()


def test_a_clock_that_goes_backwards_does_not_matter(lab, game, browser):
    page = open_page(browser, before="{let now = 2e12; Date.now = () => (now -= 60000);}")
    begin(page, lab)
    paint_all(page, Mouse(page))
    press(page, "Next")
    finish(page)
    check_round(game, next(newest(lab).itertuples()))
    page.context.close()


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_jspsych_simulates_whole_sessions(lab, browser, mode):
    page = open_page(browser)
    page.goto(f"{lab.url}/take/clickme?simulate={mode}")
    if mode == "visual":
        page.locator("output.code").wait_for()
    assert len(code_of(page)) == 9
    kept = newest(lab)
    assert len(kept) > 4 and not kept.duplicated(["session", "trial"]).any() and page.problems == []
    page.context.close()
