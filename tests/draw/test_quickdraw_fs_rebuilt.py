"""The list that ships is what its own commands make of the bitmaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar.draw.quickdraw_fs import BuildConfig, Filters, build_data, cluster_folder, divide_clusters
from exemplar.images.quickdraw_fs import read_concepts, read_parts


@pytest.mark.long
def test_clustering_the_bitmaps_again_gives_nearly_the_list_that_ships(real_data: Any, tmp_path: Path) -> None:
    """Not bit for bit: features differ in their last digits from processor to processor, and with them, now and then, whether a
    drawing, or a whole cluster, is in. The set itself is rebuilt by the list, which is the same everywhere."""
    clusters = cluster_folder(tmp_path / "clusters", real_data("quickdraw-bitmaps"))
    built = build_data(tmp_path / "fs", clusters, BuildConfig(Filters(max_spread=None, min_distance=None)))
    shipped = read_concepts()
    with np.load(built.folder / "concepts.npz") as made:
        rows = [np.flatnonzero(made["category"] == category) for category in shipped.category]
        kept = np.array(
            [
                max((float(np.isin(drawings, made["key"][row]).mean()) for row in some), default=0.0)
                for drawings, some in zip(shipped.key, rows, strict=True)
            ]
        )
        assert len(made["concept"]) == pytest.approx(len(shipped.concept), rel=0.05)
        assert np.mean(kept > 0.9) > 0.95 and kept.mean() > 0.95
        sides = dict(zip(shipped.category.tolist(), shipped.by_category.tolist(), strict=True))
        again = zip(made["category"].tolist(), made["by_category"].tolist(), strict=True)
        assert all(sides.get(category, side) == side for category, side in again)  # a hash of the name decides
        if made["concept"].tolist() == shipped.concept.tolist():
            assert made["published"].tolist() == shipped.published.tolist()
    parts = divide_clusters(tmp_path / "parts", clusters, built.folder)
    assert parts["parts"] == pytest.approx(len(read_parts().name), rel=0.05)
    with np.load(tmp_path / "parts" / "parts.npz") as made:
        assert np.isin(read_parts().key, made["key"]).mean() > 0.85
