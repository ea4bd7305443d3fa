"""How often the 95 % intervals of scores hold the truth: simulated, with few concepts and many, near the ends of the range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.measures.intervals import POSITIVE, SHARE, interval_over, sample_resamples
from exemplar.draw.studies.simulated_shares import POPULATIONS, FewBad, Graded
from exemplar.draw.studies.study import save_scores
from exemplar.files import write_npz
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run
from exemplar.stats import Estimate

TRUTHS = (0.05, 0.5, 0.9, 0.99, 0.997, 0.999)
CONCEPTS, DRAWINGS = (10, 30, 100, 150), (3, 19)
LOG_SPREADS = (0.3, 0.6)  # of scores without an upper end, their logarithm over concepts; .3 is Omniglot's people
N_SETS = 2000  # simulated in each cell: a coverage of .95 is known to ± .01
N_BEFORE = 500  # of them, by the bootstrap that scores had before


@dataclass(frozen=True, eq=False)
class Cell:
    """What was simulated, and what became of it: held, before: (sets,) bool, whether an interval held the truth, today's and
    the bootstrap's (Student's, of one concept); width, width_before: (sets,)."""

    population: str
    held: np.ndarray
    width: np.ndarray
    before: np.ndarray
    width_before: np.ndarray


def coverage_result(run: Run, seed: int) -> Scores:
    """Every cell into coverage.npz; the worst population of each number of concepts and truth into the scores."""
    return save_scores(run, simulate_coverage(run, seed, N_SETS))


def simulate_coverage(run: Run, seed: int, n_sets: int) -> list[Score]:
    """The scores of `coverage_result` from so many simulated sets in each cell."""
    scores: list[Score] = []
    kept: dict[str, list[float]] = {}

    def add(cells: list[Cell], agent: str, name: str) -> None:
        kept.update({f"{agent}, {cell.population}": [cell.held.mean(), cell.before.mean()] for cell in cells})
        scores.extend(_worst(cells, agent, name))

    for k in CONCEPTS:
        for truth in TRUTHS:
            cells = list(_shares_of(k, truth, n_sets, seed))
            add(cells, f"{k} concepts, truth {truth:g}", "coverage")
            if k in (30, 150):
                scores.extend(_widths(cells, f"{k} concepts, truth {truth:g}"))
    for n in DRAWINGS:
        for truth in TRUTHS:
            add(list(_one_concept(n, truth, n_sets, seed)), f"{n} drawings, truth {truth:g}", "coverage_of_one_concept")
    for k in CONCEPTS:
        for spread in LOG_SPREADS:
            add([_without_end(k, spread, n_sets, seed)], f"{k} concepts, log spread {spread}", "coverage_of_diversity")
    write_npz(run.folder / "coverage.npz", {"cell": np.array(list(kept)), "coverage": np.array(list(kept.values()))})
    return scores


def _shares_of(k: int, truth: float, n_sets: int, seed: int) -> Iterator[Cell]:
    """Overall shares: each population, with few drawings of each concept and with many."""
    for name, population in POPULATIONS.items():
        n_critics = 3 if isinstance(population, Graded) and population.critics else 1
        for n in DRAWINGS:
            rng = seeds.rng("coverage", seed, name, k, n, truth)
            value = population.sample(truth, (n_sets, n_critics, k, n), rng).mean(axis=3)
            found = interval_over(value.transpose(1, 2, 0), SHARE)
            yield _cell(f"{name}, {n} drawings", found, _bootstrapped(value[:N_BEFORE], rng), truth)


def _one_concept(n: int, truth: float, n_sets: int, seed: int) -> Iterator[Cell]:
    """The share of one concept, by its drawings: difficulties differ, or each is right or wrong."""
    populations: Mapping[str, Graded | FewBad] = {"graded": Graded(0.0, 1.0), "right or wrong": FewBad(0.0, 1.0)}
    for name, population in populations.items():
        rng = seeds.rng("coverage of one concept", seed, name, n, truth)
        values = population.sample(truth, (n_sets, 1, n, 1), rng)[:, 0, :, 0].T  # (n, sets)
        yield _cell(name, interval_over(values[None], SHARE), stats.mean(values), truth)


def _without_end(k: int, spread: float, n_sets: int, seed: int) -> Cell:
    """Scores such as diversity, by Student's t: positive, and skewed."""
    rng = seeds.rng("coverage of diversity", seed, spread, k)
    value = np.exp(spread * rng.normal(size=(n_sets, 1, k)))
    found = interval_over(value.transpose(1, 2, 0), POSITIVE)
    return _cell("lognormal", found, _bootstrapped(value[:N_BEFORE], rng), float(np.exp(spread**2 / 2)))


def _bootstrapped(value: np.ndarray, rng: np.random.Generator) -> Estimate:
    """What scores had before: concepts and critics resampled, percentiles. value: (sets, s, k)."""
    sets, s, k = value.shape
    draws = sample_resamples(k, s, 1000, rng)
    means = draws.means(value.reshape(sets * s, k)).reshape(-1, sets, s)
    drawn = np.stack([draws.over_critics(means[:, place]) for place in range(sets)], axis=1)
    return stats.interval(drawn, value.mean(axis=(1, 2)), n=k)


def _cell(population: str, found: Estimate, before: Estimate, truth: float) -> Cell:
    held, held_before = ((one.lo - 1e-12 <= truth) & (truth <= one.hi + 1e-12) for one in (found, before))
    return Cell(population, held, found.hi - found.lo, held_before, before.hi - before.lo)


def _worst(cells: list[Cell], agent: str, name: str) -> Iterator[Score]:
    """The lowest coverage among populations, today's and before."""
    for title, held in ((name, [c.held for c in cells]), (f"{name}_before", [c.before for c in cells])):
        lowest = min(held, key=np.mean)
        yield Score.of(title, stats.proportion(int(lowest.sum()), len(lowest)), agent=agent)


def _widths(cells: list[Cell], agent: str) -> Iterator[Score]:
    """The mean width of intervals over populations."""
    for name, widths in (("width", [c.width for c in cells]), ("width_before", [c.width_before for c in cells])):
        yield Score.of(name, stats.mean(np.mean(widths, axis=0)), agent=agent)


KEPT = KeptResult(
    title="How often intervals hold the truth",
    text="The 95 % intervals of overall scores, on simulated concepts whose true score is known: 2,000 sets in each cell "
    "(500 for what was before). Recognizability and other shares come from six populations, each with 3 drawings and "
    "with 19 of every concept: concepts and drawings whose difficulty is normal on the logit scale, with three "
    "deviations, named among 20 of 150 in closed form; a few bad concepts among perfect ones, wholly wrong or right in "
    "one drawing of four; and three critics that differ. Shown is the population in which coverage is lowest; "
    "coverage.npz in the run's folder has all. Widths are means over populations.\n\n"
    '"Before" is the percentile bootstrap over concepts and critics that scores had until then (of one concept, '
    "Student's t over its drawings). Near 1 a sample without a single error is common, of which it made [1, 1]. "
    "Today's form for shares reckons with one unseen concept, right or wrong (`exemplar.stats.mean_share`). Where "
    "concepts are wholly right or wholly wrong it is the mid-P interval, whose coverage is .919 or more for any truth "
    "with up to 150 concepts. It never assumes that there are no bad concepts because none was seen: this is why near "
    "1 it is several times wider than the bootstrap was, and in the middle little. Two agents are better compared by "
    "their paired difference.\n\n"
    "Scores without an upper end, such as diversity, have Student's interval. Simulated are lognormal ones, whose "
    "logarithm has the deviation .3 over concepts, as people's diversity on Omniglot, or .6: so skewed, and with 10 "
    "concepts, Student's interval covers less than it should. Where the data have three critics or more, an interval "
    "covers other critics of the same training too; with one or two it speaks of these alone.",
    compute=coverage_result,
    quick=False,
)
