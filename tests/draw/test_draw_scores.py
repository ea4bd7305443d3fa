"""Drawings of any origin are scored: known answers, everyone by the same rule, and what cannot be scored is said."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import seeds
from exemplar.draw.adapting import sample_maml_episodes
from exemplar.draw.critics import Critics, load_critics
from exemplar.draw.drawings import as_drawings
from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.measures.human_distance import fit_reference
from exemplar.draw.scores import EncodedDrawings, ScoreConfig, ScoredDrawings, score_features
from exemplar.draw.scoring import compute_scores
from exemplar.draw.tasks import DrawingTask, make_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Score
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.space import PixelSpace
from exemplar.spaces.zoo import load_card, load_space, shipped

SMALL = GlyphsConfig(alphabets=4, characters=6, drawers=10, size=28)
PIXELS = tuple(PixelSpace(DrawingInput(size=(14, 14)), blur=blur) for blur in (1.0, 1.5))
CRITICS = Critics(PIXELS, PIXELS)
QUICK = ScoreConfig(ways=(5, 0), n_replicates=200, n_splits=4, n_neighbours=1)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    return make_task(load_glyphs("weak-test", SMALL), exemplar="drawer:drawer03")


def score(images: np.ndarray, task: DrawingTask, config: ScoreConfig = QUICK, agent: str = "someone") -> ScoredDrawings:
    """images: (k, n, h, w)."""
    return compute_scores(as_drawings(images, task, agent=agent), task, CRITICS, config)


def overall(scored: ScoredDrawings, name: str) -> Score:
    (found,) = [s for s in scored.scores if s.name == name and not s.concept and not s.space]
    return found


def by_concept(scored: ScoredDrawings, name: str) -> list[float]:
    return [s.value for s in scored.scores if s.name == name and s.concept]


def repeated(images: np.ndarray, n: int = 9) -> np.ndarray:
    return np.repeat(images[:, None], n, axis=1)


def test_copies_are_not_diverse_not_original_always_recognised_and_found_out(task):
    copies = score(repeated(task.exemplars), task)
    for name, value in {
        "diversity": 0, "diversity_raw": 0, "vendi": 1, "originality": 0, "originality_cosine": 0, "copy_rate": 1,
        "recognizability_5_way": 1, "recognizability_all_way": 1, "recognizability_hard": 1, "recall": 0,
    }.items():  # fmt: skip
        assert overall(copies, name).value == pytest.approx(value, abs=1e-5), name
        assert by_concept(copies, name) == pytest.approx([value] * len(task.concepts), abs=1e-5), name
    assert overall(copies, "distance_to_simulated_drawers").value > 0.5


def test_drawings_of_other_concepts_are_recognised_by_chance(task):
    k = len(task.concepts)
    rng = seeds.rng("others")
    other = (np.arange(k)[:, None] + rng.integers(1, k, (k, 9))) % k
    found = score(task.exemplars[other], task)
    assert overall(found, "recognizability_all_way").value == 0
    # the other's exemplar, which is nearest, is among the distractors 4 times in k − 1; else it is anyone's guess
    assert overall(found, "recognizability_5_way").value == pytest.approx((1 - 4 / (k - 1)) / 5, abs=0.05)
    assert overall(found, "precision").ci95[1] < overall(found, "ceiling_precision").ci95[0]


def test_the_datas_own_drawers_are_scored_like_anyone_and_reach_their_ceiling(task):
    scored = compute_scores(own_drawings(task), task, CRITICS, QUICK)
    assert overall(scored, "distance_to_simulated_drawers").value == 0
    for name in ("precision", "recall", "density", "coverage", "mean_distance_to_simulated_drawers"):
        assert overall(scored, name).value == overall(scored, f"ceiling_{name}").value, name
    assert overall(scored, "mean_distance_to_simulated_drawers").value > 0  # their halves differ
    assert scored.drawers_curve is not None
    assert (scored.curve.recognised == scored.drawers_curve.recognised).all()
    assert overall(scored, "copy_rate").value == pytest.approx(0.01, abs=0.01)


def test_noise_is_diverse_and_nothing_can_be_made_of_it(task):
    noise = score(seeds.rng("noise").random((len(task.concepts), 9, 28, 28)), task)
    human = compute_scores(own_drawings(task), task, CRITICS, QUICK)
    assert overall(noise, "recognizability_all_way").value < 0.2 < overall(human, "recognizability_all_way").value
    assert overall(noise, "originality").value > overall(human, "originality").value
    assert overall(noise, "coverage").value == 0


def test_every_score_has_an_interval_around_it_and_says_of_how_many(task):
    scored = compute_scores(own_drawings(task), task, CRITICS, QUICK)
    for score in scored.scores:
        assert score.ci95[0] <= score.value + 1e-9 and score.value <= score.ci95[1] + 1e-9, score
        if score.concept:
            assert score.n == 9
        else:
            assert score.n == len(task.concepts)
    critics = {score.space for score in scored.scores if score.name == "diversity" and not score.concept}
    assert critics == {"", "pixels-blur1", "pixels-blur1.5"}
    mean, *each = [s.value for s in scored.scores if s.name == "originality" and not s.concept]
    assert mean == pytest.approx(np.mean(each)) and len(each) == 2


def test_the_same_seed_gives_the_same_scores_and_the_curves_of_agents_share_their_resamples(task):
    images = seeds.rng("drawn").random((len(task.concepts), 9, 28, 28)).round()
    first, again = score(images, task), score(images, task)
    assert first.scores == again.scores
    assert first.drawers_curve is not None and again.drawers_curve is not None
    drawers_again = score(repeated(task.exemplars), task).drawers_curve
    assert drawers_again is not None and (drawers_again.replicates == first.drawers_curve.replicates).all()


def test_the_page_gets_every_array_it_draws(task):
    scored = score(repeated(task.exemplars), task)
    arrays = scored.arrays()
    k = len(task.concepts)
    assert arrays["originality"].shape == arrays["recognised"].shape == (k, 9)
    assert tuple(arrays["concepts"]) == task.concepts and str(arrays["agent"]) == "someone"
    for prefix in ("curve_", "people_curve_"):
        assert arrays[f"{prefix}fit"].shape == arrays[f"{prefix}fit_at"].shape
    assert any("illustration" in note for note in arrays["notes"])


def test_one_number_from_people_makes_the_scale_of_features_irrelevant_and_the_drawings_own_does_too(task):
    encoded = encoded_drawings(12, 8)
    larger = replace(encoded, see=tuple(_scaled(seen, 7) for seen in encoded.see))
    for normalise in ("people", "sample"):
        config = replace(QUICK, normalise=normalise)
        one, other = score_features(encoded, config), score_features(larger, config)
        for name in ("diversity", "originality", "vendi", "precision", "distance_to_people", "copy_rate"):
            assert overall(other, name).value == pytest.approx(overall(one, name).value, rel=1e-4), name
        ratio = overall(other, "diversity_raw").value / overall(one, "diversity_raw").value
        assert ratio == pytest.approx(7, rel=1e-4)


def test_the_order_of_concepts_changes_no_score_and_the_order_of_drawings_none_but_those_of_halves():
    encoded = encoded_drawings(12, 8)
    order, place = seeds.rng("order").permutation(12), seeds.rng("place").permutation(8)
    assert encoded.makers is not None
    turned = replace(
        encoded,
        see=tuple(_reordered(seen, order, place) for seen in encoded.see),
        recognise=tuple(_reordered(seen, order, place) for seen in encoded.recognise),
        concepts=tuple(encoded.concepts[k] for k in order),
        groups=encoded.groups[order],
        makers=encoded.makers[order],
    )
    one, other = score_features(encoded, QUICK), score_features(turned, QUICK)
    for name in (
        "diversity",
        "diversity_cosine",
        "vendi",
        "originality",
        "recognizability_5_way",
        "distance_to_people",
    ):
        assert overall(other, name).value == pytest.approx(overall(one, name).value, rel=1e-5), name
        assert by_concept(other, name) == pytest.approx([by_concept(one, name)[k] for k in order], rel=1e-5), name
    assert overall(other, "recognizability_hard").value == pytest.approx(overall(one, "recognizability_hard").value)


def test_a_frozen_reference_scales_the_distance():
    encoded = encoded_drawings(12, 8)
    wide = fit_reference("wide", np.array([0.0, 200.0]), np.array([0.0, 200.0]))
    found = overall(score_features(encoded, replace(QUICK, reference=wide)), "distance_to_people")
    assert found.variant == "wide" and found.value < 0.01


def test_copies_of_training_images_are_found(task):
    training = ConceptSet.of("seen in training", task.data.take(np.roll(task.exemplar, 1)), ["a"] * len(task.exemplar))
    drawings = as_drawings(repeated(np.roll(task.exemplars, 1, axis=0)), task, agent="parrot")
    found = compute_scores(drawings, task, CRITICS, QUICK, training=training)
    assert overall(found, "copy_rate_of_training").value == 1
    assert overall(found, "copy_rate").value < 0.2


def test_without_people_nothing_is_compared_with_them_nor_divided_by_their_spread():
    encoded = encoded_drawings(12, 8)
    alone = replace(encoded, see=tuple(replace(s, drawers=None) for s in encoded.see), makers=None)
    alone = replace(alone, recognise=tuple(replace(s, drawers=None) for s in encoded.recognise))
    scored = score_features(alone, QUICK)
    names = {score.name for score in scored.scores}
    assert not names & {"precision", "distance_to_people", "copy_rate"} and scored.drawers_curve is None
    assert any("nothing is compared with them" in note for note in scored.notes)
    assert overall(scored, "diversity").variant == "each drawing divided by its own deviation"
    with pytest.raises(UserError, match="choose the normalisation sample"):
        score_features(alone, replace(QUICK, normalise="people"))


def test_more_ways_than_concepts_are_left_out_and_said():
    scored = score_features(encoded_drawings(12, 8), replace(QUICK, ways=(20, 0)))
    assert {s.name for s in scored.scores if s.name.startswith("recognizability")} == {
        "recognizability_all_way",
        "recognizability_hard",
    }
    assert any("there are 12 concepts" in note for note in scored.notes)


def test_too_few_or_too_many_drawings_and_one_concept_are_refused(task):
    with pytest.raises(UserError, match="at least 3 of each"):
        score(repeated(task.exemplars, 2), replace(task, n=2))
    with pytest.raises(UserError, match="ask for 9"):
        score(repeated(task.exemplars, 12), replace(task, n=12))
    with pytest.raises(UserError, match="at least 2 concepts"):
        encoded = encoded_drawings(12, 8)
        score_features(replace(encoded, concepts=encoded.concepts[:1]), QUICK)
    with pytest.raises(UserError, match="no normalisation 'humans'"):
        ScoreConfig(normalise="humans")
    with pytest.raises(UserError, match="at least one of each"):
        Critics((), PIXELS)


def test_critics_that_know_the_concepts_are_refused_unless_allowed(tmp_path: Path):
    critics, seen = load_critics("glyphs"), load_card("simclr-glyphs-s0").concepts[:7]
    images = np.zeros((7, 8, 8), np.uint8)
    known, other, own = (ConceptSet.of("mine", images, seen, family=family) for family in ("glyphs", "omniglot", ""))
    with pytest.raises(UserError, match="--allow-seen"):
        critics.count_seen(known)
    assert replace(critics, allow_seen=True).count_seen(known) == 7
    assert critics.count_seen(other) == 0  # the same names, another data set
    assert critics.count_seen(own) is None  # anyone's own: names do not tell
    for path in shipped().glob("simclr-glyphs-s0.*"):
        shutil.copy(path, tmp_path)
    shutil.copytree(shipped() / "concepts", tmp_path / "concepts")
    trained = load_critics(
        "glyphs/weak-train", see=(f"{tmp_path}/simclr-glyphs-s0",), recognise=("protonet-omniglot-s0",)
    )
    with pytest.raises(UserError, match="trained on 7 of these"):
        trained.count_seen(known)


def test_every_data_set_has_its_critics_and_a_folder_has_omniglots():
    assert [space.name for space in load_critics("omniglot/weak-test").see] == [
        f"simclr-omniglot-released-s{s}" for s in range(3)
    ]
    assert load_critics("my drawings").recognise[0].name == "protonet-omniglot-released-s0"
    assert {space.layer for space in load_critics("glyphs").recognise} == {""}  # the layer its loss saw
    assert load_critics("quickdraw").see[0].layer == "feature"


def test_shipped_critics_tell_copies_people_and_noise_apart():
    data = load("glyphs", "weak-test")
    task = make_task(data.only(concepts=data.concepts[:24]), exemplar="drawer:drawer05", n=4)
    critics, config = load_critics("glyphs"), replace(QUICK, ways=(20, 0), episodes=40)
    found = {
        agent: compute_scores(as_drawings(images, task, agent=agent), task, critics, config)
        for agent, images in {
            "copies": repeated(task.exemplars, 4),
            "noise": seeds.rng("noise").random((24, 4, 105, 105)),
        }.items()
    }
    found["people"] = compute_scores(own_drawings(task), task, critics, config)
    named, diverse = (
        {a: overall(j, n).value for a, j in found.items()} for n in ("recognizability_20_way", "diversity")
    )
    assert named["copies"] == 1 and named["people"] > 0.8 and named["noise"] < 0.2
    assert diverse["copies"] < 1e-4 < diverse["people"]
    sampled = [s for s in found["people"].scores if s.name == "recognizability_20_way_sampled"]
    assert abs(sampled[0].value - named["people"]) < 0.05 and sampled[0].n == 40


def test_a_critic_that_adapts_names_what_it_is_shown_again():
    data = load("glyphs", "weak-test")
    exemplars = data.take(np.arange(0, 20 * 25, 20))  # the first drawing of each of 25 characters
    space, card = load_space("maml-omniglot-released-s0"), load_card("maml-omniglot-released-s0")
    shares = sample_maml_episodes(exemplars[:, None], exemplars, space, card, 1, rng=seeds.rng("MAML"))
    assert shares.shape == (1,) and shares[0] > 0.8
    protonet = load_space("protonet-omniglot-s0"), load_card("protonet-omniglot-s0")
    with pytest.raises(UserError, match="does not adapt"):
        sample_maml_episodes(exemplars[:, None], exemplars, *protonet, 1, rng=seeds.rng("MAML"))


def encoded_drawings(k: int, n: int) -> EncodedDrawings:
    """Features of two critics of each kind, the agent a little more diverse than people, concepts in groups of three."""
    rng = seeds.rng("looks", k, n)
    spread = rng.uniform(0.5, 1.5, (k, 1, 1))

    def seen(space: str) -> CriticFeatures:
        exemplars = rng.normal(size=(k, 10))
        drawn, hers = (exemplars[:, None] + scale * spread * rng.normal(size=(k, n, 10)) for scale in (0.6, 0.5))
        return CriticFeatures(
            space, drawn.astype(np.float32), exemplars.astype(np.float32), hers.astype(np.float32), None
        )

    return EncodedDrawings(
        (seen("a"), seen("b")),
        (seen("c"), seen("d")),
        agent="someone",
        concepts=tuple(f"concept {i}" for i in range(k)),
        groups=np.arange(k) // 3,
        makers=np.tile(np.arange(n), (k, 1)),
        chosen_by="given",
        drawers="people",
    )


def _parts(seen: CriticFeatures) -> dict[str, Any]:
    return {"drawn": seen.drawn, "exemplars": seen.exemplars, "drawers": seen.drawers}


def _scaled(seen: CriticFeatures, by: float) -> CriticFeatures:
    return replace(seen, **{name: by * part for name, part in _parts(seen).items()})


def _reordered(seen: CriticFeatures, order: np.ndarray, place: np.ndarray) -> CriticFeatures:
    """Concepts in another order, and the agent's drawings too."""
    parts = {name: part[order] for name, part in _parts(seen).items()}
    return replace(seen, **parts | {"drawn": parts["drawn"][:, place]})
