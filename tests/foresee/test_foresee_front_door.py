"""The front door: its examples are true, the room describes itself, and its tour chapter is made from its folder."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import exemplar as ex
from exemplar.foresee import single_tasks
from exemplar.foresee.room import ROOM
from exemplar.foresee.tour import make_tour, write_chapter


def test_examples_at_the_door_are_true() -> None:
    for module, n_least in ((ex.foresee, 6), (single_tasks, 3)):
        done = doctest.testmod(module)
        assert done.failed == 0 and done.attempted >= n_least


def test_the_room_describes_itself() -> None:
    kept = {
        f"foresee-{name}"
        for name in (
            "correlations",
            "imbalance",
            "fc100",
            "thresholds",
            "labelling",
            "choice",
            "prediction",
            "explanations",
            "coverage",
        )
    }
    assert set(ROOM.results()) == kept
    assert list(ROOM.agents()) == [row["name"] for row in ex.foresee.list_agents()["agents"]]
    assert {
        "supervised",
        "semi",
        "unsupervised",
        "imbalance",
        "neighbours",
        "thresholds",
        "labelling",
        "prediction",
        "choice",
        "explanations",
    } == set(ROOM.studies())


@pytest.mark.long
def test_the_tour_chapter(tmp_path: Path) -> None:
    make_tour(tmp_path / "tour", 0, None)
    chapter = write_chapter(tmp_path / "tour")
    assert "512 such tasks" in chapter.text[1] and b"<svg" in chapter.figures[0].files["svg"]


def test_tasks_of_arrays_need_torch_and_numpy_alone():
    """As on a machine that is lent for its GPU, where speed/foresee.py runs; the loops that numba compiles are left out."""
    code = """
import sys
absent = ("PIL", "pandas", "pyarrow", "numba", "scipy", "sklearn", "matplotlib", "statsmodels", "typer", "rich", "jinja2")
for name in absent if sys.argv[1] == "without" else ():
    sys.modules[name] = None
import numpy as np
if sys.argv[1] == "without":
    import importlib.util
    found = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *rest: None if name in absent else found(name, *rest)
from exemplar.foresee import FeatureBank, Recipe, TaskConfig, evaluate_tasks
rng = np.random.default_rng(0)
bank = FeatureBank.of(np.maximum(rng.normal(size=(8, 1, 32)) + rng.normal(size=(8, 40, 32)), 0))
for setting, measures in (("semi", ("lr_loss", "similarity", "confidence", "davies_bouldin", "egv")), ("unsupervised", ())):
    done = evaluate_tasks(bank, TaskConfig(3, 2, 5, setting), 64, Recipe(measures=measures), seed=0)
    print(*(f"{values.mean():.4f}" for values in (done.performance, *done.measures.values())))
"""
    printed = [
        subprocess.run([sys.executable, "-W", "error", "-c", code, which], capture_output=True, text=True, check=True)
        for which in ("with", "without")
    ]
    assert printed[0].stdout == printed[1].stdout
