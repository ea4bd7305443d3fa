"""The spaces' part of `exemplar tour`: the same question asked of pixels, SimCLR and ProtoNet; nearest drawings; a map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar import engine, seeds
from exemplar.files import read_npz, write_npz
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.report.page import Chapter, Figure
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run
from exemplar.spaces.figures import map_png, nearest_sheet, plot_named
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
    """n_neighbours: shown of each of n_asked drawings; n_mapped: characters on the map, n_each drawings of each."""

    n_asked: int = 3
    n_neighbours: int = 9
    n_mapped: int = 12
    n_each: int = 10


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
            scores.append(mean_score("naming_accuracy", values, space, space))
            nearest = distance[asked].argsort(axis=1, kind="stable")[:, : config.n_neighbours + 1]
            tables.append(_drawings(data, nearest, space, seed))
        run.save(Drawings.join(tables), "drawings-nearest")
        mapped = data.concept.code == rng.choice(data.n_concepts, config.n_mapped, replace=False)[:, None]
        shown = np.stack([np.flatnonzero(mine)[: config.n_each] for mine in mapped])  # (characters, each)
        run.save(_drawings(data, shown, "mapped", seed), "drawings-mapped")
        places = {s: flat_map(f[shown.ravel()]) for s, f in zip(SPACES, features, strict=True)}
        write_npz(run.folder / "map.npz", places)
        save_scores(run, scores)


def flat_map(features: np.ndarray) -> np.ndarray:
    """(n, d) → (n, 2) float64: the two directions in which they spread most (principal components), sign fixed."""
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    axes *= np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
    return centred @ axes.T


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    pixels, simclr, protonet = (f"{100 * score.value:.0f} %" for score in scores)
    names = {score.agent: name for score, name in zip(scores, ("pixels", "SimCLR", "ProtoNet"), strict=True)}
    places = read_npz(folder / "map.npz", **{space: ("f", 2) for space in names})
    panels = {f"in {names[space]}": place for space, place in places.items() if names[space] != "SimCLR"}
    return Chapter(
        "How it is seen",
        (
            "Two drawings of a character share hardly a pixel, yet you see at once that they belong together. A space is a "
            "way to see: a network turns a drawing into a list of numbers, and drawings that mean the same come to lie "
            "near each other. Exemplar ships trained ones, and every score of a drawing is taken in one of them.",
            "Two ways of training are compared here. SimCLR never hears which character a drawing is of: it learns to "
            "recognize a drawing that was distorted. ProtoNet learns from characters: after one drawing of each of "
            "sixty, it must tell whose a new one is. Neither was trained on the characters on this page.",
            "The question is the one from above: one drawing seen of each of twenty characters, and a new drawing to "
            f"name. Whose drawing is nearest? In pixels that is right {pixels} of the time, in SimCLR's space {simclr}, in "
            f"ProtoNet's {protonet}.",
        ),
        (
            Figure.of_png(
                nearest_sheet(Drawings.load(folder, "drawings-nearest"), names),
                "Three drawings taken at random (black frame), and the nine drawings nearest to each among 1,800 of 90 "
                "characters; green where it is the same character by another of the simulated drawers.",
            ),
            Figure.of_png(
                map_png(Drawings.load(folder, "drawings-mapped"), panels),
                "Twelve characters taken at random, ten drawings of each, one colour per character, laid out on the two "
                "directions in which each space spreads them most. What the pixels mix, ProtoNet gathers; where two "
                "characters still overlap, a third direction may part them.",
            ),
            Figure(
                "Naming a new drawing among twenty characters, each seen once. Every choice of twenty counts, and every "
                "drawing is once the one that was seen; bars are 95 % intervals over the 90 characters.",
                svg=plot_named(scores, names, xlabel="named right", chance=1 / 20),
            ),
        ),
        scores,
        "exemplar spaces list\nexemplar spaces card protonet-glyphs-s0\n"
        "exemplar spaces encode protonet-glyphs-s0 --data glyphs --out features.npz",
    )


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
