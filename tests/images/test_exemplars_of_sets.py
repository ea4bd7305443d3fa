"""Exemplars that a data set comes with: kept by every view of it, refused where they are wrong, read from an npz file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.images.folder import load_npz
from exemplar.images.pixels import Packed

CONCEPT = np.array(["b", "a", "b", "c", "a", "c", "b", "a"])  # in the order of their first: b, a, c
EXEMPLARS = [6, 4, 3]


def make(exemplars: Any = EXEMPLARS, *, packed: bool = False) -> ConceptSet:
    images = np.random.default_rng(0).choice(np.array([0, 255], np.uint8), (8, 6, 6))
    return ConceptSet.of("some", Packed.of(images) if packed else images, CONCEPT, exemplars=exemplars)


def shown(data: ConceptSet) -> list[tuple[str, bytes]]:
    """Of each concept in order, its name and its exemplar's pixels."""
    assert data.exemplars is not None
    images = data.take(data.exemplars)
    return [(name, image.tobytes()) for name, image in zip(data.concepts, images, strict=True)]


def test_exemplars_are_in_the_order_of_the_concepts_however_they_were_given() -> None:
    data = make()
    assert data.concepts == ("b", "a", "c")
    for given in (EXEMPLARS, np.array([3, 6, 4], np.int32), [4, 3, 6]):
        found = make(given).exemplars
        assert found is not None and found.tolist() == EXEMPLARS
    assert make(None).exemplars is None and make(None).shown is None


@pytest.mark.parametrize("packed", [False, True])
def test_every_view_keeps_the_exemplars_of_the_concepts_it_has(packed: bool) -> None:
    data = make(packed=packed)
    known = dict(shown(data))
    assert dict(shown(data.only(concepts=["c", "b"]))) == {name: known[name] for name in ("b", "c")}
    backwards = data.subset(np.arange(8)[::-1])
    assert shown(backwards) == shown(data)
    assert backwards.exemplars is not None and backwards.exemplars.tolist() == [1, 3, 4]
    assert shown(data.subset(np.isin(np.arange(8), EXEMPLARS))) == shown(data)
    assert shown(data.in_memory()) == shown(data.in_memory().in_memory()) == shown(data)
    small = data.resized(3, binarise=0.5)
    assert small.exemplars is not None and small.exemplars.tolist() == EXEMPLARS
    assert shown(small.in_memory()) == shown(small)
    some = data.only(concepts=["a"]).resized(3).in_memory()
    assert some.exemplars is not None and some.exemplars.tolist() == [1]


def test_every_label_and_pixel_is_in_the_fingerprint_and_the_name_of_the_set_is_not() -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 6, 6), dtype=np.uint8)
    labels = {"concept": ["a", "a", "b", "b"], "group": ["g", "g", "g", "h"], "maker": ["1", "2", "1", "2"]}

    def fingerprint(pixels: np.ndarray = images, name: str = "some", **change: list[str]) -> str:
        now = labels | change
        return ConceptSet.of(name, pixels, now["concept"], now["group"], now["maker"]).fingerprint

    changed = images.copy()
    changed[3, 5, 5] ^= 1
    others = [
        fingerprint(concept=["a", "b", "b", "a"]),
        fingerprint(group=["g", "g", "h", "h"]),
        fingerprint(maker=["2", "1", "1", "2"]),
        fingerprint(maker=["1", "3", "1", "3"]),
        fingerprint(changed),
    ]
    assert len({fingerprint(), *others}) == 6 and fingerprint(name="another") == fingerprint()


def test_a_subset_that_lost_an_exemplar_or_has_it_twice_has_none() -> None:
    data = make()
    assert data.subset([0, 1, 4, 3]).exemplars is None  # b without its own
    assert data.subset([6, 6, 4, 3]).exemplars is None
    assert data.subset([6, 4]).exemplars is not None  # c is no concept of it
    assert data.subset([0, 1, 4, 3]).only(concepts=["a", "c"]).exemplars is not None
    assert data.subset([0, 1, 2, 5]).exemplars is None
    assert data.subset(np.empty(0, int)).exemplars is not None  # of no concept, none


def test_a_sample_has_exemplars_where_it_drew_all_of_them() -> None:
    data = make()
    whole = data.only(concepts=["a", "b"]).sample(2, 3, rng=seeds.rng("sample"))
    assert dict(shown(whole)) == {name: pixels for name, pixels in shown(data) if name != "c"}
    for seed in range(20):
        some = data.sample(3, 1, rng=seeds.rng("sample", seed))
        drawn = {some.take([row]).tobytes() for row in range(3)}
        has_all = drawn == {pixels for _, pixels in shown(data)}
        assert (some.exemplars is not None) == has_all


@pytest.mark.parametrize(
    "wrong",
    [
        [6, 4],
        [6, 4, 3, 5],
        [6, 4, 1],
        [6, 4, 8],
        [6, 4, -5],
        [[6, 4, 3]],
        [6.0, 4.0, 3.0],
        [True, False, True],
        ["6", "4", "3"],
        [],
    ],
)
def test_rows_that_are_not_one_image_of_each_concept_are_refused(wrong: Any) -> None:
    with pytest.raises(UserError, match="some: exemplars must be 3 rows, one image of each concept"):
        make(wrong)


def test_other_exemplars_are_another_set_and_none_leave_its_fingerprint_as_it_was() -> None:
    assert make().fingerprint == make(np.array([3, 4, 6])).fingerprint
    prints = {make().fingerprint, make([6, 4, 5]).fingerprint, make(None).fingerprint}
    assert len(prints) == 3
    data = make(None)
    columns = [(labels.names, labels.code) for labels in (data.concept, data.group, data.maker)]
    assert data.fingerprint == seeds.digest("concept set", data.pixels.digest(data.index), columns)  # as it always was


def test_an_npz_file_may_say_which_rows_are_exemplars(tmp_path: Path) -> None:
    images = make().images
    np.savez(tmp_path / "own.npz", images=images, concept=CONCEPT, exemplar=np.array([3, 4, 6]))
    found = load_npz(tmp_path / "own.npz")
    assert shown(found) == shown(make())
    np.savez(tmp_path / "own.npz", images=images, concept=CONCEPT, exemplar=np.array([0, 0, 0]))
    with pytest.raises(UserError, match="own: exemplars must be 3 rows") as said:
        load_npz(tmp_path / "own.npz")
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    "own",
    [
        np.zeros((3, 6, 6), np.uint8),
        np.zeros((3, 1), np.int64),
        np.array(["b", "a", "c"]),
        np.zeros(3, np.float32),
        np.array([True] * 8),
        np.array(3),
    ],
)
def test_somebodys_own_array_of_that_name_is_passed_over(own: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", images=make().images, concept=CONCEPT, exemplar=own)
    found = load_npz(tmp_path / "own.npz")
    assert found.exemplars is None and found.fingerprint == make(None).fingerprint
