"""Encoders × rules against people, both experiments, as published: from people's files and images, features, or runs already
made.

What is found: how much of the error the encoder and the rule explain, how models compare with people over subtasks, early and
late and at four levels of difficulty, how many are rejected, and which are the strong baseline models (the best 1 %).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine, seeds, stats
from exemplar.dense_trials import FILE
from exemplar.errors import UserError
from exemplar.files import reading
from exemplar.learn.agents import list_rules
from exemplar.learn.measures.accuracy import score_accuracy, score_consistency
from exemplar.learn.measures.curves import repeat
from exemplar.learn.measures.mse import score_both_limits
from exemplar.learn.people import IMAGE_SETS, data_folder
from exemplar.learn.studies.encoders import depths, list_encoders
from exemplar.learn.studies.findings import score_variances
from exemplar.learn.studies.models import N_ENCODERS
from exemplar.learn.studies.people_models import (
    GROUPS,
    PHASES,
    ModelsJob,
    Source,
    load_side,
    people_have,
    score_source,
)
from exemplar.learn.studies.study_results import LEARNED, NULL_TESTS, TABLES, find_strong, write_arrays
from exemplar.records import Score, Scores
from exemplar.runs import Run, open_run, read_json, write_json

LEVEL = 0.05
NO_LAYERS = "one-shot"  # features called NAME-one-shot.npz are of Experiment 2


@dataclass(frozen=True)
class PeopleStudyConfig:
    """sources: where models come from, one per encoder; rules: names; people: their folder, "" for the counts on this machine;
    n_sessions: of each model in a subtask."""

    sources: tuple[Source, ...]
    rules: tuple[str, ...]
    people: str
    n_sessions: int = 500
    n_replicates: int = 1000
    other_images: bool = False


def study_people_in_folder(
    folder: Path, config: PeopleStudyConfig, *, seed: int = 0, backend: engine.Backend | None = None
) -> Path:
    """Every model against people. Killed, it resumes.

    In the folder: `scores` (the findings), `scores-models` (one row per model and score; agent: the rule, space: the encoder),
    `learned.npz` (for the figures) and `cpu_seconds.json`.
    """
    with open_run(
        folder,
        command="learn study",
        config=config,
        seed=seed,
        variant="paper",
        data=digest_inputs(config),
        backend=backend,
        keep="jobs.sqlite",
    ) as run:
        if not run.finished:
            run_people_study(run, config, seed)
    return Path(folder)


def digest_inputs(config: PeopleStudyConfig) -> dict[str, str]:
    """Name → digest of every file that models and people come from: a folder with results of others is not taken for this."""
    curves = load_side(config.people, False).first.learning().curves()
    found = {"people": seeds.digest(curves.n_correct, curves.n_sessions, curves.subtasks)}
    for source in config.sources:
        files = [Path(file) for file in source.features if file]
        files += [Path(place) / FILE for _, *places in source.runs for place in places if place]
        if source.images:
            data = data_folder(source.images)
            files += [data / f"meta-{IMAGE_SETS[name]}.csv" for name in ("highvar", "oneshot", "warmup")]
        contents = []
        for file in files:
            with reading(file, "a file"):
                contents.append(file.read_bytes() if file.is_file() else b"")
        found[source.encoder] = seeds.digest("source", contents)
    return found


def run_people_study(run: Run, config: PeopleStudyConfig, seed: int) -> Scores:
    """All of a study, in an open run."""
    second = people_have(config.people, 2) and any(_has_second(source) for source in config.sources)
    jobs = [
        ModelsJob(source, config.rules, config.people, second and _has_second(source), config.n_sessions,
                  config.n_replicates, config.other_images, seed)
        for source in config.sources
    ]  # fmt: skip
    found = run.map(score_source, jobs, label="encoders")
    rules = [tuple(one["rules"].tolist()) for one in found]
    if len(set(rules)) > 1:
        raise UserError(
            f"encoders were run with different rules ({rules[0]}, {next(r for r in rules if r != rules[0])}): run all with "
            "the same"
        )
    rows = [Score(**{**row, "ci95": tuple(row["ci95"])}) for one in found for row in one["scores"]]
    run.save(Scores.collect(rows), "scores-models")
    encoders = tuple(source.encoder for source in config.sources)
    arrays = _arrays(config, encoders, rules[0], found, rows, seed)
    write_arrays(run.folder, LEARNED, encoders, rules[0], arrays)
    scores = Scores.collect(_findings(encoders, rules[0], arrays, config, seed))
    run.save(scores)
    write_json(run.folder / "cpu_seconds.json", {"score": round(sum(one["seconds"] for one in found), 1)})
    return scores


def _arrays(
    config: PeopleStudyConfig,
    encoders: tuple[str, ...],
    rules: tuple[str, ...],
    found: Sequence[dict[str, Any]],
    rows: Sequence[Score],
    seed: int,
) -> dict[str, np.ndarray]:
    """What `learned.npz` holds: tables (encoders, rules), curves of models and people, NaN where nobody did Experiment 2."""
    value = {(row.name, row.space, row.agent): row.value for row in rows}
    shape = (len(encoders), len(rules))
    arrays = {
        name: np.array([[value.get((name, e, r), np.nan) for r in rules] for e in encoders])
        for name in TABLES
        if name not in NULL_TESTS
    }
    for name in ("p", "n_correct", "n_sessions", "levels", "levels_p"):
        arrays[name] = np.stack([one[name] for one in found])
    arrays["one_shot_p"] = np.stack([one.get("one_shot_p", np.full(len(rules), np.nan)) for one in found])
    known = set(list_encoders())
    arrays["depth"] = depths(encoders) if set(encoders) <= known else np.full(len(encoders), np.nan)
    people = load_side(config.people, False).first.learning()
    curves = people.curves()
    shared = curves if curves.n_correct.shape == arrays["n_correct"].shape[2:] else None
    if shared is None:
        raise UserError(
            "models must learn all of people's subtasks, for as many trials: run them on all of people's images"
        )
    them = repeat(people, n_replicates=config.n_replicates, rng=seeds.rng("study people", seed))
    arrays |= {"people_n_correct": curves.n_correct, "people_sessions": curves.n_sessions}
    repeated = {**score_accuracy(them), **score_consistency(them, them)}
    for name, score in {"accuracy": repeated["accuracy"], "ceiling": repeated["consistency_ceiling"]}.items():
        arrays[f"people_{name}"] = np.array([score.value, *score.ci95])
    if all("one_shot" in one for one in found):
        second = load_side(config.people, True).second
        assert second is not None
        points = second.tested().points()
        arrays |= {"one_shot": np.stack([one["one_shot"] for one in found]), "tests": np.array(points.tests)}
        arrays |= {"people_one_shot": points.accuracy, "people_one_shot_variance": points.variance}
    else:
        nothing = np.zeros(0)
        arrays |= {"one_shot": np.zeros((*shape, 0)), "tests": np.zeros(0, "U1")}
        arrays |= {"people_one_shot": nothing, "people_one_shot_variance": nothing}
    return arrays | {"n_choices": np.array(people.n_choices)}


def _findings(
    encoders: tuple[str, ...],
    rules: tuple[str, ...],
    arrays: dict[str, np.ndarray],
    config: PeopleStudyConfig,
    seed: int,
) -> list[Score]:
    """Variances explained, correlations over models, shares of models rejected, and the strong baseline models."""
    rng, scores = seeds.rng("study findings", seed), []
    tables = {"MSE_n": arrays["mse_n"], "accuracy": arrays["accuracy"], "one-shot MSE_n": arrays["one_shot_mse_n"]}
    if len(encoders) >= N_ENCODERS and len(rules) > 1:
        usable = {name: table for name, table in tables.items() if np.isfinite(table).all() and np.ptp(table) > 0}
        scores += score_variances(usable, rng=rng)
    group = np.repeat(np.arange(len(encoders)), len(rules))
    pairs = {"accuracy and consistency": ("accuracy", "consistency"), "early and late accuracy": ("early", "late")}
    pairs["MSE_n of Experiments 1 and 2"] = ("mse_n", "one_shot_mse_n")
    for what, (first, second) in pairs.items():
        sides = arrays[first].ravel(), arrays[second].ravel()
        if len(encoders) >= N_ENCODERS and all(np.isfinite(side).all() and np.ptp(side) > 0 for side in sides):
            r = stats.spearman(*sides, groups=group, rng=rng)
            scores.append(Score.of("rank_correlation", r, n=len(group), agent=f"{what}, over models"))
    strong = find_strong(arrays["mse_n"])
    for name, what in (("p", "Experiment 1"), ("one_shot_p", "Experiment 2")):
        if np.isfinite(arrays[name]).all():
            scores += _shares(arrays[name] < LEVEL, strong, what)
    for i, phase in enumerate(PHASES):
        for j, name in enumerate(GROUPS[: arrays["levels_p"].shape[3]]):
            scores += _shares(arrays["levels_p"][:, :, i, j] < LEVEL, strong, f"{phase}, {name} subtasks")
    for place in np.argwhere(strong):
        error = float(np.sqrt(max(arrays["mse_n"][tuple(place)], 0)))
        # its interval stands in scores-models; here it is only named
        row = Score("strong_baseline_root_mse_n", error, (np.nan, np.nan), 1, rules[place[1]], "", encoders[place[0]])
        scores.append(row)
    people = load_side(config.people, False).first.learning()
    them = repeat(people, n_replicates=config.n_replicates, rng=seeds.rng("study people", seed))
    return [*scores, *score_accuracy(them, agent="people").values(), *score_both_limits(people, them, agent="people")]


def _shares(rejected: np.ndarray, strong: np.ndarray, what: str) -> list[Score]:
    """The share of models rejected at 5 %, of all and of the strong ones."""
    found = []
    for who, some in (("all models", rejected.ravel()), ("strong models", rejected[strong])):
        around = stats.proportion(int(some.sum()), some.size)
        found.append(Score.of("models_rejected", around, agent=who, concept=what))
    return found


def find_sources(
    images: Path | str | None, features: Sequence[str], runs: Sequence[str], encoders: Sequence[str], people: str
) -> tuple[Source, ...]:
    """Where models come from, by what was given: files of features, runs, or stages that encode images."""
    given = [bool(features), bool(runs), images is not None]
    if sum(given) > 1:
        raise UserError("give one of --features, --runs and --images: they are different sources of models")
    if features:
        return _feature_sources(features)
    if runs:
        return _run_sources(runs)
    place = str(images) if images is not None else people
    if not place:
        raise UserError("people's counts come without images: give --images, --features or --runs of the same images")
    return tuple(Source(name, images=place) for name in encoders if "/" in name)


def _feature_sources(files: Sequence[str]) -> tuple[Source, ...]:
    found: dict[str, list[str]] = {}
    for file in files:
        path = Path(file).expanduser()
        if not path.is_file():
            raise UserError(f"there is no file {path}")
        second = path.stem.endswith(f"-{NO_LAYERS}")
        name = path.stem.removesuffix(f"-{NO_LAYERS}")
        pair = found.setdefault(name, ["", ""])
        if pair[second]:
            raise UserError(f"two files of features are called {path.stem}: rename one")
        pair[second] = str(path)
    missing = [name for name, pair in found.items() if not pair[0]]
    if missing:
        raise UserError(
            f"{missing[0]}-{NO_LAYERS}.npz has no {missing[0]}.npz beside it, which Experiment 1 needs: give both"
        )
    return tuple(Source(name, features=(pair[0], pair[1])) for name, pair in found.items())


def _run_sources(folders: Sequence[str]) -> tuple[Source, ...]:
    """Runs of `exemplar learn run`, by encoder and rule as their config.json has them."""
    found: dict[str, dict[str, list[str]]] = {}
    for folder in folders:
        place = Path(folder).expanduser()
        if not (place / "config.json").is_file():
            raise UserError(f"{place} is no run of `exemplar learn run`: give its folder")
        asked = read_json(place / "config.json").get("config", {})
        if "rule" not in asked or "experiment" not in asked:
            raise UserError(f"{place} is no run of `exemplar learn run`: give its folder")
        encoder = asked.get("stage") or Path(str(asked.get("features"))).stem.removesuffix(f"-{NO_LAYERS}")
        rule = str(asked.get("agent") or asked["rule"])
        pair = found.setdefault(str(encoder), {}).setdefault(rule, ["", ""])
        if pair[asked["experiment"] - 1]:
            raise UserError(
                f"two runs are of {encoder} and {rule} in Experiment {asked['experiment']}: give one of them"
            )
        pair[asked["experiment"] - 1] = str(place)
    for encoder, rules in found.items():
        for rule, (first, _) in rules.items():
            if not first:
                raise UserError(f"there is no run of {encoder} and {rule} in Experiment 1: give that too")
    return tuple(
        Source(encoder, runs=tuple((rule, first, second) for rule, (first, second) in sorted(rules.items())))
        for encoder, rules in found.items()
    )


def rules_of(sources: Sequence[Source], rules: tuple[str, ...]) -> tuple[str, ...]:
    """Those asked for; of runs, those there are."""
    there = dict.fromkeys(rule for source in sources for rule, *_ in source.runs)
    if there:
        return tuple(rule for rule in there if not rules or rule in rules)
    return tuple(rule for rule in rules if rule in list_rules())


def _has_second(source: Source) -> bool:
    return bool(source.images or source.features[1] or any(second for *_, second in source.runs))
