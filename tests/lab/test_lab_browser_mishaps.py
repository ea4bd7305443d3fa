"""Reloads, crashes, a server that is gone for a while, two tabs, missing images: nothing lost, nothing doubled, a clear page."""

from __future__ import annotations

import signal

import pytest
from lab_browser import (
    DRAWING,
    LEARNING,
    TOKEN,
    TURING,
    chromium,
    code_of,
    consent,
    heading,
    learn,
    open_page,
    press,
    running_lab,
    watch,
)  # fmt: skip

pytestmark = pytest.mark.long
CHOICES = [0, 1, 1, 0, 1, 0]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def lab(tmp_path):
    with running_lab(tmp_path, {**LEARNING, "trials": 6}, DRAWING, TURING) as found:
        yield found


@pytest.fixture
def page(browser):
    found = open_page(browser)
    yield found
    found.context.close()


def check_choices(lab, choices=CHOICES):
    """Every trial once, in order, as it was answered."""
    kept = lab.answers("objects")
    assert kept.trial.tolist() == list(range(len(choices)))
    assert [answer["choice"] for answer in kept.answer] == choices


def begin(page, lab):
    consent(page, lab, "objects")
    press(page, "Start")


def test_a_reload_goes_on_at_the_next_trial(lab, page):
    begin(page, lab)
    learn(page, CHOICES[:2])
    page.locator(".fixation").wait_for()
    page.keyboard.press("Space")  # in the middle of the third
    page.reload()
    page.get_by_text("you go on at trial 3 of 6").wait_for()
    press(page, "Continue")
    learn(page, CHOICES[2:])
    code_of(page)
    check_choices(lab)


def test_answers_that_could_not_be_sent_survive_a_crash_of_the_browser(lab, page):
    begin(page, lab)
    page.route("**/api/trials", lambda route: route.abort())
    learn(page, CHOICES[:3])
    page.locator(".fixation").wait_for()
    page.close()  # without a chance to send anything
    page = watch(page.context.new_page())
    page.goto(f"{lab.url}/take/objects")
    page.get_by_text("you go on at trial 4 of 6").wait_for()
    press(page, "Continue")
    learn(page, CHOICES[3:])
    code_of(page)
    check_choices(lab)


def test_a_server_that_is_busy_for_a_while_loses_nothing(lab, page):
    begin(page, lab)
    busy = [503, 503, 429, 500, 503, 503]
    asked = []

    def answer(route):
        asked.append(route.request.post_data_json["trial"])
        if busy:
            status = busy.pop(0)
            return route.fulfill(
                status=status, json={"error": "busy"}, headers={"Retry-After": "1"} if status == 429 else {}
            )
        return route.continue_()

    page.route("**/api/trials", answer)
    learn(page, CHOICES)
    code_of(page)
    check_choices(lab)
    assert asked == sorted(asked)  # in order: the first is repeated until it is acknowledged


def test_an_answer_whose_acknowledgement_is_lost_is_kept_once(lab, page):
    begin(page, lab)
    lost = [True, True]

    def answer(route):
        if lost:
            lost.pop()
            route.fetch()  # the server has it, the browser never hears of it
            return route.abort()
        return route.continue_()

    page.route("**/api/trials", answer)
    learn(page, CHOICES)
    code_of(page)
    check_choices(lab)


def test_a_server_that_is_killed_and_started_again_is_only_a_pause(lab, page):
    begin(page, lab)
    learn(page, CHOICES[:2])
    page.locator(".fixation").wait_for()
    lab.stop(signal.SIGKILL)
    learn(page, CHOICES[2:])
    heading(page, "Saving")
    page.get_by_text("The server does not answer.").wait_for()
    lab.start()
    code_of(page)
    page.locator("#notice").wait_for(state="hidden")
    check_choices(lab)


def test_two_tabs_take_turns(lab, page):
    begin(page, lab)
    learn(page, CHOICES[:2])
    page.locator(".fixation").wait_for()
    other = watch(page.context.new_page())
    other.goto(f"{lab.url}/take/objects")
    heading(page, "open in another tab")
    page.keyboard.press("Space")  # the task is gone from the first tab
    press(other, "Continue")
    learn(other, CHOICES[2:4])
    other.locator(".fixation").wait_for()
    page.bring_to_front()
    press(page, "Continue here")
    heading(other, "open in another tab")
    press(page, "Continue")
    learn(page, CHOICES[4:])
    code_of(page)
    check_choices(lab)
    assert page.problems == other.problems == []


def test_a_session_claimed_elsewhere_is_noticed_at_the_next_answer(lab, page):
    """Another window that does not share this browser's memory: only the server knows of it."""
    begin(page, lab)
    learn(page, CHOICES[:1])
    token = page.evaluate("localStorage.getItem('exemplar-lab:objects')")
    page.locator(".fixation").wait_for()
    page.request.post(f"{lab.url}/api/sessions", data={"tab": "other"}, headers={"Authorization": f"Bearer {token}"})
    learn(page, [CHOICES[1]])
    heading(page, "open in another tab")
    press(page, "Continue here")
    page.get_by_text("you go on at trial 2 of 6").wait_for()
    press(page, "Continue")
    learn(page, CHOICES[1:])
    code_of(page)
    check_choices(lab)


def test_missing_images_give_a_page_with_another_try(lab, page):
    page.route("**/images/*.png", lambda route: route.fulfill(status=404, json={"error": "gone"}))
    consent(page, lab, "objects")
    heading(page, "Some images could not be loaded")
    page.get_by_text("6 of 6 images").wait_for()
    page.unroute("**/images/*.png")
    press(page, "Try again")
    press(page, "Start")
    learn(page, CHOICES)
    code_of(page)
    check_choices(lab)


def test_a_participant_whom_the_server_does_not_know_starts_again(lab, page):
    page.goto(f"{lab.url}/take/objects")
    page.evaluate("localStorage.setItem('exemplar-lab:objects', 'a token from another database')")
    page.evaluate("localStorage.setItem('exemplar-lab:objects:prepared', 'true')")
    page.reload()
    heading(page, "Please start again")
    press(page, "Start again")
    page.get_by_label("I agree to take part").wait_for()
    assert page.evaluate("localStorage.getItem('exemplar-lab:objects')") is None


def test_withdrawing_deletes_everything(lab, page):
    begin(page, lab)
    learn(page, CHOICES)
    code_of(page)
    press(page, "Withdraw and delete my data")
    press(page, "Keep it")
    code_of(page)
    press(page, "Withdraw and delete my data")
    press(page, "Delete everything")
    heading(page, "Your data are deleted")
    progress = page.request.get(
        f"{lab.url}/api/experimenter/progress", headers={"Authorization": f"Bearer {TOKEN}"}
    ).json()
    assert progress["participants"] == []
    page.reload()
    page.get_by_label("I agree to take part").wait_for()


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("delete window.PointerEvent;", "pointer events"),
        (
            "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});",
            "local storage",
        ),
    ],
)
def test_a_browser_that_cannot_is_told_so(lab, browser, before, words):
    page = open_page(browser, before=before)
    page.goto(f"{lab.url}/take/objects")
    heading(page, "This browser cannot run the experiment")
    page.get_by_text(words).wait_for()
    page.context.close()


def test_a_clock_that_goes_backwards_does_not_matter(lab, browser):
    page = open_page(browser, before="{let now = 2e12; Date.now = () => (now -= 60000);}")
    begin(page, lab)
    learn(page, CHOICES)
    code_of(page)
    check_choices(lab)
    answers = lab.answers("objects").answer.tolist()
    assert all(0 < answer["reaction_time_ms"] < 10_000 and answer["image_ms"] > 0 for answer in answers)
    assert answers[0]["at"] > answers[-1]["at"]  # the clock did go backwards
    page.context.close()


def test_keys_before_the_circles_and_keys_held_down_do_not_count(lab, page):
    begin(page, lab)
    page.locator(".fixation").wait_for()
    page.keyboard.press("f")  # before the start
    page.keyboard.press("Space")
    page.keyboard.down("j")  # while the image is on, and held
    page.locator(".circle").first.wait_for()
    page.keyboard.down("j")  # repeated by the keyboard
    assert page.locator(".circle").first.is_visible()
    page.keyboard.up("j")
    page.keyboard.press("f")
    learn(page, [1, 1, 1, 1, 1])
    code_of(page)
    check_choices(lab, [0, 1, 1, 1, 1, 1])


def test_pages_do_not_drive_themselves_unless_the_server_says_so(lab, page):
    def forbid(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"simulation": true', '"simulation": false'))

    page.route("**/take/objects*", forbid)
    page.goto(f"{lab.url}/take/objects?simulate=data-only")
    page.get_by_label("I agree to take part").wait_for()


def test_who_fails_the_prescreening_is_told_so_kindly(tmp_path, browser):
    with running_lab(tmp_path, {**LEARNING, "prescreening": True}) as lab:
        page = open_page(browser, before="Math.random = () => 0.9;")  # the simulated learner is always wrong
        page.goto(f"{lab.url}/take/objects?simulate=data-only")
        heading(page, "Thank you for trying")
        assert len(code_of(page)) == 9
        page.get_by_text("You were right on 0 of 100 trials").wait_for()
        assert page.problems == []
        page.context.close()


def test_a_full_memory_of_the_browser_loses_nothing(lab, page):
    begin(page, lab)
    page.evaluate("void (Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); })")
    learn(page, CHOICES)
    code_of(page)
    check_choices(lab)
