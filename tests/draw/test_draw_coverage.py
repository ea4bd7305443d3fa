"""Simulated concepts have the true score they claim; intervals hold it where the bootstrap's did not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from exemplar import seeds
from exemplar.draw.studies import coverage
from exemplar.draw.studies.simulated_shares import POPULATIONS
from exemplar.files import read_npz


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("truth", [0.05, 0.5, 0.9, 0.99])
def test_a_population_has_the_mean_it_is_asked_for(name, truth):
    values = POPULATIONS[name].sample(truth, (2000, 3, 10, 3), seeds.rng("population", name, truth))
    assert values.shape == (2000, 3, 10, 3) and values.min() >= 0 and values.max() <= 1
    sets = values.mean(axis=(1, 2, 3))
    assert sets.mean() == pytest.approx(truth, abs=4 * sets.std() / np.sqrt(2000))


def test_drawings_of_a_concept_are_more_alike_than_those_of_others():
    for name, population in POPULATIONS.items():
        values = population.sample(0.9, (400, 1, 30, 10), seeds.rng("alike", name))[:, 0]
        between = values.mean(axis=2).var(axis=1, ddof=1).mean()
        assert between > 1.05 * values.var(axis=2, ddof=1).mean() / 10, name  # more than drawings alone would give


def test_the_table_has_every_cell_and_its_worst_population(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(coverage, "CONCEPTS", (30,))
    monkeypatch.setattr(coverage, "TRUTHS", (0.5, 0.997))
    scores = {(s.name, s.agent): s for s in coverage.simulate_coverage(SimpleNamespace(folder=tmp_path), 0, 150)}
    for truth in (0.5, 0.997):
        found, before = (scores[name, f"30 concepts, truth {truth:g}"] for name in ("coverage", "coverage_before"))
        assert found.value > 0.87 and found.n == 150  # three errors below 95 %
        assert scores["coverage_of_one_concept", f"19 drawings, truth {truth:g}"].value > 0.87
    assert before.value < 0.3
    width, narrow = (scores[name, "30 concepts, truth 0.5"].value for name in ("width", "width_before"))
    assert narrow < width < 1.5 * narrow  # the price in the middle
    kept = read_npz(tmp_path / "coverage.npz", cell=("U", 1), coverage=("f", 2))
    assert len(kept["cell"]) == 2 * (2 * len(POPULATIONS)) + 2 * 2 * 2 + 2
    worst = min(
        value
        for cell, value in zip(kept["cell"], kept["coverage"][:, 0], strict=True)
        if "truth 0.5, " in cell and "30 concepts" in cell
    )
    assert worst == scores["coverage", "30 concepts, truth 0.5"].value
