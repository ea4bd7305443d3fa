"""exemplar results: the numbers this project stands by, each with the command that prints it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from exemplar.cli.output import Json, Seed, answer, table

app = typer.Typer(
    help="The project's own numbers: list, compute again, and make docs/results.md.", no_args_is_help=True
)


@dataclass(frozen=True)
class Result:
    """function: `module:name`, takes a run and a seed; published: score and agent → value and source; data: what it reads;
    quick: computed again whenever the page is made, to see whether it still comes out the same."""

    title: str
    function: str
    about: str
    published: dict[tuple[str, str], tuple[float, str]]
    data: tuple[tuple[str, str], ...]
    quick: bool = True


RESULTS = {
    "naming-by-pixels": Result(
        "How hard a data set is for pixels",
        "exemplar.images.studies:naming_result",
        "One drawing of each of 20 characters is seen; a new drawing is named by comparing pixels at 16 px. Glyphs at "
        "spread 1 are meant to be about as hard as Omniglot.",
        {},
        (("glyphs", "weak-test"), ("omniglot", "weak-test")),
    ),
    "official-runs-by-ink": Result(
        "Omniglot's 20 official one-shot runs, by distance between ink",
        "exemplar.images.studies:official_runs_result",
        "The baseline that comes with Omniglot: the modified Hausdorff distance. People err in 4.5 %.",
        {("naming_error", "modified Hausdorff on the official runs"): (0.388, "Lake et al. 2015, released baseline")},
        (("omniglot", "evaluation"),),
    ),
}


@app.command("list")
def list_results(json: Json = False) -> None:
    """The results there are."""
    from exemplar.report.results import committed

    rows = [
        {"name": name, "title": result.title, "committed": committed(name) is not None}
        for name, result in RESULTS.items()
    ]
    lines = [(row["name"], "yes" if row["committed"] else "no", row["title"]) for row in rows]
    answer({"results": rows}, as_json=json, text=table(("name", "committed", "what"), lines))


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A result (see `exemplar results list`).")],
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; runs/results/NAME unless given.")] = None,
    commit: Annotated[
        bool, typer.Option("--commit", help="Keep the scores in the package, for docs/results.md.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compute a result again and print its scores."""
    from exemplar.report.results import commit_result

    scores, provenance = compute(name, out or Path("runs/results") / f"{name}-s{seed}", seed)
    if commit:
        commit_result(name, scores, provenance)
    rows = [(s.name, s.agent, f"{s.value:.4f}", f"[{s.ci95[0]:.4f}, {s.ci95[1]:.4f}]", s.n) for s in scores]
    result = {"result": name, "seed": seed, "scores": [{"name": s.name, "agent": s.agent, **s.json()} for s in scores]}
    answer(result, as_json=json, text=table(("score", "who", "value", "95 %", "n"), rows))


@app.command()
def page(
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("docs/results.md"),
    json: Json = False,
) -> None:
    """Make docs/results.md from the committed results; says which quick ones no longer come out the same."""
    import tempfile

    from exemplar.errors import UserError
    from exemplar.report.results import committed, differences, write_results

    changed: list[str] = []
    for name, result in RESULTS.items():
        kept = committed(name)
        if kept is None:
            changed.append(f"{name}: nothing is committed; exemplar results run {name} --commit")
        elif result.quick:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    scores, _ = compute(name, Path(folder) / "run", kept.seed)
                except UserError as problem:
                    changed.append(f"{name}: could not be checked ({problem})")
                    continue
            changed += [f"{name}: {difference}" for difference in differences(kept.scores, scores)]
    write_results(out, {name: (r.title, r.about, r.published) for name, r in RESULTS.items()})
    text = "\n".join(
        [f"{out} is made from {len(RESULTS)} results.", *(changed or ["Every quick one came out the same."])]
    )
    answer({"page": str(out), "changed": changed}, as_json=json, text=text)
    if changed:
        raise typer.Exit(1)


def compute(name: str, folder: Path, seed: int) -> tuple[list[Any], dict[str, Any]]:
    """The scores of a result, from its run folder if that is finished, and where they come from."""
    from importlib import import_module

    from exemplar import runs
    from exemplar.errors import unknown
    from exemplar.images.catalogue import load

    if name not in RESULTS:
        raise unknown("result", name, RESULTS)
    module, _, function = RESULTS[name].function.partition(":")
    data = {f"{name}/{split}": load(name, split).fingerprint for name, split in RESULTS[name].data}
    with runs.open_run(folder, command=f"results run {name}", config={"result": name}, seed=seed, data=data) as run:
        if not run.finished:
            getattr(import_module(module), function)(run, seed)
    return runs.load_scores(folder), runs.describe_run(folder)["provenance"]
