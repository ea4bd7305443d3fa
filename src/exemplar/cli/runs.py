"""exemplar runs: what was run, with what, and what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from exemplar.cli.output import Json, answer, ends, pairs, table

app = typer.Typer(help="Run folders: what was asked, done and scored.", no_args_is_help=True)


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look; all folders below are searched.")] = Path(),
    json: Json = False,
) -> None:
    """The runs below a folder, with their state."""
    from exemplar import runs
    from exemplar.errors import UserError

    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    found = [runs.describe_run(path) for path in runs.list_runs(folder)]
    header = ("folder", "command", "seed", "variant", "state", "seconds")
    rows = []
    for run in found:
        done = run["provenance"]
        rows.append(
            (run["folder"], run["command"], run["seed"], run["variant"], done.get("state"), done.get("duration_s", ""))
        )
    empty = f"no runs below {folder.resolve()}"
    answer({"runs": found}, as_json=json, text=table(header, rows) if rows else empty)


@app.command()
def show(folder: Annotated[Path, typer.Argument(help="A run folder.")], json: Json = False) -> None:
    """What one run was asked, where it ran, and its scores."""
    from exemplar import runs

    about = runs.describe_run(folder)
    scores = runs.load_scores(folder)
    about["scores"] = [score_row(score) for score in scores]
    provenance = about["provenance"]
    facts: dict[str, Any] = {key: about[key] for key in ("command", "config", "seed", "variant", "data")}
    facts |= {key: provenance.get(key, "") for key in ("state", "duration_s", "exemplar", "git", "host")}
    facts["tables"] = ", ".join(about["tables"])
    rows = [(s.name, s.agent, s.concept, s.space, f"{s.value:.4g}", ends(s.ci95, ".4g"), s.n) for s in scores]
    header = ("score", "agent", "concept", "space", "value", "95 %", "n")
    answer(about, as_json=json, text=pairs(facts) + ("\n\n" + table(header, rows) if rows else ""))


def score_row(score: Any) -> dict[str, Any]:
    names = {key: getattr(score, key) for key in ("name", "agent", "concept", "space", "variant")}
    return {**names, **score.json()}
