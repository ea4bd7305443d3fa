"""What the house needs to know about this room."""

from __future__ import annotations

from collections.abc import Mapping

from exemplar.rooms import KeptResult, Leaderboard, Room, TourChapter


def _agents() -> Mapping[str, str]:
    from exemplar.learn.agents import describe_agents

    return describe_agents()


def _studies() -> Mapping[str, str]:
    return {name: result.title for name, result in _results().items()}


def _results() -> Mapping[str, KeptResult]:
    from exemplar.learn.studies import RESULTS

    return RESULTS


def _leaderboards() -> Mapping[str, Leaderboard]:
    from exemplar.learn.leaderboard import make_boards

    return make_boards()


def _tour() -> TourChapter:
    from exemplar.learn.tour import CHAPTER

    return CHAPTER


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
        "import": "import_trials",
        "power": "power",
        "agents": "list_agents",
        "check-agent": "check_agent",
    },
    resumes=("study",),
    agents=_agents,
    studies=_studies,
    results=_results,
    leaderboards=_leaderboards,
    tour=_tour,
)
