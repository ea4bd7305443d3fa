"""The list that ships is what its own commands make of the bitmaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar.draw.quickdraw_fs import BuildConfig, Filters, build_data, cluster_folder, divide_clusters
from exemplar.images.quickdraw_fs import read_concepts, read_parts


@pytest.mark.long
def test_clustering_the_bitmaps_again_gives_the_list_that_ships(real_data: Any, tmp_path: Path) -> None:
    clusters = cluster_folder(tmp_path / "clusters", real_data("quickdraw-bitmaps"))
    built = build_data(tmp_path / "fs", clusters, BuildConfig(Filters(max_spread=None, min_distance=None)))
    shipped = read_concepts()
    with np.load(built.folder / "concepts.npz") as made:
        assert made["concept"].tolist() == shipped.concept.tolist()
        assert made["published"].tolist() == shipped.published.tolist()
        assert made["by_category"].tolist() == shipped.by_category.tolist()
        # another machine may round features otherwise, and a drawing at the border of two clusters then changes sides
        assert np.mean([np.isin(one, other).mean() for one, other in zip(made["key"], shipped.key, strict=True)]) > 0.95
    parts = divide_clusters(tmp_path / "parts", clusters, built.folder)
    assert parts["parts"] == pytest.approx(
        len(read_parts().name), rel=0.05
    )  # those at the least size come and go likewise
    with np.load(tmp_path / "parts" / "parts.npz") as made:
        assert np.isin(read_parts().key, made["key"]).mean() > 0.95
