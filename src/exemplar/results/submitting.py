"""A run as a submission to a leaderboard: packed with its hashes, and checked: scored again from its records by the code that
scores everyone. The verbs `pack` and `check`."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exemplar import rooms
from exemplar.answers import Answer, by_name, format_scores
from exemplar.errors import UserError, shortened
from exemplar.files import check_place, first_line, reading, whole_file
from exemplar.options import check_path
from exemplar.records import Score, Scores
from exemplar.results.kept import differences
from exemplar.results.standings import keep_submission, place_among, row_of
from exemplar.rooms import Leaderboard
from exemplar.runs import describe_run, load_scores, read_json

MANIFEST = "submission.json"
ENDINGS = (".json", ".parquet", ".npz")  # of what is packed: no pages, no figures
SEED = 0  # of every run on a leaderboard
MOST_BYTES = 2**31  # that a submission may unpack to
PRIVATE = ("host", "sessions", "git")  # of provenance.json: names of machines, folders and commits


def pack_run(run: Path | str, out: Path | str | None) -> Answer:
    """One zip of a finished run's records and scores, with a SHA-256 of each; the same run makes the same bytes."""
    folder = Path(run).expanduser()
    name, board = find_board(folder)
    place = check_path(out if out is not None else f"{folder.name}.zip", ".zip", "A submission")
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in ENDINGS}
    about = read_json(folder / "provenance.json")
    contents["provenance.json"] = _as_json({key: value for key, value in about.items() if key not in PRIVATE})
    hashes = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
    contents[MANIFEST] = _as_json({"exemplar": "submission", "leaderboard": name, "files": hashes})
    check_place(place)
    with whole_file(place) as part, zipfile.ZipFile(part, "w") as archive:
        for file, content in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(file), content, zipfile.ZIP_DEFLATED)  # without the time of day
    values = {"submission": str(place), "leaderboard": name, "bytes": place.stat().st_size, "files": hashes}
    text = f"{place}: {len(hashes)} files for the leaderboard {name} ({board.title}).\nexemplar results check {place}"
    return Answer(values=values, text=text)


def check_submission(place: Path | str, commit: bool) -> Answer:
    """Whether a submission, or the run that would be one, can stand on its leaderboard, and where."""
    with opened(Path(place).expanduser()) as (folder, hashes):
        with as_written():
            name, board = find_board(folder)
            assert board.check is not None, "a board that a run can be near to checks it"
            check_seed(describe_run(folder)["seed"])
            placed = board.check(folder)
        check_same(load_scores(folder), placed.scores)
    row = row_of(placed.scores, board)
    standing = place_among(row, name, board)
    if commit:
        keep_submission(name, placed.agent, list(row.values()), SEED, hashes)
    values = {"leaderboard": name, "agent": placed.agent, "scores": by_name(row.values()), **standing}
    values |= {"facts": dict(placed.facts), "unproven": list(placed.unproven), "files": dict(hashes)}
    where = f"It stands {standing['place']} of {standing['of']} by {board.columns[0]}." if standing["place"] else ""
    told = [
        f"{placed.agent} on {name} ({board.title}), scored again from its records:",
        format_scores(list(row.values())),
    ]
    told += [where, "What a record cannot show:", *(f"- {sentence}" for sentence in placed.unproven)]
    return Answer(values=values, text="\n".join(filter(None, told)), scores=Scores.collect(placed.scores))


def find_board(folder: Path) -> tuple[str, Leaderboard]:
    """The leaderboard that a finished run is meant for."""
    if not folder.exists():
        raise UserError(f"There is no {folder}: give a run's folder, or what exemplar results pack made of one.")
    about = describe_run(folder)
    if about["provenance"].get("state") != "finished":
        raise UserError(f"The run in {folder} is not finished: run it again, and it resumes where it stopped.")
    command = str(about.get("command"))
    room = next((room for room in rooms.list_rooms() if (room.group or room.name) == command.partition(" ")[0]), None)
    boards = {} if room is None else room.leaderboards()
    for name, board in boards.items():
        if board.near(folder):
            return name, board
    if not boards:
        raise UserError(f"There is no leaderboard for runs of exemplar {command}.")
    ways = dict.fromkeys(board.command for board in boards.values() if board.command)
    if not ways:
        raise UserError(
            f"Runs of exemplar {command} cannot be submitted: the package makes the rows of this leaderboard."
        )
    raise UserError(f"The run is of no task on a leaderboard: those of this room are made by {shortened(ways, 3)}.")


@contextmanager
def as_written() -> Iterator[None]:
    """What a run's folder from anywhere holds may not be as we write it: then it is refused, too."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
        raise UserError(
            f"The submission is not as exemplar writes it ({type(problem).__name__}: {first_line(problem)}): pack the run's "
            "own folder."
        ) from problem


def check_seed(seed: object) -> None:
    """A seed of one's own choice could be the luckiest of many."""
    if seed != SEED:
        raise UserError(f"The tasks of leaderboards have seed {SEED}, the run has seed {seed}: leave --seed out.")


def check_same(stated: Sequence[Score], found: Sequence[Score]) -> None:
    """Refuse scores that do not follow from the records, whichever of the two was edited."""
    if not stated:
        raise UserError("The submission has no scores.parquet: pack the run's folder as exemplar wrote it.")
    if changed := differences(stated, found):
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        raise UserError(
            f"The scores do not follow from the records, {changed[0]} when scored again{more}: one was changed."
        )


@contextmanager
def opened(place: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """The folder of a submission, unpacked if it must be, and the SHA-256 of each of its files."""
    if place.is_dir():
        files = [path for path in sorted(place.iterdir()) if path.suffix in ENDINGS]
        yield place, {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        return
    if not place.exists():
        raise UserError(f"There is no {place}: give a run's folder, or what exemplar results pack made of one.")
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder), _unpack(place, Path(folder))


def _unpack(place: Path, folder: Path) -> Mapping[str, str]:
    """Into a folder, if every file is one that its manifest lists, with the bytes that it lists."""
    with reading(place, "a submission"), zipfile.ZipFile(place) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        strange = [
            name for name in sizes if Path(name).suffix not in ENDINGS or name != Path(name).name or name[0] == "."
        ]
        if strange or sum(sizes.values()) > MOST_BYTES:
            what = f"{shortened(strange, 3)} in it" if strange else "more than 2 GB in it"
            raise UserError(f"{place} is no submission, it has {what}: make it with exemplar results pack.")
        contents = {name: archive.read(name) for name in sizes}
    try:
        manifest = json.loads(contents.pop(MANIFEST, b"null"))
        hashes = dict(manifest["files"])
    except (ValueError, TypeError, KeyError) as problem:
        raise UserError(
            f"{place} has no {MANIFEST} that lists its files: make it with exemplar results pack."
        ) from problem
    if set(hashes) != set(contents):
        odd = sorted(set(hashes) ^ set(contents))
        raise UserError(f"{place} does not hold the files it lists ({shortened(odd, 3)}): pack the run again.")
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != hashes[name]:
            raise UserError(
                f"{place}: {name} was changed after it was packed (its SHA-256 is another): pack the run again."
            )
        (folder / name).write_bytes(content)
    return hashes


def _as_json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
