"""Two hundred participants at once, a server killed ten times: how fast trials are acknowledged, and what 10,000 would need.

Run: python speed/lab_load.py
"""

from __future__ import annotations

from exemplar.lab.load import LoadConfig, run_load
from record import Row, record

CASES = {
    "human pace (a trial in 1.2 s)": LoadConfig(),
    "human pace, the server killed 10 times": LoadConfig(kills=10),
    "three times as fast": LoadConfig(pace_s=0.4),
}


def main() -> None:
    rows, notes = [], []
    for name, config in CASES.items():
        result = run_load(config)
        held = config.participants * result.seconds / result.server_cpu
        rows += [
            Row(f"{name}: acknowledging a trial, median", result.percentile(50), "ms"),
            Row(f"{name}: 99th percentile outside of restarts", result.percentile(99), "ms"),
            Row(f"{name}: participants that one core holds", held, ""),
            Row(f"{name}: trials lost, doubled or unexplained", result.lost + result.doubled + result.strange, ""),
        ]
        notes.append(
            f"{name}: {config.participants} participants, {result.acknowledged:,} trials acknowledged in {result.seconds:.0f} s, "
            f"{len(result.down)} kills, seed {config.seed}, {result.unfinished} sessions unfinished; 10,000 participants would need "
            f"about {10_000 / held:.0f} cores."
        )
        print(notes[-1])
    seen = f"{rows[1].value:.0f} ms at the 99th percentile with 200 participants; {rows[2].value:,.0f} of them a core"
    what = "the lab's server under load, browsers and server on the same two cores"
    record(__file__, what, rows, seen=seen, clock="wall time; CPU time of the servers", notes=notes)


if __name__ == "__main__":
    main()
