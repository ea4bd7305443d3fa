"""What a study found, with intervals: how much the rule matters, whether deeper stages learn faster, who is rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from exemplar import stats
from exemplar.errors import UserError
from exemplar.learn.measures.accuracy import EARLY, rank_correlation
from exemplar.learn.measures.variance import variance_explained
from exemplar.learn.studies.encoders import PIXELS, depths, network_of
from exemplar.learn.studies.populations import LEVEL
from exemplar.records import Score


def score_variances(tables: Mapping[str, np.ndarray], *, rng: np.random.Generator) -> list[Score]:
    """Shares of variance of encoder and rule. tables: what it is → (encoders, rules). Intervals draw encoders."""
    return [
        replace(score, agent=f"of {what}")
        for what, table in tables.items()
        for score in variance_explained(table, rng=rng)[0].values()
    ]


def score_depth(encoders: Sequence[str], accuracy: np.ndarray, *, rng: np.random.Generator) -> list[Score]:
    """Rank correlation of a stage's depth with its accuracy (mean over rules), over all trials and over trials 1–5, and how
    much better the deepest third of stages is than the shallowest.

    accuracy: (encoders, rules, subtasks, trials). Intervals draw subtasks: other objects.
    """
    depth, network = depths(encoders), np.array([network_of(name) for name in encoders])
    n_subtasks, stages, scores = accuracy.shape[2], network != PIXELS, []
    groups = {"all networks": stages} | {name: network == name for name in dict.fromkeys(network[stages].tolist())}
    for phase, window in {"accuracy": slice(None), "early accuracy": slice(*EARLY)}.items():
        drawn = _draw_subtasks(accuracy[..., window].mean(axis=(1, 3)), rng)  # (1 + replicates, encoders)
        for name, mine in groups.items():
            if mine.sum() > 2:
                places = np.broadcast_to(depth[mine], (len(drawn), mine.sum()))
                rho = rank_correlation(drawn[:, mine], places)
                scores.append(_score("depth_correlation", rho, n_subtasks, phase, name))
        deep, shallow = stages & (depth > 2 / 3), stages & (depth <= 1 / 3)
        if deep.any() and shallow.any():
            gap = drawn[:, deep].mean(axis=1) - drawn[:, shallow].mean(axis=1)
            scores.append(_score("deepest_minus_shallowest_third", gap, n_subtasks, phase))
    return scores


def score_models(
    encoders: Sequence[str], rules: Sequence[str], accuracy: np.ndarray, *, rng: np.random.Generator
) -> list[Score]:
    """Accuracy of each rule over all encoders, and of the first, best and last stage of each network over all rules.

    accuracy: (encoders, rules, subtasks, trials). Intervals draw subtasks.
    """
    over_trials, n_subtasks = accuracy.mean(axis=3), accuracy.shape[2]
    of_rule, of_encoder = (_draw_subtasks(over_trials.mean(axis=axis), rng) for axis in (0, 1))
    scores = [
        _score("accuracy", of_rule[:, place], n_subtasks, f"{rule}, mean of all encoders")
        for place, rule in enumerate(rules)
    ]
    for network in dict.fromkeys(map(network_of, encoders)):
        mine = [place for place, name in enumerate(encoders) if network_of(name) == network]
        best = mine[int(of_encoder[0, mine].argmax())]
        for place in dict.fromkeys((mine[0], best, mine[-1])):
            scores.append(_score("accuracy", of_encoder[:, place], n_subtasks, "mean of all rules", encoders[place]))
    return scores


def score_relations(
    tables: Mapping[str, np.ndarray], true: tuple[int, int], *, rng: np.random.Generator
) -> list[Score]:
    """Rank correlations over models, and how many wrong ones the null test rejects.

    tables: mse_n, one_shot_mse_n, accuracy, consistency, early, late, p and one_shot_p, (encoders, rules) each; true: the
    model that is not wrong. Intervals draw encoders, whose models belong together.
    """
    group = np.repeat(np.arange(len(tables["p"])), tables["p"].shape[1])
    pairs = {
        "MSE_n of Experiments 1 and 2": ("mse_n", "one_shot_mse_n"),
        "accuracy and consistency": ("accuracy", "consistency"),
        "early and late accuracy": ("early", "late"),
    }
    scores = []
    for what, (first, second) in pairs.items():
        try:
            r = stats.spearman(tables[first].ravel(), tables[second].ravel(), groups=group, rng=rng)
        except UserError:  # few models, and many resamples of which do not vary: the other scores stand
            continue
        scores.append(Score.of("rank_correlation", r, n=tables["p"].size, agent=f"{what}, over models"))
    wrong = np.ones(tables["p"].shape, bool)
    wrong[true] = False
    for name, what in (("p", "Experiment 1"), ("one_shot_p", "Experiment 2")):
        rejected = (tables[name] < LEVEL)[wrong].astype(float)
        share = stats.bootstrap(rejected, groups=group[wrong.ravel()], rng=rng)
        scores.append(Score.of("wrong_models_rejected", share, n=len(rejected), agent=what))
    return scores


def _draw_subtasks(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(k, subtasks) → (1 + replicates, k) means, the first row of the subtasks as they are."""
    n = values.shape[1]
    return np.concatenate([np.ones((1, n)), stats.resample(n, 1000, rng=rng)]) @ values.T / n


def _score(name: str, drawn: np.ndarray, n: int, agent: str, space: str = "") -> Score:
    """drawn: (1 + replicates,), the value itself first."""
    return Score.of(name, stats.interval(drawn[1:], drawn[0], n=n), agent=agent, space=space)
