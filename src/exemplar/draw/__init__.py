"""Draw another one: one drawing of each concept is shown, others are made. How diverse, recognizable and original are they?

import exemplar as ex

scored = ex.draw.score("samples/", data="omniglot")     # a folder with one sub-folder of images per concept
scored.scores.frame                                     # every score with its interval, as a pandas DataFrame
ex.draw.compare(["human", "copies", scored.folder], data="omniglot", html="page.html")
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.draw.agent_verbs import (
    check_agent,
    finish_training,
    list_agents,
    prepare_exemplars,
    prepare_training,
    record_drawings,
    sample,
    train,
    train_grid,
)
from exemplar.draw.arguments import (
    WHO,
    AllowSeen,
    Concepts,
    Data,
    Drawers,
    Episodes,
    Exemplar,
    Invert,
    Match,
    Name,
    Normalise,
    Number,
    Out,
    People,
    Recognise,
    See,
    Size,
    Split,
    Training,
    Unbiased,
    Ways,
    Who,
)
from exemplar.draw.quickdraw_verbs import build_quickdraw, cluster_quickdraw, divide_quickdraw, train_quickdraw
from exemplar.options import Address, Engine, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.draw.adapting import sample_maml_episodes
    from exemplar.draw.agents import make_agent
    from exemplar.draw.critics import Critics, load_critics
    from exemplar.draw.diffusion.loading import load_agent
    from exemplar.draw.drawings import read_drawings
    from exemplar.draw.encoding import encode_drawings
    from exemplar.draw.grids import grid
    from exemplar.draw.measures.generalization import best_envelope, generalization_curve
    from exemplar.draw.measures.human_distance import Reference, family_medians, fit_reference, load_reference
    from exemplar.draw.scores import ScoreConfig, score_features
    from exemplar.draw.scoring import ScoredAnswer, compute_scores
    from exemplar.draw.studying import StudyAnswer
    from exemplar.draw.tasks import DrawingTask, make_task

__all__ = [
    "Critics",
    "DrawingTask",
    "Reference",
    "ScoreConfig",
    "best_envelope",
    "build_quickdraw",
    "check_agent",
    "cluster_quickdraw",
    "compare",
    "compute_scores",
    "divide_quickdraw",
    "encode_drawings",
    "family_medians",
    "finish_training",
    "fit_reference",
    "generalization_curve",
    "grid",
    "list_agents",
    "load_agent",
    "load_critics",
    "load_reference",
    "make_agent",
    "make_task",
    "prepare_exemplars",
    "prepare_training",
    "read_drawings",
    "record_drawings",
    "sample",
    "sample_maml_episodes",
    "score",
    "score_features",
    "study",
    "train",
    "train_grid",
    "train_quickdraw",
]
# names without a command → the module they are imported from when first used
FROM = {
    "Critics": "critics",
    "DrawingTask": "tasks",
    "Reference": "measures.human_distance",
    "ScoreConfig": "scores",
    "best_envelope": "measures.generalization",
    "compute_scores": "scoring",
    "encode_drawings": "encoding",
    "family_medians": "measures.human_distance",
    "fit_reference": "measures.human_distance",
    "generalization_curve": "measures.generalization",
    "grid": "grids",
    "load_agent": "diffusion.loading",
    "load_critics": "critics",
    "load_reference": "measures.human_distance",
    "make_agent": "agents",
    "make_task": "tasks",
    "read_drawings": "drawings",
    "sample_maml_episodes": "adapting",
    "score_features": "scores",
}


@verb
def score(
    who: Who,
    data: Data,
    split: Split = None,
    exemplar: Exemplar = "centre",
    n: Number = None,
    agent: Name = None,
    invert: Invert = False,
    size: Size = None,
    allow_seen: AllowSeen = False,
    see: See = (),
    recognise: Recognise = (),
    normalise: Normalise = "sample",
    unbiased: Unbiased = False,
    ways: Ways = (),
    episodes: Episodes = 0,
    concepts: Concepts = (),
    people: People = True,
    match: Match = False,
    training: Training = None,
    out: Out = None,
    all_scores: Annotated[bool, Option("Print every score, not only the six that matter most.", name="--all")] = False,
    seed: Seed = 0,
) -> ScoredAnswer:
    """How diverse, recognizable and original drawings are, whoever made them, and how far from people's.

    Returns:
        An answer whose `scores` hold every score overall, per concept and per critic, `overall` those over all concepts and
        critics, `warnings` what may be a mistake, `folder` the run.

    >>> import exemplar as ex
    >>> copies = ex.draw.score("copies", data="glyphs", n=3, out="copies")
    >>> round(copies["diversity"]["value"], 6), copies["recognizability_20_way"]["value"]
    (0.0, 1.0)
    """
    from exemplar.draw.choices import read_ways, read_words
    from exemplar.draw.requests import Request
    from exemplar.draw.scoring import score_request

    request = Request(
        data=data,
        split=split,
        exemplar=exemplar,
        n=n,
        seed=seed,
        allow_seen=allow_seen,
        see=tuple(see or ()),
        recognise=tuple(recognise or ()),
        training=training,
        normalise=normalise,
        unbiased=unbiased,
        ways=read_ways(ways),
        episodes=episodes,
        only=read_words(concepts),
        people=people,
        match=match,
    )
    return score_request(request, who, agent=agent, invert=invert, size=size, out=out, every=all_scores)


@verb
def compare(
    who: Annotated[
        Drawers, Option(f"Run folders of `draw score`, or what it takes. {WHO}", positional=True, metavar="A B …")
    ],
    html: Annotated[Place, Option("The page to write; figures go beside it.")] = Path("comparison.html"),
    data: Annotated[str | None, Option("What was drawn; that of the first run unless given.", known="data")] = None,
    split: Split = None,
    exemplar: Exemplar = "centre",
    n: Number = None,
    invert: Invert = False,
    size: Size = None,
    allow_seen: AllowSeen = False,
    see: See = (),
    recognise: Recognise = (),
    normalise: Normalise = "sample",
    unbiased: Unbiased = False,
    ways: Ways = (),
    episodes: Episodes = 0,
    concepts: Concepts = (),
    people: People = True,
    match: Match = False,
    seed: Seed = 0,
) -> Answer:
    """One page about several drawers: the plane, curves, concepts and sheets. The data's own drawers are added if they are
    not among them.

    Returns:
        `page`, to open in a browser; `differences`, of each pair and score, with interval and p.

    >>> import exemplar as ex
    >>> both = ex.draw.compare(["copies"], data="glyphs", n=3, exemplar="drawer:drawer01", html="page.html")
    >>> both.page.name, both["differences"][0]["score"]
    ('page.html', 'diversity')
    """
    from exemplar.draw.choices import read_ways, read_words
    from exemplar.draw.comparing import compare_request
    from exemplar.draw.requests import Request

    request = Request(
        data=data or "",
        split=split,
        exemplar=exemplar,
        n=n,
        seed=seed,
        allow_seen=allow_seen,
        see=tuple(see or ()),
        recognise=tuple(recognise or ()),
        normalise=normalise,
        unbiased=unbiased,
        ways=read_ways(ways),
        episodes=episodes,
        only=read_words(concepts),
        people=people,
        match=match,
    )
    return compare_request(request, list(who), html, invert=invert, size=size)


@verb
def study(
    name: Annotated[str, Option("A study; an unknown name lists them.", known="draw studies", positional=True)],
    data: Annotated[str, Option("A data set, a folder, or an npz.", known="data")] = "glyphs",
    split: Split = None,
    agent: Annotated[
        str | None,
        Option(
            "Of guidance and samplers: a diffusion agent, FOLDER/NAME of one you trained, with settings after an @; of "
            "diffusion-grid: the folder of several."
        ),
    ] = None,
    n: Annotated[int | None, Option("Drawings of each concept, of a study of an agent.", low=3)] = None,
    concepts: Concepts = (),
    allow_seen: AllowSeen = False,
    out: Out = None,
    engine: Engine = "here",
    workers: Workers = None,
    address: Address = None,
    seed: Seed = 0,
) -> StudyAnswer:
    """One of the room's experiments: its scores, records, figures and a page in a run folder."""
    from exemplar.draw.choices import read_words
    from exemplar.draw.requests import Request
    from exemplar.draw.studies import AGENT_STUDIES
    from exemplar.draw.studying import run_agent_study, run_study
    from exemplar.errors import UserError

    only = read_words(concepts)
    if name in AGENT_STUDIES:
        request = Request(data=data, split=split, n=n, seed=seed, only=only, allow_seen=allow_seen)
        return run_agent_study(name, agent, request, out, make_backend(engine, workers, address))
    if agent is not None or n is not None or only or allow_seen:
        raise UserError(
            f"The study {name} is of the data, not of an agent: leave --agent, --n, --concepts and --allow-seen out."
        )
    return run_study(name, data, split, out, seed)


def __getattr__(name: str) -> Any:
    if name in FROM:
        return getattr(import_module(f"exemplar.draw.{FROM[name]}"), name)
    raise AttributeError(f"module 'exemplar.draw' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
