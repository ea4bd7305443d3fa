"""exemplar draw: draw another one. Score drawings by anyone, and compare those who drew."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exemplar.cli import quickdraw_fs
from exemplar.cli.output import Json, Seed, answer, ends, pairs, table
from exemplar.cli.runs import score_row

if TYPE_CHECKING:
    from exemplar.draw.critics import Critics
    from exemplar.draw.measures.sides import ScoreConfig
    from exemplar.draw.tasks import DrawingTask
    from exemplar.images.concepts import ConceptSet
    from exemplar.records import Drawings, Score

app = typer.Typer(help="Draw another one: score drawings made after one exemplar.", no_args_is_help=True)
app.add_typer(quickdraw_fs.app, name="quickdraw-fs")

HUMAN = "human"
KEPT = "kept"  # the exemplars that QuickDraw-FS was built with
SPLITS = {"quickdraw": "test"}  # where the catalogue's own choice is one that critics have seen
WHO = (
    "Who drew: a folder with one sub-folder of images per concept, an npz of images and concept, a Drawings record, a run "
    "folder; a function, module:function or file.py:function; an agent whose scores are known, copies, others, noise, "
    "redraw or redraw@SPREAD; or human, the data's own drawings."
)
Split = Annotated[str | None, typer.Option("--split", help="Which part of the data; weak-test where there is one.")]
Exemplar = Annotated[
    str,
    typer.Option(
        "--exemplar",
        help="Which drawing is shown: centre (or centre:SPACE), drawer:NAME, random, or kept in an npz of QuickDraw-FS.",
    ),
]
Number = Annotated[
    int | None, typer.Option("--n", min=3, help="Drawings of each concept; as many as people made unless given.")
]
Agent = Annotated[str | None, typer.Option("--agent", help="What to call whoever drew, in tables and figures.")]
Invert = Annotated[bool, typer.Option("--invert", help="The drawings are dark ink on bright paper: turn them round.")]
Size = Annotated[int | None, typer.Option("--size", min=1, help="Read images at this many px, where they differ.")]
AllowSeen = Annotated[
    bool, typer.Option("--allow-seen", help="Let critics judge concepts they were trained on; the result says so.")
]
Normalise = Annotated[
    str,
    typer.Option(
        "--normalise",
        help="What features are divided by: sample, each drawing's own deviation, or people, the spread of all of theirs.",
    ),
]
See = Annotated[
    list[str] | None,
    typer.Option("--see", help="A space for diversity and originality, FOLDER/NAME for your own; may be repeated."),
]
Recognise = Annotated[
    list[str] | None, typer.Option("--recognise", help="A space for recognizability, likewise; may be repeated.")
]


@dataclass(frozen=True)
class Question:
    """What everyone is asked, and by whom judged. n: None for people's number; see, recognise: empty for the data's critics;
    training: what the agent was trained on, DATA or DATA/SPLIT, if copies of it are looked for; normalise: as in
    `ScoreConfig`."""

    data: str
    split: str | None = None
    exemplar: str = "centre"
    n: int | None = None
    seed: int = 0
    allow_seen: bool = False
    see: tuple[str, ...] = ()
    recognise: tuple[str, ...] = ()
    training: str | None = None
    normalise: str = "sample"

    @classmethod
    def of(cls, asked: dict[str, Any]) -> Question:
        """As a run's config.json has it."""
        from exemplar.errors import UserError

        if not isinstance(asked.get("data"), str) or not {field.name for field in fields(cls)}.issuperset(asked):
            raise UserError(
                "the first run folder does not say what was drawn: give --data, or score the drawings again"
            )
        return cls(**asked)

    def config(self) -> ScoreConfig:
        from exemplar.draw.measures.sides import ScoreConfig

        return ScoreConfig(normalise=self.normalise)

    def task(self) -> DrawingTask:
        from exemplar import seeds
        from exemplar.draw.drawings import FEWEST
        from exemplar.draw.scores import as_many_people
        from exemplar.draw.tasks import centre_of, make_task
        from exemplar.errors import UserError
        from exemplar.images.catalogue import load
        from exemplar.spaces.encoding import Watched
        from exemplar.spaces.zoo import load_space

        self.config()  # before anything long begins
        if self.exemplar == KEPT:
            from exemplar.draw.quickdraw_fs.build import load_task

            task = load_task(self.data, n=self.n)
            self.critics(task.data.name).count_seen(task.concepts, task.data.name)
            as_many_people(task, task.n)
            return task
        data = load(self.data, self.split or SPLITS.get(self.data))
        self.critics(data.name).count_seen(data.concepts, data.name)  # before anything long begins
        how, _, name = self.exemplar.partition(":")
        centred = how == "centre"
        task = make_task(
            data,
            exemplar=how if centred else self.exemplar,
            space=Watched(load_space(name or centre_of(data.name))) if centred else None,
            n=self.n,
            rng=seeds.rng("exemplars", self.seed),
        )
        if task.n < FEWEST:
            raise UserError(
                f"people made only {task.n} drawings of some concept of {data.name} besides the exemplar: say with --n how "
                "many to compare, and nothing is compared with people"
            )
        as_many_people(task, task.n)  # before anyone draws more than can be compared
        return task

    def critics(self, data_name: str) -> Critics:
        from exemplar.draw.critics import load_critics

        return load_critics(data_name, allow_seen=self.allow_seen, see=self.see, recognise=self.recognise)

    def training_images(self) -> ConceptSet | None:
        from exemplar.images.catalogue import CATALOGUE, load

        name, _, split = (self.training or "").partition("/")
        return load(name, split or None) if name in CATALOGUE else load(self.training) if self.training else None


@app.command()
def score(
    who: Annotated[str, typer.Argument(metavar="PATH", help=WHO)],
    data: Annotated[str, typer.Option("--data", help="What was drawn: a data set, a folder, or an npz.")],
    split: Split = None,
    exemplar: Exemplar = "centre",
    n: Number = None,
    agent: Agent = None,
    invert: Invert = False,
    size: Size = None,
    allow_seen: AllowSeen = False,
    see: See = None,
    recognise: Recognise = None,
    normalise: Normalise = "sample",
    training: Annotated[
        str | None,
        typer.Option(
            "--training", help="What the agent was trained on, such as omniglot/weak-train: are there copies of it?"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; one below runs/draw unless given.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """How diverse, recognizable and original drawings are, whoever made them, and how far from people's."""
    from exemplar.files import check_folder

    started = time.monotonic()
    if out is not None:
        check_folder(out)  # before anything long begins
    judges = tuple(see or ()), tuple(recognise or ())
    asked = Question(data, split, exemplar, n, seed, allow_seen, *judges, training, normalise)
    task = asked.task()
    drawings = find_drawings(who, task, agent=agent, invert=invert, size=size, seed=seed)
    folder, about = judge(drawings, task, asked, out)
    scores, warnings = read_scores(folder), about.pop("warnings")
    warn(warnings)
    result = {**about, **{s.name: s.json() for s in scores}, "warnings": warnings}
    result |= {"seconds": round(time.monotonic() - started, 2), "run": str(folder)}
    critics = {f"critics that {verb}": ", ".join(names) for verb, names in about["critics"].items()}
    facts = {key: value for key, value in about.items() if value not in (None, 0) and key != "critics"}
    rows = table(("score", "value", "95 %", "n"), [(s.name, *shown(s)) for s in scores])
    text = rows + "\n\n" + pairs({**facts, **critics, "run": folder})
    answer(result, as_json=json, text=text)


@app.command()
def compare(
    who: Annotated[
        list[str], typer.Argument(metavar="A B …", help=f"Run folders of `draw score`, or what it takes. {WHO}")
    ],
    html: Annotated[Path, typer.Option("--html", help="The page to write; figures go beside it.")] = Path(
        "comparison.html"
    ),
    data: Annotated[
        str | None, typer.Option("--data", help="What was drawn; that of the first run folder unless given.")
    ] = None,
    split: Split = None,
    exemplar: Exemplar = "centre",
    n: Number = None,
    invert: Invert = False,
    size: Size = None,
    allow_seen: AllowSeen = False,
    see: See = None,
    recognise: Recognise = None,
    normalise: Normalise = "sample",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """One page about several who drew: the plane, curves, concepts and sheets. People are added if they are not among them."""
    from exemplar.draw.drawings import stack
    from exemplar.draw.figures.comparison import write_comparison
    from exemplar.draw.scored_runs import describe_judged
    from exemplar.draw.scores import as_many_people
    from exemplar.draw.tasks import PEOPLE
    from exemplar.errors import UserError
    from exemplar.files import check_place

    started = time.monotonic()
    if html.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"the comparison is a page: call {html} something.html")
    check_place(html)
    if again := [name for name in who if who.count(name) > 1]:
        raise UserError(f"{again[0]} is given twice: give each once")
    scored = {name: Path(name) for name in who if (Path(name) / "judged.npz").is_file()}
    configs = [describe_judged(folder)["config"] for folder in scored.values()]
    judges = tuple(see or ()), tuple(recognise or ())
    asked = Question(data or "", split, exemplar, n, seed, allow_seen, *judges, normalise=normalise)
    if data is None:
        before: dict[str, Any] = next((config["asked"] for config in configs), {})
        if asked != Question("") or not before:
            raise UserError("say with --data what was drawn: only run folders know what was asked, and how")
        asked = Question.of(before)
    missing = [name for name in who if name not in scored]
    if HUMAN not in who and PEOPLE not in [config["agent"] for config in configs]:
        missing.append(HUMAN)
    warnings: list[str] = []
    if missing:
        task = asked.task()
        if (
            HUMAN not in who and as_many_people(task, task.n) is None
        ):  # too few drawings: nothing is compared with people
            missing = [name for name in missing if name != HUMAN]
        found = {name: find_drawings(name, task, invert=invert, size=size, seed=asked.seed) for name in missing}
        task = replace(task, n=min(stack(drawings, task).shape[1] for drawings in found.values()))
        for name, drawings in found.items():
            scored[name], about = judge(drawings, task, asked, None)
            warnings += [sentence for sentence in about["warnings"] if sentence not in warnings]
    names = [*who, *(name for name in missing if name not in who)]
    page = write_comparison(html, [scored[name] for name in names])
    warn(warnings)
    folders = {name: str(scored[name]) for name in names}
    seconds = round(time.monotonic() - started, 2)
    result = {"page": str(page), "runs": folders, "warnings": warnings, "seconds": seconds}
    answer(result, as_json=json, text=f"{page} compares {', '.join(names)}")


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="A study; a name that is none lists them.")],
    data: Annotated[str, typer.Option("--data", help="A data set, a folder, or an npz.")] = "glyphs",
    split: Split = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; one below runs/draw unless given.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """One of the room's experiments: its scores, records, figures and a page in a run folder."""
    from exemplar import runs
    from exemplar.cli.results import RESULTS
    from exemplar.draw.figures.study_page import write_study
    from exemplar.draw.studies.kept import OMNIGLOT, STUDIES
    from exemplar.errors import unknown
    from exemplar.images.catalogue import load

    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    about: dict[str, Any] = {"command": f"draw study {name}", "config": {"study": name}, "seed": seed}
    if out is not None:
        runs.check_run(out, **about)  # before data are fetched
    concepts = load(data, split or SPLITS.get(data))
    folder = out or Path("runs/draw") / f"{name}-{concepts.name.replace('/', '-')}-s{seed}"
    with runs.open_run(folder, **about, data={concepts.name: concepts.fingerprint}) as run:
        if not run.finished:
            run.save(STUDIES[name](run, seed, concepts))
    of_papers = concepts.name == "/".join(OMNIGLOT)  # what the papers say is about these concepts
    published = {key: value for result in RESULTS.values() for key, value in result.published.items() if of_papers}
    page = write_study(folder, published)
    scores = runs.load_scores(folder)
    rows = [(s.name, ", ".join(filter(None, (s.agent, s.concept, s.space, s.variant))), *shown(s)) for s in scores]
    found = [score_row(s) for s in scores]
    result = {
        "study": name,
        "data": concepts.name,
        "seed": seed,
        "scores": found,
        "run": str(folder),
        "page": str(page),
    }
    answer(result, as_json=json, text=table(("score", "who", "value", "95 %", "n"), rows) + f"\n\n{page}")


def find_drawings(
    who: str, task: DrawingTask, *, agent: str | None = None, invert: bool = False, size: int | None = None, seed: int
) -> Drawings:
    """The drawings somebody names on the command line, of every concept of the task. A known agent's name goes before a
    file's: write ./copies for a folder of that name."""
    from exemplar.draw.agents import AGENTS, make_agent
    from exemplar.draw.drawings import read_drawings, sample_drawings
    from exemplar.draw.tasks import PEOPLE, people
    from exemplar.errors import UserError, unknown

    if who == HUMAN:
        return people(task)
    if who.partition("@")[0] in AGENTS or (":" in who and not is_there(who)):
        name = agent or re.sub(r"(?:.*[/\\])?([^/\\]*)\.py:", r"\1:", who).replace(":", ".")
        return sample_drawings(make_agent(who, task), task, agent=name, seed=seed)
    if not is_there(who):
        if who == PEOPLE:
            raise UserError(f"there is no drawer '{who}': did you mean {HUMAN}, the data's own drawings?")
        raise unknown("drawer, file or folder", who, (HUMAN, *AGENTS))
    return read_drawings(who, task, agent=agent, invert=invert, size=size)


def is_there(path: str) -> bool:
    """Whether there is such a file or folder; what cannot be a path, since it is too long, say, is not."""
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError):  # RuntimeError: ~nobody has no home
        return False


def judge(drawings: Drawings, task: DrawingTask, asked: Question, out: Path | None) -> tuple[Path, dict[str, Any]]:
    """Score drawings into a run folder, unless they are there already; returns the folder, and what was asked of whom."""
    from exemplar.draw.drawings import doubts, stack
    from exemplar.draw.scoring import judge_drawings
    from exemplar.files import read_npz

    warnings = doubts(drawings, task)
    n = stack(drawings, task).shape[1]
    task = replace(task, n=n)
    critics, training, told = asked.critics(task.data.name), asked.training_images(), asdict(replace(asked, n=n))
    folder = judge_drawings(
        drawings, task, critics, asked.config(), training=training, asked=told, out=out, seed=asked.seed
    )
    notes = map(str, read_npz(folder / "judged.npz", notes=("U", 1))["notes"])
    data, _, split = task.data.name.partition("/")
    about: dict[str, Any] = {"agent": str(drawings["agent"].iloc[0]), "data": data, "split": split or None}
    about |= {"exemplar": task.chosen_by, "n": n, "concepts": len(task.concepts)}
    about["critics"] = {"see": [s.name for s in critics.see], "recognise": [s.name for s in critics.recognise]}
    about["seen_concepts"] = critics.count_seen(task.concepts, task.data.name)
    return folder, {**about, "warnings": [*warnings, *notes]}


def read_scores(folder: Path) -> list[Score]:
    """The overall scores of a run, each once: over all critics."""
    from exemplar.errors import UserError
    from exemplar.runs import load_scores

    found = [score for score in load_scores(folder) if not score.concept and not score.space]
    if not found:
        raise UserError(f"{folder} has lost its scores: remove it, and score the drawings again")
    return found


def shown(score: Score) -> tuple[str, str, int]:
    return f"{score.value:.4f}", ends(score.ci95), score.n


def warn(sentences: list[str]) -> None:
    for sentence in sentences:
        typer.echo(f"exemplar: warning: {sentence}", err=True)
