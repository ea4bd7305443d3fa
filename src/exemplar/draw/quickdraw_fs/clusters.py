"""Steps 1, 3 and 4: each category's drawings, encoded and clustered; one file per category in the run's folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine, seeds
from exemplar.draw.quickdraw_fs.kmeans import fit_clusters
from exemplar.draw.quickdraw_fs.sources import (
    Category,
    Deal,
    check_alone,
    count_drawings,
    deal,
    file_name,
    find_categories,
    find_files,
    fingerprint,
    read_category,
)
from exemplar.errors import UserError
from exemplar.files import PART, read_npz, write_npz
from exemplar.images.pixels import Packed
from exemplar.images.quickdraw_fs import N_ASIDE, N_CLUSTERED, SIZE, THRESHOLD, count_aside
from exemplar.runs import Run, describe_run, open_run
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.zoo import load_space

COMMAND = "draw quickdraw-fs cluster"


@dataclass(frozen=True)
class ClusterConfig:
    """The paper's settings of steps 1 to 4.

    form: "strokes" or "bitmaps"; space: its name in the zoo; n_set_aside: drawings of each category that come first and are
    left for training, at most (see `count_aside`); n_clustered: how many of those that follow are clustered, at most;
    n_clusters: of so many drawings, fewer where there are fewer (see `n_parts`); size: px of the drawings; threshold: above
    which they are ink; n_beginnings: of k-means; device: where features are computed (another may round otherwise).
    """

    form: str = "bitmaps"
    space: str = "simclr-quickdraw-clusters-s0"
    n_set_aside: int = N_ASIDE
    n_clustered: int = N_CLUSTERED
    n_clusters: int = 6
    n_beginnings: int = 10
    size: int = SIZE
    threshold: float = THRESHOLD
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.n_set_aside < 0:
            raise UserError(f"{self.n_set_aside} drawings cannot be set aside: give 0 or more")
        for name, least in (("n_clustered", 1), ("n_clusters", 2), ("n_beginnings", 1), ("size", 1)):
            if getattr(self, name) < least:
                raise UserError(f"{name} cannot be {getattr(self, name)}: give at least {least}")
        if not 0 < self.threshold < 1:
            raise UserError(f"the threshold {self.threshold} must lie between 0 and 1")

    def n_parts(self, n: int) -> int:
        """How many clusters n drawings make: in proportion, at least one. 5,000 → 6, as in the paper; 800 → 1."""
        return max(1, round(self.n_clusters * n / self.n_clustered))


@dataclass(frozen=True)
class Job:
    """One category to be parted, and the file to write."""

    category: Category
    out: Path
    config: ClusterConfig
    seed: int

    def __str__(self) -> str:
        return self.category.word


@dataclass(frozen=True, eq=False)
class Clusters:
    """What `cluster_folder` left: c categories of at most k clusters, the largest first.

    words: (c,); size: (c, k) drawings of each, 0 where a category has fewer clusters; spread: (c, k) their mean distance to the
    centre; between: (c, k, k) the distances of centres, infinite on the diagonal; space: in which; form: strokes or bitmaps.
    The drawings stay on disk.
    """

    folder: Path
    words: tuple[str, ...]
    size: np.ndarray
    spread: np.ndarray
    between: np.ndarray
    space: str
    form: str

    @property
    def names(self) -> np.ndarray:
        """(c, k) text: category and number, as in "cat-2"."""
        k = self.size.shape[1]
        return np.array([[f"{word}-{number + 1}" for number in range(k)] for word in self.words], dtype=object)

    @property
    def nearest(self) -> np.ndarray:
        """(c, k) distance to the nearest other centre of the category."""
        return self.between.min(axis=2)

    def parts(self) -> Iterator[Parted]:
        """The drawings of each category, read from disk one after the other."""
        for word in self.words:
            yield read_parted(category_file(self.folder, word), word)


@dataclass(frozen=True, eq=False)
class Parted:
    """The drawings of one category. cluster: (n,) each one's; distance: (n,) float32 to its centre; key: (n,) text;
    exemplar: (k,) row of the drawing nearest to each centre; plane: (n, 2) float32, its first two principal components."""

    word: str
    drawings: Packed
    cluster: np.ndarray
    distance: np.ndarray
    key: np.ndarray
    exemplar: np.ndarray
    plane: np.ndarray


def cluster_folder(
    out: Path | str,
    folder: Path,
    config: ClusterConfig | None = None,
    *,
    seed: int = 0,
    backend: engine.Backend | None = None,
) -> Clusters:
    """Cluster every category of Quick, Draw! in a folder; killed and called again, it resumes. Memory holds one category per
    worker.

    out: the run's folder.
    """
    out, config = Path(out), config or ClusterConfig()
    paths = find_files(folder, config.form)
    space = load_space(config.space)
    # by their names: a file that was cut can be replaced, and only its category is done again
    data = {f"quickdraw/{config.form}": seeds.digest([path.name for path in paths]), config.space: space.identity}
    files = fingerprint(paths)
    done = "categories/*.npz"
    with open_run(out, command=COMMAND, config=config, seed=seed, data=data, backend=backend, keep=done) as run:
        if not run.finished:
            categories = _categories(run, paths, config)
            place = out / "categories"
            for rest in place.glob(f".*{PART}"):  # what a kill left half-written
                rest.unlink()
            jobs = [Job(each, category_file(out, each.word), config, seed) for each in categories]
            found = run.map(cluster_category, jobs, label="categories")
            arrays = {name: np.stack([result[name] for result in found]) for name in ("size", "spread", "between")}
            words = np.array([category.word for category in categories], dtype=np.str_)
            write_npz(out / "clusters.npz", {"word": words, "files": np.array(files), **arrays})
            shutil.rmtree(out / "dealt", ignore_errors=True)
    if str(read_npz(out / "clusters.npz", files=("U", 0))["files"]) != files:
        raise UserError(f"the files in {folder} have changed since {out} was finished: give --out another folder")
    return load_clusters(out)


def load_clusters(folder: Path | str) -> Clusters:
    """What a finished run of `cluster_folder` left in its folder."""
    folder = Path(folder)
    about = describe_run(folder)
    if about["command"] != COMMAND:
        raise UserError(f"{folder} holds a run of {about['command']}, not of {COMMAND}: give the folder of clusters")
    if about["provenance"].get("state") != "finished":
        raise UserError(f"the clusters in {folder} are not finished: run the command that makes them again, it resumes")
    arrays = read_npz(folder / "clusters.npz", word=("U", 1), size=("i", 2), spread=("f", 2), between=("f", 3))
    words = tuple(str(word) for word in arrays.pop("word"))
    return Clusters(folder, words, **arrays, space=about["config"]["space"], form=about["config"]["form"])


def cluster_category(job: Job) -> dict[str, Any]:
    """Steps 1, 3 and 4 for one category: writes its drawings with their clusters, returns what the filters need. A drawing
    that is there twice is taken once."""
    config, word = job.config, job.category.word
    n = count_drawings(job.category, config.n_set_aside + config.n_clustered)
    aside = count_aside(n, config.n_set_aside, config.n_clustered)
    drawings, key = read_category(
        job.category, aside, aside + config.n_clustered, size=config.size, threshold=config.threshold
    )
    first = np.sort(np.unique(drawings.bits, axis=0, return_index=True)[1])
    drawings, key = Packed(drawings.bits[first], drawings.shape), key[first]
    n_parts = config.n_parts(len(drawings))
    features = load_space(config.space).encode(drawings.take(np.arange(len(drawings))), device=config.device)
    rng = seeds.rng("quickdraw-fs clusters", word, job.seed)
    try:
        cluster = fit_clusters(features, n_parts, n_beginnings=config.n_beginnings, rng=rng)
    except UserError as problem:
        raise UserError(f"{word}: {problem}") from problem
    centre = np.stack([features[cluster == k].mean(axis=0, dtype=np.float64) for k in range(n_parts)])
    distance = np.linalg.norm(features - centre[cluster], axis=1)
    content = {
        "bits": drawings.bits,
        "side": np.array(config.size),
        "key": key,
        "cluster": cluster,
        "distance": distance.astype(np.float32),
        "exemplar": central_exemplars(features, cluster),  # step 8
        "plane": principal_plane(features),  # Fig. A.2
    }
    write_npz(job.out, content)
    return _measured(cluster, distance, centre, config.n_clusters)


def principal_plane(features: np.ndarray) -> np.ndarray:
    """(n, 2) float32: the coordinates of each row on the two axes along which they vary most, each with its largest loading
    positive."""
    centred = features - features.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, :-3:-1]
    axes = axes * np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0))
    return (centred @ axes).astype(np.float32)


def _measured(cluster: np.ndarray, distance: np.ndarray, centre: np.ndarray, k: int) -> dict[str, np.ndarray]:
    """size, spread (k,) and between (k, k) of a category that has k clusters or fewer."""
    size, spread, between = np.zeros(k, np.int64), np.zeros(k), np.full((k, k), np.inf)
    n = len(centre)
    size[:n] = np.bincount(cluster)
    spread[:n] = np.bincount(cluster, distance) / size[:n]
    between[:n, :n] = np.linalg.norm(centre[:, None] - centre, axis=2)
    np.fill_diagonal(between, np.inf)
    return {"size": size, "spread": spread, "between": between}


def _categories(run: Run, paths: list[Path], config: ClusterConfig) -> list[Category]:
    """Every category of these files; those of files that hold many are dealt out first."""
    found, mixed = find_categories(paths, config.form)
    most = config.n_set_aside + config.n_clustered
    n_bytes = sum(path.stat().st_size for path in paths)
    jobs = [Deal(path, run.folder / "dealt" / path.name, most, n_bytes) for path in mixed]
    here = engine.Here()  # reading is soon done, workers would take longer to start
    several = engine.map(deal, jobs, label="files of many categories", backend=here, store=run.store)
    for job, dealt in zip(jobs, several, strict=True):
        found += [Category.of(word, job.folder / name, config.form) for word, name in dealt]
    if not found:
        raise UserError(f"{paths[0].parent} has no drawings of Quick, Draw!, its files are empty: fetch them again")
    return check_alone(found)


def category_file(folder: Path, word: str) -> Path:
    """Where a run keeps a category's drawings."""
    return folder / "categories" / file_name(word, "npz")


def read_parted(path: Path, word: str) -> Parted:
    """The drawings of one category from its file."""
    arrays = read_npz(
        path,
        bits=("u", 2),
        side=("i", 0),
        key=("U", 1),
        cluster=("i", 1),
        distance=("f", 1),
        exemplar=("i", 1),
        plane=("f", 2),
    )
    side = int(arrays.pop("side"))
    return Parted(word, Packed(arrays.pop("bits"), (side, side)), **arrays)


def describe_clusters(clusters: Clusters) -> dict[str, Any]:
    """What the filters will see, in numbers: quantiles over all clusters, to choose thresholds by."""
    shares = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)

    there = clusters.size > 0

    def quantiles(values: np.ndarray) -> dict[str, float]:
        values = values[there & np.isfinite(values)]  # a cluster that is alone has no neighbour
        return {f"{share:.0%}": round(float(np.quantile(values, share)), 1) for share in shares if len(values)}

    return {
        "categories": len(clusters.words),
        "drawings": int(clusters.size.sum()),
        "clusters": int(there.sum()),
        "space": clusters.space,
        "size": quantiles(clusters.size),
        "spread": quantiles(clusters.spread),
        "nearest_centre": quantiles(clusters.nearest),
    }
