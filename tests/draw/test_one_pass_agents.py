"""VAEs and GANs at work: by the same verbs as the diffusion agents, resumed, on another machine, and with the same contract."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_diffusion_elsewhere import BARE, run_there

import exemplar as ex
from exemplar import seeds
from exemplar.draw.agents import AGENTS
from exemplar.draw.diffusion import elsewhere
from exemplar.draw.diffusion.loading import WEIGHTS, load_agent
from exemplar.draw.diffusion.prepared import read_training, read_weights
from exemplar.draw.grids import GRIDS
from exemplar.draw.one_pass_agent import OnePassAgent
from exemplar.draw.presets import PRESETS, RECIPES, read_objective
from exemplar.draw.studies.diffusion_grid import list_agents
from exemplar.draw.tasks import make_task
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.spaces.recipes import find_recipe, find_room
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train
from exemplar.spaces.training.plateau import halved_on_plateau
from exemplar.spaces.zoo import load_card, load_network

KINDS = {
    "vae-stn": ("vae-stn-tiny", ()),
    "vae-ns": ("vae-ns-tiny", ()),
    "dagan-un": ("dagan-tiny", ()),
    "dagan-rn": ("dagan-tiny", ("skips=false",)),
}


@pytest.fixture(scope="module")
def agents(few_drawings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """FOLDER/NAME of each kind, trained for some steps."""
    folder, found = tmp_path_factory.mktemp("agents"), {}
    for kind, (preset, settings) in KINDS.items():
        options: dict[str, Any] = {"setting": settings, "steps": 8, "every": 8, "device": "cpu"}
        found[kind] = ex.draw.train(preset, data=str(few_drawings), out=str(folder), **options)["agent"]
    return found


@pytest.fixture(scope="module")
def exemplars(few_drawings: Path) -> np.ndarray:
    return make_task(load(few_drawings), n=3).exemplars.astype(np.float32) / 255


@pytest.mark.parametrize("kind", KINDS)
class TestEach:
    def test_it_keeps_the_rooms_contract(self, kind: str, agents: dict[str, str], few_drawings: Path) -> None:
        checked = ex.draw.check_agent(agents[kind], data=str(few_drawings), concepts=4)
        assert checked.ok, checked.problems

    def test_each_drawing_has_noise_of_its_own(self, kind: str, agents: dict[str, str], exemplars: np.ndarray) -> None:
        agent = load_agent(agents[kind], device="cpu")
        assert isinstance(agent, OnePassAgent) and agent.size == (48, 48)

        def drawn(some: np.ndarray, n: int, seed: int = 0, part: int | None = None) -> np.ndarray:
            return replace(agent, part=part).draw_levels(some, n, seeds.rng(seed))

        few, same, other = (drawn(exemplars[:2], 3, seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(few, same)
        assert not np.allclose(few, other) and few.min() >= 0 and few.max() <= 1
        np.testing.assert_allclose(drawn(exemplars[:2], 3, part=1), few, atol=1e-5)
        np.testing.assert_allclose(drawn(exemplars[:1], 2), few[:1, :2], atol=1e-5)

    def test_its_card_says_what_it_is(self, kind: str, agents: dict[str, str]) -> None:
        network, card = load_network(agents[kind], room="draw")
        preset, settings = KINDS[kind]
        objective = PRESETS[preset].objective
        assert read_objective(card.training) == (replace(objective, skips=False) if settings else objective)
        assert len(card.concepts) == 12 and card.curve[-1]["step"] == 8 and card.training["chosen"]
        if not settings:
            assert sum(part.numel() for part in network.parameters()) == PRESETS[preset].parameters
        path = Path(agents[kind])
        for ending in (".safetensors", ".svg", ".png"):
            assert path.with_name(path.name + ending).stat().st_size > 0

    def test_stopped_and_resumed_it_ends_with_the_same_weights(
        self, kind: str, few_images: TrainingImages, tmp_path: Path
    ) -> None:
        preset, settings = KINDS[kind]
        objective: Any = PRESETS[preset].objective
        objective = replace(objective, skips=False) if settings else objective
        options: dict[str, Any] = {"seed": 0, "every": 1, "device": "cpu"}
        at_once = train(objective, few_images, steps=2, **options)
        train(objective, few_images, steps=1, folder=tmp_path, **options)
        resumed = train(objective, few_images, steps=2, folder=tmp_path, **options)
        assert resumed.curve == at_once.curve
        both = (trained.network.state_dict().values() for trained in (at_once, resumed))
        assert all(torch.equal(one, other) for one, other in zip(*both, strict=True))

    @pytest.mark.long
    def test_it_is_trained_elsewhere_as_here(self, kind: str, few_drawings: Path, tmp_path: Path) -> None:
        preset, setting = KINDS[kind]
        sent, there = tmp_path / "sent.npz", tmp_path / "there"
        asked: dict[str, Any] = {"data": str(few_drawings), "setting": setting, "steps": 4, "device": "cpu"}
        ex.draw.prepare_training(preset, out=str(sent), **asked)
        assert run_there(sent, there, "--every", 2) == 0
        weights = there / f"{read_training(sent).name}.pt"
        finished = ex.draw.finish_training(sent, weights, out=tmp_path / "agents")
        here = ex.draw.train(preset, every=2, out=str(tmp_path / "here"), **asked)
        networks = [load_network(answer["agent"], room="draw") for answer in (finished, here)]
        for one, other in zip(*(network.state_dict().values() for network, _ in networks), strict=True):
            assert torch.equal(one, other)
        assert networks[0][1].training == networks[1][1].training


def test_torch_and_numpy_are_enough_there(
    few_drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 50 px, as the paper's: exemplars of another size are refused."""
    name = "vae-ns"
    small = ("width=2", "hidden=8", "context=4", "sets=2", "set_size=2")
    ex.draw.prepare_training(
        name, data=str(few_drawings), setting=small, steps=2, out=str(tmp_path / "sent.npz"), device="cpu"
    )
    for size in (48, 50):
        ex.draw.prepare_exemplars(str(few_drawings), size=size, out=str(tmp_path / f"shown{size}.npz"))
    stem = read_training(tmp_path / "sent.npz").name
    words = [
        ["train", "sent.npz", "--work", "work", "--out", "out", "--every", 2, "--device", "cpu"],
        ["draw", "shown50.npz", f"out/{stem}.pt", "--n", 3, "--out", "out", "--device", "cpu"],
        ["draw", "shown48.npz", f"out/{stem}.pt", "--n", 3, "--out", "out", "--device", "cpu"],
        ["draw", "shown50.npz", f"out/{stem}.pt", "--guidance", 1, "--out", "out", "--device", "cpu"],
    ]
    said = []
    for some in words[:2]:
        command = [sys.executable, "-c", BARE, *map(str, some)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        said.append(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment))
    assert [done.returncode for done in said] == [0, 0], [done.stderr for done in said]
    monkeypatch.chdir(tmp_path)
    assert [elsewhere.main(list(map(str, some))) for some in words[2:]] == [2, 2]
    refused = capsys.readouterr().err
    assert "draws at 50 px, these exemplars have 48: write them again with --size 50" in refused
    assert "draws in one pass: leave sampler, guidance, clip and compile out" in refused
    monkeypatch.chdir("/")
    finished = ex.draw.finish_training(tmp_path / "sent.npz", tmp_path / "out" / f"{stem}.pt", out=tmp_path / "agents")
    assert load_agent(finished["agent"]).size == (50, 50)
    assert np.load(tmp_path / "out" / f"{stem}.npz")["images"].shape == (36, 50, 50)
    assert json.loads((tmp_path / "out" / f"{stem}.json").read_text())["sampling"] is None
    assert read_weights(tmp_path / "out" / f"{stem}.pt")["training"]["size"] == 50


class TestNames:
    def test_agents_are_listed_with_their_parameters(self) -> None:
        listed = ex.draw.list_agents()
        counts = {row["name"]: row.get("parameters") for row in listed["agents"]}
        assert {name: counts[name] for name in KINDS} == {
            "vae-stn": 4_924_647, "vae-ns": 7_479_623, "dagan-un": 6_813_857, "dagan-rn": 6_149_153,
        }  # fmt: skip
        assert {row["name"] for row in listed["presets"]} == set(PRESETS)
        assert set(KINDS) <= set(AGENTS) and set(KINDS) <= set(WEIGHTS)

    def test_what_is_not_trained_says_how(self) -> None:
        with pytest.raises(UserError, match="no weights of vae-ns ship with this version: train them"):
            load_agent("vae-ns")

    def test_there_are_no_settings_of_drawing(self, agents: dict[str, str]) -> None:
        with pytest.raises(UserError, match="draws in one pass and has no settings: write it without @guidance=2"):
            load_agent(f"{agents['vae-ns']}@guidance=2")

    def test_recipes_take_the_papers_epochs(self) -> None:
        assert RECIPES["vae-stn-omniglot"].steps == 500 * 230 and RECIPES["vae-ns-omniglot"].steps == 300 * 92
        recipe, seed = find_recipe("dagan-rn-omniglot-s1")
        assert seed == 1 and recipe.size == 50 and find_room("dagan-rn-omniglot-s1") == "draw"
        assert RECIPES["vae-ns-omniglot"].exemplars is None and RECIPES["vae-stn-omniglot"].exemplars is not None

    def test_the_papers_grids(self) -> None:
        sizes = {name: len(GRIDS[name].trainings) for name in ("S12", "S13", "S15-NS", "S15-STN", "K.3")}
        assert sizes == {"S12": 57, "S13": 24, "S15-NS": 60, "S15-STN": 48, "K.3": 108}

    def test_every_point_of_every_grid_can_be_trained(self) -> None:
        from exemplar.draw.grid_training import make_jobs

        for chosen in GRIDS.values():
            assert len(make_jobs(chosen, chosen.data, 1, 1, "somewhere", "cpu")) == len(chosen.trainings)


def test_a_grid_is_trained_and_the_study_of_grids_finds_it(few_drawings: Path, tmp_path: Path) -> None:
    grid = ex.draw.train_grid(
        "own", preset="vae-stn-tiny", vary=["beta=0.5,2"], data=str(few_drawings), steps=2, every=2,
        out=str(tmp_path / "grid"), device="cpu",
    )  # fmt: skip
    assert [row["name"] for row in grid["networks"]] == [f"vae-stn-tiny-beta-{b}-few-s0" for b in ("0.5", "2")]
    assert load_card(f"{tmp_path}/grid/vae-stn-tiny-beta-2-few-s0", room="draw").training["beta"] == 2
    assert [load_agent(name).objective.beta for name in list_agents(f"{tmp_path}/grid").values()] == [0.5, 2]  # type: ignore[union-attr]


class TestPlateau:
    def test_the_rate_is_halved_where_the_loss_stays(self) -> None:
        falling = [{"step": 10 * k, "loss": 10.0 - k} for k in range(1, 6)]
        level = [{"step": 50 + 10 * k, "loss": 5.0} for k in range(1, 6)]
        assert halved_on_plateau([], 20) == 1 and halved_on_plateau(falling, 20) == 1
        assert [halved_on_plateau(falling + level[:k], 20) for k in range(6)] == [1, 1, 0.5, 0.5, 0.25, 0.25]

    def test_what_is_held_out_counts_and_a_bound_may_be_negative(self) -> None:
        curve = [{"step": k, "loss": -float(k), "held_out_loss": -3.0} for k in range(1, 4)]
        assert halved_on_plateau(curve, 2) == 0.5

    def test_an_impatient_objective_slows_down_sooner(self) -> None:
        steady = PRESETS["vae-stn-tiny"].objective
        impatient = replace(steady, patience=1)  # type: ignore[type-var]
        curve = [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 2.0}]
        assert impatient.slow_down(curve) == 0.5 and steady.slow_down(curve) == 1  # type: ignore[attr-defined]

    def test_it_slows_the_training_itself(self, few_images: TrainingImages, monkeypatch: pytest.MonkeyPatch) -> None:
        """Slowed to nothing after the first entry of the curve, weights stay where they were."""
        objective = PRESETS["vae-stn-tiny"].objective
        options: dict[str, Any] = {"seed": 0, "every": 1, "device": "cpu"}
        once = train(objective, few_images, steps=1, **options).network.state_dict()
        moved = train(objective, few_images, steps=2, **options).network.state_dict()
        monkeypatch.setattr(type(objective), "slow_down", lambda self, curve: 0.0 if curve else 1.0)
        slowed = train(objective, few_images, steps=2, **options).network.state_dict()
        learned = [name for name, _ in objective.build(few_images).named_parameters()]
        assert all(torch.equal(slowed[name], once[name]) for name in learned)
        assert any(not torch.equal(moved[name], once[name]) for name in learned)


def test_gradients_are_clipped_to_their_length(few_images: TrainingImages, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    real = torch.nn.utils.clip_grad_norm_

    def spy(parameters: Any, longest: float) -> torch.Tensor:
        asked.append(longest)
        return real(parameters, longest)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", spy)
    train(PRESETS["vae-stn-tiny"].objective, few_images, steps=2, seed=0, every=2, device="cpu")
    assert asked == [5.0, 5.0]
