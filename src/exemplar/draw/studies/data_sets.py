"""How diverse drawings of several data sets are. Boutin et al. 2023, App. B."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import choose_rows, encode_data
from exemplar.draw.measures.diversity import people_divisor, per_sample, spread_by_drawing
from exemplar.draw.measures.intervals import Measure, to_scores
from exemplar.draw.measures.originality import density
from exemplar.draw.scores import NORMALISATIONS, in_words
from exemplar.draw.studies.study import GLYPHS, OMNIGLOT, QUICKDRAW_FS, Study
from exemplar.draw.tasks import PEOPLE, SIMULATED
from exemplar.files import write_npz
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Scores
from exemplar.runs import Run

BESIDE = (OMNIGLOT, QUICKDRAW_FS, GLYPHS)  # sets to compare with, if here


def data_sets(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of each concept of this data and of the others available, each set in its own SimCLR, at the same number of
    drawings: mean and largest, normalised per sample (as published) and by the drawers' spread."""
    others = [load(*which) for which in BESIDE if CATALOGUE[which[0]].is_here() and "/".join(which) != data.name]
    sets = [data, *others]
    n, scores, arrays = min(len(choose_rows(one)[0]) for one in sets), [], {}
    for one in sets:
        places = choose_rows(one, n)
        seen = encode_data(one, load_unseen_critics(one).see, places)
        for how in NORMALISATIONS:
            features = [per_sample(f) if how == "sample" else f / people_divisor(f) for f in seen.features]
            by_drawing = np.stack([spread_by_drawing(there) for there in features])
            measure = Measure(
                "diversity", in_words(how, SIMULATED if one.simulated else PEOPLE), seen.spaces, by_drawing
            )
            found = [score for score in to_scores(measure, one.name, one.concepts) if not score.space]
            largest = max((score for score in found if score.concept), key=lambda score: score.value)
            scores.append(found[0])
            scores.append(replace(largest, name="largest_diversity"))
            arrays[f"{how} {one.name}"] = np.stack(density(measure.value.mean(axis=0)))  # (2, places)
    write_npz(run.folder / "data-sets.npz", arrays)
    return Scores.collect(scores)


DATA_SETS = Study(
    "data-sets",
    "How diverse are data sets?",
    "The spread within each concept, each data set in a SimCLR of its own, at the same number of drawings. Boutin et "
    "al. 2023, App. B: .37 on average and .66 at most for Omniglot, .48 and 1.10 for QuickDraw-FS, which here is "
    "built from fewer drawings, and from 28 px bitmaps.",
    data_sets,
)
