"""What the house needs to know about the images."""

from __future__ import annotations

from collections.abc import Mapping

from exemplar.rooms import KeptResult, Room, TourChapter


def _results() -> Mapping[str, KeptResult]:
    from exemplar.images.studies import RESULTS

    return RESULTS


def _tour() -> TourChapter:
    from exemplar.images.tour import CHAPTER

    return CHAPTER


ROOM = Room(
    name="images",
    title="What is seen",
    help="What is seen: list, inspect, fetch and look at the data.",
    group="data",
    commands={"list": "list_data", "show": "show", "fetch": "fetch", "sheet": "sheet"},
    resumes=("fetch",),
    results=_results,
    tour=_tour,
)
