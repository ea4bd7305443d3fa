"""Where a module can be broken, and a sample of it: each place is as likely as any other, and then each mutation of it."""

from __future__ import annotations

import ast
import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
import numpy as np
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from omissions import OMISSIONS

Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Mutant:
    """file: relative to the checkout; occurrence: of the operator in the file."""

    file: str
    line: int
    operator: str
    occurrence: int

    @property
    def key(self) -> str:
        return f"{self.file}:{self.operator}:{self.occurrence}"


def modules() -> dict[str, dict]:
    """What mutants/modules.toml says of each."""
    return tomllib.loads((Path(__file__).parent / "modules.toml").read_text(encoding="utf-8"))


def shuffle_mutants(root: Path, sources: list[str], module: str) -> list[Mutant]:
    """In an order that is the same for the same sources: one of each place, then another one of each, and so on."""
    rng = np.random.default_rng([*module.encode(), 20261118])
    places = [[place[k] for k in rng.permutation(len(place))] for place in find_places(root, sources)]
    places = [places[k] for k in rng.permutation(len(places))]
    rounds = range(max(map(len, places)))
    return [place[number] for number in rounds for place in places if number < len(place)]


def find_places(root: Path, sources: list[str]) -> Iterator[list[Mutant]]:
    """The mutants of each place: of one operator family, at one position in one file."""
    for file in source_files(root, sources):
        code = (root / file).read_text(encoding="utf-8")
        ignored = list(_never_run(code))
        nodes = list(ast_nodes(get_ast(code)))
        by_place: dict[tuple[str, Span], list[Mutant]] = {}
        for name in operator_names():
            operator = make_operator(name)
            positions = (span for node in nodes for span in operator.mutation_positions(node))
            for occurrence, span in enumerate(positions):
                if not any(start <= span[0] and span[1] <= end for start, end in ignored):
                    family = "_".join(name.split("_")[:1])
                    mutant = Mutant(file, span[0][0], name, occurrence)
                    by_place.setdefault((family, span), []).append(mutant)
        yield from by_place.values()


def source_files(root: Path, sources: list[str]) -> list[str]:
    """The Python files that these are, or that lie in these folders."""
    found = [
        path
        for source in sources
        for path in ([root / source] if source.endswith(".py") else (root / source).rglob("*.py"))
    ]
    return sorted(str(path.relative_to(root)) for path in found)


def operator_names() -> list[str]:
    """All that need no arguments and do something."""
    own = [
        name for name in cosmic_ray.plugins.operator_names() if not cosmic_ray.plugins.get_operator(name).arguments()
    ]
    return [*(name for name in own if not name.endswith("NoOp")), *OMISSIONS]


def make_operator(name: str) -> Any:
    return OMISSIONS[name]() if name in OMISSIONS else cosmic_ray.plugins.get_operator(name)()


def apply(root: Path, mutant: Mutant) -> str | None:
    """The file's text with the mutant in it; None where nothing changes."""
    code = (root / mutant.file).read_text(encoding="utf-8")
    try:
        changed = mutate_code(code, make_operator(mutant.operator), mutant.occurrence)
    except AttributeError:  # cosmic-ray knows no `except module.Error`
        return None
    return None if changed is None or _tree(changed) == _tree(code) else str(changed)


def describe_change(before: str, after: str) -> dict[str, str]:
    """The lines that differ."""
    lines = [line for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")][3:]
    parts = {sign: " ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+"}
    return {"before": parts["-"], "after": parts["+"]}


def _tree(code: str) -> str:
    try:
        return ast.dump(ast.parse(code))
    except SyntaxError:
        return code


def _never_run(code: str) -> Iterator[Span]:
    """Annotations, which are text here, and what is imported for type checkers only."""
    lines = code.splitlines()

    def span(node: Any) -> Span:
        ends = [(node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)]
        return tuple((row, len(lines[row - 1].encode()[:column].decode())) for row, column in ends)  # type: ignore[return-value]

    for node in ast.walk(ast.parse(code)):
        for part in ("annotation", "returns"):
            if getattr(node, part, None) is not None:
                yield span(getattr(node, part))
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield span(node)
