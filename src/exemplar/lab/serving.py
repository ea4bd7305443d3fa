"""From a command to a running server, and from a database to tables and files."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from exemplar.answers import Answer, format_table
from exemplar.errors import UserError
from exemplar.lab.experimenter import summarise
from exemplar.lab.experiments import default_experiments, make_experiment
from exemplar.lab.exporting import write_export
from exemplar.lab.pictures import Pictures, draw_in_background
from exemplar.lab.server import ENVIRONMENT, LabSettings, open_lab, settings_to_environment
from exemplar.lab.sessions import Lab, Refused, find_experiment
from exemplar.lab.storage import PARTICIPANTS, Storage, open_storage

# What the names in records mean depends on these: subtask 3 of other objects is another subtask.
MEANING = (
    "type", "experiment", "instruction", "data", "split", "images", "subtasks", "concepts", "words", "seed", "partner", "only",
)  # fmt: skip


def read_experiments(file: Path | str | None) -> tuple[dict[str, Any], ...]:
    """Settings of experiments from a JSON file, or the default ones."""
    if file is None:
        return tuple(default_experiments())
    path = Path(file).expanduser()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UserError(f"{path} cannot be read ({problem.strerror}): give a JSON file of experiments.") from problem
    except ValueError as problem:
        raise UserError(f"{path} is no JSON file ({problem}): see `exemplar lab experiments --json`.") from problem
    found = found.get("experiments") if isinstance(found, dict) else found
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{path} must hold a list of experiments, each with `type` and `name`.")
    return tuple(found)


def run_server(
    port: int,
    host: str,
    database: str,
    experiments: Path | str | None,
    processes: int,
    token: str,
    bots: bool,
    simulation: bool,
    requests: float,
    draw_ahead: bool,
) -> Answer:
    import multiprocessing

    import uvicorn

    if token and len(token) < 16:
        raise UserError(f"A token of {len(token)} characters can be guessed: give at least 16, or let one be made.")
    folder = Path(database).expanduser().absolute().parent if "://" not in database else Path.cwd()
    settings = LabSettings(
        database, str(folder / "lab-images"), read_experiments(experiments), bots, simulation, requests, token
    )
    lab = open_lab(settings)  # what is wrong is said here, not by a process that dies
    kept = lab.storage.get_setting("token", "")
    if token and kept != token:
        raise UserError("This database has another experimenter's token: leave --token out, or give that one.")
    remember_experiments(lab.storage, settings.experiments)
    lab.storage.close()
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    where = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    print(f"Experiments: {where}\nExperimenter: {where}/experimenter\nToken: {kept}", file=sys.stderr, flush=True)
    os.environ[ENVIRONMENT] = settings_to_environment(settings)
    if draw_ahead:
        context = multiprocessing.get_context("spawn")
        context.Process(target=draw_in_background, args=(partial(open_pictures, settings),), daemon=True).start()
    config = uvicorn.Config(
        "exemplar.lab.server:create_from_environment",
        factory=True,
        workers=processes,
        log_level="warning",
        proxy_headers=True,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    if processes == 1:
        uvicorn.Server(config).run(sockets=[listener])
    else:
        from uvicorn.supervisors import Multiprocess

        Multiprocess(config, sockets=[listener]).run()
    return Answer(values={"address": where, "database": database}, text="The server has stopped; everything is kept.")


def open_pictures(settings: LabSettings) -> Pictures:
    return open_lab(settings).pictures


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as problem:
        listener.close()
        raise UserError(f"{host}:{port} cannot be used ({problem.strerror}): give another --port.") from problem
    listener.listen(2048)
    listener.set_inheritable(True)
    return listener


def describe_experiments(file: Path | str | None) -> Answer:
    made = [make_experiment(one) for one in read_experiments(file)]
    rows = [[one.name, one.type, about["title"], about["minutes"]] for one in made for about in [one.describe()]]
    values = [{"type": one.type, **asdict(one)} for one in made]  # type: ignore[call-overload]
    text = format_table(["name", "type", "title", "minutes"], rows)
    return Answer(values={"experiments": values}, text=text)


def describe_participants(database: str, experiments: Path | str | None) -> Answer:
    found = summarise(_open(database, experiments))
    rows = [
        [one["participant"], one["experiment"], one["agent"], one["state"], one["code"], one["sessions"], one["trials"],
         "" if one["accuracy"] is None else f"{one['accuracy']:.3f}", one["why"] or ("excluded" if one["excluded"] else "")]
        for one in found["participants"]
    ]  # fmt: skip
    header = ["participant", "experiment", "agent", "state", "code", "sessions", "trials", "accuracy", "excluded"]
    return Answer(values=found, text=format_table(header, rows) if rows else "Nobody has taken part yet.")


def export_records(
    experiment: str, out: Path | str, database: str, experiments: Path | str | None, *, everything: bool
) -> Answer:
    folder = Path(out).expanduser()
    if folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise UserError(f"{folder} already exists: give --out a new folder, or remove this one.")
    lab = _open(database, experiments)
    find_experiment(lab.experiments, experiment)
    which: dict[str, Any] = {"kind": None, "excluded": True} if everything else {}
    written = write_export(lab, experiment, folder, **which)
    names = [str(path) for path in written if path.parent == folder]
    return Answer(
        values={"experiment": experiment, "out": str(out), "files": names},
        text=f"{experiment}: {len(written)} files in {folder}.",
        folder=folder,
    )


def delete_participant(participant: str, database: str) -> Answer:
    lab = _open(database, None)
    try:
        lab.withdraw(participant)
    except Refused as problem:
        raise UserError(f"{participant}: {problem.text} See `exemplar lab participants`.") from problem
    return Answer(
        values={"participant": participant, "deleted": True}, text=f"Everything of {participant} was deleted."
    )


def remember_experiments(storage: Storage, experiments: Sequence[Mapping[str, Any]]) -> None:
    """Kept with the data, so that commands know what was served; UserError where data of an experiment would change their
    meaning."""
    before = {one["name"]: one for one in map(_complete, json.loads(storage.read_setting("experiments") or "[]"))}
    now = {one["name"]: one for one in map(_complete, experiments)}
    with storage.reading() as connection:
        taken = set(connection.execute(sa.select(PARTICIPANTS.c.experiment).distinct()).scalars())
    for name in sorted(taken & set(before) & set(now)):
        for what in MEANING:
            if before[name].get(what) != now[name].get(what):
                raise UserError(
                    f"The database has participants of {name}, whose {what} was {before[name].get(what)!r} and would be "
                    f"{now[name].get(what)!r}: give the experiment another name, or serve it from another --database."
                )
    left = [
        before[name] for name in sorted(taken & set(before) - set(now))
    ]  # no longer served, but still to be exported
    storage.set_setting("experiments", json.dumps([*map(dict, experiments), *left]))


def _complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """With every setting that was left out."""
    made = make_experiment(settings)
    plain: dict[str, Any] = json.loads(json.dumps({"type": made.type, **asdict(made)}))  # type: ignore[call-overload]
    return plain


def _open(database: str, experiments: Path | str | None) -> Lab:
    """With the experiments of the file; else as they were served last; else the default ones."""
    if "://" not in database and not Path(database).expanduser().is_file():
        raise UserError(f"There is no database {database}: start with `exemplar lab serve`, or give --database.")
    storage = open_storage(database)
    served = storage.read_setting("experiments") if experiments is None else None
    storage.close()
    which = read_experiments(experiments) if served is None else tuple(json.loads(served))
    return open_lab(LabSettings(database, "lab-images", which))
