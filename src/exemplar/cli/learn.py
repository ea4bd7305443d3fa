"""exemplar learn: objects learned from right and wrong, one choice at a time, by people and by plasticity rules."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exemplar.cli.output import Json, Seed, answer, table
from exemplar.cli.tour import Address, Engine, Workers

if TYPE_CHECKING:
    from exemplar.learn.features import Features
    from exemplar.learn.running import RunConfig

app = typer.Typer(
    help="Learn from right and wrong: people and plasticity rules on novel objects.", no_args_is_help=True
)

Variant = Annotated[str, typer.Option("--variant", help="paper, or hobj where the authors' library differs from it.")]
Experiment = Annotated[
    int, typer.Option("--experiment", min=1, max=2, help="1: ever new views; 2: one view, then others.")
]
WhichExperiment = Annotated[
    int | None, typer.Option("--experiment", min=1, max=2, help="1 or 2, where the data have both; 1 unless given.")
]
Metadata = Annotated[
    Path | None, typer.Option("--images", help="For Trials of Experiment 2: the folder with the images' metadata.")
]
OtherImages = Annotated[
    bool, typer.Option("--other-images", help="Compare although the two saw other images; the result says so.")
]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder to write; nothing is written unless given.")]


@app.command()
def objects(
    out: Annotated[Path, typer.Option("--out", help="A new folder (PNGs, public layout), or something.npz.")] = Path(
        "objects"
    ),
    experiment: Experiment = 1,
    number: Annotated[
        int | None, typer.Option("--objects", min=2, help="How many, an even number; 128 (64 in Experiment 2).")
    ] = None,
    views: Annotated[
        int | None, typer.Option("--views", min=1, help="Of each object; 100. Experiment 2 always has 61.")
    ] = None,
    size: Annotated[int, typer.Option("--size", help="px a side.")] = 256,
    backgrounds: Annotated[
        Path | None, typer.Option("--backgrounds", help="A folder of photographs, instead of 1/f fields.")
    ] = None,
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    json: Json = False,
) -> None:
    """Draw the built-in objects, for an encoder of your own: images, their names and poses, and a sheet to look at."""
    from exemplar.cli.learn_output import some_views
    from exemplar.engine import backend
    from exemplar.images.objects import ObjectsConfig
    from exemplar.learn.exports import write_objects
    from exemplar.report.sheets import write_sheet

    config = ObjectsConfig(number, views, size, backgrounds, seed)
    stimuli = write_objects(out, experiment, config, backend=backend(engine, workers, address))
    n_subtasks, n_objects, n_images = stimuli.shape
    sheet = out.with_name(f"{out.stem}-sheet.png") if out.suffix == ".npz" else out / "sheet.png"
    write_sheet(sheet, *some_views(stimuli, experiment), drawn=False)
    result = {
        "out": str(out),
        "sheet": str(sheet),
        "experiment": experiment,
        "subtasks": n_subtasks,
        "objects": n_subtasks * n_objects,
        "images": len(stimuli.pictures),
        "warmup_images": len(stimuli.warmup),
        "fingerprint": stimuli.pictures.fingerprint,
        "seed": seed,
    }
    text = (
        f"{out}: {n_subtasks} subtasks, {n_subtasks * n_objects} objects with {n_images} images each, and "
        f"{len(stimuli.warmup)} warm-up images. Look at {sheet}."
    )
    answer(result, as_json=json, text=text)


@app.command()
def human(
    folder: Annotated[
        Path | None,
        typer.Argument(help="The public files (with data/behavior), or counts; default: the counts at hand."),
    ] = None,
    variant: Variant = "paper",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """How people learned 64 pairs of objects, and from one view: accuracies, speed, noise floor, what guessing scores."""
    from exemplar import seeds
    from exemplar.cli.learn_output import verdict_json, verdict_text
    from exemplar.errors import UserError, unknown
    from exemplar.learn.benchmark import score_people, score_points
    from exemplar.learn.measures.curves import Behaviour, Curves
    from exemplar.learn.measures.oneshot import Generalization, Points
    from exemplar.learn.outcomes import has_experiment, load_outcome
    from exemplar.learn.tasks import VARIANTS

    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    people = load_outcome(folder, experiment=1).result
    if not isinstance(people, Behaviour | Curves):
        raise UserError(f"{folder} has no learning curves: give a folder with Experiment 1")
    verdict = score_people(people, variant=variant, seed=seed)
    about: dict[str, Any] = {"subtasks": len(people.subtasks), "trials": people.n_trials}
    about |= {"sessions": int(people.n_sessions.sum()), "resampled": "trials"}
    if isinstance(people, Behaviour):
        about |= {"resampled": "sessions", "participants": len(set(people.participant.tolist()))}
    if has_experiment(folder, 2):
        second = load_outcome(folder, experiment=2).result
        if isinstance(second, Generalization | Points):
            accuracy, floor = score_points(second, rng=seeds.rng("learn human", "one-shot", seed))
            verdict.scores["one_shot_accuracy"], verdict.scores["one_shot_root_noise_floor"] = accuracy, floor
    result = {**verdict_json(verdict), **about, "variant": variant, "seed": seed}
    head = f"{about['sessions']:,} sessions of {about['subtasks']} subtasks\n\n"
    answer(result, as_json=json, text=head + verdict_text(verdict))


@app.command()
def run(
    features: Annotated[
        Path | None,
        typer.Option(
            "--features", help="npz: `features` (subtasks, 2, images, d); also `warmup`, `subtask`, `image`, `test`."
        ),
    ] = None,
    stage: Annotated[str | None, typer.Option("--stage", help="Instead: efficientnet-lite0/block03 and so on.")] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="With --stage: images in the public layout, not the built-in ones.")
    ] = None,
    subtasks: Annotated[
        int | None, typer.Option("--subtasks", min=1, help="Of the built-in objects, the first.")
    ] = None,
    views: Annotated[int | None, typer.Option("--views", min=1, help="Of each built-in object; 100.")] = None,
    choices: Annotated[
        int, typer.Option("--choices", min=2, help="Built-in objects of a subtask, one a key; 2 as published.")
    ] = 2,
    experiment: Experiment = 1,
    rule: Annotated[str, typer.Option("--rule", help="A plasticity rule, prototype, or random-guesser.")] = "square",
    agent: Annotated[
        str | None, typer.Option("--agent", help="Instead: your own, file.py:Class with reset, choose and feedback.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", help="Learning rate of the rule.")] = 1.0,
    sessions: Annotated[int, typer.Option("--sessions", min=2, help="Simulated sessions of each subtask.")] = 500,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials of a session of Experiment 1.")] = 100,
    variant: Variant = "paper",
    out: Out = None,
    records: Annotated[
        bool, typer.Option("--records", help="Also keep every trial (Trials; 9 MB for 3.2 million).")
    ] = False,
    device: Annotated[str, typer.Option("--device", help="For --stage: auto, cpu, cuda or cuda:N.")] = "auto",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Let a learner do an experiment, on your own encoder's features or a pretrained stage, and say how well and how fast.

    Features are centred and scaled by `warmup`; without, they must lie in the ball of radius 1, or are scaled by themselves.
    """
    from exemplar.cli.learn_output import score_table, write_run
    from exemplar.errors import UserError
    from exemplar.learn.running import RunConfig, load_agent, run_learner
    from exemplar.runs import check_run, open_run
    from exemplar.seeds import digest

    if records and out is None:
        raise UserError("--records keeps trials in a run folder: name it with --out")
    config = RunConfig(experiment, rule, agent, rate, sessions, trials, variant)
    asked = {**vars(config), "features": features, "stage": stage, "images": images, "records": records}
    about: dict[str, Any] = {"command": "learn run", "config": asked, "seed": seed, "variant": variant}
    if out is not None:
        check_run(out, **about)
    if agent is not None:
        load_agent(agent)  # says what is wrong with it, before images are encoded for an hour
    seen = _features(features, stage, images, (subtasks, views, choices), config, device)
    if records and (seen.image is None or seen.subtasks is None):
        raise UserError(
            "--records needs names of subtasks and images: put the arrays `subtask` and `image` beside `features`"
        )
    data = {"features": digest(seen.images, seen.warmup)}
    with nullcontext() if out is None else open_run(out, **about, data=data) as kept:
        done = run_learner(config, seen, seed=seed)
        if kept is not None and not kept.finished:
            write_run(kept, config, seen, done, records=records)
    result: dict[str, Any] = {name: score.json() for name, score in done.scores.items()}
    result |= {"cpu_seconds": done.seconds[1], "cpu_seconds_simulation": done.seconds[0], "rule": config.name}
    n_subtasks, _, n_trials = done.sessions.shape
    result |= {"experiment": experiment, "subtasks": n_subtasks, "sessions": sessions, "trials": n_trials}
    result |= {"scaled_by": done.scaled_by, "variant": variant, "seed": seed}
    if done.repeated is not None:
        result["curve"] = done.repeated.curves.accuracy.mean(axis=0).round(6).tolist()
    text = score_table(done.scores) + f"\n\n{done.seconds[1]:.2f} CPU seconds; features scaled by {done.scaled_by}."
    if out is not None:
        result["out"], text = str(out), f"{text} Kept in {out}."
    answer(result, as_json=json, text=text)


@app.command()
def score(
    record: Annotated[Path, typer.Argument(help="A run's folder, a Trials file, or the public files.")],
    people: Annotated[
        Path | None, typer.Option("--people", help="Against whom, likewise; default: people's counts at hand.")
    ] = None,
    experiment: WhichExperiment = None,
    images: Metadata = None,
    catch: Annotated[
        bool, typer.Option("--catch", help="Correct Trials of Experiment 2 by their catch trials, as people's are.")
    ] = False,
    other_images: OtherImages = False,
    out: Out = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """A learner against people: MSE_n with noise floor and null test, lapse rate, accuracies, consistency, early and late."""
    from exemplar.cli.learn_output import verdict_json, verdict_text, write_verdict
    from exemplar.learn.benchmark import judge
    from exemplar.learn.outcomes import load_outcome
    from exemplar.runs import check_run

    about = {"record": record, "people": people, "other_images": other_images}
    if out is not None:
        check_run(out, command="learn score", config=about, seed=seed)
    model = load_outcome(record, experiment=experiment, images=images, catch=catch)
    theirs = load_outcome(people, experiment=model.experiment, images=images)
    verdict = judge(model, theirs, other_images=other_images, seed=seed)
    result = {**verdict_json(verdict), "experiment": model.experiment, "agent": model.agent, "seed": seed}
    if out is not None:
        write_verdict(out, "learn score", verdict, (model, theirs), about=about, seed=seed)
        result["out"] = str(out)
    answer(result, as_json=json, text=verdict_text(verdict))


@app.command()
def study(
    out: Annotated[Path, typer.Option("--out", help="The run folder; a study that was stopped goes on there.")] = Path(
        "runs/learn-study"
    ),
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", help="pixels, a stage, or a network for all its stages; all unless given."),
    ] = None,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="A plasticity rule; all seven unless given.")] = None,
    truth: Annotated[
        str | None, typer.Option("--truth", help="The encoder of the simulated participants; one of those compared.")
    ] = None,
    subtasks: Annotated[int, typer.Option("--subtasks", min=4, max=64, help="Of Experiment 1.")] = 64,
    one_shot: Annotated[int, typer.Option("--one-shot", min=2, max=32, help="Subtasks of Experiment 2.")] = 32,
    trials: Annotated[int, typer.Option("--trials", min=10, help="Of a session of Experiment 1.")] = 100,
    sessions: Annotated[int, typer.Option("--sessions", min=2, help="Of each model in each subtask.")] = 500,
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    json: Json = False,
) -> None:
    """Encoders × rules on built-in objects, both experiments, against SIMULATED participants; which encoder is found again."""
    from exemplar.cli.learn_output import study_config
    from exemplar.engine import backend
    from exemplar.learn.figures.study import write_figures
    from exemplar.learn.studies.encoder_rules import study as run_study
    from exemplar.runs import load_scores

    sizes = {"n_subtasks": subtasks, "n_one_shot": one_shot, "n_trials": trials, "n_sessions": sessions}
    config = study_config(encoder, rule, truth, sizes)
    folder = run_study(out, config, seed=seed, backend=backend(engine, workers, address))
    figures = write_figures(folder)
    scores = load_scores(folder)
    names = ("agent", "concept", "space", "variant")
    rows = [(s.name, ", ".join(filter(None, (getattr(s, key) for key in names))), f"{s.value:.4f}",
             f"[{s.ci95[0]:.4f}, {s.ci95[1]:.4f}]", s.n) for s in scores]  # fmt: skip
    found = [{"name": s.name, **{key: getattr(s, key) for key in names}, **s.json()} for s in scores]
    result = {
        "out": str(folder),
        "encoders": len(config.encoders),
        "rules": len(config.rules),
        "participants": "simulated",
    }
    result |= {"scores": found, "figures": [str(path) for path in figures], "seed": seed}
    head = f"{len(config.encoders)} encoders × {len(config.rules)} rules; participants are simulated. Figures: {folder}.\n\n"
    answer(result, as_json=json, text=head + table(("score", "who", "value", "95 %", "n"), rows))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A run's folder, a Trials file, or the public files.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    experiment: WhichExperiment = None,
    images: Metadata = None,
    catch: Annotated[
        bool,
        typer.Option("--catch/--no-catch", help="Whether to correct Trials of Experiment 2 by their catch trials."),
    ] = True,
    other_images: OtherImages = False,
    out: Out = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Two populations (in the lab and online) or two models: where they differ, with tests of no difference."""
    from exemplar.cli.learn_output import verdict_json, verdict_text, write_verdict
    from exemplar.learn.comparing import compare as compare_outcomes
    from exemplar.learn.outcomes import load_outcome
    from exemplar.runs import check_run

    about = {"first": first, "second": second, "other_images": other_images}
    if out is not None:
        check_run(out, command="learn compare", config=about, seed=seed)
    one, other = (load_outcome(path, experiment=experiment, images=images, catch=catch) for path in (first, second))
    verdict = compare_outcomes(one, other, other_images=other_images, seed=seed)
    result = {**verdict_json(verdict), "first": str(first), "second": str(second), "seed": seed}
    if out is not None:
        write_verdict(out, "learn compare", verdict, (one, other), about=about, seed=seed)
        result["out"] = str(out)
    answer(result, as_json=json, text=verdict_text(verdict))


def _features(
    features: Path | None,
    stage: str | None,
    images: Path | None,
    built_in: tuple[int | None, int | None, int],
    config: RunConfig,
    device: str,
) -> Features:
    """From a file, or from a stage that sees given images or built-in ones (of so many subtasks, views and choices)."""
    from exemplar.errors import UserError
    from exemplar.learn.features import load_features

    if (features is None) == (stage is None):
        raise UserError("give either --features FILE.npz or --stage NETWORK/LAYER")
    if features is not None:
        if images is not None or built_in != (None, None, 2):
            raise UserError(
                "--images, --subtasks, --views and --choices go with --stage: features are of images you chose yourself"
            )
        return load_features(features)
    from exemplar.images.objects import ObjectsConfig
    from exemplar.learn.running import make_task
    from exemplar.learn.stage_features import check_stage, encode_stimuli
    from exemplar.learn.stimuli import built_in_stimuli, public_stimuli

    if images is None:
        subtasks, views, choices = built_in
        objects = ObjectsConfig(choices * subtasks if subtasks else None, views)
        stimuli = built_in_stimuli(config.experiment, objects, n_objects=choices)
    elif built_in != (None, None, 2):
        raise UserError("--subtasks, --views and --choices are for built-in objects: leave them out with --images")
    else:
        stimuli = public_stimuli(images, config.experiment)
    _, n_objects, n_images = stimuli.shape
    make_task(config, n_images, n_objects)  # says if there are too few images, before they are encoded
    check_stage(str(stage), device)
    n = len(stimuli.pictures) + len(stimuli.warmup)
    typer.echo(f"{stage}: {n:,} images, whose features are kept for the next time …", err=True)
    return encode_stimuli(str(stage), stimuli, device=device)
