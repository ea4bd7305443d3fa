"""What the house needs to know about this room."""

from __future__ import annotations

from exemplar.rooms import Room

ROOM = Room(
    name="draw",
    title="Draw another one",
    help="Draw another one: score drawings made after one exemplar.",
    commands={
        "score": "score",
        "compare": "compare",
        "sample": "sample",
        "study": "study",
        "agents": "list_agents",
        "check-agent": "check_agent",
        "quickdraw-fs cluster": "cluster_quickdraw",
        "quickdraw-fs build": "build_quickdraw",
    },
    resumes=("score", "compare", "quickdraw-fs cluster"),
)
