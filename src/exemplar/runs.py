"""A run's folder: what was asked, what was done, what it was worth, and where it all came from.

    with open_run(folder, command="draw score", config=config, seed=0, data={"glyphs/weak-test": data.fingerprint}) as run:
        results = run.map(job, jobs)      # killed and opened again, only what is missing is computed
        run.save(Drawings.of(…))
        run.save(Scores.collect(…))

The folder holds `config.json` (what makes this run this run), the tables, and `provenance.json` (when, where, with what, how
long), which says "finished" only when everything else is there. Opened again with the same config a killed run resumes, and
ends with the same tables, byte for byte, as if nothing had happened; with another config it is refused.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import metadata
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from exemplar import __version__, engine
from exemplar.answers import Answer, as_rows, format_pairs, format_scores, format_table
from exemplar.errors import NoRoom, UserError
from exemplar.files import PART, whole_file
from exemplar.options import Option, Place, verb
from exemplar.progress import note_kept
from exemplar.records import Score, Scores, Table
from exemplar.store import Store, package_sources

LIBRARIES = ("numpy", "scipy", "torch", "pandas", "pyarrow")


@dataclasses.dataclass(frozen=True)
class Run:
    """An open run. identity: what config.json says; finished: it was done already when it was opened."""

    folder: Path
    identity: dict[str, Any]
    finished: bool
    backend: engine.Backend | None = None

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any], *, label: str = "working") -> list[Any]:
        """As `engine.map`, with results kept in this folder until the run is finished."""
        return engine.map(function, jobs, label=label, backend=self.backend, store=self.store)

    @property
    def store(self) -> Store:
        return Store(self.folder / "jobs.sqlite")

    def save(self, table: Table, name: str | None = None) -> Path:
        """Write a table into the folder, named after its kind unless another name is given."""
        return table.save(self.folder, name)


@contextmanager
def open_run(
    folder: Path | str,
    *,
    command: str,
    config: Any,
    seed: int,
    variant: str = "",
    data: dict[str, str] | None = None,
    backend: engine.Backend | None = None,
    keep: str = "",
) -> Iterator[Run]:
    """Begin a run, or resume it. config: a dataclass or dict; data: name → fingerprint of what it reads.

    A user's mistake inside leaves nothing of the folders that were made for the run, unless there are files that match `keep`:
    work done already, for when the mistake is fixed. So does a full disk, unless jobs are done already. Whatever else ends it
    (Ctrl-C, a kill, a bug of ours) leaves them.
    """
    folder = Path(folder)
    identity = _identity(command, config, seed, variant) | {"data": plain(data or {})}
    _agree(folder, identity)
    with _alone(folder) as made:
        before = read_json(folder / "provenance.json") if (folder / "provenance.json").exists() else {}
        run = Run(folder, identity, before.get("state") == "finished", backend)
        if run.finished:
            yield run
            run.store.path.unlink(missing_ok=True)
            return
        for rest in folder.glob(f".*{PART}"):  # what a kill left half-written
            rest.unlink()
        sessions = [*before.get("sessions", []), {"started": _now(), "host": platform.node(), "argv": sys.argv[1:]}]
        start = time.monotonic()
        try:
            write_json(folder / "config.json", identity)
            write_json(folder / "provenance.json", {"state": "running", "sessions": sessions, **_provenance(identity)})
            yield run
        except UserError as problem:
            begun = isinstance(problem, NoRoom) and run.store.path.exists()
            if not before and not begun and not (keep and any(folder.glob(keep))):
                _remove(made)
            raise
        sessions[-1]["seconds"] = round(time.monotonic() - start, 3)
        known = [session["seconds"] for session in sessions if "seconds" in session]
        cost = {"duration_s": round(sum(known), 3), "sessions_killed": len(sessions) - len(known)}
        write_json(
            folder / "provenance.json", {"state": "finished", **cost, "sessions": sessions, **_provenance(identity)}
        )
        note_kept()
        run.store.path.unlink(missing_ok=True)  # its results are in the tables now


def check_run(
    folder: Path | str, *, command: str, config: Any, seed: int, variant: str = "", data: dict[str, str] | None = None
) -> None:
    """Refuse at once what `open_run` would refuse, before anything long begins, and leave nothing behind.

    data: None where it is not known yet what the run reads.
    """
    folder = Path(folder)
    identity = _identity(command, config, seed, variant)
    _agree(folder, identity if data is None else identity | {"data": plain(data)})
    with _alone(folder) as made:
        _remove(made)


def list_runs(folder: Path | str) -> list[Path]:
    """The run folders below a folder, in order of their names."""
    found = []
    for config in sorted(Path(folder).rglob("config.json")):
        with suppress(UserError):
            if read_json(config).get("exemplar") == "run":
                found.append(config.parent)
    return found


def describe_run(folder: Path | str) -> dict[str, Any]:
    """config, provenance and the names of the tables of a run."""
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} is no run folder: it has no config.json (exemplar runs list shows those there are)")
    about = {"folder": str(folder), **read_json(folder / "config.json")}
    provenance = folder / "provenance.json"
    about["provenance"] = read_json(provenance) if provenance.is_file() else {"state": "never started"}
    about["tables"] = sorted(path.stem for path in folder.glob("*.parquet"))
    return about


def load_scores(folder: Path | str) -> list[Score]:
    """The scores of a run; none if it has not got that far."""
    return list(Scores.load(folder)) if (Path(folder) / "scores.parquet").is_file() else []


@verb
def show_runs(
    folder: Annotated[Place, Option("Where to look; all folders below are searched.", positional=True)] = Path(),
) -> Answer:
    """The runs below a folder, with their state.

    >>> import exemplar as ex
    >>> _ = ex.recall.run("chance", data="glyphs", n=2, engine="here", out="shown/chance")
    >>> [run["command"] for run in ex.runs.show_runs("shown")["runs"]]
    ['recall run']
    """
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise UserError(f"there is no folder {folder}")
    found = [describe_run(path) for path in list_runs(place)]
    header = ("folder", "command", "seed", "variant", "state", "seconds")
    rows = []
    for run in found:
        done = run["provenance"]
        state, seconds = done.get("state"), done.get("duration_s", "")
        rows.append((run["folder"], run["command"], run["seed"], run["variant"], state, seconds))
    text = format_table(header, rows) if rows else f"no runs below {place.resolve()}"
    return Answer(values={"runs": found}, text=text)


@verb
def show_run(folder: Annotated[Place, Option("A run folder.", positional=True)]) -> Answer:
    """What one run was asked, where it ran, and its scores.

    >>> import exemplar as ex
    >>> _ = ex.recall.run("chance", data="glyphs", n=2, engine="here", out="shown/chance")
    >>> ex.runs.show_run("shown/chance")["config"]["agent"]
    'chance'
    """
    place = Path(folder).expanduser()
    about, scores = describe_run(place), load_scores(place)
    about["scores"] = as_rows(scores)
    provenance = about["provenance"]
    facts: dict[str, Any] = {key: about[key] for key in ("command", "config", "seed", "variant", "data")}
    facts |= {key: provenance.get(key, "") for key in ("state", "duration_s", "exemplar", "git", "host")}
    facts["tables"] = ", ".join(about["tables"])
    text = format_pairs(facts) + (f"\n\n{format_scores(scores)}" if scores else "")
    return Answer(values=about, text=text, scores=Scores.collect(scores) if scores else None, folder=place)


def plain(value: Any) -> Any:
    """As JSON has it: dataclasses and dicts become dicts, tuples lists, paths text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value


def write_json(path: Path, value: Any) -> None:
    with whole_file(path) as part:
        part.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise UserError(f"{path} cannot be read ({problem}): remove the folder and run again") from problem
    if not isinstance(content, dict):
        raise UserError(f"{path} is no JSON object: remove the folder and run again")
    return content


def _identity(command: str, config: Any, seed: int, variant: str) -> dict[str, Any]:
    """What makes a run this run, all but the data it reads."""
    about: dict[str, Any] = plain(
        {"command": command, "config": config, "seed": seed, "variant": variant, "exemplar": "run"}
    )
    return about


def _agree(folder: Path, identity: dict[str, Any]) -> None:
    """Refuse a folder that holds another run (in what identity says), or that holds things but no run."""
    try:
        if not folder.exists():
            return
    except OSError as problem:  # a name no file system takes
        raise UserError(f"{folder} cannot be a folder ({problem.strerror}): give --out another one") from problem
    if not folder.is_dir():
        raise UserError(f"{folder} is a file: give --out a folder")
    if not (folder / "config.json").is_file():
        ours = {".lock"} | {path.name for path in folder.glob(f".*{PART}")}
        others = [path.name for path in folder.iterdir() if path.name not in ours]
        if others:
            raise UserError(f"{folder} is not empty and holds no run ({others[0]} is there): give --out another folder")
        return
    there = read_json(folder / "config.json")
    if "data" not in identity:
        there.pop("data", None)
    if there != identity:
        what = _first_difference(there, identity)
        raise UserError(f"{folder} holds another run ({what}): give --out another folder, or remove this one")


def tell_apart(agents: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """What runs are called: by agent; where two are called the same, by as much of the end of the folder as tells them apart.

    >>> tell_apart(["a", "a", "b"], [Path("one/x"), Path("two/x"), Path("x")])
    ['a (one/x)', 'a (two/x)', 'b']
    """
    names = []
    for agent, folder in zip(agents, folders, strict=True):
        parts = folder.resolve().parts
        same = [f.resolve().parts for a, f in zip(agents, folders, strict=True) if a == agent and f is not folder]
        depth = next((k for k in range(1, len(parts)) if all(parts[-k:] != other[-k:] for other in same)), len(parts))
        names.append(f"{agent} ({'/'.join(parts[-depth:])})" if same else agent)
    return names


def _first_difference(there: Any, here: Any, name: str = "") -> str:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *there]:
            if there.get(key) != here.get(key):
                return _first_difference(there.get(key), here.get(key), f"{name}.{key}" if name else str(key))
    return f"{name} is {there!r:.60} there, {here!r:.60} here"


@contextmanager
def _alone(folder: Path) -> Iterator[tuple[Path, ...]]:
    """One process at a time works in a folder; the lock ends with the process, however it ends. Gives the folders that were
    made for it, the innermost first."""
    try:
        made = tuple(takewhile(lambda place: not place.exists(), (folder, *folder.parents)))
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as problem:
        raise UserError(f"{folder} cannot be written to ({problem.strerror}): give --out another folder") from problem
    with lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows has no flock: there the lock is only a wish
            pass
        except OSError as problem:
            raise UserError(
                f"another process is at work in {folder}: wait for it, or give --out another folder"
            ) from problem
        yield made


def _remove(made: tuple[Path, ...]) -> None:
    """A run's own folder with all that is in it, and those it lies in, if they hold nothing else."""
    for folder in made[:1]:
        shutil.rmtree(folder, ignore_errors=True)
    for folder in made[1:]:
        with suppress(OSError):
            folder.rmdir()


def _provenance(identity: dict[str, Any]) -> dict[str, Any]:
    versions = {}
    for library in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[library] = metadata.version(library)
    return {
        "exemplar": __version__,
        "sources": package_sources(),
        "git": _git(),
        **{key: identity[key] for key in ("seed", "variant", "data")},
        "python": platform.python_version(),
        "libraries": versions,
        "host": {"name": platform.node(), "system": platform.platform(), "cores": os.cpu_count()},
    }


def _git() -> dict[str, Any] | None:
    """Commit and state of the checkout the package runs from; None where it is installed without one."""
    root = Path(__file__).parent

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10)

    try:
        if ask("ls-files", "--error-unmatch", __file__).returncode:
            return None
        changed = ask("status", "--porcelain", "--", str(root)).stdout.strip()
        return {"commit": ask("rev-parse", "HEAD").stdout.strip(), "changed": bool(changed)}
    except (OSError, subprocess.SubprocessError):
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
