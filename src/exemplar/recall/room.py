"""What the house needs to know about this room."""

from __future__ import annotations

from collections.abc import Mapping

from exemplar.rooms import KeptResult, Leaderboard, Room, TourChapter


def _agents() -> Mapping[str, str]:
    from exemplar.recall.agents.registry import describe_agents

    return describe_agents()


def _studies() -> Mapping[str, str]:
    return {name: result.title for name, result in _results().items()}


def _results() -> Mapping[str, KeptResult]:
    from exemplar.recall.studies import RESULTS

    return RESULTS


def _leaderboards() -> Mapping[str, Leaderboard]:
    from exemplar.recall.leaderboard import make_boards

    return make_boards()


def _tour() -> TourChapter:
    from exemplar.recall.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="recall",
    title="Keep what you learned",
    help="Keep what you learned: continual few-shot tasks, memory and MACs measured.",
    commands={
        "tasks": "make_tasks",
        "check": "check",
        "run": "run",
        "compare": "compare",
        "study": "study",
        "agents": "list_agents",
        "types": "list_types",
        "check-agent": "check_agent",
    },
    resumes=("run", "study"),
    agents=_agents,
    studies=_studies,
    results=_results,
    leaderboards=_leaderboards,
    tour=_tour,
)
