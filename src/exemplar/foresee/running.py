"""From a request to scored tasks, the verb `run`: features read or encoded, tasks drawn, done and measured."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exemplar import engine
from exemplar.answers import Answer, format_table
from exemplar.errors import UserError, unknown
from exemplar.files import write_npz
from exemplar.foresee.agents import DEFAULT, find_agent
from exemplar.foresee.banks import FeatureBank, encode_bank, find_bank
from exemplar.foresee.evaluating import Evaluated, Recipe, evaluate_tasks
from exemplar.foresee.figures.run_page import FIGURE, PAGE, write_run_page
from exemplar.foresee.graphs import VARIANTS, GraphConfig
from exemplar.foresee.indicators import WARNED, chosen_measures, sees_scored
from exemplar.foresee.scores import Correlations, score_measures
from exemplar.foresee.tasks import TaskConfig, usable_classes
from exemplar.foresee.user_agents import find_answering
from exemplar.records import Scores
from exemplar.report.how_made import how_made
from exemplar.report.page import figures_folder
from exemplar.runs import Run, check_run, open_run

TASKS = "tasks.npz"  # every task: classes, performance and measures


@dataclass(frozen=True, eq=False)
class BankRequest:
    """Where features come from: a file or arrays, or a data set encoded in a space."""

    features: Any = None
    space: Any = None
    data: Any = None
    split: str | None = None

    def find(self, device: str) -> FeatureBank:
        if self.features is None and self.space is None and self.data is None:
            raise UserError("Give --features FILE.npz, or --space NAME with --data NAME.")
        if self.features is not None:
            if (self.space, self.data, self.split) != (None, None, None):
                raise UserError(
                    "--space, --data and --split go together, instead of --features: give one or the other."
                )
            return find_bank(self.features)
        if self.space is None or self.data is None:
            raise UserError("--space and --data go together: say in which space, and whose images.")
        return encode_bank(self.space, self.data, self.split, device=device)

    def config(self) -> dict[str, Any]:
        named = {name: value for name, value in vars(self).items() if value is not None}
        return {
            name: str(value) if isinstance(value, str | Path) else "given as an object" for name, value in named.items()
        }


@dataclass(frozen=True, eq=False)
class RunRequest:
    """What is asked of `run`."""

    bank: BankRequest
    task: TaskConfig
    n_tasks: int
    agent: Any
    measures: tuple[str, ...]
    neighbours: int | None
    variant: str

    @property
    def graph(self) -> GraphConfig:
        if self.variant not in VARIANTS:
            raise unknown("variant", self.variant, VARIANTS)
        graph = VARIANTS[self.variant]
        return graph if self.neighbours is None else replace(graph, neighbours=self.neighbours)

    def recipe(self) -> Recipe:
        named = isinstance(self.agent, str) and ":" not in self.agent
        if named:
            find_agent(self.agent, self.task.setting)  # says what is wrong with it before anything long begins
        names = chosen_measures(self.measures or ("paper",), self.task.setting, self.task.shots)
        return Recipe(self.agent if named else "", names, self.graph)

    def config(self) -> dict[str, Any]:
        asked = dict(vars(self)) | {"bank": self.bank.config(), "agent": self.agent_name}
        return asked | {"graph": self.graph}

    @property
    def agent_name(self) -> str:
        if self.agent is None or self.agent == "":
            return DEFAULT[self.task.setting]
        return self.agent if isinstance(self.agent, str) else getattr(self.agent, "__name__", type(self.agent).__name__)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunAnswer(Answer):
    """The answer of `run`. tasks: every task's performance and measures."""

    scores: Scores
    tasks: Evaluated


def run_tasks(request: RunRequest, *, out: Path | str | None, device: str, seed: int) -> RunAnswer:
    """Everything that is wrong with a request is said before anything long begins."""
    folder = None if out is None else Path(out).expanduser()
    recipe = request.recipe()
    about: dict[str, Any] = {
        "command": "foresee run",
        "config": request.config(),
        "seed": seed,
        "variant": request.variant,
    }
    if folder is not None:
        check_run(folder, **about)
    answer = None if recipe.agent or request.agent in (None, "") else find_answering(request.agent, request.task)
    bank = request.bank.find(device)
    usable = usable_classes(bank.counts, request.task)
    with nullcontext() if folder is None else open_run(folder, **about, data={"features": bank.fingerprint}) as run:
        with engine.one_thread():
            evaluate_tasks(
                bank, request.task, 2, recipe, seed=seed, device=device, answer=answer
            )  # compiles what is timed
            start = time.process_time()
            found = evaluate_tasks(bank, request.task, request.n_tasks, recipe, seed=seed, device=device, answer=answer)
            seconds = time.process_time() - start
        scored = score_measures(found, agent=request.agent_name, variant=request.variant)
        warnings = (*bank.warnings, *find_warnings(request, bank, scored, len(usable)))
        if run is not None and not run.finished:
            _write_folder(run, found, scored, warnings)
    return _answer(request, bank, found, scored, warnings, seconds, folder, out, seed)


def find_warnings(request: RunRequest, bank: FeatureBank, scored: Correlations, n_usable: int) -> list[str]:
    said = [f"{name} is left out: {why}." for name, why in scored.left_out.items()]
    said += [sentence for name, sentence in WARNED.items() if name in scored.pearson]
    if n_usable < bank.n_classes:
        said.append(
            f"{bank.n_classes - n_usable} of {bank.n_classes} classes have fewer than {request.task.n_needed} samples "
            "and are not used."
        )
    n_samples = request.task.ways * (request.task.shots + (request.task.setting != "supervised") * request.task.queries)
    if request.graph.neighbours >= n_samples:
        said.append(
            f"A graph of {n_samples} samples has no {request.graph.neighbours} neighbours: each is linked to all others."
        )
    if scored.over == "classes" and 2 * request.task.ways >= n_usable:
        said.append(
            f"Tasks of {request.task.ways} out of {n_usable} classes share most of them: intervals are too narrow."
        )
    if scored.over == "tasks":
        said.append(
            "There are too few classes for intervals over classes: they are over tasks, and too narrow for other classes."
        )
    return said


def _write_folder(run: Run, found: Evaluated, scored: Correlations, warnings: tuple[str, ...]) -> None:
    write_npz(run.folder / TASKS, found.arrays())
    run.save(Scores.collect(scored.scores))
    write_run_page(run.folder, found, scored, warnings, how_made([run.folder]))


def as_values(scored: Correlations, setting: str) -> dict[str, Any]:
    """Performance, and each measure's Pearson correlation with Spearman's beside it, as JSON has them."""
    correlation = {
        name: {
            **score.json(),
            "spearman": scored.spearman[name].json(),
            "sees_scored_queries": sees_scored(name, setting),
        }
        for name, score in scored.pearson.items()
    }
    return {
        scored.performance.name: scored.performance.json(),
        "correlation": correlation,
        "noise_ceiling": scored.ceiling,
    }


def _answer(
    request: RunRequest, bank: FeatureBank, found: Evaluated, scored: Correlations, warnings: tuple[str, ...], seconds: float,
    folder: Path | None, out: Path | str | None, seed: int,
) -> RunAnswer:  # fmt: skip
    values: dict[str, Any] = as_values(scored, request.task.setting) | {
        "cpu_seconds": seconds,
        "agent": request.agent_name,
    }
    values |= {**vars(request.task), "tasks": request.n_tasks, "variant": request.variant, "seed": seed}
    values |= {"features": bank.source, "classes": bank.n_classes}
    values |= {"intervals_over": scored.over, "left_out": scored.left_out}
    rows = [
        (name, f"{score.value:+.3f}", f"[{score.ci95[0]:+.3f}, {score.ci95[1]:+.3f}]", f"{scored.spearman[name].value:+.3f}",
         "yes" if sees_scored(name, request.task.setting) else "no")
        for name, score in scored.pearson.items()
    ]  # fmt: skip
    mean, bound = scored.performance, ""
    if scored.ceiling is not None:
        bound = f"Noise ceiling of a measure that does not see the scored samples: {scored.ceiling:.3f}. "
    text = (
        f"Features: {bank.source}, {bank.n_classes} classes.\n"
        f"{mean.name.replace('_', ' ')} of {request.agent_name}: {mean.value:.4f} [{mean.ci95[0]:.4f}, "
        f"{mean.ci95[1]:.4f}] over {mean.n:,} tasks\n\n"
        + format_table(("measure", "Pearson", f"95 % over {scored.over}", "Spearman", "sees the scored samples"), rows)
        + f"\n\n{bound}{seconds:.2f} CPU seconds."
    )
    if out is not None:
        values["out"], text = str(out), f"{text} Kept in {out}."
    return RunAnswer(
        values=values,
        text=text,
        scores=Scores.collect(scored.scores),
        warnings=warnings,
        folder=folder,
        page=None if folder is None else folder / PAGE,
        figures={} if folder is None else {FIGURE: figures_folder(folder / PAGE) / f"{FIGURE}.svg"},
        tasks=found,
    )
