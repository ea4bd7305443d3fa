"""The question in its simplest form: after one drawing of each of 20 characters, whose is a new drawing?

Asked here of an agent that only compares pixels. It needs nothing but images, so it shows what a data set is worth: how hard
it is before any learning, and how that grows with how much drawers vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from exemplar import seeds, stats
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Predictions, Score, Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run

BLOCK = 25  # tasks per job: long enough to be worth sending, short enough to lose little to a kill


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
        scores.append(Score.of("accuracy", accuracy, n=n_tasks, agent=f"pixels on {source}"))
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


@lru_cache(maxsize=2)
def _source(name: str) -> ConceptSet:
    kind, _, rest = name.partition("@")
    if kind == "glyphs" and rest:
        return load_glyphs("weak-test", GlyphsConfig(spread=float(rest)))
    return load(*name.split("/"))


NAMING = KeptResult(
    title="How hard a data set is for pixels",
    text="One drawing of each of 20 characters is seen; a new drawing is named by comparing pixels at 16 px. Glyphs at "
    "spread 1 are meant to be about as hard as Omniglot.",
    compute=naming_result,
    data=(("glyphs", "weak-test"), ("omniglot", "weak-test")),
)
