"""Does it matter how strongly training views were altered? Boutin et al. 2022, S3.3 (Table S3)."""

from __future__ import annotations

import numpy as np

from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import choose_rows, encode_data, resample_concepts
from exemplar.draw.measures.agreement import agreement_scores, all_pairs, between_seeds, pair_range_scores
from exemplar.draw.measures.diversity import spread
from exemplar.draw.measures.intervals import Resamples
from exemplar.draw.studies.study import Study
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

Level = tuple[str, str]  # reading and level, as in LEVELS
# Critics that differ in how strongly views were altered in training, by reading and level; the first level is what the others
# are compared with. They exist for Omniglot alone, and encode any drawing.
SEEDS = range(3)
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "released": {
        "moderate": tuple(f"simclr-omniglot-released-s{seed}" for seed in SEEDS),
        "light": tuple(f"simclr-omniglot-released-light-s{seed}" for seed in SEEDS),
        "strong": tuple(f"simclr-omniglot-released-strong-s{seed}" for seed in SEEDS),
    },
    "published": {
        "moderate": tuple(f"simclr-omniglot-s{seed}" for seed in SEEDS),
        "light": ("simclr-omniglot-light-s0",),
        "strong": ("simclr-omniglot-strong-s0",),
    },
}
WORDS = {"released": "", "published": "the text's "}  # before the levels of a reading


def augmentation(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of each concept by SimCLRs whose training views were altered moderately, lightly or strongly, by the values of
    the released code and by those of the text."""
    names = [name for levels in LEVELS.values() for critics in levels.values() for name in critics]
    critics, rows = load_unseen_critics(data, see=names), choose_rows(data)
    features = encode_data(data, critics.see, rows).features
    by_name = {name: spread(there) for name, there in zip(names, features, strict=True)}
    found = {
        (reading, level): np.stack([by_name[name] for name in members])
        for reading, levels in LEVELS.items()
        for level, members in levels.items()
    }
    draws = resample_concepts(len(rows), 2 * len(SEEDS), seed)
    scores: list[Score] = []
    for reading, levels in LEVELS.items():
        for level in ("light", "strong"):
            agent = f"{WORDS[reading]}moderate and {level} augmentation"
            scores += _compare(found, (reading, "moderate"), (reading, level), agent, draws)
        for level, members in levels.items():
            kind = f"{WORDS[reading]}{level} augmentation"
            scores += between_seeds(kind, found[reading, level], members, draws)
    agent = "released and the text's moderate augmentation"
    scores += _compare(found, ("released", "moderate"), ("published", "moderate"), agent, draws)
    write_npz(
        run.folder / "augmentation.npz", {f"{reading} {level}": values for (reading, level), values in found.items()}
    )
    return Scores.collect(scores)


def _compare(found: dict[Level, np.ndarray], one: Level, other: Level, agent: str, draws: Resamples) -> list[Score]:
    """Two levels, (reading, level) each: over all pairs of seeds, then the lowest and the highest pair."""
    names = [LEVELS[reading][level] for reading, level in (one, other)]
    pairs, sides = all_pairs(names[0], names[1], draws), (found[one], found[other])
    scores: list[Score] = []
    for name in ("rank_correlation", "r_squared"):
        scores += agreement_scores(name, *sides, pairs, draws, agent=agent)
        scores += pair_range_scores(name, *sides, pairs, draws, agent=agent)
    return scores


AUGMENTATION = Study(
    "augmentation",
    "Does it matter how strongly training views were altered?",
    "SimCLR learns to see through small changes. Here it was trained with moderate, light and strong ones, three seeds of "
    "each, as the authors' released code has them, with which the published numbers were made; and, for comparison, as the "
    "text of the paper has them. Boutin et al. 2022, Table S3.",
    augmentation,
)
