"""Diffusion agents at work: the contract, names and settings, guidance, kept drawings, and an exemplar of one's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

import exemplar as ex
from exemplar import seeds
from exemplar.draw import sample_store
from exemplar.draw.agents import AGENTS, is_agent, make_agent
from exemplar.draw.diffusion.agent import DiffusionAgent
from exemplar.draw.diffusion.drawing import Drawer, binarise
from exemplar.draw.diffusion.loading import WEIGHTS, load_agent, parse_settings, split_settings
from exemplar.draw.diffusion.samplers import Sampling, clipped
from exemplar.draw.own_exemplar import otsu, read_exemplar
from exemplar.draw.requests import name_drawer
from exemplar.draw.sample_store import keep_samples
from exemplar.draw.tasks import DrawingTask, make_task
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.spaces.zoo import list_spaces


@pytest.fixture(scope="module")
def agent(tiny_agents: dict[str, str]) -> DiffusionAgent:
    return load_agent(f"{tiny_agents['cfgdm']}@guidance=1,steps=2,sampler=ddim", device="cpu")


@pytest.fixture(scope="module")
def exemplars(few_drawings: Path) -> np.ndarray:
    return task_on(few_drawings).exemplars.astype(np.float32) / 255


def task_on(path: Path) -> DrawingTask:
    return make_task(load(path), n=3)


def drawn(agent: DiffusionAgent, exemplars: np.ndarray, n: int = 2, seed: int = 0) -> np.ndarray:
    return agent.draw_levels(exemplars, n, seeds.rng(seed))


@pytest.mark.parametrize("kind", ["cfgdm", "ddpm", "fsdm"])
def test_they_keep_the_rooms_contract(kind: str, tiny_agents: dict[str, str], few_drawings: Path) -> None:
    name = f"{tiny_agents[kind]}@steps=1"
    checked = ex.draw.check_agent(name, data=str(few_drawings), concepts=3)
    assert checked.ok, checked.problems


class TestNoise:
    """Each drawing has noise of its own."""

    def test_the_same_seed_gives_the_same_drawings_and_another_does_not(
        self, agent: DiffusionAgent, exemplars: np.ndarray
    ) -> None:
        one, two, other = (drawn(agent, exemplars[:2], seed=seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, two)
        assert not np.allclose(one, other)

    def test_parts_of_any_size_give_the_same(self, agent: DiffusionAgent, exemplars: np.ndarray) -> None:
        at_once, by_ones, by_threes = (drawn(replace(agent, part=part), exemplars[:2], n=4) for part in (None, 1, 3))
        np.testing.assert_allclose(by_ones, at_once, atol=1e-4)
        np.testing.assert_allclose(by_threes, at_once, atol=1e-4)

    def test_more_drawings_begin_with_the_same_ones(self, agent: DiffusionAgent, exemplars: np.ndarray) -> None:
        few, many = (drawn(agent, exemplars[:2], n=n) for n in (1, 3))
        np.testing.assert_allclose(many[:, :1], few, atol=1e-4)

    def test_an_exemplar_does_not_know_of_the_others(self, agent: DiffusionAgent, exemplars: np.ndarray) -> None:
        both, one = drawn(agent, exemplars[:2]), drawn(agent, exemplars[:1])
        np.testing.assert_allclose(both[:1], one, atol=1e-4)

    def test_samplers_begin_at_the_same_noise(self, agent: DiffusionAgent, exemplars: np.ndarray) -> None:
        """With one step from T all samplers do the same: take the predicted noise away."""
        found = [
            drawn(replace(agent, sampling=Sampling(sampler, 1, 0.0)), exemplars[:1])
            for sampler in ("ancestral", "ddim", "dpm-solver")
        ]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found[1], found[2], rtol=1e-3, atol=1e-3)


class TestGuidance:
    def test_without_guidance_a_cfgdm_draws_bit_for_bit_as_a_ddpm_with_its_weights(
        self, agent: DiffusionAgent, exemplars: np.ndarray
    ) -> None:
        unguided = replace(agent, sampling=Sampling("ancestral", 3, 0.0))
        as_ddpm = replace(unguided, objective=replace(agent.objective, drop=0.0))
        np.testing.assert_array_equal(drawn(unguided, exemplars[:2]), drawn(as_ddpm, exemplars[:2]))

    def test_guided_is_one_more_step_away_from_what_is_drawn_without_an_exemplar(
        self, agent: DiffusionAgent, exemplars: np.ndarray
    ) -> None:
        """One step from T is linear in the prediction: the drawing at γ is (1 + γ) that at 0 less γ that of empty paper."""
        at = {gamma: drawn(replace(agent, sampling=Sampling("ddim", 1, gamma)), exemplars[:2]) for gamma in (0.0, 2.0)}
        none = drawn(replace(agent, sampling=Sampling("ddim", 1, 0.0)), np.zeros_like(exemplars[:2]))
        np.testing.assert_allclose(at[2.0], 3 * at[0.0] - 2 * none, rtol=1e-3, atol=1e-3)

    def test_predicted_noise_has_gradients_and_is_what_drawing_uses(
        self, agent: DiffusionAgent, exemplars: np.ndarray
    ) -> None:
        x = torch.randn(2, 1, 48, 48, generator=torch.Generator().manual_seed(0), requires_grad=True)
        shown = torch.as_tensor(exemplars[:2])
        found = agent.predict_noise(x, 20, shown)
        assert found.shape == x.shape
        (change,) = torch.autograd.grad(found.square().sum(), x)
        assert change.abs().sum() > 0
        torch.testing.assert_close(agent.predict_noise(x, torch.tensor([20, 20]), shown[:, None]), found)
        none = agent.predict_noise(x, 20, None)
        torch.testing.assert_close(agent.predict_noise(x, 20, shown, guidance=2), 3 * found - 2 * none)
        torch.testing.assert_close(none, agent.predict_noise(x, 20, torch.zeros_like(x)))

    @pytest.mark.parametrize(("t", "said"), [(0, "t must lie between 1 and 40"), (41, "t must lie between 1 and 40")])
    def test_a_time_that_does_not_exist_is_refused(self, t: int, said: str, agent: DiffusionAgent) -> None:
        with pytest.raises(UserError, match=said):
            agent.predict_noise(torch.zeros(1, 1, 48, 48), t, torch.zeros(1, 1, 48, 48))

    def test_what_was_never_trained_without_an_exemplar_cannot_be_guided(self, tiny_agents: dict[str, str]) -> None:
        for kind in ("ddpm", "fsdm"):
            with pytest.raises(UserError, match="cannot be guided: leave guidance at 0, or use cfgdm"):
                load_agent(f"{tiny_agents[kind]}@2")
        plain = load_agent(tiny_agents["ddpm"], device="cpu")
        assert plain.sampling.guidance == 0
        with pytest.raises(UserError, match="cannot be guided"):
            plain.predict_noise(torch.zeros(1, 1, 48, 48), 3, None)


def test_clipped_predictions_stay_between_paper_and_ink(agent: DiffusionAgent, exemplars: np.ndarray) -> None:
    wild = replace(agent, sampling=Sampling("ddim", 2, 3.0))
    assert np.abs(drawn(wild, exemplars[:2])).max() > 1.01
    tame = drawn(replace(wild, sampling=replace(wild.sampling, clip=True)), exemplars[:2])
    assert tame.min() >= -1e-5 and tame.max() <= 1 + 1e-5
    x = torch.rand(1, 1, 4, 4)
    found = clipped(lambda x, t: torch.zeros_like(x), agent.schedule)(x * 0, 5)  # predicts paper: nothing to clip
    torch.testing.assert_close(found, torch.zeros_like(found))


def test_binarising_fills_the_range_first() -> None:
    levels = np.array([[[0.1, 0.2], [0.3, 0.5]], [[2.0, 2.0], [2.0, 2.0]]])
    assert binarise(levels, 0.5).tolist() == [[[0, 0], [0, 255]], [[0, 0], [0, 0]]]
    assert binarise(levels, 0.3).tolist()[0] == [[0, 0], [255, 255]]


class TestNames:
    def test_settings_come_after_an_at(self, tiny_agents: dict[str, str]) -> None:
        name = f"{tiny_agents['cfgdm']}@3"
        assert load_agent(name).sampling == Sampling(guidance=3.0)
        assert is_agent(name) and name_drawer(name) == name.rpartition("/")[2]
        assert split_settings("a@b/c@2") == ("a@b/c", "@", "2")
        found = parse_settings("guidance=2, sampler=ancestral,steps=all,clip=true", Sampling())
        assert found == Sampling("ancestral", None, 2.0, True)

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ("", "is empty"),
            ("steps=41", "between 1 and 40 steps of this model, not 41"),
            ("steps=some", "steps = some is no number"),
            ("step=3", "there is no setting of a diffusion agent 'step': did you mean steps"),
            ("sampler=dpm-solve", "there is no sampler 'dpm-solve': did you mean dpm-solver"),
            ("-1", "guidance must be a number of at least 0"),
            ("clip=yes", "clip is true or false"),
        ],
    )
    def test_wrong_settings_are_refused(self, settings: str, said: str, tiny_agents: dict[str, str]) -> None:
        with pytest.raises(UserError, match=said):
            load_agent(f"{tiny_agents['cfgdm']}@{settings}")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("cfgdm-smal", "there is no trained agent 'cfgdm-smal': did you mean cfgdm-small"),
            ("ddpm-wide", "is a preset to train"),
            ("copies", "there is no trained agent 'copies'"),
        ],
    )
    def test_unknown_names_are_refused(self, name: str, said: str) -> None:
        with pytest.raises(UserError, match=said):
            load_agent(name)

    @pytest.mark.parametrize("name", WEIGHTS)
    def test_an_agent_whose_weights_do_not_ship_says_how_to_get_it(
        self, name: str, few_drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As if none shipped: those that do are in a folder which is empty here."""
        monkeypatch.setattr("exemplar.draw.diffusion.loading.shipped", lambda room="spaces": tmp_path)
        with pytest.raises(UserError, match="no weights of .* ship with this version: train them"):
            make_agent(name, task_on(few_drawings))

    def test_those_listed_say_how_many_parameters_they_have(self, exemplar: Any) -> None:
        listed = exemplar("draw", "agents", "--json").json()
        assert {row["name"] for row in listed["agents"]} == set(AGENTS)
        assert {row["name"]: row["parameters"] for row in listed["presets"]}["cfgdm"] == 5_956_633
        assert all(row["parameters"] > 0 for row in listed["agents"] if row["name"] in WEIGHTS)

    def test_they_are_no_spaces(self, tiny_agents: dict[str, str]) -> None:
        assert list_spaces(Path(tiny_agents["cfgdm"]).parent) == ()


class TestKeptDrawings:
    def test_they_are_drawn_once(
        self, agent: DiffusionAgent, exemplars: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = keep_samples(agent, tmp_path)(exemplars[:2], 3, seeds.rng(0))
        np.testing.assert_array_equal(first, agent(exemplars[:2], 3, seeds.rng(0)))
        monkeypatch.setattr(Drawer, "draw", lambda *args: pytest.fail("drawn again"))
        np.testing.assert_array_equal(keep_samples(agent, tmp_path)(exemplars[:2], 3, seeds.rng(0)), first)

    @pytest.mark.parametrize("what", ["weights", "sampler", "exemplars", "n", "seed", "program"])
    def test_whatever_changes_they_are_drawn_again(
        self, what: str, agent: DiffusionAgent, exemplars: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keep_samples(agent, tmp_path)(exemplars[:2], 2, seeds.rng(0))
        changed, shown, n, seed = agent, exemplars[:2], 2, 0
        match what:
            case "weights":
                import copy

                other = copy.deepcopy(agent.network)
                with torch.no_grad():
                    other.stem.bias += 0.01
                changed = replace(agent, network=other)
            case "sampler":
                changed = replace(agent, sampling=replace(agent.sampling, steps=3))
            case "exemplars":
                shown = 1 - shown
            case "n":
                n = 3
            case "seed":
                seed = 1
            case "program":
                monkeypatch.setattr(sample_store, "this_program", lambda: ["another"])
        before = len(list(tmp_path.iterdir()))
        keep_samples(changed, tmp_path)(shown, n, seeds.rng(seed))
        assert len(list(tmp_path.iterdir())) == before + 1

    def test_a_damaged_file_is_drawn_again(self, agent: DiffusionAgent, exemplars: np.ndarray, tmp_path: Path) -> None:
        first = keep_samples(agent, tmp_path)(exemplars[:1], 2, seeds.rng(0))
        (path,) = tmp_path.iterdir()
        content = bytearray(path.read_bytes())
        content[-60] ^= 1
        path.write_bytes(content)
        np.testing.assert_array_equal(keep_samples(agent, tmp_path)(exemplars[:1], 2, seeds.rng(0)), first)

    def test_functions_of_ones_own_are_asked_each_time(self) -> None:
        def sample(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
            return np.repeat(exemplars[:, None], n, axis=1)

        assert keep_samples(sample) is sample


def picture(path: Path, size: tuple[int, int] = (200, 200), *, paper: int = 255, ink: int = 0) -> Path:
    image = Image.new("L", size, paper)
    ImageDraw.Draw(image).line([(40, 40), (size[0] - 40, size[1] - 40)], fill=ink, width=9)
    image.save(path)
    return path


class TestOwnExemplar:
    def test_a_drawing_is_ink_on_paper_whichever_way_it_was_drawn(self, tmp_path: Path) -> None:
        dark, light = (
            read_exemplar(picture(tmp_path / f"{paper}.png", paper=paper, ink=255 - paper)) for paper in (255, 0)
        )
        np.testing.assert_array_equal(dark.image, light.image)
        assert dark.image[100, 100] == 255 and dark.image[0, 0] == 0 and dark.said == ()

    def test_another_size_or_shape_is_changed_and_said(self, tmp_path: Path) -> None:
        own = read_exemplar(picture(tmp_path / "wide.png", (300, 200)), (48, 48))
        assert own.image.shape == (300, 300)
        assert own.said[0] == "wide.png is 200 × 300 px, not square: paper was added at its sides"
        assert own.said[1] == "wide.png was resized from 300 × 300 to 48 × 48 px"

    def test_a_photograph_is_thresholded_with_a_warning(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        levels = np.clip(np.linspace(60, 200, 200)[:, None] + rng.normal(0, 25, (200, 200)), 0, 255).astype(np.uint8)
        Image.fromarray(levels).save(tmp_path / "photo.jpg")
        own = read_exemplar(tmp_path / "photo.jpg")
        assert set(np.unique(own.image)) == {0, 255}
        assert "photo.jpg looks like a photograph, not a drawing" in own.said[0]

    def test_otsus_level_by_hand(self) -> None:
        assert 10 <= otsu(np.array([[10, 10, 10], [200, 200, 210]], np.uint8)) < 200

    @pytest.mark.parametrize(
        ("content", "said"), [(None, "there is no image"), (b"no image", "is not an image that can be read")]
    )
    def test_what_is_no_image_is_refused(self, content: bytes | None, said: str, tmp_path: Path) -> None:
        if content is not None:
            (tmp_path / "my.png").write_bytes(content)
        with pytest.raises(UserError, match=said):
            read_exemplar(tmp_path / "my.png")

    def test_a_blank_image_is_refused(self, tmp_path: Path) -> None:
        Image.new("L", (50, 50), 255).save(tmp_path / "blank.png")
        with pytest.raises(UserError, match="is blank"):
            read_exemplar(tmp_path / "blank.png")

    def test_the_command_draws_after_it(self, exemplar: Any, tiny_agents: dict[str, str], tmp_path: Path) -> None:
        picture(tmp_path / "my.png")
        words = ("draw", "sample", f"{tiny_agents['cfgdm']}@steps=1", "--exemplar", "my.png", "--n", 3, "--seed", 0)
        said = exemplar(*words, "--out", "drawn", "--json", cwd=tmp_path)
        assert said.code == 0, said.err
        assert said.json()["n"] == 3 and "resized from 200 × 200 to 48 × 48" in said.json()["warnings"][0]
        files = sorted(path.name for path in (tmp_path / "drawn" / "images").iterdir())
        assert files == ["my-01.png", "my-02.png", "my-03.png"]
        again = ex.draw.sample(
            f"{tiny_agents['cfgdm']}@steps=1", exemplar=str(tmp_path / "my.png"), n=3, out=tmp_path / "again"
        )
        assert len(again.drawings) == 3
        for name in ("drawings.npz", "drawings.parquet"):
            assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "drawn" / name).read_bytes()

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["copies"], "Nothing to draw: give --data, or an image file as --exemplar"),
            (["copies", "--exemplar", "my.png", "--data", "glyphs"], "leave --data, --split and --concepts out"),
            (["copies", "--exemplar", "none.png"], "there is no image none.png"),
            (["cfgdn", "--exemplar", "my.png"], "there is no agent 'cfgdn'"),
            (["redraw", "--exemplar", "my.png"], "programs of glyphs only"),
        ],
    )
    def test_mistakes_are_one_sentence(self, words: list[str], said: str, exemplar: Any, tmp_path: Path) -> None:
        picture(tmp_path / "my.png")
        found = exemplar("draw", "sample", *words, cwd=tmp_path)
        assert found.code == 2 and said in found.err and "Traceback" not in found.err


def test_exemplars_of_another_size_are_shown_at_that_of_the_drawings(
    tiny_agents: dict[str, str], tmp_path: Path
) -> None:
    """Glyphs are 105 px, its drawings 48."""
    drawn = ex.draw.sample(
        f"{tiny_agents['cfgdm']}@steps=1", data="glyphs", exemplar="random", n=3, concepts=["2"], out=tmp_path / "drawn"
    )
    assert drawn.drawings.image.shape == (6, 48, 48)
    with Image.open(drawn.figures["sheet"]) as sheet:
        assert sheet.width == 4 + 4 * (48 + 4)


def test_drawing_concepts_it_was_trained_on_is_said(
    tiny_agents: dict[str, str], few_drawings: Path, tmp_path: Path
) -> None:
    drawn = ex.draw.sample(
        f"{tiny_agents['cfgdm']}@steps=1",
        data=str(few_drawings),
        exemplar="random",
        n=3,
        concepts=["3"],
        out=tmp_path / "drawn",
    )
    assert any("was trained on 3 of these 3 concepts" in sentence for sentence in drawn.warnings)
    assert drawn.drawings.image.shape == (9, 48, 48)
