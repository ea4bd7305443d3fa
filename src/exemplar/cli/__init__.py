"""The command line: one file a command group. What is heavy is imported inside the commands, so that help answers at once."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from exemplar import __version__
from exemplar.cli import data, draw, learn, results, runs, spaces, tour
from exemplar.errors import UserError

STOPPED = 130  # the exit code of Ctrl-C
GOING_ON = (  # commands that keep what they have done, and go on from there when they are called again
    "tour", "data fetch", "spaces train", "spaces encode", "draw score", "draw compare", "draw quickdraw-fs cluster",
    "learn study", "results run",
)  # fmt: skip

app = typer.Typer(
    help="What can you do after seeing something once? The same few-shot visual tasks for people and machines.",
    epilog="A mistake prints one sentence and exits with 2. --debug, anywhere on the line, shows the traceback.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data.app, name="data")
app.add_typer(spaces.app, name="spaces")
app.add_typer(draw.app, name="draw")
app.add_typer(learn.app, name="learn")
app.add_typer(runs.app, name="runs")
app.add_typer(results.app, name="results")
app.command("tour")(tour.tour)


def version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"exemplar {__version__}")
        raise typer.Exit


@app.callback()
def options(
    show_version: bool = typer.Option(False, "--version", callback=version, is_eager=True, help="Print the version."),
) -> None:
    """What can you do after seeing something once? The same few-shot visual tasks for people and machines."""


def main() -> None:
    """Run a command; a user's mistake is one sentence on standard error and exit code 2, a bug of ours is 1."""
    words = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(words) < len(sys.argv) - 1
    try:
        code = app(words, prog_name="exemplar", standalone_mode=False)
        sys.stdout.flush()
        if code == STOPPED:  # typer has turned Ctrl-C into its code already
            raise KeyboardInterrupt
    except BrokenPipeError:  # whoever was reading, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        going_on = " ".join([*words, ""]).startswith(tuple(f"{name} " for name in GOING_ON))
        kept = "; what was kept so far stays, the same command goes on from there" if going_on else ""
        code = say(f"stopped{kept}", STOPPED)
    except UserError as problem:
        code = say(str(problem), 2)
        if debug:
            traceback.print_exc()
            print(getattr(problem, "details", ""), file=sys.stderr)
    except Exception as problem:
        if hasattr(problem, "format_message"):  # the parser's: an unknown option, a missing argument
            code = say(problem.format_message().replace("\n", " ") or "see exemplar --help", 2)
        else:
            code = say(f"{type(problem).__name__}: {problem} (this is a bug in Exemplar: --debug shows where)", 1)
            if debug:
                traceback.print_exc()
    sys.exit(code)


def say(sentence: str, code: int) -> int:
    print(f"exemplar: {sentence}", file=sys.stderr)
    return code
