"""A new data set is its own file and one entry: here a toy one, with files that must be found."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import exemplar as ex
from exemplar import images
from exemplar.images.catalogue import CATALOGUE, Entry

MODULE = """
import numpy as np

from exemplar.images.concepts import ConceptSet
from exemplar.images.sources import Source

SPLITS = {"all": "everything"}
SOURCE = Source("toy", "toy", (("toy.npy",),), "https://example.org", "MIT", "nobody 2026")


def load_toy(folder, split):
    return ConceptSet.of(f"toy/{split}", np.load(folder / "toy.npy"), ["a", "a", "b"])
"""


def test_a_data_set_touches_its_own_file_and_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "toy_data.py").write_text(MODULE)
    monkeypatch.setattr(images, "__path__", [*images.__path__, str(tmp_path / "house")])
    monkeypatch.setitem(CATALOGUE, "toy", Entry("toy", "three images", "toy_data", "load_toy", "all"))
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path))
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    try:
        assert not CATALOGUE["toy"].is_here()
        (tmp_path / "toy").mkdir()
        np.save(tmp_path / "toy" / "toy.npy", np.zeros((3, 8, 8), np.uint8))
        assert ex.images.show("toy")["concepts"] == 2 and len(ex.load("toy", "all")) == 3
        assert [row["here"] for row in ex.images.list_data()["data"] if row["name"] == "toy"] == [True]
    finally:
        sys.modules.pop("exemplar.images.toy_data", None)
