"""Results computed again and compared with what is kept: the verb `verify`.

Without names it chooses by the CPU time that results took last, the cheapest of each room first, so that every room that has a
result is looked at before any has a second one. Of a result that takes minutes a part may stand for it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exemplar import rooms
from exemplar.answers import Answer
from exemplar.errors import UserError, unknown
from exemplar.images.catalogue import CATALOGUE
from exemplar.images.sources import find
from exemplar.results.computing import all_results, compute
from exemplar.results.kept import differences, keep_sources, load_kept
from exemplar.rooms import KeptResult

LONG = 300  # seconds: what took longer is computed again by name only


@dataclass(frozen=True)
class Check:
    """One result to be computed again. part: only some of its scores; cpu_s: that it took last."""

    room: str
    name: str
    part: bool
    cpu_s: float


@dataclass(frozen=True)
class Verdict:
    """moved: a sentence per score that is not as it is kept; skipped: why it was not computed, if it was not."""

    check: Check
    moved: Sequence[str] = ()
    skipped: str = ""
    cpu_s: float = 0.0

    def line(self) -> str:
        what = f"{self.check.name}{' (a part)' * self.check.part}"
        if self.skipped:
            return f"{what}: not computed, {self.skipped}"
        return f"{what}: {'moved' if self.moved else 'the same'}, {self.cpu_s:.0f} CPU-s"


def verify_results(names: Sequence[str], seconds: float, every: bool, commit: bool) -> Answer:
    known = all_results()
    for name in names:
        if name not in known:
            raise unknown("result", name, known)
    checks = list_checks()
    if names or every:
        chosen = [check for check in checks if not check.part and (check.name in names or (every and is_short(check)))]
    else:
        chosen = choose(checks, seconds)
    if not chosen:
        raise UserError(f"no result takes as little as {seconds:g} CPU-seconds: raise --seconds, or name one")
    verdicts = []
    for check in chosen:
        verdict = verify_one(check, known[check.name])
        print(verdict.line(), file=sys.stderr, flush=True)
        verdicts.append(verdict)
        if commit and not (verdict.moved or verdict.skipped or check.part):
            keep_sources(check.name, known[check.name].compute, verdict.cpu_s)
    return _answer(verdicts)


def _answer(verdicts: Sequence[Verdict]) -> Answer:
    moved = [f"{verdict.check.name}: {sentence}" for verdict in verdicts for sentence in verdict.moved]
    skipped = {verdict.check.name: verdict.skipped for verdict in verdicts if verdict.skipped}
    done = [verdict for verdict in verdicts if not verdict.skipped]
    counted = sorted({verdict.check.room for verdict in done}, key=rooms.ROOMS.index)
    cpu = sum(verdict.cpu_s for verdict in done)
    values = {
        "same": [verdict.check.name for verdict in done if not verdict.moved],
        "moved": moved,
        "skipped": skipped,
        "rooms": counted,
        "cpu_s": round(cpu, 1),
    }
    if not done:
        summary = "Nothing was computed."
    else:
        summary = f"{len(done)} results of {len(counted)} rooms computed again in {cpu:.0f} CPU-s: "
        summary += f"{len(moved)} scores moved." if moved else "every score came out as it is kept."
    rest = [f"Not computed, {len(skipped)}: {', '.join(skipped)}."] if skipped else []
    return Answer(values=values, text="\n".join([*moved, summary, *rest]), ok=not moved and bool(done))


def list_checks() -> list[Check]:
    """Every result that is kept, and every part, in the order of the rooms."""
    found = []
    for room in rooms.list_rooms():
        for name, result in room.results().items():
            kept = load_kept(name)
            if kept is not None:
                cpu = kept.provenance.get("cpu_s", 2 * kept.provenance["duration_s"])  # it had two cores at most
                found.append(Check(room.name, name, False, cpu))
                found += [Check(room.name, name, True, cpu * result.part.share)] if result.part else []
    return found


def is_short(check: Check) -> bool:
    kept = load_kept(check.name)
    return kept is not None and kept.provenance["duration_s"] < LONG


def choose(checks: Sequence[Check], seconds: float) -> list[Check]:
    """As many as fit: again and again the cheapest of the room that has the least time so far; a part only where the whole does
    not fit."""
    fits = {check.name for check in checks if not check.part and check.cpu_s <= seconds}
    waiting = sorted((c for c in checks if not (c.part and c.name in fits)), key=lambda check: check.cpu_s)
    chosen, left = list[Check](), seconds
    spent: dict[str, float] = {}
    while True:
        names = {check.name for check in chosen}
        waiting = [check for check in waiting if check.cpu_s <= left and check.name not in names]
        if not waiting:
            return chosen
        best = min(waiting, key=lambda check: spent.get(check.room, 0.0))
        chosen.append(best)
        spent[best.room] = spent.get(best.room, 0.0) + best.cpu_s
        left -= best.cpu_s


def verify_one(check: Check, result: KeptResult) -> Verdict:
    missing = [data for data, _ in result.data if not CATALOGUE[data].is_here()]
    missing += [data for data in result.files if find(data) is None]
    if missing:
        return Verdict(check, skipped=f"{missing[0]} is not on this machine")
    kept = load_kept(check.name)
    assert kept is not None
    begin = _cpu_seconds()
    try:
        with tempfile.TemporaryDirectory() as folder:
            scores, _ = compute(check.name, Path(folder) / "run", kept.seed, part=check.part)
    except UserError as problem:
        return Verdict(check, [f"could not be computed ({problem})"])
    moved = differences(kept.scores, scores)
    if check.part:  # the others were not computed
        moved = [sentence for sentence in moved if not sentence.endswith(" is gone")]
    return Verdict(check, moved, cpu_s=_cpu_seconds() - begin)


def _cpu_seconds() -> float:
    """Of this process and the workers that have ended."""
    return sum(os.times()[:4])
