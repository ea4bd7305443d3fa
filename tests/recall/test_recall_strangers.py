"""Cheats by someone who had not seen the harness: none carries anything along, and none runs where it is scored."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import strangers

import exemplar as ex
from exemplar.errors import UserError
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.checking import make_task, right_labels
from exemplar.recall.sandbox import is_available
from exemplar.recall.stream import copies_of, is_transductive, stream_task
from exemplar.recall.strict import LearnerFailed, StrictHost

FILE = Path(strangers.__file__)
TASK = make_task(0, features=False)
UNIFORM = -np.log(TASK.n_labels)


@pytest.fixture(scope="module")
def process() -> Iterator[StrictHost]:
    with StrictHost(AgentSource(f"{FILE}:Stranger").plain(), "stranger") as host:
        yield host


def use(process: StrictHost, name: str) -> StrictHost:
    process.make(AgentSource(f"{FILE}:{name}").plain())
    return process


@pytest.mark.parametrize("name", ["SharesMap", "SharesPipe"])
def test_nothing_made_at_import_is_shared_between_support_sets(name: str, process: StrictHost) -> None:
    assert not np.allclose(stream_task(copies_of(getattr(strangers, name)(), name), TASK).log_p, UNIFORM)
    assert np.allclose(stream_task(use(process, name), TASK).log_p, UNIFORM)


def test_the_length_of_what_was_printed_tells_the_next_process_nothing(process: StrictHost) -> None:
    assert np.allclose(stream_task(use(process, "PrintsALot"), TASK).log_p, UNIFORM)


def test_a_truth_value_holds_one_bit(process: StrictHost) -> None:
    assert np.allclose(stream_task(use(process, "PacksBools"), TASK).log_p, UNIFORM)


@pytest.mark.skipif(not is_available(), reason="the kernel's filter needs Linux x86-64")
@pytest.mark.parametrize(
    "name",
    ["NamesSemaphore", "WritesByTorch", "WritesByTorchArchive", "WritesByDatabase", "MakesFifo", "SetsTimes", "SetsMode",
     "SetsAttribute", "SetsPriority", "SetsAffinity", "SetsLimit", "SignalsParent", "StartsByHand", "SharesTensor"],
)  # fmt: skip
def test_the_kernel_refuses_what_no_audit_hook_sees(name: str, process: StrictHost) -> None:
    with pytest.raises((UserError, LearnerFailed)):
        stream_task(use(process, name), TASK)
    assert not list(strangers.SHELF.parent.glob("recall-stranger*"))
    assert not Path("/dev/shm/sem.recall-stranger-semaphore").exists()


@pytest.mark.parametrize("name", ["ReadsParent", "ReadsParentMemory", "ReopensPipe"])
def test_other_processes_and_their_pipes_cannot_be_read(name: str, process: StrictHost) -> None:
    with pytest.raises(UserError, match="the learner may not do this in the strict mode: it opened /proc/"):
        stream_task(use(process, name), TASK)


def test_the_place_of_a_target_says_nothing_about_its_label(process: StrictHost) -> None:
    done = stream_task(copies_of(strangers.KnowsTheOrder(), "KnowsTheOrder"), TASK, history=True)
    assert (done.log_p.argmax(axis=2) == right_labels(TASK)).mean() < 0.5
    assert is_transductive(copies_of(strangers.KnowsTheOrder(), "KnowsTheOrder"), TASK, done.states[-1])


def test_a_learner_that_ends_its_process_without_an_error_is_a_failure_of_that_task(process: StrictHost) -> None:
    with pytest.raises(LearnerFailed, match="its process ended before it answered"):
        stream_task(use(process, "LeavesQuietly"), TASK)


def test_the_process_that_scores_never_runs_the_learners_code(tmp_path: Path) -> None:
    """Not when it is imported, made, run or measured: what it patches is not what scores it."""
    (tmp_path / "weights.json").write_text(json.dumps([1.0]))
    (tmp_path / "patches.py").write_text(
        f"import json, os, sys; sys.path.insert(0, {str(FILE.parent)!r})\n"
        "import numpy, torch\n"
        "from strangers import Stranger\n"
        f"if os.getpid() == {os.getpid()}: raise RuntimeError('imported where it is scored')\n"
        "class Patches(Stranger):\n"
        f"    def __init__(self): self.w = json.load(open({str(tmp_path / 'weights.json')!r}))\n"
        "    def observe(self, images, labels):\n"
        "        import exemplar.recall.meters.atm as atm\n"
        "        numpy.array_equal = torch.equal = atm.bits_of = lambda *a, **k: 1 / 0\n"
    )
    done = ex.recall.run(f"{tmp_path / 'patches.py'}:Patches", data="glyphs", n=2, engine="here", out=tmp_path / "run")
    assert done["accuracy"]["value"] == pytest.approx(1 / 15) and done["atm"]["value"] == 0 and not done["failed_tasks"]
    said = " ".join(done.warnings)
    assert "Patches read files when it was made: " in said and str(tmp_path / "weights.json") in said
    assert "arithmetic in NumPy is not counted" in said
