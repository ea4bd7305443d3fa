"""What the house needs to know about this room."""

from __future__ import annotations

from exemplar.rooms import Room

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
)
