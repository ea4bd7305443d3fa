"""What there is to look at: concepts ranked by diversity (S4, S5), drawings by originality (App. O), maps of the critics'
spaces (S3.4), and how diverse drawings of several data sets are (App. B)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.critics import Seen
from exemplar.draw.encoding import MOST, by_features, critics_of, draw_again, drawings_rows, see_drawings, see_people
from exemplar.draw.measures.diversity import people_divisor, per_sample, spread_by_drawing
from exemplar.draw.measures.intervals import Measure, rows
from exemplar.draw.measures.neighbours import distances
from exemplar.draw.measures.originality import density, originality
from exemplar.draw.scores import IN_WORDS
from exemplar.draw.studies.controls import PROTONET, SIMCLR
from exemplar.draw.studies.tsne import MapConfig, flat_map
from exemplar.draw.tasks import make_task, people_rows
from exemplar.files import write_npz
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

N_RANKED = 30  # concepts on a sheet, evenly from the least diverse to the most
N_SORTED = 10  # concepts whose drawings are sorted by originality
N_COLOURED = 20  # concepts shown of a map
N_MAPPED = 150  # concepts mapped, all there are where there are fewer
BESIDE = (("omniglot", "weak-test"), ("quickdraw", "test"), ("glyphs", "weak-test"))  # sets to compare with, if here


def ranked(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Concepts from the least diverse to the most, by SimCLR and by ProtoNet; and drawings from the least original."""
    task, critics = make_task(data), by_features(critics_of(data))
    n = min(task.n, MOST)
    looks, images = see_people(task, critics, n), people_rows(task, n)
    k, scores = len(task.concepts), []
    arrays: dict[str, np.ndarray] = {}
    draws = draw_again(k, max(len(looks.see), len(looks.recognise)), seed)
    for kind, side in ((SIMCLR, looks.see), (PROTONET, looks.recognise)):
        measure = _spread_of(side, f"by {kind}")
        order = np.argsort(measure.value.mean(axis=0), kind="stable")
        shown = order[np.linspace(0, k - 1, min(N_RANKED, k)).round().astype(int)]
        names = {task.concepts[place] for place in shown}
        found = [score for score in rows(measure, draws, kind, task.concepts) if not score.space]
        scores += [score for score in found if not score.concept or score.concept in names]
        arrays |= {f"{kind} concepts": shown, f"{kind} drawings": _images(data, images[shown])}
    some = np.sort(seeds.rng("sorted concepts", seed).choice(k, min(N_SORTED, k), replace=False))
    order = np.argsort(originality(looks.see[0].drawn, looks.see[0].exemplars)[some], axis=1, kind="stable")
    arrays |= {"sorted concepts": some}
    arrays |= {"sorted drawings": _images(data, np.take_along_axis(images[some], order, axis=1))}
    write_npz(run.folder / "ranked.npz", {**arrays, "exemplars": task.exemplars, "concepts": np.array(task.concepts)})
    return Scores.collect(scores)


def maps(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Both critics' spaces laid out by t-SNE; and how often a drawing's nearest neighbour is of its own concept."""
    critics, rng = by_features(critics_of(data)), seeds.rng("maps", seed)
    mapped = np.sort(rng.choice(data.n_concepts, min(N_MAPPED, data.n_concepts), replace=False))
    places, scores, arrays = drawings_rows(data)[mapped], [], {}
    k, n = places.shape
    label = np.repeat(np.arange(k), n)
    shown = np.sort(rng.choice(k, min(N_COLOURED, k), replace=False))
    config = MapConfig(perplexity=min(30.0, k * n / 4))
    for kind, space in ((SIMCLR, critics.see[0]), (PROTONET, critics.recognise[0])):
        (there,) = see_drawings(data, [space], places).features
        flat = flat_map(there.reshape(k * n, -1), config)
        for where, points in (("space", there.reshape(k * n, -1)), ("map", flat)):
            same = _same_as_nearest(points, label).reshape(k, n).mean(axis=1)
            found = stats.bootstrap(same, rng=seeds.rng("interval of a map", seed))
            agent = f"{kind}, in its {where}"
            scores.append(
                Score("same_concept_nearest", found.value, (found.lo, found.hi), k, agent=agent, space=space.name)
            )
        arrays[f"in {kind}"] = flat.reshape(k, n, 2)[shown].reshape(-1, 2)
    names = np.array(data.concepts)[mapped][shown]
    write_npz(run.folder / "maps.npz", {**arrays, "concept": np.repeat(names, n)})
    return Scores.collect(scores)


def data_sets(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of each concept of this data and of the others at hand, each set in its own SimCLR, at the same number of
    drawings: mean and largest, normalised per sample (as published) and by people's spread."""
    others = [load(*which) for which in BESIDE if CATALOGUE[which[0]].is_here() and "/".join(which) != data.name]
    sets = [data, *others]
    n, scores, arrays = min(len(drawings_rows(one)[0]) for one in sets), [], {}
    for one in sets:
        places = drawings_rows(one, n)
        seen = see_drawings(one, critics_of(one).see, places)
        draws = draw_again(len(places), len(seen.spaces), seed)
        for how, words in IN_WORDS.items():
            features = [per_sample(f) if how == "sample" else f / people_divisor(f) for f in seen.features]
            by_drawing = np.stack([spread_by_drawing(there) for there in features])
            measure = Measure("diversity", words, seen.spaces, by_drawing)
            found = [score for score in rows(measure, draws, one.name, one.concepts) if not score.space]
            largest = max((score for score in found if score.concept), key=lambda score: score.value)
            scores.append(found[0])
            scores.append(replace(largest, name="largest_diversity"))
            arrays[f"{how} {one.name}"] = np.stack(density(measure.value.mean(axis=0)))  # (2, places)
    write_npz(run.folder / "data-sets.npz", arrays)
    return Scores.collect(scores)


def _images(data: ConceptSet, places: np.ndarray) -> np.ndarray:
    """(a, b) rows → (a, b, h, w) uint8."""
    return data.take(places.ravel()).reshape(*places.shape, *data.shape)


def _spread_of(side: tuple[Seen, ...], variant: str) -> Measure:
    """Spread (Eq. 2) by critics of one kind, divided by people's whole spread so that kinds compare."""
    parts = [spread_by_drawing(seen.drawn / people_divisor(seen.drawn)) for seen in side]
    return Measure("diversity", variant, tuple(seen.space for seen in side), np.stack(parts))


def _same_as_nearest(points: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(n,) 0 or 1: whether the nearest other point has the same label."""
    apart = distances(points, points)
    np.fill_diagonal(apart, np.inf)
    return (label[apart.argmin(axis=1)] == label).astype(np.float64)
