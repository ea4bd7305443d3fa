"""The contract of the room, which is the exported checker: the room's own agents keep it, and each way to break it is named."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import exemplar as ex
from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn.agents import AGENTS, describe_agents, list_rules, make_agent
from exemplar.learn.checking import check_contract, knows_too_early, make_task, play
from exemplar.learn.experiments import run_warnings
from exemplar.learn.user_agents import UserAgent, find_agent


class Good:
    """Remembers the last image of each key for which it was right, and presses the key whose image is most alike."""

    def __init__(self, n_choices: int = 2) -> None:
        self.n_choices = n_choices

    def reset(self, rng: np.random.Generator) -> None:
        self.rng, self.memory = rng, {}

    def choose(self, x: np.ndarray) -> int:
        self.x = x
        likeness = {key: float(x @ kept) for key, kept in self.memory.items()}
        alike = {key: value for key, value in likeness.items() if value > 0.4}
        rest = [key for key in range(self.n_choices) if key not in self.memory] or list(range(self.n_choices))
        self.key = max(alike, key=lambda key: alike[key]) if alike else rest[int(self.rng.integers(len(rest)))]
        return self.key

    def feedback(self, reward: float) -> None:
        if reward > 0:
            self.memory[self.key] = self.x.copy()


class NeedsArguments(Good):
    def __init__(self, rate: float) -> None:
        super().__init__()


class HasNoFeedback:
    reset = Good.reset
    choose = Good.choose


class WantsTheTrial(Good):
    def choose(self, x: np.ndarray, trial: int) -> int:  # type: ignore[override]
        return 0


class FailsInFeedback(Good):
    def feedback(self, reward: float) -> None:
        raise ValueError("no idea")


class Stops(Good):
    def reset(self, rng: np.random.Generator) -> None:
        sys.exit(3)


class SaysLeft(Good):
    def choose(self, x: np.ndarray) -> str:  # type: ignore[override]
        return "left"


class SaysYes(Good):
    def choose(self, x: np.ndarray) -> bool:
        return bool(super().choose(x))


class SaysAHalf(Good):
    def choose(self, x: np.ndarray) -> float:  # type: ignore[override]
        return 0.5


class CountsFromOne(Good):
    def choose(self, x: np.ndarray) -> int:
        return super().choose(x) + 1


class CountsFromMinusOne(Good):
    def choose(self, x: np.ndarray) -> int:
        return super().choose(x) - 1


class ScalesX(Good):
    def choose(self, x: np.ndarray) -> int:
        x /= np.linalg.norm(x)
        return super().choose(x)


class ScalesXLater(Good):
    def feedback(self, reward: float) -> None:
        self.x *= reward


class UsesNumpy(Good):
    def choose(self, x: np.ndarray) -> int:
        key = super().choose(x)
        return key if np.random.random() < 0.9 else 0  # noqa: NPY002


class SeedsNumpy(Good):
    def reset(self, rng: np.random.Generator) -> None:
        np.random.seed(0)  # noqa: NPY002
        super().reset(rng)


class UsesPython(Good):
    def choose(self, x: np.ndarray) -> int:
        key = super().choose(x)
        return key if random.random() < 0.9 else 0


class UsesTorch(Good):
    def choose(self, x: np.ndarray) -> int:
        key = super().choose(x)
        return key if torch.rand(1) < 0.9 else 0


class MakesItsOwnGenerator(Good):
    def reset(self, rng: np.random.Generator) -> None:
        super().reset(np.random.default_rng())


class SharesItsMemory(Good):
    seen: ClassVar[list[float]] = []

    def choose(self, x: np.ndarray) -> int:
        self.seen.append(float(x[0]))
        self.key = len(self.seen) // 7 % self.n_choices
        self.x = x
        return self.key


class ForgetsNothing(Good):
    def reset(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.memory: dict[int, np.ndarray] = getattr(self, "memory", {})


class KeepsX(Good):
    def feedback(self, reward: float) -> None:
        if reward > 0:
            self.memory[self.key] = self.x


class OnlyTwoKeys(Good):
    def __init__(self, n_choices: int = 2) -> None:
        super().__init__(2)


class FailsWithFour(Good):
    def choose(self, x: np.ndarray) -> int:
        return [0, 1][super().choose(x)]


BROKEN = {
    NeedsArguments: r"cannot be made without arguments \(TypeError: .*rate",
    HasNoFeedback: r"has no method feedback: an agent has reset\(rng\), choose\(x\) and feedback\(reward\)",
    WantsTheTrial: r"\.choose must take one argument, x, and it takes \(x: .*trial",
    FailsInFeedback: r"failed in feedback \(ValueError: no idea\)",
    Stops: r"failed in reset \(SystemExit: 3\)",
    SaysLeft: r"chose 'left': choose must give a whole number",
    SaysYes: r"chose (True|False): choose must give a whole number",
    SaysAHalf: r"chose 0\.5: choose must give a whole number",
    CountsFromOne: r"chose 2 of 2 choices: a choice is 0 to 1",
    CountsFromMinusOne: r"chose -1 of 2 choices: a choice is 0 to 1",
    ScalesX: r"changed x in place in choose",
    ScalesXLater: r"changed x in place in feedback",
    UsesNumpy: r"uses the global random generator of numpy\.random,",
    SeedsNumpy: r"uses the global random generator of numpy\.random,",
    UsesPython: r"uses the global random generator of random,",
    UsesTorch: r"uses the global random generator of torch,",
    MakesItsOwnGenerator: r"chose differently when it was made again .* the same rng",
    SharesItsMemory: r"chose differently when it was made again .* share nothing between agents",
    ForgetsNothing: r"remembers earlier sessions",
    KeepsX: r"keeps x itself after feedback",
    OnlyTwoKeys: r"With 4 choices: OnlyTwoKeys never chose 2, 3",
    FailsWithFour: r"With 4 choices: FailsWithFour failed in choose \(IndexError",
}  # fmt: skip


@pytest.mark.parametrize("name", AGENTS)
def test_the_room_s_own_agents_keep_the_contract(name: str) -> None:
    for given in (name, make_agent(name, variant="hobj"), make_agent(name, n_choices=3)):
        checked = check_contract(given)
        assert checked.passes, checked.findings
        guesses = name == "random-guesser"
        assert [finding.sentence for finding in checked.findings if "guessing" in finding.sentence] or not guesses
        assert guesses or not checked.findings
    assert check_contract(name).choices == (2, 4)


def test_a_good_agent_is_told_so_however_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = Path(__file__).read_text(encoding="utf-8").split("class NeedsArguments")[0]
    (tmp_path / "mine.py").write_text(f"{code}\nprint('made')\n", encoding="utf-8")
    for given, name, choices in (
        (Good, "Good", [2, 4]),
        (Good(), "Good", [2]),
        (Good(3), "Good", [3]),
        (f"{tmp_path / 'mine.py'}:Good", f"{tmp_path / 'mine.py'}:Good", [2, 4]),
    ):
        found = ex.learn.check_agent(given)
        assert found.json() == {"agent": name, "passes": True, "choices": choices, "findings": [], "remarks": []}
        assert found.ok and "it keeps the contract" in found.text
    said = capsys.readouterr()
    assert said.out == "" and said.err == "made\n"


@pytest.mark.parametrize("kind,sentence", BROKEN.items(), ids=[kind.__name__ for kind in BROKEN])
def test_every_broken_promise_is_found_and_named(kind: type, sentence: str) -> None:
    SharesItsMemory.seen.clear()
    found = ex.learn.check_agent(kind)
    (only,) = found["findings"]
    assert re.search(sentence, only), only
    assert not found.ok and not found["passes"] and "\n" not in only
    assert found.text.count("broken: ") == 1 and only in found.text


def test_several_broken_promises_are_several_lines() -> None:
    class Empty:
        pass

    found = ex.learn.check_agent(Empty)
    assert [line.split(":")[1] for line in found.text.splitlines()[1:]] == [
        f" Empty has no method {method}" for method in ("reset", "choose", "feedback")
    ]

    class Careless(ForgetsNothing):
        def feedback(self, reward: float) -> None:
            if reward > 0:
                self.memory[self.key] = self.x

    found = ex.learn.check_agent(Careless)
    assert len(found["findings"]) == 2 and "remembers" in found["findings"][0] and "keeps x" in found["findings"][1]


def test_who_learns_nothing_gets_a_remark_and_passes() -> None:
    class AlwaysLeft(Good):
        def __init__(self) -> None:
            super().__init__()

        def choose(self, x: np.ndarray) -> int:
            super().choose(x)
            return 0

    found = ex.learn.check_agent(AlwaysLeft)
    assert found["passes"] and found["findings"] == [] and found["choices"] == [2]
    assert "no better than guessing" in found["remarks"][0] and "guessing gives 50%" in found["remarks"][0]


def test_an_object_is_not_changed_by_its_check() -> None:
    mine = Good()
    mine.reset(np.random.default_rng(0))
    before = dict(vars(mine))
    assert ex.learn.check_agent(mine)["passes"]
    assert vars(mine) == before


def test_the_easy_task_is_learned_by_whoever_learns() -> None:
    for n in (2, 4):
        task = make_task(n)
        assert np.linalg.norm(task.x, axis=-1).max() <= 1 + 1e-12 and set(task.answer.ravel()) == set(range(n))
        right = play(UserAgent(make_agent("square", n_choices=n), "square"), task, range(len(task.x))) == task.answer
        assert right[:, 20:].mean() > 0.7


@pytest.mark.parametrize(
    "given,sentence",
    [
        ("sqare", "did you mean square"),
        ("nothing.py:Mine", "there is no file nothing.py"),
        ("no_such_module_here:Mine", "cannot be imported"),
        ("json:dumps", "not a class"),
    ],
)
def test_what_names_no_agent_is_refused(given: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as problem:
        ex.learn.check_agent(given)
    assert "\n" not in str(problem.value)


def test_an_agent_is_told_how_many_choices_there_are_if_it_asks() -> None:
    assert find_agent(Good).make(4).agent.n_choices == 4
    assert find_agent(OnlyTwoKeys).takes_n_choices and not find_agent(NeedsArguments).takes_n_choices


def test_every_agent_is_told_in_one_line() -> None:
    told = {row["name"]: row["what"] for row in ex.learn.list_agents()["agents"]}
    assert told == dict(describe_agents()) and list(told) == list(AGENTS)
    assert all(what.endswith(".") and "\n" not in what and len(what) > 20 for what in told.values())
    assert "random-guesser" not in list_rules() and len(list_rules()) == 7


def test_adding_an_agent_is_its_file_and_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    from exemplar.learn.studies.models import StudyConfig

    before = StudyConfig().rules
    monkeypatch.setitem(AGENTS, "mine", Good)
    found: Any = ex.learn.run(features=_clouds(), rule="mine", sessions=3, trials=10)
    assert found["rule"] == "mine" and ex.learn.check_agent("mine")["passes"]
    assert "mine" in [row["name"] for row in ex.learn.list_agents()["agents"]]
    assert StudyConfig().rules == before


def _clouds() -> dict[str, np.ndarray]:
    task = make_task(2)
    x = np.stack([task.x[:, :10][task.answer[:, :10] == key][:20] for key in (0, 1)])
    return {"features": x[None, :, :20]}


class Peeks(Good):
    """Reads the answers in the frame of whoever asks."""

    def choose(self, x: np.ndarray) -> int:
        super().choose(x)
        frame: Any = sys._getframe()
        while frame is not None:
            if "right" in frame.f_locals:
                return int(frame.f_locals["right"])
            frame = frame.f_back
        return 0


def test_an_agent_that_sees_the_answers_knows_too_early() -> None:
    found = ex.learn.check_agent(Peeks)
    assert not found["passes"] and any("nobody can know" in finding for finding in found["findings"])


@pytest.mark.parametrize(("right", "n", "chance", "told"), [
    (12, 12, 0.5, True), (11, 12, 0.5, False), (260, 500, 0.5, False), (300, 500, 0.5, True), (60, 500, 1 / 16, True),
])  # fmt: skip
def test_first_trials_that_are_no_luck_are_told(right: int, n: int, chance: float, told: bool) -> None:
    assert bool(knows_too_early(np.arange(n) < right, chance)) == told


@pytest.mark.parametrize(("share", "n_warnings"), [(1.0, 1), (0.5, 0)])
def test_a_run_in_which_first_trials_are_known_says_so(share: float, n_warnings: int) -> None:
    correct = seeds.rng("first trials").random((2, 50, 5)) < share
    done: Any = SimpleNamespace(record=SimpleNamespace(correct=correct, n_choices=2), scaled_by="warm-up images")
    assert len(run_warnings(done)) == n_warnings
