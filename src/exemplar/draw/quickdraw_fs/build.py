"""Steps 5 to 8: the concepts, their drawings and the splits, as npz files that load like any data set."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.quickdraw_fs.clusters import Clusters, Parted
from exemplar.draw.quickdraw_fs.filters import KEPT, TOO_SMALL, VERDICTS, Filters, apply_filters, fit_filters, rivals
from exemplar.draw.quickdraw_fs.splits import (
    CATEGORY,
    PUBLISHED,
    TEST,
    TRAIN,
    VAL,
    check_split,
    members,
    split_at_random,
    split_by_category,
)
from exemplar.errors import UserError, unknown
from exemplar.files import whole_file, write_npz
from exemplar.progress import progress
from exemplar.records import Score, Scores
from exemplar.runs import open_run, write_json

COMMAND = "draw quickdraw-fs build"
SPLITS = (TRAIN, VAL, TEST)
LIST = "concepts.npz"
NEAREST, RANDOM = "nearest", "random"
WHICH = (NEAREST, RANDOM)
PAPER = "the paper's 665 concepts come from 345 categories × 5,000 drawings, which need the full public files"


@dataclass(frozen=True)
class BuildConfig:
    """The paper's settings of steps 5 to 8.

    n_variations: kept of each concept besides its exemplar; keep: which of the cluster's, those "nearest" to its centre or
    some at "random" (the paper does not say); split: "published", concepts at random, or "category"; train_share: of the
    concepts, of the published split; drop: names of clusters that a person removes.
    """

    filters: Filters = field(default_factory=Filters)
    n_variations: int = 500
    keep: str = NEAREST
    split: str = PUBLISHED
    train_share: float = 550 / 665
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.n_variations < 1:
            raise UserError(f"Each concept needs at least 1 drawing besides its exemplar, got {self.n_variations}.")
        if self.n_variations + 1 > self.filters.smallest:
            raise UserError(
                f"An exemplar and {self.n_variations} variations are more than the smallest cluster may have "
                f"({self.filters.smallest}): raise --smallest, or keep fewer"
            )
        if self.keep not in WHICH:
            raise unknown("way to keep variations", self.keep, WHICH)
        if not 0 < self.train_share < 1:
            raise UserError(f"The share of concepts for training must lie between 0 and 1, got {self.train_share}.")


@dataclass(frozen=True, eq=False)
class Built:
    """The data set. clusters: what it is made of; config: what was asked; filters: as used, with what was fitted; size: (c, k)
    drawings of each cluster that no other category has; verdict: (c, k) as in `filters.VERDICTS`; rival: as in
    `filters.rivals`; parts: of the kept clusters, in order, which side of the published split each is on, and of the other."""

    folder: Path
    clusters: Clusters
    config: BuildConfig
    filters: Filters
    size: np.ndarray
    verdict: np.ndarray
    rival: np.ndarray
    parts: dict[str, np.ndarray]

    @cached_property
    def kept(self) -> np.ndarray:
        """(n, 2) category and number of each concept."""
        return np.argwhere(self.verdict == KEPT)

    @cached_property
    def names(self) -> np.ndarray:
        """(n,) text: of each concept."""
        return self.clusters.names[tuple(self.kept.T)].astype(np.str_)

    @property
    def part(self) -> np.ndarray:
        """(n,) text: which side of the split that was asked for each concept is on."""
        return self.parts[self.config.split]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The share of all clusters that each filter removed, and that was kept, with Wilson's interval."""
        found, n = [], int((self.verdict >= 0).sum())
        for place, name in enumerate(VERDICTS):
            share = stats.proportion(int((self.verdict == place).sum()), n)
            title = "clusters_kept" if place == KEPT else f"removed_{name.replace(' ', '_')}"
            found.append(Score.of(title, share, space=self.clusters.space))
        return tuple(found)

    def file(self, split: str) -> Path:
        return self.folder / f"quickdraw-fs-{split}.npz"

    def counts(self) -> dict[str, int]:
        """Clusters by verdict."""
        return {name: int((self.verdict == place).sum()) for place, name in enumerate(VERDICTS)}

    def n_concepts(self) -> dict[str, int]:
        """Concepts by split; those for choosing are counted among those for training, too."""
        return {split: int(members(self.part, split).sum()) for split in SPLITS}


def build_data(out: Path | str, clusters: Clusters, config: BuildConfig | None = None, *, seed: int = 0) -> Built:
    """Filter the clusters and write the data set into a run's folder: quickdraw-fs-train.npz, -val.npz and -test.npz (images,
    concept, group: the category, maker: the drawing's key, exemplar: one row per concept), concepts.npz (every drawing by its
    key, and both splits: what the package ships of its own), clusters.json, and the scores."""
    out, config = Path(out), config or BuildConfig()
    content = seeds.digest(clusters.words, clusters.size, clusters.spread, clusters.between)
    shared = find_shared(clusters)
    built = _apply(out, clusters, config, seed, shared)
    data = {f"clusters in {clusters.space}": content}
    with open_run(out, command=COMMAND, config=config, seed=seed, data=data) as run:
        if not run.finished:
            for split in SPLITS:
                if members(built.part, split).any():
                    _write_split(built, split, seed, shared)
            _write_list(built, seed, shared)
            write_json(out / "clusters.json", _described(built))
            run.save(Scores.collect(built.scores))
    return built


def find_shared(clusters: Clusters) -> np.ndarray:
    """Sorted hashes of drawings that are in two categories: they are in no concept, so that none is on two sides of a split."""
    there = [np.unique(_hashes(parted)) for parted in clusters.parts()]  # within a category each is there once
    values, count = np.unique(np.concatenate(there), return_counts=True)
    return values[count > 1]


def _hashes(parted: Parted) -> np.ndarray:
    """(n,) uint64: of each drawing as it is kept."""
    return np.array([seeds.seed("drawing", row) for row in parted.drawings.bits], dtype=np.uint64)


def usable_rows(parted: Parted, shared: np.ndarray) -> np.ndarray:
    """(n,) bool: which drawings no other category has."""
    return ~np.isin(_hashes(parted), shared) if len(shared) else np.ones(len(parted.cluster), bool)


def _apply(folder: Path, clusters: Clusters, config: BuildConfig, seed: int, shared: np.ndarray) -> Built:
    names, k = clusters.names[clusters.size > 0], clusters.size.shape[1]
    for name in config.drop:
        if name not in names:
            raise unknown("cluster", name, names)
    usable = (np.bincount(parted.cluster[usable_rows(parted, shared)], minlength=k) for parted in clusters.parts())
    size = np.stack(list(usable)) if len(shared) else clusters.size
    numbers = (size, clusters.spread, clusters.between)
    filters = fit_filters(*numbers, config.filters)
    verdict = apply_filters(*numbers, filters, by_hand=np.isin(clusters.names, list(config.drop)))
    verdict[(clusters.size > 0) & (size == 0)] = TOO_SMALL  # another category has all of its drawings
    kept = np.argwhere(verdict == KEPT)
    if len(kept) < 2:
        why = ", ".join(f"{name} {(verdict == place).sum()}" for place, name in enumerate(VERDICTS) if place)
        raise UserError(
            f"the thresholds leave {len(kept)} of {(verdict >= 0).sum()} clusters ({why}), a train and a test set need 2: "
            "loosen them"
        )
    words = [clusters.words[row] for row, _ in kept]
    parts = {
        PUBLISHED: split_at_random(len(kept), config.train_share, seeds.rng("quickdraw-fs split", seed)),
        CATEGORY: split_by_category(words),
    }
    check_split(parts.get(config.split, parts[PUBLISHED]), config.split)
    return Built(folder, clusters, config, filters, size, verdict, rivals(clusters.between, verdict), parts)


def _chosen_rows(
    built: Built, wanted: np.ndarray, seed: int, shared: np.ndarray
) -> Iterator[tuple[Parted, np.ndarray]]:
    """Of each wanted concept (a mask over the kept ones) in order: its category, read from disk once, and its rows."""
    rows, columns = built.kept[wanted].T
    for place, parted in enumerate(built.clusters.parts()):
        if not (rows == place).any():
            continue
        usable = usable_rows(parted, shared)
        for cluster in columns[rows == place]:
            yield parted, _chosen(parted, int(cluster), usable, built.config, seed)


def _chosen(parted: Parted, cluster: int, usable: np.ndarray, config: BuildConfig, seed: int) -> np.ndarray:
    """(1 + n,) rows: the exemplar, the drawing nearest to the centre, then n others of the cluster. They are in random order,
    so that the first few are a sample of all."""
    rows = np.flatnonzero((parted.cluster == cluster) & usable)
    exemplar = parted.exemplar[cluster]
    if not usable[exemplar]:  # another category has it: the next nearest
        exemplar = rows[parted.distance[rows].argmin()]
    rows = rows[rows != exemplar]
    if config.keep == NEAREST:
        rows = rows[parted.distance[rows].argsort(kind="stable")][: config.n_variations]
    rng = seeds.rng("quickdraw-fs drawings", parted.word, cluster, seed)
    return np.append(exemplar, rng.permutation(rows)[: config.n_variations])


def _write_split(built: Built, split: str, seed: int, shared: np.ndarray) -> None:
    """One category at a time: the whole set is never in memory."""
    wanted = members(built.part, split)
    names, n = built.names[wanted], built.config.n_variations + 1
    words = np.array(built.clusters.words, dtype=np.str_)[built.kept[wanted, 0]]
    keys: list[np.ndarray] = []

    def blocks() -> Iterator[np.ndarray]:
        with progress(f"{split} concepts", total=len(names)) as advance:
            for parted, rows in _chosen_rows(built, wanted, seed, shared):
                keys.append(parted.key[rows])
                yield parted.drawings.take(rows)
                advance()

    def labels() -> dict[str, np.ndarray]:
        return {
            "concept": np.repeat(names, n),
            "group": np.repeat(words, n),
            "maker": np.concatenate(keys),
            "exemplar": np.arange(len(names)) * n,  # it comes first
        }

    side = next(built.clusters.parts()).drawings.shape
    write_data(built.file(split), (len(names) * n, *side), blocks(), labels)


def write_data(
    path: Path, shape: tuple[int, ...], blocks: Iterator[np.ndarray], labels: Callable[[], dict[str, np.ndarray]]
) -> None:
    """A data set of sketches as an npz: images, uint8, as numpy.savez would write them, but block by block, then the labels."""
    with whole_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("images.npy", "w", force_zip64=True) as member:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, header)
            for block in blocks:
                member.write(block.tobytes())
        for title, array in (labels() | {"family": np.array("quickdraw")}).items():
            with archive.open(f"{title}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _write_list(built: Built, seed: int, shared: np.ndarray) -> None:
    """concepts.npz: names, categories, both splits, and the key of every drawing, the exemplar's first: a bitmap's hash as a
    number, a stroke drawing's key as text."""
    everything = np.ones(len(built.kept), bool)
    keys = [parted.key[rows] for parted, rows in _chosen_rows(built, everything, seed, shared)]
    content = {
        "concept": built.names,
        "category": np.array(built.clusters.words, dtype=np.str_)[built.kept[:, 0]],
        "published": built.parts[PUBLISHED],
        "by_category": built.parts[CATEGORY],
        "key": listed_keys(np.array(keys), built.clusters.form),  # (k, 1 + n)
    }
    write_npz(built.folder / LIST, content)


def listed_keys(key: np.ndarray, form: str) -> np.ndarray:
    """Keys as lists hold them, of the same shape: a bitmap's hash as a number, a stroke drawing's key as text."""
    if form != "bitmaps":
        return key
    return np.array([int(hashed, 16) for hashed in key.ravel()], dtype=np.uint64).reshape(key.shape)


def _described(built: Built) -> dict[str, Any]:
    """Every cluster and its verdict, and the thresholds as they were used."""
    clusters, rows = built.clusters, []
    place = {(int(row), int(column)): n for n, (row, column) in enumerate(built.kept)}
    for (row, column), verdict in np.ndenumerate(built.verdict):
        if verdict < 0:
            continue
        rival, here = built.rival[row, column], place.get((row, column))
        rows.append(
            {
                "concept": clusters.names[row, column],
                "category": clusters.words[row],
                "drawings": int(clusters.size[row, column]),
                "spread": float(clusters.spread[row, column]),
                "nearest_centre": float(clusters.nearest[row, column]) if clusters.size[row, 1:].any() else None,
                "verdict": VERDICTS[verdict],
                "rival": clusters.names[row, rival] if rival >= 0 else "",
                "published": "" if here is None else str(built.parts[PUBLISHED][here]),
                "by_category": "" if here is None else str(built.parts[CATEGORY][here]),
            }
        )
    return {
        "note": PAPER,
        "here": f"{len(clusters.words)} categories, {int(clusters.size.sum())} drawings as {clusters.form}",
        "space": clusters.space,
        "split": built.config.split,
        "in_two_categories": int(clusters.size.sum() - built.size.sum()),
        "thresholds": asdict(built.filters),
        "counts": built.counts(),
        "clusters": rows,
    }
