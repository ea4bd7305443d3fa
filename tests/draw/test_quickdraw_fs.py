"""QuickDraw-FS: clusters, the three filters, a data set that loads, and a pipeline that a kill cannot spoil."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import engine
from exemplar.draw.quickdraw_fs import (
    BuildConfig,
    ClusterConfig,
    Clusters,
    DivideConfig,
    Filters,
    apply_filters,
    build_data,
    cluster_folder,
    divide_clusters,
    fit_filters,
    load_clusters,
)
from exemplar.draw.quickdraw_fs.filters import BY_HAND, KEPT, NONE, TOO_CLOSE, TOO_SMALL, TOO_SPREAD, rivals
from exemplar.draw.quickdraw_fs.kmeans import fit_clusters
from exemplar.draw.quickdraw_fs.sheet import sheet_rows
from exemplar.draw.quickdraw_fs.sources import Category, read_category
from exemplar.draw.quickdraw_fs.splits import CATEGORY, PUBLISHED, members, split_at_random, split_by_category
from exemplar.draw.quickdraw_fs.training import gather_aside
from exemplar.draw.tasks import OWN, make_task
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.quickdraw import in_test, load_quickdraw
from exemplar.images.quickdraw_bitmaps import bitmap_hashes, read_category_bitmaps
from exemplar.images.quickdraw_fs import in_category_test
from exemplar.runs import describe_run, load_scores
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.zoo import load_space

Shape = Callable[[np.random.Generator], np.ndarray]  # one stroke, (2, points) in [0, 1] or so
SPACE = "simclr-quickdraw-clusters-s0"
SMALL = ClusterConfig("strokes", n_set_aside=0, n_clustered=44, n_clusters=3)
FILTERS = Filters(smallest=8, max_spread=65.0, min_distance=30.0)
BUILD = BuildConfig(FILTERS, n_variations=5, train_share=0.5)


def ring(rng: np.random.Generator) -> np.ndarray:
    turn = np.linspace(0, 2 * np.pi, 40) + rng.uniform(0, 6)
    return np.stack([np.cos(turn), (1 + 0.05 * rng.normal()) * np.sin(turn)])


def square(rng: np.random.Generator) -> np.ndarray:
    return np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0.0]]) + 0.04 * rng.normal(size=(2, 5))


def junk(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(size=(2, rng.integers(12, 30))) * [[1], [rng.uniform(0.1, 1)]]


def lines(word: str, shapes: Sequence[Shape], first_key: int = 0) -> list[str]:
    rng = np.random.default_rng(first_key)
    about = {"word": word, "countrycode": "FR", "timestamp": "2017-03-11", "recognized": True}
    return [
        json.dumps({**about, "key_id": str(first_key + k), "drawing": [(shape(rng) * 200).tolist()]})
        for k, shape in enumerate(shapes)
    ]


def write(path: Path, text: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(line + "\n" for line in text).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def words(n: int, each: tuple[int, int, int] = (20, 16, 8)) -> list[list[str]]:
    """Lines of n categories, each of rings, squares and junk."""
    shapes = [ring] * each[0] + [square] * each[1] + [junk] * each[2]
    return [lines(f"word{k}", shapes, first_key=1000 * k) for k in range(n)]


def bytes_below(folder: Path) -> dict[str, bytes]:
    """Everything in a run's folder but what says when and where it ran."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in (".lock", "provenance.json")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quickdraw")
    for k, text in enumerate(words(3)):
        write(folder / f"word{k}.ndjson", text)
    return folder


@pytest.fixture(scope="module")
def clusters(drawings: Path, tmp_path_factory: pytest.TempPathFactory) -> Clusters:
    return cluster_folder(tmp_path_factory.mktemp("runs") / "clusters", drawings, SMALL, backend=engine.Here())


# k-means


def loss(features: np.ndarray, label: np.ndarray) -> float:
    return sum(float(np.square(features[label == k] - features[label == k].mean(axis=0)).sum()) for k in set(label))


@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_as_tight_as_those_of_scikit_learn(seed):
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(seed)
    features = rng.normal(size=(300, 8)) + 3 * rng.normal(size=(6, 8))[rng.integers(6, size=300)]
    ours = fit_clusters(features, 6, n_beginnings=10, rng=rng)
    theirs = KMeans(6, n_init=10, random_state=seed).fit(features)
    assert loss(features, ours) <= 1.01 * theirs.inertia_


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_separate_clouds_are_found_wherever_they_lie_largest_first(seed, shift, scale):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat([0, 1, 2], [9, 6, 4]))
    clouds = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 9]])
    features = (clouds[truth] + rng.uniform(-1, 1, size=(19, 3))) * scale + shift
    found = fit_clusters(features.astype(np.float32), 3, n_beginnings=10, rng=rng)
    assert np.array_equal(found, truth)


def test_equal_drawings_cannot_be_parted():
    features = np.repeat(np.eye(3), 10, axis=0)
    assert np.bincount(fit_clusters(features, 3, n_beginnings=2, rng=np.random.default_rng(0))).tolist() == [10] * 3
    with pytest.raises(UserError, match="30 drawings, of which 3 differ, cannot make 4 clusters"):
        fit_clusters(features, 4, n_beginnings=2, rng=np.random.default_rng(0))


# filters

# Two categories of four clusters. In the first, 2 is at 10 from 0 (too close at 20), 1 at 30 from both; 3 is too small.
SIZE = np.array([[40, 30, 20, 9], [50, 40, 30, 20]])
SPREAD = np.array([[5.0, 6, 7, 99], [5, 99, 6, 8]])
BETWEEN = np.array(
    [
        [[np.inf, 30, 10, 5], [30, np.inf, 30, 5], [10, 30, np.inf, 5], [5, 5, 5, np.inf]],
        [[np.inf, 1, 40, 15], [1, np.inf, 1, 1], [40, 1, np.inf, 15], [15, 1, 15, np.inf]],
    ]
)


def test_each_filter_removes_what_it_should():
    verdict = apply_filters(SIZE, SPREAD, BETWEEN, Filters(10, 50.0, 20.0))
    assert verdict.tolist() == [[KEPT, KEPT, TOO_CLOSE, TOO_SMALL], [KEPT, TOO_SPREAD, KEPT, TOO_CLOSE]]
    # the small one that is spread too counts as small; the spread one does not push its neighbours out
    assert rivals(BETWEEN, verdict).tolist() == [[-1, -1, 0, -1], [-1, -1, -1, 0]]


def test_a_threshold_itself_is_allowed():
    verdict = apply_filters(SIZE, SPREAD, BETWEEN, Filters(smallest=9, max_spread=99.0, min_distance=1.0))
    assert (verdict == KEPT).all()
    assert (apply_filters(SIZE, SPREAD, BETWEEN, Filters(41, 99.0, 1.0)) == TOO_SMALL).sum() == 7


def test_what_is_removed_by_hand_still_stood_before_its_neighbours():
    by_hand = np.zeros(SIZE.shape, bool)
    by_hand[0, 0] = by_hand[0, 3] = True
    verdict = apply_filters(SIZE, SPREAD, BETWEEN, Filters(10, 50.0, 20.0), by_hand=by_hand)
    assert verdict[0].tolist() == [BY_HAND, KEPT, TOO_CLOSE, TOO_SMALL]
    assert rivals(BETWEEN, verdict)[0, 2] == 0


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.05, 3.0))
def test_kept_clusters_lie_apart_and_each_that_yields_is_close_to_one(seed, distance):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(5, 6, 3))
    between = np.linalg.norm(centre[:, :, None] - centre[:, None], axis=3) + np.diag(np.full(6, np.inf))
    verdict = apply_filters(np.full((5, 6), 9), np.ones((5, 6)), between, Filters(1, 2.0, distance))
    rival = rivals(between, verdict)
    for row in range(5):
        kept = np.flatnonzero(verdict[row] == KEPT)
        assert 0 in kept
        assert (between[row][np.ix_(kept, kept)] >= distance).all()
        for column in np.flatnonzero(verdict[row] == TOO_CLOSE):
            other = rival[row, column]
            assert other < column and other in kept and between[row, column, other] < distance


def test_a_category_may_have_fewer_clusters_than_others():
    size, spread = SIZE.copy(), SPREAD.copy()
    between = BETWEEN.copy()
    size[1, 2:], spread[1, 2:], between[1, 2:], between[1, :, 2:] = 0, 0, np.inf, np.inf
    verdict = apply_filters(size, spread, between, Filters(10, 50.0, 20.0), by_hand=np.ones(size.shape, bool))
    assert verdict.tolist() == [[BY_HAND, BY_HAND, TOO_CLOSE, TOO_SMALL], [BY_HAND, TOO_SPREAD, NONE, NONE]]
    assert (rivals(between, verdict)[1] == -1).all()
    fitted = fit_filters(size, spread, between, Filters(10, None, None))
    assert fitted.min_distance == np.median([5, 6, 7, 5, 99])  # what is not there has no spread of 0
    none_large = fit_filters(size, spread, between, Filters(1000, None, None))
    assert none_large.min_distance == np.median([5, 6, 7, 99, 5, 99])


def test_fitted_thresholds_are_rarely_passed_and_do_not_depend_on_the_unit():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(200, 6, 8))
    between = np.linalg.norm(centre[:, :, None] - centre[:, None], axis=3) + np.diag(np.full(6, np.inf))
    size, spread = rng.integers(100, 1000, size=(200, 6)), rng.gamma(9, size=(200, 6))
    asked = Filters(200, None, None)
    fitted = fit_filters(size, spread, between, asked)
    verdict = apply_filters(size, spread, between, fitted)
    assert (verdict == TOO_SPREAD).sum() == (size >= 200).sum() // 100
    assert fitted.min_distance == np.median(spread[size >= 200])  # no nearer than drawings are to their own centre
    larger = fit_filters(size, 50 * spread, 50 * between, asked)
    assert np.array_equal(apply_filters(size, 50 * spread, 50 * between, larger), verdict)
    assert fit_filters(size, spread, between, Filters()) == Filters()  # what is given stays


# the whole way


def test_a_planted_junk_cluster_is_removed(clusters, tmp_path):
    assert clusters.size.tolist() == [[20, 16, 8]] * 3
    for parted in clusters.parts():  # written as rings, squares, junk
        assert parted.cluster.tolist() == [0] * 20 + [1] * 16 + [2] * 8
    built = build_data(tmp_path / "fs", clusters, BUILD)
    assert built.verdict.tolist() == [[KEPT, KEPT, TOO_SPREAD]] * 3
    assert built.counts() == {"kept": 6, "too small": 0, "too spread": 3, "too close": 0, "by hand": 0}
    kept = next(score for score in load_scores(built.folder) if score.name == "clusters_kept")
    assert kept.value == pytest.approx(6 / 9) and kept.n == 9 and kept.ci95[0] < 6 / 9 < kept.ci95[1]


def test_the_data_set_loads_and_its_exemplars_are_central(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BUILD)
    names = []
    for split in ("train", "test"):
        data = load(str(built.file(split)))
        assert data.counts.tolist() == [6, 6, 6] and data.shape == (48, 48) and data.family == "quickdraw"
        assert set(np.unique(data.images)) == {0, 255}
        assert all(name.rpartition("-")[0] == data.group[row] for row, name in enumerate(np.repeat(data.concepts, 6)))
        names += data.concepts
        assert data.exemplars is not None and data.exemplars.tolist() == [0, 6, 12]  # it comes first
        task = make_task(data)
        assert task.n == 5 and task.data.name == f"quickdraw-fs-{split}" and task.chosen_by == OWN
        assert [task.data.concept[row] for row in task.exemplar] == list(task.concepts)
    assert sorted(names) == sorted(f"word{k}-{c}" for k in range(3) for c in (1, 2))
    space = load_space(SPACE)
    for parted in clusters.parts():  # of all drawings of a cluster, not only of those kept
        features = space.encode(parted.drawings.take(np.arange(44)), device="cpu")
        assert parted.exemplar.tolist() == central_exemplars(features, parted.cluster).tolist()
    first = next(clusters.parts())
    for c, name in enumerate(("word0-1", "word0-2")):
        data = load(str(built.file("train" if name in load(str(built.file("train"))).concepts else "test")))
        assert data.exemplars is not None
        row = data.exemplars[data.concepts.index(name)]
        assert data.maker[row] == first.key[first.exemplar[c]]


def test_the_variations_are_those_nearest_to_the_centre_in_random_order(clusters, tmp_path):
    kept = {
        which: build_data(tmp_path / which, clusters, replace(BUILD, keep=which)) for which in ("nearest", "random")
    }
    lists = {which: dict(np.load(built.folder / "concepts.npz")) for which, built in kept.items()}
    parted = next(clusters.parts())
    for place, cluster in enumerate((0, 1)):  # word0-1, word0-2
        rows = np.flatnonzero(parted.cluster == cluster)
        by_distance = parted.key[rows[parted.distance[rows].argsort()]]
        nearest, random = (lists[which]["key"][place] for which in ("nearest", "random"))
        assert nearest[0] == random[0] == by_distance[0]  # the exemplar
        assert set(nearest[1:]) == set(by_distance[1:6]) != set(random[1:])
    orders = [lists["nearest"]["key"][k, 1:].tolist() for k in range(len(lists["nearest"]["key"]))]
    distance = {key: d for part in clusters.parts() for key, d in zip(part.key, part.distance, strict=True)}
    assert any(
        sorted(order, key=distance.__getitem__) != order for order in orders
    )  # the first few are a sample of all
    with pytest.raises(UserError, match="no way to keep variations 'near'"):
        replace(BUILD, keep="near")


def test_the_drawings_are_those_that_quickdraw_loads(clusters, drawings):
    whole = load_quickdraw(drawings, size=48).resized(48, binarise=0.3)
    for parted in clusters.parts():
        rows = whole.rows(parted.word)
        assert np.array_equal(parted.drawings.take(np.arange(44)), whole.take(rows))
        assert parted.key.tolist() == [whole.maker[row] for row in rows]


def test_what_is_set_aside_is_never_drawn(tmp_path):
    path = write(tmp_path / "word0.ndjson", words(1)[0])
    category = Category.of("word0", path, "strokes")
    bits, keys = read_category(category, 5, 9, size=48, threshold=0.3)
    assert keys.tolist() == ["5", "6", "7", "8"] and len(bits) == 4
    assert read_category(category, 42, 99, size=48, threshold=0.3)[1].tolist() == ["42", "43"]
    assert len(read_category(category, 44, 99, size=48, threshold=0.3)[0]) == 0


def test_a_file_of_many_categories_is_read_like_a_file_a_category(clusters, tmp_path):
    first, second, third = words(3)
    write(tmp_path / "in" / "mixed.ndjson.gz", [line for pair in zip(second, third, strict=True) for line in pair])
    write(tmp_path / "in" / "full_raw_word0.ndjson", first)
    found = cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    assert found.words == clusters.words
    names = [f"categories/word{k}.npz" for k in range(3)]
    ours, theirs = bytes_below(found.folder), bytes_below(clusters.folder)
    assert [ours[name] for name in names] == [theirs[name] for name in names]
    assert np.array_equal(found.between, clusters.between) and np.array_equal(found.spread, clusters.spread)
    assert not (found.folder / "dealt").exists()


def as_bitmaps(shapes: Sequence[Shape], folder: Path, word: str = "word0", first_key: int = 0) -> np.ndarray:
    """(n, 28, 28) uint8: drawings as official bitmaps, each once."""
    write(folder / f"{word}.ndjson", lines(word, shapes, first_key))
    images = load_quickdraw(folder, size=28)
    images = images.take(images.rows(word))
    assert len(set(bitmap_hashes(images).tolist())) == len(images)
    return images


def test_bitmaps_in_any_form_give_the_same_clusters(tmp_path):
    images = as_bitmaps([ring] * 9 + [square] * 8 + [junk] * 7, tmp_path / "s")
    images = images[np.random.default_rng(0).permutation(24)]
    for form in ("npy", "npz", "labelled", "parts"):
        (tmp_path / form).mkdir()
    np.save(tmp_path / "npy" / "full_numpy_bitmap_word0.npy", images.reshape(24, 784))
    np.savez(tmp_path / "npz" / "some.npz", word0=images)
    about = {"label": np.zeros(24, np.int64), "category": np.array(["word0"])}
    np.savez(tmp_path / "labelled" / "some.npz", images=images, **about)
    np.savez(tmp_path / "parts" / "a.npz", word0=images[:10])
    np.savez(tmp_path / "parts" / "b.npz", word0=images[5:])  # five are there twice: each counts once
    config = ClusterConfig("bitmaps", n_set_aside=4, n_clustered=18, n_clusters=2)
    found = [
        cluster_folder(tmp_path / f"c-{form}", tmp_path / form, config, backend=engine.Here())
        for form in ("npy", "npz", "labelled", "parts")
    ]
    one, *others = (next(each.parts()) for each in found)
    assert one.key.tolist() == [f"{key:016x}" for key in bitmap_hashes(images[4:22])]
    for clusters_, other in zip(found[1:], others, strict=True):
        assert np.array_equal(one.drawings.bits, other.drawings.bits) and np.array_equal(one.key, other.key)
        assert np.array_equal(one.cluster, other.cluster) and np.array_equal(found[0].between, clusters_.between)
    np.save(tmp_path / "dealt.npy", next(read_category_bitmaps(tmp_path / "parts"))[1])
    wanted = Category.of("word0", tmp_path / "dealt.npy", "bitmaps")
    assert np.array_equal(one.drawings.bits, read_category(wanted, 4, 22, size=48, threshold=0.3)[0].bits)


def test_clusters_are_in_proportion_to_the_drawings():
    config = ClusterConfig()
    assert [config.n_parts(n) for n in (5_000, 4_000, 2_500, 1_700, 800, 100, 1)] == [6, 5, 3, 2, 1, 1, 1]


def test_a_drawing_in_two_categories_is_in_no_concept(tmp_path):
    rings = as_bitmaps([ring] * 20, tmp_path / "rings")
    squares = as_bitmaps([square] * 20, tmp_path / "squares", first_key=50)
    folder = tmp_path / "in"
    folder.mkdir()
    both = rings[5:8]
    np.save(folder / "cat.npy", rings.reshape(-1, 784))
    np.save(folder / "dog.npy", np.concatenate([squares, both]).reshape(-1, 784))
    config = ClusterConfig("bitmaps", n_set_aside=0, n_clustered=23, n_clusters=2)
    found = cluster_folder(tmp_path / "c", folder, config, backend=engine.Here())
    built = build_data(tmp_path / "fs", found, BuildConfig(Filters(2, 1e9, 1e-9), n_variations=1, train_share=0.5))
    assert built.size.sum() == found.size.sum() - 2 * 3 == 37
    described = json.loads((tmp_path / "fs" / "clusters.json").read_text())
    assert described["in_two_categories"] == 6
    shared = {f"{key:016x}" for key in bitmap_hashes(both)}
    assert not shared & set(load(str(built.file("train"))).maker.names)
    assert not shared & set(load(str(built.file("test"))).maker.names)
    # nor is it an exemplar, though it be the nearest to a centre: the next nearest is
    alone = tmp_path / "alone"
    alone.mkdir()
    np.save(alone / "cat.npy", rings.reshape(-1, 784))
    cats = next(cluster_folder(tmp_path / "a", alone, config, backend=engine.Here()).parts())
    np.save(folder / "dog.npy", np.concatenate([squares, rings[cats.exemplar]]).reshape(-1, 784))
    again = build_data(
        tmp_path / "fs2",
        cluster_folder(tmp_path / "c2", folder, config, backend=engine.Here()),
        replace(built.config, split="published"),
    )
    with np.load(again.folder / "concepts.npz") as stored:
        chosen = dict(zip(stored["concept"].tolist(), stored["key"][:, 0].tolist(), strict=True))
    hashes = bitmap_hashes(rings)
    for c, exemplar in enumerate(cats.exemplar):
        rows = np.flatnonzero((cats.cluster == c) & (np.arange(20) != exemplar))
        assert chosen[f"cat-{c + 1}"] == hashes[rows[cats.distance[rows].argmin()]]


def test_both_splits_are_in_the_list_and_one_is_written(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BUILD)
    with np.load(built.folder / "concepts.npz") as stored:
        listed = dict(stored)
    assert listed["concept"].tolist() == built.names.tolist() and listed["key"].shape == (6, 6)
    assert listed["published"].tolist() == built.part.tolist() and built.config.split == PUBLISHED
    assert listed["by_category"].tolist() == split_by_category(listed["category"].tolist()).tolist()
    for split in ("train", "val", "test"):
        data = load(str(built.file(split)))
        wanted = members(built.part, split)
        assert data.concepts == tuple(built.names[wanted])
        assert [data.maker[row] for row in range(len(data))] == listed["key"][wanted].ravel().tolist()


def test_a_random_split_has_the_share_asked_for_and_its_part_to_choose_on():
    part = split_at_random(115, 550 / 665, np.random.default_rng(0))
    assert [int((part == name).sum()) for name in ("train", "val", "test")] == [75, 20, 20]
    assert members(part, "train").sum() == 95 and not (members(part, "train") & members(part, "test")).any()
    few = split_at_random(2, 0.99, np.random.default_rng(0))
    assert sorted(few) == ["test", "train"]  # neither side is empty, and nothing is left to choose on


def test_no_category_is_on_two_sides_of_a_split_by_category(tmp_path):
    names = [f"word{k}" for k in range(200)]
    tested = next(name for name in names if in_category_test(name))
    trained = [name for name in names if not in_category_test(name)][:2]
    assert all(in_category_test(name) for name in names if in_test(name))
    for k, word in enumerate((tested, *trained)):
        write(tmp_path / "in" / f"{word}.ndjson", lines(word, [ring] * 20 + [square] * 16 + [junk] * 8, 1000 * k))
    found = cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    built = build_data(tmp_path / "fs", found, replace(BUILD, split=CATEGORY))
    sides = [set(load(str(built.file(split))).group.names) for split in ("train", "test")]
    assert sides == [set(trained), {tested}]
    with pytest.raises(UserError, match="there is no way to split concepts 'drawer'"):
        build_data(tmp_path / "fs2", found, replace(BUILD, split="drawer"))
    write(tmp_path / "one" / f"{tested}.ndjson", lines(tested, [ring] * 20 + [square] * 16 + [junk] * 8))
    only = cluster_folder(tmp_path / "c3", tmp_path / "one", SMALL, backend=engine.Here())
    with pytest.raises(UserError, match="none of the 2 concepts is for train when split by category: add categories"):
        build_data(tmp_path / "fs3", only, replace(BUILD, split=CATEGORY))
    assert not (tmp_path / "fs2").exists() and not (tmp_path / "fs3").exists()


def test_the_sheet_shows_every_cluster_once_with_its_reason(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BuildConfig(FILTERS, 5, drop=("word1-2",)))
    rows = list(sheet_rows(built, most=4))
    assert [(part.verdict, len(part.labels)) for part in rows] == [
        ("too spread", 3),
        ("kept", 4),
        ("kept", 1),
        ("by hand", 1),
    ]
    shown = [label.partition("  ")[0] for part in rows for label in part.labels]
    assert sorted(shown) == sorted(clusters.names.ravel())
    parted = next(clusters.parts())
    junk_row = rows[0].labels.index(next(label for label in rows[0].labels if label.startswith("word0-3")))
    assert np.array_equal(rows[0].images[junk_row, 0], parted.drawings.take(parted.exemplar[2:3])[0])
    assert rows[0].images.shape == (3, 13, 48, 48)
    assert not rows[0].images[junk_row, 8:].any() and rows[0].images[junk_row, 7].any()  # eight drawings, then white


# runs


@pytest.mark.long
def test_one_and_two_workers_and_a_killed_run_give_the_same_bytes(tmp_path):
    many = words(6)
    write(tmp_path / "in" / "many.ndjson", [line for text in many[:3] for line in text])
    for k, text in enumerate(many[3:], start=3):
        write(tmp_path / "in" / f"word{k}.ndjson", text)
    last = lines(
        "zzz", [ring] * 200 + [square] * 150 + [junk] * 150, first_key=9000
    )  # takes long enough to be killed at
    write(tmp_path / "in" / "zzz.ndjson", last)
    one, two = tmp_path / "one", tmp_path / "two"
    config, build = replace(SMALL, n_clustered=500), replace(BUILD, filters=Filters(8, None, None))
    whole = build_data(tmp_path / "fs-one", cluster_folder(one, tmp_path / "in", config, backend=engine.Here()), build)
    assert (whole.verdict[:6, 1:] == NONE).all() and (whole.verdict[6] != NONE).all()  # in proportion to the drawings

    code = (
        "import sys; from pathlib import Path; from exemplar import engine\n"
        "from exemplar.draw.quickdraw_fs import ClusterConfig, cluster_folder\n"
        "config = ClusterConfig('strokes', n_set_aside=0, n_clustered=500, n_clusters=3)\n"
        "cluster_folder(sys.argv[1], Path(sys.argv[2]), config, backend=engine.Here())\n"
    )
    command = [sys.executable, "-c", code, str(two), str(tmp_path / "in")]
    victim = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    deadline = time.monotonic() + 120
    while len(list(two.glob("categories/[!.]*.npz"))) < 3:
        assert victim.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    with pytest.raises(UserError, match="are not finished: run the command that makes them again, it resumes"):
        load_clusters(two)
    done = {path.name: path.stat().st_mtime_ns for path in two.glob("categories/[!.]*.npz")}
    assert "zzz.npz" not in done
    cluster_folder(two, tmp_path / "in", config, backend=engine.Pool(2))
    again = {path.name: path.stat().st_mtime_ns for path in two.glob("categories/[!.]*.npz")}
    assert sum(again[name] == when for name, when in done.items()) >= len(done) - 1  # at most what it was at
    assert bytes_below(two) == bytes_below(one)
    assert describe_run(two)["provenance"]["sessions_killed"] == 1
    again_built = bytes_below(build_data(tmp_path / "fs-two", load_clusters(two), build).folder)
    assert again_built == bytes_below(whole.folder)
    assert {"concepts.npz", "quickdraw-fs-train.npz", "quickdraw-fs-test.npz"} <= set(again_built)


def test_a_finished_run_is_read_not_made_again(clusters, drawings):
    def refuse(*_: Any) -> Any:
        raise AssertionError("nothing is left to do")

    nobody: Any = type("Nobody", (), {"compute": refuse})()
    assert np.array_equal(cluster_folder(clusters.folder, drawings, SMALL, backend=nobody).between, clusters.between)
    with pytest.raises(UserError, match="holds another run"):
        cluster_folder(clusters.folder, drawings, replace(SMALL, n_set_aside=1))


def test_another_seed_splits_and_samples_otherwise(clusters, tmp_path):
    several = [build_data(tmp_path / f"s{seed}", clusters, BUILD, seed=seed) for seed in range(6)]
    assert len({str(built.part.tolist()) for built in several}) > 1
    assert len({str(built.parts[CATEGORY].tolist()) for built in several}) == 1  # a hash of names, no chance
    assert all(built.n_concepts() == {"train": 3, "val": 1, "test": 3} for built in several)
    lists = [np.load(built.folder / "concepts.npz")["key"] for built in several[:2]]
    assert np.array_equal(*(keys[:, 0] for keys in lists)) and not np.array_equal(*lists)  # exemplars stay


# the verbs


def test_the_verbs_build_and_answer(drawings, tmp_path):
    import exemplar as ex

    about = ex.draw.cluster_quickdraw(
        tmp_path / "c", drawings, form="strokes", set_aside=0, drawings=44, clusters=3, engine="here"
    )
    assert (about["categories"], about["drawings"], about["clusters"]) == (3, 132, 9)
    asked = {"smallest": 8, "variations": 5, "max_spread": "65", "min_distance": "30", "drop": ["word1-1"]}
    answer = ex.draw.build_quickdraw(tmp_path / "c", tmp_path / "fs", **asked, picture=["word0", "word2"])
    built = answer.json()
    assert built["clusters"] == {
        "clusters_kept": 5,
        "removed_too_small": 0,
        "removed_too_spread": 3,
        "removed_too_close": 0,
        "removed_by_hand": 1,
    }
    assert built["concepts"] == {"train": 4, "val": 1, "test": 1}  # 5 × 550 / 665 = 4.1; val is in train
    assert built["drawings_each"] == 6 and built["too_few"] == [] and built["in_two_categories"] == 0
    assert built["scores"]["removed_too_spread"]["value"] == pytest.approx(1 / 3)
    assert built["scores"]["removed_too_spread"]["n"] == 9
    assert "full public files" in built["note"] and built["fitted"] == []
    page = Path(built["sheet"]).read_text(encoding="utf-8")
    assert "Too spread: 3" in page and "By hand: 1" in page
    assert "Categories on a plane" in page and "Drawings of word0 in" in page and "Drawings of word2 in" in page
    with pytest.raises(UserError, match="there is no category 'word9'"):
        ex.draw.build_quickdraw(tmp_path / "c", tmp_path / "fs9", **asked, picture=["word9"])
    assert not (tmp_path / "fs9").exists()
    verdicts = json.loads((tmp_path / "fs" / "clusters.json").read_text())
    assert verdicts["thresholds"] == {"smallest": 8, "max_spread": 65.0, "min_distance": 30.0}
    assert "665" in verdicts["note"]
    assert [each["verdict"] for each in verdicts["clusters"]].count("too spread") == 3
    assert "removed too spread" in answer.text


def test_strokes_without_keys_are_built_and_listed_too(tmp_path):
    """Simplified files that others copied have no key_id; the same line twice is one drawing."""
    for k, text in enumerate(words(3)):
        unkeyed = [json.dumps({name: json.loads(line)[name] for name in ("word", "drawing")}) for line in text]
        write(tmp_path / "in" / f"word{k}.ndjson", [unkeyed[0], *unkeyed])
    found = cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    assert (found.size.sum(axis=1) == 43).all()  # the first 44 of 45 lines, of which two are the same
    built = build_data(tmp_path / "fs", found, BUILD)
    with np.load(built.folder / "concepts.npz") as listed:
        assert listed["key"].shape == (len(built.kept), 6)
        assert all(str(key).startswith("unkeyed-") for key in listed["key"].ravel())


# mistakes

MISTAKES: list[tuple[dict[str, list[str]], dict[str, Any], str]] = [
    ({}, {}, r"has no strokes of Quick, Draw!: put its \.ndjson"),
    ({"word0.ndjson": []}, {}, "word0.ndjson holds no drawings: fetch it again"),
    ({"word0.ndjson": [*words(1)[0], '{"word": "word0", "key_']}, {}, "line 45 of .* is not JSON, or is cut off"),
    ({"many.ndjson": [*words(1)[0], '{"word": "word0", "key_']}, {}, "line 45 of .* is no drawing, or is cut off"),
    ({"word0.ndjson": [*words(1)[0], *words(2)[1]]}, {}, "holds drawings of word0 and word1: give it another name"),
    ({"word0.ndjson": words(1)[0], "full_raw_word0.ndjson": words(1)[0]}, {}, "word0 is in two files"),
    ({"word0.ndjson": [*words(1)[0], words(1)[0][3]]}, {}, "has drawing 3 of word0 twice"),
    ({"word0.ndjson": words(1)[0]}, {"form": "photos"}, "there is no form of Quick, Draw! drawings 'photos'"),
    ({"word0.ndjson": words(1)[0]}, {"form": "bitmaps"}, "has no bitmaps of Quick, Draw!"),
    (
        {"word0.ndjson": words(1)[0]},
        {"space": "simclr-quickdraw-clusters-s9"},
        "there is no space 'simclr-quickdraw-clusters-s9'",
    ),
]


@pytest.mark.parametrize(("files", "settings_", "sentence"), MISTAKES)
def test_a_mistake_in_the_files_is_one_sentence(files, settings_, sentence, tmp_path):
    (tmp_path / "in").mkdir()
    for name, text in files.items():
        write(tmp_path / "in" / name, text)
    config = ClusterConfig(**{"form": "strokes", "n_set_aside": 0, "n_clusters": 3, **settings_})
    with pytest.raises(UserError, match=sentence) as said:
        cluster_folder(tmp_path / "c", tmp_path / "in", config, backend=engine.Here())
    assert "\n" not in str(said.value)
    assert not (tmp_path / "c").exists()  # nothing was done that could be gone on with


def test_too_few_drawings_are_a_cluster_that_is_too_small(drawings, tmp_path):
    import exemplar as ex

    folder = tmp_path / "in"
    folder.mkdir()
    for path in drawings.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    write(folder / "few.ndjson", lines("few", [ring] * 2, first_key=7))
    found = cluster_folder(tmp_path / "c", folder, SMALL, backend=engine.Here())
    assert found.words[0] == "few" and found.size[0].tolist() == [2, 0, 0]
    built = build_data(tmp_path / "fs", found, BUILD)
    assert built.verdict.tolist() == [[TOO_SMALL, NONE, NONE], *[[KEPT, KEPT, TOO_SPREAD]] * 3]
    shown = [label for rows in sheet_rows(built) for label in rows.labels]
    assert (
        len(shown) == sum(built.counts().values()) == 10
        and sum(label.startswith("few-1  ·  2 drawings") for label in shown) == 1
    )
    asked = {"smallest": 8, "variations": 5, "max_spread": "65", "min_distance": "30"}
    answer = ex.draw.build_quickdraw(tmp_path / "c", tmp_path / "said", **asked)
    assert answer.json()["too_few"] == ["few"] and "too few drawings for a concept: few" in answer.text
    with pytest.raises(UserError, match="there is no cluster 'few-2'"):
        build_data(tmp_path / "fs2", found, replace(BUILD, drop=("few-2",)))


def test_a_cluster_all_of_whose_drawings_are_in_two_categories_is_too_small(tmp_path):
    for k, text in enumerate(words(2)):
        write(tmp_path / "in" / f"word{k}.ndjson", text)
    again = [line.replace('"word0"', '"again"').replace('"key_id": "', '"key_id": "9') for line in words(1)[0][:2]]
    write(tmp_path / "in" / "again.ndjson", again)
    found = cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    built = build_data(tmp_path / "fs", found, BUILD)
    assert found.size[0].tolist() == [2, 0, 0] and built.size[:, 0].tolist() == [0, 18, 20]
    assert built.verdict[0].tolist() == [TOO_SMALL, NONE, NONE]  # it is there, and the sheet shows it


def test_what_is_set_aside_is_a_fifth_of_what_there_is_at_least(tmp_path):
    write(tmp_path / "in" / "word0.ndjson", words(1)[0])
    for most, clustered, first, n in ((43, 44, 8, 36), (5, 44, 5, 39), (43, 30, 14, 30), (0, 44, 0, 44)):
        config = ClusterConfig("strokes", n_set_aside=most, n_clustered=clustered, n_clusters=2)
        found = cluster_folder(tmp_path / f"{most}-{clustered}", tmp_path / "in", config, backend=engine.Here())
        assert next(found.parts()).key.tolist() == [str(key) for key in range(first, first + n)]


def test_what_was_dealt_does_not_keep_a_refused_run(tmp_path):
    many = [line for text in words(2) for line in text]
    write(tmp_path / "in" / "many.ndjson", many)
    write(tmp_path / "in" / "word0.ndjson", words(1)[0])
    with pytest.raises(UserError, match="word0 is in two files"):
        cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    assert not (tmp_path / "c").exists()
    (tmp_path / "in" / "word0.ndjson").unlink()
    assert cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here()).words == ("word0", "word1")


def test_a_build_from_a_cut_file_leaves_nothing(drawings, tmp_path):
    found = cluster_folder(tmp_path / "c", drawings, SMALL, backend=engine.Here())
    file = tmp_path / "c" / "categories" / "word2.npz"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="word2.npz cannot be read"):
        build_data(tmp_path / "new" / "fs", found, BUILD)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_place_that_will_not_do_is_said_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr("exemplar.images.sources.obtain", lambda *_: pytest.fail("fetched"))
    (tmp_path / "taken").write_text("mine")
    import exemplar as ex

    with pytest.raises(UserError, match="is a file: give --out a folder"):
        ex.draw.cluster_quickdraw(tmp_path / "taken")


@pytest.mark.parametrize(
    ("array", "cut", "sentence"),
    [
        (np.zeros((99, 784), np.uint8), 100, "word0.npy cannot be read as bitmaps"),
        (np.zeros((99, 100), np.uint8), 0, r"word0.npy must be \(n, 784\) uint8, it is .99, 100."),
        (np.zeros((99, 784), np.float32), 0, "word0 must be 28 px bitmaps, uint8, it is .* float32"),
        (np.zeros((0, 784), np.uint8), 0, "has no drawings"),
    ],
)
def test_bitmaps_that_will_not_do_are_one_sentence(array, cut, sentence, tmp_path):
    path = tmp_path / "in" / "word0.npy"
    path.parent.mkdir()
    np.save(path, array)
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    config = ClusterConfig("bitmaps", n_set_aside=5)
    with pytest.raises(UserError, match=sentence) as said:
        cluster_folder(tmp_path / "c", tmp_path / "in", config, backend=engine.Here())
    assert "\n" not in str(said.value) and not (tmp_path / "c").exists()


def test_equal_drawings_are_one(tmp_path):
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "word0.npy", np.zeros((99, 784), np.uint8))
    almost = np.zeros((3, 28, 28), np.uint8)
    almost[:, 5:9, 5:9] = 255
    almost[1:, 20, 20] = 1, 2  # other bitmaps, the same at 48 px, binarised
    np.save(tmp_path / "in" / "word1.npy", almost.reshape(3, 784))
    found = cluster_folder(tmp_path / "c", tmp_path / "in", ClusterConfig("bitmaps", n_set_aside=5))
    assert found.size[:, 0].tolist() == [1, 1] and not found.size[:, 1:].any()


def test_a_truncated_file_is_one_sentence_and_the_others_are_kept(tmp_path):
    for k, text in enumerate(words(3)):
        write(tmp_path / "in" / f"word{k}.ndjson.gz", text)
    bad = tmp_path / "in" / "word1.ndjson.gz"
    whole = bad.read_bytes()
    bad.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="word1.ndjson.gz cannot be read as drawings .*: make or fetch it again"):
        cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    done = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("c/categories/*")}
    assert sorted(done) == ["word0.npz", "word2.npz"]
    bad.write_bytes(whole)  # fetched again, only what was missing is done
    mended = cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())
    assert mended.words == ("word0", "word1", "word2")
    assert all((tmp_path / "c" / "categories" / name).stat().st_mtime_ns == when for name, when in done.items())
    write(bad, words(3)[1][:-1])
    with pytest.raises(UserError, match="have changed since .* was finished: give --out another folder"):
        cluster_folder(tmp_path / "c", tmp_path / "in", SMALL, backend=engine.Here())


def test_thresholds_that_leave_nothing_are_one_sentence(clusters, tmp_path):
    for filters, why in (
        (Filters(99, 120.0, 50.0), "leave 0 of 9 clusters .too small 9,"),
        (Filters(8, 1.0, 50.0), "leave 0 of 9 clusters .*too spread 9,"),
        (Filters(99, None, None), "leave 0 of 9 clusters .too small 9,"),
    ):
        with pytest.raises(UserError, match=why):
            build_data(tmp_path / "fs", clusters, BuildConfig(filters, n_variations=5))
    assert not (tmp_path / "fs").exists()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Filters(max_spread=0.0), "a spread of 0.0 cannot be a threshold"),
        (lambda: Filters(min_distance=float("nan")), "a distance of nan cannot be a threshold"),
        (lambda: Filters(smallest=0), "a cluster of 0 drawings"),
        (
            lambda: BuildConfig(n_variations=501),
            "exemplar and 501 variations are more than the smallest cluster may have",
        ),
        (lambda: BuildConfig(n_variations=0), "at least 1 drawing besides its exemplar, got 0"),
        (lambda: BuildConfig(train_share=1.0), "The share of concepts for training must lie between 0 and 1, got 1.0"),
        (lambda: ClusterConfig(n_clusters=1), "n_clusters cannot be 1: give at least 2"),
        (lambda: ClusterConfig(n_set_aside=-1), "-1 drawings cannot be set aside"),
        (lambda: ClusterConfig(threshold=1.0), "the threshold 1.0 must lie between 0 and 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


def test_a_cluster_that_is_not_there_cannot_be_dropped(clusters, tmp_path):
    with pytest.raises(UserError, match="there is no cluster 'word0-9'"):
        build_data(tmp_path / "fs", clusters, BuildConfig(FILTERS, 5, drop=("word0-9",)))
    with pytest.raises(UserError, match="holds a run of draw quickdraw-fs build, not of draw quickdraw-fs cluster"):
        load_clusters(build_data(tmp_path / "fs", clusters, BUILD).folder)


def test_real_bitmaps_become_a_data_set(real_data, tmp_path):
    config = ClusterConfig("bitmaps", n_set_aside=100, n_clustered=100)
    found = cluster_folder(tmp_path / "c", real_data("quickdraw"), config, backend=engine.Here())
    assert len(found.words) >= 6 and (found.size.sum(axis=1) == 100).all()
    built = build_data(tmp_path / "fs", found, BuildConfig(Filters(10, None, None), 9))
    assert (
        load(str(built.file("train"))).n_concepts + load(str(built.file("test"))).n_concepts == built.counts()["kept"]
    )


def test_a_split_whose_exemplars_are_not_its_own_is_refused(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BuildConfig(Filters(5, 1e9, 1e-9), n_variations=4))
    path = built.file("train")
    with np.load(path) as kept:
        arrays = dict(kept)
    for wrong in (arrays["exemplar"] + len(arrays["images"]), arrays["exemplar"] * 0, arrays["exemplar"][1:]):
        np.savez(path, **arrays | {"exemplar": wrong})
        with pytest.raises(UserError, match="exemplars must be 7 rows, one image of each concept"):
            load(str(path))
    np.savez(path, **arrays)
    (tmp_path / "fs" / "clusters.json").unlink()  # a data set like any other: it needs nothing beside it
    assert load(str(path)).exemplars is not None


# clusters divided again


DIVIDE = DivideConfig(each=8, smallest=3, share=0.5)


def parts_of(folder: Path) -> dict[str, list[str]]:
    """Name → keys, as listed."""
    with np.load(folder / "parts.npz") as stored:
        keys = np.split(stored["key"], np.cumsum(stored["size"])[:-1])
        return {str(name): list(key) for name, key in zip(stored["name"], keys, strict=True)}


def test_clusters_of_no_test_set_are_divided_and_the_outermost_drawings_left_out(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BUILD)
    answer = divide_clusters(tmp_path / "parts", clusters, built.folder, DIVIDE, backend=engine.Here())
    parts, test = parts_of(tmp_path / "parts"), {*load(str(built.file("test"))).concepts}
    tested = {f"word{k}" for k in range(3) if in_category_test(f"word{k}")}
    from_clusters = {name.partition("/")[0] for name in parts}
    assert from_clusters.isdisjoint(test) and {name.rpartition("-")[0] for name in from_clusters}.isdisjoint(tested)
    assert answer["parts"] == len(parts) > len(from_clusters) and answer["drawings"] == sum(map(len, parts.values()))
    space = load_space(SPACE)
    for word in clusters.parts():
        features = space.encode(word.drawings.take(np.arange(44)), device="cpu")
        row = {key: place for place, key in enumerate(word.key)}
        for name, keys in parts.items():
            if name.startswith(word.word + "-"):
                number = int(name.partition("/")[0].rpartition("-")[2]) - 1
                assert {int(word.cluster[row[key]]) for key in keys} == {number}  # all of one cluster
                assert len(keys) == len(set(keys)) >= DIVIDE.smallest
                own = features[[row[key] for key in keys]].mean(axis=0)
                others = [features[[row[key] for key in them]].mean(axis=0) for other, them in parts.items()
                          if other != name and other.startswith(f"{word.word}-{number + 1}/")]  # fmt: skip
                for key in keys:  # nearer to their own part's centre than to another's
                    assert all(
                        np.linalg.norm(features[row[key]] - own) < np.linalg.norm(features[row[key]] - far)
                        for far in others
                    )
    data = load(str(tmp_path / "parts" / "quickdraw-fs-parts.npz"))
    assert list(data.concepts) == sorted(parts) and data.family == "quickdraw" and data.shape == (48, 48)
    assert [data.maker[place] for place in data.rows(data.concepts[0])] == parts[data.concepts[0]]


@pytest.mark.long
def test_dividing_ends_with_the_same_bytes_with_one_worker_and_two(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BUILD).folder
    for name, backend in (("one", engine.Here()), ("two", engine.Pool(2))):
        divide_clusters(tmp_path / name, clusters, built, DIVIDE, backend=backend)
    one, two = (bytes_below(tmp_path / name) for name in ("one", "two"))
    assert one["parts.npz"] == two["parts.npz"] and one["quickdraw-fs-parts.npz"] == two["quickdraw-fs-parts.npz"]


def test_what_cannot_be_divided_is_refused(clusters, tmp_path):
    with pytest.raises(
        UserError, match="has no concepts.npz: give the folder that `exemplar draw quickdraw-fs build` wrote"
    ):
        divide_clusters(tmp_path / "parts", clusters, tmp_path)
    assert not (tmp_path / "parts").exists()
    for wrong, sentence in (
        ({"share": 0.0}, "above 0 and at most 1, got 0.0"),
        ({"smallest": 9}, "between 1 and 8 drawings, got 9"),
    ):
        with pytest.raises(UserError, match=sentence):
            replace(DIVIDE, **wrong)


# the space that concepts are clustered in


def test_the_space_is_trained_on_what_is_set_aside_and_clusters(drawings, tmp_path):
    import exemplar as ex

    for k in range(3):
        text = lines(f"word{k}", [ring, square] * 125, first_key=1000 * k)
        write(tmp_path / "in" / f"word{k}.ndjson", text)
    asked = {"form": "strokes", "most": 45, "steps": 1, "device": "cpu"}
    answer = ex.draw.train_quickdraw(tmp_path / "spaces", tmp_path / "in", **asked).json()
    assert (answer["categories"], answer["drawings"], answer["steps"]) == (3, 135, 1)  # 45 of 50, a fifth of 250
    card = load_space(answer["space"]).card
    assert card.concepts == ("word0", "word1", "word2")
    config = replace(SMALL, space=answer["space"])
    assert cluster_folder(tmp_path / "c", drawings, config, backend=engine.Here()).space == answer["space"]


@pytest.mark.parametrize("form", ["strokes", "bitmaps"])
def test_drawings_to_train_on_are_none_that_are_clustered(form, drawings, tmp_path):
    folder = drawings
    if form == "bitmaps":
        folder = tmp_path / "bitmaps"
        folder.mkdir()
        for k in range(3):
            images = as_bitmaps([ring] * 20 + [square] * 16 + [junk] * 8, tmp_path / f"s{k}", f"word{k}", 1000 * k)
            np.save(folder / f"word{k}.npy", images.reshape(-1, 784))
    aside = gather_aside(folder, form, most=100)
    assert aside.names == ("word0", "word1", "word2") and len(aside.pixels) == 3 * 8  # a fifth of 44
    found = cluster_folder(tmp_path / "c", folder, ClusterConfig(form), backend=engine.Here())
    clustered = {row.tobytes() for parted in found.parts() for row in parted.drawings.bits}
    assert 3 * 36 - 2 <= len(clustered) <= 3 * 36  # two bitmaps may be one drawing at 48 px
    data = load_quickdraw(drawings, size=28 if form == "bitmaps" else 48).resized(48, binarise=0.3)
    every = {np.packbits(image > 0).tobytes() for image in data.images}
    trained_on = {np.packbits(image > 0).tobytes() for image in aside.pixels.numpy()}
    assert clustered.isdisjoint(trained_on) and clustered | trained_on == every
    few = gather_aside(folder, form, most=3)
    assert len(few.pixels) == 9


def test_nothing_set_aside_is_nothing_to_train_on(tmp_path):
    write(tmp_path / "word0.ndjson", lines("word0", [ring] * 4))
    with pytest.raises(UserError, match="has too few drawings to set any aside: add drawings"):
        gather_aside(tmp_path, "strokes", most=5)
