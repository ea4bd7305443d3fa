"""Nobody carries a support set along but in the state, and the state is charged: cheating learners are caught."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cheaters
import numpy as np
import pytest

import exemplar as ex
from exemplar.errors import UserError
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.checking import check_contract, make_task, right_labels
from exemplar.recall.meters.atm import across_task_memory
from exemplar.recall.states import same_states
from exemplar.recall.stream import Streamed, TaskImages, copies_of, stream_task
from exemplar.recall.strict import LearnerFailed, StrictHost

FILE = Path(cheaters.__file__)
TASK = make_task(0, features=False)


def source(name: str) -> AgentSource:
    return AgentSource(f"{FILE}:{name}")


@pytest.fixture(scope="module")
def process() -> Iterator[StrictHost]:
    """One process of the strict mode, in which any cheater can be made: starting one takes seconds."""
    with StrictHost(source("Honest").plain(), "learner") as host:
        yield host


def in_strict(process: StrictHost, name: str, task: TaskImages = TASK) -> Streamed:
    process.make(source(name).plain())
    return stream_task(process, task)


def here(name: str, task: TaskImages = TASK) -> Streamed:
    return stream_task(copies_of(getattr(cheaters, name)(), name), task)


def accuracy(done: Streamed, task: TaskImages = TASK) -> float:
    return float((done.log_p.argmax(axis=2) == right_labels(task)).mean())


def test_an_honest_learner_that_copies_is_charged_its_images() -> None:
    done = here("Honest")
    assert accuracy(done) == 1
    n = 3 * 6  # three sets of three classes, two samples each
    assert [charge.bits for charge in done.charges] == [6 * 784 * 32, 12 * 784 * 32, 18 * 784 * 32]
    assert across_task_memory(done.charges[-1].bits, n, (1, 28, 28)) == 1
    assert across_task_memory(done.charges[-1].bits, n, (1, 28, 28), 8) == 4
    assert done.charges[-1].label_bits == 18 * 64


@pytest.mark.parametrize("name", ["KeepsView", "KeepsSlice", "KeepsNumpyView"])
def test_a_kept_view_of_a_support_set_turns_to_nan_and_is_caught(name: str) -> None:
    with pytest.raises(UserError, match="support images become NaN when their set is over"):
        here(name)


def test_a_kept_view_of_labels_is_caught() -> None:
    with pytest.raises(UserError, match="is a view of the labels of a support set that is over"):
        here("KeepsLabelView")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("KeepsSubclass", "is a Tagged: only NumPy arrays and torch tensors themselves"),
        ("KeepsObjects", "is an array of object"),
        ("KeepsInList", "is a list"),
        ("KeepsSparse", "sparse"),
        ("KeepsEmptyShapes", "is empty but has the shape"),
        ("DictThatMakesThings", "must return a dict of arrays, it returned a More"),
    ],
)
def test_what_could_hide_things_is_no_state(name: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        here(name)


def test_names_that_depend_on_images_are_refused() -> None:
    findings = [
        f.sentence
        for f in check_contract(AgentSource("NamesHoldImages", given=cheaters.NamesHoldImages), features=False)
    ]
    assert any("has other names or types after support set 1" in sentence for sentence in findings)


def test_pixels_that_are_called_labels_are_charged() -> None:
    charge = here("LabelsHoldImages").charges[-1]
    assert charge.by_array == {"label": 18 * 784 * 64} and charge.label_bits == 18 * 64


def test_what_a_learner_keeps_in_itself_is_lost() -> None:
    assert accuracy(here("KeepsInItself")) < 0.4  # it can only guess


KEEPERS = ["KeepsInClass", "KeepsInModule", "KeepsInClosure", "KeepsInDefault", "KeepsInCache", "KeepsInTorch", "KeepsInThread",
           "KeepsInEnvironment"]  # fmt: skip


@pytest.mark.parametrize("name", KEEPERS)
def test_what_is_kept_outside_of_the_state_is_lost_in_the_strict_mode(
    name: str, process: StrictHost, monkeypatch: Any
) -> None:
    """In this process it works, which is why the strict mode is there; in processes of its own it can only guess."""
    for key in ("SHELF", *(f"SHELF{k}" for k in range(9))):
        monkeypatch.setenv(key, "0")
        monkeypatch.delenv(key)
    assert accuracy(here(name)) == 1
    alone = in_strict(process, name)
    assert accuracy(alone) < 0.4 and all(not state for state in alone.states)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("WritesFile", "it opened .* for writing"),
        ("WritesWhenMade", "it opened .* for writing"),
        ("ReadsData", "it opened .*answers.npz"),
        ("StartsProcess", "it called subprocess.Popen"),
        ("Forks", "it called os.fork"),
        ("UsesSocket", "it called socket"),
    ],
)
def test_files_processes_and_sockets_are_refused_in_the_strict_mode(
    name: str, sentence: str, process: StrictHost
) -> None:
    with pytest.raises(UserError, match=f"the learner may not do this in the strict mode: {sentence}"):
        in_strict(process, name)


@pytest.mark.parametrize("name", ["PeeksAtTargets", "PeeksAtFrames"])
def test_targets_are_not_in_memory_while_support_sets_are_shown(name: str, process: StrictHost) -> None:
    assert here(name).states[0]["seen"] > 0  # in one process anything can be found
    assert [int(state["seen"][0]) for state in in_strict(process, name).states] == [0, 0, 0]


def test_an_honest_learner_does_the_same_in_both_modes(process: StrictHost) -> None:
    one, other = here("Honest"), in_strict(process, "Honest")
    assert np.array_equal(one.log_p, other.log_p)
    assert all(same_states(a, b) for a, b in zip(one.states, other.states, strict=True))


def test_a_learner_that_raises_in_a_process_of_its_own_is_a_failure_of_that_task(
    process: StrictHost, tmp_path: Path
) -> None:
    (tmp_path / "fails.py").write_text(
        "import sys; sys.path.insert(0, " + repr(str(FILE.parent)) + ")\nfrom cheaters import Honest\n"
        "class Fails(Honest):\n    def predict(self, images): raise ZeroDivisionError('no')\n"
        "class Ends(Honest):\n    def observe(self, images, labels):\n        import os; os._exit(3)\n"
    )
    for name, sentence in (("Fails", "ZeroDivisionError: no"), ("Ends", "its process ended before it answered")):
        process.make(AgentSource(f"{tmp_path / 'fails.py'}:{name}").plain())
        with pytest.raises(LearnerFailed, match=sentence):
            stream_task(process, TASK)


@pytest.mark.parametrize("name", ["KeepsInClosure", pytest.param("KeepsInClass", marks=pytest.mark.long)])
def test_check_agent_tells_whoever_brings_a_cheater(name: str, exemplar: Any) -> None:
    said = exemplar("recall", "check-agent", f"{FILE}:{name}", "--json")
    assert said.code == 1 and not said.json()["passes"]
    assert any(
        "order" in sentence or "besides its state" in sentence or "process of its own" in sentence
        for sentence in said.json()["broken"]
    )


def test_a_users_own_agent_runs_in_the_strict_mode_unless_told_otherwise() -> None:
    done = ex.recall.run(f"{FILE}:Honest", data="glyphs", n=3, engine="here")
    assert done["strict"] and done["atm"]["value"] == 1 and done["accuracy"]["value"] > 0.2
    assert done["atm_native"]["value"] == 4 and done["atm_printed"]["value"] == 1
