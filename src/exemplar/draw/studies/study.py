"""What a study of the room is: an experiment on any data set of drawings, with its text and its figures' material."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score, Scores
from exemplar.runs import Run

OMNIGLOT, GLYPHS, QUICKDRAW_FS = ("omniglot", "weak-test"), ("glyphs", "weak-test"), ("quickdraw-fs", "test")
SIMCLR, PROTONET = "SimCLR", "ProtoNet"
RELEASED = "measured with the authors' released critics"  # where a number of theirs is in no paper


@dataclass(frozen=True)
class Study:
    """An experiment of the room.

    title, text: of its page; "{drawers}" in the text stands for who made the data. compute: given an open run, a seed and a
    concept set it returns scores, and leaves in the run a file NAME.npz that holds what its figures need.
    """

    name: str
    title: str
    text: str
    compute: Callable[[Run, int, ConceptSet], Scores]


def run_studies(studies: Iterable[Study], run: Run, seed: int, which: tuple[str, str]) -> list[Score]:
    """The scores of several studies that are over all critics; what their figures need goes into a folder of the data."""
    data = load(*which)
    inside = replace(run, folder=run.folder / data.name.replace("/", "-"))
    return [score for study in studies for score in study.compute(inside, seed, data) if not score.space]


def save_scores(run: Run, scores: Scores | list[Score]) -> Scores:
    """Into the run's folder, as a table."""
    table = scores if isinstance(scores, Scores) else Scores.collect(scores)
    run.save(table)
    return table
