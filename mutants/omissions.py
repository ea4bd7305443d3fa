"""Two mutations that cosmic-ray lacks: an argument left out of a call, and a statement left out of a block.

Most mistakes that reviewers found in this project were of this kind: a hash without one of its parts, a seed that a name lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.operators.operator import Example, Operator

Place = tuple[tuple[int, int], tuple[int, int]]


class OmitArgument(Operator):  # type: ignore[misc]
    """f(a, b, c=1) → f(b, c=1), f(a, c=1) or f(a, b); of calls with fewer arguments only those with a name, since the others
    can hardly be missing unnoticed."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        for argument in _optional(_arguments(node)):
            yield argument.start_pos, argument.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        arguments = _arguments(node)
        kept = [argument for argument in arguments if argument is not _optional(arguments)[index]]
        code = ", ".join(argument.get_code(include_prefix=False) for argument in kept)
        return parso.python.tree.Name(code, node.start_pos, arguments[0].get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return Example("f(a, b, c)", "f(b, c)"), Example("f(a, b=1)", "f(a)")


class OmitStatement(Operator):  # type: ignore[misc]
    """A call whose value nobody uses, an assignment to a part of something, `x += 1` or `raise` → `pass`."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        if node.type == "simple_stmt" and _can_go(node.children[0]):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return parso.python.tree.Name("pass\n", node.start_pos, node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("f()\n", "pass\n"),)


OMISSIONS = {"omit/Argument": OmitArgument, "omit/Statement": OmitStatement}


def _arguments(node: Any) -> list[Any]:
    """Those of a call with several; those of a definition are no arguments here."""
    if node.type != "arglist" or node.parent.type not in ("trailer",):
        return []
    return [child for child in node.children if child.type != "operator"]


def _optional(arguments: list[Any]) -> list[Any]:
    if len(arguments) > 2:
        return arguments
    return [
        one
        for one in arguments
        if one.type == "argument" and one.children[1].type == "operator" and one.children[1].value == "="
    ]


def _can_go(statement: Any) -> bool:
    if statement.type == "raise_stmt":
        return True
    if statement.type == "atom_expr":  # a call
        return bool(statement.children[-1].type == "trailer" and statement.children[-1].children[0] == "(")
    if statement.type != "expr_stmt":
        return False
    target, sign = statement.children[0], statement.children[1]
    return target.type == "atom_expr" or (sign.type == "operator" and sign.value != "=")
