"""The command line: parse, call one verb, print. A room's commands are made from its verbs; nothing is declared twice.

Only the group of commands that is asked for is imported, so that help answers at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import typer

from exemplar import __version__, rooms
from exemplar.cli.commands import make_command
from exemplar.errors import NO_ROOM, UserError
from exemplar.progress import forget_kept, is_kept

STOPPED = 130  # the exit code of Ctrl-C
ABOUT = "What can you do after seeing something once? The same few-shot visual tasks for people and machines."
HELP = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True)
class Group:
    """Commands that share their first word. module: where the verbs are; commands, resumes: as in `rooms.Room`."""

    name: str
    help: str
    module: str
    commands: Mapping[str, str]
    resumes: Sequence[str] = ()


def list_groups() -> list[Group]:
    """One per room, then those of the house."""
    found = [Group(room.group or room.name, room.help, f"exemplar.{room.name}", room.commands, room.resumes)
             for room in rooms.list_rooms()]  # fmt: skip
    runs = {"list": "show_runs", "show": "show_run"}
    results = {"list": "list_results", "run": "run", "verify": "verify", "page": "page", "pack": "pack", "check": "check",
               "leaderboards": "leaderboards"}  # fmt: skip
    return [
        *found,
        Group("runs", "Run folders: what was asked, done and scored.", "exemplar.runs", runs),
        Group("results", "The project's own numbers, computed again; leaderboards, and submissions to them.",
              "exemplar.results", results, ("run",)),
    ]  # fmt: skip


def make_app(word: str = "") -> typer.Typer:
    """The whole command line; of groups other than `word`, only the help."""
    app = typer.Typer(
        help=ABOUT,
        epilog="A mistake prints one sentence and exits with 2. --debug, anywhere on the line, shows the traceback.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=HELP,
    )
    app.callback()(_options)
    for group in list_groups():
        app.add_typer(_make_group(group, filled=group.name == word), name=group.name)
    app.command("tour")(_tour(filled=word == "tour"))
    return app


def _make_group(group: Group, *, filled: bool) -> typer.Typer:
    app = typer.Typer(help=group.help, no_args_is_help=True)
    if not filled:
        app.command("help")(lambda: None)  # a group must have a command to be listed
        return app
    door = import_module(group.module)
    inner: dict[str, typer.Typer] = {}
    for words, verb in group.commands.items():
        first, _, second = words.partition(" ")
        if second and first not in inner:
            inner[first] = typer.Typer(help=f"See exemplar {group.name} {first} COMMAND --help.", no_args_is_help=True)
            app.add_typer(inner[first], name=first)
        (inner[first] if second else app).command(second or first)(make_command(getattr(door, verb)))
    if len(group.commands) == 1:
        app.callback()(lambda: None)  # typer would leave the command's own word out
    return app


def _tour(*, filled: bool):  # type: ignore[no-untyped-def]
    if not filled:
        return _tour_help
    from exemplar.touring import tour

    return make_command(tour)


def _tour_help() -> None:
    """See what Exemplar does, in a few minutes: every room on data the package makes itself, as one page."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"exemplar {__version__}")
        raise typer.Exit


def _options(
    show_version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """Run a command; a user's mistake is one sentence on standard error and exit code 2, a bug of ours is 1."""
    words = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(words) < len(sys.argv) - 1
    forget_kept()
    try:
        code = make_app(next((word for word in _typed(words) if not word.startswith("-")), ""))(
            words, prog_name="exemplar", standalone_mode=False
        )
        sys.stdout.flush()
        if code == STOPPED:  # typer has turned Ctrl-C into its code already
            raise KeyboardInterrupt
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        resumes = is_kept() and _resumes(words)
        kept = "; what was done so far is kept, and the same command resumes there" if resumes else ""
        code = say(f"stopped{kept}", STOPPED)
    except UserError as problem:
        code = say(str(problem), 2)
        if debug:
            traceback.print_exc()
            print(getattr(problem, "details", ""), file=sys.stderr)
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in NO_ROOM:
            place = problem.filename or "a file"
            code = say(f"{place} cannot be written ({problem.strerror}): make room, or choose another place", 2)
        elif hasattr(problem, "format_message"):  # the parser's: an unknown option, a missing argument
            code = say(problem.format_message().replace("\n", " ") or "see exemplar --help", 2)
        else:
            code = say(f"{type(problem).__name__}: {problem} (this is a bug in Exemplar: --debug shows where)", 1)
            if debug:
                traceback.print_exc()
    sys.exit(code)


def _typed(words: Sequence[str]) -> Sequence[str]:
    """The words of a command line: this one, or the one that a shell wants to complete, which it tells by its environment."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:] if "_EXEMPLAR_COMPLETE" in os.environ else words


def _resumes(words: Sequence[str]) -> bool:
    """Whether a command keeps what it has done, so that calling it again goes on from there."""
    said = " ".join([*words, ""])
    known = [f"{group.name} {command} " for group in list_groups() for command in group.resumes]
    return said.startswith(("tour ", *known))


def say(sentence: str, code: int) -> int:
    print(f"exemplar: {sentence}", file=sys.stderr)
    return code
