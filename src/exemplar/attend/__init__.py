"""Show what matters: importance maps of drawings, of models and of people, and how alike they are.

    import exemplar as ex

    ex.attend.maps("occlusion", data="glyphs", concepts=10, out="occlusion.npz")      # a model marks drawings
    ex.attend.play("corners", data="glyphs", concepts=10, out="people.npz")           # simulated players uncover them
    ex.attend.score("people.npz", model=["occlusion.npz"])                            # reliability, agreement, sparseness

Everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.attend.arguments import Agent, Concepts, Data, DrawingsEach, Given, Only, Record, Records, Size, Split
from exemplar.options import Address, Device, Engine, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.attend.agents import diffusion_agent, make_agent
    from exemplar.attend.figures.overlays import plot_side_by_side
    from exemplar.attend.map_files import load_maps, save_maps
    from exemplar.attend.mapping import MapsAnswer, mark
    from exemplar.attend.partner.guessing import Guess, Partner, Templates, guess
    from exemplar.attend.partner.keeping import load_partner
    from exemplar.attend.players import Player, play_one
    from exemplar.attend.rounds import Round, maps_from_rounds, paint, uncover
    from exemplar.attend.scoring import ScoredMaps, score_maps
    from exemplar.attend.tasks import AttendTask, make_task

__all__ = [
    "AttendTask",
    "Guess",
    "Partner",
    "Player",
    "Round",
    "ScoredMaps",
    "Templates",
    "check_agent",
    "check_partner",
    "diffusion_agent",
    "guess",
    "list_agents",
    "load_maps",
    "load_partner",
    "make_agent",
    "make_task",
    "maps",
    "maps_from_rounds",
    "mark",
    "paint",
    "play",
    "play_one",
    "plot_side_by_side",
    "save_maps",
    "score",
    "score_maps",
    "study",
    "train_partner",
    "uncover",
]


@verb
def maps(
    agent: Agent = "cfgdm-quickdraw",
    data: Data = None,
    split: Split = None,
    concepts: Concepts = 25,
    drawings: DrawingsEach = 10,
    only: Only = (),
    size: Size = None,
    out: Annotated[Place, Option("The .npz file to write; a sheet of the maps lies beside it.")] = Path("maps.npz"),
    seed: Seed = 0,
) -> MapsAnswer:
    """Let an agent mark drawings: how much each pixel matters for what is drawn; a record of maps, and a sheet to look at.

    Returns:
        `maps`, how many; `cpu_seconds`; from Python also the record, as `answer.maps`.

    >>> import exemplar as ex
    >>> made = ex.attend.maps("ink", data="glyphs", concepts=3, drawings=2, out="ink.npz")
    >>> made["maps"], made.maps.map.shape
    (6, (6, 105, 105))
    """
    from exemplar.attend.mapping import map_drawings

    return map_drawings(agent, data, split, concepts, drawings, only, size, out, seed)


@verb
def play(
    player: Annotated[
        str,
        Option("What the players prefer: ink, corners, random, or what an agent of the room marks.", positional=True),
    ] = "ink",
    reliability: Annotated[float, Option("Share of strokes that follow the preference.", low=0, high=1)] = 0.8,
    participants: Annotated[int, Option("How many players.", low=1)] = 10,
    share: Annotated[float, Option("Of the drawings, that each player gets.", low=0.001, high=1)] = 1.0,
    partner: Annotated[
        str, Option("Who guesses: templates (the exemplars, no training), or FOLDER/NAME of a trained one.")
    ] = "templates",
    data: Data = None,
    split: Split = None,
    concepts: Concepts = 25,
    drawings: DrawingsEach = 10,
    only: Only = (),
    out: Annotated[Place, Option("The .npz file to write; a sheet of the maps lies beside it.")] = Path("people.npz"),
    seed: Seed = 0,
) -> Answer:
    """Simulated players uncover drawings with a brush until a partner recognizes them: the record that people would leave.

    >>> import exemplar as ex
    >>> done = ex.attend.play("ink", participants=2, data="glyphs", concepts=3, drawings=2, out="players.npz")
    >>> done["rounds"], done["maps"] == done["right"]
    (12, True)
    """
    from exemplar.attend.playing import play_rounds

    return play_rounds(
        player, reliability, participants, share, partner, data, split, concepts, drawings, only, out, seed
    )


@verb
def score(
    maps: Record,
    model: Records = (),
    drop_outliers: Annotated[
        bool,
        Option("Whether annotations unlike the others of their image are dropped.", name="--drop-outliers/--keep-all"),
    ] = True,
    pairs: Annotated[int, Option("Random pairs of participants.", low=10)] = 10_000,
    out: Annotated[Place, Option("The run folder, with the scores and their page.")] = Path("runs/attend/score"),
    seed: Seed = 0,
) -> Answer:
    """How reliable people's maps are, how near models come to them and to their ceiling, and whose maps are sparser.

    >>> import exemplar as ex
    >>> _ = ex.attend.play("corners", participants=4, data="glyphs", concepts=3, drawings=2, out="corners.npz")
    >>> _ = ex.attend.maps("occlusion", data="glyphs", concepts=3, drawings=2, out="occlusion.npz")
    >>> scored = ex.attend.score("corners.npz", model=["occlusion.npz"], pairs=100, out="scored")
    >>> sorted(scored["models"]["occlusion"])[:2], scored["reliability"]["value"] > scored["reliability_between"]["value"]
    (['centroid_distance', 'entropy'], True)
    """
    from exemplar.attend.scoring import score_files

    return score_files(maps, model, drop_outliers, pairs, out, seed)


@verb
def study(
    name: Annotated[
        str, Option("A study; a name that does not exist lists them.", known="attend studies", positional=True)
    ],
    agent: Agent = "cfgdm-quickdraw",
    data: Data = None,
    split: Split = None,
    concepts: Concepts = 25,
    drawings: DrawingsEach = 4,
    repeats: Annotated[int, Option("Simulated experiments, where a study simulates.", low=4)] = 400,
    out: Annotated[Place | None, Option("The run folder; runs/attend/NAME-sSEED unless given.")] = None,
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    seed: Seed = 0,
) -> Answer:
    """An experiment of the room: scores, a figure and a page; a study that was stopped resumes."""
    from exemplar.attend.studying import StudyRequest, run_study

    request = StudyRequest(agent, data, split, concepts, drawings, repeats)
    return run_study(name, request, out=out, seed=seed, backend=make_backend(engine, workers, address))


@verb
def train_partner(
    data: Annotated[
        str, Option("What it learns from: people's drawings, by data set, folder or npz.", known="data")
    ] = "quickdraw-bitmaps",
    split: Split = None,
    concepts: Annotated[int, Option("How many concepts, those with the most drawings.", low=2)] = 25,
    only: Only = (),
    steps: Annotated[int, Option("Steps of training.", low=1)] = 1500,
    temperature: Annotated[
        float, Option("The larger, the more accurate and the less robust.", low=0.1, high=10_000)
    ] = 32.0,
    most: Annotated[int, Option("Drawings per concept that are used, at most.", low=10)] = 1000,
    every: Annotated[int, Option("Steps between two evaluations.", low=1)] = 500,
    hidden: Annotated[int, Option("Hidden units: 128 take 400 kB, 64 take 180, 32 take 80.", low=8, high=1024)] = 128,
    out: Annotated[Place, Option("Where weights and card go; a training that was stopped resumes there.")] = Path(
        "partners"
    ),
    device: Device = "auto",
    seed: Seed = 0,
) -> Answer:
    """Train the partner of the ClickMe game: a Lipschitz-constrained classifier, tested on drawings that it has not seen.

    Returns:
        `accuracy`, with its interval; `lipschitz_bound`, from the weights that are kept; `partner`: its name, FOLDER/NAME.
    """
    from exemplar.attend.partner.training import PartnerRequest, train

    request = PartnerRequest(data, split, concepts, tuple(only), steps, temperature, most, every, hidden)
    return train(request, out, device, seed)


@verb
def check_partner(
    partner: Annotated[str, Option("FOLDER/NAME of a partner.", positional=True)],
    drawings: Annotated[
        Place, Option("An .npz or folder of drawings it has not seen, one sub-folder per concept.", positional=True)
    ],
) -> Answer:
    """How a trained partner does on other drawings, such as those of a game: accuracy with its interval, and its bound."""
    from exemplar.attend.partner.training import check

    return check(partner, drawings)


@verb
def list_agents() -> Answer:
    """The agents of the room, one line each.

    >>> import exemplar as ex
    >>> ex.attend.list_agents()["agents"][0]["name"]
    'gradient'
    """
    from exemplar.attend.agents import answer_list

    return answer_list()


@verb
def check_agent(
    agent: Annotated[
        Given,
        Option("An agent of yours, file.py:function, or one of the room.", known="attend agents", positional=True),
    ],
) -> Answer:
    """Check an agent against the contract of this room, and say what is wrong with it, one finding per line.

    It is a function (images, label, exemplars, rng) that gives a map per drawing, at least 0, takes all randomness from rng,
    changes nothing it is given, and marks each drawing by itself.

    >>> import exemplar as ex
    >>> ex.attend.check_agent("ink")["passes"]
    True
    """
    from exemplar.attend.checking import answer_check

    return answer_check(agent)


_HOMES = {
    "agents": ("diffusion_agent", "make_agent"),
    "figures.overlays": ("plot_side_by_side",),
    "map_files": ("load_maps", "save_maps"),
    "mapping": ("mark",),
    "partner.guessing": ("Guess", "Partner", "Templates", "guess"),
    "partner.keeping": ("load_partner",),
    "players": ("Player", "play_one"),
    "rounds": ("Round", "maps_from_rounds", "paint", "uncover"),
    "scoring": ("ScoredMaps", "score_maps"),
    "tasks": ("AttendTask", "make_task"),
}  # module of this room → the names it gives


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"exemplar.attend.{module}"), name)
    raise AttributeError(f"module 'exemplar.attend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
