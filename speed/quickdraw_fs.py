"""QuickDraw-FS: k-means next to scikit-learn's, and what clustering costs as the number of categories and drawings grows.

Run: EXEMPLAR_DATA=… python speed/quickdraw_fs.py. Clustering runs in a process of its own, on official files made of the
bitmaps there are; peak memory is that process's."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a thread that waits would count as CPU time

import numpy as np
from sklearn.cluster import KMeans

from exemplar.draw.quickdraw_fs.kmeans import fit_clusters
from exemplar.images import sources
from exemplar.images.quickdraw_bitmaps import read_category_bitmaps
from record import Row, record, timed

SIZES = ((2, 500), (4, 500), (8, 500), (2, 1000), (2, 2000))  # categories, drawings of each
CLUSTER = """
import resource, sys, time
from pathlib import Path
from exemplar import engine
from exemplar.draw.quickdraw_fs import ClusterConfig, cluster_folder
cluster_folder(sys.argv[2], Path(sys.argv[1]), ClusterConfig(n_set_aside=0), backend=engine.Here())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def cpu_seconds(work: object, repeats: int = 3) -> float:
    """The least of several."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        work()  # type: ignore[operator]
        spent.append(time.process_time() - start)
    return min(spent)


def clustering(bitmaps: dict[str, np.ndarray], n_words: int, n: int) -> tuple[float, float]:
    """CPU seconds and peak MB of clustering so many categories of so many drawings, the start of the process included."""
    with tempfile.TemporaryDirectory() as scratch:
        files = Path(scratch) / "files"
        files.mkdir()
        for word in list(bitmaps)[:n_words]:
            np.save(files / f"{word}.npy", bitmaps[word][:n].reshape(n, 784))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", CLUSTER, str(files), str(Path(scratch) / "clusters")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, float(done.stdout)


def main() -> None:
    rng = np.random.default_rng(0)
    features = (
        rng.normal(size=(4000, 256)).astype(np.float32) + 2 * rng.normal(size=(5, 256))[rng.integers(5, size=4000)]
    )
    ours = cpu_seconds(lambda: fit_clusters(features, 5, n_beginnings=10, rng=np.random.default_rng(1)))
    theirs = cpu_seconds(lambda: KMeans(5, n_init=10, random_state=1).fit(features))
    rows = [timed("5 clusters of 4,000 × 256 features, 10 beginnings", ours, "CPU s", "scikit-learn's KMeans", theirs)]
    folder = sources.obtain("quickdraw-bitmaps")
    large = {word: images for word, images in read_category_bitmaps(folder) if len(images) >= 2000}
    for n_words, n in SIZES:
        seconds, peak = clustering(large, n_words, n)
        rows.append(Row(f"clustering {n_words} categories × {n} drawings, peak {peak:.0f} MB", seconds, "CPU s"))
    for row in rows:
        print(row.what, f"{row.value:.2f} {row.unit}", "" if row.ratio is None else f"{row.ratio:.1f} × {row.peer}")
    record(
        __file__, "QuickDraw-FS: k-means, and what clustering costs", rows,
        seen=f"k-means {rows[0].ratio:.1f} × scikit-learn's",
        notes=["Memory grows with the drawings of one category (5,000 at most are clustered), not with the categories."],
    )  # fmt: skip


if __name__ == "__main__":
    main()
