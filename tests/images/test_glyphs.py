"""Invented alphabets: every drawing follows from its name, characters differ, and drawers vary as much as `spread` says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from exemplar.errors import UserError
from exemplar.images import ink
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import SPLITS, GlyphsConfig, load_glyphs, programs, redraw, trace
from exemplar.images.pixels import Packed

SMALL = GlyphsConfig(alphabets=3, characters=9, drawers=5)


@pytest.fixture(scope="module")
def whole() -> ConceptSet:
    return load_glyphs("all", SMALL)


def seen(images: np.ndarray) -> np.ndarray:
    """(…, h, w) → (n, 35²) float: blurred, of length 1, so that a nearby stroke is nearly the same."""
    blurred = gaussian_filter(images.reshape(-1, *images.shape[-2:]).astype(np.float32), (0, 3, 3))[:, ::3, ::3]
    flat = blurred.reshape(len(blurred), -1)
    return flat / np.linalg.norm(flat, axis=1, keepdims=True)


def variation(images: np.ndarray) -> float:
    """Mean distance of (c, n, h, w) drawings of c characters to their character's other drawings."""
    features = seen(images).reshape(len(images), images.shape[1], -1)
    return float(np.mean([1 - f @ f.T for f in features]))


def test_the_default_set_has_thirty_alphabets_and_about_nine_hundred_characters() -> None:
    counts = [programs.count(alphabet, 30, 0) for alphabet in range(30)]
    assert 800 <= sum(counts) <= 1000 and min(counts) >= 20 and max(counts) <= 40 and len(set(counts)) > 8
    assert len(set(programs.names(30, 0))) == 30


def test_weak_test_is_the_first_three_characters_of_each_alphabet_by_every_drawer() -> None:
    drawn = load_glyphs("weak-test", GlyphsConfig(drawers=2))
    assert drawn.n_concepts == 90 and len(drawn) == 180 and drawn.shape == (105, 105)
    assert isinstance(drawn.pixels, Packed)
    assert {name.split("/")[1] for name in drawn.concepts} == {"character01", "character02", "character03"}
    assert drawn.maker.names == ("drawer01", "drawer02")
    assert all(drawn.concept[row].startswith(drawn.group[row] + "/") for row in range(len(drawn)))


@pytest.mark.parametrize(("one", "other"), [("weak-train", "weak-test"), ("background", "evaluation")])
def test_two_splits_share_nothing_and_make_the_whole(one: str, other: str, whole: ConceptSet) -> None:
    parts = [load_glyphs(split, SMALL) for split in (one, other)]
    assert not set(parts[0].concepts) & set(parts[1].concepts)
    assert set(parts[0].concepts) | set(parts[1].concepts) == set(whole.concepts)
    assert len(parts[0]) + len(parts[1]) == len(whole)
    if one == "background":
        assert not set(parts[0].group.names) & set(parts[1].group.names)


@pytest.mark.parametrize("split", sorted(SPLITS))
def test_a_part_has_exactly_the_drawings_of_the_whole(split: str, whole: ConceptSet) -> None:
    programs.characters.cache_clear()
    part = load_glyphs(split, SMALL)
    assert (part.images == whole.only(concepts=part.concepts).images).all()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_characters(whole: ConceptSet) -> None:
    programs.characters.cache_clear()
    assert load_glyphs("all", SMALL).fingerprint == whole.fingerprint
    other = load_glyphs("all", GlyphsConfig(alphabets=3, characters=9, drawers=5, seed=1))
    assert not set(other.group.names) & set(whole.group.names)
    assert (other.images[0] != whole.images[0]).any()


def test_more_alphabets_or_drawers_change_no_drawing_there_was(whole: ConceptSet) -> None:
    more = load_glyphs("weak-test", GlyphsConfig(alphabets=5, characters=9, drawers=7))
    kept = more.subset(
        [more.group[k] in whole.group.names and more.maker[k] in whole.maker.names for k in range(len(more))]
    )
    assert (kept.images == whole.only(concepts=kept.concepts).images).all()


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(8)), st.integers(1, 5))
def test_the_order_in_which_characters_are_asked_for_does_not_matter(order: list[int], n: int) -> None:
    names = list(load_glyphs("weak-test", SMALL).concepts)[:8]
    drawn = redraw(names, 5, config=SMALL)
    assert (redraw([names[k] for k in order], n, config=SMALL) == drawn[order, :n]).all()


def test_redrawing_by_the_sets_own_drawers_gives_the_set_and_strangers_draw_anew(whole: ConceptSet) -> None:
    own = redraw(whole.concepts, 5, config=SMALL, drawer="drawer")
    assert (own.reshape(-1, 105, 105) == whole.images).all()
    strangers = redraw(whole.concepts, 5, config=SMALL)
    assert (strangers != own).any(axis=(2, 3)).all()
    assert set(np.unique(strangers)) == {0, 255}


def test_without_spread_all_drawers_draw_the_same_whoever_they_are(whole: ConceptSet) -> None:
    still = redraw(whole.concepts, 4, config=SMALL, spread=0)
    assert (still == still[:, :1]).all()
    assert (still == redraw(whole.concepts, 4, config=SMALL, spread=0, drawer="other")).all()


def test_variation_rises_strictly_with_spread(whole: ConceptSet) -> None:
    measured = [
        variation(redraw(whole.concepts, 6, config=SMALL, spread=spread)) for spread in (0, 0.25, 0.5, 1, 1.5, 2)
    ]
    assert measured[0] == pytest.approx(0, abs=1e-6)
    assert (np.diff(measured) > 0.02).all()


def test_strokes_move_in_proportion_to_spread(whole: ConceptSet) -> None:
    """Small spreads, where log-scales and rotations are linear: half the spread is half the way from spread 0."""
    still, half, full = (trace(whole.concepts, 3, config=SMALL, spread=s).points.astype(float) for s in (0, 0.01, 0.02))
    assert np.abs(full - still).max() > 0.1
    assert np.abs((full - still) - 2 * (half - still)).max() < 0.02


@pytest.mark.parametrize(("size", "spread"), [(105, 1.0), (105, 3.0), (28, 1.0), (50, 5.0)])
def test_every_drawing_has_ink_and_stays_on_the_paper(size: int, spread: float) -> None:
    config = GlyphsConfig(alphabets=3, characters=9, drawers=5, size=size, spread=spread)
    drawn = load_glyphs("all", config)
    images = drawn.images > 0
    assert (images.sum(axis=(1, 2)) > 0.3 * size).all()
    traced = trace(drawn.concepts, 5, config=config)
    radius = np.repeat(traced.width / 2, np.diff(traced.strokes[traced.images]))
    room = np.minimum(traced.points.min(axis=1), size - traced.points.max(axis=1))
    assert (room >= radius - 1e-3).all()


def test_a_trace_renders_to_the_drawing(whole: ConceptSet) -> None:
    traced = trace(whole.concepts[4:6], 5, config=SMALL)
    coverage = ink.render(traced.points, traced.strokes, traced.images, size=(105, 105), width=traced.width)
    assert ((coverage >= 128) == (whole.only(concepts=whole.concepts[4:6]).images > 0)).all()
    n_strokes = np.diff(traced.images).reshape(2, 5)
    assert (n_strokes == n_strokes[:, :1]).all() and (n_strokes >= 1).all()


def test_the_characters_of_an_alphabet_are_different_characters() -> None:
    config = GlyphsConfig(alphabets=6, drawers=1, spread=0)
    drawn = load_glyphs("all", config)
    features = seen(drawn.images)
    for alphabet in range(6):
        mine = features[drawn.group.code == alphabet]
        likeness = mine @ mine.T - np.eye(len(mine))
        assert likeness.max() < 0.95


def test_siblings_are_more_alike_than_strangers_and_a_characters_drawings_most_of_all() -> None:
    drawn = load_glyphs("weak-test", GlyphsConfig(drawers=8))
    likeness = seen(drawn.images) @ seen(drawn.images).T
    same = drawn.concept.code[:, None] == drawn.concept.code
    siblings = (drawn.group.code[:, None] == drawn.group.code) & ~same
    within = likeness[same & ~np.eye(len(drawn), dtype=bool)].mean()
    assert within > likeness[siblings].mean() + 0.1
    assert likeness[siblings].mean() > likeness[~same & ~siblings].mean()


def test_density_is_that_of_handwriting(whole: ConceptSet) -> None:
    density = (whole.images > 0).mean(axis=(1, 2))
    assert 0.06 < density.mean() < 0.1  # Omniglot's is .080
    assert density.min() > 0.02 and density.max() < 0.25


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"alphabets": 0}, "alphabets=0"),
        ({"characters": 3}, "characters=3"),
        ({"drawers": 0}, "drawers=0"),
        ({"size": 8}, "size=8"),
        ({"spread": -1.0}, "spread=-1"),
        ({"spread": float("nan")}, "spread=nan"),
    ],
)
def test_a_set_that_cannot_be_drawn_is_refused_in_a_sentence(fields: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        GlyphsConfig(**fields)  # type: ignore[arg-type]


def test_unknown_splits_and_characters_are_refused_with_the_near_ones(whole: ConceptSet) -> None:
    with pytest.raises(UserError, match="weak-test"):
        load_glyphs("weak_test", SMALL)
    with pytest.raises(UserError, match=f"did you mean {whole.concepts[0]}"):
        redraw([whole.concepts[0].replace("character", "charcter")], 2, config=SMALL)
    with pytest.raises(UserError, match="at least one"):
        redraw(whole.concepts, -1, config=SMALL)
    with pytest.raises(UserError, match="at least one"):
        trace([], 3, config=SMALL)
    with pytest.raises(UserError, match="spread=6"):
        redraw(whole.concepts, 2, config=SMALL, spread=6)
    with pytest.raises(UserError, match="more alphabets"):
        load_glyphs("evaluation", GlyphsConfig(alphabets=1, characters=4, drawers=1))
