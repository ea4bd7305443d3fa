"""Break a module on purpose, once at a time, and see whether its tests notice.

    make mutants MODULE=stats                   # the first sample, drawn before tests are written
    make mutants MODULE=stats OPTIONS=--again   # its survivors again, after tests were written or code was removed
    make mutants MODULE=stats SAMPLE=2          # a fresh one, by which the module is judged

Each outcome is kept in mutants/results/ as it comes, and a sample that was stopped goes on. A mutant meets the tests that
execute its line, the quickest first, in a fork of a process that has the libraries (recording.py, forking.py).
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from bench import Bench
from outcomes import Outcomes
from sampling import modules, shuffle_mutants

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("module", choices=sorted(modules()))
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    about = modules()[asked.module]
    outcomes = Outcomes(asked.module, asked.sample)
    if not outcomes.found:
        earlier = [one for number in range(1, asked.sample) for one in Outcomes(asked.module, number).found.values()]
        outcomes.draw(ROOT, shuffle_mutants(ROOT, about["sources"], asked.module), earlier)
    todo = outcomes.to_try(ROOT, again=asked.again)
    bench = Bench(ROOT, asked.module, about["sources"], about["tests"], bool(about.get("compiled")), asked.workers)
    try:
        print(f"{asked.module}: {len(todo)} mutants to try", flush=True)
        free: Queue[int] = Queue()
        for worker in range(asked.workers):
            free.put(worker)

        def judge(key: str) -> tuple[str, dict]:
            worker = free.get()
            try:
                return key, bench.judge(worker, todo[key])
            finally:
                free.put(worker)

        with ThreadPoolExecutor(asked.workers) as pool:
            for key, found in pool.map(judge, todo):
                outcomes.keep(key, found)
                print(outcomes.line(key), flush=True)
    finally:
        bench.close()
    print(outcomes.summary())


if __name__ == "__main__":
    sys.exit(main())
