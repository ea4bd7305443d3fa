"""Quick, Draw!: strokes drawn at any size, bitmaps, and lines that are not drawings."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images import quickdraw
from exemplar.images.lists import read_list
from exemplar.images.quickdraw import in_test, load_quickdraw, read_sketches, spans

REAL = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "quickdraw"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="EXEMPLAR_DATA has no QuickDraw")
NO_DRAWINGS: list[Any] = [
    [],
    "a cat",
    [[]],
    [[[], []]],
    [[[1, 2], [1]]],
    [[[1], [1], [1], [1]]],
    [[[1], [1]], [[1], [1], [1]]],
    [[["1"], ["2"]]],
    [[[True], [False]]],
    [[[None], [1]]],
    [[[[1]], [1]]],
    [[[[1]], [[1]]]],
    [[[float("nan")], [1]]],
    [[[1e300], [1]]],
    [[[10**400], [1]]],
    [[1, 2], [3, 4]],
]
SQUARE = [[[0, 100, 100, 0, 0], [0, 0, 100, 100, 0], [0, 1, 2, 3, 4]]]
CROSS = [[[0, 50], [0, 50], [0, 9]], [[50, 0], [0, 50], [20, 29]]]


def record(word: str, key: int, drawing: Any, recognized: bool = True) -> dict[str, Any]:
    return {
        "word": word,
        "key_id": str(key),
        "countrycode": "FR",
        "timestamp": "2017-03-11 14:47:44",
        "recognized": recognized,
        "drawing": drawing,
    }


RECORDS = [record("square", 1, SQUARE), record("cross", 2, CROSS), record("square", 3, CROSS, recognized=False)]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(each) + "\n" for each in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def refused(folder: Path, split: str = "strokes", **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        load_quickdraw(folder, split, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_one_file_or_a_file_a_category_packed_or_not_give_the_same_set(tmp_path: Path) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    many.mkdir()
    write(one / "all.ndjson.gz", RECORDS)
    write(many / "square.ndjson", [RECORDS[0], RECORDS[2]])
    write(many / "cross.ndjson", [RECORDS[1]])
    together, apart = load_quickdraw(one), load_quickdraw(many)
    assert together.fingerprint == apart.fingerprint
    assert together.concepts == ("cross", "square")
    assert [together.maker[k] for k in range(3)] == ["2", "1", "3"]


def test_raw_and_simplified_drawings_look_the_same(tmp_path: Path) -> None:
    raw = load_quickdraw(write(tmp_path / "raw.ndjson", RECORDS).parent).images
    without_time = [{**each, "drawing": [stroke[:2] for stroke in each["drawing"]]} for each in RECORDS]
    simplified = load_quickdraw(write(tmp_path / "raw.ndjson", without_time).parent).images
    np.testing.assert_array_equal(raw, simplified)


@pytest.mark.parametrize("size", [28, 48, 105])
def test_a_square_fills_the_frame_at_any_size(tmp_path: Path, size: int) -> None:
    drawing = load_quickdraw(write(tmp_path / "a.ndjson", RECORDS[:1]).parent, size=size).images[0] / 255
    assert drawing.shape == (size, size)
    np.testing.assert_allclose(drawing, drawing[::-1], atol=0.01)
    np.testing.assert_allclose(drawing, drawing.T, atol=0.01)
    side, pen = size * (1 - 2 * quickdraw.MARGIN), size * quickdraw.PEN
    # A closed line of this side and pen covers side + pen squared less side - pen squared; round corners lack (1 − π/4) pen².
    expected = 4 * side * pen - (1 - np.pi / 4) * pen**2
    assert drawing.sum() == pytest.approx(expected, rel=0.03)


def test_only_recognized_drawings_and_at_most_so_many_of_each(tmp_path: Path) -> None:
    write(tmp_path / "a.ndjson", RECORDS)
    recognized = load_quickdraw(tmp_path, recognized=True)
    assert sorted(recognized.maker.names) == ["1", "2"]
    assert load_quickdraw(tmp_path, most=1).maker.names == ("2", "1")


def test_lines_without_a_key_are_told_apart_by_their_strokes(tmp_path: Path) -> None:
    """Copies of the simplified files often keep word, country and drawing alone."""
    short = [{"word": each["word"], "drawing": each["drawing"]} for each in (*RECORDS, RECORDS[0])]
    data = load_quickdraw(write(tmp_path / "a.ndjson", short).parent)
    assert len(data) == 3  # the square that is there twice counts once; a cross for two words stays
    assert all(key.startswith("unkeyed-") for key in data.maker.names)
    assert next(read_sketches(tmp_path / "a.ndjson"))[0].recognized is None
    assert "no drawing" in refused(tmp_path, recognized=True)


def test_train_and_test_share_no_category_whatever_is_in_the_folder(tmp_path: Path) -> None:
    words = [f"thing {k}" for k in range(40)]
    write(tmp_path / "a.ndjson", [record(word, k, CROSS) for k, word in enumerate(words)])
    train, test = (load_quickdraw(tmp_path, split).concepts for split in ("train", "test"))
    assert sorted(train + test) == sorted(words)
    assert all(map(in_test, test)) and not any(map(in_test, train))


def test_val_is_forty_of_the_training_categories(tmp_path: Path) -> None:
    val = read_list("quickdraw_val")
    assert len(set(val)) == 40 and not any(map(in_test, val))
    write(tmp_path / "a.ndjson", [record(word, k, CROSS) for k, word in enumerate((val[7], "aardvark", val[3], "cow"))])
    assert load_quickdraw(tmp_path, "val").concepts == tuple(sorted((val[3], val[7])))
    assert set(load_quickdraw(tmp_path, "val").concepts) < set(load_quickdraw(tmp_path, "train").concepts)


@needs_real
def test_val_is_the_choice_its_header_names() -> None:
    train = load_quickdraw(REAL, "train").concepts
    assert len(train) == 270
    drawn = seeds.rng("quickdraw val").choice(sorted(train), 40, replace=False).tolist()
    assert read_list("quickdraw_val") == tuple(sorted(drawn)) == load_quickdraw(REAL, "val").concepts


def test_the_reader_gives_chunks_in_order_and_keeps_every_field(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ndjson.gz", [record("cross", k, CROSS) for k in range(7)])
    chunks = list(read_sketches(path, chunk=3))
    assert [len(chunk) for chunk in chunks] == [3, 3, 1]
    assert [sketch.key_id for chunk in chunks for sketch in chunk] == [str(k) for k in range(7)]
    sketch = chunks[0][0]
    assert (sketch.word, sketch.countrycode, sketch.recognized) == ("cross", "FR", True)
    np.testing.assert_array_equal(sketch.points, [[0, 0, 0], [50, 50, 9], [50, 0, 20], [0, 50, 29]])
    assert sketch.strokes.tolist() == [0, 2, 4]


def test_drawings_can_be_taken_in_any_order_and_twice(tmp_path: Path) -> None:
    drawings = load_quickdraw(write(tmp_path / "a.ndjson", RECORDS).parent)
    np.testing.assert_array_equal(drawings.take([2, 0, 2]), drawings.images[[2, 0, 2]])
    assert drawings.take([]).shape == (0, 48, 48)
    assert drawings.subset([0]).fingerprint != drawings.subset([1]).fingerprint


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=20))
@settings(deadline=None)
def test_spans_are_ranges_end_to_end(pairs: list[tuple[int, int]]) -> None:
    start = np.array([a for a, _ in pairs], np.int64)
    end = start + np.array([n for _, n in pairs], np.int64)
    assert spans(start, end).tolist() == [k for a, n in pairs for k in range(a, a + n)]


@pytest.mark.parametrize(
    "line",
    [
        b'{"word": "cat", "dra',
        b"[1, 2]",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps({"word": "cat"}).encode(),
        *(json.dumps(record("cat", 9, drawing)).encode() for drawing in NO_DRAWINGS),
        json.dumps({**record("cat", 9, CROSS), "word": 5}).encode(),
        json.dumps({**record("cat", 9, CROSS), "recognized": "yes"}).encode(),
    ],
)
def test_a_line_that_is_no_drawing_is_named_by_file_and_number(tmp_path: Path, line: bytes) -> None:
    good = json.dumps(RECORDS[0]).encode()
    (tmp_path / "cat.ndjson").write_bytes(good + b"\n\n" + line + b"\n")
    message = refused(tmp_path)
    assert message.startswith("line 3 of ") and "cat.ndjson" in message


def test_a_truncated_gz_the_same_drawing_twice_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    assert "no drawings" in refused(tmp_path)
    assert "no bitmaps" in refused(tmp_path, "bitmaps")
    assert "test" in refused(tmp_path, "tests")
    path = write(tmp_path / "a.ndjson.gz", [record("cross", k, CROSS) for k in range(50)])
    assert "at least 1" in refused(tmp_path, size=0)
    assert "at least 1" in refused(tmp_path, most=0)
    write(tmp_path / "b.ndjson", [record("cross", 4, CROSS)])
    assert "drawing 4 twice" in refused(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert "a.ndjson.gz cannot be read" in refused(tmp_path)


def test_bitmaps_come_from_an_npz_or_from_the_official_npy_files(tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    packed, official = tmp_path / "npz", tmp_path / "npy"
    packed.mkdir()
    official.mkdir()
    np.savez(packed / "bitmaps.npz", **{"ice cream": pictures[2:], "path": pictures[:2]})  # type: ignore[arg-type]
    np.save(official / "full_numpy_bitmap_ice cream.npy", pictures[2:].reshape(3, 784))
    np.save(official / "path.npy", pictures[:2].reshape(2, 784))
    first, second = load_quickdraw(packed, "bitmaps"), load_quickdraw(official, "bitmaps")
    assert first.fingerprint == second.fingerprint
    assert first.concepts == ("ice cream", "path")
    np.testing.assert_array_equal(first.images, pictures[[2, 3, 4, 0, 1]])
    assert load_quickdraw(official, "bitmaps", most=1).counts.tolist() == [1, 1]
    assert load_quickdraw(official, "bitmaps", size=14).shape == (14, 14)
    assert "recognized" in refused(official, "bitmaps", recognized=True)


@pytest.mark.parametrize(
    "array", [np.zeros((3, 784)), np.zeros((3, 783), np.uint8), np.zeros(784, np.uint8), np.array(None)]
)
def test_arrays_that_are_no_bitmaps_are_refused(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "cat.npy", array)
    assert "cat.npy" in refused(tmp_path, "bitmaps")
    (tmp_path / "cat.npy").unlink()
    np.savez(tmp_path / "b.npz", cat=array)
    assert "cat" in refused(tmp_path, "bitmaps")


def test_a_truncated_npy_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "cat.npy", np.zeros((3, 784), np.uint8))
    content = (tmp_path / "cat.npy").read_bytes()
    for length in (0, 5, 40, len(content) - 1):
        (tmp_path / "cat.npy").write_bytes(content[:length])
        assert "cat.npy" in refused(tmp_path, "bitmaps")


@needs_real
def test_real_drawings_have_the_counts_of_their_readme() -> None:
    strokes, bitmaps = load_quickdraw(REAL), load_quickdraw(REAL, "bitmaps")
    assert (len(strokes), strokes.n_concepts) == (9570, 345)
    assert (strokes.counts.min(), strokes.counts.max()) == (11, 114)
    assert bitmaps.concepts == ("apple", "bicycle", "cat", "diamond", "eye", "fish")
    assert set(bitmaps.counts) == {3000}


@needs_real
def test_our_drawings_look_like_googles_bitmaps_of_the_same_strokes() -> None:
    """Both files begin with the same drawings, so Google's own renderings are an oracle for ours."""
    strokes, bitmaps = load_quickdraw(REAL, size=28), load_quickdraw(REAL, "bitmaps")
    for word in bitmaps.concepts:
        ours = strokes.take(strokes.rows(word)).reshape(-1, 784) / 255
        theirs = bitmaps.take(bitmaps.rows(word)[: len(ours)]).reshape(-1, 784) / 255
        same = [np.corrcoef(a, b)[0, 1] for a, b in zip(ours, theirs, strict=True)]
        assert min(same) > 0.97
        assert ours.mean() == pytest.approx(theirs.mean(), rel=0.1)
