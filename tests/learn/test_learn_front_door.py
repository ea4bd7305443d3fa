"""The room as a notebook meets it: every verb, every exported name, nothing of the command line."""

from __future__ import annotations

import doctest
import inspect
import json
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import exemplar as ex
from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.objects.pictures import Pictures
from exemplar.images.pixels import Files
from exemplar.learn.experiments import RunRequest
from exemplar.learn.room import ROOM
from exemplar.records import Scores, Trials
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.networks import efficientnet_lite
from exemplar.spaces.space import PixelSpace
from exemplar.spaces.stage_space import StageSpace

SMALL = {"sessions": 40, "trials": 20}
SUBTASKS = ("cat,dog", "cup,pan", "fir,oak", "hat,cap")


def clouds(seed: int = 0) -> dict[str, np.ndarray]:
    """Features of two clouds per subtask, with names of subtasks and images."""
    rng = seeds.rng("front door clouds", seed)
    x = (
        rng.standard_normal((4, 2, 20, 12))
        + rng.standard_normal((4, 2, 1, 12)) * np.linspace(0.3, 1, 4)[:, None, None, None]
    )
    image = [[[f"{item}-{k:02d}.png" for k in range(20)] for item in pair.split(",")] for pair in SUBTASKS]
    warmup = rng.standard_normal((60, 12)) * 1.5
    return {"features": x, "warmup": warmup, "subtask": np.array(SUBTASKS), "image": np.array(image)}


# what a verb answers


def test_a_notebook_runs_scores_and_compares_without_a_file(tmp_path: Path) -> None:
    one = ex.learn.run(features=clouds(), **SMALL)
    other = ex.learn.run(features=clouds(), rule="reinforce", seed=1, **SMALL)
    assert one.folder is None and one.figures == {} and one.warnings == () and one["rule"] == "square"
    assert isinstance(one.scores, Scores) and set(one.scores["name"]) >= {"accuracy", "early", "late", "trial_2"}
    scored, compared = ex.learn.score(one, people=other), ex.learn.compare(one, other)
    assert set(scored.json()) >= {"mse_n", "noise_floor", "p", "rows", "notes", "same_images", "agent", "seed"}
    assert len(scored.scores or ()) == len([v for v in scored.json().values() if isinstance(v, dict) and "ci95" in v])
    assert compared["first"] == "square" and compared["second"] == "reinforce"
    # the same from folders
    kept = [
        ex.learn.run(features=clouds(), rule=rule, seed=seed, out=tmp_path / rule, records=True, **SMALL)
        for seed, rule in enumerate(("square", "reinforce"))
    ]
    assert kept[0].folder == tmp_path / "square" and kept[0].figures["learning"].read_text("utf-8").startswith("<svg")
    for ways in (kept, [tmp_path / "square", str(tmp_path / "reinforce")], [run.outcome for run in kept]):
        assert ex.learn.score(ways[0], people=ways[1]).json() == scored.json()
    trials = Trials.load(tmp_path / "square")
    assert ex.learn.score(trials, people=other)["mse_n"]["value"] == pytest.approx(scored["mse_n"]["value"])
    again = ex.learn.score(kept[0], people=kept[1], out=tmp_path / "score")
    assert again.json() == scored.json() | {"out": str(tmp_path / "score")} and again.figures["learning"].is_file()


def test_an_answer_shows_itself_in_a_notebook(tmp_path: Path) -> None:
    done = ex.learn.run(features=clouds(), out=tmp_path / "run", **SMALL)
    page = done._repr_html_()
    assert "<table>" in page and "<svg" in page and str(tmp_path / "run") in page
    bare = {"features": clouds()["features"] * 9}
    doubtful = ex.learn.run(features=bare, **SMALL)
    assert doubtful["scaled_by"] == "the images themselves" and "give `warmup`" in doubtful.warnings[0]
    assert "Warning" in doubtful._repr_html_()


def test_an_agent_of_ones_own_may_be_a_class_or_an_object() -> None:
    class Mine(ex.learn.LinearLearner):
        def __init__(self) -> None:
            super().__init__(ex.learn.make_rule("square"))

    given = {"features": clouds(), "sessions": 5, "trials": 20}
    rule = ex.learn.run(**given)
    for agent, name in ((Mine, "Mine"), (Mine(), "Mine"), (ex.learn.make_agent("square"), "LinearLearner")):
        found = ex.learn.run(agent=agent, **given)
        assert found["curve"] == rule["curve"] and found["rule"] == found.outcome.agent == name


def test_a_folder_with_a_run_of_other_code_is_not_taken_for_this_one(tmp_path: Path) -> None:
    code = "class Mine:\n    reset = feedback = print\n    def choose(self, x): return {key}\n"
    given: dict[str, Any] = {"features": clouds(), "sessions": 2, "trials": 3, "out": tmp_path / "run"}
    for key in (0, 0, 1):
        (tmp_path / "mine.py").write_text(code.format(key=key), encoding="utf-8")
        if key == 0:
            ex.learn.run(agent=f"{tmp_path / 'mine.py'}:Mine", **given)
    with pytest.raises(UserError, match=r"holds another run \(data.agent"):
        ex.learn.run(agent=f"{tmp_path / 'mine.py'}:Mine", **given)


def test_people_are_described_with_the_warning_that_belongs_to_counts(tmp_path: Path) -> None:
    counts = {"k_correct": np.array([[5, 8], [5, 9], [6, 4]]), "n_sessions": np.array([10, 10, 9])}
    np.savez(tmp_path / "object_learning_exp1_curves.npz", subtask=np.array(["a", "b", "c"]), **counts)  # type: ignore[arg-type]
    found = ex.learn.human(tmp_path)
    assert (
        found["sessions"] == 29
        and "too narrow." in found.warnings[0]
        and found["notes"][0].lower() in found.warnings[0].lower()
    )
    assert found.scores is not None and len(found.scores) == len({*found.scores["name"]})


def test_people_s_scores_of_both_experiments_fit_one_table() -> None:
    found = ex.learn.human()
    assert {"one_shot_root_noise_floor", "root_noise_floor"} <= set(found.scores["name"])  # type: ignore[index]
    for score in found.scores or ():
        assert found[score.name] == score.json()


def test_objects_are_drawn_once_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = count_rows(monkeypatch, Pictures)
    for out in ("o.npz", "folder"):
        found = ex.learn.objects(tmp_path / out, objects=2, views=3, size=16, engine="here")
        assert found["objects"] == 2 and found.figures["sheet"].is_file()
        assert sorted(drawn.values()) == [1] * (6 + 400)
        drawn.clear()
    assert found.folder == tmp_path / "folder"


# each network once, each image once, each weight once


def count_rows(monkeypatch: pytest.MonkeyPatch, store: type) -> Counter[Any]:
    """How often each image of any store of this kind is taken."""
    taken: Counter[Any] = Counter()
    take = store.take  # type: ignore[attr-defined]

    def counted(self: Any, rows: np.ndarray) -> np.ndarray:
        for row in np.arange(len(self))[rows]:
            name = self.paths[row] if store is Files else (self.views.concept[row], int(self.views.index[row]))
            taken[name] += 1
        return take(self, rows)  # type: ignore[no-any-return]

    monkeypatch.setattr(store, "take", counted)
    return taken


def small_images(folder: Path) -> Path:
    """Two objects with three images each, and four warm-up images, in the public layout."""
    for name, objects, n in (("MutatorHighVarImageset", ("A", "B"), 3), ("MutatorWarmupImageset", ("W",), 4)):
        rows = [{"image_id": f"{item}-{k}.png", "category": item} for item in objects for k in range(n)]
        for place, row in enumerate(rows):
            path = folder / "data" / "images" / name / row["category"] / row["image_id"]
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = seeds.rng("small image", name, place).integers(0, 256, (24, 24)).astype(np.uint8)
            Image.fromarray(pixels).save(path)
        pd.DataFrame(rows).to_csv(folder / "data" / f"meta-{name}.csv", index=False)
    return folder


def test_a_stage_is_loaded_once_its_weights_hashed_once_and_each_image_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    loaded: Counter[str] = Counter()
    load, identity = efficientnet_lite.load_efficientnet_lite, StageSpace.identity.fget  # type: ignore[attr-defined]

    def counted_load(name: str) -> Any:
        loaded[name] += 1
        return load(name)

    def counted_identity(self: StageSpace) -> str:
        loaded["hashed"] += 1
        return identity(self)  # type: ignore[no-any-return]

    monkeypatch.setattr(efficientnet_lite, "load_efficientnet_lite", counted_load)
    monkeypatch.setattr(StageSpace, "identity", property(counted_identity))
    decoded = count_rows(monkeypatch, Files)
    given: dict[str, Any] = {"images": small_images(tmp_path), "sessions": 4, "trials": 3}
    first = ex.learn.run("efficientnet-lite0/stem", **given)
    assert loaded == {"efficientnet-lite0": 1, "hashed": 1}
    assert len(decoded) == 6 + 4 and set(decoded.values()) == {1}
    again = ex.learn.run("efficientnet-lite0/stem", rule="square", **given)  # features are kept: nothing is decoded
    assert set(decoded.values()) == {1} and loaded == {"efficientnet-lite0": 2, "hashed": 2}
    assert again["curve"] == first["curve"]


def test_built_in_images_are_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, made = PixelSpace(PhotoInput((12, 12))), []
    monkeypatch.setattr("exemplar.learn.stage_features.load_stage", lambda name: made.append(name) or pixels)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    drawn = count_rows(monkeypatch, Pictures)
    found = ex.learn.run("a/b", subtasks=1, views=4, choices=3, sessions=4, trials=4)
    assert found["subtasks"] == 1 and made == ["a/b"]
    assert sorted(drawn.values()) == [1] * (3 * 4 + 400)


# wrong input


WRONG: dict[str, tuple[Any, str]] = {
    "objects": (lambda: ex.learn.objects("x", objects=1), "objects must be at least 2, got 1"),
    "human variant": (lambda: ex.learn.human(variant="papers"), "did you mean paper"),
    "human folder": (lambda: ex.learn.human("no/such/folder"), "there is no file or folder"),
    "run nothing": (lambda: ex.learn.run(), "give either"),
    "run experiment": (lambda: ex.learn.run("a/b", experiment=3), "experiment must be at most 2, got 3"),
    "run stage": (lambda: ex.learn.run("pixels", subtasks=1), "is no stage"),
    "run arrays": (lambda: ex.learn.run(features={"feature": np.ones(2)}), "did you mean features"),
    "run no features": (lambda: ex.learn.run(features={"warmup": np.ones((2, 2))}), "no array `features`"),
    "run text": (lambda: ex.learn.run(features={"features": np.array("x")}), "features must be numbers"),
    "run shape": (lambda: ex.learn.run(features={"features": np.ones((2, 2))}), r"must be \(subtasks"),
    "run agent": (lambda: ex.learn.run(features=clouds(), agent=object()), "object has no method reset"),
    "run rate": (lambda: ex.learn.run(features=clouds(), agent=object(), rate=2), "takes no learning rate"),
    "score": (lambda: ex.learn.score("no/such/run"), "there is no file or folder"),
    "score answer": (lambda: ex.learn.score(ex.learn.list_agents()), "no run folder"),
    "score seed": (lambda: ex.learn.score("x", seed=-1), "seed must be at least 0"),
    "study encoder": (lambda: ex.learn.study(encoder=["efficientnet-lite9"]), "no encoder"),
    "study few": (lambda: ex.learn.study(encoder=["pixels"]), "at least 5 encoders"),
    "study size": (lambda: ex.learn.study(subtasks=3), "subtasks must be at least 4, got 3"),
    "compare": (lambda: ex.learn.compare("no/such/run", "x"), "there is no file or folder"),
    "check_agent": (lambda: ex.learn.check_agent("squar"), "did you mean square"),
}


@pytest.mark.parametrize("call,sentence", WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_sentence(call: Any, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=sentence) as problem:
        call()
    assert "\n" not in str(problem.value) and not list(tmp_path.iterdir())


# the door itself


def test_every_name_at_the_door_leads_somewhere_and_editors_see_it() -> None:
    source = Path(ex.learn.__file__ or "").read_text(encoding="utf-8")
    seen = source.partition("if TYPE_CHECKING:")[2].partition("FeaturesGiven")[0]
    assert sorted(ex.learn.__all__) == sorted(set(ex.learn.__all__))
    for name in ex.learn.__all__:
        assert getattr(ex.learn, name).__name__ == name
        assert name in ROOM.commands.values() or name in seen
    assert set(ROOM.commands.values()) <= set(ex.learn.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ex.learn.nothing


def test_no_verb_is_named_like_a_module_and_the_door_is_light() -> None:
    folder = Path(ex.learn.__file__ or "").parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(ex.learn.__all__)
    code = "import sys, exemplar.learn, exemplar.learn.room; sys.exit(bool({'numpy', 'torch', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=900).returncode == 0


def test_what_is_asked_of_a_run_is_declared_once(tmp_path: Path) -> None:
    asked = [name for name in inspect.signature(ex.learn.run).parameters if name not in ("out", "device", "seed")]
    assert [field.name for field in fields(RunRequest)] == asked
    ex.learn.run(features=clouds(), out=tmp_path / "run", **SMALL)
    config = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["config"]
    assert list(config) == asked and config["sessions"] == 40 and config["features"] == "given as arrays"


def test_examples_at_the_door_are_true() -> None:
    done = doctest.testmod(ex.learn)
    assert done.failed == 0 and done.attempted >= 6


def test_the_room_describes_itself() -> None:
    kept = {"learn-people", "learn-encoders", "learn-null", "learn-coverage", "learn-phases", "learn-groups"}
    assert set(ROOM.results()) == kept == set(ROOM.studies())
    assert ROOM.results()["learn-encoders"].published["variance_of_encoder", "of MSE_n"].value == 0.998
    assert list(ROOM.agents()) == [row["name"] for row in ex.learn.list_agents()["agents"]]
    assert ROOM.tour is not None and callable(ROOM.tour().make)


# what only Python reaches


def test_many_stages_learn_at_once_from_the_door() -> None:
    sessions = ex.learn.ObjectLearning(n_trials=10, n_images=10).sample(2, 5, rng=seeds.rng("door"))
    features = torch.from_numpy(clouds()["features"][:2, :, :10])
    features = features / features.norm(dim=-1, keepdim=True)
    grams = ex.learn.gram_tensors(torch.stack([features, features]))
    found = ex.learn.simulate_stages(grams, ex.learn.session_tensors(sessions), ex.learn.Learners(("square",)))
    one = ex.learn.simulate(ex.learn.make_agent("square"), ex.learn.gram_matrices(features.numpy()), sessions)
    assert found.shape == (1, 2, 2, 5, 10) and (found[0, 1].numpy() == one).all()
    drawn = ex.learn.sample_session_tensors(2, 5, n_trials=10, n_images=10, generator=seeds.torch_rng("door"))
    assert isinstance(drawn, ex.learn.SessionTensors)


def test_power_and_smooth_curves_are_at_the_door() -> None:
    fast, slow = (
        ex.learn.run(features=clouds(), rule=rule, sessions=200, trials=20).outcome.result
        for rule in ("square", "random-guesser")
    )
    (power,) = ex.learn.power_to_tell_apart(fast, slow, n_people=(20,), n_subtasks=(4,), rng=seeds.rng("power"))  # type: ignore[arg-type]
    assert power.recovery.value > 0.9 and power.rejection.value > 0.9
    counts = fast.curves().n_correct  # type: ignore[union-attr]
    smooth = ex.learn.smooth_curves(counts, np.full(counts.shape, 200))
    assert smooth.accuracy.shape == counts.shape and (smooth.lo < smooth.accuracy).all()
