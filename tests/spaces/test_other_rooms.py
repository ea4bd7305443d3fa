"""Networks of another room: trained by the one loop, kept with a card, loaded again, and never listed among the spaces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

import exemplar as ex
from exemplar import rooms, seeds
from exemplar.errors import UserError
from exemplar.rooms import Room
from exemplar.spaces.recipes import GLYPHS, Recipe, find_recipe
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss
from exemplar.spaces.zoo import list_networks, list_spaces, load_card, load_network, load_space, shipped


class Scribble(nn.Sequential):
    """Draws a drawing again through a few numbers: (b, 1, size, size) → the same."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__(
            nn.Flatten(), nn.Linear(size**2, width), nn.Linear(width, size**2), nn.Unflatten(1, (1, size, size))
        )


@dataclass(frozen=True)
class Scribbler:
    name: ClassVar[str] = "Scribbler"
    layer: ClassVar[str] = ""
    width: int = 4

    def build(self, data: TrainingImages) -> nn.Module:
        return Scribble(data.shape[1], self.width)

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        images = data.take(data.sample(8, rng))
        return (network(images) - images).square().mean(), {}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        assert data.held_out is not None
        images = data.held_out.take(torch.arange(4))
        return {"loss": float((network(images) - images).square().mean())}

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), 1e-2)

    def rate(self, step: int) -> float:
        return 1.0

    def for_steps(self, steps: int) -> Scribbler:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {}

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        return KeptNetwork(network, "scribble", {"size": shape[1], "width": self.width})


NAME = "scribbler-glyphs-s3"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A room called toy: all that it says is in its room.py."""
    module = ModuleType("exemplar.toy.room")
    module.ROOM = Room(  # type: ignore[attr-defined]
        name="toy",
        title="Scribble",
        help="A room for tests.",
        commands={},
        recipes=lambda: {"scribbler-glyphs": Recipe(Scribbler(), GLYPHS, steps=5, size=16)},
        networks=lambda: {"scribble": Scribble},
    )
    monkeypatch.setitem(sys.modules, "exemplar.toy.room", module)
    monkeypatch.setattr(rooms, "ROOMS", (*rooms.ROOMS, "toy"))
    pixels = (seeds.rng("toy").random((20, 16, 16)) < 0.3).astype(np.uint8) * 255
    data = TrainingImages.of(pixels, np.arange(20) // 4, [f"class {k}" for k in range(5)])
    images = TrainingImages(data.pixels, data.label, data.names, held_out=data)
    monkeypatch.setattr("exemplar.spaces.recipes.make_images", lambda recipe, device: images)
    yield "toy"


def test_a_network_of_another_room_is_trained_kept_and_loaded_again(toy: str, tmp_path: Path) -> None:
    assert find_recipe(NAME)[1] == 3
    trained = ex.spaces.train(NAME, out=str(tmp_path), steps=3, device="cpu")
    assert trained["step"] == 3 and trained["held_out_loss"] > 0
    card = load_card(NAME, tmp_path, room=toy)
    assert (card.room, card.architecture, card.config) == (toy, "scribble", {"size": 16, "width": 4})
    assert (card.training["steps"], card.seed, len(card.concepts)) == (3, 3, 5)
    assert list_networks(toy, tmp_path) == (NAME,)
    network, again = (load_network(f"{tmp_path}/{NAME}", room=toy)[0] for _ in range(2))
    images = torch.rand(2, 1, 16, 16)
    assert isinstance(network, Scribble) and not network.training
    assert torch.equal(network(images), again(images)) and network(images).shape == images.shape


def test_it_is_never_taken_for_a_space(toy: str, tmp_path: Path) -> None:
    ex.spaces.train(NAME, out=str(tmp_path), steps=1, device="cpu")
    assert list_spaces(tmp_path) == ()
    assert ex.spaces.list_spaces(tmp_path)["spaces"] == []
    with pytest.raises(UserError, match=f"{NAME} is a network of the room toy, not of spaces: use it there"):
        load_space(NAME, folder=tmp_path)
    with pytest.raises(UserError, match="is a network of the room spaces, not of toy"):
        load_network(f"{shipped()}/protonet-glyphs-s0", room=toy)


def test_what_ships_of_a_room_lies_in_a_folder_of_its_own(toy: str) -> None:
    assert shipped(toy) == shipped() / toy and list_networks(toy) == ()
    with pytest.raises(UserError, match="there is no network of toy 'scribbler'"):
        load_network("scribbler", room=toy)


def test_recipes_of_all_rooms_are_listed_and_offered(toy: str) -> None:
    assert "scribbler-glyphs" in ex.spaces.list_spaces()["recipes"]
    with pytest.raises(UserError, match="there is no recipe 'scribler-glyphs': did you mean scribbler-glyphs"):
        find_recipe("scribler-glyphs-s1")


def test_without_the_room_its_network_is_unknown(toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ex.spaces.train(NAME, out=str(tmp_path), steps=1, device="cpu")
    monkeypatch.setattr(rooms, "ROOMS", rooms.ROOMS[:-1])
    with pytest.raises(UserError, match="there is no architecture 'scribble'"):
        load_network(f"{tmp_path}/{NAME}", room=toy)
