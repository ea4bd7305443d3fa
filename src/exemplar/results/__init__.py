"""The project's own numbers: each a study with fixed arguments, kept here as JSON, and shown in docs/results.md.

import exemplar as ex

ex.results.list_results()
ex.results.run("official-runs-by-ink")      # computed again, with its intervals
ex.results.check("runs/mine")               # scored again from its records: where it would stand on a leaderboard
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from exemplar.options import Names, Option, Place, Seed, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer

__all__ = ["check", "leaderboards", "list_results", "pack", "page", "run", "verify"]


@verb
def list_results() -> Answer:
    """The results there are.

    >>> import exemplar as ex
    >>> ex.results.list_results()["results"][0]["name"]
    'naming-by-pixels'
    """
    from exemplar.results.computing import describe_results

    return describe_results()


@verb
def run(
    name: Annotated[str, Option("A result (see `exemplar results list`).", known="results", positional=True)],
    out: Annotated[Place | None, Option("The run folder; runs/results/NAME unless given.")] = None,
    commit: Annotated[bool, Option("Keep the scores in the package, for docs/results.md.")] = False,
    seed: Seed = 0,
) -> Answer:
    """Compute a result again and print its scores.

    Returns:
        `scores`, each with its labels; `folder`, the run.
    """
    from exemplar.results.computing import run_result

    return run_result(name, out, commit, seed)


@verb
def page(
    out: Annotated[Place, Option("The page to write.")] = Path("docs/results.md"),
    check: Annotated[bool, Option("Whether to compute the quick ones again.", name="--check/--no-check")] = True,
) -> Answer:
    """Make docs/results.md from the kept results; says which quick ones no longer come out the same."""
    from exemplar.results.computing import write_results_page

    return write_results_page(out, check)


@verb
def verify(
    names: Annotated[Names | None, Option("Results; some of every room unless given.", positional=True)] = None,
    seconds: Annotated[float, Option("Choose as many as take so many CPU-seconds in all.", low=1)] = 180,
    every: Annotated[bool, Option("Choose all that took less than five minutes instead.")] = False,
    commit: Annotated[
        bool, Option("Note for whole ones that came out the same that today's sources make them.")
    ] = False,
) -> Answer:
    """Compute results again and compare them with what is kept; a score that moved fails."""
    from exemplar.results.verifying import verify_results

    return verify_results(names or (), seconds, every, commit)


@verb
def pack(
    run: Annotated[Place, Option("A finished run on the task of a leaderboard.", positional=True)],
    out: Annotated[Place | None, Option("The .zip to write; named after the run unless given.")] = None,
) -> Answer:
    """Make one file of a run's records and scores, with a SHA-256 of each: a submission to a leaderboard.

    Returns:
        `submission`, the file; `leaderboard`, which it is for; `files`, the SHA-256 of each.
    """
    from exemplar.results.submitting import pack_run

    return pack_run(run, out)


@verb
def check(
    submission: Annotated[Place, Option("What `pack` made, or a run's folder.", positional=True)],
    commit: Annotated[bool, Option("Keep its scores in the package, for the leaderboard's page.")] = False,
) -> Answer:
    """Check a submission and score it again from its records: is it whole, of the published task, and unchanged?

    Returns:
        `leaderboard`, `scores` as scored again, `place` and `of`, `overlapping` (rows it is not told apart from by intervals),
        and `unproven`: what no record can show.
    """
    from exemplar.results.submitting import check_submission

    return check_submission(submission, commit)


@verb
def leaderboards(out: Annotated[Place, Option("The folder of the pages.")] = Path("docs/leaderboards")) -> Answer:
    """Make docs/leaderboards from the kept results and the submissions that were kept."""
    from exemplar.results.standings import write_leaderboards

    return write_leaderboards(out)


def __dir__() -> list[str]:
    return __all__
