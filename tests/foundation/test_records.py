"""Tables: exact round trips, and a sentence that names the wrong row."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from exemplar.errors import UserError
from exemplar.records import Drawings, Maps, Predictions, Score, Scores, Table, Trials
from exemplar.stats.estimate import Estimate

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def some_drawings(n: int = 3, **changed: object) -> Drawings:
    columns = dict(
        agent="ddpm", data="glyphs", concept=[f"c{k % 2}" for k in range(n)], exemplar=0, index=np.arange(n), seed=7
    )
    return Drawings.of(**{**columns, "image": np.zeros((n, 4, 4), np.uint8), **changed})


def some_trials(**changed: object) -> Trials:
    columns = dict(
        agent="square", participant="p1", subtask="a,b", session=["s1", "s1", "s2"], trial=[0, 1, 0], phase="train",
        stimulus="i", choice=[0, np.nan, 1], correct=[True, False, True], timed_out=[False, True, False],
        reaction_time_ms=[310.5, np.nan, 402.0],
    )  # fmt: skip
    return Trials.of(**{**columns, **changed})


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_drawings_come_back_exactly_as_they_were(data, tmp_path):
    n = data.draw(st.integers(0, 5))
    kind = data.draw(st.sampled_from([np.uint8, np.float16, np.float32, np.float64]))
    values = st.integers(0, 255) if kind == np.uint8 else st.floats(0, 1, width=16)
    table = some_drawings(
        n,
        agent=data.draw(st.lists(names, min_size=n, max_size=n)),
        seed=data.draw(st.lists(st.integers(0, 2**63 - 1), min_size=n, max_size=n)),
        image=data.draw(arrays.arrays(kind, (n, 3, 2), elements=values)),
    )
    table.save(tmp_path)
    again = Drawings.load(tmp_path)
    assert again == table
    assert again.image.dtype == kind and again["seed"].tolist() == table["seed"].tolist()


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(names, st.floats(-1e300, 1e300), st.floats(0, 1e9), st.integers(1, 10**12)),
        max_size=6,
        unique_by=lambda row: row[0],
    )
)
def test_scores_come_back_exactly_as_they_were(tmp_path, rows):
    scores = Scores.collect([Score(name, value, (value - half, value + half), n) for name, value, half, n in rows])
    scores.save(tmp_path)
    assert Scores.load(tmp_path) == scores
    assert list(Scores.load(tmp_path)) == [
        Score(name, value, (value - half, value + half), n) for name, value, half, n in rows
    ]


def test_trials_predictions_and_maps_come_back_exactly_as_they_were(tmp_path):
    trials = some_trials()
    log_p = np.log(
        np.array([[0.5, 0.5, 0], [0.1, 0.2, 0.7]], np.float32),
        where=[[1, 1, 0], [1, 1, 1]],
        out=np.full((2, 3), -np.inf, np.float32),
    )
    predictions = Predictions.of(
        agent="nearest", task=0, set=0, item=[0, 1], label=[0, 2], predicted=[1, 2], log_p=log_p
    )
    maps = Maps.of(
        agent="person",
        participant="p",
        concept=["a"],
        image=np.zeros((1, 4, 4, 3), np.uint8),
        map=np.full((1, 4, 4), -3.5),
    )
    for table in (trials, predictions, maps):
        table.save(tmp_path)
        assert type(table).load(tmp_path) == table
    assert trials["choice"].isna().tolist() == [False, True, False]


def test_the_same_rows_make_the_same_bytes_however_they_were_put_together(tmp_path):
    whole = some_drawings(4)
    parts = Drawings.join([whole.subset([0, 1]), whole.subset([2, 3])])
    assert parts == whole
    for name, table in (("a", whole), ("b", parts)):
        table.save(tmp_path, name)
    for ending in ("parquet", "npz"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_a_subset_keeps_rows_and_images_together():
    table = some_drawings(4, image=np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((1, 2, 2), np.uint8))
    half = table.subset(table["concept"] == "c1")
    assert half["index"].tolist() == [1, 3] and half.image[:, 0, 0].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: some_drawings(index=[0, -1, 2]), "drawings row 1: index is -1, it must be at least 0"),
        (lambda: some_drawings(index=[0, 1.5, 2]), "drawings row 1: index is 1.5, it must be a whole number below 2⁶³"),
        (lambda: some_drawings(index=[0, np.nan, 2]), "drawings row 1: index is nan, it must be a number"),
        (lambda: some_drawings(index=["0", "1", "x"]), "drawings: index must be numbers, not <U1"),
        (lambda: some_drawings(concept=["a", "", "c"]), "drawings row 1: concept is '', it must be text that is not empty"),
        (lambda: some_drawings(concept=["a", None, "c"]), "drawings row 1: concept is missing, it must be text that is not empty"),
        (lambda: some_drawings(concept=["a", 7, "c"]), "drawings row 1: concept is 7, it must be text that is not empty"),
        (lambda: some_drawings(concept=["a", "\ud800", "c"]), "drawings row 1: concept is '\\ud800', it must be text that is not empty"),
        (lambda: some_drawings(concept=["a", "b"]), "drawings: index has 3 rows, concept has 2"),
        (lambda: some_drawings(index=[0, 1, 1], concept="x"), "drawings row 2 is a duplicate (agent ddpm, data glyphs, concept x, exemplar 0, index 1, seed 7): keep one of them"),
        (lambda: some_drawings(colour=3), "there is no column 'colour' in drawings: there are agent, concept, data, exemplar, image, index, seed"),
        (lambda: some_drawings(image=np.full((3, 4, 4), np.nan)), "drawings row 0: image has values outside [0, 1], or NaN"),
        (lambda: some_drawings(image=np.full((3, 4, 4), 1.5)), "drawings row 0: image has values outside [0, 1], or NaN"),
        (lambda: some_drawings(image=np.zeros((3, 4))), "drawings: image must be uint8 or float of 3 dimensions, it is (3, 4) float64"),
        (lambda: some_drawings(image=np.zeros((3, 4, 4), int)), "drawings: image must be uint8 or float of 3 dimensions, it is (3, 4, 4) int64"),
        (lambda: Trials.of(agent="a"), "trials needs the column participant, this has agent"),
        (lambda: some_trials(correct=[1, 0, 2]), "trials row 2: correct is 2, it must be true or false"),
        (lambda: some_trials(correct=True), "trials row 1 is both timed out and correct: a time-out counts as incorrect"),
        (lambda: some_trials(reaction_time_ms=[-1, 1, 1]), "trials row 0: reaction_time_ms is -1, it must be at least 0"),
        (lambda: some_trials(reaction_time_ms=[np.inf, 1, 1]), "trials row 0: reaction_time_ms is inf, it must be finite"),
        (lambda: Scores.collect([Score("diversity", 1.0, (2.0, 0.0), 5)]), "scores row 0 (diversity) has no proper interval: it must have lo ≤ hi"),
        (lambda: Scores.collect([Score("diversity", 1.0, (np.nan, np.nan), 5)]), "scores row 0 (diversity) has no proper interval: it must have lo ≤ hi"),
        (lambda: Score("diversity", np.nan, (0, 1), 5), "the score diversity is nan: it cannot be computed from these records"),
        (lambda: some_trials(trial=0), "trials row 1 is a duplicate (agent square, participant p1, subtask a,b, session s1, trial 0): keep one of them"),
        (lambda: some_trials(reaction_time_ms=[0.3, np.nan, 0.5]), "reaction_time_ms has a median of 0.4, too little for milliseconds: if these are seconds, multiply by 1000"),
        (lambda: Drawings.join([]), "there are no drawings to join"),
        (lambda: Drawings.join([some_drawings(), some_drawings(agent="b", image=np.zeros((3, 5, 5), np.uint8))]), "drawings whose image differs in shape cannot be joined"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_row(make, sentence):
    with pytest.raises(UserError) as caught:
        make()
    assert str(caught.value).startswith(sentence)


def test_half_of_the_times_must_be_possible_in_milliseconds():
    assert some_trials(reaction_time_ms=[20, np.nan, 20])["reaction_time_ms"].median() == Trials.FASTEST_MS
    assert (
        some_trials(reaction_time_ms=[0, 0, 0])["reaction_time_ms"].median() == 0
    )  # a simulation, which takes no time
    assert some_trials(reaction_time_ms=np.nan)["reaction_time_ms"].isna().all()


@pytest.mark.parametrize(
    "numbers", [[1, 1, 2], np.array([1, 1, 2]), pd.Series([1, 1, 2]), np.array([1, 1, 2], np.uint8)]
)
@pytest.mark.parametrize("name", ["participant", "subtask", "session", "stimulus"])
def test_whole_numbers_that_name_something_become_text(name, numbers):
    trials = some_trials(**{"session": "s", "trial": [0, 1, 2], name: numbers})
    assert trials[name].tolist() == ["1", "1", "2"]


def test_what_a_table_lacks_it_says():
    with pytest.raises(AttributeError, match="Drawings has no colour"):
        some_drawings().colour  # noqa: B018
    with pytest.raises(AttributeError, match="Drawings has no agent"):  # a column is got by its name: table["agent"]
        some_drawings().agent  # noqa: B018
    assert not hasattr(Drawings.__new__(Drawings), "image")  # while it is unpickled


def test_an_estimate_becomes_a_score_with_each_label_in_its_place():
    labels = {"agent": "a", "concept": "c", "space": "s", "variant": "v"}
    score = Score.of("diversity", Estimate(0.4, 0.3, 0.6, 150), **labels)
    assert score == Score(name="diversity", value=0.4, ci95=(0.3, 0.6), n=150, **labels)
    assert score.label == "a, c, s, v" and Score.of("x", Estimate(1, 0, 2, 3)).label == ""
    assert score.row() == {"name": "diversity", **labels, "value": 0.4, "ci95": [0.3, 0.6], "n": 150}
    other = Score.of("diversity", Estimate(np.float32(0.5), np.float64(0), np.int64(1), 150), n=7)
    assert (other.n, other.ci95, other.label) == (7, (0.0, 1.0), "")
    assert all(type(part) is float for part in (other.value, *other.ci95))


def test_what_a_column_may_hold_is_fixed():
    for fixed, name in (
        (Trials.COLUMNS["choice"], "low"),
        (Drawings.ARRAYS["image"], "unit"),
        (Score("a", 1, (0, 2), 3), "n"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(fixed, name, 5)


def test_a_score_of_one_thing_may_go_without_an_interval():
    assert Scores.collect([Score("distance", 1.0, (np.nan, np.nan), 1)])["lo"].isna().all()
    assert Score("distance", 1.0, (np.nan, np.nan), 1).json() == {"value": 1.0, "ci95": [None, None], "n": 1}


def test_a_file_of_another_version_says_so(tmp_path):
    path = some_drawings().save(tmp_path)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"exemplar"])
    later = table.replace_schema_metadata(
        {**table.schema.metadata, b"exemplar": json.dumps({**about, "version": 99}).encode()}
    )
    pq.write_table(later, path)
    with pytest.raises(UserError, match="version 99 of this table, this Exemplar reads version 1"):
        Drawings.load(tmp_path)


def test_a_table_of_another_kind_or_from_elsewhere_is_refused(tmp_path):
    some_trials().save(tmp_path, "drawings")
    with pytest.raises(UserError, match="holds no drawings written by Exemplar"):
        Drawings.load(tmp_path)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "trials.parquet")
    with pytest.raises(UserError, match="holds no trials written by Exemplar"):
        Trials.load(tmp_path)
    with pytest.raises(UserError, match="there is no file"):
        Scores.load(tmp_path)


def test_images_of_another_table_are_refused(tmp_path):
    some_drawings().save(tmp_path, "a")
    some_drawings(image=np.ones((3, 4, 4), np.uint8)).save(tmp_path, "b")
    (tmp_path / "b.npz").replace(tmp_path / "a.npz")
    with pytest.raises(UserError, match=r"a\.npz does not belong to a\.parquet"):
        Drawings.load(tmp_path, "a")


@pytest.mark.parametrize("ending", ["parquet", "npz"])
@pytest.mark.parametrize("keep", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_one_sentence(tmp_path, ending, keep):
    some_drawings(50, index=np.arange(50), image=np.random.default_rng(0).integers(0, 256, (50, 9, 9), np.uint8)).save(
        tmp_path
    )
    path = tmp_path / f"drawings.{ending}"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(UserError):
        Drawings.load(tmp_path)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    table = some_drawings()
    table.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(UserError, match="No space left on device"):
        table.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_columns_are_those_the_design_names():
    """Whoever adds or renames a column changes what every record on disk means: raise VERSION, and say so in the changelog."""
    tables: tuple[type[Table], ...] = (Drawings, Trials, Predictions, Maps, Scores)
    assert {table.title(): [*table.COLUMNS, *table.ARRAYS] for table in tables} == {
        "drawings": ["agent", "data", "concept", "exemplar", "index", "seed", "image"],
        "trials": [
            "agent", "participant", "subtask", "session", "trial", "phase", "stimulus", "choice", "correct",
            "reaction_time_ms", "timed_out", "refresh_hz", "dropped_frames",
        ],
        "predictions": ["agent", "task", "set", "item", "label", "predicted", "log_p"],
        "maps": ["agent", "participant", "concept", "image", "map"],
        "scores": ["name", "value", "lo", "hi", "n", "agent", "concept", "space", "variant"],
    }  # fmt: skip
