"""Steps 5 to 8: the concepts, their drawings and the split, as two npz files that load like any data set."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.quickdraw_fs.clusters import Clusters, Parted
from exemplar.draw.quickdraw_fs.filters import KEPT, VERDICTS, Filters, apply_filters, fit_filters, rivals
from exemplar.draw.tasks import DrawingTask
from exemplar.engine import progress
from exemplar.errors import UserError, unknown
from exemplar.files import read_npz, whole_file
from exemplar.images.folder import load_npz
from exemplar.records import Score, Scores
from exemplar.runs import open_run, read_json, write_json

COMMAND = "draw quickdraw-fs build"
SPLITS = ("train", "test")
PAPER = "the paper's 665 concepts come from 345 categories × 5,000 drawings, which need the full public files"


@dataclass(frozen=True)
class BuildConfig:
    """The paper's settings of steps 5 to 8.

    n_drawings: kept of each concept, its exemplar among them; train_share: of the concepts; drop: names of clusters that a
    person removes.
    """

    filters: Filters = field(default_factory=Filters)
    n_drawings: int = 500
    train_share: float = 550 / 665
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.n_drawings < 2:
            raise UserError(f"{self.n_drawings} drawings per concept are too few: give at least 2, one is the exemplar")
        if self.n_drawings > self.filters.smallest:
            raise UserError(
                f"{self.n_drawings} drawings per concept are more than the smallest cluster may have "
                f"({self.filters.smallest}): raise that, or keep fewer"
            )
        if not 0 < self.train_share < 1:
            raise UserError(f"a share of {self.train_share} for training cannot be: give one between 0 and 1")


@dataclass(frozen=True, eq=False)
class Built:
    """The data set. filters: as used, with what was fitted; verdict: (c, k) as in `filters.VERDICTS`; split: (c, k) "train",
    "test" or ""; rival: as in `filters.rivals`; scores: the share of clusters each filter removed."""

    folder: Path
    filters: Filters
    verdict: np.ndarray
    split: np.ndarray
    rival: np.ndarray
    scores: tuple[Score, ...]

    def file(self, split: str) -> Path:
        return self.folder / f"quickdraw-fs-{split}.npz"

    def counts(self) -> dict[str, int]:
        """Clusters by verdict."""
        return {name: int((self.verdict == place).sum()) for place, name in enumerate(VERDICTS)}


def build_data(out: Path | str, clusters: Clusters, config: BuildConfig | None = None, *, seed: int = 0) -> Built:
    """Filter the clusters and write the data set into a run's folder: quickdraw-fs-train.npz and -test.npz (images, concept,
    group: the category, maker: the drawing's key, exemplar: one row per concept), clusters.json, and the scores."""
    out, config = Path(out), config or BuildConfig()
    built = _apply(out, clusters, config, seed)
    content = seeds.digest(clusters.words, clusters.size, clusters.spread, clusters.between)
    data = {f"clusters in {clusters.space}": content}
    with open_run(out, command=COMMAND, config=config, seed=seed, data=data) as run:
        if not run.finished:
            for split in SPLITS:
                _write_split(built, clusters, config, split, seed)
            write_json(out / "clusters.json", _described(built, clusters))
            run.save(Scores.collect(built.scores))
    return built


def load_task(path: Path | str, *, n: int | None = None) -> DrawingTask:
    """The one-shot task of a split: each concept's kept exemplar, n other drawings (all there are unless given)."""
    path = Path(path)
    data = load_npz(path)
    split = path.stem.removeprefix("quickdraw-fs-")
    exemplar = read_npz(path, exemplar=("i", 1))["exemplar"]
    about = read_json(path.parent / "clusters.json")
    if not isinstance(about.get("space"), str):
        raise UserError(f"{path.parent / 'clusters.json'} names no space: build the data again")
    inside = exemplar[(exemplar >= 0) & (exemplar < len(data))]
    if not np.array_equal(data.concept.code[inside], np.arange(data.n_concepts)) or len(inside) < len(exemplar):
        raise UserError(f"{path}: the exemplars do not belong to the concepts in their order: build it again")
    return DrawingTask(
        replace(data, name=f"quickdraw/fs-{split}", family="quickdraw"),  # older files do not say
        exemplar,
        f"centre of its cluster in {about['space']}",
        int(data.counts.min()) - 1 if n is None else n,
    )


def _apply(folder: Path, clusters: Clusters, config: BuildConfig, seed: int) -> Built:
    names = clusters.names
    for name in config.drop:
        if name not in names:
            raise unknown("cluster", name, names.ravel())
    numbers = (clusters.size, clusters.spread, clusters.between)
    filters = fit_filters(*numbers, config.filters)
    verdict = apply_filters(*numbers, filters, by_hand=np.isin(names, list(config.drop)))
    kept = np.argwhere(verdict == KEPT)
    if len(kept) < 2:
        why = ", ".join(f"{name} {(verdict == place).sum()}" for place, name in enumerate(VERDICTS) if place)
        raise UserError(
            f"the thresholds leave {len(kept)} of {verdict.size} clusters ({why}), a train and a test set need 2: loosen them"
        )
    n_train = min(max(round(len(kept) * config.train_share), 1), len(kept) - 1)
    split = np.full(verdict.shape, "", dtype="<U5")
    order = seeds.rng("quickdraw-fs split", seed).permutation(len(kept))
    split[tuple(kept[order[:n_train]].T)], split[tuple(kept[order[n_train:]].T)] = SPLITS
    return Built(folder, filters, verdict, split, rivals(clusters.between, verdict), _scored(verdict, clusters.space))


def _scored(verdict: np.ndarray, space: str) -> tuple[Score, ...]:
    """The share of all clusters that each filter removed, and that was kept, with Wilson's interval."""
    found = []
    for place, name in enumerate(VERDICTS):
        share = stats.proportion(int((verdict == place).sum()), verdict.size)
        title = "clusters_kept" if place == KEPT else f"removed_{name.replace(' ', '_')}"
        found.append(Score.of(title, share, space=space))
    return tuple(found)


def _write_split(built: Built, clusters: Clusters, config: BuildConfig, split: str, seed: int) -> None:
    """One category at a time: the whole set is never in memory."""
    rows, columns = np.nonzero(built.split == split)
    names = clusters.names[rows, columns].astype(np.str_)
    words = np.array(clusters.words, dtype=np.str_)[rows]
    n = config.n_drawings
    keys: list[np.ndarray] = []

    def blocks() -> Iterator[np.ndarray]:
        with progress(f"{split} concepts", total=len(names)) as advance:
            for parted, wanted in zip(clusters.parts(), built.split == split, strict=True):
                for cluster in np.flatnonzero(wanted):
                    chosen = _chosen(parted, int(cluster), n, seed)
                    keys.append(parted.key[chosen])
                    yield parted.drawings.take(chosen)
                    advance()

    with whole_file(built.file(split)) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        side = next(clusters.parts()).drawings.shape
        _write_images(archive, (len(names) * n, *side), blocks())
        labels = {
            "concept": np.repeat(names, n),
            "group": np.repeat(words, n),
            "maker": np.concatenate(keys),
            "exemplar": np.arange(len(names)) * n,  # it comes first
            "family": np.array("quickdraw"),
        }
        for title, array in labels.items():
            with archive.open(f"{title}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _write_images(archive: zipfile.ZipFile, shape: tuple[int, ...], blocks: Iterator[np.ndarray]) -> None:
    """images.npy, uint8, as numpy.savez would write it, but block by block."""
    with archive.open("images.npy", "w", force_zip64=True) as member:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, header)
        for block in blocks:
            member.write(block.tobytes())


def _chosen(parted: Parted, cluster: int, n: int, seed: int) -> np.ndarray:
    """(n,) rows: the exemplar, then others of the cluster at random."""
    exemplar = parted.exemplar[cluster]
    others = np.flatnonzero(parted.cluster == cluster)
    others = others[others != exemplar]
    rng = seeds.rng("quickdraw-fs drawings", parted.word, cluster, seed)
    return np.append(exemplar, rng.permutation(others)[: n - 1])


def _described(built: Built, clusters: Clusters) -> dict[str, Any]:
    """Every cluster and its verdict, and the thresholds as they were used."""
    rows = []
    for (row, column), verdict in np.ndenumerate(built.verdict):
        rival = built.rival[row, column]
        rows.append(
            {
                "concept": clusters.names[row, column],
                "category": clusters.words[row],
                "drawings": int(clusters.size[row, column]),
                "spread": float(clusters.spread[row, column]),
                "nearest_centre": float(clusters.nearest[row, column]),
                "verdict": VERDICTS[verdict],
                "rival": clusters.names[row, rival] if rival >= 0 else "",
                "split": str(built.split[row, column]),
            }
        )
    return {
        "note": PAPER,
        "here": f"{len(clusters.words)} categories, {int(clusters.size.sum())} drawings as {clusters.form}",
        "space": clusters.space,
        "thresholds": asdict(built.filters),
        "counts": built.counts(),
        "clusters": rows,
    }
