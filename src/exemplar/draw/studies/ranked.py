"""Concepts ranked by diversity, drawings by originality. Boutin et al. 2022, S4 and S5; Boutin et al. 2023, Fig. O.1."""

from __future__ import annotations

import numpy as np

from exemplar import seeds
from exemplar.draw.critics import load_unseen_critics, with_feature_layers
from exemplar.draw.encoding import MOST, encode_own
from exemplar.draw.measures.diversity import people_divisor, spread_by_drawing
from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.measures.intervals import Measure, to_scores
from exemplar.draw.measures.originality import originality
from exemplar.draw.studies.study import PROTONET, SIMCLR, Study
from exemplar.draw.tasks import make_task, own_rows
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Scores
from exemplar.runs import Run

N_RANKED = 30  # concepts on a sheet, evenly from the least diverse to the most
N_SORTED = 10  # concepts whose drawings are sorted by originality


def ranked(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Concepts from the least diverse to the most, by SimCLR and by ProtoNet; and drawings from the least original."""
    task, critics = make_task(data), with_feature_layers(load_unseen_critics(data))
    n = min(task.n, MOST)
    encoded, images = encode_own(task, critics, n), own_rows(task, n)
    k, scores = len(task.concepts), []
    arrays: dict[str, np.ndarray] = {}
    for kind, side in ((SIMCLR, encoded.see), (PROTONET, encoded.recognise)):
        measure = _spread_of(side, f"by {kind}")
        order = np.argsort(measure.value.mean(axis=0), kind="stable")
        shown = order[np.linspace(0, k - 1, min(N_RANKED, k)).round().astype(int)]
        names = {task.concepts[place] for place in shown}
        found = [score for score in to_scores(measure, kind, task.concepts) if not score.space]
        scores += [score for score in found if not score.concept or score.concept in names]
        arrays |= {f"{kind} concepts": shown, f"{kind} drawings": _images(data, images[shown])}
    some = np.sort(seeds.rng("sorted concepts", seed).choice(k, min(N_SORTED, k), replace=False))
    order = np.argsort(originality(encoded.see[0].drawn, encoded.see[0].exemplars)[some], axis=1, kind="stable")
    arrays |= {"sorted concepts": some}
    arrays |= {"sorted drawings": _images(data, np.take_along_axis(images[some], order, axis=1))}
    write_npz(run.folder / "ranked.npz", {**arrays, "exemplars": task.exemplars, "concepts": np.array(task.concepts)})
    return Scores.collect(scores)


def _images(data: ConceptSet, places: np.ndarray) -> np.ndarray:
    """(a, b) rows → (a, b, h, w) uint8."""
    return data.take(places.ravel()).reshape(*places.shape, *data.shape)


def _spread_of(side: tuple[CriticFeatures, ...], variant: str) -> Measure:
    """Spread (Eq. 2) by critics of one kind, divided by the drawers' whole spread so that kinds compare."""
    parts = [spread_by_drawing(seen.drawn / people_divisor(seen.drawn)) for seen in side]
    return Measure("diversity", variant, tuple(seen.space for seen in side), np.stack(parts))


RANKED = Study(
    "ranked",
    "From the least diverse concept to the most",
    "Drawings of concepts by {drawers}, ranked by two critics (Boutin et al. 2022, S4 and S5), and drawings ranked by "
    "originality (Boutin et al. 2023, Fig. O.1).",
    ranked,
)
