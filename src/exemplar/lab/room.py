"""What the house needs to know about this room."""

from __future__ import annotations

from exemplar.rooms import Room, TourChapter


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
    tour=_tour,
)
