"""The zoo: what is saved comes back, and nothing else is taken for it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.cards import Card, check_unseen
from exemplar.spaces.inputs import DrawingInput, PhotoInput
from exemplar.spaces.networks import NETWORKS, Network, build_network
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.weight_files import PACKED, PLAIN, find_weights, read_weights
from exemplar.spaces.zoo import list_spaces, load_card, load_space, save_space, shipped

TOGETHER = "do not belong together .*other weights, or for another architecture, config, layer or input"


class TinyCritic(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        if width < 1:
            raise ValueError("no width")
        self.convolution = nn.Conv2d(1, width, 3)
        self.norm = nn.BatchNorm2d(width)  # has whole numbers among its tensors
        self.last = nn.Linear(width * 36, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.norm(self.convolution(x)).flatten(1))


class TwiceCritic(TinyCritic):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NETWORKS, "tiny", Network(f"{__name__}:TinyCritic"))
    monkeypatch.setitem(NETWORKS, "tiny-twice", Network(f"{__name__}:TwiceCritic"))


CARD = Card(
    name="tiny-made-up-s0",
    architecture="tiny",
    config={"width": 4},
    layer="norm",
    input=DrawingInput((8, 8), 0.3),
    data="omniglot/weak-train",
    concepts=("Greek/character04", "Greek/character05", "Ünï\ncode/\udc80"),
    seed=0,
    training={"objective": "protonet", "ways": 60},
    curve=[{"step": 0, "loss": 1.5}, {"step": 10, "loss": 0.5}],
    scores={"held_out_accuracy": 0.9, "held_out_loss": 1},
    seconds=12.5,
    versions={"torch": "2"},
)
IMAGES = (seeds.rng("zoo").random((5, 12, 12)) > 0.5).astype(np.uint8) * 255


def network(width: int = 4, seed: int = 0) -> TinyCritic:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = TinyCritic(width)
    made.norm.running_mean = torch.linspace(-1, 1, width)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_space(tmp_path, network(), CARD)
    return tmp_path


def test_what_is_saved_comes_back(folder: Path) -> None:
    assert list_spaces(folder) == (CARD.name,)
    assert load_card(CARD.name, folder) == replace(CARD, concepts=tuple(sorted(CARD.concepts)))
    space = load_space(CARD.name, folder=folder)
    assert (space.name, space.layer, space.input) == (CARD.name, "norm", CARD.input)
    rounded = network().to(torch.bfloat16).float()
    expected = NetworkSpace("x", rounded, CARD.input, "norm").encode(IMAGES, device="cpu")
    np.testing.assert_allclose(space.encode(IMAGES, device="cpu"), expected, rtol=1e-6, atol=1e-6)
    assert not space.network.training
    assert load_space(CARD.name, layer="", folder=folder).encode(IMAGES, device="cpu").shape == (5, 3)
    with pytest.raises(UserError, match="did you mean norm"):
        load_space(CARD.name, layer="nrm", folder=folder)


def test_a_space_in_a_folder_can_be_named_by_its_path(folder: Path) -> None:
    path = f"{folder}/{CARD.name}"
    space = load_space(path)
    assert space.name == path and load_card(path) == load_card(CARD.name, folder)
    assert space.identity == load_space(CARD.name, folder=folder).identity
    with pytest.raises(UserError, match="did you mean tiny-made-up-s0"):
        load_space(f"{folder}/tiny-made-up")
    with pytest.raises(UserError, match="there is no folder .*nowhere, and no pretrained network"):
        load_space(f"{folder}/nowhere/{CARD.name}")
    for name in ("efficientnet-lite0", "efficientnet-lite0/head"):
        with pytest.raises(UserError, match="a pretrained network or a stage of one"):
            load_space(name)


def test_a_loaded_space_is_asked_what_it_was_trained_on_wherever_it_lies(folder: Path) -> None:
    namesake = replace(CARD, name="simclr-omniglot-s0", data="glyphs/weak-train")  # one that ships saw Omniglot
    save_space(folder, network(), namesake)
    for space in (load_space(namesake.name, folder=folder), load_space(f"{folder}/{namesake.name}", layer="")):
        assert space.card is not None and space.card.data == "glyphs/weak-train"
        plain = NetworkSpace(space.name, space.network, space.input, space.layer)
        assert plain.card is None and plain.identity == space.identity
        card = space.card
        assert check_unseen(card, CARD.concepts[:2], "glyphs/weak-test", allow_seen=True) == 2
        assert check_unseen(card, CARD.concepts[:2], "omniglot/weak-test") == 0
        with pytest.raises(UserError, match="trained on 2 of these 2"):
            check_unseen(card, CARD.concepts[:2], "glyphs/weak-test")


def test_only_what_has_weights_and_a_card_is_listed(folder: Path) -> None:
    (folder / "package.json").write_text("{}")
    (folder / "lonely.safetensors").write_bytes(b"")
    assert list_spaces(folder) == (CARD.name,)
    for place in (folder / "nowhere", folder / "package.json", folder / ("a" * 300)):
        with pytest.raises(UserError, match="there is no folder"):
            list_spaces(place)


def test_what_ships_is_small() -> None:
    # 50 MB are for all rooms
    assert not list(shipped().rglob(f"*{PLAIN}")), "python release/pack_weights.py"
    assert sum(path.stat().st_size for path in shipped().rglob(f"*{PACKED}")) < 50_000_000


@pytest.mark.parametrize("name", list_spaces())
def test_shipped_cards_are_what_saving_writes(name: str, tmp_path: Path) -> None:
    save_space(tmp_path, load_space(name).network, load_card(name))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 3
    for path in written:
        there = shipped() / path.relative_to(tmp_path)
        packed = find_weights(there.with_name(name)) if path.name.endswith(PLAIN) else None
        assert path.read_bytes() == (there.read_bytes() if packed is None else read_weights(packed))


def test_weights_are_bfloat16_and_the_same_bytes_each_time(folder: Path, tmp_path: Path) -> None:
    tensors = safetensors.torch.load_file(folder / f"{CARD.name}.safetensors")
    assert tensors["last.weight"].dtype == torch.bfloat16
    assert tensors["norm.num_batches_tracked"].dtype == torch.int64
    before = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(before) == 3
    save_space(folder, network(), CARD)
    assert before == {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_loading_twice_gives_one_identity_and_uses_no_global_randomness(folder: Path) -> None:
    state = torch.random.get_rng_state()
    first, again = (load_space(CARD.name, folder=folder).identity for _ in range(2))
    assert first == again
    assert torch.equal(state, torch.random.get_rng_state())


def test_spaces_that_saw_the_same_concepts_share_one_list(folder: Path) -> None:
    save_space(folder, network(seed=1), replace(CARD, name="tiny-made-up-s1", concepts=CARD.concepts[::-1]))
    photo = PhotoInput((8, 8), (1.0, 2.0, 3.0))
    save_space(folder, network(), replace(CARD, name="tiny-photo", concepts=("cat",), input=photo))
    assert len(list((folder / "concepts").iterdir())) == 2
    assert load_card("tiny-photo", folder).input == photo
    assert len(list_spaces(folder)) == 3


def test_scoring_on_seen_concepts_is_a_mistake_unless_allowed() -> None:
    asked = ["Greek/character01", "Greek/character04", "Greek/character05", "Greek/character05"]
    with pytest.raises(UserError, match=r"trained on 2 of these 3 concepts of omniglot/evaluation .*allow-seen"):
        check_unseen(CARD, asked, "omniglot/evaluation")
    assert check_unseen(CARD, asked, "omniglot/evaluation", allow_seen=True) == 2
    assert check_unseen(CARD, asked[:1], "omniglot/weak-test") == 0
    assert check_unseen(CARD, asked, "glyphs/weak-test") == 0  # another data set's characters only share their names
    cifar = replace(CARD, data="cifar-fs/train", concepts=("apple", "bear"))
    with pytest.raises(UserError, match="trained on 1 of these 2"):
        check_unseen(cifar, ["bear", "crab"], "fc100/test")


def test_a_folder_may_be_called_nearly_as_a_network_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UserError, match="no network 'efficientnet-lite9': did you mean"):
        load_card(f"efficientnet-lite9/{CARD.name}")
    folder.rename("efficientnet-lite9")
    assert load_card(f"efficientnet-lite9/{CARD.name}") == CARD


def test_a_space_that_is_not_there(folder: Path) -> None:
    for name in ("tiny-made-up-s1", "../tiny", ""):
        with pytest.raises(UserError, match="no space"):
            load_space(name, folder=folder)
    with pytest.raises(UserError, match="did you mean tiny-made-up-s0"):
        load_space("tiny-made-up", folder=folder)
    for name in ("a" * 300, f"{folder}/{'a' * 300}", f"{folder}/{'a' * 300}/b"):  # no file can be called this
        with pytest.raises(UserError, match="there is no (space|folder)"):
            load_card(name)
    (folder / f"{CARD.name}.safetensors").unlink()
    with pytest.raises(UserError, match="a card but no weights"):
        load_space(CARD.name, folder=folder)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_damaged_weights_file_is_told_in_a_sentence(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("zoo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(NETWORKS, "tiny", Network(f"{__name__}:TinyCritic"))
        save_space(folder, network(), CARD)
        path = folder / f"{CARD.name}.safetensors"
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content = content[:place]
        else:
            content[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        with pytest.raises(UserError):
            load_space(CARD.name, folder=folder)


def test_weights_of_another_network(folder: Path) -> None:
    path = folder / f"{CARD.name}.safetensors"
    good = path.read_bytes()
    save_space(folder, network(6), replace(CARD, name="wide", config={"width": 6}))
    path.write_bytes((folder / "wide.safetensors").read_bytes())
    with pytest.raises(UserError, match="do not belong together"):
        load_space(CARD.name, folder=folder)
    save_space(folder, network(seed=1), replace(CARD, name="other"))
    path.write_bytes((folder / "other.safetensors").read_bytes())
    with pytest.raises(UserError, match="do not belong together"):
        load_space(CARD.name, folder=folder)
    path.write_bytes(good)
    load_space(CARD.name, folder=folder)
    with pytest.raises(UserError, match=r"does not hold the weights of a tiny .*convolution.bias"):
        save_space(folder, network(6), CARD)


def test_pickles_are_not_opened(folder: Path) -> None:
    torch.save(network().state_dict(), folder / f"{CARD.name}.safetensors")
    with pytest.raises(UserError, match="no safetensors"):
        load_space(CARD.name, folder=folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda page: page.pop("seed"), "seed"),
        (lambda page: page.update(seed="zero"), "seed"),
        (lambda page: page.update(input={"kind": "sound"}), "sound"),
        (lambda page: page.update(input=3), "int"),
        (lambda page: page["input"].update(size=[0, 0]), "damaged .*from 1 to 10,000"),
        (lambda page: page["input"].update(size=[8.0, 8.0]), "damaged .*whole numbers"),
        (lambda page: page["input"].update(size=[100_000, 100_000]), "damaged .*from 1 to 10,000"),
        (lambda page: page["input"].update(size=[9, 9]), TOGETHER),
        (lambda page: page["input"].update(threshold=0.4), TOGETHER),
        (lambda page: page["input"].update(threshold="0.3"), "damaged"),
        (lambda page: page.update(input={"kind": "photo", "size": [8, 8], "mean": ["a", "b", "c"]}), "damaged"),
        (lambda page: page.update(scores={"accuracy": "high"}), "damaged .*scores"),
        (lambda page: page.update(scores={"accuracy": None}), "damaged .*scores"),
        (lambda page: page.update(scores={"accuracy": float("nan")}), "damaged .*scores"),
        (lambda page: page.update(scores={"accuracy": 10**400}), "damaged .*scores"),
        (lambda page: page.update(curve=[1, 2]), "damaged .*curve"),
        (lambda page: page.update(curve=[{"loss": 1.0}]), "damaged .*step"),
        (lambda page: page.update(curve=[{"step": 1, "loss": "low"}]), "damaged .*curve"),
        (lambda page: page["input"].update(colour=1), "colour"),
        (lambda page: page.update(name="other"), "card of other"),
        (lambda page: page.update(format=99), "update exemplar"),
        (lambda page: page.update(concepts={"digest": "00"}), "damaged"),
        (lambda page: page.update(architecture="tiny-twice"), TOGETHER),  # of the same weights, by name and shape
        (lambda page: page.update(architecture="conv9"), TOGETHER),
        (lambda page: page.update(config={"height": 4}), TOGETHER),
        (lambda page: page.update(config={}), TOGETHER),  # which builds the same network, but was not written
        (lambda page: page.update(layer="last"), TOGETHER),
    ],
)
def test_a_card_that_is_wrong_is_told_in_a_sentence(folder: Path, change: object, told: str) -> None:
    path = folder / f"{CARD.name}.json"
    page = json.loads(path.read_text())
    change(page)  # type: ignore[operator]
    path.write_text(json.dumps(page))
    with pytest.raises(UserError, match=told) as error:
        load_space(CARD.name, folder=folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format": 1}', b"null", b"[" * 100_000])
def test_a_garbled_card_is_told_in_a_sentence(folder: Path, content: bytes) -> None:
    (folder / f"{CARD.name}.json").write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        load_card(CARD.name, folder)


def test_an_altered_list_of_concepts_is_told(folder: Path) -> None:
    (path,) = (folder / "concepts").iterdir()
    path.write_text(json.dumps(["Greek/character04"]))
    with pytest.raises(UserError, match="concepts was altered"):
        load_card(CARD.name, folder)
    path.unlink()
    with pytest.raises(UserError, match="damaged"):
        load_card(CARD.name, folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "a/b"}, "cannot be called"),
        ({"name": ""}, "cannot be called"),
        ({"name": ".."}, "cannot be called"),
        ({"config": {"width": 5}}, "does not hold the weights"),
        ({"config": {"width": -4}}, "cannot be built with width=-4"),
        ({"config": {"height": 4}}, "cannot be built with height=4"),
        ({"layer": "nowhere"}, "no layer"),
        ({"architecture": "conv9"}, "no architecture"),
        ({"scores": {"accuracy": float("nan")}}, "scores"),
        ({"scores": {"accuracy": {"value": 0.9}}}, "scores"),
        ({"curve": [{"loss": 0.9}]}, "step"),
        ({"training": {"made by": object()}}, "cannot be written as JSON"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        save_space(tmp_path, network(), replace(CARD, **change))
    assert not list(tmp_path.iterdir())


def test_a_network_with_nan_is_not_saved(tmp_path: Path) -> None:
    broken = network()
    broken.last.bias.data[1] = torch.nan
    with pytest.raises(UserError, match=r"NaN .*last.bias"):
        save_space(tmp_path, broken, CARD)
    assert not list(tmp_path.iterdir())


def test_the_shipped_architectures_can_be_built() -> None:
    for name in ("conv4", "conv3-wide", "resnet"):
        assert sum(p.numel() for p in build_network(name, {}).parameters()) > 0


def test_a_network_of_which_a_part_is_missing_is_refused_without_a_warning() -> None:
    with pytest.raises(UserError, match="conv4 cannot be built with channels=0"):
        build_network("conv4", {"channels": 0})
