"""The training loop: it learns, it resumes where it was killed, and it refuses what it cannot do."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.objectives.classifier import Classifier
from exemplar.spaces.objectives.protonet import ProtoNet
from exemplar.spaces.objectives.simclr import SimClr
from exemplar.spaces.training.bar import step_bar
from exemplar.spaces.training.checkpoints import CHECKPOINT, CURVE
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import Trained, train

Objectives = ProtoNet | SimClr | Classifier
PROTONET = ProtoNet(ways=8, epoch=2, halve_after=3)


def strokes(name: str, n_classes: int = 24, n_each: int = 6, size: int = 16) -> TrainingImages:
    """Each class a random pattern, its drawings shifted by a pixel and with some pixels gone."""
    rng = seeds.rng("strokes", name)
    shapes = rng.random((n_classes, size, size)) < 0.2
    pixels = np.stack([np.roll(shape, rng.integers(-1, 2, 2), (0, 1)) for shape in shapes for _ in range(n_each)])
    pixels &= rng.random(pixels.shape) < 0.9
    label, exemplar = np.arange(n_classes).repeat(n_each), np.arange(n_classes) * n_each
    return TrainingImages.of(pixels.astype(np.uint8) * 255, label, [f"{name} {k}" for k in range(n_classes)], exemplar)


@pytest.fixture(scope="module")
def data() -> TrainingImages:
    return replace(strokes("seen"), held_out=strokes("unseen"))


def weights(trained: Trained) -> bytes:
    return b"".join(value.numpy().tobytes() for value in trained.network.state_dict().values())


@dataclass(frozen=True)
class Parabola:
    """The least objective: one weight, which falls to 0, or grows without bound where the rate is too high."""

    name: ClassVar[str] = "Parabola"
    learning_rate: float = 0.1

    def build(self, data: TrainingImages) -> nn.Module:
        return nn.Linear(1, 1, bias=False)

    def loss(
        self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        (weight,) = network.parameters()
        return weight.square().sum(), {"drawn": torch.rand((), generator=rng), "step_seen": torch.tensor(float(step))}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        assert not network.training and not torch.is_grad_enabled()
        return {"drawn": float(torch.rand((), generator=rng))}

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 1.0 if step < 2 else 0.0


def test_the_rate_follows_the_schedule_and_the_curve_gives_means(data: TrainingImages) -> None:
    trained = train(Parabola(), data, steps=5, seed=0, every=2)
    start = train(Parabola(learning_rate=0.0), data, steps=1, seed=0).network.state_dict()["weight"].item()
    end = trained.network.state_dict()["weight"].item()
    assert end == pytest.approx(start * 0.8**2)  # two steps of w ← w − 0.1 · 2w
    w2 = start**2
    assert [entry["step"] for entry in trained.curve] == [2, 4, 5]
    assert [entry["step_seen"] for entry in trained.curve] == [0.5, 2.5, 4.0]
    assert [entry["loss"] for entry in trained.curve] == pytest.approx([w2 * (1 + 0.64) / 2, *2 * [w2 * 0.64**2]])


def test_steps_draw_anew_and_validation_always_the_same(data: TrainingImages) -> None:
    curve = train(Parabola(), data, steps=3, seed=0, every=1).curve
    assert len({entry["drawn"] for entry in curve}) == 3
    assert len({entry["held_out_drawn"] for entry in curve}) == 1


@pytest.mark.parametrize(
    "objective", [PROTONET, SimClr(batch=24), Classifier(batch=24)], ids=lambda o: type(o).__name__
)
def test_a_killed_training_ends_with_the_same_bytes(
    objective: Objectives, data: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(objective, Classifier):
        data = replace(data, held_out=None)
    whole = train(objective, data, steps=20, seed=3, every=5, folder=tmp_path / "whole")
    loss = type(objective).loss

    def killed(self: Any, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Any:
        if step == 13:
            raise KeyboardInterrupt
        return loss(self, network, data, rng, step)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(objective), "loss", killed)
        train(objective, data, steps=20, seed=3, every=5, folder=tmp_path / "killed")
    assert [entry["step"] for entry in json.loads((tmp_path / "killed" / CURVE).read_text())] == [5, 10]
    resumed = train(objective, data, steps=20, seed=3, every=5, folder=tmp_path / "killed")
    assert weights(resumed) == weights(whole)
    assert resumed.curve == whole.curve
    assert (tmp_path / "killed" / CURVE).read_bytes() == (tmp_path / "whole" / CURVE).read_bytes()
    assert {path.name for path in (tmp_path / "killed").iterdir()} == {CHECKPOINT, CURVE}


def interrupting(monkeypatch: pytest.MonkeyPatch, objective: Any, at: int, times: int = 1) -> None:
    """Ctrl-C is pressed in the middle of a step."""
    loss = type(objective).loss

    def interrupted(self: Any, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Any:
        for _ in range(times if step == at else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return loss(self, network, data, rng, step)

    monkeypatch.setattr(type(objective), "loss", interrupted)


@pytest.mark.parametrize("at", [0, 2, 4, 7])
def test_ctrl_c_keeps_the_last_whole_step_and_the_training_ends_with_the_same_bytes(
    at: int, data: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(PROTONET, data, steps=9, seed=3, every=5)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupting(patch, PROTONET, at)
        train(PROTONET, data, steps=9, seed=3, every=5, folder=tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert torch.load(tmp_path / CHECKPOINT, weights_only=True)["step"] == at + 1
    assert [entry["step"] for entry in json.loads((tmp_path / CURVE).read_text())] == ([5] if at >= 4 else [])
    resumed = train(PROTONET, data, steps=9, seed=3, every=5, folder=tmp_path)
    assert weights(resumed) == weights(whole) and resumed.curve == whole.curve


def test_a_second_ctrl_c_stops_at_once(data: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupting(monkeypatch, Parabola(), at=1, times=2)
    with pytest.raises(KeyboardInterrupt):
        train(Parabola(), data, steps=4, seed=0, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_who_has_other_plans_for_ctrl_c_keeps_them(data: TrainingImages, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        interrupting(monkeypatch, Parabola(), at=1)
        assert len(train(Parabola(), data, steps=3, seed=0).curve) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_a_training_stopped_between_two_evaluations_cannot_end_there(
    data: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupting(patch, Parabola(), at=1)
        train(Parabola(), data, steps=4, seed=0, folder=tmp_path)
    with pytest.raises(UserError, match="trained for 2 steps already: ask for more"):
        train(Parabola(), data, steps=2, seed=0, folder=tmp_path)
    assert [entry["step"] for entry in train(Parabola(), data, steps=3, seed=0, folder=tmp_path).curve] == [3]


@contextmanager
def full_disk() -> Iterator[None]:
    """No checkpoint can be written, and that is said."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(
            UserError, match=r"checkpoint\.pt cannot be written \(File too large\): make room, or choose another place"
        ):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_one_sentence_and_leaves_the_earlier_checkpoint(data: TrainingImages, tmp_path: Path) -> None:
    train(PROTONET, data, steps=2, seed=0, folder=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with full_disk():
        train(PROTONET, data, steps=4, seed=0, folder=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_full_disk_leaves_no_folder_that_was_not_there(data: TrainingImages, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with full_disk():
        train(PROTONET, data, steps=2, seed=0, folder=tmp_path / "mine" / "training" / "protonet")
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]


def test_the_bar_shows_what_matters_in_80_columns_and_ends_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "80")
    curve_entry = {
        "step": 10_000, "loss": 1.23456, "class_loss": 1.1, "turn_loss": 0.1, "accuracy": 0.7, "turn_accuracy": 0.9,
        "held_out_accuracy_1_shot": 0.61234, "held_out_accuracy_1_shot_se": 0.004, "held_out_accuracy_5_shot": 0.78123,
        "held_out_accuracy_5_shot_se": 0.003,
    }  # fmt: skip
    with pytest.raises(KeyboardInterrupt), step_bar(20_000, shown=True) as show:
        show(1)
        show(10_000, curve_entry)
        raise KeyboardInterrupt
    first, then = screen.getvalue().split("\r\x1b[K")[1:]
    assert first == "1/20000 steps  "  # nobody can know yet how long it takes
    assert then.startswith("10000/20000 steps, ") and " s left  held-out accuracy 1 shot 0.612, 5 shot 0.781" in then
    assert len(then) == 80 and then.endswith("\n")


def test_a_seed_decides_everything_and_torchs_own_generator_nothing(data: TrainingImages) -> None:
    before = torch.random.get_rng_state()
    once = train(PROTONET, data, steps=3, seed=0)
    torch.rand(5)
    again = train(PROTONET, data, steps=3, seed=0)
    other = train(PROTONET, data, steps=3, seed=1)
    assert weights(once) == weights(again) != weights(other)
    torch.random.set_rng_state(before)
    train(PROTONET, data, steps=1, seed=0)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_seed_decides_what_is_drawn_at_each_step_not_only_the_first_weights(data: TrainingImages) -> None:
    drawn = [
        [entry["drawn"] for entry in train(Parabola(), data, steps=3, seed=seed, every=1).curve] for seed in (0, 1)
    ]
    assert len({*drawn[0], *drawn[1]}) == 6


def test_evaluating_more_often_changes_no_weight(data: TrainingImages) -> None:
    assert weights(train(PROTONET, data, steps=6, seed=0, every=1)) == weights(train(PROTONET, data, steps=6, seed=0))


def test_a_protonet_learns_to_tell_unseen_classes_apart(data: TrainingImages) -> None:
    first = train(ProtoNet(ways=12), data, steps=1, seed=0).curve[0]
    last = train(ProtoNet(ways=12), data, steps=60, seed=0).curve[-1]
    assert last["held_out_loss"] < first["held_out_loss"]
    assert last["accuracy"] > 0.8
    assert min(last["held_out_accuracy_exemplar"], last["held_out_accuracy_random"]) > 0.4  # 0.05 by chance


def test_simclr_learns_to_match_views_of_unseen_drawings(data: TrainingImages) -> None:
    objective = SimClr(batch=48, views="coded-light")
    first = train(objective, data, steps=1, seed=0).curve[0]["held_out_loss"]
    last = train(objective, data, steps=40, seed=0).curve[-1]["held_out_loss"]
    # between log 95, when nothing is told apart, and the least there is: the other view at cosine 1, all else at −1
    assert np.log(1 + 94 * np.exp(-4)) < last < first - 0.3 < np.log(95)


def test_a_classifier_learns_its_classes(data: TrainingImages) -> None:
    keep = torch.arange(len(data.pixels)) % 6 > 0
    rest = TrainingImages(data.pixels[~keep], data.label[~keep], data.names)
    training = TrainingImages(data.pixels[keep], data.label[keep], data.names, held_out=rest)
    curve = train(Classifier(batch=64), training, steps=60, seed=0, every=30).curve
    assert curve[-1]["accuracy"] > 0.9 and curve[-1]["held_out_accuracy"] > 0.5
    assert curve[-1]["loss"] < curve[0]["loss"]


def test_mixed_precision_trains_about_the_same(data: TrainingImages) -> None:
    exact = train(PROTONET, data, steps=5, seed=0).curve[-1]["loss"]
    mixed = train(PROTONET, data, steps=5, seed=0, precision="bf16-mixed")
    assert mixed.curve[-1]["loss"] == pytest.approx(exact, rel=0.1)
    assert mixed.curve[-1]["loss"] != exact
    assert {value.dtype for value in mixed.network.parameters()} == {torch.float32}


def test_a_finished_training_is_only_read(data: TrainingImages, tmp_path: Path) -> None:
    once = train(PROTONET, data, steps=4, seed=0, folder=tmp_path)
    written = (tmp_path / CHECKPOINT).stat().st_mtime_ns
    again = train(PROTONET, data, steps=4, seed=0, folder=tmp_path)
    assert weights(once) == weights(again) and once.curve == again.curve
    assert (tmp_path / CHECKPOINT).stat().st_mtime_ns == written
    with pytest.raises(UserError, match="trained for 4 steps already"):
        train(PROTONET, data, steps=3, seed=0, folder=tmp_path)


def test_a_checkpoint_of_another_training_is_refused(data: TrainingImages, tmp_path: Path) -> None:
    train(PROTONET, data, steps=2, seed=0, folder=tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(UserError, match="another training, with network 'conv4-linear', not 'conv3-wide'"):
        train(replace(PROTONET, network="conv3-wide"), data, steps=4, seed=0, folder=tmp_path)
    with pytest.raises(UserError, match="with objective ProtoNet, not SimClr"):
        train(SimClr(batch=8), data, steps=4, seed=0, folder=tmp_path)
    with pytest.raises(UserError, match="with seed 0, not 1"):
        train(PROTONET, data, steps=4, seed=1, folder=tmp_path)
    with pytest.raises(UserError, match="with data "):
        train(PROTONET, strokes("other"), steps=4, seed=0, folder=tmp_path)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_weights_of_another_architecture_are_refused(data: TrainingImages, tmp_path: Path) -> None:
    """Though the configuration is the same: the code may have changed."""
    train(PROTONET, data, steps=2, seed=0, folder=tmp_path)
    content = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    content["network"]["last.weight"] = torch.zeros(3, 3)
    torch.save(content, tmp_path / CHECKPOINT)
    with pytest.raises(UserError, match="another architecture"):
        train(PROTONET, data, steps=4, seed=0, folder=tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_checkpoint_is_refused(share: float, data: TrainingImages, tmp_path: Path) -> None:
    train(Parabola(), data, steps=2, seed=0, folder=tmp_path)
    content = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(content[: int(share * len(content))])
    with pytest.raises(UserError, match="is damaged: delete it") as error:
        train(Parabola(), data, steps=4, seed=0, folder=tmp_path)
    assert not str(error.value).endswith("If yo)")  # as torch's advice does after 120 letters


@pytest.mark.parametrize("content", [[1, 2], {"network": {}}], ids=["list", "dict"])
def test_another_file_is_no_checkpoint(content: Any, data: TrainingImages, tmp_path: Path) -> None:
    torch.save(content, tmp_path / CHECKPOINT)
    with pytest.raises(UserError, match="no checkpoint"):
        train(Parabola(), data, steps=2, seed=0, folder=tmp_path)


def test_a_checkpoint_is_never_unpickled(data: TrainingImages, tmp_path: Path) -> None:
    torch.save({"network": Parabola()}, tmp_path / CHECKPOINT)
    with pytest.raises(UserError, match="is damaged"):
        train(Parabola(), data, steps=2, seed=0, folder=tmp_path)


def test_a_training_that_diverges_stops_and_keeps_the_last_good_checkpoint(
    data: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Diverging(Parabola):
        def rate(self, step: int) -> float:
            return 1.0 if step < 4 else 1e30

    with pytest.raises(UserError, match=r"diverged, its loss is (inf|nan): lower the learning rate"):
        train(Diverging(), data, steps=20, seed=0, every=4, folder=tmp_path)
    assert torch.load(tmp_path / CHECKPOINT, weights_only=True)["step"] == 4
    interrupting(monkeypatch, Parabola(), at=6)
    with pytest.raises(UserError, match="diverged"):  # stopped by hand, too, it keeps no such weights
        train(Diverging(), data, steps=20, seed=0, every=4, folder=tmp_path)
    assert torch.load(tmp_path / CHECKPOINT, weights_only=True)["step"] == 4


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_asking_for_a_gpu_where_there_is_none_is_refused(data: TrainingImages) -> None:
    with pytest.raises(UserError, match="no GPU"):
        train(PROTONET, data, steps=1, seed=0, device="cuda")
    with pytest.raises(UserError, match="single GPU"):
        train(PROTONET, data, steps=1, seed=0, replay=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu0"}, "no device 'gpu0'"),
        ({"precision": "16"}, "no precision '16'"),
        ({"steps": 0}, "at least 1 step"),
        ({"every": 0}, "at least 1 step"),
        ({"devices": 0}, "0 devices"),
        ({"devices": 10_000, "device": "cpu"}, "10000 devices were asked for, cpu offers"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str, data: TrainingImages) -> None:
    with pytest.raises(UserError, match=message):
        train(PROTONET, data, **{"steps": 1, "seed": 0, **options})


def test_the_library_below_keeps_quiet(data: TrainingImages, caplog: pytest.LogCaptureFixture) -> None:
    train(Parabola(), data, steps=1, seed=0, precision="bf16-mixed")
    from lightning_fabric.utilities.rank_zero import rank_zero_info

    rank_zero_info("You are using a CUDA device that has Tensor Cores")
    assert not caplog.records


def test_kernels_are_tried_only_while_training(data: TrainingImages, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, loss = [], Parabola.loss

    def looked_at(*given: Any) -> Any:
        seen.append(torch.backends.cudnn.benchmark)
        return loss(*given)

    monkeypatch.setattr(Parabola, "loss", looked_at)
    train(Parabola(), data, steps=2, seed=0)
    assert seen == [True, True] and not torch.backends.cudnn.benchmark


def test_a_checkpoint_of_a_replayed_training_goes_on_on_a_cpu(data: TrainingImages, tmp_path: Path) -> None:
    """On a GPU the rate lives on the device and Adam is fused; neither may come along."""
    whole = train(PROTONET, data, steps=4, seed=0, every=2)
    train(PROTONET, data, steps=2, seed=0, folder=tmp_path)
    content = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    for group in content["optimizer"]["param_groups"]:
        group |= {"lr": torch.tensor(group["lr"]), "capturable": True, "fused": True}
    torch.save(content, tmp_path / CHECKPOINT)
    assert weights(train(PROTONET, data, steps=4, seed=0, folder=tmp_path)) == weights(whole)


def test_a_folder_that_cannot_be_written_is_refused(data: TrainingImages, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        train(Parabola(), data, steps=1, seed=0, folder=tmp_path / "file")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pixels": torch.zeros(4, 1, 8, 8)}, "bytes"),
        ({"pixels": torch.zeros(4, 8, 8, dtype=torch.uint8)}, "bytes"),
        ({"label": torch.tensor([0, 0, 1])}, "4 labels"),
        ({"label": torch.tensor([0, 0, 1, 2])}, "from 0 to 1"),
        ({"exemplar": torch.tensor([0])}, "2 rows"),
        ({"exemplar": torch.tensor([0, 4])}, "2 rows"),
        ({"exemplar": torch.tensor([2, 0])}, "its own images"),
    ],
)
def test_images_that_do_not_fit_together_are_refused(change: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {
        "pixels": torch.zeros(4, 1, 8, 8, dtype=torch.uint8), "label": torch.tensor([0, 0, 1, 1]), "names": ("a", "b"),
    }  # fmt: skip
    TrainingImages(**right)
    with pytest.raises(UserError, match=message):
        TrainingImages(**{**right, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": np.array([0.7, 0.7, 1.7, 1.7])}, "labels must be whole numbers, .* float64"),
        ({"label": [True, False, True, False]}, "labels must be whole numbers, .* bool"),
        ({"label": []}, "labels must be whole numbers, at least one"),
        ({"exemplar": [0.5, 2.5]}, "exemplars must be whole numbers"),
        ({"images": np.zeros((4, 8), np.uint8)}, r"array \(n, h, w\) or .* these are \(4, 8\)"),
        ({"images": np.zeros((4, 8, 8, 1, 1), np.uint8)}, r"array \(n, h, w\)"),
        ({"images": [[[0]]]}, "these are a list"),
    ],
)
def test_arrays_that_are_no_images_and_labels_are_refused(change: dict[str, Any], message: str) -> None:
    right = {"images": np.zeros((4, 8, 8), np.uint8), "label": [0, 0, 1, 1], "names": ["a", "b"], "exemplar": [0, 2]}
    TrainingImages.of(**right)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=message):
        TrainingImages.of(**{**right, **change})


def test_colour_images_keep_their_channels() -> None:
    pixels = seeds.rng("colour").integers(0, 256, (4, 6, 7, 3), dtype=np.uint8)
    data = TrainingImages.of(pixels, [0, 1, 0, 1], ["a", "b"])
    assert data.shape == (3, 6, 7)
    assert torch.equal(data.take(torch.tensor([2]))[0, 1], torch.as_tensor(pixels[2, :, :, 1]) / 255)
    assert data.rows.tolist() == [[0, 2], [1, 3]]


@pytest.mark.long
def test_two_devices_train_one_network_on_twice_the_data(data: TrainingImages, tmp_path: Path) -> None:
    trained = train(PROTONET, data, steps=6, seed=0, devices=2, device="cpu", every=3, folder=tmp_path)
    assert len(trained.curve) == 2
    assert weights(trained) != weights(train(PROTONET, data, steps=6, seed=0, device="cpu"))
    assert weights(train(PROTONET, data, steps=6, seed=0, devices=2, device="cpu", folder=tmp_path)) == weights(trained)
    both = train(Parabola(), data, steps=2, seed=0, devices=2, device="cpu", every=1).curve
    first = train(Parabola(), data, steps=2, seed=0, device="cpu", every=1).curve
    second = [
        seeds_of_rank(1, step) for step in range(2)
    ]  # each device draws its own batches, and the curve their mean
    means = [(one["drawn"] + other) / 2 for one, other in zip(first, second, strict=True)]
    assert [entry["drawn"] for entry in both] == pytest.approx(means)
    with pytest.raises(UserError, match="with seed 0, not 1"):
        train(PROTONET, data, steps=9, seed=1, devices=2, device="cpu", folder=tmp_path)


def seeds_of_rank(rank: int, step: int) -> float:
    """What Parabola draws there and then."""
    rng = torch.Generator().manual_seed(seeds.seed("training", 0, rank, step))
    return float(torch.rand((), generator=rng))
