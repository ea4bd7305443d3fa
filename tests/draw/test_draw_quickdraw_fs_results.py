"""Agents whose scores are known, on QuickDraw-FS: every score as it must be, on few drawings; and what is kept of the ResNet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exemplar.draw.critics import Critics, load_unseen_critics
from exemplar.draw.scores import ScoreConfig, score_features
from exemplar.draw.studies import quickdraw_fs
from exemplar.draw.studies.quickdraw_fs import ANOTHER, HALVES, WAY
from exemplar.draw.tasks import DrawingTask, make_task, own_rows
from exemplar.images.catalogue import load
from exemplar.images.quickdraw_fs import read_concepts
from exemplar.records import Score

FEW = 6  # drawings of each concept
COPY_TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def task(real_data) -> DrawingTask:
    """All 20 concepts of the published test set, an exemplar and 12 drawings of each."""
    real_data("quickdraw-fs")
    whole = load("quickdraw-fs", "test")
    rows = np.flatnonzero(np.arange(len(whole)) % 501 <= 2 * FEW)
    return make_task(whole.subset(rows), n=FEW)


@pytest.fixture(scope="module")
def critics(task) -> Critics:
    found = load_unseen_critics(task.data)
    return replace(found, see=found.see[:1], recognise=found.recognise[:1])


@pytest.fixture(scope="module")
def scores(task, critics, tmp_path_factory) -> dict[tuple[str, str], Score]:
    """(score, agent) → of the agents that are known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXEMPLAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        config = ScoreConfig(n_splits=2, n_replicates=200)
        found = quickdraw_fs.score_known_agents(0, task, critics, config)
    return {(score.name, score.agent.partition(": ")[2]): score for score in found}


def test_copies_are_always_recognized_and_neither_diverse_nor_original(scores):
    assert scores[WAY, "copies"].value == 1
    assert scores["diversity", "copies"].value == pytest.approx(0, abs=COPY_TOLERANCE)
    assert scores["originality", "copies"].value == pytest.approx(0, abs=COPY_TOLERANCE)
    assert scores["copy_rate", "copies"].value == 1


def test_drawings_of_other_concepts_and_scattered_ink_are_recognized_by_chance(scores):
    assert scores[WAY, "others"].value <= 1 / 20 + 0.03  # at chance, or below where the concept drawn is among them
    low, high = scores[WAY, "noise"].ci95
    assert low <= 1 / 20 <= high
    assert scores["distance_to_people", "noise"].value > scores["distance_to_people", ANOTHER].value


def test_who_draws_what_other_people_drew_scores_as_people_do(scores):
    for name in ("diversity", "originality", WAY):
        low, high = scores[f"change_of_{name}", f"from people to {ANOTHER}"].ci95
        assert low <= 0 <= high, name


def test_blends_are_more_original_than_copies_and_less_than_people(scores):
    assert scores["change_of_originality", f"from copies to {HALVES}"].ci95[0] > 0
    assert scores["change_of_originality", f"from {HALVES} to {ANOTHER}"].ci95[0] > 0
    assert scores["originality", "copies"].value < scores["originality", HALVES].value
    assert scores["originality", HALVES].value < scores["originality", "people"].value
    assert scores[WAY, HALVES].value > scores[WAY, "people"].value


def test_blends_are_half_the_exemplar_and_half_a_drawing_nobody_is_compared_with(task):
    drawn = quickdraw_fs.draw_known_agents(task, 0)
    half = task.data.shape[1] // 2
    rows = own_rows(task, 2 * FEW)[:, FEW:].ravel()
    assert np.array_equal(drawn[ANOTHER].image, task.data.take(rows))
    assert np.array_equal(drawn[HALVES].image[..., half:], task.data.take(rows)[..., half:])
    assert np.array_equal(drawn[HALVES].image[..., :half], np.repeat(task.exemplars, FEW, axis=0)[..., :half])
    assert not set(rows) & set(own_rows(task, FEW).ravel())


@pytest.mark.parametrize("split", ["test", "category-test"])
def test_what_is_kept_of_the_resnet_is_of_the_committed_concepts(split):
    kept, concepts = quickdraw_fs.load_resnet(split), read_concepts()
    assert kept.concepts == tuple(concepts.concept[concepts.members(split)])
    assert len(kept.few) == len(kept.every) == len(kept.concepts)
    assert (kept.every <= kept.few + 1e-4).all()  # more to choose from cannot make it easier
    assert np.all((kept.every >= 0) & (kept.few <= 1))


def test_bins_of_the_curve_have_the_originality_that_the_curve_has(scored_numbers):
    scored = scored_numbers
    found = quickdraw_fs.curve_scores(scored, "who")
    bins = [score for score in found if score.name == "originality"]
    assert [score.value for score in bins] == pytest.approx(scored.curve.originality)
    assert all(score.ci95[0] < score.value < score.ci95[1] for score in bins)
    assert found[-1].name == f"{WAY}_at_originality_0.75"


@pytest.fixture(scope="module")
def scored_numbers():
    """Features at random: 24 concepts, 20 drawings of each, 20 dimensions."""
    from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings

    rng = np.random.default_rng(0)
    exemplars = rng.normal(size=(24, 20)).astype(np.float32)
    drawn = (exemplars[:, None] + rng.normal(size=(24, 20, 20)) * rng.uniform(0.3, 1.5, (24, 20, 1))).astype(np.float32)
    seen = CriticFeatures("numbers", drawn, exemplars)
    encoded = EncodedDrawings(
        (seen,), (seen,), agent="who", concepts=tuple(f"c{k}" for k in range(24)), groups=np.zeros(24, np.intp),
        makers=None, chosen_by="the centre", drawers="people",
    )  # fmt: skip
    return score_features(encoded, ScoreConfig(with_drawers=False, n_replicates=100), seed=0)
