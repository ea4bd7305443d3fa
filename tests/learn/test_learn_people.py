"""People's data in its public layout: read as Trials, and refused in a sentence where it is not what it should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn.benchmark import score_people
from exemplar.learn.measures.reading import behaviour_in
from exemplar.learn.people import IMAGE_SETS, generalization_in, load_curves, load_images, load_points, load_trials
from exemplar.learn.stimuli import public_stimuli

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


def test_sessions_of_any_length_are_read_in_both_experiments(tmp_path):
    (meta, long), (meta2, shots) = high_variation(), one_shot()
    long = long[(long["trial"] < 40) & (long["trial_type"] != "probe")]
    catch = shots[shots["trial"] == 14].assign(trial=20)
    folder = write(tmp_path, (meta, long), (meta2, pd.concat([shots, catch])))
    behaviour = behaviour_in(load_trials(folder))
    assert behaviour.n_trials == 39 and len(behaviour.correct) == 6
    trials = load_trials(folder, "oneshot")
    assert trials["trial"].max() == 20 and (trials.frame[trials["trial"] < 10]["phase"] == "train").all()
    assert sorted(trials.frame[trials["phase"] == "catch"]["trial"].unique()) == [14, 19, 20]
    report = score_people(behaviour, seed=0)
    assert report.curves is not None and report.curves[0].curves.n_trials == 39


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
    counts = generalization_in(trials, images, by_participant=False)
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
    "cut short": (lambda m, b: (m, b.iloc[:-10]), "1 of 6 sessions do not have 100 trials"),
    "unknown subtask": (lambda m, b: (m, change(b, 0, "subtask", "MutatorObject000,MutatorObject999")), "not in the metadata"),
    "unknown image": (lambda m, b: (m, change(b, 0, "image_id", "elephant.png")), "not in the metadata: elephant.png"),
    "another's object": (lambda m, b: (m, change(b, 0, "image_id", "MutatorObject003-1.png")), "do not belong to the subtask"),
    "image twice": (lambda m, b: (pd.concat([m, m.iloc[[0]]]), b), "twice"),
    "perf": (lambda m, b: (m, change(b, 7, "perf", 0.5)), "perf must be 0 or 1, and line 9 has '0.5'"),
    "perf in words": (lambda m, b: (m, change(b, 7, "perf", "yes")), "perf must be 0 or 1, and line 9 has 'yes'"),
    "no time-out": (lambda m, b: (m, change(b, 7, "timed_out", None)), "timed_out must be 0 or 1, and line 9 has nothing"),
    "no subtask": (lambda m, b: (m, change(b, 7, "subtask", None)), "subtask must not be empty, and line 9 has nothing"),
    "half a trial": (lambda m, b: (m, change(b, 7, "trial", 7.5)), "trial must be a whole number from 0, and line 9"),
    "time in words": (lambda m, b: (m, change(b, 7, "reaction_time_msec", "fast")), "must be a number, or empty, and line 9"),
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
    once = {"k_correct": np.array([[1], [0]]), "n_sessions": np.array([1, 1])}
    np.savez(tmp_path / "object_learning_exp1_curves.npz", **once, subtask=np.array(["a", "b"]))
    with pytest.raises(UserError, match="fewer than 2 sessions"):
        score_people(load_curves(tmp_path), seed=0)
    np.savez(
        tmp_path / "object_learning_exp2_oneshot.npz",
        transformation=np.array(["a"]),
        level=np.array([1.0]),
        phat=np.array([1.01]),
        se=np.array([0.1]),
    )
    assert load_points(tmp_path).accuracy.tolist() == [1.0]
    points = {"transformation": np.array(["a", "b"]), "level": np.ones(2), "phat": np.ones(2), "se": np.ones(2)}
    for change, sentence in (({"se": np.array([1, np.nan])}, "not finite"), ({"level": np.ones(1)}, "as many in each")):
        np.savez(tmp_path / "object_learning_exp2_oneshot.npz", **{**points, **change})
        with pytest.raises(UserError, match=sentence):
            load_points(tmp_path)


def test_the_command_gives_sessions_where_they_are_and_counts_where_not(public, tmp_path_factory):
    from exemplar.learn.measures.curves import Behaviour, Curves
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


def with_pictures(folder: Path) -> Path:
    """Small PNGs for all images of the public files, each of its own grey, and warm-up images."""
    warmup = pd.DataFrame({"image_id": [f"warm-{k}.png" for k in range(6)], "category": "Warm"})
    warmup.to_csv(folder / "data" / "meta-MutatorWarmupImageset.csv", index=False)
    for name, image_set in IMAGE_SETS.items():
        table = load_images(folder, name)
        for place, (category, image) in enumerate(zip(table.category, table.image, strict=True)):
            path = folder / "data" / "images" / image_set / category / image
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((4, 4), place % 251, np.uint8)).save(path)
    metadata = folder / "data" / "meta-MutatorHighVarImageset.csv"  # `relpath` says where, if it is there
    meta = pd.read_csv(metadata)
    meta["relpath"] = "images/MutatorHighVarImageset/" + meta["category"] + "/" + meta["image_id"]
    meta.to_csv(metadata, index=False)
    return folder


def test_the_very_images_people_saw_are_arranged_by_their_subtasks(public):
    stimuli = public_stimuli(with_pictures(public), 1)
    assert stimuli.subtasks == ("MutatorObject000,MutatorObject001", "MutatorObject002,MutatorObject003")
    assert stimuli.shape == (2, 2, 100) and len(stimuli.warmup) == 6 and not (stimuli.test != "").any()
    meta, _ = high_variation()
    flat = stimuli.image.ravel()
    place = {name: k for k, name in enumerate(meta["image_id"])}
    for row in (0, 99, 137, 399):
        assert (stimuli.pictures.take([row]) == place[flat[row]] % 251).all()
    trials = load_trials(public)
    assert set(trials["stimulus"].astype(str)) <= set(flat.tolist())


def test_the_image_that_is_trained_on_comes_first(public):
    stimuli = public_stimuli(with_pictures(public), 2)
    assert stimuli.image[0, :, 0].tolist() == ["OneshotObject00-train.png", "OneshotObject01-train.png"]
    assert (stimuli.test[0, :, 0] == "").all()
    assert set(stimuli.test[0, 0, 1:]) == {"", "blur | 0.007812", "blur | 0.0625", "scale | 0.5", "scale | 1.5"}


def test_images_that_are_not_there_are_named(public):
    with pytest.raises(UserError, match="meta-MutatorWarmupImageset.csv is missing"):
        public_stimuli(public, 1)
    folder = with_pictures(public)
    victim = folder / "data" / "images" / "MutatorHighVarImageset" / "MutatorObject001" / "MutatorObject001-7.png"
    victim.unlink()
    with pytest.raises(UserError, match="1 of 400 images are missing .*001-7.png.* fetch"):
        public_stimuli(folder, 1)
    (folder / "data" / "images.tar.gz").write_bytes(b"")
    with pytest.raises(UserError, match="unpack .*images.tar.gz"):
        public_stimuli(folder, 1)
    victim.write_bytes(b"no PNG")
    with pytest.raises(UserError, match="not an image that can be read"):
        _ = public_stimuli(folder, 1).pictures.images


def test_a_population_is_scored_and_compared_from_the_public_files(public):
    from exemplar.learn.benchmark import score_against_people, score_people
    from exemplar.learn.outcomes import load_outcome

    people = load_outcome(public, experiment=1)
    assert (
        people.agent == "human"
        and people.experiment == 1
        and len(people.images["MutatorObject000,MutatorObject001"]) > 100
    )
    alone = score_people(people.result, seed=0)
    assert alone.scores["accuracy"].n == 3 and "consistency_ceiling" not in alone.scores
    report = score_against_people(people, people, seed=0)
    assert report.same_images and "individuals_differ" in report.p
    assert any("3 participants did all 2 subtasks" in note for note in report.notes)
    assert any(warning.startswith("no consistency") for warning in report.warnings)
    second = load_outcome(public, experiment=2)
    assert second.experiment == 2 and second.result.catch_shown.sum() == 12


def test_trial_numbers_must_be_numbers(tmp_path):
    meta, behaviour = high_variation()
    folder = write(tmp_path, (meta, change(behaviour, 3, "trial", "three")), one_shot())
    with pytest.raises(UserError, match="trial must be a whole number from 0, and line 5 has 'three'"):
        load_trials(folder)


def test_a_model_that_saw_peoples_images_is_scored_without_more_ado(public):
    from exemplar.learn.benchmark import score_against_people
    from exemplar.learn.features import Features
    from exemplar.learn.outcomes import load_outcome
    from exemplar.learn.running import RunConfig, run_learner
    from exemplar.learn.shared_images import share_images

    folder = with_pictures(public)
    for experiment in (1, 2):
        stimuli = public_stimuli(folder, experiment)
        features = seeds.rng("seen").standard_normal((*stimuli.shape, 5))
        seen = Features(features, None, stimuli.subtasks, stimuli.image, stimuli.test)
        done = run_learner(RunConfig(experiment, n_sessions=100), seen, seed=0)
        people = load_outcome(folder, experiment=experiment)
        shared = share_images(done.outcome, people)
        assert shared.same and shared.share == 1 and shared.by == "images"
        if experiment == 1:  # in 2, six sessions are too few to draw from
            report = score_against_people(done.outcome, people, seed=0)
            assert report.same_images and report.scores["mse_n"].value > 0 and "null" in report.p
