"""The papers' control experiments on what people drew: do other critics, other training and other distances agree?

Boutin et al. 2022, S3.1 and S3.2 (Table S2), S3.3 (Table S3); Boutin et al. 2023, App. O (Table 8).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from exemplar.draw.encoding import MOST, by_features, critics_of, draw_again, drawings_rows, see_drawings, see_people
from exemplar.draw.measures.agreement import agreement_scores, all_pairs, each_with_itself, seeds_apart
from exemplar.draw.measures.diversity import cosine_spread, spread
from exemplar.draw.measures.intervals import Resamples
from exemplar.draw.measures.originality import cosine_originality, originality
from exemplar.draw.tasks import make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

# critics that differ in how strongly views were altered in training; they exist for Omniglot alone, and see any drawing
LEVELS = {name: f"simclr-omniglot-{name}-s0" for name in ("light", "strong", "coded")}
MODERATE = ("simclr-omniglot-s0", "simclr-omniglot-s1", "simclr-omniglot-s2")
SIMCLR, PROTONET = "SimCLR", "ProtoNet"
MEASURES = ("spread", "cosine", "cosine about the mean")


def critics_agree(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of each concept by SimCLR and by ProtoNet, as spread (Eq. 2) and as pairwise cosine distance (Eq. 3).

    Cosines depend on where the origin is, so they are also taken about the mean of all drawings.
    """
    critics, rows, found, names = by_features(critics_of(data)), drawings_rows(data), {}, {}
    for kind, spaces in ((SIMCLR, critics.see), (PROTONET, critics.recognise)):
        seen = see_drawings(data, spaces, rows)
        names[kind] = seen.spaces
        about = [there - there.mean(axis=(0, 1)) for there in seen.features]
        found[kind, "spread"] = np.stack([spread(there) for there in seen.features])
        found[kind, "cosine"] = np.stack([cosine_spread(there) for there in seen.features])
        found[kind, "cosine about the mean"] = np.stack([cosine_spread(there) for there in about])
    draws = draw_again(len(rows), sum(map(len, names.values())), seed)
    across = all_pairs(names[SIMCLR], names[PROTONET], draws)
    scores: list[Score] = []
    for measure in MEASURES:
        sides = (found[SIMCLR, measure], found[PROTONET, measure])
        for name in ("rank_correlation", "r_squared"):
            scores += agreement_scores(name, *sides, across, draws, agent=f"{PROTONET} and {SIMCLR}, {measure}")
    for kind, spaces_of in names.items():
        own = each_with_itself(spaces_of, draws)
        for other in MEASURES[1:]:
            sides = (found[kind, "spread"], found[kind, other])
            scores += agreement_scores("rank_correlation", *sides, own, draws, agent=f"{kind}, spread and {other}")
        scores += _between_seeds(kind, found[kind, "spread"], spaces_of, draws)
    write_npz(
        run.folder / "critics-agree.npz", {f"{kind}, {measure}": values for (kind, measure), values in found.items()}
    )
    return Scores.collect(scores)


def augmentation(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Diversity of each concept by SimCLRs whose training views were altered moderately, lightly, strongly, or as coded."""
    critics, rows = critics_of(data, see=(*MODERATE, *LEVELS.values())), drawings_rows(data)
    found = np.stack([spread(there) for there in see_drawings(data, critics.see, rows).features])
    moderate, others = found[: len(MODERATE)], found[len(MODERATE) :, None]
    draws = draw_again(len(rows), len(MODERATE) + 1, seed)
    scores: list[Score] = []
    for (level, name), other in zip(LEVELS.items(), others, strict=True):
        pairs = all_pairs(MODERATE, (name,), draws)
        for score in ("rank_correlation", "r_squared"):
            scores += agreement_scores(score, moderate, other, pairs, draws, agent=f"moderate and {level} augmentation")
    scores += _between_seeds("moderate augmentation", moderate, MODERATE, draws)
    write_npz(run.folder / "augmentation.npz", {"moderate": moderate, **dict(zip(LEVELS, others, strict=True))})
    return Scores.collect(scores)


def originality_agrees(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Originality by two networks and two distances (App. O): six pairs, over all drawings and over concepts' means."""
    task, critics = make_task(data), by_features(critics_of(data))
    looks = see_people(task, critics, min(task.n, MOST))
    sides = {SIMCLR: looks.see, PROTONET: looks.recognise}
    names = {kind: tuple(seen.space for seen in side) for kind, side in sides.items()}
    found = {
        f"{kind}, {distance}": np.stack([measure(seen.drawn, seen.exemplars) for seen in side])  # (s, k, n)
        for kind, side in sides.items()
        for distance, measure in (("ℓ2", originality), ("cosine", cosine_originality))
    }
    k, n = len(task.concepts), looks.see[0].drawn.shape[1]
    draws, groups = draw_again(k, sum(map(len, names.values())), seed), np.repeat(np.arange(k), n)
    scores: list[Score] = []
    for one, other in combinations(found, 2):
        kinds = one.partition(",")[0], other.partition(",")[0]
        same = kinds[0] == kinds[1]
        pairs = each_with_itself(names[kinds[0]], draws) if same else all_pairs(names[SIMCLR], names[PROTONET], draws)
        first, second, agent = found[one], found[other], f"{one}; {other}"
        units = {
            "drawings": (first.reshape(len(first), -1), second.reshape(len(second), -1), groups),
            "concepts": (first.mean(axis=2), second.mean(axis=2), None),
        }
        for unit, (one_way, other_way, concept) in units.items():
            scores += agreement_scores(
                "rank_correlation", one_way, other_way, pairs, draws, agent=agent, groups=concept,
                title=f"rank_correlation_of_{unit}",
            )  # fmt: skip
    write_npz(run.folder / "originality-agrees.npz", found)
    return Scores.collect(scores)


def _between_seeds(kind: str, found: np.ndarray, names: tuple[str, ...], draws: Resamples) -> list[Score]:
    """How well critics agree that differ in their seed only: more cannot be asked of others."""
    pairs = seeds_apart(names, draws)
    if pairs is None:
        return []
    return list(agreement_scores("rank_correlation", found, found, pairs, draws, agent=f"{kind}, two seeds"))
