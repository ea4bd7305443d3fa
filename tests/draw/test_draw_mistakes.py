"""What scores alone do not show: a shifted order, the exemplars among the drawings, the data's own drawings handed in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exemplar as ex
from exemplar import seeds
from exemplar.draw.headlines import headline_scores
from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.mistakes import Copied, find_chance, find_copied, find_wrong_concepts
from exemplar.draw.requests import Request
from exemplar.draw.tasks import DrawingTask, own_drawings
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score

K, N, D = 40, 6, 32
ASKED = {"data": "glyphs", "exemplar": "drawer:drawer01", "n": 6}
NAMES = tuple(f"c{place}" for place in range(K))


pytestmark = pytest.mark.usefixtures("one_place")


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    return Request(**ASKED).task  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def own(task: DrawingTask) -> np.ndarray:
    images = own_drawings(task).image
    return images.reshape(len(task.concepts), N, *images.shape[1:])


def _features(of: np.ndarray, noise: float) -> CriticFeatures:
    """Drawings of concept i that are near to exemplar of[i]."""
    rng = seeds.rng("features")
    exemplars = rng.normal(size=(K, D)).astype(np.float32)
    drawn = exemplars[of][:, None] + noise * rng.normal(size=(K, N, D)).astype(np.float32)
    return CriticFeatures("some", drawn.astype(np.float32), exemplars)


def test_an_order_that_was_shifted_or_mixed_up_is_found() -> None:
    places = np.arange(K)
    assert find_wrong_concepts(_features(places, 0.3), "me", NAMES) == ""
    shifted = find_wrong_concepts(_features(np.roll(places, -1), 0.3), "me", NAMES)
    assert (
        "those of 40 of 40 are recognized as another one's (c0 as c1" in shifted and "1 on, a shifted order?" in shifted
    )
    assert "2 back, a shifted order?" in find_wrong_concepts(_features(np.roll(places, 2), 0.3), "me", NAMES)
    mixed = seeds.rng("mixed").permutation(K)
    assert "a mixed-up order?" in find_wrong_concepts(_features(mixed, 0.3), "me", NAMES)


def test_bad_drawings_are_not_taken_for_a_wrong_order() -> None:
    assert find_wrong_concepts(_features(np.arange(K), 3.0), "me", NAMES) == ""
    one_for_all = find_wrong_concepts(_features(np.zeros(K, int), 0.3), "me", NAMES)
    assert "order?" not in one_for_all


def test_a_shifted_agent_is_told_by_score(own: np.ndarray) -> None:
    shifted = ex.draw.score(np.roll(own, 1, axis=0), agent="me", **ASKED)  # type: ignore[arg-type]
    assert any("a shifted order?" in words for words in shifted.warnings), shifted.warnings
    assert shifted["recognizability_20_way"]["value"] < 0.1


def _recognised(mine: tuple[float, float, float], own: tuple[float, float, float] | None) -> str:
    """What is said of shares (value, and its interval) of 20-way recognizability, the agent's and the drawers'."""
    name, found = "recognizability_20_way", []
    for who, prefix, share in (("me", "", mine), ("people", "ceiling_", own)):
        if share is not None:
            found.append(Score(name=prefix + name, value=share[0], ci95=share[1:], n=40, agent=who))
    return find_chance(found, "me", "people", 40)


def test_recognition_at_chance_is_told_of_the_critics_or_of_who_drew() -> None:
    well, at, below = (0.9, 0.8, 0.95), (0.06, 0.04, 0.08), (0.01, 0.0, 0.02)
    assert _recognised(well, well) == _recognised(well, None) == ""
    for bad in (at, below):
        blind = _recognised(bad, bad)
        assert blind.startswith(f"these critics do not recognise people's own drawings ({bad[0]:.3f}, chance 0.050)")
        told = _recognised(bad, well)
        assert told.startswith(f"the drawings of me are not recognized more often than by chance ({bad[0]:.3f}, chance")
        assert "people's own 0.900" in told and "people" not in _recognised(bad, None)


def test_critics_that_mix_up_the_data_and_agents_at_chance_are_warned_of(task: DrawingTask) -> None:
    critics, k = {"see": "features.npz", "recognise": "features.npz"}, len(task.concepts)
    rng, others = seeds.rng("mixed"), ("not recognized more often than by chance", "these critics do not recognise")
    right = rng.normal(size=(k, D))[task.data.concept.code] + 0.3 * rng.normal(size=(len(task.data), D))
    drawn = right[task.exemplar][:, None] + 0.3 * rng.normal(size=(k, N, D))
    n_major = drawn.transpose(1, 0, 2).reshape(k * N, D)
    cases = ((right, drawn, None), (right, n_major, others[0]), (rng.permutation(right), drawn, others[1]))
    for data, drawings, said in cases:
        np.savez("features.npz", data=data, drawings=drawings)
        warnings = " ".join(ex.draw.score("noise", **critics, **ASKED).warnings)  # type: ignore[arg-type]
        assert [words for words in others if words in warnings] == ([said] if said else []), warnings
    noise = " ".join(ex.draw.score("noise", **ASKED).warnings)  # type: ignore[arg-type]
    assert "the drawings of noise are not recognized more often" in noise and "show nothing of their concepts" in noise


def test_copies_are_counted_px_by_px(task: DrawingTask, own: np.ndarray) -> None:
    k = len(task.concepts)
    assert find_copied(own, task) == Copied(0, 0, k * N)
    images = np.roll(own, 2, axis=3)
    assert find_copied(images, task) == Copied(0, 0, 0)
    images[:5, 0] = task.exemplars[:5]
    images[5:8, 1] = task.exemplars[10:13]
    images[20, 2] = own[3, 3] // 2  # fainter, and so the same ink
    images[30, :] = 0
    assert find_copied(images, task) == Copied(5, 3, 1)


def test_an_agent_that_hands_in_the_exemplar_or_the_data_is_told(task: DrawingTask, own: np.ndarray) -> None:
    images = np.roll(own, 2, axis=3)
    images[:, 0] = task.exemplars
    images[:7, 1] = own[:7, 1]
    found = ex.draw.score(images, agent="me", **ASKED)  # type: ignore[arg-type]
    k = len(task.concepts)
    said = " ".join(found.warnings)
    assert f"{k} of the {k * N} drawings of me are the exemplar itself, px by px" in said
    assert f"7 of the {k * N} drawings of me are drawings of glyphs/weak-test, px by px" in said
    people = ex.draw.score("simulated", **ASKED)  # type: ignore[arg-type]
    assert "px by px" not in " ".join(people.warnings)


def test_six_headlines_come_first_with_the_drawers_beside_them(own: np.ndarray) -> None:
    mine, theirs = (ex.draw.score(who, **ASKED) for who in (np.roll(own, 2, axis=3), "simulated"))  # type: ignore[arg-type]
    rows = headline_scores(mine.overall, "array", "simulated drawers")
    names = [score.name for score, _ in rows]
    assert names == [
        "diversity", "recognizability_20_way", "recognizability_all_way", "originality", "distance_to_simulated_drawers",
        "copy_rate",
    ]  # fmt: skip
    for score, beside in rows:
        if beside is not None and score.name != "distance_to_simulated_drawers":
            assert beside.value == pytest.approx(theirs[score.name]["value"], abs=1e-9), score.name
            assert beside.agent == "simulated drawers"
    assert sum(beside is not None for _, beside in rows) >= 5
    lines = mine.text.splitlines()
    top = next(place for place, line in enumerate(lines) if line.startswith("score "))
    assert "simulated drawers" in lines[top] and lines[top + 2].startswith("diversity ")
    assert "more with --all" in mine.text and "vendi" not in mine.text
    every = ex.draw.score(np.roll(own, 2, axis=3), all_scores=True, **ASKED)  # type: ignore[arg-type]
    assert "vendi" in every.text and "more with --all" not in every.text
    assert set(mine.json()) == set(every.json()) and "vendi" in mine.json()


def test_data_may_be_a_path_and_what_it_cannot_be_is_said(own: np.ndarray, task: DrawingTask) -> None:
    rows = np.flatnonzero(task.data.concept.code < 12)
    some = task.data.subset(rows)
    np.savez("mine.npz", images=some.images, concept=[some.concept[row] for row in range(len(some))])
    critics = {"see": "simclr-glyphs-s0", "recognise": "protonet-glyphs-s0"}
    asked = {"exemplar": "random", "n": 3, **critics}
    by_path, by_name = (ex.draw.score("copies", data=data, **asked) for data in (Path("mine.npz"), "mine.npz"))  # type: ignore[arg-type]
    assert by_path["diversity"] == by_name["diversity"] and by_path.folder == by_name.folder
    with pytest.raises(UserError, match="data must be a name, a folder or an npz, not a ConceptSet"):
        ex.draw.score("copies", data=load("glyphs"), **asked)  # type: ignore[arg-type]


def test_one_concept_is_too_few_for_the_right_reason() -> None:
    rng = seeds.rng("one")
    images = (rng.random((6, 32, 32)) < 0.2).astype(np.uint8) * 255
    np.savez("one.npz", images=images, concept=["a"] * 6)
    assert isinstance(load("one.npz"), ConceptSet)
    for who in ("copies", "noise", "others"):
        with pytest.raises(UserError, match="Recognizability needs at least 2 concepts; one has 1"):
            ex.draw.score(who, data="one.npz", exemplar="random", see="pixels", recognise="pixels")
