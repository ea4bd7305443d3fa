"""Weights that are packed: the same bytes, and the same sentence where they are damaged."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from exemplar.errors import UserError
from exemplar.spaces.weight_files import PACKED, PLAIN, find_weights, pack, read_weights, unpack
from exemplar.spaces.zoo import list_spaces, load_space, shipped

NAME = "protonet-glyphs-s0"


@given(st.binary(max_size=200))
def test_packing_loses_nothing(content: bytes) -> None:
    assert unpack(zlib.decompress(pack(content))) == content


def test_weights_of_a_network_are_packed_to_two_thirds() -> None:
    rng = torch.Generator().manual_seed(0)
    content = safetensors.torch.save({"w": torch.randn(100_000, generator=rng).bfloat16()})
    assert len(pack(content)) < 0.75 * len(content) < len(zlib.compress(content, 9))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(shipped() / "concepts", tmp_path / "concepts")
    for ending in (".json", PACKED):
        shutil.copy(shipped() / f"{NAME}{ending}", tmp_path)
    return tmp_path


def test_what_is_packed_is_the_space_that_it_was(folder: Path) -> None:
    packed = folder / f"{NAME}{PACKED}"
    images = torch.rand((2, 50, 50), generator=torch.Generator().manual_seed(0)).numpy()
    found = load_space(NAME, folder=folder).encode(images)
    (folder / f"{NAME}{PLAIN}").write_bytes(read_weights(packed))
    packed.unlink()
    assert list_spaces(folder) == (NAME,) and find_weights(folder / NAME) == folder / f"{NAME}{PLAIN}"
    assert (load_space(NAME, folder=folder).encode(images) == found).all()


@pytest.mark.parametrize("kind", ["truncated", "no zlib", "empty", "other bytes"])
def test_damaged_packed_weights_are_refused_in_one_sentence(folder: Path, kind: str) -> None:
    path = folder / f"{NAME}{PACKED}"
    content = path.read_bytes()
    spoilt = {"truncated": content[:-100], "no zlib": b"weights", "empty": b"", "other bytes": pack(b"weights")}
    path.write_bytes(spoilt[kind])
    with pytest.raises(UserError, match=f"{NAME}.* is damaged or no safetensors"):
        load_space(NAME, folder=folder)


def test_packed_zeros_for_more_memory_than_may_be_are_not_unpacked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXEMPLAR_UNPACK_GB", "0.001")
    (folder / f"{NAME}{PACKED}").write_bytes(zlib.compress(bytes(10**7)))
    with pytest.raises(UserError, match="the limit is 0.001"):
        load_space(NAME, folder=folder)
