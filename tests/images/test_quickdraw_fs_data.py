"""QuickDraw-FS by name: found by hash in any file, bit for bit what was built, and splits that share nothing they must not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import engine
from exemplar.draw.quickdraw_fs import BuildConfig, Built, ClusterConfig, Filters, build_data, cluster_folder
from exemplar.errors import UserError
from exemplar.images import quickdraw_fs
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.lists import read_list
from exemplar.images.pixels import Plain
from exemplar.images.quickdraw import in_test
from exemplar.images.quickdraw_bitmaps import bitmap_hashes, load_quickdraw_bitmaps
from exemplar.images.quickdraw_fs import (
    SPLITS,
    ConceptList,
    PartList,
    at_full_size,
    count_aside,
    in_category_test,
    load_quickdraw_fs,
    read_concepts,
    read_parts,
)
from exemplar.images.quickdraw_others import draw_others, widen
from exemplar.results.kept import load_kept

REAL = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "quickdraw_large"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="EXEMPLAR_DATA has no quickdraw_large")
VAL = next(word for word in read_list("quickdraw_val") if not in_category_test(word))
TESTED = next(word for word in ("cat", "eye", "flower", "tree") if in_category_test(word))
PLAIN = ("apple", "octagon")
NEW = next(word for word in ("ant", "axe", "belt", "bus") if not in_category_test(word))  # has no concept
WORDS = (*PLAIN, TESTED, VAL)
OCTAGONS = (2, 9, 4, 10, 1)  # of octagon-1
MIXED = ("critics", "critics-parts", "aside")  # with whole categories
FIELDS = ("concept", "category", "published", "by_category", "key")


def bitmaps(n: int, seed: int) -> np.ndarray:
    """(n, 28, 28) uint8: frames of many sizes, in many places, with levels between paper and ink."""
    rng, images = np.random.default_rng(seed), np.zeros((n, 28, 28), np.uint8)
    for image in images:
        top, left, height, width = (*rng.integers(1, 10, 2), *rng.integers(6, 16, 2))
        image[top : top + height, left : left + width] = rng.integers(150, 256, (height, width))
        image[top + 2 : top + height - 2, left + 2 : left + width - 2] = 0
    assert len(set(bitmap_hashes(images).tolist())) == n
    return images


def official(folder: Path, categories: dict[str, np.ndarray]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for word, images in categories.items():
        np.save(folder / f"{word}.npy", images.reshape(-1, 784))
    return folder


def strokes(path: Path, words: tuple[str, ...], n: int = 3) -> Path:
    """Squiggles, each another one."""
    rng = np.random.default_rng(0)
    about = {"countrycode": "FR", "timestamp": "2017-03-11", "recognized": True}
    text = [
        json.dumps({"word": word, "key_id": f"{place}{k}", **about, "drawing": [rng.uniform(0, 255, (2, 9)).tolist()]})
        for place, word in enumerate(words)
        for k in range(n)
    ]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


def refused(read: Callable[[], Any]) -> str:
    with pytest.raises(UserError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def drawings() -> dict[str, np.ndarray]:
    return {word: bitmaps(12, seed) for seed, word in enumerate(WORDS)}


@pytest.fixture
def listed(drawings: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> ConceptList:
    """A list of two concepts of five drawings per category; the other two drawings are in none. One concept is divided."""
    rows = [(word, part) for word in WORDS for part in (0, 1)]
    key = np.stack(
        [bitmap_hashes(drawings[word])[[7, 0, 11, 3, 5] if part else [2, 9, 4, 10, 1]] for word, part in rows]
    )
    concepts = ConceptList(
        concept=np.array([f"{word}-{part + 1}" for word, part in rows]),
        category=np.array([word for word, _ in rows]),
        published=np.array(["train", "test", "train", "val", "train", "test", "train", "val"]),
        by_category=np.repeat(["train", "train", "test", "val"], 2),
        key=key,
    )
    monkeypatch.setattr(quickdraw_fs, "read_concepts", lambda: concepts)
    divided = bitmap_hashes(drawings["octagon"])[list(OCTAGONS)]
    parts = PartList(np.array(["octagon-1/1", "octagon-1/2"]), np.array(["octagon"] * 2), np.array([3, 2]), divided)
    monkeypatch.setattr(quickdraw_fs, "read_parts", lambda: parts)
    return concepts


def as_they_are(drawings: dict[str, np.ndarray], concepts: ConceptList, wanted: np.ndarray) -> np.ndarray:
    """(n, 48, 48): what a list names, looked up one by one."""
    found = []
    for word, key in zip(concepts.category[wanted], concepts.key[wanted], strict=True):
        hashes = bitmap_hashes(drawings[word]).tolist()
        found += [drawings[word][hashes.index(one)] for one in key]
    return ConceptSet.of("those", np.stack(found), ["x"] * len(found)).resized(48, binarise=0.3).images


def test_the_parts_that_ship_share_no_drawing_and_no_category_with_what_is_tested() -> None:
    concepts, parts = read_concepts(), read_parts()
    assert len(parts.name) == len(set(parts.name.tolist())) == len(parts.size) and parts.size.sum() == len(parts.key)
    assert len(np.unique(parts.key)) == len(parts.key)  # each drawing is in one part
    assert parts.size.min() >= 60
    for split in ("test", "category-test"):
        tested = concepts.members(split)
        assert not np.isin(parts.key, concepts.key[tested]).any()
        assert {name.partition("/")[0] for name in parts.name.tolist()}.isdisjoint(concepts.concept[tested].tolist())
    assert not any(in_category_test(word) for word in parts.category.tolist())
    assert all(
        name.startswith(f"{word}-") for name, word in zip(parts.name.tolist(), parts.category.tolist(), strict=True)
    )


def test_divided_clusters_are_found_by_hash_with_whole_categories_beside_them(
    tmp_path: Path, drawings: dict[str, np.ndarray], listed: ConceptList
) -> None:
    strokes(official(tmp_path / "all", drawings) / "more.ndjson", (NEW, "octagon"))
    data = load_quickdraw_fs(tmp_path / "all", "critics-parts")
    assert set(data.concepts) == {"octagon-1/1", "octagon-1/2", NEW}
    expected = ConceptSet.of("x", drawings["octagon"][list(OCTAGONS)], ["x"] * 5).resized(48, binarise=0.3).images
    assert np.array_equal(data.take(np.concatenate([data.rows("octagon-1/1"), data.rows("octagon-1/2")])), expected)
    kept = np.delete(drawings["octagon"], OCTAGONS[0], axis=0)
    fewer = official(tmp_path / "fewer", {**drawings, "octagon": kept})
    said = refused(lambda: load_quickdraw_fs(fewer, "critics-parts"))
    assert "lacks drawings of 1 concepts of QuickDraw-FS (octagon-1/1)" in said


# found by hash


def test_the_list_names_drawings_wherever_they_are(
    tmp_path: Path, drawings: dict[str, np.ndarray], listed: ConceptList
) -> None:
    one = official(tmp_path / "official", drawings)
    rng = np.random.default_rng(0)
    shuffled = official(tmp_path / "shuffled", {word: images[rng.permutation(12)] for word, images in drawings.items()})
    more = {word: np.concatenate([bitmaps(30, 9 + k), images]) for k, (word, images) in enumerate(drawings.items())}
    official(tmp_path / "more", more | {"other": bitmaps(3, 99)})
    (tmp_path / "npz").mkdir()
    np.savez(tmp_path / "npz" / "any name.npz", **{word: images[::-1] for word, images in drawings.items()})
    (tmp_path / "parts").mkdir()
    label = np.repeat(np.arange(4), 6)
    for name, part in (("a", slice(0, 6)), ("b", slice(6, 12))):
        images = np.concatenate([images[part] for images in drawings.values()])
        np.savez(tmp_path / "parts" / f"{name}.npz", images=images, label=label, category=np.array(WORDS))
    wanted = listed.members("test")
    found = load_quickdraw_fs(one)
    assert found.name == "quickdraw-fs/test" and found.family == "quickdraw" and not found.simulated
    assert np.array_equal(found.images, as_they_are(drawings, listed, wanted))
    assert found.concepts == ("apple-2", f"{TESTED}-2") and found.group.names == ("apple", TESTED)
    assert found.exemplars is not None and found.exemplars.tolist() == [0, 5]
    assert [found.maker[row] for row in range(10)] == [f"{key:016x}" for key in listed.key[wanted].ravel()]
    for folder in (shuffled, tmp_path / "more", tmp_path / "npz", tmp_path / "parts"):
        assert load_quickdraw_fs(folder).fingerprint == found.fingerprint, folder


def test_what_is_not_there_is_one_sentence_with_file_and_command(
    tmp_path: Path, drawings: dict[str, np.ndarray], listed: ConceptList
) -> None:
    without = official(tmp_path / "a", {word: images for word, images in drawings.items() if word != "apple"})
    said = refused(lambda: load_quickdraw_fs(without, "train"))
    assert "lacks drawings of 1 concepts of QuickDraw-FS (apple-1)" in said
    assert "put the official apple.npy there" in said
    assert "`exemplar data fetch quickdraw-bitmaps --part 'apple'`" in said
    gone = bitmap_hashes(drawings[TESTED]) != listed.key[5, 3]  # one drawing of the test concept
    lacks_one = official(tmp_path / "b", {**drawings, TESTED: drawings[TESTED][gone]})
    assert f"({TESTED}-2): put the official {TESTED}.npy" in refused(lambda: load_quickdraw_fs(lacks_one))
    load_quickdraw_fs(lacks_one, "category-val")  # needs none of it
    changed = drawings["apple"].copy()
    changed[:, 0, 0] += 1  # another version of the file
    other = official(tmp_path / "c", {**drawings, "apple": changed})
    assert "lacks drawings of 1 concepts of QuickDraw-FS (apple-2)" in refused(lambda: load_quickdraw_fs(other))
    emptied = official(tmp_path / "d", {**drawings, "apple": drawings["apple"][:0]})
    assert "apple.npy" in refused(lambda: load_quickdraw_fs(emptied))
    (tmp_path / "nothing").mkdir()
    assert "has no official bitmaps" in refused(lambda: load_quickdraw_fs(tmp_path / "nothing"))
    assert "there is no split of quickdraw-fs 'tests'" in refused(lambda: load_quickdraw_fs(without, "tests"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Built]]:
    """Official bitmaps, and both data sets that the pipeline makes of them."""
    folder = official(
        tmp_path_factory.mktemp("bitmaps"), {word: bitmaps(30, 50 + seed) for seed, word in enumerate(WORDS)}
    )
    runs = tmp_path_factory.mktemp("runs")
    config = ClusterConfig("bitmaps", n_set_aside=6, n_clustered=24, n_clusters=2)
    clusters = cluster_folder(runs / "clusters", folder, config, backend=engine.Here())
    asked = BuildConfig(Filters(4, 1e9, 1e-9), n_variations=3, train_share=0.6)
    return folder, {
        split: build_data(runs / split, clusters, replace(asked, split=split)) for split in ("published", "category")
    }


@pytest.mark.parametrize("kind", ["published", "category"])
def test_from_bitmaps_and_its_list_the_same_set_is_rebuilt_bit_for_bit(
    kind: str, built: tuple[Path, dict[str, Built]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, several = built
    whole = several[kind]
    with np.load(whole.folder / "concepts.npz") as stored:
        assert set(stored) == set(FIELDS)
        concepts = ConceptList(**{name: stored[name] for name in FIELDS})
    monkeypatch.setattr(quickdraw_fs, "read_concepts", lambda: concepts)
    rng = np.random.default_rng(1)
    moved = official(
        tmp_path / "moved",
        {word: np.load(folder / f"{word}.npy")[rng.permutation(30)].reshape(-1, 28, 28) for word in WORDS},
    )
    assert whole.n_concepts()["val"] > 0
    for split in ("train", "val", "test"):
        was = load(str(whole.file(split)))
        for place in (folder, moved):
            now = load_quickdraw_fs(place, split if kind == "published" else f"category-{split}")
            assert np.array_equal(now.images, was.images)
            assert now.concepts == was.concepts and np.array_equal(now.concept.code, was.concept.code)
            assert now.exemplars is not None and was.exemplars is not None
            assert np.array_equal(now.exemplars, was.exemplars)
            assert (now.group.names, now.maker.names) == (was.group.names, was.maker.names)
            assert now.family == was.family == "quickdraw"


# splits


def check_splits(sets: dict[str, ConceptSet]) -> None:
    """What may not be shared is not, by concepts, by categories, and by images."""

    @cache
    def images(split: str) -> set[bytes]:
        return {np.packbits(image > 0).tobytes() for image in sets[split].images}

    def concepts(split: str) -> set[str]:
        return set(sets[split].concepts)

    def categories(split: str) -> set[str]:
        return {name.rpartition("-")[0] if name[-1].isdigit() else name for name in sets[split].concepts}

    for train, val, test in (("train", "val", "test"), ("category-train", "category-val", "category-test")):
        assert concepts(train).isdisjoint(concepts(test)) and images(train).isdisjoint(images(test))
        assert concepts(val) < concepts(train) and images(val) < images(train)
    for trained in ("category-train", "critics"):
        assert categories("category-test").isdisjoint(categories(trained))
    assert all(in_category_test(word) for word in categories("category-test"))
    for test in ("test", "category-test"):
        assert concepts("critics").isdisjoint(concepts(test)) and images("critics").isdisjoint(images(test))
    assert concepts("critics-val") == concepts("critics") & concepts("category-val") < concepts("critics")
    assert concepts("test") | concepts("train") == concepts("category-test") | concepts("category-train")
    assert images("aside").isdisjoint(images("test"))
    assert (
        len(images("aside") & images("train")) <= len(images("train")) // 1000
    )  # people draw one line twice, by accident


def test_no_split_shares_what_it_must_not(
    tmp_path: Path, drawings: dict[str, np.ndarray], listed: ConceptList, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = {word: np.concatenate([bitmaps(3, 70 + k), images]) for k, (word, images) in enumerate(drawings.items())}
    folder = official(tmp_path / "in", aside)  # a fifth of 15 comes first
    strokes(folder / "more.ndjson", ("apple", NEW, TESTED, next(w for w in ("eye", "cat", "tree") if in_test(w))))
    sets = {split: load_quickdraw_fs(folder, split) for split in SPLITS}
    check_splits(sets)
    assert sets["critics"].concepts == ("apple-1", "octagon-1", "octagon-2", f"{VAL}-1", f"{VAL}-2", NEW)
    assert sets["critics-val"].concepts == (f"{VAL}-1", f"{VAL}-2")
    assert sets["aside"].concepts == tuple(sorted(WORDS)) and set(sets["aside"].counts) == {3}
    for split, data in sets.items():
        assert (data.exemplars is None) == (split in MIXED), split


def test_categories_for_testing_are_those_of_quickdraw_and_more() -> None:
    words = sorted(read_list("quickdraw_val")) + [f"word {k}" for k in range(2000)]
    tested = {word for word in words if in_category_test(word)}
    assert {word for word in words if in_test(word)} < tested
    assert 0.2 < len(tested) / len(words) < 0.34


@pytest.mark.parametrize(("n", "aside"), [(20_000, 15_000), (5_000, 1_000), (1_000, 200), (70_000, 15_000), (3, 0)])
def test_what_is_set_aside_is_all_but_what_is_clustered_and_never_less_than_a_fifth(n: int, aside: int) -> None:
    assert count_aside(n) == aside


# other categories, for critics


def test_others_are_categories_without_concepts_that_are_not_for_testing(tmp_path: Path) -> None:
    tested = next(word for word in ("cat", "eye", "tree") if in_category_test(word))
    assert "neither strokes (.ndjson) nor thin bitmaps" in refused(lambda: draw_others(tmp_path, set()))
    strokes(tmp_path / "a.ndjson", (NEW, "apple", tested))
    thin = np.zeros((3, 4, 28, 28), np.uint8)
    thin[:, :, 0, :20] = 255
    np.savez(tmp_path / "thin.npz", bitmaps=thin, category=np.array([NEW, "zebra", tested]))
    found = dict(draw_others(tmp_path, {"apple"}))
    assert list(found) == [NEW, "zebra"] and [len(each) for each in found.values()] == [3, 4]  # strokes come first


def test_a_wider_pen_covers_the_thin_one_and_stays_binary() -> None:
    thin = np.zeros((1, 28, 28), np.uint8)
    thin[0, 14, 2:26] = 255
    wide = widen(thin).take(np.arange(1))
    assert wide.shape == (1, 48, 48) and set(np.unique(wide)) == {0, 255}
    assert (wide[0].max(axis=1) > 0).sum() in (2, 3)  # px: a line of 28 px is 1.5 at 48, widened by one
    assert not widen(np.zeros((1, 28, 28), np.uint8)).take(np.arange(1)).any()


# the list that ships, and real data


def test_the_list_that_ships_has_115_concepts_and_no_drawing_twice() -> None:
    concepts = read_concepts()
    assert concepts.key.shape == (115, 501) and concepts.key.dtype == np.uint64
    assert len(np.unique(concepts.key)) == 115 * 501
    assert len(set(concepts.concept.tolist())) == 115
    assert all(name.rpartition("-")[0] == word for name, word in zip(concepts.concept, concepts.category, strict=True))
    sizes = {split: int(concepts.members(split).sum()) for split in SPLITS if split not in MIXED}
    assert sizes == {
        "test": 20,
        "train": 95,
        "val": 20,
        "category-test": 26,
        "category-train": 89,
        "category-val": 26,
        "critics-val": 24,
    }
    assert (concepts.by_category == "test").tolist() == [in_category_test(word) for word in concepts.category]


@needs_real
def test_the_real_set_is_the_one_that_was_built() -> None:
    sets = {split: load_quickdraw_fs(REAL, split) for split in SPLITS}
    n = {split: data.n_concepts for split, data in sets.items()}
    assert (n["test"], n["train"], n["val"]) == (20, 95, 20)
    assert (n["category-test"], n["category-train"], n["category-val"]) == (26, 89, 26)
    for split in ("test", "train", "val", "category-test", "category-train", "category-val", "critics-val"):
        assert set(sets[split].counts) == {501} and sets[split].shape == (48, 48)
    scored = load_kept("draw-quickdraw-fs")  # what the kept scores are of
    assert scored is not None
    for split in ("test", "category-test"):
        assert sets[split].fingerprint == scored.provenance["data"][f"quickdraw-fs/{split}"], split
    check_splits(sets)


@needs_real
def test_thin_bitmaps_with_a_wider_pen_have_the_ink_of_official_ones() -> None:
    thin, whole = load_quickdraw_bitmaps(REAL, "thin-centred"), load_quickdraw_bitmaps(REAL)

    def ink(images: Any) -> float:
        return float((images.take(np.arange(len(images))) > 0).mean())

    ratio = np.array(
        [
            ink(widen(thin.take(thin.rows(word)))) / ink(at_full_size(Plain(whole.take(whole.rows(word)[:200]))))
            for word in whole.concepts
        ]
    )  # other drawings of the same categories, some of which have more ink than others
    assert abs(ratio.mean() - 1) < 0.03 and np.abs(ratio - 1).max() < 0.12
