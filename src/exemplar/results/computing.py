"""Results computed again, and the pages of them: the verbs `list_results`, `run` and `page`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from exemplar import rooms, runs
from exemplar.answers import Answer, as_rows, format_scores, format_table
from exemplar.errors import UserError, unknown
from exemplar.files import check_place, whole_file
from exemplar.images.catalogue import load
from exemplar.records import Score, Scores
from exemplar.results.kept import Kept, differences, keep_result, load_kept
from exemplar.results.known import format_known
from exemplar.results.result_page import write_result
from exemplar.results.sections import format_section
from exemplar.results.sources import hash_modules
from exemplar.rooms import KeptResult

HEAD = """# Results

Made by `make results` from the scores in `src/exemplar/results/`; do not edit. Every number has a 95 % interval, and the
command above its table prints it again. "Published" is what a paper prints, with the place; "released weights" is what we
measured with the weights the authors released.
"""


def all_results() -> dict[str, KeptResult]:
    """Those of all rooms, by name."""
    return rooms.collect("results")


def describe_results() -> Answer:
    rows = [
        {"name": name, "title": result.title, "committed": load_kept(name) is not None}
        for name, result in all_results().items()
    ]
    lines = [(row["name"], "yes" if row["committed"] else "no", row["title"]) for row in rows]
    return Answer(values={"results": rows}, text=format_table(("name", "committed", "what"), lines))


def run_result(name: str, out: Path | str | None, commit: bool, seed: int) -> Answer:
    if name not in all_results():
        raise unknown("result", name, all_results())
    program = hash_modules(all_results()[name].compute.__module__)
    folder = Path(out).expanduser() if out is not None else Path("runs/results") / f"{name}-s{seed}-{program[:8]}"
    scores, provenance = compute(name, folder, seed)
    page = write_result(name, folder, all_results()[name], scores)
    if commit:
        keep_result(name, scores, provenance, all_results()[name].compute)
    values = {"result": name, "seed": seed, "scores": as_rows(scores)}
    text = f"{format_scores(scores)}\n\n{page}"
    return Answer(values=values, text=text, scores=Scores.collect(scores), folder=folder, page=page)


def write_results_page(out: Path | str, check: bool) -> Answer:
    place, results = Path(out).expanduser(), all_results()
    check_place(place)
    changed: list[str] = []
    older = [name for name, result in results.items() if is_older(name, result)]
    for name, result in results.items():
        kept = load_kept(name)
        if kept is None:
            changed.append(f"{name}: nothing is committed; exemplar results run {name} --commit")
        elif result.quick and check:
            changed += [f"{name}: {sentence}" for sentence in check_result(name, kept)]
    with whole_file(place) as part:
        part.write_text(format_page(results), encoding="utf-8")
    known = place.with_name("known.md")
    with whole_file(known) as part:
        part.write_text(format_known(), encoding="utf-8")
    for result in results.values():
        for file, plot in result.figures.items():
            with whole_file(place.parent / file) as part:
                part.write_text(plot(), encoding="utf-8")
    same = ["Every quick one came out the same."] if check else []
    made_before = []
    if older:
        tells = "`exemplar results verify NAME` tells whether they still come out the same"
        made_before = [f"Made by older sources ({tells}): {', '.join(older)}."]
    text = "\n".join([f"{place} and {known} are made from {len(results)} results.", *(changed or same), *made_before])
    return Answer(values={"page": str(out), "changed": changed, "older": older}, text=text, page=place, ok=not changed)


def is_older(name: str, result: KeptResult) -> bool:
    """Whether a result was kept by other sources than those of today."""
    kept = load_kept(name)
    return kept is not None and kept.provenance.get("modules") != hash_modules(result.compute.__module__)


def check_result(name: str, kept: Kept) -> list[str]:
    """A sentence for each score that no longer comes out as it was kept."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            scores, _ = compute(name, Path(folder) / "run", kept.seed)
        except UserError as problem:
            return [f"could not be checked ({problem})"]
    return differences(kept.scores, scores)


def compute(name: str, folder: Path, seed: int, *, part: bool = False) -> tuple[list[Score], dict[str, Any]]:
    """The scores of a result, or of its part, from its run folder if the same program has finished it, and where they come
    from."""
    results = all_results()
    program = hash_modules(results[name].compute.__module__)
    data = {f"{which}/{split}": load(which, split).fingerprint for which, split in results[name].data}
    about: dict[str, Any] = {
        "command": f"results run {name}",
        "config": {"result": name, "modules": program} | ({"part": True} if part else {}),
        "seed": seed,
    }
    with runs.open_run(folder, **about, data=data, keep="jobs.sqlite") as run:
        if not run.finished:
            some = results[name].part if part else None
            (some or results[name]).compute(run, seed)
    return runs.load_scores(folder), runs.describe_run(folder)["provenance"]


def format_page(results: dict[str, KeptResult]) -> str:
    """docs/results.md."""
    parts = [HEAD]
    for name, result in results.items():
        kept = load_kept(name)
        if kept is not None:
            parts.append(format_section(name, result, kept))
    return "\n".join(parts)
