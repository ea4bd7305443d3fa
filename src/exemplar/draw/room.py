"""What the house needs to know about the room `draw`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exemplar.rooms import KeptResult, Leaderboard, Room, TourChapter


def _agents() -> Mapping[str, str]:
    from exemplar.draw.agents import AGENTS

    return {name: agent.what for name, agent in AGENTS.items()}


def _studies() -> Mapping[str, str]:
    from exemplar.draw.studies import AGENT_STUDIES, STUDIES

    own = {name: study.title for name, study in STUDIES.items()}
    return {**own, **{name: study.title for name, study in AGENT_STUDIES.items()}}


def _results() -> Mapping[str, KeptResult]:
    from exemplar.draw.studies import RESULTS

    return RESULTS


def _recipes() -> Mapping[str, Any]:
    from exemplar.draw.agents import AGENTS

    return {name: recipe for agent in AGENTS.values() for name, recipe in agent.recipes.items()}


def _networks() -> Mapping[str, Callable[..., Any]]:
    from exemplar.draw.agents import AGENTS

    return {name: build for agent in AGENTS.values() for name, build in agent.networks.items()}


def _leaderboards() -> Mapping[str, Leaderboard]:
    from exemplar.draw.leaderboard import make_boards

    return make_boards()


def _tour() -> TourChapter:
    from exemplar.draw.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="draw",
    title="Draw another one",
    help="Draw another one: score drawings made after one exemplar.",
    commands={
        "score": "score",
        "compare": "compare",
        "sample": "sample",
        "train": "train",
        "grid": "train_grid",
        "study": "study",
        "agents": "list_agents",
        "check-agent": "check_agent",
        "elsewhere prepare": "prepare_training",
        "elsewhere exemplars": "prepare_exemplars",
        "elsewhere finish": "finish_training",
        "elsewhere record": "record_drawings",
        "quickdraw-fs train": "train_quickdraw",
        "quickdraw-fs cluster": "cluster_quickdraw",
        "quickdraw-fs build": "build_quickdraw",
        "quickdraw-fs divide": "divide_quickdraw",
    },
    resumes=(
        "score",
        "compare",
        "train",
        "grid",
        "quickdraw-fs train",
        "quickdraw-fs cluster",
        "quickdraw-fs divide",
    ),
    agents=_agents,
    studies=_studies,
    results=_results,
    leaderboards=_leaderboards,
    recipes=_recipes,
    networks=_networks,
    tour=_tour,
)
