"""The published experiments with every encoding stage at hand and every rule, against simulated participants of known kind.

People learned other images, so their curves are no target here: participants are simulated, and called so. What the study says
without them is which encoders learn faster, and how much of that is due to the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np

from exemplar import engine, seeds, stats
from exemplar.files import write_npz
from exemplar.images.objects import load_objects
from exemplar.learn.benchmark import score_limits
from exemplar.learn.measures.curves import Learning, Repeated, behaviour_in
from exemplar.learn.people import load_curves, load_points
from exemplar.learn.scores import learning_curve, repeat, score_accuracy, score_mse, score_speed
from exemplar.learn.studies.encoders import (
    LEARNING,
    ONE_SHOT,
    PIXELS,
    WARM_UP,
    depths,
    load_subtasks,
    split_of,
    unpack,
    views_shown,
)
from exemplar.learn.studies.findings import score_depth, score_models, score_relations, score_variances
from exemplar.learn.studies.models import Learned, StudyConfig, learn_all
from exemplar.learn.studies.populations import (
    SIMULATED,
    Population,
    PopulationsJob,
    as_behaviour,
    design_populations,
    population_nulls,
    recover,
    score_recovery,
)
from exemplar.learn.studies.targets import (
    Participants,
    ScoringJob,
    null_distributions,
    participants_as_trials,
    score_encoder,
    simulated_participants,
)
from exemplar.records import Score, Scores, Trials
from exemplar.runs import Run, open_run, write_json

LITE0 = "efficientnet-lite0"
LEARNS = 0.6  # accuracy of a true model; whoever guesses cannot be told from another who does
TABLES = (
    "mse_n",
    "one_shot_mse_n",
    "overall",
    "early",
    "late",
    "consistency",
)  # kept for figures, (encoders, rules) each


def study(
    folder: Path, config: StudyConfig | None = None, *, seed: int = 0, backend: engine.Backend | None = None
) -> Path:
    """Encoders × rules in both experiments, and populations whose encoder is to be found. Killed, it goes on.

    In the folder: `scores` (the findings), `scores-models` (one row a model and score; agent: the rule, space: the encoder),
    `learned.npz` and `populations.npz` (for the figures), and `cpu_seconds.json`.
    """
    config = config or StudyConfig()
    data = {split_of(task): load_subtasks(task, n).fingerprint for task, n in config.experiments}
    data[WARM_UP] = load_objects(WARM_UP).fingerprint
    with open_run(
        folder,
        command="learn study",
        config=config,
        seed=seed,
        variant="paper",
        data=data,
        backend=backend,
        keep="jobs.sqlite",
    ) as run:
        if not run.finished:
            run_study(run, config, seed)
    return Path(folder)


def run_study(run: Run, config: StudyConfig, seed: int) -> Scores:
    """All of a study, in an open run."""
    learned = learn_all(run, config, seed)
    found = [*study_encoders(run, config, learned, seed), *study_populations(run, config, learned, seed)]
    return _keep(run, found, learned.seconds)


def encoders_result(run: Run, seed: int) -> Scores:
    """The study with every stage × every rule, as published but for the images, and the people."""
    return run_study(run, StudyConfig(), seed)


def people_result(run: Run, seed: int) -> Scores:
    """People's numbers in Experiments 1 and 2, from the counts and points at hand."""
    counts = load_curves()
    people = repeat(counts, rng=seeds.rng("people", seed))
    scores = [*score_accuracy(people, agent="people").values(), *score_speed(people, agent="people").values()]
    scores += _limits(counts, people, "people")
    points = load_points()
    kind = np.array([name.split(" | ")[0] for name in points.tests])
    drawn = points.resample(1000, seeds.rng("people's points", seed))[0]
    for name in dict.fromkeys(kind.tolist()):
        mine = kind == name
        value, values = float(points.accuracy[mine].mean()), drawn[:, mine].mean(axis=1)
        # accuracies drawn beyond 1 are cut there, which moves them: only their spread is used
        around = stats.interval(values - values.mean() + value, value, n=int(mine.sum()))
        ends = (around.lo, min(around.hi, 1.0))
        scores.append(Score("one_shot_accuracy", value, ends, around.n, agent="people", concept=name))
    return _keep(run, scores)


def study_encoders(run: Run, config: StudyConfig, learned: Learned, seed: int) -> list[Score]:
    """Every model against the simulated participants; writes `scores-models` and `learned.npz`."""
    true = (config.encoders.index(config.truth.encoder), config.rules.index(config.truth.rule))
    theirs = (learned.participants[split][config.truth.encoder][true[1]] for split in (LEARNING, ONE_SHOT))
    who = Participants(config.truth, config.n_drawn, *theirs)
    jobs = [
        ScoringJob(
            encoder,
            config.rules,
            config.tasks,
            config.n_sessions,
            learned.models[LEARNING][encoder],
            learned.models[ONE_SHOT][encoder],
            who,
            config.n_replicates,
            seed,
        )
        for encoder in config.encoders
    ]
    found = run.map(score_encoder, jobs, label="scores")
    learned.seconds["score"] = sum(one["seconds"] for one in found)
    rows = [Score(**{**row, "ci95": tuple(row["ci95"])}) for one in found for row in one["scores"]]
    run.save(Scores.collect(rows), "scores-models")

    people, tested = simulated_participants(who, config.tasks, seed)
    nulls = null_distributions(people, tested, config.n_sessions, config.n_one_shot, config.n_replicates, seed)
    value = {(row.name, row.space, row.agent): row.value for row in rows}
    tables = {
        name: np.array([[value[name, encoder, rule] for rule in config.rules] for encoder in config.encoders])
        for name in TABLES
    }
    for name, null, errors in zip(("p", "one_shot_p"), nulls, ("mse_n", "one_shot_mse_n"), strict=True):
        tables[name] = np.vectorize(null.p)(tables[errors])
    n_correct, profile = (np.stack([one[key] for one in found]) for key in ("n_correct", "one_shot"))
    points = tested.points()
    arrays = {"depth": depths(config.encoders), "n_correct": n_correct, "one_shot": profile, **tables}
    arrays |= {"people_n_correct": people.curves().n_correct, "people_sessions": np.array(config.truth.n_sessions)}
    arrays["people_one_shot"] = points.accuracy
    arrays |= {
        "people_one_shot_variance": points.variance,
        "true": np.array(true),
        "n_sessions": np.array(config.n_sessions),
    }
    _write(run, "learned", config, {**arrays, "tests": np.array(points.tests)})

    rng, accuracy = seeds.rng("findings", seed), n_correct / config.n_sessions
    them = repeat(people, n_replicates=config.n_replicates, rng=seeds.rng("participants again", seed))
    of = {"accuracy": tables["overall"], "MSE_n": tables["mse_n"]}
    of |= {"one-shot accuracy": profile.mean(axis=2), "one-shot MSE_n": tables["one_shot_mse_n"]}
    scores = [*score_variances(of, rng=rng), *score_depth(config.encoders, accuracy, rng=rng)]
    scores += score_models(config.encoders, config.rules, accuracy, rng=rng)
    scores += [*score_relations(tables, true, rng=rng), *score_accuracy(them, agent=SIMULATED).values()]
    scores += _limits(people, them, SIMULATED)
    truth = [row for row in rows if (row.space, row.agent) == (config.truth.encoder, config.truth.rule)]
    wanted = ("root_mse_n", "lapse_rate", "one_shot_root_mse_n")
    return scores + [replace(row, agent="the true model", space="") for row in truth if row.name in wanted]


def study_populations(run: Run, config: StudyConfig, learned: Learned, seed: int) -> list[Score]:
    """Which encoder of each simulated population has the lowest MSE_n, and the null test; writes `populations.npz`.

    Once for all populations, and once for those whose true model learns something.
    """
    populations = design_populations(config.encoders, config.rules, config.lapses, config.n_participants)
    jobs = []
    for encoder in config.encoders:
        mine = tuple(population for population in populations if population.encoder == encoder)
        rules = tuple(config.rules.index(population.rule) for population in mine)
        numbers = (config.n_drawn, config.n_trials, config.n_sessions, config.n_replicates, seed)
        jobs.append(PopulationsJob(mine, rules, learned.participants[LEARNING][encoder], *numbers))
    nulls = run.map(population_nulls, jobs, label="populations")
    learned.seconds["populations"] = sum(null["seconds"] for null in nulls)
    shape = (config.n_sessions, config.n_trials)
    models = np.concatenate(
        [unpack(one, *shape).sum(axis=1)[None] for name in config.encoders for one in learned.models[LEARNING][name]]
    )
    n_correct, errors = (np.concatenate([null[key] for null in nulls]) for key in ("n_correct", "errors"))
    found = recover(populations, config.encoders, config.rules, models, config.n_sessions, n_correct, errors)
    n_sessions = np.array([population.n_sessions for population in populations])
    arrays = {"true": found.true, "found": found.found, "p": found.p.astype(np.float32), "fitted_lapse": found.lapse}
    lapse = np.array([population.lapse for population in populations])
    _write(run, "populations", config, {**arrays, "n_sessions": n_sessions, "lapse": lapse})
    learns = (models.mean(axis=(1, 2)) / config.n_sessions)[found.true] >= LEARNS
    scores = []
    groups = (
        ("", "", learns | True),
        (", accuracy ≥ 0.6", f", accuracy ≥ {LEARNS}", learns),
    )  # seed name, label, which
    for n, (seed_name, who, some) in product(config.n_participants, groups):
        rows = np.flatnonzero((n_sessions == n) & some)
        if len(np.unique(found.true[rows] // len(config.rules))) > 1:
            name = f"{n} {SIMULATED} a subtask{who}"
            scores += score_recovery(found.of(rows), rng=seeds.rng("recovery", seed, n, seed_name), agent=name)
    return scores


@dataclass(frozen=True)
class TourConfig:
    """study: a small one, Experiment 1 alone; rule: whose curves are shown; n_shown: objects, and n_views of each."""

    study: StudyConfig = field(
        default_factory=lambda: StudyConfig(
            encoders=(PIXELS, *(f"{LITE0}/{layer}" for layer in ("block04", "block11", "block14", "head"))),
            rules=("perceptron", "square", "reinforce"),
            n_subtasks=6,
            n_trials=40,
            n_sessions=200,
            truth=Population(f"{LITE0}/head", "square", lapse=0.1, n_sessions=30),
            n_participants=(30,),
            n_warm_up=64,
            n_block=1,
        )
    )
    rule: str = "square"
    n_shown: int = 3
    n_views: int = 9


def tour(folder: Path, *, seed: int = 0, backend: engine.Backend | None = None) -> None:
    """The room's part of `exemplar tour`: objects; a few stages and rules at Experiment 1; simulated participants."""
    tour_config = TourConfig()
    config, rule = tour_config.study, tour_config.study.rules.index(tour_config.rule)
    data = {LEARNING: load_subtasks(*config.experiments[0]).fingerprint, WARM_UP: load_objects(WARM_UP).fingerprint}
    with open_run(folder, command="tour learn", config=tour_config, seed=seed, data=data, backend=backend) as run:
        if run.finished:
            return
        learned = learn_all(run, config, seed, one_shot=False)
        for split in (LEARNING, ONE_SHOT):
            run.save(views_shown(split, tour_config.n_shown, tour_config.n_views), f"drawings-{split}")
        run.save(participants_as_trials(config, learned, seed))
        people = behaviour_in(Trials.load(run.folder))  # simulated participants, read as people would be
        them = repeat(people, rng=seeds.rng("tour", seed, "simulated participants"))
        shown, scores, table = {}, [], np.empty((len(config.encoders), len(config.rules)))
        for place, encoder in enumerate(config.encoders):
            right = unpack(learned.models[LEARNING][encoder], config.n_sessions, config.n_trials)
            table[place] = right.mean(axis=(1, 2, 3))
            model = repeat(as_behaviour(right[rule], people.subtasks), rng=seeds.rng("tour", seed, encoder))
            shown[encoder] = learning_curve(model)
            scores += [
                score_accuracy(model, agent=encoder)["overall"],
                score_mse(model, them, agent=encoder)["root_mse_n"],
            ]
        shown[SIMULATED] = learning_curve(them)
        scores += [score_accuracy(them, agent=SIMULATED)["overall"]]
        scores += score_variances({"accuracy": table}, rng=seeds.rng("tour", seed, "variance"))[:2]
        write_npz(run.folder / "curves.npz", {k: np.stack([c.value, c.lo, c.hi]) for k, c in shown.items()})
        _keep(run, scores)


def _limits(people: Learning, repeated: Repeated, agent: str) -> list[Score]:
    """The noise floor, and what a guesser scores in both forms."""
    guesser = score_limits(people, repeated, variant="hobj", agent=agent)["random_guesser_mse_n"]
    return [*score_limits(people, repeated, agent=agent).values(), guesser]


def _write(run: Run, name: str, config: StudyConfig, arrays: Mapping[str, np.ndarray]) -> None:
    names = {"encoders": np.array(config.encoders), "rules": np.array(config.rules)}
    write_npz(run.folder / f"{name}.npz", {**names, **arrays})


def _keep(run: Run, scores: list[Score], seconds: Mapping[str, float] | None = None) -> Scores:
    table = Scores.collect(scores)
    run.save(table)
    if seconds is not None:
        write_json(run.folder / "cpu_seconds.json", {part: round(spent, 1) for part, spent in seconds.items()})
    return table
