"""A verb as a command: its signature gives the options, its docstring the help, its answer what is printed."""

from __future__ import annotations

import inspect
import json as json_module
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exemplar.cli.completion import complete
from exemplar.options import Argument, list_arguments

if TYPE_CHECKING:
    from exemplar.answers import Answer

JSON = inspect.Parameter(
    "json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")],
)


def make_command(verb: Callable[..., Answer]) -> Callable[..., None]:
    """What typer calls: the verb with the options of its signature, and --json."""

    arguments = list(list_arguments(verb))
    empty = {argument.name for argument in arguments if argument.default == ()}

    def command(json: bool, **given: Any) -> None:
        found = {name: () if value is None and name in empty else value for name, value in given.items()}
        show(verb(**found), as_json=json)

    parameters = [*map(_parameter, arguments), JSON]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = verb.summary  # type: ignore[attr-defined]
    command.__name__ = verb.__name__
    return command


def show(answer: Answer, *, as_json: bool) -> None:
    """Warnings to standard error; the answer to standard output, as one JSON object or as text."""
    for sentence in answer.warnings:
        typer.echo(f"exemplar: warning: {sentence}", err=True)
    typer.echo(json_module.dumps(answer.json(), ensure_ascii=False) if as_json else answer.text)
    if not answer.ok:
        raise typer.Exit(1)


def _parameter(argument: Argument) -> inspect.Parameter:
    option, kind = argument.option, argument.kind
    about: dict[str, Any] = {"help": option.describe(), "metavar": option.metavar, "autocompletion": complete(argument)}
    if option.positional:
        how: Any = typer.Argument(**about, show_default=argument.default is not None)
    else:
        how = typer.Option(argument.flag, **about)
    default = None if argument.default == () else argument.default  # typer takes no tuple for a list
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(argument.name, keyword, default=default, annotation=Annotated[kind, how])
