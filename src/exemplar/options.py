"""A verb's arguments, each declared once: type, range and help stand in its signature, as `Annotated[int, Option("…", low=0)]`.

The command line makes its options from the signature, `help(verb)` its list of arguments, and a call from Python is checked by
the same ranges, in the same words. Nothing here is heavy: `exemplar --help` reads every signature of a room.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from exemplar.errors import UserError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exemplar.engine import Backend

    Names = Sequence[str]
    Place = Path | str
else:  # what the command line parses
    Names = list[str]
    Place = Path


@dataclass(frozen=True)
class Option:
    """One argument of a verb. help: a sentence; low, high: the range, both ends included; name: on the command line, `--` and
    the argument's own name unless given; positional: it stands by itself there; metavar: what help calls its value; choices:
    all that it may be, where :N takes any number; kind: what an unknown one is called, the argument's own name unless given;
    known: for the shell's completion, what else names its values (`cli.completion.WORDS`)."""

    help: str
    low: float | None = None
    high: float | None = None
    name: str = ""
    positional: bool = False
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    kind: str = ""
    known: str = ""

    def describe(self) -> str:
        """The help, and the range or the choices where there are some."""
        ends = {"at least": self.low, "at most": self.high}
        told = " and ".join(f"{words} {_plain(end)}" for words, end in ends.items() if end is not None)
        told = told or " | ".join(self.choices)
        return f"{self.help} ({told})" if told else self.help

    def check(self, argument: str, value: Any) -> None:
        """Refuse a number outside the range, and a word that is none of the choices. argument: what it is called."""
        if self.choices and isinstance(value, str) and re.sub(r":\d+$", ":N", value) not in self.choices:
            raise unknown(self.kind or argument.replace("-", " "), value, self.choices)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if self.low is not None and not value >= self.low:
            raise UserError(f"{argument} must be at least {_plain(self.low)}, got {value}.")
        if self.high is not None and not value <= self.high:
            raise UserError(f"{argument} must be at most {_plain(self.high)}, got {value}.")


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


@dataclass(frozen=True)
class Argument:
    """An argument as a signature declares it. kind: its type without the Option; default: `Parameter.empty` if it has none."""

    name: str
    kind: Any
    option: Option
    default: Any

    @property
    def flag(self) -> str:
        """`--one-shot`."""
        return self.option.name or f"--{self.name.replace('_', '-')}"

    def checked(self, value: Any) -> Any:
        """The value, if it is of this kind and in range; one text, or one thing, stands for a list of one, and `~` for the
        user's own folder."""
        called = self.flag.partition("/")[0].lstrip("-")
        kinds = typing.get_args(self.kind) or (self.kind,)
        if self.kind == list[str]:
            alone = isinstance(value, str) or callable(value) or not hasattr(value, "__iter__")
            some = (value,) if alone and value is not None else value
            if self.option.choices:
                for each in some or ():
                    self.option.check(called, each)
            return some and type(some)(map(_at_home, some)) if isinstance(some, tuple | list) else some
        value = _at_home(value)
        if self.name in WRITTEN and value is not None:
            check_written(Path(value))
        if value is None or value is self.default:
            return value
        whole, real = int in kinds, float in kinds
        number = hasattr(value, "__index__") or (real and hasattr(value, "__float__"))
        if (whole or real) and (isinstance(value, bool | str) or not number):
            raise UserError(f"{called} must be a {'whole ' * (not real)}number, got {value!r}.")
        self.option.check(called, value)
        return value


def _at_home(value: Any) -> Any:
    """A path or word that begins with ~ as the shell would have it, also after `=` or in quotes, where it does not."""
    if not isinstance(value, str | Path) or not str(value).startswith("~"):
        return value
    return type(value)(os.path.expanduser(value))  # noqa: PTH111 (which leaves what is no user's folder as it is)


WRITTEN = ("out", "html", "figure")  # what a verb writes is called so
HIGHEST_SEED = 2**32 - 1
ENGINES = ("here", "pool", "ray")

Seed = Annotated[int, Option("The same seed gives the same bytes.", low=0, high=HIGHEST_SEED)]
Device = Annotated[str, Option("Where networks run.", choices=("auto", "cpu", "cuda", "cuda:N"))]
Engine = Annotated[str, Option("Who computes.", choices=ENGINES)]
Workers = Annotated[int | None, Option("Processes of the pool; one per core unless given.", low=1)]
Address = Annotated[str | None, Option("A running Ray cluster, with --engine ray.")]

Verb = TypeVar("Verb", bound=Callable[..., Any])


def verb(function: Verb) -> Verb:
    """A function of a room's front door: its arguments are checked by their Options, and listed in its docstring."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as problem:
            raise TypeError(f"{function.__name__}: {problem}") from None
        for argument in list_arguments(function):
            if argument.name in bound.arguments:
                bound.arguments[argument.name] = argument.checked(bound.arguments[argument.name])
        return function(*bound.args, **bound.kwargs)

    summary, gap, rest = (function.__doc__ or "").partition("\n\n")
    arguments = {argument.name: argument for argument in list_arguments(function)}
    listed = "\n".join(f"        {name}: {argument.option.describe()}" for name, argument in arguments.items())
    checked.__signature__ = signature.replace(  # type: ignore[attr-defined]  # types as they are, not their aliases
        parameters=[p.replace(annotation=arguments[p.name].kind) for p in signature.parameters.values()]
    )
    checked.__doc__ = f"{summary}\n\n    Args:\n{listed}\n{gap and chr(10)}{rest}"
    checked.summary = " ".join(summary.split())  # type: ignore[attr-defined]
    return typing.cast(Verb, checked)


def list_arguments(function: Callable[..., Any]) -> Iterator[Argument]:
    """The arguments of a verb that have an Option, in the order of its signature."""
    hints = _hints(inspect.unwrap(function))
    for parameter in inspect.signature(function).parameters.values():
        for extra in getattr(hints[parameter.name], "__metadata__", ()):
            if isinstance(extra, Option):
                yield Argument(parameter.name, hints[parameter.name].__origin__, extra, parameter.default)


@functools.cache
def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    names = dict.fromkeys(inspect.signature(function).parameters)
    known = vars(inspect.getmodule(function)) if inspect.getmodule(function) else function.__globals__
    plain = functools.partial(typing.get_type_hints, include_extras=True, globalns=dict(known))
    only = type("Signature", (), {"__annotations__": {n: function.__annotations__[n] for n in names}})
    return plain(only)


def make_backend(engine: str, workers: int | None, address: str | None) -> Backend:
    """Who computes, by the names of the options Engine, Workers and Address."""
    from exemplar.engine import backend

    return backend(engine, workers, address)


def check_written(place: Path) -> None:
    """Refuse, before anything begins, a file or folder that cannot be written where it is to be; nothing is made there."""
    from exemplar.files import check_folder

    with suppress(OSError):  # a name no file system takes is refused by whoever makes the place
        check_folder(place if place.is_dir() else place.parent)


def check_path(path: Path | str, ending: str, what: str) -> Path:
    """The place of a file that a verb will write, if its name ends as it must and it can be written.

    >>> check_path("page.txt", ".html", "The comparison")
    Traceback (most recent call last):
    exemplar.errors.UserError: The comparison is an .html file: rename page.txt to end with .html.
    """
    from exemplar.files import check_place

    place = Path(path).expanduser()
    if place.suffix.lower() != ending:
        article = "an" if ending[1] in "aehnos" else "a"
        raise UserError(f"{what} is {article} {ending} file: rename {path} to end with {ending}.")
    check_place(place)
    return place
