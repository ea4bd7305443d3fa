"""Does it matter how strongly training views were altered? Boutin et al. 2022, S3.3 (Table S3)."""

from __future__ import annotations

import numpy as np

from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import choose_rows, encode_data, resample_concepts
from exemplar.draw.measures.agreement import agreement_scores, all_pairs, between_seeds
from exemplar.draw.measures.diversity import spread
from exemplar.draw.studies.study import Study
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

# critics that differ in how strongly views were altered in training; they exist for Omniglot alone, and encode any drawing
LEVELS = {name: f"simclr-omniglot-{name}-s0" for name in ("light", "strong", "coded")}
MODERATE = ("simclr-omniglot-s0", "simclr-omniglot-s1", "simclr-omniglot-s2")


def augmentation(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of each concept by SimCLRs whose training views were altered moderately, lightly, strongly, or as coded."""
    critics, rows = load_unseen_critics(data, see=(*MODERATE, *LEVELS.values())), choose_rows(data)
    found = np.stack([spread(there) for there in encode_data(data, critics.see, rows).features])
    moderate, others = found[: len(MODERATE)], found[len(MODERATE) :, None]
    draws = resample_concepts(len(rows), len(MODERATE) + 1, seed)
    scores: list[Score] = []
    for (level, name), other in zip(LEVELS.items(), others, strict=True):
        pairs = all_pairs(MODERATE, (name,), draws)
        for score in ("rank_correlation", "r_squared"):
            scores += agreement_scores(score, moderate, other, pairs, draws, agent=f"moderate and {level} augmentation")
    scores += between_seeds("moderate augmentation", moderate, MODERATE, draws)
    write_npz(run.folder / "augmentation.npz", {"moderate": moderate, **dict(zip(LEVELS, others, strict=True))})
    return Scores.collect(scores)


AUGMENTATION = Study(
    "augmentation",
    "Does it matter how strongly training views were altered?",
    "SimCLR learns to see through small changes. Here it was trained with moderate, light and strong ones, and with "
    "those of the authors' released code. Boutin et al. 2022, Table S3.",
    augmentation,
)
