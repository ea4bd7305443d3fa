"""What the house needs to know about this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exemplar.rooms import Room, TourChapter


def _agents() -> Mapping[str, str]:
    from exemplar.attend.agents import describe_agents

    return describe_agents()


def _studies() -> Mapping[str, str]:
    from exemplar.attend.studies import DESCRIBED

    return DESCRIBED


def _networks() -> Mapping[str, Callable[..., Any]]:
    from exemplar.attend.partner.network import build_classifier

    return {"lipschitz-classifier": build_classifier}


def _tour() -> TourChapter:
    from exemplar.attend.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="attend",
    title="Show what matters",
    help="Show what matters: importance maps of drawings, of models and of people.",
    commands={
        "maps": "maps",
        "play": "play",
        "score": "score",
        "study": "study",
        "partner train": "train_partner",
        "partner check": "check_partner",
        "agents": "list_agents",
        "check-agent": "check_agent",
    },
    resumes=("study",),
    agents=_agents,
    studies=_studies,
    networks=_networks,
    tour=_tour,
)
