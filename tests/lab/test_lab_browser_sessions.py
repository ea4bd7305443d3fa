"""Whole sessions of every experiment in a real browser, by keyboard, mouse and touch: what is kept is what was done."""

from __future__ import annotations

import itertools
import math

import pytest
from lab_browser import (
    DESKTOP,
    DRAWING,
    HANDS,
    LEARNING,
    PHONE,
    QUICK,
    TURING,
    chromium,
    code_of,
    consent,
    heading,
    learn,
    open_page,
    press,
    running_lab,
)  # fmt: skip

pytestmark = pytest.mark.long
DEVICES = {"keyboard": DESKTOP, "mouse": DESKTOP, "touch": PHONE}
LINE = [(0.2, 0.3), (0.5, 0.5), (0.8, 0.3)]
DOT = [(0.5, 0.75)]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    longer = {
        **LEARNING,
        "sessions": 2,
        "trials": 6,
        "bonus_each": 0.01,
        "currency": "$",
        "ask": [{"name": "age", "label": "Your age"}],
    }
    with running_lab(tmp_path_factory.mktemp("lab"), longer, DRAWING, QUICK, TURING) as found:
        yield found


def newest(lab, experiment):
    """Answers of who took part last."""
    kept = lab.answers(experiment)
    return kept[kept.participant == kept.participant.iloc[-1]].reset_index(drop=True)


def place(page, point):
    """Where a point of the paper is on the screen."""
    box = page.locator("canvas.paper").bounding_box()
    return box["x"] + point[0] * box["width"], box["y"] + point[1] * box["height"]


def draw_with_mouse(page, points):
    page.mouse.move(*place(page, points[0]))
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*place(page, point), steps=4)
    page.mouse.up()


def draw_with_finger(page, points):
    """As a touch screen sends it: through the browser's own input, not as events that a script makes."""
    screen = page.context.new_cdp_session(page)

    def touch(kind, *where):
        screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in where]})

    touch("touchStart", place(page, points[0]))
    for point in points[1:]:
        touch("touchMove", place(page, point))
    touch("touchEnd")
    screen.detach()


def passes(stroke, points, tolerance=0.012):
    """Whether a stroke begins, passes and ends where it should."""
    near = [min(range(len(stroke)), key=lambda i: math.dist(stroke[i][:2], point)) for point in points]
    return near == sorted(near) and all(
        math.dist(stroke[i][:2], p) < tolerance for i, p in zip(near, points, strict=True)
    )


@pytest.mark.parametrize("hand", HANDS)
def test_object_learning(lab, browser, hand):
    page = open_page(browser, DEVICES[hand])
    page.goto(f"{lab.url}/take/objects")
    page.get_by_label("I agree to take part").check()
    press(page, "Take part")
    page.get_by_label("Your age").fill("33")
    press(page, "Continue")
    press(page, "I understand")
    press(page, "Full screen" if hand == "keyboard" else "Stay in this window")
    press(page, "It fits")
    first, second = [0, 1, 1, 0, 0, 1], [1, 1, 0, 1, 0, 0]
    heading(page, "Session 1 of 2")
    press(page, "Start")
    learn(page, first, HANDS[hand])
    heading(page, "Session 2 of 2")
    press(page, "Start")
    learn(page, second, HANDS[hand])
    code = code_of(page)
    page.reload()
    assert code_of(page) == code  # a finished session that is opened again
    kept = newest(lab, "objects")
    assert [answer["choice"] for answer in kept.answer] == first + second
    assert kept.trial.tolist() == 2 * list(range(6))
    n_right = sum(one["choice"] == plan["right"] for one, plan in zip(kept.answer, kept.planned, strict=True))
    page.get_by_text(f"Bonus: ${0.01 * n_right:.2f}").wait_for()  # of both sessions, though the page was loaded again
    for answer in kept.answer:
        assert answer["timed_out"] is False and answer["reaction_time_ms"] > 0
        assert (
            answer["refresh_hz"] > 0
            and answer["dropped_frames"] >= 0
            and answer["image_ms"] > 0
            and answer["image_px"] > 50
        )
    assert page.problems == []
    page.context.close()


def test_a_choice_that_is_not_made_is_a_time_out(lab, browser):
    page = open_page(browser)
    page.clock.install()
    page.goto(f"{lab.url}/take/objects")
    page.get_by_label("I agree to take part").check()
    press(page, "Take part")
    for label in ("Continue", "I understand", "Stay in this window", "I have no card", "Start"):
        press(page, label)
    page.keyboard.press("Space")
    page.locator(".circle").first.wait_for()
    page.clock.fast_forward(1000 * (LEARNING["limit_s"] - 60))
    assert page.locator(".circle").first.is_visible()
    page.clock.fast_forward(60_000)
    page.locator(".fixation").wait_for()  # back at the start screen
    assert page.locator(".mark svg").count() == 0
    learn(page, [1, 1, 1, 1, 1])
    heading(page, "Session 2 of 2")
    press(page, "Start")
    learn(page, [0] * 6)
    code_of(page)
    answers = newest(lab, "objects").answer.tolist()
    assert (answers[0]["choice"], answers[0]["timed_out"], answers[0]["reaction_time_ms"]) == (None, True, None)
    assert [answer["choice"] for answer in answers[1:6]] == [1] * 5
    page.context.close()


@pytest.mark.parametrize("device", ["mouse", "touch"])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_any_number_of_circles_fits_the_screen(lab, browser, device, n):
    page = open_page(browser, DEVICES[device])

    def change(route):
        answer = route.fetch()
        said = answer.json()
        said["plan"] |= {"n_choices": n, "keys": list("12345678"[:n])}
        route.fulfill(response=answer, json=said)

    page.route("**/api/sessions", change)
    page.goto(f"{lab.url}/take/objects")
    page.get_by_label("I agree to take part").check()
    for label in ("Take part", "Continue", "I understand", "Stay in this window", "It fits", "Start"):
        press(page, label)
    page.locator(".fixation").click()
    page.locator(".circle").first.wait_for()
    boxes = [page.locator(".circle").nth(k).bounding_box() for k in range(page.locator(".circle").count())]
    view = page.viewport_size
    assert len(boxes) == n and len({box["width"] for box in boxes}) == 1 and boxes[0]["width"] >= 24
    for left, right in itertools.pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"] and left["y"] == right["y"]
    assert boxes[0]["x"] >= 0 and boxes[-1]["x"] + boxes[-1]["width"] <= view["width"]
    assert view["height"] / 2 < boxes[0]["y"] and boxes[0]["y"] + boxes[0]["height"] <= view["height"]
    page.context.close()


@pytest.mark.parametrize("hand", ["mouse", "touch"])
def test_drawing(lab, browser, hand):
    page = open_page(browser, DEVICES[hand])
    draw = draw_with_finger if hand == "touch" else draw_with_mouse
    consent(page, lab, "copy")
    press(page, "Start")
    done = page.get_by_role("button", name="Done", exact=True)
    for _ in range(2):
        page.locator("canvas.paper").wait_for()
        assert done.is_disabled()
        draw(page, LINE)
        press(page, "Undo")
        assert done.is_disabled()
        draw(page, [(0.1, 0.1), (0.9, 0.9)])
        press(page, "Clear")
        draw(page, LINE)
        draw(page, DOT)
        press(page, "Done")
    assert len(code_of(page)) == 9
    kept = newest(lab, "copy")
    assert kept.trial.tolist() == [0, 1]
    for answer in kept.answer:
        assert answer["pointer"] == hand and (answer["undone"], answer["cleared"]) == (1, 1)
        line, dot = answer["strokes"]
        assert passes(line, LINE) and passes(dot, DOT)
        times = [t for _, _, t in line + dot]
        assert times == sorted(times) and times[0] >= 0 and times[-1] <= answer["duration_ms"]
    assert page.problems == []
    page.context.close()


def test_a_second_finger_draws_nothing(lab, browser):
    page = open_page(browser, PHONE)
    consent(page, lab, "copy")
    press(page, "Start")
    page.locator("canvas.paper").wait_for()
    screen = page.context.new_cdp_session(page)
    (x, y), (u, v) = place(page, (0.2, 0.2)), place(page, (0.8, 0.8))
    for kind, points in (
        ("touchStart", [(x, y)]), ("touchStart", [(x, y), (u, v)]), ("touchMove", [(x + 20, y), (u, v - 20)]), ("touchEnd", []),
    ):  # fmt: skip
        touches = [{"x": a, "y": b, "id": i} for i, (a, b) in enumerate(points)]
        screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
    press(page, "Done")
    page.locator("canvas.paper").wait_for()
    draw_with_finger(page, LINE)
    press(page, "Done")
    code_of(page)
    strokes = newest(lab, "copy").answer[0]["strokes"]
    assert len(strokes) == 1 and all(point[0] < 0.5 and point[1] < 0.5 for point in strokes[0])
    page.context.close()


def test_drawing_a_word_ends_with_its_time(lab, browser):
    page = open_page(browser)
    page.clock.install()
    consent(page, lab, "quick")
    press(page, "Start")
    heading(page, "Draw: ")
    page.clock.fast_forward(1000 * QUICK["limit_s"])
    page.get_by_text("Drawing 2 of 2").wait_for()  # nothing was drawn in time
    draw_with_mouse(page, LINE)
    page.clock.fast_forward(1000 * QUICK["limit_s"])
    code_of(page)
    first, second = newest(lab, "quick").answer
    assert first["timed_out"] and first["strokes"] == []
    assert second["timed_out"] and passes(second["strokes"][0], LINE)
    page.context.close()


@pytest.mark.parametrize("hand", HANDS)
def test_turing(lab, browser, hand):
    page = open_page(browser, DEVICES[hand])
    consent(page, lab, "turing")
    press(page, "Start")
    wanted = [1, 0, 0, 1]
    for number, choice in enumerate(wanted, 1):
        page.get_by_text(f"Pair {number} of 4").wait_for()
        side = page.locator(".drawn").nth(choice)
        side.wait_for()
        page.wait_for_timeout(100)  # nobody answers sooner, and records refuse times that must be seconds
        {"keyboard": lambda k=choice: page.keyboard.press("FJ"[k]), "mouse": side.click, "touch": side.tap}[hand]()
    assert len(code_of(page)) == 9
    kept = newest(lab, "turing")
    assert [answer["choice"] for answer in kept.answer] == wanted
    assert all(answer["reaction_time_ms"] > 0 for answer in kept.answer)
    assert page.problems == []
    page.context.close()


@pytest.mark.parametrize("mode", ["data-only", "visual"])
@pytest.mark.parametrize(("experiment", "n"), [("objects", 12), ("copy", 2), ("turing", 4)])
def test_jspsych_simulates_whole_sessions(lab, browser, experiment, n, mode):
    page = open_page(browser)
    page.goto(f"{lab.url}/take/{experiment}?simulate={mode}")
    assert len(code_of(page)) == 9
    kept = newest(lab, experiment)
    assert len(kept) == n and not kept.duplicated(["session", "trial"]).any()
    assert page.problems == []
    page.context.close()
