"""What the house needs to know about this room."""

from __future__ import annotations

from exemplar.rooms import Room

ROOM = Room(
    name="learn",
    title="Learn from right and wrong",
    help="Learn from right and wrong: people and plasticity rules on novel objects.",
    commands={
        "objects": "objects",
        "human": "human",
        "run": "run",
        "score": "score",
        "study": "study",
        "compare": "compare",
        "agents": "list_agents",
        "check-agent": "check_agent",
    },
    resumes=("study",),
)
