"""How the reference shows a verb: with the types and the list of arguments that `options.verb` makes of its signature.

Griffe, which reads the sources for mkdocstrings, sees the aliases instead (`Who`, `Data`).
"""

from __future__ import annotations

import inspect
import textwrap
from importlib import import_module
from typing import Any

import griffe

from exemplar.options import list_arguments


class Verbs(griffe.Extension):
    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        if any(str(decorator.value) == "verb" for decorator in func.decorators):
            verb = getattr(import_module(func.module.path), func.name)
            for argument in list_arguments(verb):
                kind = inspect.formatannotation(argument.kind)
                func.parameters[argument.name].annotation = kind.replace("pathlib.", "").replace("typing.", "")
            assert func.docstring is not None
            func.docstring.value = inspect.cleandoc(verb.__doc__)
        if func.docstring is not None:
            func.docstring.value = name_examples(func.docstring.value)


def name_examples(text: str) -> str:
    """A docstring whose example, which the tests run, stands under the heading that the reference looks for.

    >>> name_examples("Adds.\\n\\n>>> add(1, 2)\\n3")
    'Adds.\\n\\nExamples:\\n    >>> add(1, 2)\\n    3'
    """
    before, example, after = text.partition("\n>>> ")
    return f"{before}\nExamples:\n" + textwrap.indent(f">>> {after}", "    ") if example else text
