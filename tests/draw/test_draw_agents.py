"""One contract over every agent that ships with the room, and what is known of each beforehand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import seeds
from exemplar.draw.agents import AGENTS, is_ready, make_agent
from exemplar.draw.agents.redraw import Redraw
from exemplar.draw.diffusion.loading import WEIGHTS
from exemplar.draw.diffusion.presets import PRESETS as DIFFUSION
from exemplar.draw.drawings import sample_drawings, stack
from exemplar.draw.tasks import DrawingTask, make_task, narrow_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import GlyphsConfig, load_glyphs, redraw

N = 5
CONFIG = GlyphsConfig(alphabets=4, characters=4, drawers=N + 1, size=48)


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    return make_task(load_glyphs("weak-test"), exemplar="drawer:drawer01", n=N)


def shown(task: DrawingTask) -> np.ndarray:
    return task.exemplars.astype(np.float32) / 255


@pytest.fixture(scope="module")
def few(task: DrawingTask) -> DrawingTask:
    return narrow_task(task, task.concepts[:8])


def quick(name: str) -> str:
    """A trained diffusion model in two steps: the contract is the same."""
    return f"{name}@steps=2" if name in WEIGHTS and name in DIFFUSION else name


@pytest.mark.parametrize("name", [*map(quick, filter(is_ready, AGENTS)), "redraw@0.3"])
class TestContract:
    def test_it_gives_n_drawings_of_each_exemplar(self, name: str, few: DrawingTask) -> None:
        drawn = make_agent(name, few)(shown(few), 3, seeds.rng(0))
        assert drawn.shape[:2] == (len(few.concepts), 3) and drawn.shape[2:] in (few.data.shape, (48, 48))
        assert drawn.min() >= 0 and drawn.max() <= 255 and np.isfinite(drawn).all()

    def test_the_same_seed_gives_the_same_drawings(self, name: str, few: DrawingTask) -> None:
        one, two = (make_agent(name, few)(shown(few), 2, seeds.rng("again")) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_it_leaves_the_exemplars_as_they_were(self, name: str, few: DrawingTask) -> None:
        exemplars = shown(few)
        exemplars.flags.writeable = False
        make_agent(name, few)(exemplars, 2, seeds.rng(0))
        np.testing.assert_array_equal(exemplars, shown(few))

    def test_it_answers_some_exemplars_in_any_order(self, name: str, few: DrawingTask) -> None:
        drawn = make_agent(name, few)(shown(few)[[7, 2]], 2, seeds.rng(0))
        assert drawn.shape[:2] == (2, 2) and drawn.ndim == 4

    def test_its_drawings_make_a_record(self, name: str, few: DrawingTask) -> None:
        drawings = sample_drawings(make_agent(name, few), few, agent=name, seed=1)
        assert stack(drawings, few).shape[:2] == (len(few.concepts), N)
        assert set(drawings["agent"]) == {name} and set(drawings["seed"]) == {1}


@pytest.mark.parametrize("name", [quick(name) for name in AGENTS if name != "copies" and is_ready(name)])
def test_another_seed_gives_other_drawings(name: str, few: DrawingTask) -> None:
    one, two = (make_agent(name, few)(shown(few), 2, seeds.rng(k)) for k in (0, 1))
    assert not np.array_equal(one, two)


def test_copies_are_the_exemplar(task: DrawingTask) -> None:
    drawn = stack(sample_drawings(make_agent("copies", task), task), task)
    np.testing.assert_array_equal(drawn, np.repeat(task.exemplars[:, None], N, axis=1))


def test_others_are_peoples_drawings_of_other_concepts_and_never_an_exemplar(task: DrawingTask) -> None:
    data = task.data
    whose = {image.tobytes(): (data.concept[row], row) for row, image in enumerate(data.images)}
    drawn = stack(sample_drawings(make_agent("others", task), task), task)
    chosen = [[whose[image.tobytes()] for image in some] for some in drawn]
    for concept, some in zip(task.concepts, chosen, strict=True):
        assert all(of != concept and row not in task.exemplar for of, row in some)
    assert len({of for some in chosen for of, _ in some}) > len(task.concepts) / 2  # any of them, not one


def test_every_other_drawing_is_equally_likely() -> None:
    """Three concepts with 3, 2 and 4 drawings besides the exemplar: the first concept's others are six, a sixth each."""
    counts = [4, 3, 5]
    images = np.zeros((12, 16, 16), np.uint8)
    images[np.arange(12), 0, np.arange(12)] = 255
    data = ConceptSet.of(
        "some", images, np.repeat(["a", "b", "c"], counts), maker=["x", *"yyy", "x", *"yy", "x", *"yyyy"]
    )
    task = make_task(data, exemplar="drawer:x")
    n = 3000
    drawn = make_agent("others", task)(shown(task), n, seeds.rng("likely"))
    rows = drawn[:, :, 0].argmax(axis=2)
    for own, others in zip(rows, ([5, 6, 8, 9, 10, 11], [1, 2, 3, 8, 9, 10, 11], [1, 2, 3, 5, 6]), strict=True):
        found, times = np.unique(own, return_counts=True)
        assert found.tolist() == others
        chance = 1 / len(others)
        assert np.abs(times - n * chance).max() < 5 * np.sqrt(n * chance * (1 - chance))


def test_noise_has_the_exemplars_ink_and_nothing_of_their_shape(task: DrawingTask) -> None:
    drawn = make_agent("noise", task)(shown(task), 40, seeds.rng(0)).astype(float)
    assert drawn.mean() == pytest.approx(shown(task).mean(), rel=0.01)
    per_concept = drawn.mean(axis=(1, 2, 3))
    assert (
        abs(np.corrcoef(per_concept, shown(task).mean(axis=(1, 2)))[0, 1]) < 0.4
    )  # not even how much ink is the concept's


def test_redraw_is_the_program_of_the_character_shown(task: DrawingTask) -> None:
    """At spread 0 every drawer draws the character as it is meant: known without the agent."""
    drawn = make_agent("redraw@0", task)(shown(task), 2, seeds.rng(0))
    np.testing.assert_array_equal(drawn, redraw(task.concepts, 2, spread=0))


def test_the_wider_the_spread_the_more_its_drawings_differ(task: DrawingTask) -> None:
    spreads = (0.0, 0.25, 0.5, 1.0, 2.0)
    differ = [Redraw(task, s)(shown(task), 4, seeds.rng(0)).astype(float).std(axis=1).mean() for s in spreads]
    assert differ[0] == 0 and all(np.diff(differ) > 0)


def test_redraw_follows_the_size_of_the_task() -> None:
    small = make_task(load_glyphs("weak-test", CONFIG).resized(32), exemplar="drawer:drawer02")
    assert Redraw(small, 1.0, CONFIG)(shown(small), 2, seeds.rng(0)).shape == (12, 2, 32, 32)


def test_strangers_draw_what_nobody_in_the_set_drew(task: DrawingTask) -> None:
    known = {image.tobytes() for image in own_drawings(task).image}
    drawn = make_agent("redraw", task)(shown(task), 2, seeds.rng(0))
    assert not known & {image.tobytes() for image in drawn.reshape(-1, *task.data.shape)}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("copy", "there is no agent 'copy': did you mean copies"),
        ("redraw@wide", "the spread of redraw@wide is not a number"),
        ("redraw@", "the setting of redraw@ is empty"),
        ("copies@2", "copies has no setting"),
        ("nowhere:sample", "nowhere cannot be imported"),
        ("json:dump_it", "there is no function 'dump_it' in json: did you mean dump"),
        ("json:__name__", "is a str, not a function"),
        ("nowhere.py:sample", "there is no file nowhere.py"),
        ("json:", "there is no agent 'json:'"),
    ],
)
def test_a_name_that_is_nobodys_is_refused(name: str, said: str, task: DrawingTask) -> None:
    with pytest.raises(UserError, match=said):
        make_agent(name, task)


def test_a_spread_beyond_the_glyphs_is_refused(task: DrawingTask) -> None:
    with pytest.raises(UserError, match="spread=9.0"):
        sample_drawings(make_agent("redraw@9", task), task)


def test_an_agent_needs_what_it_knows() -> None:
    images = (seeds.rng("two").random((4, 16, 16)) < 0.3).astype(np.uint8) * 255
    other = make_task(ConceptSet.of("mine", images, ["a", "a", "b", "b"]), exemplar="random", rng=seeds.rng(0))
    with pytest.raises(UserError, match="programs of glyphs only, not of mine"):
        make_agent("redraw", other)
    alone = make_task(ConceptSet.of("mine", images, ["a"] * 4), exemplar="random", rng=seeds.rng(0))
    with pytest.raises(UserError, match="one concept only"):
        make_agent("others", alone)


def test_a_function_in_a_file_is_an_agent_and_sees_what_lies_beside_it(
    task: DrawingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])  # the file's folder is added to it
    (tmp_path / "beside_the_drawer.py").write_text("SHIFT = 2\n")
    (tmp_path / "my_drawer.py").write_text(
        "import numpy as np\nfrom beside_the_drawer import SHIFT\n\n"
        "def shifted(exemplars, n, rng):\n    return np.repeat(np.roll(exemplars, SHIFT, axis=2)[:, None], n, axis=1)\n"
    )
    drawn: Any = make_agent(f"{tmp_path}/my_drawer.py:shifted", task)(shown(task), 2, seeds.rng(0))
    np.testing.assert_array_equal(drawn[:, 1], np.roll(shown(task), 2, axis=2))
    (tmp_path / "broken_drawer.py").write_text("1 / 0\n")
    with pytest.raises(UserError, match=r"broken_drawer.py cannot be imported \(ZeroDivisionError"):
        make_agent(f"{tmp_path}/broken_drawer.py:shifted", task)
