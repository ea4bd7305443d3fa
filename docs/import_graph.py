"""docs/house.svg: the house as its source is, floor by floor, with who imports whom and in how many files.

Imports are read from the syntax trees, those inside functions and relative ones included; what only type checkers import is
left out. The same source gives the same bytes.

Run: python docs/import_graph.py
"""

from __future__ import annotations

import ast
import html
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exemplar.files import whole_file
from exemplar.report.figures import ACCENT, HUES, INK, QUIET
from exemplar.rooms import ROOMS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "exemplar"
FIGURE = ROOT / "docs" / "house.svg"
FOUNDATION, DOOR = "foundation", "front door"
DOOR_FILES = ("__init__", "touring", "results")  # all other top-level files, and stats, are the foundation
ON_TOP = ("cli", DOOR, "lab")  # they enter rooms by name, which no syntax tree shows

LEFT, WIDTH, HEIGHT, GAP, ROOF = 30, 420, 62, 12, 58  # px of the floors
BULGE = 46  # px to the right that an arrow takes for each floor it passes


@dataclass(frozen=True)
class Part:
    """A part of the house. about: what it is, in half a sentence; n_files, n_lines: of its source."""

    name: str
    about: str
    n_files: int
    n_lines: int


@dataclass(frozen=True)
class House:
    """parts: from the roof down; edges: (importing part, imported part) → number of files; by_name: modules that import rooms
    by their names at run time."""

    parts: tuple[Part, ...]
    edges: dict[tuple[str, str], int]
    by_name: tuple[str, ...]


def read_house(package: Path = PACKAGE) -> House:
    """What the source says."""
    files: dict[str, list[Path]] = {}
    for path in sorted(package.rglob("*.py")):
        files.setdefault(part_of(path.relative_to(package).parts[0].removesuffix(".py"), package), []).append(path)
    edges: Counter[tuple[str, str]] = Counter()
    by_name = []
    for part, paths in files.items():
        for path in paths:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            imported = {part_of(name, package) for name in imports_of(tree, path, package)} - {part}
            edges.update((part, other) for other in imported)
            if any(map(_imports_by_name, ast.walk(tree))):
                words = path.relative_to(package.parent).with_suffix("").parts
                by_name.append(".".join(word for word in words if word != "__init__"))
    order = sort_floors(list(files), edges)
    return House(tuple(_describe(part, files[part]) for part in order), dict(sorted(edges.items())), tuple(by_name))


def part_of(name: str, package: Path) -> str:
    """The part that a file or folder at the top of the package belongs to."""
    if name in DOOR_FILES:
        return DOOR
    return name if (package / name / "__init__.py").is_file() and name != "stats" else FOUNDATION


def imports_of(tree: ast.AST, path: Path, package: Path) -> Iterator[str]:
    """The top-level names of the package that a file imports: `images` for `from exemplar.images.catalogue import load`."""
    here = (package.name, *path.relative_to(package).with_suffix("").parts)
    for node in _at_run_time(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) - node.level]) if node.level else ""
            module = ".".join(filter(None, (base, node.module or "")))
            modules = [f"{module}.{alias.name}" for alias in node.names]
        for module in modules:
            words = module.split(".")
            if words[0] == package.name and len(words) > 1:
                known = (package / words[1]).is_dir() or (package / f"{words[1]}.py").is_file()
                if not words[1].startswith("__"):  # the version
                    yield words[1] if known else "__init__"


def _at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for rest in node.orelse:
                yield rest
                yield from _at_run_time(rest)
            continue
        yield node
        yield from _at_run_time(node)


def _imports_by_name(node: ast.AST) -> bool:
    """Whether this imports a room whose name is only known at run time: `import_module(f"exemplar.{name}")`."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args):
        return False
    name = ast.unparse(node.args[0])
    return name.startswith(("f'exemplar.{", 'f"exemplar.{')) or (isinstance(node.args[0], ast.Attribute))


def sort_floors(parts: list[str], edges: Counter[tuple[str, str]]) -> list[str]:
    """From the roof down: who is imported lies below, as far as that goes; rooms in the order of the list of rooms."""
    known = [*ROOMS, *sorted(set(parts) - set(ROOMS))]
    below: list[str] = []
    left = sorted(parts, key=known.index)
    while left:  # the part that imports least of what is not below it yet; of equal ones the last in order

        def missing(part: str) -> int:
            return sum(n for (one, other), n in edges.items() if one == part and other in left)

        lowest = min(reversed(left), key=lambda part: (missing(part), part != FOUNDATION))
        below.append(lowest)
        left.remove(lowest)
    return [*(part for part in ON_TOP if part in below), *(part for part in below[::-1] if part not in ON_TOP)]


def _describe(part: str, paths: list[Path]) -> Part:
    n_lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    if part in (FOUNDATION, DOOR):
        names = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in paths}
        about = ", ".join(sorted(names - {"__init__"}))
    else:
        door = next(path for path in paths if path.name == "__init__.py" and path.parent.name == part)
        said = ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or ""
        about = said.split("\n")[0].split(":")[0].split(". ")[0].rstrip(".")
    return Part(part, about, len(paths), n_lines)


def draw_house(house: House) -> str:
    """SVG."""
    names = [part.name for part in house.parts]
    top = {name: ROOF + 24 + k * (HEIGHT + GAP) for k, name in enumerate(names)}
    spans = {edge: names.index(edge[1]) - names.index(edge[0]) for edge in house.edges}
    room = {side: round(0.75 * BULGE * max([0, *(side * span for span in spans.values())])) for side in (-1, 1)}
    notes = ["An arrow goes from who imports to what is imported; numbers count the files that do."]
    notes += ["Red, on the left: imports upwards."] if room[-1] else []
    notes += (
        [f"At run time {', '.join(house.by_name)} import, by name, the rooms that are listed in exemplar.rooms."]
        if house.by_name
        else []
    )
    tall, wide = top[names[-1]] + HEIGHT + 24 + 17 * len(notes), 2 * LEFT + WIDTH + room[1] + room[-1] + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-room[-1]} 0 {wide} {tall}" width="{wide}" height="{tall}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        "<title>The house: who imports whom</title>",
        f'<rect x="{-room[-1]}" width="{wide}" height="{tall}" rx="10" fill="#fcfbf8"/>',
        f'<polygon points="{LEFT - 14},{ROOF + 12} {LEFT + WIDTH / 2:g},14 {LEFT + WIDTH + 14},{ROOF + 12}" fill="#f1efe9" '
        'stroke="#cfcbc0"/>',
        f'<text x="{LEFT + WIDTH / 2:g}" y="{ROOF}" text-anchor="middle" font-size="15" fill="{INK}">exemplar</text>',
    ]
    for number, part in enumerate(house.parts):
        lines += _floor(part, top[part.name], HUES[number % len(HUES)])
    places = _attach(house, names, top)
    for (one, other), n in sorted(house.edges.items(), key=lambda edge: edge[1]):
        lines.append(_arrow(one, other, n, *places[one, other], spans[one, other], HUES[names.index(one) % len(HUES)]))
    for k, note in enumerate(notes):
        y = tall - 17 * (len(notes) - k) + 3
        lines.append(f'<text x="{LEFT}" y="{y}" font-size="11.5" fill="#5f5f68">{html.escape(note)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _floor(part: Part, y: int, colour: str) -> list[str]:
    about = part.about if len(part.about) <= 64 else f"{part.about[:63].rsplit(', ', 1)[0]}, …"
    size = f"{part.n_files} file{'s' if part.n_files > 1 else ''}, {part.n_lines:,} lines"
    return [
        f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="#ffffff" stroke="#cfcbc0"/>',
        f'<rect x="{LEFT}" y="{y}" width="6" height="{HEIGHT}" rx="3" fill="{colour}"/>',
        f'<text x="{LEFT + 18}" y="{y + 26}" font-size="16" font-weight="600" fill="{INK}">{html.escape(part.name)}</text>',
        f'<text x="{LEFT + WIDTH - 12}" y="{y + 26}" text-anchor="end" font-size="11.5" fill="{QUIET}">{size}</text>',
        f'<text x="{LEFT + 18}" y="{y + 46}" font-size="12" fill="#5f5f68">{html.escape(about)}</text>',
    ]


def _attach(house: House, names: list[str], top: dict[str, int]) -> dict[tuple[str, str], tuple[float, float]]:
    """Where each arrow leaves and arrives: below the middle of a floor and above it, short arrows inside long ones."""

    def spans(edge: tuple[str, str]) -> int:
        return names.index(edge[1]) - names.index(edge[0])

    found: dict[tuple[str, str], tuple[float, float]] = {}
    leaves: dict[tuple[str, str], float] = {}
    for name in names:
        out = sorted((edge for edge in house.edges if edge[0] == name), key=spans, reverse=True)
        into = sorted((edge for edge in house.edges if edge[1] == name), key=spans)
        for k, edge in enumerate(out):
            leaves[edge] = top[name] + HEIGHT * (0.5 + 0.45 * (k + 1) / (len(out) + 1))
        for k, edge in enumerate(into):
            found[edge] = (0.0, top[name] + HEIGHT * (0.05 + 0.45 * (k + 1) / (len(into) + 1)))
    return {edge: (leaves[edge], arrives) for edge, (_, arrives) in found.items()}


def _arrow(one: str, other: str, n: int, start: float, end: float, span: int, colour: str) -> str:
    upwards = span < 0
    x, side = (LEFT, -1) if upwards else (LEFT + WIDTH, 1)
    colour = ACCENT if upwards else colour
    bulge = x + side * BULGE * abs(span)
    middle_x, middle_y = x + 0.75 * side * BULGE * abs(span), (start + end) / 2
    width = 0.9 + 0.45 * math.log2(n)
    tip = f"{x + side:g},{end:.1f} {x + 9 * side:g},{end - 4.5:.1f} {x + 9 * side:g},{end + 4.5:.1f}"
    return (
        f"<g><title>{html.escape(one)} imports {html.escape(other)} in {n} file{'s' if n > 1 else ''}</title>"
        f'<path d="M{x} {start:.1f} C{bulge:g} {start:.1f} {bulge:g} {end:.1f} {x + 8 * side:g} {end:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="{width:.2f}" stroke-opacity="0.75"/><polygon points="{tip}" fill="{colour}"/>'
        f'<text x="{middle_x:.1f}" y="{middle_y + 4:.1f}" text-anchor="middle" font-size="12" font-weight="600" '
        f'fill="{colour}" stroke="#fcfbf8" stroke-width="4" paint-order="stroke">{n}</text></g>'
    )


def main() -> None:
    with whole_file(FIGURE) as part:
        part.write_text(draw_house(read_house()), encoding="utf-8")
    print(FIGURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
