"""Two critics' spaces on a plane, and how often a nearest neighbour is of the same concept. Boutin et al. 2022, S3.4."""

from __future__ import annotations

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.critics import load_unseen_critics, with_feature_layers
from exemplar.draw.encoding import choose_rows, encode_data
from exemplar.draw.measures.neighbours import distances
from exemplar.draw.studies.study import PROTONET, SIMCLR, Study
from exemplar.draw.studies.tsne import MapConfig, flat_map
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

N_COLOURED = 20  # concepts shown of a map
N_MAPPED = 150  # concepts mapped, all there are where there are fewer


def maps(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Both critics' spaces laid out by t-SNE; and how often a drawing's nearest neighbour is of its own concept."""
    critics, rng = with_feature_layers(load_unseen_critics(data)), seeds.rng("maps", seed)
    mapped = np.sort(rng.choice(data.n_concepts, min(N_MAPPED, data.n_concepts), replace=False))
    places, scores, arrays = choose_rows(data)[mapped], [], {}
    k, n = places.shape
    label = np.repeat(np.arange(k), n)
    shown = np.sort(rng.choice(k, min(N_COLOURED, k), replace=False))
    config = MapConfig(perplexity=min(30.0, k * n / 4))
    for kind, space in ((SIMCLR, critics.see[0]), (PROTONET, critics.recognise[0])):
        (there,) = encode_data(data, [space], places).features
        flat = flat_map(there.reshape(k * n, -1), config)
        for where, points in (("space", there.reshape(k * n, -1)), ("map", flat)):
            same = _same_as_nearest(points, label).reshape(k, n).mean(axis=1)
            found = stats.bootstrap(same, rng=seeds.rng("interval of a map", seed))
            agent = f"{kind}, in its {where}"
            scores.append(Score.of("same_concept_nearest", found, n=k, agent=agent, space=space.name))
        arrays[f"in {kind}"] = flat.reshape(k, n, 2)[shown].reshape(-1, 2)
    names = np.array(data.concepts)[mapped][shown]
    write_npz(run.folder / "maps.npz", {**arrays, "concept": np.repeat(names, n)})
    return Scores.collect(scores)


def _same_as_nearest(points: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(n,) 0 or 1: whether the nearest other point has the same label."""
    apart = distances(points, points)
    np.fill_diagonal(apart, np.inf)
    return (label[apart.argmin(axis=1)] == label).astype(np.float64)


MAPS = Study(
    "maps",
    "Two spaces on a plane",
    "Drawings of a concept lie together, also in the space of a network that was never told of concepts (Boutin et "
    "al. 2022, S3.4). How often a drawing's nearest neighbour is of its own concept says it in numbers.",
    maps,
)
