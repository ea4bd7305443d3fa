"""The spaces' part of `exemplar tour`: the same question asked of pixels, SimCLR and ProtoNet, and nearest drawings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar import engine, seeds
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.report.page import Chapter, Figure, Headline
from exemplar.report.tables import wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run
from exemplar.spaces.figures import nearest_sheet
from exemplar.spaces.loading import PIXELS
from exemplar.spaces.studies.naming import (
    WAYS,
    EncodingJob,
    accuracy_with_random_supports,
    distances,
    encode_set,
    mean_score,
    save_scores,
)

DATA = ("glyphs", "weak-test")
SPACES = {PIXELS: None, "simclr-glyphs-s0": None, "protonet-glyphs-s0": ""}  # name → layer


@dataclass(frozen=True)
class TourConfig:
    """n_neighbours: shown of each of n_asked drawings."""

    n_asked: int = 1
    n_neighbours: int = 9


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    data, config = load(*DATA), TourConfig()
    fingerprint = {data.name: data.fingerprint}
    with open_run(folder, command="tour spaces", config=config, seed=seed, data=fingerprint, backend=backend) as run:
        if run.finished:
            return
        features = run.map(encode_set, [EncodingJob(s, DATA, layer) for s, layer in SPACES.items()], label="spaces")
        rng, scores, tables = seeds.rng("tour of spaces", seed), [], []
        asked = rng.choice(len(data), config.n_asked, replace=False)
        for space, feature in zip(SPACES, features, strict=True):
            distance, same = distances(feature), seeds.rng("random support", seed)
            values = accuracy_with_random_supports(distance, data.concept.code, WAYS, same)
            scores.append(mean_score("accuracy", values, space, space))
            nearest = distance[asked].argsort(axis=1, kind="stable")[:, : config.n_neighbours + 1]
            tables.append(_drawings(data, nearest, space, seed))
        run.save(Drawings.join(tables), "drawings-nearest")
        save_scores(run, scores)


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    names = {score.agent: name for score, name in zip(scores, ("pixels", "SimCLR", "ProtoNet"), strict=True)}
    pixels, _, protonet = scores
    return Chapter(
        "How it is seen",
        (
            "Two drawings of one character share hardly a pixel, yet you see at once that they belong together. In Exemplar a "
            "space stands for such a way of seeing: a trained network turns a drawing into a list of numbers, and similar "
            "drawings come to lie close together. Every score of a drawing is taken in a space that the package ships.",
            "SimCLR is never told which character a drawing shows: it learns to recognize a drawing after it was distorted. "
            "ProtoNet is trained on the task above. Neither was trained on the characters on this page.",
        ),
        (
            Figure.of_png(
                nearest_sheet(Drawings.load(folder, "drawings-nearest"), names),
                "A drawing chosen at random (black frame) and, to the right, the nine nearest to it among 1,800 drawings of 90 "
                "characters; a green frame marks the same character by another simulated drawer.",
                name="nearest-drawings",
            ),
        ),
        tables=[
            wide_table(
                scores, {"accuracy": "accuracy"}, "space", names=names,
                terms={"accuracy": "as above: share of new drawings named correctly among twenty characters, each seen once. "
                       "Intervals are over 90 characters."},
            )
        ],
        commands="exemplar spaces encode protonet-glyphs-s0 --data glyphs --out features.npz",
        headline=Headline(
            protonet,
            "of new drawings named correctly in a trained space, each character seen once among twenty; "
            f"comparing pixels: {100 * pixels.value:.0f} %",
        ),
    )  # fmt: skip


def _drawings(data: ConceptSet, rows: np.ndarray, agent: str, seed: int) -> Drawings:
    """rows: (lines, n); the first of a line is the one asked about, and the others are numbered in order."""
    concept = np.array(data.concepts, dtype=object)[data.concept.code[rows.ravel()]]
    n_lines, n = rows.shape
    return Drawings.of(
        agent=agent,
        data=data.name,
        concept=concept,
        exemplar=np.repeat(rows[:, 0], n),
        index=np.tile(np.arange(n), n_lines),
        seed=seed,
        image=data.take(rows.ravel()),
    )


CHAPTER = TourChapter(make_tour, write_chapter)
