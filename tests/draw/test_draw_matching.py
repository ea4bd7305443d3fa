"""Px and pen alone change scores: it is said, and with match nobody is judged by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exemplar as ex
from exemplar.draw.matching import common_format
from exemplar.draw.requests import Request
from exemplar.draw.scored_runs import read_comparable, read_notes
from exemplar.draw.tasks import own_drawings
from exemplar.errors import UserError
from exemplar.images.formats import Format, measure_format, widened
from exemplar.images.pixels import binarised
from exemplar.report.resizing import resize

ASKED = {"data": "glyphs", "exemplar": "drawer:drawer01", "n": 6}
DISTANCE = "distance_to_simulated_drawers"


pytestmark = pytest.mark.usefixtures("one_place")


@pytest.fixture(scope="module")
def own() -> np.ndarray:
    """(90, 6, h, w): what the simulated drawers drew."""
    task = Request(**ASKED).task  # type: ignore[arg-type]
    images = own_drawings(task).image
    return images.reshape(len(task.concepts), ASKED["n"], *images.shape[1:])  # type: ignore[call-overload]


def changed(own: np.ndarray, change) -> np.ndarray:  # type: ignore[no-untyped-def]
    found = change(own.reshape(-1, *own.shape[2:]))
    return found.reshape(*own.shape[:2], *found.shape[1:])


def small(images: np.ndarray) -> np.ndarray:
    return binarised(resize(images, (20, 20)), 0.4)


def wide(images: np.ndarray) -> np.ndarray:
    return binarised(widened(images, 3.0), 0.5)


@pytest.mark.parametrize("change", [small, wide])
def test_the_format_is_warned_of_and_match_takes_its_effect_away(own: np.ndarray, change) -> None:  # type: ignore[no-untyped-def]
    drawn = changed(own, change)
    plain = ex.draw.score(drawn, agent="me", **ASKED)  # type: ignore[arg-type]
    (warning,) = [words for words in plain.warnings if "--match" in words]
    assert "20 × 20 px instead of 105 × 105" in warning if change is small else "times as wide" in warning
    assert "the simulated drawers' own" in warning or "simulated drawers' own drawings are recognized" in warning
    matched = ex.draw.score(drawn, agent="me", match=True, **ASKED)  # type: ignore[arg-type]
    assert matched[DISTANCE]["value"] < 0.2 * plain[DISTANCE]["value"] and plain[DISTANCE]["value"] > 0.3
    assert not any("--match" in words for words in matched.warnings)
    assert matched.text.startswith("simulated drawers' drawings were brought to")
    assert not any("were brought to" in words for words in matched.warnings)  # it is said once
    assert any("were brought to" in words for words in read_notes(matched.folder))  # for the page
    config = json.loads((matched.folder / "config.json").read_text())["config"]
    assert config["match"]["grain"] == list(drawn.shape[2:]) and config["asked"]["match"] is True
    assert matched.folder != plain.folder


def test_drawings_in_the_datas_format_are_left_alone(own: np.ndarray) -> None:
    plain = ex.draw.score(own, agent="me", **ASKED)  # type: ignore[arg-type]
    assert not any("--match" in words for words in plain.warnings)
    matched = ex.draw.score(own, agent="me", match=True, **ASKED)  # type: ignore[arg-type]
    assert matched[DISTANCE] == plain[DISTANCE] and matched["originality"] == plain["originality"]


def test_copies_and_moved_copies_are_by_the_exemplars_own_pen() -> None:
    """One hand drew the exemplars, with thinner strokes than most; of 20 concepts the others' strokes vary little."""
    asked: dict[str, Any] = {**ASKED, "concepts": ["20"]}
    copies = ex.draw.score("copies", **asked)

    def moved(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([np.roll(exemplars, step, axis=2) for step in rng.integers(-2, 3, n)], axis=1)

    def thinned(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        thin = binarised(widened((exemplars * 255).astype(np.uint8), -1.0), 0.5)
        return moved(thin / 255, n, rng)

    for found in (copies, ex.draw.score(moved, **asked)):
        assert not any("times as wide" in words for words in found.warnings), found.warnings
    assert any("times as wide" in words for words in ex.draw.score(thinned, **asked).warnings)


def test_without_people_only_the_exemplars_are_said_to_be_matched(own: np.ndarray) -> None:
    found = ex.draw.score(changed(own, small), agent="me", match=True, people=False, **ASKED)  # type: ignore[arg-type]
    first, *lines = found.text.splitlines()
    assert first.startswith("the exemplars were brought to strokes ") and "simulated" not in first
    assert not any("brought to" in words for words in found.warnings)
    (head,) = [line for line in lines if line.startswith("score ")]
    assert head.split() == ["score", "value", "95", "%", "n"]


@pytest.mark.long
def test_everyone_is_brought_to_one_format_to_be_compared(own: np.ndarray) -> None:
    runs = [ex.draw.score(changed(own, change), agent=change.__name__, match=True, **ASKED) for change in (small, wide)]  # type: ignore[arg-type]
    with pytest.raises(UserError, match="judged in another format for each: compare them with --match"):
        read_comparable([run.folder for run in runs])
    found = ex.draw.compare([run.folder for run in runs], html="page.html", match=True, **ASKED)  # type: ignore[arg-type]
    folders = [Path(folder) for folder in found["runs"].values()]
    formats = [json.loads((folder / "config.json").read_text())["config"]["match"] for folder in folders]
    assert len(folders) == 3 and formats[0] == formats[1] == formats[2] and formats[0]["grain"] == [20, 20]
    scores = {(s.agent, s.name): s.value for s in found.scores}  # type: ignore[union-attr]
    assert scores["simulated drawers", DISTANCE] == 0
    for agent in ("small", "wide"):
        assert scores[agent, DISTANCE] < 0.4


def test_the_common_format_is_one_that_all_can_have() -> None:
    fine, coarse = Format((105, 105), (105, 105), 0.09, False), Format((28, 28), (28, 28), 0.05, True)
    assert common_format([fine, coarse]) == Format((28, 28), (28, 28), 0.09, False)
    assert common_format([fine]) == fine


def test_what_agents_draw_is_measured_as_it_is(own: np.ndarray) -> None:
    assert measure_format(own.reshape(-1, *own.shape[2:])).size == (105, 105)
