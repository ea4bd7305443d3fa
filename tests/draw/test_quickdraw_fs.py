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
    Filters,
    apply_filters,
    build_data,
    cluster_folder,
    fit_filters,
    load_clusters,
)
from exemplar.draw.quickdraw_fs.filters import BY_HAND, KEPT, TOO_CLOSE, TOO_SMALL, TOO_SPREAD, rivals
from exemplar.draw.quickdraw_fs.kmeans import fit_clusters
from exemplar.draw.quickdraw_fs.sheet import sheet_rows
from exemplar.draw.quickdraw_fs.sources import Category, read_category
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.quickdraw import load_quickdraw
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


def test_fitted_thresholds_have_the_effect_the_paper_reports_in_any_unit():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(200, 6, 8))
    between = np.linalg.norm(centre[:, :, None] - centre[:, None], axis=3) + np.diag(np.full(6, np.inf))
    size, spread = rng.integers(100, 1000, size=(200, 6)), rng.gamma(9, size=(200, 6))
    asked = Filters(200, None, None)
    fitted = fit_filters(size, spread, between, asked)
    verdict = apply_filters(size, spread, between, fitted)
    assert (verdict == TOO_SPREAD).sum() == (size >= 200).sum() // 100
    assert abs((verdict == KEPT).mean() - 665 / 2070) < 0.005
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
        assert data.counts.tolist() == [6, 6, 6] and data.shape == (48, 48)
        assert set(np.unique(data.images)) == {0, 255}
        assert all(name.rpartition("-")[0] == data.group[row] for row, name in enumerate(np.repeat(data.concepts, 6)))
        names += data.concepts
        task = load_task(built.file(split))
        assert task.n == 5 and task.data.name == f"quickdraw/fs-{split}" and "simclr-quickdraw-s0" in task.chosen_by
        assert [task.data.concept[row] for row in task.exemplar] == list(task.concepts)
    assert sorted(names) == sorted(f"word{k}-{c}" for k in range(3) for c in (1, 2))
    space = load_space("simclr-quickdraw-s0")
    for parted in clusters.parts():  # of all drawings of a cluster, not only of those kept
        features = space.encode(parted.drawings.take(np.arange(44)), device="cpu")
        assert parted.exemplar.tolist() == central_exemplars(features, parted.cluster).tolist()


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


def test_bitmaps_in_either_form_give_the_same_clusters(tmp_path):
    rng = np.random.default_rng(0)
    shapes = {"word0": [ring] * 9 + [square] * 8 + [junk] * 7}
    for word, several in shapes.items():
        write(tmp_path / "s" / f"{word}.ndjson", lines(word, several))
    images = load_quickdraw(tmp_path / "s", size=28).images[rng.permutation(24)]
    (tmp_path / "npy").mkdir()
    (tmp_path / "npz").mkdir()
    np.save(tmp_path / "npy" / "full_numpy_bitmap_word0.npy", images.reshape(24, 784))
    np.savez(tmp_path / "npz" / "some.npz", word0=images)
    config = ClusterConfig("bitmaps", n_set_aside=4, n_clustered=18, n_clusters=2)
    found = [cluster_folder(tmp_path / f"c{k}", tmp_path / k, config, backend=engine.Here()) for k in ("npy", "npz")]
    one, other = (next(each.parts()) for each in found)
    assert np.array_equal(one.drawings.bits, other.drawings.bits) and len(one.drawings) == 18
    assert np.array_equal(found[0].between, found[1].between)
    wanted = Category.of("word0", tmp_path / "npz" / "some.npz", "bitmaps")
    assert np.array_equal(one.drawings.bits, read_category(wanted, 4, 22, size=48, threshold=0.3)[0].bits)


def test_the_sheet_shows_every_cluster_once_with_its_reason(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BuildConfig(FILTERS, 6, drop=("word1-2",)))
    rows = list(sheet_rows(built, clusters, most=4))
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
    whole = build_data(tmp_path / "fs-one", cluster_folder(one, tmp_path / "in", SMALL, backend=engine.Here()), BUILD)

    code = (
        "import sys; from pathlib import Path; from exemplar import engine\n"
        "from exemplar.draw.quickdraw_fs import ClusterConfig, cluster_folder\n"
        "cluster_folder(sys.argv[1], Path(sys.argv[2]), ClusterConfig(n_set_aside=0, n_clusters=3), backend=engine.Here())\n"
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
    cluster_folder(two, tmp_path / "in", SMALL, backend=engine.Pool(2))
    again = {path.name: path.stat().st_mtime_ns for path in two.glob("categories/[!.]*.npz")}
    assert sum(again[name] == when for name, when in done.items()) >= len(done) - 1  # at most what it was at
    assert bytes_below(two) == bytes_below(one)
    assert describe_run(two)["provenance"]["sessions_killed"] == 1
    assert bytes_below(build_data(tmp_path / "fs-two", load_clusters(two), BUILD).folder) == bytes_below(whole.folder)


def test_a_finished_run_is_read_not_made_again(clusters, drawings):
    def refuse(*_: Any) -> Any:
        raise AssertionError("nothing is left to do")

    nobody: Any = type("Nobody", (), {"compute": refuse})()
    assert np.array_equal(cluster_folder(clusters.folder, drawings, SMALL, backend=nobody).between, clusters.between)
    with pytest.raises(UserError, match="holds another run"):
        cluster_folder(clusters.folder, drawings, ClusterConfig(n_set_aside=1, n_clusters=3))


def test_another_seed_splits_and_samples_otherwise(clusters, tmp_path):
    splits = [build_data(tmp_path / f"s{seed}", clusters, BUILD, seed=seed).split.tolist() for seed in range(6)]
    assert len({str(split) for split in splits}) > 1
    assert all(sum(row.count("train") for row in split) == 3 for split in splits)


# the verbs


def test_the_verbs_build_and_answer(drawings, tmp_path):
    import exemplar as ex

    about = ex.draw.cluster_quickdraw(tmp_path / "c", drawings, set_aside=0, clusters=3, engine="here")
    assert (about["categories"], about["drawings"], about["clusters"]) == (3, 132, 9)
    asked = {"smallest": 8, "each": 6, "max_spread": "120", "min_distance": "50", "drop": ["word1-1"]}
    answer = ex.draw.build_quickdraw(tmp_path / "c", tmp_path / "fs", **asked)
    built = answer.json()
    assert built["clusters"] == {
        "clusters_kept": 5,
        "removed_too_small": 0,
        "removed_too_spread": 3,
        "removed_too_close": 0,
        "removed_by_hand": 1,
    }
    assert built["concepts"] == {"train": 4, "test": 1}  # 5 × 550 / 665 = 4.1
    assert built["scores"]["removed_too_spread"]["value"] == pytest.approx(1 / 3)
    assert built["scores"]["removed_too_spread"]["n"] == 9
    assert "full public files" in built["note"] and built["fitted"] == []
    page = Path(built["sheet"]).read_text(encoding="utf-8")
    assert "Too spread: 3" in page and "By hand: 1" in page and "http" not in page
    verdicts = json.loads((tmp_path / "fs" / "clusters.json").read_text())
    assert verdicts["thresholds"] == {"smallest": 8, "max_spread": 120.0, "min_distance": 50.0}
    assert "665" in verdicts["note"]
    assert [each["verdict"] for each in verdicts["clusters"]].count("too spread") == 3
    assert "removed too spread" in answer.text


# mistakes

MISTAKES: list[tuple[dict[str, list[str]], dict[str, Any], str]] = [
    ({}, {}, r"has no strokes of Quick, Draw!: put its \.ndjson"),
    ({"word0.ndjson": []}, {}, "word0.ndjson holds no drawings: fetch it again"),
    ({"word0.ndjson": lines("word0", [ring] * 2)}, {}, "word0 has 2 drawings, too few for 3 clusters"),
    ({"word0.ndjson": words(1)[0]}, {"n_set_aside": 43}, "word0 has 1 drawings besides the 43 set aside, too few"),
    ({"word0.ndjson": [*words(1)[0], '{"word": "word0", "key_']}, {}, "line 45 of .* is not JSON, or is cut off"),
    ({"many.ndjson": [*words(1)[0], '{"word": "word0", "key_']}, {}, "line 45 of .* is no drawing, or is cut off"),
    ({"word0.ndjson": [*words(1)[0], *words(2)[1]]}, {}, "holds drawings of word0 and word1: give it another name"),
    ({"word0.ndjson": words(1)[0], "full_raw_word0.ndjson": words(1)[0]}, {}, "word0 is in two files"),
    ({"word0.ndjson": [*words(1)[0], words(1)[0][3]]}, {}, "has drawing 3 of word0 twice"),
    ({"word0.ndjson": words(1)[0]}, {"form": "photos"}, "there is no form of Quick, Draw! drawings 'photos'"),
    ({"word0.ndjson": words(1)[0]}, {"form": "bitmaps"}, "has no bitmaps of Quick, Draw!"),
    ({"word0.ndjson": words(1)[0]}, {"space": "simclr-quickdraw-s9"}, "there is no space 'simclr-quickdraw-s9'"),
]


@pytest.mark.parametrize(("files", "settings_", "sentence"), MISTAKES)
def test_a_mistake_in_the_files_is_one_sentence(files, settings_, sentence, tmp_path):
    (tmp_path / "in").mkdir()
    for name, text in files.items():
        write(tmp_path / "in" / name, text)
    config = ClusterConfig(**{"n_set_aside": 0, "n_clusters": 3, **settings_})
    with pytest.raises(UserError, match=sentence) as said:
        cluster_folder(tmp_path / "c", tmp_path / "in", config, backend=engine.Here())
    assert "\n" not in str(said.value)
    assert not (tmp_path / "c").exists()  # nothing was done that could be gone on with


def test_what_was_dealt_does_not_keep_a_refused_run(tmp_path):
    write(tmp_path / "in" / "many.ndjson", [line for text in words(2) for line in text])
    with pytest.raises(UserError, match="too few for 3 clusters"):
        cluster_folder(
            tmp_path / "c", tmp_path / "in", ClusterConfig(n_set_aside=43, n_clusters=3), backend=engine.Here()
        )
    assert not (tmp_path / "c").exists()
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
        (np.zeros((9, 784), np.uint8), 0, "word0 has 4 drawings besides the 5 set aside, too few for 6 clusters"),
        (np.zeros((99, 784), np.uint8), 0, "word0: 94 drawings, of which 1 differ, cannot make 6 clusters"),
        (np.zeros((99, 784), np.uint8), 100, "word0.npy cannot be read as bitmaps"),
        (np.zeros((99, 100), np.uint8), 0, "word0 must be 28 px bitmaps, uint8, it is .99, 100. uint8"),
        (np.zeros((99, 784), np.float32), 0, "word0 must be 28 px bitmaps, uint8, it is .* float32"),
        (np.zeros((3, 784), np.uint8), 0, "word0 has 0 drawings besides the 5 set aside"),
    ],
)
def test_bitmaps_that_will_not_do_are_one_sentence(array, cut, sentence, tmp_path):
    path = tmp_path / "in" / "word0.npy"
    path.parent.mkdir()
    np.save(path, array)
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    config = ClusterConfig("bitmaps", n_set_aside=5)
    with pytest.raises(UserError, match=sentence):
        cluster_folder(tmp_path / "c", tmp_path / "in", config, backend=engine.Here())


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
            build_data(tmp_path / "fs", clusters, BuildConfig(filters, n_drawings=6))
    assert not (tmp_path / "fs").exists()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Filters(max_spread=0.0), "a spread of 0.0 cannot be a threshold"),
        (lambda: Filters(min_distance=float("nan")), "a distance of nan cannot be a threshold"),
        (lambda: Filters(smallest=0), "a cluster of 0 drawings"),
        (lambda: BuildConfig(n_drawings=501), "501 drawings per concept are more than the smallest cluster may have"),
        (lambda: BuildConfig(n_drawings=1), "1 drawings per concept are too few"),
        (lambda: BuildConfig(train_share=1.0), "a share of 1.0 for training"),
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
        build_data(tmp_path / "fs", clusters, BuildConfig(FILTERS, 6, drop=("word0-9",)))
    with pytest.raises(UserError, match="holds a run of draw quickdraw-fs build, not of draw quickdraw-fs cluster"):
        load_clusters(build_data(tmp_path / "fs", clusters, BUILD).folder)


def test_real_bitmaps_become_a_data_set(real_data, tmp_path):
    config = ClusterConfig("bitmaps", n_set_aside=100, n_clustered=100)
    found = cluster_folder(tmp_path / "c", real_data("quickdraw"), config, backend=engine.Here())
    assert len(found.words) >= 6 and (found.size.sum(axis=1) == 100).all()
    built = build_data(tmp_path / "fs", found, BuildConfig(Filters(10, None, None), 10))
    assert (
        load(str(built.file("train"))).n_concepts + load(str(built.file("test"))).n_concepts == built.counts()["kept"]
    )


def test_a_split_whose_exemplars_are_not_its_own_is_refused(clusters, tmp_path):
    built = build_data(tmp_path / "fs", clusters, BuildConfig(Filters(5, 1e9, 1e-9), n_drawings=5))
    path = built.file("train")
    with np.load(path) as kept:
        arrays = dict(kept)
    np.savez(path, **arrays | {"exemplar": arrays["exemplar"] + len(arrays["images"])})
    with pytest.raises(UserError, match="exemplars do not belong to the concepts"):
        load_task(path)
    np.savez(path, **arrays)
    (tmp_path / "fs" / "clusters.json").write_text("{}")
    with pytest.raises(UserError, match="names no space: build the data again"):
        load_task(path)
