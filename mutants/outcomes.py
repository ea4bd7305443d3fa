"""What became of each mutant of a sample: mutants/results/MODULE-SAMPLE.json, and which of them change nothing
(mutants/results/MODULE-equivalent.toml: key = "why")."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

from sampling import Mutant, apply, describe_change, find_places

RESULTS = Path(__file__).parent / "results"
WAITING = "waiting"
SIZE = 80  # mutants per sample
Change = tuple[str, str, str, str]  # file, operator, before, after


class Outcomes:
    """found: by key (of the sources as they were when the sample was drawn), with the outcome "noticed", "timeout" (noticed,
    too), "survived", "gone" (the code is no longer there), or "waiting"."""

    def __init__(self, module: str, sample: int, folder: Path = RESULTS) -> None:
        self.path = folder / f"{module}-{sample}.json"
        self.found: dict[str, dict] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else {}
        reasons = folder / f"{module}-equivalent.toml"
        self.equivalent: dict[str, str] = (
            tomllib.loads(reasons.read_text(encoding="utf-8")) if reasons.is_file() else {}
        )

    def draw(self, root: Path, mutants: Iterable[Mutant], earlier: list[dict]) -> None:
        """Fixes the sample: the sources may change while its mutants are tried. earlier: what other samples hold."""
        known = {_change(found) for found in earlier}
        for mutant in mutants:
            change = _describe(root, mutant)
            if change is not None and change not in known:
                about = dict(zip(("file", "operator", "before", "after"), change, strict=True))
                self.found[mutant.key] = {"line": mutant.line, **about, "outcome": WAITING}
            if len(self.found) == SIZE:
                break
        self.write()

    def to_try(self, root: Path, again: bool) -> dict[str, Mutant]:
        """The waiting ones (again: and survivors that nobody explained) where they are now; the others are gone."""
        wanted = {
            key: found
            for key, found in self.found.items()
            if found["outcome"] == WAITING
            or (again and found["outcome"] in ("survived", "gone") and key not in self.equivalent)
        }
        places = {file: _mutants_of(root, file) for file in {found["file"] for found in wanted.values()}}
        todo = {}
        for key, found in wanted.items():
            near = _nearest(places[found["file"]], key, found)
            place = next((mutant for mutant in near if _describe(root, mutant) == _change(found)), None)
            if place is None:
                self.keep(key, {"outcome": "gone"})
            else:
                todo[key] = place
        return todo

    def keep(self, key: str, outcome: dict) -> None:
        found = self.found[key]
        if found["outcome"] == "survived" and outcome["outcome"] != "survived":
            found["at_first"] = "survived"
        found.update(outcome)
        self.write()

    def write(self) -> None:
        lines = (f" {json.dumps(key)}: {json.dumps(found, ensure_ascii=False)}" for key, found in self.found.items())
        self.path.parent.mkdir(exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        part.replace(self.path)

    def line(self, key: str) -> str:
        found = self.found[key]
        change = f"{found['before']}  →  {found['after']}"
        return f"{found['outcome']:9} {found.get('seconds', 0):5} s  {found['file']}:{found['line']} {change}\n{'':20}{key}"

    def count(self) -> dict[str, int]:
        """at_first: survivors before tests were written; survived: those that nobody explained."""
        kinds = [found["outcome"] for found in self.found.values()]
        equivalent = sum(found["outcome"] == "survived" and key in self.equivalent for key, found in self.found.items())
        return {
            "mutants": len(kinds),
            "at_first": sum("survived" in (found["outcome"], found.get("at_first")) for found in self.found.values()),
            "noticed": kinds.count("noticed") + kinds.count("timeout"),
            "gone": kinds.count("gone"),
            "equivalent": equivalent,
            "survived": kinds.count("survived") - equivalent,
            "waiting": kinds.count(WAITING),
        }

    def summary(self) -> str:
        count = self.count()
        rest = count["noticed"] + count["survived"]
        share = f"{count['noticed'] / rest:.0%} of those that matter noticed" if rest else "none tried"
        return f"{', '.join(f'{n} {name}' for name, n in count.items())}: {share}"


def _change(found: dict) -> Change:
    return found["file"], found["operator"], found["before"], found["after"]


def _describe(root: Path, mutant: Mutant) -> Change | None:
    after = apply(root, mutant)
    if after is None:
        return None
    change = describe_change((root / mutant.file).read_text(encoding="utf-8"), after)
    return mutant.file, mutant.operator, change["before"], change["after"]


def _mutants_of(root: Path, file: str) -> list[Mutant]:
    return [one for place in find_places(root, [file]) for one in place] if (root / file).is_file() else []


def _nearest(mutants: list[Mutant], key: str, found: dict) -> list[Mutant]:
    """All of the same kind, the one that has the number it had when the sample was drawn first, then the nearest lines."""
    same = [mutant for mutant in mutants if mutant.operator == found["operator"]]
    return sorted(same, key=lambda mutant: (mutant.key != key, abs(mutant.line - found["line"])))
