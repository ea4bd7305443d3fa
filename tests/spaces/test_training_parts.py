"""The parts of the training loop: images, steps of one and several devices, the line on the screen, and what stops it."""

from __future__ import annotations

import io
import json
import math
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.training import bar, loop, stops
from exemplar.spaces.training.checkpoints import CHECKPOINT, CURVE, load_checkpoint, save_checkpoint
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import check_devices, compile_network, identify_training, train
from exemplar.spaces.training.objective import Update, check_rate, kept_critic
from exemplar.spaces.training.plateau import halved_on_plateau
from exemplar.spaces.training.steps import plain_steps, tried_kernels


def images(n: int = 6, **changed: Any) -> TrainingImages:
    pixels = np.arange(n * 4, dtype=np.uint8).reshape(n, 2, 2)
    given: dict[str, Any] = {"images": pixels, "label": np.arange(n) % 2, "names": ["a", "b"], "exemplar": [0, 1]}
    return TrainingImages.of(**(given | changed))


# Images


def test_rows_are_those_of_each_class_filled_up_with_minus_1() -> None:
    data = images(label=[1, 0, 1, 1, 0, 1], exemplar=None)
    assert data.rows.tolist() == [[1, 4, -1, -1], [0, 2, 3, 5]]
    empty = images(names=["a", "b", "nobody"], exemplar=None)
    assert empty.rows.tolist() == [[0, 2, 4], [1, 3, 5], [-1, -1, -1]] and empty.n_classes == 3


def test_a_sample_is_of_distinct_images_all_as_likely() -> None:
    data, rng = images(), seeds.torch_rng("sample")
    drawn = torch.stack([data.sample(3, rng) for _ in range(2000)])
    assert all(len(row.unique()) == 3 for row in drawn)
    share = drawn.flatten().bincount(minlength=6) / len(drawn)
    assert torch.allclose(share, torch.full((6,), 0.5), atol=5 * math.sqrt(0.25 / 2000))
    data.check_batch(6)
    with pytest.raises(UserError, match="a batch of 7 needs as many images, there are 6: lower batch"):
        data.check_batch(7)


def test_bytes_become_shares_of_the_brightest() -> None:
    data = images()
    taken = data.take(torch.tensor([1, 5]))
    assert taken.dtype == torch.float32 and taken.shape == (2, 1, 2, 2) and data.shape == (1, 2, 2)
    assert taken.flatten().tolist() == pytest.approx([k / 255 for k in (4, 5, 6, 7, 20, 21, 22, 23)])


def test_all_that_is_trained_on_goes_to_a_device_together(monkeypatch: pytest.MonkeyPatch) -> None:
    data, bare = replace(images(), held_out=images()), images(exemplar=None).to(torch.device("cpu"))
    monkeypatch.setattr(TrainingImages, "__post_init__", lambda self: None)  # nothing can be checked there
    there = data.to(torch.device("meta"))
    held_out = there.held_out
    assert held_out is not None and there.exemplar is not None and held_out.exemplar is not None
    for tensor in (there.pixels, there.label, there.exemplar, held_out.pixels, held_out.label, held_out.exemplar):
        assert tensor.device.type == "meta"
    assert bare.exemplar is None and bare.held_out is None and bare.names == ("a", "b")


def test_a_digest_names_what_is_trained_on_and_nothing_else() -> None:
    data = images()
    others = [
        images(images=np.zeros((6, 2, 2), np.uint8)), images(label=[0, 1, 0, 1, 1, 0]), images(names=["a", "c"]),
        images(exemplar=None), images(exemplar=[2, 1]),
    ]  # fmt: skip
    assert len({data.digest(), *(other.digest() for other in others)}) == 6
    assert replace(data, held_out=others[0]).digest() == data.digest() == images().digest()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": [-1, 0, 1, 0, 1, 0]}, "labels must count from 0 to 1"),
        ({"label": [0, 1, 0, 1, 0, 2]}, "labels must count from 0 to 1, one for each of the 2 class names"),
        ({"label": [0, 1]}, r"6 images need 6 labels \(int64\), these are \(2,\) torch.int64"),
        ({"exemplar": [-1, 1]}, "exemplars must be 2 rows of the 6 images"),
        ({"exemplar": [0, 6]}, "exemplars must be 2 rows of the 6 images"),
        ({"exemplar": [0, 1, 2]}, "exemplars must be 2 rows"),
        ({"exemplar": [1, 0]}, "must be one of its own images"),
        ({"images": np.zeros((6, 2, 2), np.float32)}, r"these are \(6, 1, 2, 2\) torch.float32"),
        ({"images": np.zeros((0, 2, 2), np.uint8), "label": np.zeros(0, int)}, "at least one"),
    ],
)
def test_images_and_labels_that_do_not_fit_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        images(**changed)


def test_rows_are_where_their_labels_are() -> None:
    data = images()
    with torch.device("meta"):  # what is meant where no device is named
        assert data.rows.device.type == "cpu"


def test_images_to_train_on_are_themselves_and_no_others() -> None:
    data = images()
    assert data == data and data != images() and len({data, images()}) == 2


# Steps


class Devices:
    """A process of several that train together: of whatever is averaged, `others` is the sum of the other processes' share."""

    def __init__(self, world_size: int = 1, others: float = 0.0, rank: int = 0) -> None:
        self.world_size, self.others, self.global_rank, self.is_global_zero = world_size, others, rank, True
        self.device = torch.device("cpu")
        self.sent: list[list[float]] = []

    def autocast(self) -> Any:
        return torch.autocast("cpu", enabled=False)

    def all_reduce(self, values: Tensor, reduce_op: str) -> Tensor:
        assert reduce_op == "mean"
        self.sent.append(values.flatten().tolist())
        return (values + self.others) / self.world_size

    def broadcast(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class Line:
    """Two weights, w and v: the loss is 3 w + 4 v."""

    name: ClassVar[str] = "Line"
    learning_rate: float = 0.5

    def build(self, data: TrainingImages) -> nn.Module:
        return nn.ParameterDict({"w": nn.Parameter(torch.zeros(1, 1)), "v": nn.Parameter(torch.zeros(2))})

    def loss(
        self, network: Any, data: TrainingImages, rng: torch.Generator, step: int
    ) -> tuple[Tensor, dict[str, Tensor]]:
        return 3 * network["w"].sum() + 2 * network["v"].sum(), {"drawn": torch.rand((), generator=rng)}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        return {"n": float(len(data.pixels))}

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 1.0


def one_step(objective: Any, devices: Devices) -> tuple[Any, dict[str, Tensor]]:
    network = objective.build(images())
    optimizer = objective.optimizer(network)
    advance = plain_steps(devices, objective, network, optimizer, images(), seeds.torch_rng("one"))  # type: ignore[arg-type]
    advance(0)
    return network, advance(1)  # gradients of the step before are forgotten


def test_a_step_goes_against_the_gradient() -> None:
    network, found = one_step(Line(), Devices())
    assert network["w"].tolist() == [[-3.0]] and network["v"].tolist() == [-2.0, -2.0]
    assert found["loss"].item() == -1.5 * 3 - 1.0 * 4 and set(found) == {"loss", "drawn"}
    assert not found["loss"].requires_grad


def test_several_devices_take_the_step_of_their_mean_gradient() -> None:
    """One message for all: gradients of 2, 2 and 3 here, another 5 each elsewhere."""
    devices = Devices(world_size=2, others=5.0)
    network, _ = one_step(Line(), devices)
    assert devices.sent == [[2.0, 2.0, 3.0]] * 2
    assert network["w"].tolist() == [[-4.0]] and network["v"].tolist() == [-3.5, -3.5]


def test_a_gradient_is_cut_to_its_longest() -> None:
    @dataclass(frozen=True)
    class Clipped(Line):
        gradient_clip: ClassVar[float] = 1.0

    network, _ = one_step(Clipped(), Devices())
    length = math.sqrt(3**2 + 2 * 2**2)
    assert network["w"].item() == pytest.approx(-3 / length, rel=1e-5)
    assert network["v"].tolist() == pytest.approx([-2 / length] * 2, rel=1e-5)


def test_networks_take_turns_and_who_has_none_stays() -> None:
    @dataclass(frozen=True)
    class Turns(Line):
        def losses(self, network: Any, data: TrainingImages, rng: torch.Generator, step: int) -> Iterator[Update]:
            w, v = network["w"], network["v"]
            yield Update(w.sum() + v.sum(), [w], {"loss": w.sum()})
            yield Update(w.detach().sum() * v.sum(), [v], {"second": w.sum() + v.sum()})  # w has moved already

    network, found = one_step(Turns(), Devices())
    # w: 0 → −½ → −1; v: each 0 → ¼ (its slope is w = −½) → ¾ (−1)
    assert network["w"].item() == -1.0 and network["v"].tolist() == [0.75, 0.75]
    assert {name: value.item() for name, value in found.items()} == {"loss": -0.5, "second": -0.5}
    assert not any(value.requires_grad for value in found.values())


def run(
    objective: Any, devices: Any, data: TrainingImages | None = None, steps: int = 4, every: int = 2, **more: Any
) -> Any:
    options: dict[str, Any] = {"folder": None, "compile": False, "replay": False, **more}
    return loop._Run(objective, data or images(), steps, 0, every=every, **options).run(devices)


@pytest.mark.parametrize("rank", [0, 1])
def test_each_device_draws_batches_of_its_own(rank: int) -> None:
    curve = run(Line(), Devices(rank=rank), every=1)["curve"]
    rngs = [torch.Generator().manual_seed(seeds.seed("training", 0, rank, step)) for step in range(4)]
    assert [entry["drawn"] for entry in curve] == [float(torch.rand((), generator=rng)) for rng in rngs]


def test_only_the_first_process_validates_and_the_curve_is_the_mean_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "any_device", lambda fabric, asked: asked)
    devices = Devices(world_size=2, others=1.0)
    data = replace(images(), held_out=images())
    (entry,) = run(Line(), devices, data, steps=1)["curve"]
    assert entry == {"step": 1, "loss": 0.5, "drawn": pytest.approx((devices.sent[-1][-1] + 1) / 2), "held_out_n": 6.0}
    other = Devices(world_size=2, rank=1)
    other.is_global_zero = False
    assert run(Line(), other, data, steps=1)["curve"] == []


def test_validation_draws_the_same_for_a_seed_and_otherwise_for_another() -> None:
    @dataclass(frozen=True)
    class Drawing(Line):
        def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
            return {"drawn": float(torch.rand((), generator=rng))}

    data = replace(images(), held_out=images())
    for seed in (0, 1):
        expected = float(torch.rand((), generator=seeds.torch_rng("validation", seed)))
        curve = train(Drawing(), data, steps=2, seed=seed, every=1).curve
        assert [entry["held_out_drawn"] for entry in curve] == [expected, expected]


def test_what_a_training_is_and_gave_is_fixed() -> None:
    trained = train(Line(), images(), steps=1, seed=0)
    for fixed in (trained, loop._Run(Line(), images(), 1, 0, None, False, False, 1)):
        with pytest.raises(FrozenInstanceError):
            fixed.seconds = 5.0  # type: ignore[misc, union-attr]


def test_processes_leave_their_result_in_the_folder_or_in_one_that_goes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several processes, here this one: weights would block the pipe between them."""
    given: list[Any] = []

    def launch(fabric: Any, function: Any) -> Any:
        given.append(function(Devices(world_size=2)))
        return given[-1]

    monkeypatch.setattr(loop, "_fabric", lambda *asked: Devices(world_size=2))
    monkeypatch.setattr(loop, "launch_processes", launch)
    monkeypatch.setattr("torch.distributed.destroy_process_group", lambda: given.append("ended"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    for folder in (None, tmp_path / "mine"):
        trained = train(Line(), images(), steps=2, seed=0, devices=2, device="cpu", folder=folder)
        assert [entry["step"] for entry in trained.curve] == [2] and given == ["ended", None]
        given.clear()
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == sorted([CHECKPOINT, CURVE])
    assert not list((tmp_path / "scratch").iterdir())
    with pytest.raises(UserError, match="trained for 2 steps already"):  # what the user did comes back, too
        train(Line(), images(), steps=1, seed=0, devices=2, device="cpu", folder=tmp_path / "mine")


def test_lightning_is_told_which_devices_and_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightning_fabric.Fabric", lambda **how: how)
    monkeypatch.setattr(loop, "check_devices", lambda device, devices: torch.device(device))
    for device, devices, precision, chosen, strategy in (
        ("cpu", 1, "32-true", 1, "auto"), ("cpu", 2, "32-true", 2, "ddp_spawn"), ("cuda:3", 1, "bf16-mixed", [3], "auto"),
    ):  # fmt: skip
        told = loop._fabric(device, devices, precision)
        kind = device.partition(":")[0]
        assert told == {"accelerator": kind, "devices": chosen, "strategy": strategy, "precision": precision}
    with pytest.raises(UserError, match="no precision '16-true'"):
        loop._fabric("cpu", 1, "16-true")


def test_a_replayed_step_finds_its_rate_on_the_device_and_adam_in_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def steps(fabric: Any, objective: Any, network: Any, optimizer: Any, data: Any, rng: Any) -> Any:
        (group,) = optimizer.param_groups
        address = group["lr"].data_ptr()

        def advance(step: int) -> dict[str, Tensor]:
            seen.append((group["capturable"], group["fused"], group["lr"].item(), group["lr"].data_ptr() == address))
            return {"loss": torch.zeros(())}

        return advance

    @dataclass(frozen=True)
    class Adam(Line):
        def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
            return torch.optim.Adam(network.parameters(), self.learning_rate)

        def rate(self, step: int) -> float:
            return 1.0 / (step + 1)

    monkeypatch.setattr(loop, "plain_steps", steps)
    monkeypatch.setattr(loop, "replayed_steps", lambda advance, rng: advance)
    run(Adam(), Devices(), steps=2, replay=True)
    assert seen == [(True, True, 0.5, True), (True, True, 0.25, True)]


def test_a_rate_is_slowed_down_by_what_the_curve_says() -> None:
    @dataclass(frozen=True)
    class Slowing(Line):
        def slow_down(self, curve: list[dict[str, float]]) -> float:
            return 0.5 ** len(curve)

    network = run(Slowing(), Devices(), steps=6, every=2)["network"]
    assert network["w"].item() == -1.5 * (2 * 1 + 2 * 0.5 + 2 * 0.25)


def test_a_watch_sees_the_network_at_each_entry_of_the_curve() -> None:
    seen: list[tuple[int, float, bool, bool]] = []

    def watch(network: Any, step: int) -> None:
        seen.append((step, network["w"].item(), network.training, torch.is_grad_enabled()))

    trained = train(Line(), images(), steps=5, seed=0, every=2, watch=watch)
    assert seen == [(2, -3.0, False, False), (4, -6.0, False, False), (5, -7.5, False, False)]
    assert not trained.network.training and trained.seconds >= 0


def test_weights_that_are_not_finite_are_not_kept_though_the_loss_was(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="diverged, some weights are not finite: lower the learning rate"):
        train(Line(learning_rate=3e38), images(), steps=1, seed=0, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_seconds_of_training_go_on_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now))

    @dataclass(frozen=True)
    class Slow(Line):
        def loss(self, *given: Any) -> Any:
            nonlocal now
            now += 2.0
            return super().loss(*given)

    assert train(Slow(), images(), steps=2, seed=0, folder=tmp_path).seconds == 4.0
    now = 900.0
    assert train(Slow(), images(), steps=5, seed=0, folder=tmp_path).seconds == 10.0


def test_what_makes_a_training_this_one() -> None:
    data = images()
    assert identify_training(Line(), data, 3) == {
        "objective": "Line", "learning_rate": "0.5", "seed": "3", "data": data.digest()
    }  # fmt: skip


def test_a_processor_has_as_many_devices_as_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert check_devices("cpu", 1).type == check_devices("cpu", 3).type == "cpu"
    for wrong in (0, 4):
        with pytest.raises(
            UserError, match=f"^{wrong} devices were asked for, cpu offers 3: ask for between 1 and that many$"
        ):
            check_devices("cpu", wrong)
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert check_devices("cpu", 1).type == "cpu"


def test_a_gpu_with_a_number_is_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "find_device", torch.device)
    monkeypatch.setattr(loop, "count_gpus", lambda: 4)
    assert check_devices("cuda", 4).index is None and check_devices("cuda:2", 1).index == 2
    for device, n, there in (("cuda", 5, 4), ("cuda:2", 2, 1)):
        with pytest.raises(UserError, match=f"{n} devices were asked for, {device} offers {there}"):
            check_devices(device, n)


def test_a_network_is_compiled_whole_unless_it_knows_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("torch.compile", lambda network, options: asked.append((network, options)) or "compiled")
    network = nn.Linear(1, 1)
    assert compile_network(network, True) == compile_network(network, {"max_autotune": True}) == "compiled"
    assert asked == [(network, None), (network, {"max_autotune": True})]
    network.compile_parts = asked.append  # type: ignore[assignment]
    assert compile_network(network, True) is compile_network(network, {"a": 1}) is network
    assert asked[2:] == [None, {"a": 1}]


def test_kernels_are_tried_within_and_not_afterwards() -> None:
    for before in (False, True):
        torch.backends.cudnn.benchmark = before
        with pytest.raises(ZeroDivisionError), tried_kernels():
            assert torch.backends.cudnn.benchmark
            raise ZeroDivisionError
        assert torch.backends.cudnn.benchmark is before
    torch.backends.cudnn.benchmark = False


# Where it stands


CONTENT: dict[str, Any] = {
    "identity": {"objective": "Line", "seed": "0"}, "network": {"w": torch.ones(1)}, "optimizer": {}, "step": 2,
    "curve": [{"step": 2, "loss": 0.5}], "totals": {}, "seconds": 1.5,
}  # fmt: skip


def test_a_checkpoint_comes_back_whole_with_its_curve_beside_it(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "new", CONTENT)
    assert load_checkpoint(tmp_path / "new", CONTENT["identity"]) == CONTENT
    assert json.loads((tmp_path / "new" / CURVE).read_text()) == CONTENT["curve"]
    for other, said in (
        ({"objective": "Line", "seed": "1"}, "seed 0, not 1"),
        ({"objective": "Line"}, "seed 0, not nothing"),
        ({"objective": "Line", "seed": "0", "rate": "x" * 99}, f"rate nothing, not {'x' * 60}:"),
    ):
        with pytest.raises(UserError, match=f"is of another training, with {said}"):
            load_checkpoint(tmp_path / "new", other)


@pytest.mark.parametrize("missing", sorted(CONTENT))
def test_a_checkpoint_without_one_of_its_parts_is_none(tmp_path: Path, missing: str) -> None:
    torch.save({key: value for key, value in CONTENT.items() if key != missing}, tmp_path / CHECKPOINT)
    with pytest.raises(UserError, match="is no checkpoint of a training"):
        load_checkpoint(tmp_path, CONTENT["identity"])


def test_a_rate_is_halved_where_the_loss_stays() -> None:
    def curve(*losses: float, **more: float) -> list[dict[str, float]]:
        return [{"step": 10 * (k + 1), "loss": loss, **more} for k, loss in enumerate(losses)]

    assert halved_on_plateau([], 20) == halved_on_plateau(curve(2, 1), 20) == 1
    assert halved_on_plateau(curve(2, 3, 3), 20) == halved_on_plateau(curve(2, 2, 2), 20) == 0.5
    assert halved_on_plateau(curve(2, 3, 3, 3), 20) == 0.5 and halved_on_plateau(curve(2, 3, 3, 3, 3), 20) == 0.25
    assert halved_on_plateau(curve(2, 3, 1.9, 3), 20) == 1  # a new low begins the count again
    assert halved_on_plateau(curve(2, 2 - 1e-4, 2 - 1e-4), 20) == 0.5  # a new low is lower by a ten-thousandth and more
    assert halved_on_plateau(curve(2, 2 - 3e-4, 2 - 3e-4), 20) == 1
    assert halved_on_plateau(curve(-2, -2.1, -2.1), 20) == 1 and halved_on_plateau(curve(-2, -2, -1.9999), 20) == 0.5
    assert halved_on_plateau(curve(3, 2, 1, held_out_loss=1.0), 20) == 0.5  # of what is held out, if something is
    assert halved_on_plateau(curve(2, 3, 3), 21) == 1


def test_a_rate_is_a_number_above_0() -> None:
    check_rate(1e-9)
    for wrong in (0, -1, float("inf"), float("nan")):
        with pytest.raises(UserError, match=f"the learning rate {wrong} must be a number above 0"):
            check_rate(wrong)
    assert kept_critic(nn.Identity(), "conv4", (3, 48, 50)).config == {"size": 48, "channels": 3}


# What a user sees, and how he stops it


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        return self.getvalue().split("\r\x1b[K")[1:]


def test_the_line_says_how_long_still_five_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, now = Screen(), 100.0
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(bar, "time", SimpleNamespace(monotonic=lambda: now))
    with bar.step_bar(101, shown=True) as show:
        for step, now, entry in (  # noqa: B007 (the clock reads it)
            (1, 100.0, None), (2, 100.1, None), (3, 100.2, {"step": 3, "rest": 1.0, "loss": 0.25}), (11, 105.0, None),
            (21, 110.0, {"step": 21, "held_out_accuracy": 0.5, "held_out_accuracy_se": 0.1, "loss": 2}), (22, 110.1, None),
        ):  # fmt: skip
            show(step, entry)
    assert screen.lines() == [
        "1/101 steps  ", "3/101 steps, 10 s left  loss 0.25  rest 1", "11/101 steps, 45 s left  loss 0.25  rest 1",
        "21/101 steps, 40 s left  held-out accuracy 0.5  loss 2  hel\n",  # cut to the screen
    ]  # fmt: skip


def test_a_line_is_for_terminals_and_for_one_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with bar.step_bar(10, shown=True) as show:
        show(1)
        show(5, {"step": 5, "loss": 1.0})
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", Screen())
    with bar.step_bar(10, shown=False) as show:
        show(1)
    with bar.step_bar(10, shown=True):
        pass  # nothing was shown, so no line is ended
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_one_device_that_is_asked_to_stop_stops_all() -> None:
    assert [stops.any_device(Devices(), asked) for asked in (True, False)] == [True, False]  # type: ignore[arg-type]
    for others, mine, stop in ((0.0, False, False), (0.0, True, True), (1.0, False, True), (1.0, True, True)):
        assert stops.any_device(Devices(world_size=4, others=others), mine) is stop  # type: ignore[arg-type]


def test_the_first_ctrl_c_is_heard_and_said_and_the_second_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr("os.write", lambda number, text: written.append(text))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True, fileno=lambda: 2))
    with pytest.raises(KeyboardInterrupt), stops.stops_between_steps() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGINT)
        assert asked() and written == [b"\r\x1b[Kstopping after this step; Ctrl-C again stops at once\n"]
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and len(written) == 1
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with stops.stops_between_steps() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked()
    assert len(written) == 1  # a file is not told


def test_one_of_several_processes_stops_with_the_others_only(monkeypatch: pytest.MonkeyPatch) -> None:
    let_through: list[Any] = []
    monkeypatch.setattr("multiprocessing.parent_process", lambda: object())
    monkeypatch.setattr("signal.pthread_sigmask", lambda how, which: let_through.append((how, which)))
    try:
        with stops.stops_between_steps() as asked:
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)
            assert asked() and let_through == [(signal.SIG_UNBLOCK, {signal.SIGINT})]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_thread_leaves_ctrl_c_to_the_main_one() -> None:
    heard: list[Any] = []

    def train_there() -> None:
        with stops.stops_between_steps() as asked:
            heard.append((asked(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=train_there)
    thread.start()
    thread.join()
    assert heard == [(False, signal.default_int_handler)]
