"""Official bitmaps of Quick, Draw!: every form of file, duplicates, splits, thin ones moved to the middle, and wrong files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

import exemplar as ex
from exemplar.draw.default_critics import family_of
from exemplar.errors import UserError
from exemplar.images import sources
from exemplar.images.lists import read_list
from exemplar.images.pixels import Pieces, Plain
from exemplar.images.quickdraw import in_test, load_quickdraw
from exemplar.images.quickdraw_bitmaps import (
    bitmap_hashes,
    centred,
    load_quickdraw_bitmaps,
    read_category_bitmaps,
)
from exemplar.spaces.cards import check_unseen
from exemplar.spaces.seen import family_of_card, find_seen
from exemplar.spaces.zoo import load_space

REAL = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "quickdraw_large"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="EXEMPLAR_DATA has no quickdraw_large")
VAL = read_list("quickdraw_val")[0]
TEST = next(word for word in ("cat", "eye", "flower") if in_test(word))
TRAIN = next(word for word in ("apple", "octagon") if not in_test(word) and word not in read_list("quickdraw_val"))


def bitmaps(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 28, 28), dtype=np.uint8)


def official(folder: Path, **categories: np.ndarray) -> Path:
    """One npy per category; `_` in a name stands for a space."""
    folder.mkdir(exist_ok=True)
    for word, images in categories.items():
        np.save(folder / f"{word.replace('_', ' ')}.npy", images.reshape(-1, 784))
    return folder


def labelled(path: Path, images: np.ndarray, label: Any, category: Any, **more: Any) -> Path:
    np.savez(path, images=images, label=np.asarray(label), category=np.asarray(category), **more)
    return path


def refused(read: Callable[[], Any]) -> str:
    with pytest.raises(UserError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_form_of_the_same_bitmaps_gives_the_same_set(tmp_path: Path) -> None:
    images = bitmaps(6)
    folders = [tmp_path / name for name in ("npy", "long names", "npz", "labels", "mixed")]
    for folder in folders:
        folder.mkdir()
    official(folders[0], ice_cream=images[2:], path=images[:2])
    for word, part in (("ice cream", images[2:]), ("path", images[:2])):
        np.save(folders[1] / f"full_numpy_bitmap_{word}.npy", part.reshape(-1, 784))
    np.savez(folders[2] / "many.npz", **{"path": images[:2], "ice cream": images[2:]})  # type: ignore[arg-type]
    labelled(folders[3] / "all.npz", images[[0, 2, 3, 1, 4, 5]], [0, 1, 1, 0, 1, 1], ["path", "ice cream"])
    labelled(folders[4] / "a.npz", images[:2], [0, 0], ["path"])
    official(folders[4], ice_cream=images[2:])
    found = [load_quickdraw_bitmaps(folder) for folder in folders]
    assert len({data.fingerprint for data in found}) == 1
    assert found[0].concepts == ("ice cream", "path") and found[0].family == "quickdraw"
    assert found[0].group.names == found[0].maker.names == ("",)
    for folder, data in zip(folders, found, strict=True):
        np.testing.assert_array_equal(data.images, images[[2, 3, 4, 5, 0, 1]])
        read = dict(read_category_bitmaps(folder))
        assert list(read) == ["ice cream", "path"]
        np.testing.assert_array_equal(read["path"], images[:2])
        assert load_quickdraw(folder, "bitmaps").fingerprint == data.fingerprint


def test_a_hash_is_eight_bytes_of_blake2b_little_endian() -> None:
    images = bitmaps(3)
    told = [int.from_bytes(hashlib.blake2b(i.tobytes(), digest_size=8).digest(), "little") for i in images]
    assert bitmap_hashes(images).tolist() == told and bitmap_hashes(images).dtype == np.uint64
    np.testing.assert_array_equal(bitmap_hashes(images[::-1, ::-1]), bitmap_hashes(images[::-1, ::-1].copy()))
    assert bitmap_hashes(images[:0]).shape == (0,)
    assert "uint8" in refused(lambda: bitmap_hashes(images.astype(float)))
    assert "28" in refused(lambda: bitmap_hashes(images.reshape(-1, 784)))


def test_within_a_category_a_bitmap_counts_once_wherever_it_is(tmp_path: Path) -> None:
    images = bitmaps(5)
    official(tmp_path, apple=images[[3, 1, 1, 4]])
    labelled(tmp_path / "a.npz", images[[0, 1, 0, 2]], [0, 0, 0, 0], ["apple"])  # a.npz comes before apple.npy
    kept = images[[0, 1, 2, 3, 4]]
    np.testing.assert_array_equal(load_quickdraw_bitmaps(tmp_path).images, kept)
    ((word, read),) = read_category_bitmaps(tmp_path)
    assert word == "apple"
    np.testing.assert_array_equal(read, kept)


def test_across_categories_a_bitmap_never_stands_on_two_sides_of_a_split(tmp_path: Path) -> None:
    images, rows = bitmaps(9), {TRAIN: [0, 1, 2], VAL: [0, 3, 4, 5], TEST: [1, 3, 6, 7, 7]}
    official(tmp_path, **{word: images[mine] for word, mine in rows.items()})
    hashes = bitmap_hashes(images).tolist()

    def kept(split: str) -> dict[str, list[int]]:
        data = load_quickdraw_bitmaps(tmp_path, split)
        return {w: [hashes.index(h) for h in bitmap_hashes(data.take(data.rows(w)))] for w in data.concepts}

    assert kept("all") == {TRAIN: [0, 1, 2], VAL: [0, 3, 4, 5], TEST: [1, 3, 6, 7]}
    assert kept("train") == {TRAIN: [0, 1, 2], VAL: [3, 4, 5]}
    assert kept("val") == {VAL: [3, 4, 5]}
    assert kept("test") == {TEST: [6, 7]}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.integers(0, 7), max_size=6), min_size=4, max_size=4))
def test_no_split_shares_a_bitmap_with_another(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]) -> None:
    images, words = bitmaps(8), (TRAIN, VAL, TEST, "line")
    folder = tmp_path_factory.mktemp("bitmaps")
    official(folder, **{word: images[np.array(mine, int)] for word, mine in zip(words, rows, strict=True)})
    found = {}
    for split in ("train", "val", "test"):
        try:
            data = load_quickdraw_bitmaps(folder, split)
        except UserError:
            continue
        found[split] = {(data.concept[k], int(h)) for k, h in enumerate(bitmap_hashes(data.images))}
        assert len(found[split]) == len(data)
    seen = {h for word, h in found.get("train", ()) if word not in read_list("quickdraw_val")}
    assert found.get("val", set()) <= found.get("train", set())
    assert not seen & {h for _, h in found.get("val", ())}
    assert not {h for _, h in found.get("train", ())} & {h for _, h in found.get("test", ())}


def test_splits_have_the_categories_of_quickdraws(tmp_path: Path) -> None:
    official(tmp_path, **{word: bitmaps(2, seed) for seed, word in enumerate((TRAIN, VAL, TEST))})
    assert load_quickdraw_bitmaps(tmp_path, "train").concepts == tuple(sorted((TRAIN, VAL)))
    assert load_quickdraw_bitmaps(tmp_path, "val").concepts == (VAL,)
    assert load_quickdraw_bitmaps(tmp_path, "test").concepts == (TEST,)
    assert "thin-centred" in refused(lambda: load_quickdraw_bitmaps(tmp_path, "thin-centered"))
    (tmp_path / f"{TEST}.npy").unlink()
    assert "another split" in refused(lambda: load_quickdraw_bitmaps(tmp_path, "test"))


def test_an_empty_category_is_passed_over(tmp_path: Path) -> None:
    official(tmp_path, apple=bitmaps(0), cat=bitmaps(2))
    labelled(tmp_path / "b.npz", bitmaps(1, 1), [1], ["moon", "line"])
    assert load_quickdraw_bitmaps(tmp_path).concepts == ("cat", "line")
    assert [word for word, _ in read_category_bitmaps(tmp_path)] == ["cat", "line"]
    assert [word for word, _ in read_category_bitmaps(tmp_path, ["moon", "cat"])] == ["cat"]
    assert "did you mean cat" in refused(lambda: list(read_category_bitmaps(tmp_path, ["cats"])))


def test_official_files_stay_on_disk(tmp_path: Path) -> None:
    data = load_quickdraw_bitmaps(official(tmp_path, apple=bitmaps(3), cat=bitmaps(2, 1)))
    assert isinstance(data.pixels, Pieces)
    assert all(isinstance(piece, np.memmap) for piece in data.pixels.arrays)
    np.testing.assert_array_equal(data.take([4, 0, 4]), data.images[[4, 0, 4]])
    assert data.take([]).shape == (0, 28, 28)
    assert data.subset([1, 3]).resized(48, binarise=0.3).images.shape == (2, 48, 48)


def test_pieces_are_the_plain_store_of_their_images() -> None:
    images, rows = bitmaps(7), np.array([6, 0, 3, 3, 2])
    pieces = Pieces([images[:3], images[3:3], images[3:]])
    np.testing.assert_array_equal(pieces.take(rows), images[rows])
    assert len(pieces) == 7 and pieces.shape == (28, 28)
    assert pieces.digest(rows) == Plain(images).digest(rows)


@given(some.arrays(np.uint8, st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(1, 9)), elements=st.sampled_from((0, 0, 0, 9, 255))))  # fmt: skip
@settings(deadline=None)
def test_moved_to_the_middle_the_ink_is_the_same_and_its_box_is_centred(images: np.ndarray) -> None:
    for before, after in zip(images, centred(images), strict=True):
        (height, width), inked = before.shape, np.argwhere(after)
        if not before.any():
            assert not after.any()
            continue
        for axis, length in enumerate((height, width)):
            low, high = inked[:, axis].min(), length - 1 - inked[:, axis].max()
            assert 0 <= high - low <= 1
        # The ink alone, cut out, is what it was.
        boxes = [image[np.ix_(image.any(axis=1), image.any(axis=0))] for image in (before, after)]
        np.testing.assert_array_equal(*boxes)
        np.testing.assert_array_equal(*(np.diff(np.argwhere(image), axis=0) for image in (before, after)))


def test_thin_ones_are_as_in_their_file_or_centred_and_never_official(tmp_path: Path) -> None:
    thin = np.zeros((2, 3, 28, 28), np.uint8)
    thin[:, :, :5, :9] = bitmaps(6)[:, :5, :9].reshape(2, 3, 5, 9) | 1
    np.savez(tmp_path / "thin.npz", bitmaps=thin, category=np.array(["cat", "apple"]))
    assert "no official bitmaps" in refused(lambda: load_quickdraw_bitmaps(tmp_path))
    official(tmp_path, apple=bitmaps(2))
    assert len(load_quickdraw_bitmaps(tmp_path)) == 2
    data, middle = (load_quickdraw_bitmaps(tmp_path, split) for split in ("thin", "thin-centred"))
    np.testing.assert_array_equal(data.images, thin.reshape(6, 28, 28))
    np.testing.assert_array_equal(middle.images[:, 11:16, 9:18], thin.reshape(6, 28, 28)[:, :5, :9])
    assert middle.images.sum() == thin.sum()
    assert data.concepts == middle.concepts == ("cat", "apple") and data.family == "quickdraw"
    np.savez(tmp_path / "again.npz", bitmaps=thin, category=np.array(["cat", "apple"]))
    assert "2 files" in refused(lambda: load_quickdraw_bitmaps(tmp_path, "thin"))
    (tmp_path / "again.npz").unlink()
    (tmp_path / "thin.npz").unlink()
    assert "no thin bitmaps" in refused(lambda: load_quickdraw_bitmaps(tmp_path, "thin"))


WRONG_THIN: list[dict[str, Any]] = [
    {"bitmaps": bitmaps(4), "category": ["a", "b", "c", "d"]},
    {"bitmaps": bitmaps(4).reshape(2, 2, 28, 28), "category": ["a"]},
    {"bitmaps": bitmaps(4).reshape(2, 2, 784, 1), "category": ["a", "b"]},
    {"bitmaps": bitmaps(4).reshape(2, 2, 28, 28).astype(np.uint16), "category": ["a", "b"]},
    {"bitmaps": bitmaps(4).reshape(2, 2, 28, 28), "category": ["a", "a"]},
]


@pytest.mark.parametrize("arrays", WRONG_THIN)
def test_a_wrong_file_of_thin_bitmaps_is_refused(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "thin.npz", **arrays)
    assert "thin.npz" in refused(lambda: load_quickdraw_bitmaps(tmp_path, "thin"))


GOOD: dict[str, Any] = {"images": bitmaps(3), "label": [0, 1, 1], "category": ["apple", "cat"]}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"label": None}, "no array label"),
        ({"category": None}, "no array category"),
        ({"images": None}, "no array images"),
        ({"label": [0, 1, 2]}, "label goes from 0 to 2, but there are 2 categories"),
        ({"label": [0, -1, 1]}, "label goes from -1 to 1"),
        ({"label": [0, 1]}, "3 images but 2 labels"),
        ({"label": [0.0, 1.0, 1.0]}, "label must be whole numbers"),
        ({"images": bitmaps(3).astype(float)}, "images must be whole numbers"),
        ({"images": bitmaps(3).astype(np.uint16)}, "images must be 28 px bitmaps"),
        ({"images": bitmaps(3).reshape(-1, 784)}, "images must be whole numbers in 3 dimensions"),
        ({"images": bitmaps(3)[:, :27]}, "images must be 28 px bitmaps"),
        ({"category": ["cat", "cat"]}, "must name each category once"),
        ({"category": ["cat", " "]}, "must name each category once"),
        ({"category": [1, 2]}, "category must be text"),
    ],
)
def test_a_file_with_labels_that_is_wrong_or_of_another_version_is_refused(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    arrays = {name: array for name, array in (GOOD | changed).items() if array is not None}
    np.savez(tmp_path / "many.npz", **arrays)
    for read in (load_quickdraw_bitmaps, lambda folder: list(read_category_bitmaps(folder))):
        message = refused(lambda: read(tmp_path))  # noqa: B023
        assert told in message and "many.npz" in message


@pytest.mark.parametrize("wrong", [np.zeros((3, 784)), np.zeros((3, 783), np.uint8), np.zeros((3, 28, 28), np.uint8)])
def test_an_official_file_of_another_shape_or_type_is_refused(tmp_path: Path, wrong: np.ndarray) -> None:
    np.save(tmp_path / "cat.npy", wrong)
    assert "cat.npy" in refused(lambda: load_quickdraw_bitmaps(tmp_path))
    (tmp_path / "cat.npy").unlink()
    np.savez(tmp_path / "b.npz", cat=wrong.astype(float))
    assert "cat" in refused(lambda: load_quickdraw_bitmaps(tmp_path))


@pytest.mark.parametrize("name", ["cat.npy", "many.npz", "one.npz"])
def test_a_truncated_file_is_refused(tmp_path: Path, name: str) -> None:
    official(tmp_path, cat=bitmaps(3))
    np.savez(tmp_path / "many.npz", **GOOD)
    np.savez_compressed(tmp_path / "one.npz", moon=bitmaps(3))
    content = (tmp_path / name).read_bytes()
    for length in (0, 5, 60, len(content) // 2, len(content) - 1):
        (tmp_path / name).write_bytes(content[:length])
        assert name in refused(lambda: load_quickdraw_bitmaps(tmp_path))


def test_where_there_is_no_file_it_says_which_and_how_to_fetch_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--part cat" in refused(lambda: load_quickdraw_bitmaps(tmp_path))
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path))
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    message = refused(lambda: ex.load("quickdraw-bitmaps"))
    assert str(tmp_path / "quickdraw_large") in message and "*.npz or *.npy" in message
    assert "exemplar data fetch quickdraw-bitmaps --part cat" in message
    assert "no strokes" in refused(lambda: ex.images.fetch("quickdraw-bitmaps", ["simplified/cat"]))
    official(tmp_path / "quickdraw_large", cat=bitmaps(2))
    assert ex.images.show("quickdraw-bitmaps")["data"] == "quickdraw-bitmaps/all"
    assert sources.obtain("quickdraw-bitmaps", parts=["cat"]) == tmp_path / "quickdraw_large"


def test_they_are_of_the_family_quickdraw_whose_critics_know_its_training_categories(tmp_path: Path) -> None:
    critic = load_space("simclr-quickdraw-nearest-s0")
    assert "octagon-1" in critic.card.concepts and "octagon" not in critic.card.concepts  # a part of the category
    official(tmp_path, octagon=bitmaps(2), **{TEST: bitmaps(2, 1)})
    assert family_of("quickdraw-bitmaps/test") == family_of(load_quickdraw_bitmaps(tmp_path)) == "quickdraw"
    assert family_of_card(critic.card) == "quickdraw"
    assert "octagon" in refused(lambda: find_seen([critic], load_quickdraw_bitmaps(tmp_path)))
    assert "octagon" in refused(lambda: check_unseen(critic.card, ["octagon"], "quickdraw-bitmaps/all"))
    assert find_seen([critic], load_quickdraw_bitmaps(tmp_path, "test")).concepts == 0


@needs_real
def test_the_real_ones_have_the_counts_of_their_readme() -> None:
    data = load_quickdraw_bitmaps(REAL)
    assert (len(data), data.n_concepts) == (193_433, 76)
    assert (data.counts.min(), data.counts.max(), (data.counts >= 1000).sum()) == (500, 5000, 69)
    train, val, test = (load_quickdraw_bitmaps(REAL, split) for split in ("train", "val", "test"))
    # One bitmap is in two categories, a line that was to be an octagon: val gives it up, and train has it once.
    assert len(train) + len(test) == len(data) - 1
    assert (train.n_concepts, val.n_concepts, test.n_concepts) == (65, 16, 11)
    thin = load_quickdraw_bitmaps(REAL, "thin-centred")
    assert (len(thin), thin.n_concepts, set(thin.counts)) == (34_500, 345, {100})
