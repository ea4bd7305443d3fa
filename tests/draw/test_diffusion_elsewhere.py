"""Training on another machine, grids, studies of an agent, and what makes a step fast."""

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
from torch import nn

import exemplar as ex
from exemplar.draw.diffusion import elsewhere
from exemplar.draw.diffusion.objective import Denoising
from exemplar.draw.diffusion.prepared import read_training, read_weights
from exemplar.draw.grids import GRIDS, grid, parse_grid
from exemplar.engine import Ray, backend
from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train
from exemplar.spaces.zoo import load_card, load_network

SETTINGS = ("width=6", "batch=2", "diffusion_steps=40")
ROOT = Path(__file__).parents[2]
BARE = """
import importlib.machinery as machinery, sys
missing = {"pandas", "PIL", "scipy", "pyarrow", "numba", "safetensors", "matplotlib", "rich", "typer", "jinja2", "threadpoolctl"}
real = machinery.PathFinder.find_spec
machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None if name.partition(".")[0] in missing else real(name, path, target)
)
from exemplar.draw.diffusion.elsewhere import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def prepared(few_drawings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sent") / "training.npz"
    ex.draw.prepare_training(
        "cfgdm-tiny", data=str(few_drawings), setting=SETTINGS, steps=4, out=str(path), device="cpu"
    )
    return path


def run_there(path: Path, out: Path, *words: object) -> int:
    return elsewhere.main(["train", *map(str, (path, "--work", out / "work", "--out", out, "--device", "cpu", *words))])


class TestElsewhere:
    def test_what_is_sent_is_what_would_be_trained_on(self, prepared: Path, few_images: TrainingImages) -> None:
        sent = read_training(prepared)
        assert torch.equal(sent.images.pixels, few_images.pixels) and sent.images.names == few_images.names
        assert sent.images.digest() == few_images.digest() and sent.recipe.steps == 4 and sent.seed == 0
        assert sent.objective == Denoising(
            width=6, batch=2, diffusion_steps=40, drop=0.1, learning_rate=1e-3, average=0.99, last_step=4
        )

    @pytest.mark.long
    def test_it_becomes_the_agent_that_training_here_gives(
        self, prepared: Path, few_drawings: Path, tmp_path: Path
    ) -> None:
        assert run_there(prepared, tmp_path / "out", "--every", 2, "--keep", 2) == 0
        name = read_training(prepared).name
        finished = ex.draw.finish_training(prepared, tmp_path / "out" / f"{name}.pt", out=tmp_path / "agents")
        here = ex.draw.train(
            "cfgdm-tiny",
            data=str(few_drawings),
            setting=SETTINGS,
            steps=4,
            every=2,
            out=str(tmp_path / "here"),
            device="cpu",
        )
        networks = [load_network(answer["agent"], room="draw") for answer in (finished, here)]
        for one, other in zip(*(network.state_dict().values() for network, _ in networks), strict=True):
            assert torch.equal(one, other)
        assert networks[0][1].training == networks[1][1].training
        raw = ex.draw.finish_training(prepared, tmp_path / "out" / f"{name}-raw.pt", out=tmp_path / "agents")
        assert raw["agent"].endswith("-raw") and load_card(raw["agent"], room="draw").training["average"] == 0
        averaged = networks[0][0].state_dict()
        assert any(
            not torch.equal(averaged[k], w) for k, w in load_network(raw["agent"], room="draw")[0].state_dict().items()
        )
        half = ex.draw.finish_training(prepared, tmp_path / "out" / f"{name}-at-2.pt", out=tmp_path / "agents")
        card = load_card(half["agent"], room="draw")
        assert card.training["steps"] == 2 and "Stopped at step 2 of a schedule of 4" in card.training["chosen"]

    def test_stopped_by_the_clock_it_goes_on_to_the_same_weights(
        self, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_there(prepared, tmp_path / "one", "--every", 4) == 0
        real = Denoising.loss

        def interrupting(
            self: Denoising, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int
        ) -> Any:
            if step == 1:  # as the alarm does
                os.kill(os.getpid(), 2)
            return real(self, network, data, rng, step)

        monkeypatch.setattr(Denoising, "loss", interrupting)
        assert run_there(prepared, tmp_path / "two", "--every", 4, "--minutes", 10) == 0
        assert "stopped after 2 of 4 steps" in capsys.readouterr().out
        monkeypatch.setattr(Denoising, "loss", real)
        assert run_there(prepared, tmp_path / "two", "--every", 4) == 0
        name = read_training(prepared).name
        one, two = (read_weights(tmp_path / folder / f"{name}.pt") for folder in ("one", "two"))
        assert all(torch.equal(one["weights"][key], two["weights"][key]) for key in one["weights"])
        assert one["curve"] == two["curve"] and all(
            tensor.dtype == torch.bfloat16 for tensor in one["weights"].values()
        )

    def test_torch_and_numpy_are_enough_there(self, prepared: Path, few_drawings: Path, tmp_path: Path) -> None:
        name = read_training(prepared).name
        ex.draw.prepare_exemplars(str(few_drawings), out=str(tmp_path / "shown.npz"))
        sent = [
            ["train", prepared, "--work", "work", "--out", "out", "--every", 4, "--device", "cpu"],
            ["draw", "shown.npz", f"out/{name}.pt", "--n", 3, "--sampler-steps", 1, "--out", "out", "--device", "cpu"],
        ]
        for words in sent:
            command = [sys.executable, "-c", BARE, *map(str, words)]
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            assert done.returncode == 0, done.stderr
        drawn = np.load(tmp_path / "out" / f"{name}.npz")
        assert drawn["images"].shape == (36, 48, 48) and set(np.unique(drawn["images"])) <= {0, 255}
        told = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert told["n"] == 3 and told["sampling"]["steps"] == 1
        scored = ex.draw.score(tmp_path / "out" / f"{name}.npz", data=str(few_drawings), n=3, out=tmp_path / "scored")
        assert scored["n"] == 3

    def test_there_the_same_is_drawn_as_here(self, prepared: Path, few_drawings: Path, tmp_path: Path) -> None:
        from exemplar import seeds
        from exemplar.draw.diffusion.loading import load_agent
        from exemplar.draw.tasks import make_task
        from exemplar.images.catalogue import load

        assert run_there(prepared, tmp_path, "--every", 4) == 0
        name = read_training(prepared).name
        ex.draw.prepare_exemplars(str(few_drawings), out=str(tmp_path / "shown.npz"))
        words = [
            "draw",
            tmp_path / "shown.npz",
            tmp_path / f"{name}.pt",
            "--n",
            3,
            "--out",
            tmp_path,
            "--sampler-steps",
            2,
        ]
        assert elsewhere.main([*map(str, words), "--device", "cpu"]) == 0
        finished = ex.draw.finish_training(prepared, tmp_path / f"{name}.pt", out=tmp_path / "agents")
        agent = load_agent(f"{finished['agent']}@steps=2", device="cpu")
        shown = make_task(load(few_drawings), n=3).exemplars.astype(np.float32) / 255
        here = agent(shown, 3, seeds.rng("draw", 0))
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npz")["images"], here.reshape(-1, 48, 48))

    def test_mistakes_are_refused(self, prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def said(*words: object) -> str:
            assert elsewhere.main([str(word) for word in words]) == 2
            return capsys.readouterr().err

        assert "it must be a prepared training" in said(
            "train", tmp_path / "no.npz", "--work", tmp_path, "--out", tmp_path
        )
        common = ("train", prepared, "--work", tmp_path / "w", "--out", tmp_path / "o", "--device", "cpu")
        assert "multiples of --every, 500, below 4, not at step 3" in said(*common, "--keep", 3)
        assert "--minutes must be above 0" in said(*common, "--minutes", 0)
        (tmp_path / "no.pt").write_bytes(b"nothing")
        assert "cannot be read as trained weights" in said("draw", prepared, tmp_path / "no.pt", "--out", tmp_path)

    def test_weights_of_another_training_are_refused(self, prepared: Path, few_drawings: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.npz"
        ex.draw.prepare_training(
            "cfgdm-tiny", data=str(few_drawings), setting=SETTINGS, steps=1, seed=1, out=other, device="cpu"
        )
        assert run_there(other, tmp_path, "--every", 1) == 0
        weights = tmp_path / f"{read_training(other).name}.pt"
        with pytest.raises(UserError, match="was not trained on"):
            ex.draw.finish_training(prepared, weights, out=tmp_path / "agents")


class TestGrids:
    def test_every_combination(self) -> None:
        assert ex.draw.grid(a=(1, 2), b="x") == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}] and grid() == [{}]

    @pytest.mark.parametrize(
        ("name", "trainings", "models"),
        [("F.3", 64, 64), ("G.4", 64, 320), ("H.4", 100, 100), ("I.2", 128, 128), ("J.2", 128, 640), ("N.4", 80, 80)],
    )
    def test_the_papers_ranges(self, name: str, trainings: int, models: int) -> None:
        found = GRIDS[name]
        assert (len(found.trainings), found.n_models) == (trainings, models)
        parse_grid(
            found.preset, found.data, [f"{axis}={','.join(map(str, values))}" for axis, values in found.axes.items()]
        )

    def test_the_texts_base_width_is_the_coded_one(self) -> None:
        assert 40 in GRIDS["F.3"].axes["width"] and 60 in GRIDS["J.2"].axes["width"]

    @pytest.mark.long
    def test_a_grid_is_trained_resumed_and_placed_on_the_plane(
        self, few_drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options: dict[str, Any] = {
            "vary": ["width=6,8"], "preset": "cfgdm-tiny", "data": str(few_drawings), "steps": 1, "every": 1,
            "device": "cpu", "out": tmp_path / "grid",
        }  # fmt: skip
        from exemplar.draw import grid_training

        real, names = grid_training.train_agent, []

        def counted(*args: Any) -> Any:
            names.append(args[3])
            if len(names) == 2:
                raise KeyboardInterrupt
            return real(*args)

        monkeypatch.setattr(grid_training, "train_agent", counted)
        with pytest.raises(KeyboardInterrupt):
            ex.draw.train_grid("own", **options)
        trained = ex.draw.train_grid("own", **options)
        assert len(trained["networks"]) == 2 and len(names) == 2 + 1  # nothing twice
        placed = ex.draw.study(
            "diffusion-grid", data=str(few_drawings), agent=f"{tmp_path}/grid@steps=1", n=3, out=tmp_path / "study"
        )
        assert len({row["agent"] for row in placed["scores"] if row["name"] == "diversity"}) == 2
        assert placed.page.is_file() and "plane" in placed.figures

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["F.9"], "there is no grid 'F.9'"),
            (["own", "--preset", "cfgdm"], "a grid of your own needs --preset and --data"),
            (["own", "--preset", "cfgdm", "--data", "glyphs"], "varies something"),
            (["own", "--preset", "cfgdm", "--data", "glyphs", "--vary", "widht=3"], "did you mean width"),
            (["F.3", "--vary", "width=3"], "leave --vary and --preset out"),
            (["F.3", "--gpus-per-job", "1"], "--gpus-per-job belongs to --engine ray"),
        ],
    )
    def test_mistakes_are_one_sentence(self, words: list[str], said: str, exemplar: Any, tmp_path: Path) -> None:
        found = exemplar("draw", "grid", *words, cwd=tmp_path)
        assert found.code == 2 and said in found.err and list(tmp_path.iterdir()) == []

    def test_a_job_on_a_cluster_may_ask_for_a_gpu(self) -> None:
        assert backend("ray", None, "auto", 0.5, 2) == Ray("auto", 0.5, 2)


@pytest.mark.long
class TestStudies:
    def test_guidance(self, tiny_agents: dict[str, str], few_drawings: Path, tmp_path: Path) -> None:
        agent = f"{tiny_agents['cfgdm']}@steps=1,sampler=ddim"
        options: dict[str, Any] = {"data": str(few_drawings), "agent": agent, "n": 4, "concepts": ["6"]}
        found = ex.draw.study("guidance", out=tmp_path / "one", **options)
        rows = {(row["name"], row["agent"]): row for row in found["scores"]}
        assert {float(agent.removeprefix("γ = ")) for name, agent in rows if name == "diversity"} == {
            0, 0.2, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 3, 5,
        }  # fmt: skip
        assert ("change_of_diversity", "from no guidance to the most") in rows
        assert found.page.is_file() and {"curves", "sheet"} <= found.figures.keys()
        assert any("was trained on 6 of these 6 concepts" in sentence for sentence in found.warnings)
        again = ex.draw.study("guidance", out=tmp_path / "two", **options)
        for name in ("scores.parquet", "guidance.npz"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert again["scores"] == found["scores"]

    def test_samplers(self, tiny_agents: dict[str, str], few_drawings: Path, tmp_path: Path) -> None:
        agent = f"{tiny_agents['ddpm']}"
        found = ex.draw.study(
            "samplers", data=str(few_drawings), agent=agent, n=3, concepts=["2"], out=tmp_path / "study"
        )
        who = {row["agent"] for row in found["scores"] if row["name"] == "diversity"}
        assert who == {f"{s}, {n} steps" for s in ("dpm-solver", "ddim", "ancestral") for n in (5, 10, 20)} | {
            "ancestral, 40 steps"
        }
        assert json.loads((tmp_path / "study" / "seconds.json").read_text()).keys() == who
        assert found.page.is_file()

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["guidance"], "is of a trained agent: give --agent"),
            (["guidance", "--agent", "cfgdm-smal"], "there is no trained agent 'cfgdm-smal'"),
            (["diffusion-grid", "--agent", "nowhere"], "nowhere is no folder of trained agents"),
            (["curve", "--agent", "copies"], "is of the data, not of an agent"),
            (["guidence"], "did you mean guidance"),
        ],
    )
    def test_mistakes_are_one_sentence(self, words: list[str], said: str, exemplar: Any, tmp_path: Path) -> None:
        found = exemplar("draw", "study", *words, cwd=tmp_path)
        assert found.code == 2 and said in found.err and list(tmp_path.iterdir()) == []


class TestSpeed:
    def test_the_speed_script_runs_without_a_gpu(self) -> None:
        command = [sys.executable, str(ROOT / "speed" / "diffusion_step.py"), "--dry"]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, done.stderr
        losses = [line.rpartition("loss ")[2] for line in done.stdout.splitlines() if "loss" in line]
        assert len(losses) == 2 and losses[0] == losses[1]  # a textbook's layers learn the same

    def test_a_watcher_sees_the_network_at_each_entry_of_the_curve(self, few_images: TrainingImages) -> None:
        seen = []
        objective = replace(Denoising(width=6, diffusion_steps=40, batch=1), last_step=3)
        train(
            objective, few_images, steps=3, seed=0, every=2, device="cpu",
            watch=lambda network, step: seen.append((step, network.training, torch.is_grad_enabled())),
        )  # fmt: skip
        assert seen == [(2, False, False), (3, False, False)]

    def test_options_of_the_compiler_reach_it(
        self, few_images: TrainingImages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = []
        monkeypatch.setattr(torch, "compile", lambda network, options=None: given.append(options) or network)
        objective = Denoising(width=6, diffusion_steps=40, batch=1, last_step=1)
        for chosen in (True, {"force_layout_optimization": True}):
            train(objective, few_images, steps=1, seed=0, every=1, device="cpu", compile=chosen)
        assert given == [None, {"force_layout_optimization": True}]
        assert objective.speed_options(1)["replay"] and not objective.speed_options(2)["replay"]


class TestRecords:
    """What was drawn elsewhere becomes the record that `draw sample` would have left."""

    @pytest.fixture
    def drawn(self, prepared: Path, few_drawings: Path, tmp_path: Path) -> Path:
        assert run_there(prepared, tmp_path, "--every", 4) == 0
        name = read_training(prepared).name
        ex.draw.prepare_exemplars(str(few_drawings), out=str(tmp_path / "shown.npz"))
        words = [
            "draw",
            tmp_path / "shown.npz",
            tmp_path / f"{name}.pt",
            "--n",
            3,
            "--out",
            tmp_path,
            "--name",
            "drawn",
        ]
        assert elsewhere.main([*map(str, words), "--sampler-steps", "1", "--device", "cpu"]) == 0
        return tmp_path / "drawn.npz"

    def test_a_record_holds_the_drawings_and_says_how_they_were_made(
        self, drawn: Path, few_drawings: Path, tmp_path: Path
    ) -> None:
        made = ex.draw.record_drawings(drawn, agent="mine", data=str(few_drawings), out=tmp_path / "record")
        images = np.load(drawn)["images"]
        assert np.array_equal(np.sort(made.drawings.image, axis=0), np.sort(images, axis=0))
        assert set(made.drawings["agent"]) == {"mine"}
        told = json.loads((tmp_path / "record" / "config.json").read_text())["config"]["drawn"]
        assert told["sampling"]["steps"] == 1 and told["n"] == 3 and told["weights"] and told["machine"]
        assert ex.draw.score(tmp_path / "record", data=str(few_drawings), n=3, out=tmp_path / "scored")["n"] == 3

    def test_other_exemplars_and_a_missing_description_are_refused(
        self, drawn: Path, few_drawings: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(UserError, match="drawn after other exemplars"):
            ex.draw.record_drawings(drawn, agent="mine", data=str(few_drawings), exemplar="random", out=tmp_path / "r")
        about = json.loads(drawn.with_suffix(".json").read_text())
        drawn.with_suffix(".json").write_text(json.dumps({**about, "exemplars": {}}))
        with pytest.raises(UserError, match="does not say what was shown"):
            ex.draw.record_drawings(drawn, agent="mine", data=str(few_drawings), out=tmp_path / "r")
        drawn.with_suffix(".json").unlink()
        with pytest.raises(UserError, match=r"there is no .*drawn\.json: bring it back"):
            ex.draw.record_drawings(drawn, agent="mine", data=str(few_drawings), out=tmp_path / "r")
        assert not (tmp_path / "r").exists()
