"""A person in a real browser, from consent to completion code: the short one that always runs."""

from __future__ import annotations

import pytest
from lab_browser import LEARNING, chromium, code_of, consent, learn, open_page, press, running_lab


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def test_someone_takes_part_and_what_they_did_is_kept(tmp_path, browser):
    with running_lab(tmp_path, LEARNING) as lab:
        page, asked = open_page(browser), []
        page.on("request", lambda request: asked.append(request.url))
        consent(page, lab, "objects")
        press(page, "Start")
        learn(page, [0, 1, 1, 0])
        assert len(code_of(page)) == 9
        kept = lab.answers("objects")
        assert [answer["choice"] for answer in kept.answer] == [0, 1, 1, 0]
        assert kept.trial.tolist() == [0, 1, 2, 3] and kept.participant.nunique() == 1
        assert page.problems == []
        assert len(asked) > 20 and all(url.startswith((lab.url, "data:")) for url in asked)  # nothing from the internet
        page.context.close()
