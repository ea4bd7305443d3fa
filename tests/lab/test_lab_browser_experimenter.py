"""The experimenter's page in a real browser: live numbers, exclusion, deletion, export, and words that mean harm."""

from __future__ import annotations

import io
import zipfile

import pytest
from lab_browser import LEARNING, PHONE, TOKEN, chromium, code_of, open_page, press, running_lab

pytestmark = pytest.mark.long
HARM = "<img src=x onerror=\"document.title='harmed'\"></script><script>document.title='harmed'</script>{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    asking = {**LEARNING, "ask": [{"name": "age", "label": HARM}], "title": HARM, "contact": HARM}
    with running_lab(tmp_path_factory.mktemp("lab"), asking) as found:
        yield found


@pytest.fixture
def page(browser, lab):
    found = open_page(browser)
    found.goto(f"{lab.url}/experimenter")
    found.get_by_label("Token").fill(TOKEN)
    press(found, "Log in")
    found.get_by_role("heading", name="Participants").wait_for()
    yield found
    assert found.problems == [] and found.title() != "harmed"
    found.context.close()


def simulate(browser, lab):
    """Someone takes part; their random name is what the experimenter's page calls them."""
    person = open_page(browser)
    person.goto(f"{lab.url}/take/objects?simulate=data-only")
    code_of(person)
    assert person.title() != "harmed" and person.problems == []
    person.context.close()


def test_without_the_token_there_is_nothing_to_see(browser, lab):
    page = open_page(browser)
    page.goto(f"{lab.url}/experimenter")
    page.get_by_label("Token").fill("wrong")
    press(page, "Log in")
    page.get_by_role("alert").wait_for()
    assert page.locator("table").count() == 0
    page.context.close()


def test_numbers_are_live_and_people_can_be_excluded_and_deleted(browser, lab, page):
    page.evaluate("window.same = true")  # gone, should the page be loaded again
    simulate(browser, lab)
    row = page.locator("#participants tbody tr").first
    row.wait_for()
    assert page.evaluate("window.same")
    name = row.locator("[data-field=participant]").first.inner_text()
    row.locator("[data-field=state]", has_text="finished").wait_for()
    assert row.locator("[data-field=trials]").inner_text() == "4"
    assert page.locator("[data-experiment=objects] [data-field=finished]").inner_text() == "1"

    row.get_by_text("Change…").click()
    row.get_by_label(f"Why is {name} excluded?").fill(HARM)
    row.get_by_role("button", name="Exclude", exact=True).click()
    page.locator("tr.excluded").wait_for()
    assert row.locator("[data-field=why]").inner_text() == HARM  # shown as it was typed, and nothing more
    row.get_by_text("Change…").click()
    row.get_by_role("button", name="Include again").click()
    page.locator("tr:not(.excluded)[data-participant]").first.wait_for()

    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
        assert "answers.csv" in archive.namelist()

    row.get_by_text("Change…").click()
    row.get_by_text("Delete…").click()
    row.get_by_role("button", name="Delete all data for good").click()
    page.get_by_text("Nobody has taken part yet.").wait_for()
    assert name not in page.content()


def test_the_page_says_when_it_is_logged_out(page):
    page.context.clear_cookies()
    page.get_by_text("You are logged out").wait_for()


def test_nothing_is_wider_than_a_phone(browser, lab):
    page = open_page(browser, PHONE)
    page.goto(f"{lab.url}/experimenter")
    page.get_by_label("Token").fill(TOKEN)
    press(page, "Log in")
    page.get_by_role("heading", name="Participants").wait_for()
    for path in ("/experimenter", "/", "/take/objects", "/take/nothing"):
        page.goto(f"{lab.url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
    assert page.title() != "harmed"
    page.context.close()
