"""What the house needs to know about this room."""

from __future__ import annotations

from collections.abc import Mapping

from exemplar.rooms import KeptResult, Leaderboard, Room, TourChapter


def _agents() -> Mapping[str, str]:
    from exemplar.foresee.agents import describe_agents

    return describe_agents()


def _studies() -> Mapping[str, str]:
    from exemplar.foresee.studies import DESCRIBED

    return DESCRIBED


def _results() -> Mapping[str, KeptResult]:
    from exemplar.foresee.studies import RESULTS

    return RESULTS


def _leaderboards() -> Mapping[str, Leaderboard]:
    from exemplar.foresee.leaderboard import make_boards

    return make_boards()


def _tour() -> TourChapter:
    from exemplar.foresee.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="foresee",
    title="Know how well you will do",
    help="Know how well you will do: a few-shot classifier's accuracy, without a validation set.",
    commands={
        "check": "check",
        "label-next": "label_next",
        "run": "run",
        "fit": "fit",
        "predict": "predict",
        "study": "study",
        "agents": "list_agents",
        "measures": "list_measures",
        "check-agent": "check_agent",
    },
    resumes=("study",),
    agents=_agents,
    studies=_studies,
    results=_results,
    leaderboards=_leaderboards,
    tour=_tour,
)
