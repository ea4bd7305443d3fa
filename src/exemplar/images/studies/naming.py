"""The question in its simplest form: after one drawing of each of 20 characters, whose is a new drawing?

Asked here of an agent that only compares pixels. It needs nothing but images, so it shows what a data set is worth: how hard
it is before any learning, and how that grows with how much drawers vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from exemplar import engine, seeds, stats
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import GlyphsConfig, load_glyphs, redraw
from exemplar.images.omniglot import load_omniglot_runs
from exemplar.images.sources import obtain
from exemplar.records import Drawings, Predictions, Score, Scores
from exemplar.runs import Run, open_run

SPREADS = (0.25, 0.5, 1.0, 2.0)
BLOCK = 25  # tasks a job: long enough to be worth sending, short enough to lose little to a kill


@dataclass(frozen=True)
class NamingConfig:
    """n_tasks: of each kind; ways: characters to choose from; size: px at which drawings are compared (shrinking blurs)."""

    n_tasks: int = 400
    ways: int = 20
    size: int = 16


@dataclass(frozen=True)
class NamingJob:
    """Tasks number start … stop − 1 with the drawings of one source: a glyph spread, or a data set and split."""

    config: NamingConfig
    source: str
    start: int
    stop: int
    seed: int


def name_by_pixels(run: Run, sources: Sequence[str], config: NamingConfig, *, seed: int) -> tuple[Predictions, Scores]:
    """Accuracy of naming a new drawing from one drawing of each of `ways` concepts, by pixels alone.

    sources: "glyphs@1.5" for glyphs of that spread, or "omniglot/weak-test". Saves both tables into the run.
    """
    blocks = [(start, min(start + BLOCK, config.n_tasks)) for start in range(0, config.n_tasks, BLOCK)]
    jobs = [NamingJob(config, source, *block, seed) for source in sources for block in blocks]
    answers = run.map(do_naming, jobs, label="naming by pixels")
    parts, scores = [], []
    for source in sources:
        mine = [answer for job, answer in zip(jobs, answers, strict=True) if job.source == source]
        log_p = np.concatenate([answer["log_p"] for answer in mine])  # (tasks, items, ways)
        label = np.concatenate([answer["label"] for answer in mine])  # (tasks, items)
        n_tasks, n_items = label.shape
        predicted = log_p.argmax(axis=2)
        parts.append(
            Predictions.of(
                agent=f"pixels on {source}",
                task=np.repeat(np.arange(n_tasks), n_items),
                set=0,
                item=np.tile(np.arange(n_items), n_tasks),
                label=label.ravel(),
                predicted=predicted.ravel(),
                log_p=log_p.reshape(-1, config.ways),
            )
        )
        right = (predicted == label).mean(axis=1)
        accuracy = stats.bootstrap(right, rng=seeds.rng("naming interval", source, seed))
        scores.append(
            Score("naming_accuracy", accuracy.value, (accuracy.lo, accuracy.hi), n_tasks, agent=f"pixels on {source}")
        )
    predictions, table = Predictions.join(parts), Scores.collect(scores)
    run.save(predictions)
    run.save(table)
    return predictions, table


def do_naming(job: NamingJob) -> dict[str, np.ndarray]:
    """log_p: (tasks, ways, ways) float32, label: (tasks, ways): one new drawing of each concept, in random order."""
    log_p, labels = [], []
    for task in range(job.start, job.stop):
        some, label = sample_naming(job.source, job.config, job.seed, task)
        images = some.resized(job.config.size).images.reshape(job.config.ways, 2, -1).astype(np.float32) / 255
        distance = ((images[label, 1][:, None] - images[:, 0]) ** 2).sum(axis=2)
        log_p.append(-distance - np.log(np.exp(-distance).sum(axis=1, keepdims=True)))
        labels.append(label)
    return {"log_p": np.stack(log_p), "label": np.stack(labels)}


def sample_naming(source: str, config: NamingConfig, seed: int, task: int) -> tuple[ConceptSet, np.ndarray]:
    """Two drawings of each of `ways` concepts, the first to be seen, the second to be named; and the order of the latter."""
    rng = seeds.rng("naming", source, seed, task)
    return _source(source).sample(config.ways, 2, rng=rng), rng.permutation(config.ways)


def naming_result(run: Run, seed: int) -> Scores:
    """How hard each set is for pixels: glyphs at three spreads beside Omniglot."""
    sources = ["glyphs@0.5", "glyphs@1.0", "glyphs@2.0", "omniglot/weak-test"]
    return name_by_pixels(run, sources, NamingConfig(), seed=seed)[1]


def official_runs_result(run: Run, seed: int) -> Scores:
    """Omniglot's 20 official one-shot runs by the modified Hausdorff distance between centred ink (Dubuisson & Jain)."""
    wrong = np.array(run.map(name_by_ink, range(20), label="official runs"))  # (20 runs,) share of errors
    error = stats.bootstrap(wrong, rng=seeds.rng("official runs", seed))
    agent = "modified Hausdorff on the official runs"
    scores = Scores.collect([Score("naming_error", error.value, (error.lo, error.hi), error.n, agent=agent)])
    run.save(scores)
    return scores


def name_by_ink(number: int) -> float:
    """The share of errors in one official run, 20 drawings to name among 20."""
    runs = load_omniglot_runs(obtain("omniglot"))
    seen, new = ([p - p.mean(axis=0) for p in map(np.argwhere, part[number])] for part in (runs.training, runs.test))
    distance = np.maximum(_mean_distance(new, seen), _mean_distance(seen, new).T)
    return float((distance.argmin(axis=1) != runs.answer[number]).mean())


def _mean_distance(start: list[np.ndarray], end: list[np.ndarray]) -> np.ndarray:
    """(len(start), len(end)): mean distance from the points of one drawing to the nearest of another."""
    first = np.cumsum([0, *map(len, start)])
    nearest = [cKDTree(points).query(np.concatenate(start))[0] for points in end]
    return np.stack([np.add.reduceat(near, first[:-1]) / np.diff(first) for near in nearest], axis=1)


def tour(folder: Path, *, seed: int = 0, backend: engine.Backend | None = None) -> None:
    """The images' part of `exemplar tour`: alphabets, drawers at several spreads, and naming by pixels."""
    config = NamingConfig(n_tasks=100)
    data = {"glyphs/weak-test": load_glyphs("weak-test").fingerprint}
    with open_run(folder, command="tour images", config=config, seed=seed, data=data, backend=backend) as run:
        if run.finished:
            return
        run.save(_alphabets(seed))
        run.save(_spreads(seed), "drawings-by-spread")
        run.save(_one_task(config, seed), "drawings-of-a-task")
        name_by_pixels(run, [f"glyphs@{spread}" for spread in SPREADS], config, seed=seed)


@lru_cache(maxsize=2)
def _source(name: str) -> ConceptSet:
    kind, _, rest = name.partition("@")
    if kind == "glyphs" and rest:
        return load_glyphs("weak-test", GlyphsConfig(spread=float(rest)))
    return load(*name.split("/"))


def _alphabets(seed: int) -> Drawings:
    """One drawing of every character of three alphabets."""
    data = load_glyphs("all", GlyphsConfig(seed=seed, drawers=1, alphabets=3))
    return _drawings(data.concept.names, data.images[:, None], "drawer01", seed)


def _spreads(seed: int) -> Drawings:
    """Three characters, each by ten drawers, at every spread."""
    config = GlyphsConfig(seed=seed)
    concepts = load_glyphs("weak-test", GlyphsConfig(seed=seed, drawers=1)).concept.names[1:10:4]
    tables = [_drawings(concepts, redraw(concepts, 10, config=config, spread=s), f"spread {s}", seed) for s in SPREADS]
    return Drawings.join(tables)


def _one_task(config: NamingConfig, seed: int) -> Drawings:
    """What is seen in task 0, and what is to be named, in the order of its items."""
    some, label = sample_naming("glyphs@1.0", config, seed, 0)
    images = some.images.reshape(config.ways, 2, 1, *some.shape)
    seen = [some.concept[row] for row in range(0, len(some), 2)]
    new = [seen[place] for place in label]
    return Drawings.join([_drawings(seen, images[:, 0], "seen", seed), _drawings(new, images[label, 1], "new", seed)])


def _drawings(concepts: Sequence[str], images: np.ndarray, agent: str, seed: int) -> Drawings:
    """images: (concepts, n, h, w) uint8."""
    n = images.shape[1]
    columns: dict[str, Any] = {"agent": agent, "data": "glyphs", "exemplar": 0, "seed": seed}
    return Drawings.of(
        **columns,
        concept=np.repeat(np.array(concepts, dtype=object), n),
        index=np.tile(np.arange(n), len(concepts)),
        image=images.reshape(-1, *images.shape[2:]),
    )
