"""Names to generators: stable, independent, whatever the order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@dataclass(frozen=True)
class Job:
    ways: int
    rate: float


def test_a_name_always_gives_the_same_numbers():
    first = seeds.rng("draw", "ddpm", 3).normal(size=5)
    seeds.rng("something", "else").normal(size=99)  # nobody else's draws matter
    assert np.array_equal(first, seeds.rng("draw", "ddpm", 3).normal(size=5))


def test_the_numbers_of_a_name_are_the_same_on_every_machine_and_in_every_version():
    """Changing these changes every seeded result: a line in the changelog's "Scores changed" must say so."""
    assert seeds.digest("draw", "ddpm", 3) == "d2551084d43d08736d24f221067a6658"
    assert seeds.seed("draw", "ddpm", 3) == 365991120239556434
    assert seeds.rng("draw", "ddpm", 3).integers(0, 1000, 4).tolist() == [383, 375, 531, 405]
    of_each_kind = (
        {"b": [1, 1.5, None], "a": (True, 2j)},
        b"x",
        Path("p"),
        np.arange(3),
        np.zeros((0, 2)),
        Job(5, 0.5),
    )
    assert seeds.digest(*of_each_kind) == "173a1ceac7abc1dd757a3b81d46562e2"


@settings(deadline=None)
@given(plain, plain)
def test_different_names_have_different_digests(a, b):
    same = repr(a) == repr(b) or (isinstance(a, dict) and a == b and str(a) == str(b))
    if same:
        assert seeds.digest(a) == seeds.digest(b)
    elif seeds.digest(a) == seeds.digest(b):
        assert a == b  # only dicts in another order may meet


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (("a", "bc"), ("ab", "c")),
        ((1,), (1.0,)),
        ((1,), ("1",)),
        ((1,), (True,)),
        (([1, 2], [3]), ([1], [2, 3])),
        ((np.zeros(2),), (np.zeros((2, 1)),)),
        ((np.zeros(2),), (np.zeros(2, np.float32),)),
        ((Job(1, 2.0),), (Job(2, 1.0),)),
        ((None,), ()),
        ((b"x",), ("x",)),
        ((np.array([1.0, 2.0]),), (np.array([1.0, 3.0]),)),
        ((np.array([]),), (np.array([0.0]),)),
        (({"a": 1},), ({"b": 1},)),
        (({"a": 1},), ({"a": 2},)),
        (({"a": 1}, {"b": 2}), ({"a": 1, "b": 2}, {})),
        (({1: "a", "1": "b"},), ({1: "b", "1": "a"},)),
        ((Path("x"),), ("x",)),
    ],
)
def test_values_that_look_alike_are_told_apart(a, b):
    assert seeds.digest(*a) != seeds.digest(*b)


def test_a_numpy_number_counts_as_the_number_it_holds():
    assert seeds.digest(np.int64(3), np.float64(0.5)) == seeds.digest(3, 0.5)


def test_the_order_of_a_dict_does_not_matter():
    assert seeds.digest({"a": 1, "b": 2}) == seeds.digest({"b": 2, "a": 1})
    assert seeds.digest({"a": 1, "b": 1}) == seeds.digest({"b": 1, "a": 1})  # values that say nothing about the order
    assert seeds.digest({1: 2, "1": 1}) == seeds.digest(
        {"1": 1, 1: 2}
    )  # keys that look alike, and values that cannot be sorted
    assert seeds.digest({"a": 1, 2: None, 1: "b"}) == seeds.digest({1: "b", 2: None, "a": 1})


def test_streams_of_neighbouring_names_are_uncorrelated():
    draws = np.stack([seeds.rng("job", k).normal(size=2000) for k in range(40)])
    off_diagonal = np.corrcoef(draws)[np.triu_indices(40, 1)]
    assert abs(off_diagonal.mean()) < 4 / np.sqrt(2000 * len(off_diagonal))
    assert abs(off_diagonal).max() < 5 / np.sqrt(2000)


def test_torch_generators_follow_their_names_too():
    import torch

    a = torch.rand(3, generator=seeds.torch_rng("a"))
    assert torch.equal(a, torch.rand(3, generator=seeds.torch_rng("a")))
    assert not torch.equal(a, torch.rand(3, generator=seeds.torch_rng("b")))


def test_what_has_no_stable_name_is_refused():
    with pytest.raises(TypeError, match="no digest"):
        seeds.digest(object())
    with pytest.raises(TypeError, match="no digest"):
        seeds.digest(np.array([object()]))


def test_what_a_class_is_called_decides_no_seed_and_no_digest():
    """Renaming a class moves no number: a frozen name counts where there is one, and nothing where there is none."""

    def made(title: str, frozen: str | None) -> object:
        kind = dataclass(frozen=True)(type(title, (), {"__annotations__": {"ways": int}, "ways": 5}))
        if frozen is not None:
            kind.digest_name = frozen
        return kind()

    assert seeds.digest(made("Old", "frozen")) == seeds.digest(made("New", "frozen"))
    assert seeds.digest(made("Same", "one")) != seeds.digest(made("Same", "other"))
    assert seeds.digest(made("Old", None)) == seeds.digest(made("New", None))


def test_names_that_are_on_cards_files_and_in_seeds_stay_as_they_are():
    """Changing any of these makes shipped weights unreadable, or moves results."""
    from exemplar import records
    from exemplar.learn.tasks import ObjectLearning, OneShot
    from exemplar.spaces.inputs import DrawingInput, PhotoInput

    assert [kind.digest_name for kind in (DrawingInput, PhotoInput)] == ["DrawingInput", "PhotoInput"]
    assert [kind.seed_name for kind in (ObjectLearning, OneShot)] == ["ObjectLearning", "OneShot"]
    tables = (records.Drawings, records.Trials, records.Predictions, records.Maps, records.Scores)
    assert [kind.TITLE for kind in tables] == ["drawings", "trials", "predictions", "maps", "scores"]
