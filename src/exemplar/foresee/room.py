"""What the house needs to know about this room."""

from __future__ import annotations

from collections.abc import Mapping

from exemplar.rooms import Room


def _agents() -> Mapping[str, str]:
    from exemplar.foresee.agents import describe_agents

    return describe_agents()


ROOM = Room(
    name="foresee",
    title="Know how well you will do",
    help="Know how well you will do: a few-shot classifier's accuracy, without a validation set.",
    commands={
        "run": "run",
        "agents": "list_agents",
        "measures": "list_measures",
        "check-agent": "check_agent",
    },
    agents=_agents,
)
