"""What the house needs to know about this room."""

from __future__ import annotations

from collections.abc import Mapping

from exemplar.rooms import KeptResult, Room, TourChapter


def _results() -> Mapping[str, KeptResult]:
    from exemplar.lab.studies import RESULTS

    return RESULTS


def _tour() -> TourChapter:
    from exemplar.lab.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="lab",
    title="People do the tasks",
    help="People do the same tasks in a browser, and leave the same records.",
    commands={
        "serve": "serve",
        "experiments": "list_experiments",
        "simulate": "simulate",
        "participants": "participants",
        "export": "export",
        "delete": "delete",
        "turing": "turing",
        "load": "load",
    },
    results=_results,
    tour=_tour,
)
