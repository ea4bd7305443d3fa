"""Clusters that are in no test set, divided into smaller ones: more classes, and tighter ones, to train a ProtoNet on.

The paper trains its ProtoNet on 550 concepts. With fewer categories there are fewer concepts, but a cluster of 800 drawings can
be divided again. Parts of one cluster are named after it: cat-2/1, cat-2/2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from exemplar import engine, seeds
from exemplar.answers import Answer, format_pairs
from exemplar.draw.quickdraw_fs.build import LIST, find_shared, listed_keys, usable_rows, write_data
from exemplar.draw.quickdraw_fs.clusters import Clusters, category_file, read_parted
from exemplar.draw.quickdraw_fs.kmeans import fit_clusters
from exemplar.draw.quickdraw_fs.splits import TEST, split_by_category
from exemplar.errors import UserError
from exemplar.files import read_npz, write_npz
from exemplar.runs import open_run
from exemplar.spaces.zoo import load_space

COMMAND = "draw quickdraw-fs divide"
PARTS, DATA = "parts.npz", "quickdraw-fs-parts.npz"


@dataclass(frozen=True)
class DivideConfig:
    """each: drawings that a part has before the outermost are left out; smallest: a part of fewer is left out; share: of a
    part's drawings that are kept, those nearest to its centre, `smallest` at least; n_beginnings: of k-means; device: where
    features are computed."""

    each: int = 200
    smallest: int = 60
    share: float = 0.7
    n_beginnings: int = 5
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.each:
            raise UserError(f"The smallest part must have between 1 and {self.each} drawings, got {self.smallest}.")
        if not 0 < self.share <= 1:
            raise UserError(f"The share of drawings kept must be above 0 and at most 1, got {self.share}.")


@dataclass(frozen=True, eq=False)
class Job:
    """One category. numbers: of its clusters that are divided; shared: hashes of drawings that another category has, too."""

    path: Path
    word: str
    numbers: tuple[int, ...]
    shared: np.ndarray
    space: str
    config: DivideConfig
    seed: int

    def __str__(self) -> str:
        return self.word


def divide_clusters(
    out: Path | str,
    clusters: Clusters,
    built: Path | str,
    config: DivideConfig | None = None,
    *,
    seed: int = 0,
    backend: engine.Backend | None = None,
) -> Answer:
    """Write parts.npz (name, category, size, key: of all drawings, part after part) and the drawings as a data set.

    built: the folder `build` wrote from these clusters, whose two test sets are left out.
    """
    out, built, config = Path(out), Path(built), config or DivideConfig()
    test = find_test_clusters(built)
    shared = find_shared(clusters)
    jobs = [
        Job(category_file(clusters.folder, word), word, numbers, shared, clusters.space, config, seed)
        for place, word in enumerate(clusters.words)
        if (numbers := _allowed(clusters, place, test, config))
    ]
    if not jobs:
        raise UserError(f"every category of {clusters.folder} is for testing: add categories")
    data = {f"clusters in {clusters.space}": seeds.digest(clusters.words, clusters.size, sorted(test))}
    with open_run(out, command=COMMAND, config=config, seed=seed, data=data, backend=backend) as run:
        if not run.finished:
            found = run.map(divide_category, jobs, label="categories")
            parts = [(name, job, rows) for job, several in zip(jobs, found, strict=True) for name, rows in several]
            _write_parts(out, parts, clusters.form)
    stored = read_npz(out / PARTS, name=("U", 1), size=("i", 1))
    values = {
        "parts": len(stored["name"]),
        "drawings": int(stored["size"].sum()),
        "clusters": len({name.rpartition("/")[0] for name in stored["name"].tolist()}),
        "categories": len(jobs),
        "space": clusters.space,
        "data": str(out / DATA),
        "seed": seed,
    }
    return Answer(values=values, text=format_pairs(values), folder=out)


def find_test_clusters(built: Path) -> set[str]:
    """Names of the concepts that are for testing in either split of a folder that `build` wrote."""
    if not (built / LIST).exists():
        raise UserError(f"{built} has no {LIST}: give the folder that `exemplar draw quickdraw-fs build` wrote")
    stored = read_npz(built / LIST, concept=("U", 1), published=("U", 1), by_category=("U", 1))
    return set(stored["concept"][(stored["published"] == TEST) | (stored["by_category"] == TEST)].tolist())


def divide_category(job: Job) -> list[tuple[str, np.ndarray]]:
    """(name, rows) of each part: rows of the category's file, from the nearest to the part's centre to the farthest."""
    parted, config = read_parted(job.path, job.word), job.config
    usable, space, found = usable_rows(parted, job.shared), load_space(job.space), []
    for number in job.numbers:
        rows = np.flatnonzero((parted.cluster == number) & usable)
        n_parts = max(1, round(len(rows) / config.each))
        if len(rows) < config.smallest:
            continue
        features = space.encode(parted.drawings.take(rows), device=config.device)
        rng = seeds.rng("quickdraw-fs parts", job.word, number, job.seed)
        part = fit_clusters(features, n_parts, n_beginnings=config.n_beginnings, rng=rng)
        for place in range(n_parts):
            members = np.flatnonzero(part == place)
            if len(members) < config.smallest:
                continue
            centre = features[members].mean(axis=0, dtype=np.float64)
            distance = np.linalg.norm(features[members] - centre, axis=1)
            n = max(config.smallest, round(config.share * len(members)))
            nearest = rows[members[distance.argsort(kind="stable")[:n]]]
            found.append((f"{job.word}-{number + 1}/{place + 1}", nearest))
    return found


def _allowed(clusters: Clusters, place: int, test: set[str], config: DivideConfig) -> tuple[int, ...]:
    """The numbers of a category's clusters that are divided: kept or removed, if for no test."""
    if split_by_category([clusters.words[place]])[0] == TEST:
        return ()
    large = np.flatnonzero(clusters.size[place] >= config.smallest)
    return tuple(int(number) for number in large if clusters.names[place, number] not in test)


def _write_parts(out: Path, parts: list[tuple[str, Job, np.ndarray]], form: str) -> None:
    """The data set and its list; categories are read one after the other."""
    names, words = (np.array(column) for column in zip(*((name, job.word) for name, job, _ in parts), strict=True))
    size, keys = np.array([len(rows) for _, _, rows in parts]), []

    def blocks() -> Iterator[np.ndarray]:
        for (path, word), several in groupby(parts, key=lambda part: (part[1].path, part[1].word)):
            parted = read_parted(path, word)
            for _, _, rows in several:
                keys.append(parted.key[rows])
                yield parted.drawings.take(rows)

    def labels() -> dict[str, np.ndarray]:
        return {"concept": np.repeat(names, size), "group": np.repeat(words, size), "maker": np.concatenate(keys)}

    first = parts[0][1]
    side = read_parted(first.path, first.word).drawings.shape
    write_data(out / DATA, (int(size.sum()), *side), blocks(), labels)
    key = listed_keys(np.concatenate(keys), form)
    write_npz(out / PARTS, {"name": names, "category": words, "size": size, "key": key})
