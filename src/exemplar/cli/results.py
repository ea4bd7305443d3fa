"""exemplar results: the numbers this project stands by, each with the command that prints it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from exemplar.cli.output import Json, Seed, answer, ends, table
from exemplar.cli.results_kept import RESULTS

app = typer.Typer(
    help="The project's own numbers: list, compute again, and make docs/results.md.", no_args_is_help=True
)


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
    who = [{key: getattr(s, key) for key in ("agent", "concept", "space", "variant")} for s in scores]
    rows = [
        (s.name, ", ".join(filter(None, w.values())), f"{s.value:.4f}", ends(s.ci95), s.n)
        for s, w in zip(scores, who, strict=True)
    ]
    found = [{"name": s.name, **w, **s.json()} for s, w in zip(scores, who, strict=True)]
    result = {"result": name, "seed": seed, "scores": found}
    answer(result, as_json=json, text=table(("score", "who", "value", "95 %", "n"), rows))


@app.command()
def page(
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("docs/results.md"),
    json: Json = False,
) -> None:
    """Make docs/results.md from the committed results; says which quick ones no longer come out the same."""
    import tempfile

    from exemplar.errors import UserError
    from exemplar.files import check_place, whole_file
    from exemplar.report.results import committed, differences, write_results

    check_place(out)
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
    for file, function in (figure for result in RESULTS.values() for figure in result.figures):
        with whole_file(out.parent / file) as part:
            part.write_text(find_function(function)(), encoding="utf-8")
    text = "\n".join(
        [f"{out} is made from {len(RESULTS)} results.", *(changed or ["Every quick one came out the same."])]
    )
    answer({"page": str(out), "changed": changed}, as_json=json, text=text)
    if changed:
        raise typer.Exit(1)


def compute(name: str, folder: Path, seed: int) -> tuple[list[Any], dict[str, Any]]:
    """The scores of a result, from its run folder if that is finished, and where they come from."""
    from exemplar import runs
    from exemplar.errors import unknown
    from exemplar.images.catalogue import load

    if name not in RESULTS:
        raise unknown("result", name, RESULTS)
    data = {f"{name}/{split}": load(name, split).fingerprint for name, split in RESULTS[name].data}
    about: dict[str, Any] = {"command": f"results run {name}", "config": {"result": name}, "seed": seed}
    with runs.open_run(folder, **about, data=data, keep="jobs.sqlite") as run:
        if not run.finished:
            find_function(RESULTS[name].function)(run, seed)
    return runs.load_scores(folder), runs.describe_run(folder)["provenance"]


def find_function(name: str) -> Callable[..., Any]:
    """`module:name` → that function."""
    from importlib import import_module

    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
