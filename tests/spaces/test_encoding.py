"""Encoding as rooms ask for it: each image once, the same bytes whatever stands beside it, kept, shared and resumed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from exemplar import seeds
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Plain
from exemplar.spaces import encoding
from exemplar.spaces import space as space_module
from exemplar.spaces.encoding import encode_all, encode_kept
from exemplar.spaces.identity import identify_network
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.networks import BACKBONE, CRITIC, build_backbone, build_critic, is_adapted, list_networks
from exemplar.spaces.networks.folding import fold_norms
from exemplar.spaces.space import NetworkSpace, PixelSpace, encode_networks
from exemplar.spaces.zoo import list_spaces, load_card, load_space
from exemplar.store import Store

ENCODING = [name for name in list_spaces() if not is_adapted(load_card(name).architecture)]


def drawings(n: int, side: int = 12, seed: int = 0) -> np.ndarray:
    return (seeds.rng("encoding", seed).random((n, side, side)) < 0.3).astype(np.uint8) * 255


def concept_set(images: np.ndarray, name: str = "made/up") -> ConceptSet:
    return ConceptSet.of(name, images, [f"c{i % 3}" for i in range(len(images))])


def small_space(seed: int = 0, layer: str = "", threshold: float = 0.5) -> NetworkSpace:
    """A convolution with a norm whose statistics are far from 0 and 1."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
        spread(network)
    return NetworkSpace(f"small-{seed}", network, DrawingInput((8, 8), threshold), layer)


def spread(network: nn.Module) -> None:
    """Norms as training leaves them: other means, variances, scales and shifts in each channel."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean = torch.randn(module.num_features)
            module.running_var = torch.rand(module.num_features) + 0.1
            module.weight.data = torch.randn(module.num_features)
            module.bias.data = torch.randn(module.num_features)


@pytest.fixture
def forward(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many images went through each network."""
    seen: Counter[str] = Counter()
    run = encode_networks

    def counted(spaces: Any, images: Any, *, device: str = "auto") -> Any:
        seen.update({space.name: len(images) for space in spaces})
        return run(spaces, images, device=device)

    monkeypatch.setattr(encoding, "encode_networks", counted)
    return seen


def test_an_image_that_occurs_again_is_encoded_once(forward: Counter[str], tmp_path: Path) -> None:
    first, second = drawings(9), drawings(5, seed=1)
    space = small_space()
    array = np.concatenate([first[:4], first[:4], second])
    (found,) = encode_all([space], [array, concept_set(first)], device="cpu", folder=tmp_path)
    assert forward == {"small-0": 14}
    for features, images in zip(found, (array, first), strict=True):
        np.testing.assert_array_equal(features, space.encode(images, device="cpu"))


def test_kept_features_serve_for_the_same_images_elsewhere(forward: Counter[str], tmp_path: Path) -> None:
    data, space = concept_set(drawings(9)), small_space()
    expected = encode_kept(space, data, device="cpu", folder=tmp_path)
    forward.clear()
    drawn = np.concatenate([data.images[[3, 3, 1]], drawings(2, seed=1)])
    ((found, kept),) = encode_all([space], [drawn, data], device="cpu", folder=tmp_path)
    assert forward == {"small-0": 2}
    np.testing.assert_array_equal(kept, expected)
    np.testing.assert_array_equal(found, space.encode(drawn, device="cpu"))
    assert len(list(tmp_path.iterdir())) == 1  # drawings that are no data set are not kept


def test_images_of_another_size_are_other_images(forward: Counter[str], tmp_path: Path) -> None:
    small, large = np.zeros((1, 8, 8), np.uint8), np.zeros((1, 16, 4), np.uint8)
    encode_all([small_space()], [small, large], device="cpu", folder=tmp_path)
    assert forward == {"small-0": 2}


class CountedPixels(Plain):
    taken: Counter[int] = Counter()  # noqa: RUF012

    def take(self, rows: np.ndarray) -> np.ndarray:
        self.taken.update(rows.tolist())
        return super().take(rows)


def test_an_image_is_decoded_and_prepared_once_for_all_spaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prepared: list[int] = []
    prepare = DrawingInput.prepare

    def counted(self: DrawingInput, images: np.ndarray) -> np.ndarray:
        prepared.append(len(images))
        return prepare(self, images)

    monkeypatch.setattr(DrawingInput, "prepare", counted)
    store = CountedPixels(drawings(40))
    data = ConceptSet.of("counted", store, [f"c{i % 3}" for i in range(40)])
    spaces = [small_space(seed) for seed in range(3)]
    assert data.fingerprint  # what features are kept under: known once, and no part of encoding
    CountedPixels.taken.clear()
    together = encode_all(spaces, [data], device="cpu", folder=tmp_path)
    assert set(CountedPixels.taken.values()) == {1} and len(CountedPixels.taken) == 40
    assert sum(prepared) == 40
    for space, (features,) in zip(spaces, together, strict=True):
        np.testing.assert_array_equal(features, space.encode(data, device="cpu"))


def test_spaces_of_all_kinds_are_encoded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "PART", 7)
    data = concept_set(drawings(20))
    own = NetworkSpace("own", nn.Sequential(Doubled(), nn.Flatten()), DrawingInput((8, 8)))
    spaces = [small_space(), PixelSpace(DrawingInput((8, 8))), own, small_space(1, threshold=0.4), small_space(2, "0")]
    assert own.identity == ""
    for _ in range(2):  # the second time from the cache
        for space, (features,) in zip(spaces, encode_all(spaces, [data], device="cpu", folder=tmp_path), strict=True):
            np.testing.assert_array_equal(features, space.encode(data, device="cpu"))
    assert len(list(tmp_path.glob("*.npy"))) == 4


class Doubled(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_any_sets_with_any_repetitions_come_out_as_one_by_one(data: st.DataObject) -> None:
    pool, space = drawings(12), PixelSpace(DrawingInput((12, 12)))
    rows = [
        data.draw(st.lists(st.integers(0, 11), min_size=1, max_size=15)) for _ in range(data.draw(st.integers(1, 4)))
    ]
    sets = [pool[chosen] if data.draw(st.booleans()) else concept_set(pool[chosen]) for chosen in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "PART", 4)
        patch.setenv("EXEMPLAR_CACHE", "/nonexistent/cache")
        (found,) = encode_all([space], sets, device="cpu")
    for features, chosen in zip(found, rows, strict=True):
        np.testing.assert_array_equal(features, pool[chosen].reshape(len(chosen), -1) / np.float32(255))


def test_a_run_that_was_stopped_resumes_from_its_store(
    forward: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "PART", 8)
    store, images = Store(tmp_path / "run.sqlite"), drawings(20)
    space, put = small_space(), Store.put

    def killed(self: Store, key: str, packed: bytes) -> None:
        put(self, key, packed)
        if forward["small-0"] == 16:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, "put", killed)
        encode_all([space], [images], device="cpu", store=store, folder=tmp_path)
    forward.clear()
    found = encode_all([space], [images], device="cpu", store=store, folder=tmp_path)[0][0]
    assert forward == {"small-0": 4}
    np.testing.assert_array_equal(found, space.encode(images, device="cpu"))
    with torch.no_grad():
        space.network.get_parameter("4.bias")[0] += 1
    changed = encode_all([space], [images], device="cpu", store=store, folder=tmp_path)[0][
        0
    ]  # other weights never meet what was kept
    np.testing.assert_allclose(changed[:, 0], found[:, 0] + 1, rtol=1e-5)


@pytest.mark.parametrize("name", ENCODING)
def test_the_features_of_an_image_are_the_same_bytes_whatever_stands_beside_it(name: str) -> None:
    space = load_space(name)
    if isinstance(space.input, DrawingInput):
        images = load("glyphs", "weak-test").take(np.arange(0, 400, 20))
    else:
        images = seeds.rng("photographs").integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    whole = space.encode(images, device="cpu")
    for rows in ([7], [3, 19, 0], list(range(20))[::-1], [4] * 5 + [11]):
        np.testing.assert_array_equal(space.encode(images[rows], device="cpu"), whole[rows])


@pytest.mark.parametrize("name", ENCODING)
def test_folding_norms_changes_the_features_of_no_shipped_space(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for layer in (None, ""):
        space = load_space(name, layer=layer)
        assert fold_norms(space.network, space.layer) is not None
        if isinstance(space.input, DrawingInput):
            images = load("glyphs", "weak-test").take(np.arange(0, 400, 20))
        else:
            images = seeds.rng("photographs").integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
        folded = space.encode(images, device="cpu")
        with monkeypatch.context() as patch:
            patch.setattr(space_module, "fold_norms", lambda network, layer: None)
            plain = space.encode(images, device="cpu")
        assert 0 < np.abs(folded - plain).max() < 1e-5 * np.abs(plain).max()


@pytest.mark.parametrize("name", [*list_networks(CRITIC), *list_networks(BACKBONE)])
def test_every_network_can_be_folded_in_part(name: str) -> None:
    """With statistics at random, in every layer that has a name; 32 px, a small channel count being fixed by the network."""
    if name == "wrn28-10":
        pytest.skip("wrn28-4 is the same, with fewer weights")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        build: Any = build_backbone if name in list_networks(BACKBONE) else build_critic
        network = build(name, (1, 32, 32)).eval()
        spread(network)
        images = torch.rand(2, 1, 32, 32)
    folded = fold_norms(network)
    assert folded is not None and [n for n, _ in folded.named_modules()] == [n for n, _ in network.named_modules()]
    n_norms = [sum(isinstance(module, nn.BatchNorm2d) for module in net.modules()) for net in (network, folded)]
    assert n_norms[1] < n_norms[0]
    with torch.no_grad():
        expected, found = network.double()(images.double()), folded.double()(images.double())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("layer", ["", "0", "1", "2", "4"])
def test_a_layer_between_convolution_and_norm_is_what_it_was(layer: str) -> None:
    space, images = small_space(layer=layer), drawings(5)
    network = space.network.eval()
    with torch.no_grad():
        x = torch.from_numpy(space.input.prepare(images))
        for part in list(network)[: int(layer) + 1 if layer else None]:  # type: ignore[call-overload]
            x = part(x)
    found = space.encode(images, device="cpu")
    np.testing.assert_allclose(found, x.flatten(1).numpy(), rtol=1e-4, atol=1e-5)
    folded = fold_norms(network, layer)
    assert (folded is None) == (layer == "0")
    assert isinstance(network.get_submodule("1"), nn.BatchNorm2d)  # the network itself is left alone


class Shared(nn.Module):
    """Its convolution is used twice, once without the norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.one, self.two = nn.Sequential(self.conv, nn.BatchNorm2d(2)), nn.Sequential(self.conv, nn.ReLU())


def test_what_is_no_plain_convolution_with_its_own_norm_is_not_folded() -> None:
    class Scaled(nn.Conv2d):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x)

    norm = nn.BatchNorm2d(2)
    for network in (
        Shared(),
        nn.Sequential(Scaled(1, 2, 3), norm),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, track_running_stats=False)),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), norm),
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 2, 3)), norm),
        nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)),  # which may be that of another axis
    ):
        assert fold_norms(network) is None


@pytest.mark.parametrize("by", ["in place", "data", "storage", "replaced", "buffer", "setting", "module"])
def test_weights_changed_after_loading_never_get_old_features(by: str, tmp_path: Path) -> None:
    """Whichever way they were changed: identities are remembered, but only for the very same bits."""
    space, data = load_space("protonet-glyphs-s0"), concept_set(drawings(6, side=50))
    before, features = space.identity, encode_kept(space, data, device="cpu", folder=tmp_path)
    assert space.identity == before
    feature = space.network.get_submodule("feature")
    norm = space.network.get_submodule("blocks.0.1")
    assert isinstance(feature, nn.Linear) and isinstance(norm, nn.BatchNorm2d) and norm.running_mean is not None
    match by:
        case "in place":
            feature.bias += 1  # type: ignore[misc]
        case "data":
            feature.bias.data[3] += 1e-3
        case "storage":
            feature.bias.numpy()[3] += 1e-3  # nobody tells torch
        case "replaced":
            feature.bias = nn.Parameter(feature.bias.flip(0), requires_grad=False)
        case "buffer":
            norm.running_mean += 1
        case "setting":
            norm.eps = 0.1
        case "module":
            space.network.get_submodule("blocks.0")[3] = nn.Tanh()  # type: ignore[index]
    assert space.identity != before
    found = encode_kept(space, data, device="cpu", folder=tmp_path)
    np.testing.assert_array_equal(found, space.encode(data, device="cpu"))
    assert not np.array_equal(found, features)


def test_weights_are_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    digest = seeds.digest
    network = load_space("protonet-glyphs-s0").network

    def counted(*parts: Any, **options: Any) -> str:
        hashed.extend(part for part in parts if isinstance(part, dict) and any("weight" in str(key) for key in part))
        return digest(*parts, **options)

    monkeypatch.setattr("exemplar.spaces.identity.seeds.digest", counted)
    first = identify_network(network)
    spaces = [NetworkSpace("again", network, DrawingInput((50, 50)), layer) for layer in ("", "feature")]
    assert len({space.identity for space in spaces}) == 2 and identify_network(network) == first
    assert len(hashed) == 1


def test_a_network_of_ones_own_is_encoded_as_it_is_without_blank_images(tmp_path: Path) -> None:
    class Counted(nn.Module):
        batches: list[int] = []  # noqa: RUF012

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.batches.append(len(x))
            return x.flatten(1)

    space = NetworkSpace("own", Counted(), DrawingInput((8, 8)))
    images = np.concatenate([drawings(3), drawings(3)])
    (((found,),)) = encode_all([space], [images], device="cpu", folder=tmp_path)
    assert found.shape == (6, 64) and Counted.batches[-1] == 6  # all six, though three are copies
