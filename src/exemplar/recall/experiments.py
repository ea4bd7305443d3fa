"""From a request to a scored run, the verb `run`: tasks made or read, the learner shown them all, everything in a folder."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exemplar import engine
from exemplar.answers import Answer, by_name, format_pairs, format_scores
from exemplar.errors import UserError, shortened
from exemplar.recall.agents.registry import find_entry
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.inputs import DataSource, check_fits, check_seen, check_trained, choose_space, encode_first
from exemplar.recall.meters.costs import Costs, TrainingCosts, measure_costs, measure_training
from exemplar.recall.outcomes import Outcome, load_outcome
from exemplar.recall.run_folders import COSTS, FORGETTING, PAGE, SUITE, write_run
from exemplar.recall.running import StreamJob, StreamOptions, do_tasks, gather, make_jobs, show_tasks, task_images
from exemplar.recall.scores import score_outcome
from exemplar.recall.strict import LearnerFailed, StrictHost
from exemplar.recall.suites import Suite, load_suite, make_suite
from exemplar.recall.task_verbs import check_usable, find_shape, frozen_name
from exemplar.records import Scores
from exemplar.report.page import figures_folder
from exemplar.runs import Run, check_run, describe_run, open_run, read_json
from exemplar.user_code import is_named, name_of


@dataclass(frozen=True, eq=False)
class RunRequest:
    """What is asked of `run`. kind: a task type; changes: its numbers that were given; suite: a file instead; n: tasks."""

    agent: Any
    source: DataSource
    space: str | None
    kind: str | None
    changes: dict[str, Any]
    suite: Path | str | None
    n: int
    options: StreamOptions
    strict: bool | None
    allow_seen: bool

    @property
    def name(self) -> str:
        if isinstance(self.agent, str):
            return self.agent
        return name_of(self.agent if isinstance(self.agent, type) else type(self.agent))

    def config(self) -> dict[str, Any]:
        """For config.json."""
        asked = {key: value for key, value in vars(self).items() if key not in ("agent", "options")}
        return {**asked, "agent": self.name, **vars(self.options)}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything a run needs, checked. notes: what was chosen automatically; warnings: a sentence each."""

    agent: AgentSource
    source: DataSource
    suite: Suite
    options: StreamOptions
    kind: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunAnswer(Answer):
    """The answer of `run`. outcome: what the learner did, for `compare`."""

    scores: Scores
    outcome: Outcome


def prepare(request: RunRequest, seed: int) -> Prepared:
    """Everything that is wrong with a request is said here, before anything long begins."""
    own = not isinstance(request.agent, str) or is_named(request.agent)
    if not own:
        find_entry(request.name)
    data = request.source.load()
    suite, kind = _find_suite(request, seed)
    shape = request.source.image_shape
    space, note = ("", "") if own else choose_space(request.name, request.space, request.source)
    if not own:
        check_trained(request.name, space)
    if own and request.space is not None:
        raise UserError("an agent of your own brings its own network: leave --space out")
    given = None if isinstance(request.agent, str) else request.agent
    agent = AgentSource(request.name, space, shape, given)
    warnings = check_seen(space, request.source, allow_seen=request.allow_seen)
    check_fits(agent, request.source)
    strict = request.strict if request.strict is not None else own and given is None
    joint = request.options.joint or agent.is_joint
    # shown everything at once, there is no "right after its own set"
    options = replace(request.options, strict=strict, joint=joint, history=request.options.history and not joint)
    if strict:  # the user's code is in no process but its own
        with StrictHost(agent.plain(), agent.name) as host:
            try:
                host.snapshot(suite.shape.n_labels, (seed, "try"))
            except LearnerFailed as problem:
                raise UserError(f"{agent.name} failed before any task: {problem}") from problem
            if host.read:
                warnings += (f"{agent.name} read files when it was made: {shortened(host.read)}.",)
            if not host.closed:
                warnings += (
                    "This machine has no filter for system calls (Linux x86-64 has): native code is not watched.",
                )
    else:
        agent.make().reset(suite.shape.n_labels, _rng())
    if own and not strict:
        warnings += (
            f"{agent.name} was not run in the strict mode: nothing keeps its module or class from remembering sets.",
        )
    notes = [note, f"{len(suite)} tasks of {kind or 'a suite of your own'} on {data.name}."]
    return Prepared(agent, request.source, suite, options, kind, tuple(filter(None, notes)), warnings)


def _rng() -> Any:
    from exemplar import seeds

    return seeds.rng("recall", "try")


def _find_suite(request: RunRequest, seed: int) -> tuple[Suite, str]:
    data = request.source.load()
    if request.suite is None:
        kind = request.kind or "new-classes"
        suite, _ = make_suite(data, find_shape(kind, request.changes), request.n, seed)
        changed = any(value is not None for value in request.changes.values())
        return suite, f"{kind}, changed" if changed else kind
    if request.kind is not None or any(value is not None for value in request.changes.values()):
        raise UserError("--suite brings its own tasks: leave --type and the numbers of tasks out")
    suite = load_suite(request.suite)
    check_usable(suite, data)
    return suite, frozen_name(suite)


def run_agent(request: RunRequest, *, out: Path | str | None, seed: int, backend: engine.Backend) -> RunAnswer:
    folder = None if out is None else Path(out).expanduser()
    about: dict[str, Any] = {"command": "recall run", "config": request.config(), "seed": seed}
    if folder is not None:
        check_run(folder, **about)
    ready = prepare(request, seed)
    data = {ready.suite.data: ready.suite.fingerprint, "suite": ready.suite.digest}
    if ready.agent.is_own:
        data["agent"] = ready.agent.fingerprint()
    with (
        nullcontext()
        if folder is None
        else open_run(folder, **about, data=data, backend=backend, keep="jobs.sqlite") as run
    ):
        if run is not None and run.finished:
            done = load_outcome(run.folder, ready.suite.target.shape, ready.suite.target_label - ready.suite.first_label,
                                ready.suite.target)  # fmt: skip
            kept = read_json(run.folder / COSTS)
            return _answer(request, ready, done, kept["costs"], kept["training"], folder, seed)
        done = stream_suite(ready, run, seed, backend)
        costs, training = find_costs(ready, seed)
        answer = _answer(request, ready, done, costs.json(), None if training is None else vars(training), folder, seed)
        if run is not None:
            write_run(run, ready, done, list(answer.scores), costs, training, answer.warnings)
    return answer


def stream_suite(ready: Prepared, run: Run | None, seed: int, backend: engine.Backend | None) -> Outcome:
    """Every task of the suite."""
    encode_first(ready.agent, ready.source)
    jobs = make_jobs(ready.agent, ready.source, ready.suite, ready.options, seed)
    if ready.agent.given is not None:
        parts = [show_tasks(job, ready.agent) for job in jobs]
    elif run is not None:
        parts = run.map(do_tasks, jobs, label=f"{ready.agent.name}: tasks")
    else:
        parts = engine.map(do_tasks, jobs, label=f"{ready.agent.name}: tasks", backend=backend)
    return gather(parts, ready.suite, ready.agent.name)


def find_costs(ready: Prepared, seed: int) -> tuple[Costs, TrainingCosts | None]:
    """Of the first task that the learner does without failing."""
    job: StreamJob = make_jobs(ready.agent, ready.source, ready.suite, ready.options, seed)[0]
    last: Exception | None = None
    for k in range(min(len(job.number), 10)):
        task = task_images(job, k, features=ready.agent.takes_features)
        try:
            shown = task.joint() if ready.options.joint else task
            if ready.options.strict:
                with StrictHost(ready.agent.plain(), ready.agent.name) as host:
                    costs = host.costs(shown)
            else:
                costs = measure_costs(ready.agent, shown)
            return costs, measure_training(ready.agent.space) if ready.agent.space else None
        except UserError:
            raise
        except Exception as problem:  # it fails in some tasks, as the run has said
            last = problem
    raise UserError(f"the cost of {ready.agent.name} cannot be measured, it failed in 10 tasks ({last}): fix it")


def _answer(
    request: RunRequest, ready: Prepared, done: Outcome, costs: dict[str, Any], training: dict[str, Any] | None,
    folder: Path | None, seed: int,
) -> RunAnswer:  # fmt: skip
    scores = score_outcome(done, variant=ready.kind, space=ready.agent.space)
    shape = ready.suite.shape
    values: dict[str, Any] = by_name(score for score in scores if not score.concept)
    values["accuracy_of_set"] = [score.json() for score in scores if score.concept]
    values |= {
        "costs": costs,
        "training_step": training,
        "transductive": done.transductive,
        "failed_tasks": len(done.failures),
    }
    values |= {
        "agent": ready.agent.name,
        "space": ready.agent.space,
        "data": ready.suite.data,
        "type": ready.kind,
        **vars(shape),
    }
    values |= {"tasks": len(ready.suite), "sha256": ready.suite.digest, "frozen": frozen_name(ready.suite), "ddof": 1}
    values |= {"strict": ready.options.strict, "joint": ready.options.joint, "seed": seed}
    warnings = list(ready.warnings)
    if done.failures:
        warnings.append(
            f"{len(done.failures)} of {len(ready.suite)} tasks failed and count as wrong, first {done.failures[0]}."
        )
    if done.transductive:
        warnings.append(f"{ready.agent.name} is transductive: a target's prediction depends on the targets beside it.")
    if ready.options.joint:
        warnings.append(f"{ready.agent.name} was shown all support sets at once: it is a bound, no continual learner.")
    if ready.agent.is_own and not costs["macs_task"]:
        warnings.append(f"torch saw no multiply-accumulates of {ready.agent.name}: arithmetic in NumPy is not counted.")
    if costs["unknown"]:
        warnings.append(f"MACs leave out operators without a formula: {', '.join(costs['unknown'])}.")
    gmacs = {"MACs of a task": f"{costs['macs_task'] / 1e6:,.1f} million", "NSS": shape.nss,
             "peak memory": f"{costs['peak_bytes'] / 1e6:.1f} MB"}  # fmt: skip
    text = "\n".join([*ready.notes, "", format_scores(scores), "", format_pairs(gmacs)])
    page = None if folder is None else folder / PAGE
    if folder is not None:
        values["out"], text = str(folder), f"{text}\n\nKept in {folder}; its page is {page}."
    return RunAnswer(
        values=values, text=text, scores=Scores.collect(scores), warnings=tuple(warnings), folder=folder, outcome=done,
        page=page, figures={} if page is None else {FORGETTING: figures_folder(page) / f"{FORGETTING}.svg"},
    )  # fmt: skip


def read_run(folder: Path | str) -> tuple[Outcome, Suite, dict[str, Any]]:
    """The outcome, suite and description of a finished run."""
    place = Path(folder).expanduser()
    about = describe_run(place)
    if about["command"] != "recall run" or about["provenance"].get("state") != "finished":
        raise UserError(f"{place} is no finished run of `exemplar recall run`: run it first, with --out")
    suite = load_suite(place / SUITE)
    return load_outcome(place, suite.target.shape, suite.target_label - suite.first_label, suite.target), suite, about
