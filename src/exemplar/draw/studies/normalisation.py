"""Does dividing each drawing by its own deviation reorder diversity? Boutin et al. 2023, App. D.

The paper's points are generators; here they are concepts, and agents whose scores are known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from exemplar import stats
from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.drawings import stack
from exemplar.draw.encoding import MOST, choose_rows, encode_data, resample_concepts
from exemplar.draw.measures.agreement import agreement_scores, each_with_itself
from exemplar.draw.measures.diversity import per_sample, spread
from exemplar.draw.studies.known_answers import draw_known, known_agents
from exemplar.draw.studies.study import Study
from exemplar.draw.tasks import make_task
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run


def normalisation(run: Run, seed: int, data: ConceptSet) -> Scores:
    """Whether dividing each drawing by its own deviation reorders diversity: over concepts, and over agents."""
    critics, rows = load_unseen_critics(data), choose_rows(data)
    seen = encode_data(data, critics.see, rows)
    raw, divided = (np.stack([spread(how(f)) for f in seen.features]) for how in (np.asarray, per_sample))  # (s, k)
    draws = resample_concepts(len(rows), len(seen.spaces), seed)
    pairs = each_with_itself(seen.spaces, draws)
    scores: list[Score] = []
    for name in ("rank_correlation", "r_squared"):
        scores += agreement_scores(name, raw, divided, pairs, draws, agent="raw and normalised, concepts")
    task = make_task(data)
    task = replace(task, n=min(task.n, MOST))
    first, k = critics.see[0], len(task.concepts)
    drawn = draw_known(task, known_agents(data), seed)
    by_agent = []
    for drawings in drawn.values():
        images = stack(drawings, task)
        there = first.encode(images.reshape(-1, *images.shape[2:])).reshape(k, task.n, -1)
        by_agent.append([spread(there), spread(per_sample(there))])
    both = np.array(by_agent).transpose(1, 0, 2)  # (2, agents, k)
    means = np.stack([draws.means(values) for values in both])  # (2, r, agents)
    for name, transform, power in (("rank_correlation", _ranks, 1), ("r_squared", np.asarray, 2)):
        value, replicates = (
            _correlation(*transform(values)) ** power for values in (both.mean(axis=2)[:, None], means)
        )
        found = stats.interval(replicates, value[0], n=k)
        scores.append(Score.of(name, found, n=k, agent="raw and normalised, agents", space=first.name))
    arrays = {"raw": raw[0], "normalised": divided[0], "agents": np.array(list(drawn)), "by agent": both.mean(axis=2)}
    write_npz(run.folder / "normalisation.npz", arrays)
    return Scores.collect(scores)


def _correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(r, m), (r, m) → (r,) Pearson's r of each row."""
    one, other = (v - v.mean(axis=1, keepdims=True) for v in (first, second))
    return (one * other).sum(axis=1) / np.sqrt(np.square(one).sum(axis=1) * np.square(other).sum(axis=1))


def _ranks(values: np.ndarray) -> np.ndarray:
    return rankdata(values, axis=2)


NORMALISATION = Study(
    "normalisation",
    "Does normalising reorder diversity?",
    "Boutin et al. 2023, App. D, find R² .99 over their generators, on the mean over concepts. Here agents whose "
    "scores are known stand in for generators; over the concepts of {drawers} the order need not stay.",
    normalisation,
)
