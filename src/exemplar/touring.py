"""The tour: every room on data the package makes itself, as one page that a newcomer reads first."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

from exemplar import rooms
from exemplar.options import Address, Engine, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer

PAGE = "index.html"
TITLE = "What can you do after seeing something once?"
LEAD = (
    "Exemplar puts the same few-shot visual tasks to people and to machines, keeps what each did in the same tables, and "
    "scores those tables with the same code. Here is every part of it, on data the package makes itself; brackets are 95 % "
    "intervals."
)
VERDICT = "Every number here was computed on this machine. No person took part: all who drew, played or learned are simulated."
NEXT = (
    "Every number above is in a run folder beside this page, with its configuration, seed, data, versions and duration; "
    "exemplar runs show prints one. Run the tour again and it resumes where it stopped."
)


@verb
def tour(
    out: Annotated[Place, Option("The folder to write; a tour that was stopped resumes there.")] = Path("tour"),
    seed: Seed = 0,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
) -> Answer:
    """See what Exemplar does, in a few minutes: every room on data the package makes itself, as one page."""
    from exemplar.answers import Answer
    from exemplar.report.marks import check_ours

    backend, start, folder = make_backend(engine, workers, address), monotonic(), Path(out).expanduser()
    check_ours(folder / PAGE)
    shown = [room for room in rooms.list_rooms() if room.tour is not None]
    for number, room in enumerate(shown, start=1):
        print(f"{number}/{len(shown)}  {room.name} …", file=sys.stderr)
        assert room.tour is not None
        room.tour().make(folder / room.name, seed, backend)
    page, took = _write(folder, shown), monotonic() - start
    values = {"report": str(page), "rooms": [room.name for room in shown], "seed": seed, "seconds": round(took, 1)}
    text = f"The tour took {took:.0f} s. Open {page.resolve()} in a browser."
    return Answer(values=values, text=text, folder=folder, page=page)


def _write(folder: Path, shown: list[rooms.Room]) -> Path:
    """`index.html` in the tour's folder, from the run folders of its rooms; one file that needs no network."""
    from exemplar.report.how_made import how_made
    from exemplar.report.page import Chapter, write_page

    chapters = [room.tour().chapter(folder / room.name) for room in shown if room.tour is not None]
    names = ", ".join(room.name for room in shown)
    footer = f"Run folders with every record and score: {names}, beside this page."
    last = Chapter("Where to go from here", (NEXT,), commands="exemplar runs list .\nexemplar --help")
    made = how_made([folder / room.name for room in shown])
    return write_page(folder / PAGE, TITLE, LEAD, [*chapters, last], footer, verdict=VERDICT, made=made, contents=True)
