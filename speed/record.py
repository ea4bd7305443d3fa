"""What a speed script measured, as JSON in speed/results/, from which speed/page.py makes docs/speed.md.

    record(__file__, "reading all of Omniglot, next to a Pillow loop", rows, seen=f"{ratio:.0f} × a Pillow loop")

Times are of a machine that others may use, too: what counts are ratios to a peer measured in the same run.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from exemplar import __version__
from exemplar.files import whole_file

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("numpy", "scipy", "torch", "pillow", "numba", "scikit-learn")
ONE_CORE = "CPU time of one thread"


@dataclass(frozen=True)
class Row:
    """One thing that was measured. value, unit: how long it took ("CPU ms"), or how much was done in a second ("images per
    CPU-second"); ratio: how many times as fast it is as `peer`, whose own value has the same unit."""

    what: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None


def timed(what: str, value: float, unit: str, peer: str = "", peer_value: float | None = None) -> Row:
    """A time, and how many times that of its peer is as long."""
    return Row(what, value, unit, peer, peer_value, peer_value / value if peer_value is not None else None)


def rated(what: str, value: float, unit: str, peer: str = "", peer_value: float | None = None) -> Row:
    """How much is done in a second, and how many times that of its peer it is."""
    return Row(what, value, unit, peer, peer_value, value / peer_value if peer_value else None)


def record(
    script: str, what: str, rows: Sequence[Row], *, seen: str, clock: str = ONE_CORE, device: str = "",
    peers: Mapping[str, str] | None = None, notes: Sequence[str] = (), variant: str = "",
) -> Path:  # fmt: skip
    """Keep what a script measured. script: its `__file__`; what: in half a sentence; seen: the main numbers, for the overview;
    device: the GPU, where there was one; peers: name → version of what it was compared with; variant: kept apart under this
    name, such as "cpu" for a script that is made for GPUs."""
    name = Path(script).stem
    versions = {"exemplar": __version__, "python": platform.python_version()}
    versions |= {library: version for library in LIBRARIES if (version := _version(library))}
    about = {
        "what": what,
        "seen": seen,
        "rows": [_plain(row) for row in rows],
        "clock": clock,
        "notes": list(notes),
        "command": " ".join(["python", f"speed/{name}.py", *sys.argv[1:]]),
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": device or cpu_kind(),
        "versions": versions | dict(peers or {}),
    }
    path = RESULTS / f"{name}{variant and f'-{variant}'}.json"
    with whole_file(path) as part:
        part.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"kept in speed/results/{path.name}", file=sys.stderr)
    return path


def cpu_kind() -> str:
    """The kind of processor and how many cores of it there are; never the machine's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = os.cpu_count() or 1
    return (
        f"{models[0] if models else platform.machine()}, {cores} core{'s' if cores > 1 else ''}, shared with other work"
    )


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _plain(row: Row) -> dict[str, Any]:
    """To four digits; what is not there is left out."""
    found = {name: value for name, value in asdict(row).items() if value not in ("", None)}
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in found.items()}
