"""exemplar tour: every room there is, on built-in data, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exemplar.cli.output import Json, Seed, answer

ROOMS = ("images", "spaces", "draw", "learn")
TOURS = {
    "images": "exemplar.images.studies.naming",
    "spaces": "exemplar.spaces.studies.critics",
    "draw": "exemplar.draw.studies.kept",
    "learn": "exemplar.learn.studies.encoder_rules",
}
Engine = Annotated[str, typer.Option("--engine", help="Who computes: here, pool or ray.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes of the pool; one a core unless given.")
]
Address = Annotated[str | None, typer.Option("--address", help="A running Ray cluster, with --engine ray.")]


def tour(
    out: Annotated[
        Path, typer.Option("--out", help="The folder to write; a tour that was stopped goes on there.")
    ] = Path("tour"),
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    json: Json = False,
) -> None:
    """See what Exemplar does, in a few minutes: every room on data the package makes itself, as one page."""
    from importlib import import_module
    from time import monotonic

    from exemplar.engine import backend
    from exemplar.report.tour import write_tour

    who = backend(engine, workers, address)
    start = monotonic()
    for number, room in enumerate(ROOMS, start=1):
        typer.echo(f"{number}/{len(ROOMS)}  {room} …", err=True)
        import_module(TOURS[room]).tour(out / room, seed=seed, backend=who)
    page = write_tour(out, ROOMS)
    took = monotonic() - start
    result = {"report": str(page), "rooms": list(ROOMS), "seed": seed, "seconds": round(took, 1)}
    answer(result, as_json=json, text=f"The tour took {took:.0f} s. Open {page.resolve()} in a browser.")
