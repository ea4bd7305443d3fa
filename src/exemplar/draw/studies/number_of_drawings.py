"""How diversity depends on the number of drawings per concept: raw, and corrected."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exemplar import seeds
from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import MOST, choose_rows, encode_data
from exemplar.draw.measures.diversity import cosine_spread, spread, vendi
from exemplar.draw.measures.intervals import POSITIVE, interval_over
from exemplar.draw.studies.study import Study
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

NUMBERS = (3, 5, 10, 15)  # of drawings; those the data has, and all it has
N_SUBSETS = 20  # of so many drawings, over which scores are averaged
BY_NUMBER: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "spread": spread,
    "spread, corrected (c4)": lambda features: spread(features, unbiased=True),
    "cosine": cosine_spread,
    "vendi": vendi,
}


def number_of_drawings(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of the data's own drawings when only so many of each concept are there, at random: raw, and corrected."""
    everything = choose_rows(data, int(data.counts.min()))
    if everything.shape[1] > 2 * MOST:
        everything = everything[:, : 2 * MOST]
    seen = encode_data(data, load_unseen_critics(data).see, everything)
    k, most = everything.shape
    scores: list[Score] = []
    numbers = sorted({n for n in NUMBERS if n < most} | {most})
    order = seeds.rng("subsets", seed).permuted(np.tile(np.arange(most), (N_SUBSETS, k, 1)), axis=2)
    for name, measure in BY_NUMBER.items():
        for n in numbers:
            subsets = order[:1] if n == most else order  # all drawings are all drawings
            value = np.stack([_mean_over(subsets[:, :, :n], there, measure) for there in seen.features])
            scores.append(Score.of(name, interval_over(value, POSITIVE), agent=f"{n} drawings of each"))
    return Scores.collect(scores)


def _mean_over(subsets: np.ndarray, features: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """(k,): the mean over subsets (m, k, n) of features (k, most, d)."""
    return np.mean([measure(np.take_along_axis(features, places[:, :, None], axis=1)) for places in subsets], axis=0)


NUMBER_OF_DRAWINGS = Study(
    "number-of-drawings",
    "How many drawings?",
    "A standard deviation of few drawings is too small; dividing by c4 corrects that. The mean cosine distance does "
    "not depend on the number, the Vendi score does.",
    number_of_drawings,
)
