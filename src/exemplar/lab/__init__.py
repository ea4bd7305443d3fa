"""The lab: people do the same tasks, in a browser, and leave the same records.

    exemplar lab serve                                # then open http://127.0.0.1:8000
    exemplar lab export objects --out people          # Trials, as every learner leaves them
    exemplar learn score runs/model --people people

Everything works without the internet, and without set-up: SQLite unless a PostgreSQL database is given.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from exemplar.options import Option, Place, Seed, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer

__all__ = ["delete", "export", "list_experiments", "load", "participants", "serve", "simulate", "turing"]

Database = Annotated[str, Option("Where everything is kept: a file (SQLite), or postgresql://USER:PASSWORD@HOST/NAME.")]
Experiments = Annotated[
    Place | None, Option("A JSON file: a list of experiments with their settings; default: one of each type, short.")
]
Which = Annotated[str, Option("The experiment's name (`exemplar lab experiments`).", positional=True)]
DATABASE = "lab.sqlite"


@verb
def serve(
    port: Annotated[int, Option("Where it listens; 0 for any free one.", low=0, high=65535)] = 8000,
    host: Annotated[str, Option("127.0.0.1: this machine only; 0.0.0.0: everyone who can reach it.")] = "127.0.0.1",
    database: Database = DATABASE,
    experiments: Experiments = None,
    processes: Annotated[int, Option("How many server processes share the work.", low=1, high=64)] = 1,
    token: Annotated[str, Option("The experimenter's; one is made and printed unless given.")] = "",
    bots: Annotated[bool, Option("Let agents take part, too; their records carry their names.")] = False,
    simulation: Annotated[bool, Option("Let pages drive themselves (?simulate=data-only), for tests.")] = False,
    requests: Annotated[float, Option("Requests per second from one address; 0 for no limit.", low=0)] = 60.0,
    draw_ahead: Annotated[
        bool,
        Option("Draw all images in the background, before they are asked for.", name="--draw-ahead/--no-draw-ahead"),
    ] = True,
) -> Answer:
    """Serve the experiments to browsers until interrupted."""
    from exemplar.lab.serving import run_server

    return run_server(port, host, database, experiments, processes, token, bots, simulation, requests, draw_ahead)


@verb
def list_experiments(experiments: Experiments = None) -> Answer:
    """The experiments that `serve` offers, and their settings: a start for a JSON file of your own.

    >>> import exemplar as ex
    >>> [one["name"] for one in ex.lab.list_experiments()["experiments"]][:2]
    ['objects', 'one-view']
    """
    from exemplar.lab.serving import describe_experiments

    return describe_experiments(experiments)


@verb
def participants(database: Database = DATABASE, experiments: Experiments = None) -> Answer:
    """Who has taken part: progress, accuracy and exclusions."""
    from exemplar.lab.serving import describe_participants

    return describe_participants(database, experiments)


@verb
def export(
    experiment: Which,
    out: Annotated[Place, Option("A new folder.")],
    database: Database = DATABASE,
    experiments: Experiments = None,
    everything: Annotated[bool, Option("Prescreening and warm-ups, and excluded participants, too.")] = False,
) -> Answer:
    """Write what people (and bots) did as records that `learn`, `draw` and `attend score` read, and in the public columns."""
    from exemplar.lab.serving import export_records

    return export_records(experiment, out, database, experiments, everything=everything)


@verb
def delete(
    participant: Annotated[str, Option("The participant's random name (p-…).", positional=True)],
    database: Database = DATABASE,
) -> Answer:
    """Delete everything that one participant did, on their request."""
    from exemplar.lab.serving import delete_participant

    return delete_participant(participant, database)


@verb
def simulate(
    experiment: Which = "objects",
    agent: Annotated[
        str,
        Option(
            "Who takes part: a learning rule or agent (`exemplar learn agents`) or file.py:Class; a drawing agent; guesser; a "
            "player of ClickMe (ink, corners, random)."
        ),
    ] = "square",
    stage: Annotated[
        str, Option("What it sees images by: pixels, or an encoding stage (efficientnet-lite0/head).")
    ] = "pixels",
    n: Annotated[int, Option("How many bots.", low=1)] = 1,
    server: Annotated[
        str | None, Option("A server's address, http://…; without, they take part in this process.")
    ] = None,
    experiments: Experiments = None,
    out: Annotated[Place | None, Option("Without a server: the folder for the records.")] = None,
    seed: Seed = 0,
) -> Answer:
    """Let bots take part in an experiment, through a server as browsers do, or without one: the records are the same.

    >>> import exemplar as ex
    >>> done = ex.lab.simulate("turing", agent="guesser", n=2, out="judged")
    >>> ex.lab.turing("judged").scores.frame["name"].tolist()[:2]
    ['told_apart', 'd_prime']
    """
    from exemplar.lab.bots import simulate_bots

    return simulate_bots(experiment, agent, stage, n, server, experiments, out, seed)


@verb
def load(
    participants: Annotated[int, Option("Simulated browsers at once.", low=1, high=100_000)] = 200,
    trials: Annotated[int, Option("Of each.", low=1, high=100)] = 100,
    pace: Annotated[float, Option("Seconds between the trials of one participant, on average.", low=0)] = 1.2,
    kills: Annotated[int, Option("How often a server is killed inside a request, and started again.", low=0)] = 0,
    servers: Annotated[int, Option("Server processes on one database.", low=1, high=64)] = 1,
    images: Annotated[bool, Option("Load the images, too, as browsers do.", name="--images/--no-images")] = True,
    database: Annotated[
        str | None, Option("An empty PostgreSQL database; an SQLite file of its own unless given.")
    ] = None,
    seed: Seed = 0,
) -> Answer:
    """How many participants this machine holds: percentiles, and whether a single acknowledged trial was lost or doubled."""
    from exemplar.lab.under_load import LoadConfig, describe_load

    return describe_load(LoadConfig(participants, trials, pace, kills, servers, images, database, seed))


@verb
def turing(
    record: Annotated[Place, Option("The folder that `export` wrote of a Turing experiment.", positional=True)],
) -> Answer:
    """How well people tell an agent's drawings from a person's: share of right choices and d′, per agent."""
    from exemplar.lab.telling_apart import score_turing

    return score_turing(Path(record).expanduser())
