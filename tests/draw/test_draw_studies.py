"""The experiments on drawing: agreements are what other libraries say, maps keep neighbours, known answers come out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle
from sklearn.manifold import trustworthiness

from conftest import Said, mistake
from exemplar import seeds
from exemplar.cli import main
from exemplar.draw import tour
from exemplar.draw.encoding import choose_rows, resample_concepts
from exemplar.draw.figures.studies import SHOW
from exemplar.draw.figures.study_page import write_study
from exemplar.draw.measures.agreement import (
    agreement,
    agreement_scores,
    all_pairs,
    each_with_itself,
    pair_range_scores,
    seeds_apart,
)
from exemplar.draw.measures.intervals import Resamples, sample_resamples
from exemplar.draw.studies import STUDIES, data_sets
from exemplar.draw.studies.tsne import MapConfig, _slope, affinities, flat_map
from exemplar.draw.tour import TourConfig
from exemplar.errors import UserError
from exemplar.files import read_npz
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.runs import load_scores, open_run

K = 40


@pytest.fixture(scope="module", autouse=True)
def one_cache(tmp_path_factory):
    """What one study has encoded, another finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXEMPLAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def glyphs() -> ConceptSet:
    """Nine characters of three alphabets."""
    whole = load("glyphs", "weak-test")
    return whole.only(concepts=whole.concepts[:9])


@pytest.fixture(scope="module")
def done(glyphs, tmp_path_factory):
    """done("ranked") → the folder of that study, run once."""
    folders: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in folders:
            place = tmp_path_factory.mktemp(name) / "run"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(data_sets, "BESIDE", ())  # other data sets may be here, and take long
                with open_run(
                    place, command=f"draw study {name}", config={"study": name}, seed=0,
                    data={glyphs.name: glyphs.fingerprint},
                ) as run:  # fmt: skip
                    run.save(STUDIES[name].compute(run, 0, glyphs))
            folders[name] = place
        return folders[name]

    return folder


def scores_of(folder: Path, name: str) -> dict[str, float]:
    """agent → value, of the scores over all critics and concepts."""
    return {s.agent: s.value for s in load_scores(folder) if s.name == name and not s.space and not s.concept}


def judgements(n_critics: int = 3) -> tuple[np.ndarray, np.ndarray, Resamples]:
    rng = seeds.rng("judgements")
    truth = rng.normal(size=K)
    first, second = (truth + 0.5 * rng.normal(size=(n_critics, K)) for _ in range(2))
    return first, second, sample_resamples(K, 2 * n_critics, 200, rng)


NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("rank_correlation", lambda x, y: oracle.spearmanr(x, y)[0]),
        ("r_squared", lambda x, y: oracle.pearsonr(x, y)[0] ** 2),
        ("slope", lambda x, y: oracle.linregress(x, y).slope),
    ],
)
def test_agreement_is_the_mean_over_all_pairs_of_critics(name, other):
    first, second, draws = judgements()
    together, apart = agreement(name, first, second, all_pairs(NAMES, NAMES, draws), draws)
    expected = np.array([[other(x, y) for y in second] for x in first])
    assert apart.value == pytest.approx(expected.ravel())
    assert together.value == pytest.approx(expected.mean())
    assert together.lo < together.value < together.hi


def test_a_critic_agrees_with_itself_wholly_and_its_interval_has_no_width():
    first, _, draws = judgements()
    together, _ = agreement("rank_correlation", first, first, each_with_itself(NAMES, draws), draws)
    assert (together.value, together.lo, together.hi) == pytest.approx((1, 1, 1))


def test_critics_that_differ_widen_the_interval():
    first, second, draws = judgements()
    alike = np.repeat(first[:1], 3, axis=0)
    odd = np.stack([first[0], first[0], seeds.rng("odd").normal(size=K)])
    pairs = all_pairs(NAMES, NAMES, draws)
    narrow, wide = (agreement("rank_correlation", one, second[[0, 0, 0]], pairs, draws)[0] for one in (alike, odd))
    assert wide.hi - wide.lo > 1.3 * (narrow.hi - narrow.lo)


def test_every_replicate_draws_as_many_critics_as_there_are():
    _, _, draws = judgements()
    assert (each_with_itself(NAMES, draws).weights.sum(axis=1) == 3).all()
    assert (all_pairs(NAMES, NAMES, draws).weights.sum(axis=1) == 9).all()
    assert seeds_apart(("alone",), draws) is None
    apart = seeds_apart(NAMES, draws)
    assert apart is not None and apart.names == ("a, b", "a, c", "b, c")


def test_drawings_of_a_concept_are_drawn_together():
    """Ten copies of each unit tell no more than one."""
    first, second, draws = judgements()
    pairs, groups = all_pairs(NAMES, NAMES, draws), np.repeat(np.arange(K), 10)
    once, _ = agreement("r_squared", first, second, pairs, draws)
    often, _ = agreement("r_squared", first[:, groups], second[:, groups], pairs, draws, groups=groups)
    assert (often.value, often.lo, often.hi, often.n) == pytest.approx((once.value, once.lo, once.hi, K))


def test_the_lowest_and_the_highest_pair_of_trainings_stand_beside_the_mean() -> None:
    rng = seeds.rng("pairs of trainings")
    first = rng.normal(size=(3, 40))
    second, names = first + rng.normal(scale=(0.1, 0.5, 1.5), size=(40, 3)).T, ("a", "b", "c")
    draws = resample_concepts(40, 6, 0)
    pairs = all_pairs(names, names, draws)
    every = {s.space: s for s in agreement_scores("rank_correlation", first, second, pairs, draws, agent="x")}
    apart = [score for space, score in every.items() if space]
    low, high = pair_range_scores("rank_correlation", first, second, pairs, draws, agent="x")
    assert (low.name, high.name) == ("rank_correlation_lowest_pair", "rank_correlation_highest_pair")
    assert low.value == min(s.value for s in apart) < every[""].value < high.value == max(s.value for s in apart)
    assert low.ci95 == min(apart, key=lambda s: s.value).ci95
    one = all_pairs(("a",), ("b",), draws)
    assert pair_range_scores("rank_correlation", first[:1], second[:1], one, draws, agent="x") == []


def test_scores_say_which_pair_they_are_of():
    first, second, draws = judgements()
    found = list(agreement_scores("slope", first, second, all_pairs(NAMES, NAMES, draws), draws, agent="two"))
    assert [s.space for s in found] == ["", *(f"{a}, {b}" for a in NAMES for b in NAMES)]


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.floats(3, 12), st.floats(1e-3, 1e3))
def test_every_row_of_affinities_has_the_perplexity_asked_for(number, perplexity, scale):
    points = scale * np.random.default_rng(number).normal(size=(40, 5))
    squared = np.square(points[:, None] - points).sum(axis=2)
    shared = affinities(squared, perplexity).astype(np.float64)
    assert shared.sum() == pytest.approx(1, rel=1e-5)
    assert np.array_equal(shared, shared.T) and (np.diag(shared) == 0).all()
    # the widths are each row's own, so only their mean can be seen in what is symmetric
    assert np.exp(oracle.entropy(shared / shared.sum(axis=1, keepdims=True), axis=1)).mean() >= perplexity * 0.9


def test_the_slope_is_that_of_the_divergence():
    rng = np.random.default_rng(0)
    place = rng.normal(size=(12, 2))
    shared = affinities(np.square(rng.normal(size=(12, 12))) + 1, 3.0)
    shared = (shared + shared.T) / 2

    def divergence(points: np.ndarray) -> float:
        near = 1 / (1 + np.square(points[:, None] - points).sum(axis=2))
        np.fill_diagonal(near, 0)
        wide = shared.astype(np.float64)
        off = ~np.eye(12, dtype=bool)
        return float((wide[off] * np.log(wide[off] / (near / near.sum())[off])).sum())

    found, tiny = _slope(shared, place, 1.0), 1e-5
    for where in np.ndindex(place.shape):
        step = np.zeros_like(place)
        step[where] = tiny
        assert found[where] == pytest.approx(
            (divergence(place + step) - divergence(place - step)) / (2 * tiny), abs=2e-5
        )


def test_a_map_keeps_neighbours_and_is_the_same_every_time():
    rng = np.random.default_rng(1)
    label = np.repeat(np.arange(6), 25)
    features = (4 * rng.normal(size=(6, 20))[label] + rng.normal(size=(150, 20))).astype(np.float32)
    config = MapConfig(perplexity=10, steps=300, early_steps=100)
    place = flat_map(features, config)
    assert trustworthiness(features, place, n_neighbors=8) > 0.93
    apart = np.linalg.norm(place[:, None] - place, axis=2) + np.diag(np.full(150, np.inf))
    assert (label[apart.argmin(axis=1)] == label).mean() > 0.98
    assert np.array_equal(place, flat_map(features, config))


def test_a_map_of_too_few_drawings_is_refused():
    with pytest.raises(UserError, match="a map of 20 drawings needs a perplexity below 7"):
        flat_map(np.zeros((20, 3)))


def test_every_study_has_a_page_and_every_page_a_study():
    assert set(STUDIES) == set(SHOW)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "resolution" else name for name in STUDIES]
)
def test_a_study_leaves_scores_figures_and_a_page(done, name):
    folder = done(name)
    study = STUDIES[name]
    page = write_study(folder, study.title, study.text.format(drawers="simulated drawers"), SHOW[name])
    scores = load_scores(folder)
    assert scores and all(s.ci95[0] <= s.ci95[1] for s in scores)
    pictures = sorted(path.name for path in (folder / "figures").iterdir())
    assert pictures and len(pictures) % 2 == 0  # each as PNG and as SVG
    assert all(Path(picture).with_suffix(".svg").name in pictures for picture in pictures)
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure ") == len(pictures) // 2 and study.title in text
    assert "http" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")


def test_copies_do_not_vary_others_are_named_by_chance_and_redrawing_widens(done):
    folder = done("known-answers")
    diversity, named = scores_of(folder, "diversity"), scores_of(folder, "recognizability_all_way")
    assert (diversity["copies"], named["copies"]) == pytest.approx((0, 1), abs=1e-6)
    assert scores_of(folder, "originality")["copies"] == pytest.approx(0, abs=1e-6)
    assert named["others"] < 2 / 9 and named["noise"] < 3 / 9
    spreads = [f"redraw@{spread}" for spread in ("0.25", "0.5", "1", "1.5", "2")]
    assert (np.diff([diversity[name] for name in spreads]) > 0).all()
    assert named[spreads[0]] > named[spreads[-1]]
    assert all(value > 0 for value in scores_of(folder, "change_of_diversity").values())


def test_more_drawings_are_more_diverse_until_that_is_corrected(done):
    folder = done("number-of-drawings")
    raw, fair, cosine = (scores_of(folder, name) for name in ("spread", "spread, corrected (c4)", "cosine"))
    assert list(raw) == [f"{n} drawings of each" for n in (3, 5, 10, 15, 20)]
    assert (np.diff(list(raw.values())) > 0).all()
    five, *_, twenty = list(raw.values())[1:]
    assert np.ptp(list(fair.values())[1:]) < 0.3 * (twenty - five)  # of 3, chance tells more in nine concepts
    assert np.ptp(list(cosine.values())) < 0.05 * max(cosine.values())


def test_the_central_exemplar_is_nearer_to_all_than_any(done):
    folder = done("exemplars")
    far, same = scores_of(folder, "originality"), scores_of(folder, "same_exemplar")
    assert far["centre in SimCLR"] < min(far["random"], far["drawer 1"])
    assert same["any two drawings of a concept"] == pytest.approx(1 / 20)


def test_drawings_are_nearer_to_their_own_centre_than_to_the_exemplar(done):
    with np.load(done("centre-and-exemplar") / "centre-and-exemplar.npz") as found:
        assert (found["to centre"] < found["to exemplar"]).all()


def test_a_ranked_sheet_goes_from_the_least_diverse_to_the_most(done):
    folder = done("ranked")
    value = {s.concept: s.value for s in load_scores(folder) if s.agent == "SimCLR" and s.concept}
    with np.load(folder / "ranked.npz") as found:
        shown = [value[str(found["concepts"][place])] for place in found["SimCLR concepts"]]
    assert len(shown) == 9 and shown == sorted(shown)


def test_the_same_seed_gives_the_same_scores(glyphs, done, tmp_path):
    with open_run(tmp_path / "again", command="again", config={}, seed=0) as run:
        again = list(STUDIES["critics-agree"].compute(run, 0, glyphs))
    assert again == load_scores(done("critics-agree"))


@pytest.mark.parametrize(
    ("n_concepts", "n_each", "says"), [(2, 5, "a study over concepts needs 3"), (4, 2, "needs 3 or more of each")]
)
def test_too_little_to_study_is_said_in_a_sentence(n_concepts, n_each, says):
    images = np.zeros((n_concepts * n_each, 20, 20), np.uint8)
    data = ConceptSet.of("mine", images, np.repeat(np.arange(n_concepts), n_each))
    with pytest.raises(UserError, match=says):
        choose_rows(data)


def test_the_tour_places_simulated_drawers_among_agents_whose_scores_are_known(tmp_path, monkeypatch):
    small = replace(TourConfig(), n_concepts=6, spreads=(0.5, 2.0), n_replicates=50, n_shown=2, n_drawings=3)
    monkeypatch.setattr(tour, "TourConfig", lambda: small)
    tour.make_tour(tmp_path / "draw", 0, None)
    diversity = scores_of(tmp_path / "draw", "diversity")
    assert list(diversity) == ["simulated drawers", "copies", "others", "noise", "redraw@0.5", "redraw@2"]
    assert diversity["copies"] == pytest.approx(0, abs=1e-6)  # batches of another size round otherwise
    assert 0.1 < diversity["redraw@0.5"] < diversity["redraw@2"]
    trained = read_npz(tmp_path / "draw" / tour.TRAINED, images=("u", 4), names=("U", 1))
    assert trained["images"].shape == (2, 4, 48, 48) and trained["images"].any((2, 3)).all()
    before = (tmp_path / "draw" / "scores.parquet").stat().st_mtime_ns
    tour.make_tour(tmp_path / "draw", 0, None)  # done already
    assert (tmp_path / "draw" / "scores.parquet").stat().st_mtime_ns == before


def test_a_study_by_command_on_images_of_ones_own(glyphs, tmp_path, monkeypatch, capsys):
    small = glyphs.only(concepts=glyphs.concepts[:4])
    np.savez(tmp_path / "mine.npz", images=small.images, concept=np.array(small.concepts)[small.concept.code])
    monkeypatch.chdir(tmp_path)
    said = {}
    for name in ("number-of-drawings", "nothing"):
        monkeypatch.setattr("sys.argv", ["exemplar", "draw", "study", name, "--data", "mine.npz", "--json"])
        with pytest.raises(SystemExit) as end:
            main()
        said[name] = Said(int(end.value.code or 0), *capsys.readouterr())
    answer = said["number-of-drawings"].json()
    assert Path(answer["page"]).is_file() and answer["scores"][0]["n"] == 4
    assert "critics-agree" in mistake(said["nothing"])
