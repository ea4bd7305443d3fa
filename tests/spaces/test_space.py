"""Spaces: what they make of images, who they are, and when kept features are believed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import torch
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.devices import find_device
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.identity import KNOWN
from exemplar.spaces.inputs import DrawingInput, Input, PhotoInput
from exemplar.spaces.space import NetworkSpace, PixelSpace, Space


class Tiny(nn.Module):
    """Its ReLU overwrites what `feature` gave; its batch normalisation and dropout differ between training and use."""

    def __init__(self, channels: int = 1, pixels: int = 64) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(0.5)
        self.feature = nn.Linear(channels * pixels, 5)
        self.relu = nn.ReLU(inplace=True)
        self.last = nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.relu(self.feature(self.drop(self.norm(x)).flatten(1))))


@pytest.fixture(autouse=True)
def _known_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks of this file count as a package's, except where a test says otherwise."""
    monkeypatch.setattr("exemplar.spaces.identity.KNOWN", (*KNOWN, __name__.partition(".")[0]))


def tiny(layer: str = "", seed: int = 0, shown: Input | None = None, batch: int | None = None) -> NetworkSpace:
    shown = shown or DrawingInput((8, 8))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return NetworkSpace("tiny", Tiny(shown.channels), shown, layer, batch)


def drawings(n: int = 7, side: int = 16, seed: int = 0) -> np.ndarray:
    return (seeds.rng("space", seed).random((n, side, side)) > 0.6).astype(np.uint8) * 255


def concept_set(images: np.ndarray) -> ConceptSet:
    return ConceptSet.of("made/up", images, [f"c{i % 3}" for i in range(len(images))])


def test_the_output_of_a_network_is_what_the_network_gives() -> None:
    space, images = tiny(), drawings()
    seen = torch.from_numpy(space.input.prepare(images))
    with torch.no_grad():
        expected = space.network.eval()(seen).numpy()
    found = space.encode(images, device="cpu")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_layer_is_seen_before_the_next_one_overwrites_it() -> None:
    space, images = tiny("feature"), drawings()
    network = space.network.eval()
    seen = torch.from_numpy(space.input.prepare(images)).flatten(1)
    with torch.no_grad():
        expected = network.feature(network.norm(seen.reshape(-1, 1, 8, 8)).flatten(1)).numpy()  # type: ignore[operator]
    assert (expected < 0).any()
    np.testing.assert_allclose(space.encode(images, device="cpu"), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", ["", "norm", "feature"])
@pytest.mark.parametrize("batch", [1, 3, 7])
def test_batches_concept_sets_and_floats_make_no_difference(layer: str, batch: int) -> None:
    images = drawings()
    whole = tiny(layer).encode(images, device="cpu")
    parts = tiny(layer, batch=batch)
    np.testing.assert_allclose(parts.encode(images, device="cpu"), whole, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(parts.encode(concept_set(images), device="cpu"), whole, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(parts.encode(images / 255, device="cpu"), whole, rtol=1e-4, atol=1e-6)


def test_encoding_leaves_each_module_in_the_mode_it_was_in() -> None:
    space = tiny()
    space.network.train()
    space.network.get_submodule("norm").eval()
    before = {name: value.clone() for name, value in space.network.state_dict().items()}
    space.encode(drawings(), device="cpu")
    assert space.network.training and not space.network.get_submodule("norm").training
    assert all(torch.equal(before[name], value) for name, value in space.network.state_dict().items())
    assert not space.network.get_submodule("feature")._forward_hooks


def test_drawings_are_resized_rescaled_and_binarised() -> None:
    faint = drawings(side=8) // 5  # ink at 51 of 255
    shown = DrawingInput((8, 8)).prepare(faint)
    np.testing.assert_array_equal(shown[:, 0], faint > 0)
    assert set(np.unique(DrawingInput((5, 5)).prepare(drawings()))) == {0.0, 1.0}
    expected = concept_set(drawings()).resized((5, 5), binarise=0.3).images / 255
    np.testing.assert_array_equal(DrawingInput((5, 5), 0.3).prepare(drawings())[:, 0], expected)
    assert not DrawingInput((8, 8)).prepare(np.full((1, 9, 9), 77, np.uint8)).any()  # an empty page has no ink


def test_photographs_are_centred_and_scaled_by_channel_and_grey_ones_have_three_alike() -> None:
    photos = seeds.rng("photos").integers(0, 256, (4, 6, 6, 3), dtype=np.uint8)
    shown = PhotoInput((6, 6), (10.0, 20.0, 30.0), (1.0, 2.0, 4.0)).prepare(photos)
    np.testing.assert_allclose(shown[:, 2], (photos[..., 2] - 30.0) / 4, rtol=1e-6)
    grey = PhotoInput((6, 6)).prepare(photos[..., 0])
    assert grey.shape == (4, 3, 6, 6) and (grey[:, 0] == grey[:, 2]).all() and grey.max() <= 1
    assert tiny(shown=PhotoInput((8, 8))).encode(photos, device="cpu").shape == (4, 3)


def test_the_identity_is_that_of_weights_layer_input_and_architecture() -> None:
    spaces: list[Space] = [
        tiny(),
        tiny("feature"),
        tiny(seed=1),
        tiny(shown=DrawingInput((8, 8), 0.4)),
        NetworkSpace("tiny", nn.Sequential(tiny().network), DrawingInput((8, 8))),
        PixelSpace(DrawingInput((8, 8))),
        PixelSpace(DrawingInput((8, 8)), blur=1.0),
    ]
    assert len({space.identity for space in spaces}) == len(spaces)
    assert tiny().identity == tiny().identity
    assert tiny(batch=3).identity == tiny().identity
    trained = tiny()
    before = trained.identity
    with torch.no_grad():
        trained.network.get_parameter("last.bias")[0] += 1e-6
    assert trained.identity != before
    assert NetworkSpace("half", tiny().network.to(torch.bfloat16), DrawingInput((8, 8))).identity != before


def test_the_identity_knows_what_neither_a_repr_nor_a_state_dict_shows() -> None:
    few, many = (nn.Sequential(nn.Flatten(2), nn.TransformerEncoderLayer(8, n, 8)) for n in (1, 2))
    many.load_state_dict(few.state_dict())
    assert repr(few) == repr(many)
    assert (
        NetworkSpace("a", few, DrawingInput((8, 8))).identity != NetworkSpace("a", many, DrawingInput((8, 8))).identity
    )
    one, other = (nn.Sequential(nn.Flatten()) for _ in range(2))
    for network, value in ((one, 1.0), (other, 2.0)):
        network[0].register_buffer("shift", torch.full((1,), value), persistent=False)
    assert (
        NetworkSpace("a", one, DrawingInput((8, 8))).identity != NetworkSpace("a", other, DrawingInput((8, 8))).identity
    )


def _own_class(network: nn.Module) -> nn.Module:
    return nn.Sequential(Tiny())


def _own_hook(network: nn.Module) -> nn.Module:
    network[0].register_forward_hook(lambda _module, _inputs, output: 2 * output)  # type: ignore[index]
    return network


def _own_forward(network: nn.Module) -> nn.Module:
    network[0].forward = lambda x: x.flatten(1).sqrt()  # type: ignore[index]
    return network


@pytest.mark.parametrize("own", [_own_class, _own_hook, _own_forward])
def test_nothing_is_kept_of_a_network_with_code_of_one_s_own(
    own: Callable[[nn.Module], nn.Module], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exemplar.spaces.identity.KNOWN", KNOWN)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path))
    images, plain = concept_set(drawings()), nn.Sequential(nn.Flatten())
    assert NetworkSpace("plain", plain, DrawingInput((8, 8))).identity
    space = NetworkSpace("own", own(plain), DrawingInput((8, 8)))
    assert space.identity == ""
    np.testing.assert_array_equal(encode_kept(space, images, device="cpu"), space.encode(images, device="cpu"))
    assert not list(tmp_path.iterdir())


def test_pixels_are_a_space() -> None:
    images = drawings()
    space: Space = PixelSpace(DrawingInput((16, 16)))
    np.testing.assert_array_equal(space.encode(images), images.reshape(len(images), -1) / 255)
    assert PixelSpace(PhotoInput((4, 4))).encode(images).shape == (7, 48)


def test_blurred_pixels_agree_with_scipy_where_the_border_is_renormalised() -> None:
    images = drawings(side=20)
    found = PixelSpace(DrawingInput((20, 20)), blur=1.5).encode(images).reshape(-1, 20, 20)

    def blur(image: np.ndarray) -> np.ndarray:
        return np.asarray(scipy.ndimage.gaussian_filter(image, 1.5, mode="constant", truncate=20))

    expected = [blur(image / 255) / blur(np.ones((20, 20))) for image in images]
    np.testing.assert_allclose(found, expected, atol=1e-6)


class Counting(NetworkSpace):
    """Remembers how many images it encoded."""

    seen: list[int] = []  # noqa: RUF012

    def encode(self, images: np.ndarray | ConceptSet, *, device: str = "auto") -> np.ndarray:
        self.seen.append(len(images))
        return super().encode(images, device=device)


@pytest.fixture
def counting() -> Counting:
    Counting.seen.clear()
    return Counting("counting", tiny().network, DrawingInput((8, 8)))


def test_kept_features_are_used_again(counting: Counting, tmp_path: Path) -> None:
    images = concept_set(drawings(40))
    first = encode_kept(counting, images, device="cpu", folder=tmp_path)
    again = encode_kept(counting, images, device="cpu", folder=tmp_path)
    np.testing.assert_array_equal(first, again)
    assert counting.seen == [40]
    assert len(list(tmp_path.iterdir())) == 1


def test_the_cache_folder_is_the_user_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path))
    encode_kept(tiny(), concept_set(drawings()), device="cpu")
    (kept,) = (tmp_path / "features").iterdir()
    assert tiny().identity in kept.name and concept_set(drawings()).fingerprint in kept.name


def test_other_weights_or_images_never_meet_kept_features(tmp_path: Path) -> None:
    for seed in range(3):
        for images in (drawings(), drawings(seed=1), drawings()[::-1]):
            images = np.ascontiguousarray(images)
            found = encode_kept(tiny(seed=seed), concept_set(images), device="cpu", folder=tmp_path)
            np.testing.assert_array_equal(found, tiny(seed=seed).encode(images, device="cpu"))
    assert len(list(tmp_path.iterdir())) == 9


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "swap", "junk"])
def test_a_damaged_or_foreign_file_is_made_anew(counting: Counting, tmp_path: Path, damage: str) -> None:
    images = concept_set(drawings(40))
    expected = encode_kept(counting, images, device="cpu", folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    other = concept_set(drawings(40, seed=5))
    encode_kept(counting, other, device="cpu", folder=tmp_path / "other")
    foreign = next((tmp_path / "other").iterdir()).read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    path.write_bytes(
        {"cut": content[:-50], "flip": flipped, "empty": b"", "swap": foreign, "junk": b"\x93NUMPY" + content[::-1]}[
            damage
        ]
    )
    counting.seen.clear()
    np.testing.assert_array_equal(encode_kept(counting, images, device="cpu", folder=tmp_path), expected)
    assert counting.seen == [40]
    assert path.read_bytes() == content


@pytest.mark.parametrize("changed", ["package_sources", "version"])
def test_what_another_program_kept_is_made_anew(
    counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    images = concept_set(drawings(40))
    encode_kept(counting, images, device="cpu", folder=tmp_path)
    monkeypatch.setattr(f"exemplar.spaces.feature_cache.{changed}", lambda *_: "other")
    for _ in range(2):
        encode_kept(counting, images, device="cpu", folder=tmp_path)
    assert counting.seen == [40, 40]
    assert len(list(tmp_path.iterdir())) == 1  # in the place of the other's


def test_a_folder_that_cannot_be_written_costs_no_result(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    images = concept_set(drawings())
    found = encode_kept(tiny(), images, device="cpu", folder=tmp_path / "file")
    np.testing.assert_array_equal(found, tiny().encode(images, device="cpu"))


def test_a_layer_that_does_not_exist_names_its_neighbours() -> None:
    with pytest.raises(UserError, match="no layer 'featur' in tiny: did you mean feature"):
        tiny("featur")


@pytest.mark.parametrize(
    ("images", "told"),
    [
        (np.zeros((2, 8, 8, 3), np.uint8), "one channel"),
        (np.zeros((2, 8, 8, 4), np.uint8), r"\(n, h, w\) or"),
        (np.zeros((8, 8), np.uint8), r"\(n, h, w\) or"),
        (np.zeros((2, 0, 8), np.uint8), "at least 1 × 1"),
        (np.zeros((0, 8, 8), np.uint8), "no images"),
        (np.full((2, 8, 8), np.nan), "NaN"),
        (np.full((2, 8, 8), 255.0), "between 0 and 1"),
        (np.full((2, 8, 8), -0.1, np.float32), "between 0 and 1"),
        (np.zeros((2, 8, 8), np.int64), "int64"),
    ],
)
@pytest.mark.parametrize("space", [tiny(), PixelSpace(DrawingInput((8, 8)))])
def test_images_that_cannot_be_seen_are_told_in_a_sentence(space: Space, images: np.ndarray, told: str) -> None:
    with pytest.raises(UserError, match=told):
        space.encode(images, device="cpu")


def test_a_bad_image_late_in_the_batch_is_found_too() -> None:
    images = drawings(9) / 255
    images[8, 3, 3] = np.nan
    with pytest.raises(UserError, match="NaN"):
        tiny(batch=2).encode(images, device="cpu")


def test_an_input_the_network_was_not_made_for() -> None:
    with pytest.raises(UserError, match="cannot take images of 9 × 9 px with 1 channels"):
        tiny(shown=DrawingInput((9, 9))).encode(drawings(), device="cpu")


def test_an_input_that_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_size: int, **_kind: object) -> torch.Tensor:
        raise RuntimeError("can't allocate memory")

    space, images = tiny(), drawings()
    monkeypatch.setattr(torch, "zeros", full)
    with pytest.raises(UserError, match="cannot take images of 8 × 8 px .*allocate"):
        space.encode(images, device="cpu")


def test_weights_that_give_nan_are_told() -> None:
    space = tiny()
    with torch.no_grad():
        space.network.get_parameter("last.bias")[0] = torch.nan
    with pytest.raises(UserError, match="not finite"):
        space.encode(drawings(), device="cpu")


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto").type == find_device("cpu").type == "cpu"
    with pytest.raises(UserError, match="no GPU here"):
        tiny().encode(drawings(), device="cuda")
    with pytest.raises(UserError, match="no device 'gpu'"):
        find_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("auto").type == "cuda"
    assert find_device("cuda:1").index == 1
    with pytest.raises(UserError, match="no cuda:2"):
        find_device("cuda:2")


def test_inputs_have_their_limits() -> None:
    for make in (
        lambda: DrawingInput((0, 5)),
        lambda: DrawingInput((5.0, 5.0)),  # type: ignore[arg-type]
        lambda: DrawingInput((100_000, 100_000)),
        lambda: PhotoInput((5, 5), mean=(0.0, float("nan"), 0.0)),
        lambda: DrawingInput(threshold=1.0),
        lambda: PhotoInput((5, 5), scale=(1.0, 0.0, 1.0)),
        lambda: PixelSpace(DrawingInput(), blur=-1.0),
        lambda: tiny(batch=0),
    ):
        with pytest.raises(UserError):
            make()
