"""Which sources a result comes from: a hash of the code of every module that it imports, without what only describes.

Comments, docstrings, the messages of errors and the texts given as `title`, `text` and `help` decide no score, and what a
`KeptResult` says about itself (published values included) is only shown: rewording them leaves the hash as it is. Every other
text counts, since it may be a label, a key or the name of a seed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from exemplar import seeds
from exemplar.rooms import ROOMS

DOORS = {"exemplar", *(f"exemplar.{room}" for room in ROOMS)}
SHOWN = {"title", "text", "help"}  # arguments that are read by people alone, where they are text
COMPUTED = {"compute", "part"}  # what decides the scores of a `KeptResult`


@cache
def hash_modules(module: str) -> str:
    """A hash of the code of a module and of every module of the package that it imports, directly or not."""
    return seeds.digest([(name, _code(name)) for name in sorted(imported_modules(module))])


def imported_modules(module: str) -> set[str]:
    """Names of the package's modules that a module imports, itself included; imports inside functions count too, those for
    type checkers do not, and front doors, which could lead anywhere, are not followed."""
    found, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in DOORS and _source(name) is not None:
            found.add(name)
            waiting += _imports(name)
    return found


def code_that_counts(source: str) -> str:
    """A module's source without what only describes."""
    return ast.unparse(_Described().visit(ast.parse(source)))


class _Described(ast.NodeTransformer):
    """Takes out what only describes."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "KeptResult":
            node.keywords = [word for word in node.keywords if word.arg in COMPUTED]
        elif isinstance(node, ast.Call):
            node.keywords = [word for word in node.keywords if not (word.arg in SHOWN and _is_text(word.value))]
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _is_of_user(node.exc):
            node.exc.args = []
        return node


def _is_of_user(made: ast.Call) -> bool:
    return getattr(made.func, "id", "") == "UserError"


def _is_text(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_text(value.left) or _is_text(value.right)
    return isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))


@cache
def _code(module: str) -> str:
    return code_that_counts(_read(module))


@cache
def _imports(module: str) -> tuple[str, ...]:
    tree = ast.parse(_read(module))
    for block in [node for node in ast.walk(tree) if isinstance(node, ast.If)]:
        if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            block.body = []
    return tuple(name for node in ast.walk(tree) for name in _named(node) if name.split(".")[0] == "exemplar")


def _named(node: ast.AST) -> Iterator[str]:
    """The modules that a statement may import."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def _read(module: str) -> str:
    source = _source(module)
    assert source is not None, f"{module} is no module"
    return source.read_text(encoding="utf-8")


@cache
def _source(module: str) -> Path | None:
    """The file of a module; None where the name is no module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None
