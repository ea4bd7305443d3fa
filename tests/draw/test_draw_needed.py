"""Only what is needed of a large data set is encoded, and the scores are those of all of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar.draw import encoding
from exemplar.draw.critics import load_critics
from exemplar.draw.encoding import encode_own, pick_needed
from exemplar.draw.tasks import make_task
from exemplar.images.concepts import ConceptSet


def numbered(n: int) -> ConceptSet:
    """Images whose first pixel is their row."""
    images = np.zeros((n, 4, 4), np.uint8)
    images[:, 0, 0] = np.arange(n)
    return ConceptSet.of("numbered", images, [k % 2 for k in range(n)])


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 60), st.integers(0, 1000), st.booleans())
def test_rows_stand_for_the_same_images_in_the_part(n, seed, both):
    rng = np.random.default_rng(seed)
    data, rows = numbered(n), rng.integers(n, size=(2, 3))
    more = rng.integers(n, size=(2, 4)) if both else None
    part, found, found_more = pick_needed(data, rows, more)
    assert np.array_equal(part.take(found.ravel())[:, 0, 0], rows.ravel()) and found.shape == rows.shape
    if more is None:
        assert found_more is None
    else:
        assert found_more is not None and np.array_equal(part.take(found_more.ravel())[:, 0, 0], more.ravel())
    assert len(part) <= len(data)


def test_few_are_picked_and_most_are_left_as_they_are():
    data = numbered(20)
    assert len(pick_needed(data, np.array([3, 7]), np.array([[3, 9]]))[0]) == 3
    assert pick_needed(data, np.arange(11), None)[0] is data


def test_features_of_a_part_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch):
    from exemplar.images.catalogue import load

    task = make_task(load("glyphs", "weak-test"), exemplar="random", rng=np.random.default_rng(0))
    critics, counted = load_critics(task.data), []
    plain = encoding.encode_all
    monkeypatch.setattr(
        encoding, "encode_all", lambda spaces, sets, **more: counted.append(len(sets[0])) or plain(spaces, sets, **more)
    )
    few = encode_own(task, critics, 3)
    monkeypatch.setattr(encoding, "pick_needed", lambda data, rows, more: (data, rows, more))
    every = encode_own(task, critics, 3)
    assert counted == [4 * len(task.concepts), len(task.data)]
    for one, other in zip((*few.see, *few.recognise), (*every.see, *every.recognise), strict=True):
        for name in ("drawn", "exemplars"):
            assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-4, atol=1e-4)
