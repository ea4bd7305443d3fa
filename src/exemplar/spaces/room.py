"""What the house needs to know about the spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exemplar.rooms import KeptResult, Room, TourChapter


def _results() -> Mapping[str, KeptResult]:
    from exemplar.spaces.studies import RESULTS

    return RESULTS


def _recipes() -> Mapping[str, Any]:
    from exemplar.spaces.recipes import RECIPES

    return RECIPES


def _networks() -> Mapping[str, Callable[..., Any]]:
    from exemplar.spaces.networks import NETWORKS

    return NETWORKS


def _tour() -> TourChapter:
    from exemplar.spaces.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="spaces",
    title="How it is seen",
    help="How it is seen: list, train and use critics and encoders.",
    commands={"list": "list_spaces", "card": "card", "train": "train", "encode": "encode"},
    resumes=("train", "encode"),
    results=_results,
    recipes=_recipes,
    networks=_networks,
    tour=_tour,
)
