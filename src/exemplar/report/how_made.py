"""How a page was made: the command, seed, version, date and data of the run folders it shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exemplar.runs import describe_run

Made = list[tuple[str, str]]  # (what, how), a row each


def how_made(folders: Sequence[Path]) -> Made:
    """The last rows of a page about runs: what all of them share is said once."""
    return rows_about([describe_run(folder) for folder in folders])


def rows_about(runs: Sequence[Mapping[str, Any]]) -> Made:
    """runs: as `describe_run` gives them. Names of machines, which differ from place to place, are left out."""
    rows = {
        "command": [describe_command(run) for run in runs],
        "seed": [str(run["seed"]) for run in runs],
        "data": [f"{name} (content {content[:12]})" for run in runs for name, content in run["data"].items()],
        "version": [describe_version(run) for run in runs],
        "date": [describe_date(run) for run in runs],
    }
    return [(what, separator.join(dict.fromkeys(filter(None, texts)))) for what, texts in rows.items()
            for separator in ["\n" if what == "command" else ", "] if any(texts)]  # fmt: skip


def describe_command(run: Mapping[str, Any]) -> str:
    """The line that was typed, or, where Python made the run, what it is a run of."""
    command = str(run["command"])
    sessions = run["provenance"].get("sessions") or [{}]
    typed = [str(word) for word in sessions[-1].get("argv", [])]
    known = {command.split()[0], "tour", "results"} if command else set()
    return f"exemplar {shlex.join(typed)}" if typed and typed[0] in known else f"exemplar {command} (from Python)"


def describe_version(run: Mapping[str, Any]) -> str:
    """`Exemplar 0.1.0 at commit 0123456789`."""
    about = run["provenance"]
    if "exemplar" not in about:
        return ""
    git = about.get("git")
    changed = ", with changes of your own" if git and git.get("changed") else ""
    return f"Exemplar {about['exemplar']}" + (f" at commit {git['commit'][:10]}{changed}" if git else "")


def describe_date(run: Mapping[str, Any]) -> str:
    """The day the run was last worked on, as 2025-06-24; nothing where it never was."""
    sessions = run["provenance"].get("sessions") or [{}]
    return str(sessions[-1].get("started", ""))[:10]
