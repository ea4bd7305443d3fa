"""People's data in its public layout: read as Trials, and refused in a sentence where it is not what it should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn.curves import behaviour_in
from exemplar.learn.people import generalization_in, load_curves, load_images, load_points, load_trials

PROBES = (25, 51, 77, 103)
TESTS = [("blur", 0.0078125), ("blur", 0.0625), ("scale", 0.5), ("scale", 1.5), ("combinednat", 0.0)]


def high_variation() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Metadata of 4 objects × 100 images, and behaviour of 3 people in 2 subtasks, 104 trials each."""
    rng = seeds.rng("public 1")
    objects = [f"MutatorObject{i:03d}" for i in range(4)]
    meta = pd.DataFrame(
        [
            {"image_id": f"{o}-{i}.png", "category": o, "sha256": "0", "relpath": "x"}
            for o in objects
            for i in range(100)
        ]
    )
    rows = []
    for subtask in (objects[:2], objects[2:]):
        for worker in range(3):
            images = rng.permutation([f"{o}-{i}.png" for o in subtask for i in range(100)])
            for trial in range(104):
                probe = trial in PROBES
                rows.append({
                    "trial": trial, "assignment_id": f"a{subtask[0][-1]}{worker}", "worker_id": f"w{worker}", "subtask": ",".join(subtask),
                    "image_id": "probe.png" if probe else images[trial], "trial_type": "probe" if probe else "normal",
                    "stimulus_duration_msec": 200, "reaction_time_msec": float(rng.uniform(200, 900)), "timed_out": trial == 3 and worker == 0,
                    "perf": int(rng.random() < 0.8), "timestamp_start": 0,
                })  # fmt: skip
    return meta, pd.DataFrame(rows)


def one_shot() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Metadata of 2 objects, and 6 sessions of 20 trials by 3 people: two slots of one assignment each."""
    rng = seeds.rng("public 2")
    objects = ["OneshotObject00", "OneshotObject01"]
    meta = [
        {"image_id": f"{o}-train.png", "category": o, "transformation": "original", "transformation_level": 0.0}
        for o in objects
    ]
    meta += [
        {"image_id": f"{o}-{kind}-{level}-{copy}.png", "category": o, "transformation": kind, "transformation_level": round(level, 6)}
        for o in objects for kind, level in TESTS for copy in range(2)
    ]  # fmt: skip
    table, rows = pd.DataFrame(meta), []
    for worker in range(3):
        for slot in range(2):
            tests = table[table["transformation"] != "original"]["image_id"].to_numpy()
            shown = rng.permutation(tests)[:20]
            for trial in range(20):
                train = trial < 10 or trial in (14, 19)
                rows.append({
                    "trial": trial, "assignment_id": f"a{worker}", "slot": slot, "worker_id": f"w{worker}", "subtask": ",".join(objects),
                    "image_id": f"{objects[trial % 2]}-train.png" if train else shown[trial], "trial_type": "normal",
                    "stimulus_duration_msec": 200, "reaction_time_msec": 300.0, "timed_out": 0, "perf": int(trial != 14 or worker > 0), "timestamp_start": 0,
                })  # fmt: skip
    return table, pd.DataFrame(rows)


def write(folder: Path, first: tuple[pd.DataFrame, pd.DataFrame], second: tuple[pd.DataFrame, pd.DataFrame]) -> Path:
    (folder / "data" / "behavior").mkdir(parents=True)
    for (meta, behaviour), image_set, name in (
        (first, "MutatorHighVar", "highvar"),
        (second, "MutatorOneShot", "oneshot"),
    ):
        meta.to_csv(folder / "data" / f"meta-{image_set}Imageset.csv", index=False)
        behaviour.to_csv(folder / "data" / "behavior" / f"human-behavior-{name}-subtasks.csv", index=False)
    return folder


@pytest.fixture
def public(tmp_path) -> Path:
    return write(tmp_path, high_variation(), one_shot())


def test_probe_trials_are_dropped_and_the_rest_numbered_anew(public):
    trials, (_, raw) = load_trials(public), high_variation()
    assert len(trials) == 6 * 100 and trials["trial"].max() == 99
    behaviour = behaviour_in(trials)
    assert len(behaviour.subtasks) == 2 and behaviour.curves().n_sessions.tolist() == [3, 3]
    mine = raw[(raw["assignment_id"] == "a01") & (raw["trial_type"] != "probe")]
    session = trials.frame[trials["session"] == "a01"]
    assert (session["stimulus"].astype(str).to_numpy() == mine["image_id"].to_numpy()).all()
    assert (session["correct"].to_numpy() == mine["perf"].to_numpy().astype(bool)).all()


def test_a_time_out_counts_as_incorrect(public):
    trials = load_trials(public).frame
    late = trials[trials["timed_out"]]
    assert len(late) == 2 and not late["correct"].any()


def test_the_folder_around_data_and_data_itself_read_alike(public):
    assert load_trials(public) == load_trials(public / "data")


def test_one_shot_sessions_are_keyed_by_assignment_and_slot_and_scored_by_test(public):
    trials, images = load_trials(public, "oneshot"), load_images(public, "oneshot")
    assert len(trials) == 6 * 20 and trials["session"].nunique() == 6
    assert images.tests == (
        "blur | 0.007812",
        "blur | 0.0625",
        "scale | 0.5",
        "scale | 1.5",
    )  # combinednat is shown, not scored
    counts = generalization_in(trials, images)
    assert (
        len(counts) == 6
        and counts.catch_shown.tolist() == [2] * 6
        and counts.catch_correct.tolist() == [1, 1, 2, 2, 2, 2]
    )
    shown = trials.frame[(trials["phase"] == "test") & ~trials["stimulus"].astype(str).str.contains("combined")]
    assert counts.n_shown.sum() == len(shown)
    by = generalization_in(trials, images, by_participant=True)
    assert len(by) == 3 and by.catch_shown.tolist() == [4] * 3 and by.catch_correct.tolist() == [2, 4, 4]


def change(table: pd.DataFrame, row: int, column: str, value: object) -> pd.DataFrame:
    table = table.astype({column: object})
    table.loc[row, column] = value
    return table


BROKEN = {
    "missing column": (lambda m, b: (m, b.drop(columns=["perf", "worker_id"])), "has no column worker_id, perf"),
    "missing in metadata": (lambda m, b: (m.drop(columns="category"), b), "has no column category"),
    "duplicate trial": (lambda m, b: (m, pd.concat([b, b.iloc[[5]]])), "has trial 5 of session a00 twice"),
    "cut short": (lambda m, b: (m, b.iloc[:-10]), "1 of 6 sessions have not 100 trials"),
    "unknown subtask": (lambda m, b: (m, change(b, 0, "subtask", "MutatorObject000,MutatorObject999")), "unknown to the metadata"),
    "unknown image": (lambda m, b: (m, change(b, 0, "image_id", "elephant.png")), "does not know: elephant.png"),
    "another's object": (lambda m, b: (m, change(b, 0, "image_id", "MutatorObject003-1.png")), "do not belong to the subtask"),
    "image twice": (lambda m, b: (pd.concat([m, m.iloc[[0]]]), b), "twice"),
    "perf": (lambda m, b: (m, change(b, 7, "perf", 0.5)), "perf must be 0 or 1, row 7 has"),
    "no rows": (lambda m, b: (m, b.iloc[:0]), "has no rows"),
}  # fmt: skip


@pytest.mark.parametrize("broken,sentence", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_refused_in_a_sentence(tmp_path, broken, sentence):
    folder = write(tmp_path, broken(*high_variation()), one_shot())
    with pytest.raises(UserError, match=sentence) as problem:
        load_trials(folder)
    assert "\n" not in str(problem.value)


def test_what_is_not_there_or_not_a_table_is_said(tmp_path):
    with pytest.raises(UserError, match="is missing"):
        load_trials(tmp_path)
    with pytest.raises(UserError, match="choose highvar"):
        load_trials(tmp_path, "high")
    with pytest.raises(UserError, match="is missing"):
        load_curves(tmp_path)
    write(tmp_path, high_variation(), one_shot())
    (tmp_path / "data" / "behavior" / "human-behavior-highvar-subtasks.csv").write_bytes(b"\xff\x00\x01")
    with pytest.raises(UserError):
        load_trials(tmp_path)


def test_counts_that_cannot_be_are_refused(tmp_path):
    np.savez(
        tmp_path / "object_learning_exp1_curves.npz",
        k_correct=np.array([[9]]),
        n_sessions=np.array([5]),
        subtask=np.array(["a"]),
    )
    with pytest.raises(UserError, match="do not belong together"):
        load_curves(tmp_path)
    np.savez(
        tmp_path / "object_learning_exp2_oneshot.npz",
        transformation=np.array(["a"]),
        level=np.array([1.0]),
        phat=np.array([1.01]),
        se=np.array([0.1]),
    )
    assert load_points(tmp_path).accuracy.tolist() == [1.0]


def test_the_command_gives_sessions_where_they_are_and_counts_where_not(public, tmp_path_factory):
    from exemplar.learn.curves import Behaviour, Curves
    from exemplar.learn.people import load_people

    assert isinstance(load_people(public), Behaviour)
    folder = tmp_path_factory.mktemp("counts")
    names = np.array(["a", "b"])
    np.savez(
        folder / "object_learning_exp1_curves.npz",
        k_correct=np.ones((2, 3), int),
        n_sessions=np.array([2, 2]),
        subtask=names,
    )
    assert isinstance(load_people(folder), Curves)
