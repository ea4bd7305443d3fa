"""What a user is told about a mistake: the right reason, in words that do not name our variables."""

import numpy as np
import pytest

import exemplar as ex
from exemplar.draw.choices import read_ways, read_words


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Runs of the data's own drawers go below the folder one is in."""
    monkeypatch.chdir(tmp_path)


FAST = {"data": "glyphs", "exemplar": "drawer:drawer01", "n": 4}


@pytest.mark.parametrize("ways", ["0", "1", "-1", "2.5"])
def test_fewer_ways_than_two_are_refused(ways):
    with pytest.raises(ex.UserError, match="must be 2 or more, or all"):
        read_ways(ways)


def test_no_concepts_named_are_all_concepts():
    assert read_words(None) == ()


def test_a_missing_list_of_concepts_is_called_a_missing_file():
    with pytest.raises(ex.UserError, match=r"There is no file nofile\.txt"):
        ex.draw.score("copies", concepts="nofile.txt", **FAST)


def test_an_array_with_another_number_of_drawings_is_not_called_a_function():
    with pytest.raises(ex.UserError, match=r"The drawings of array are an array of shape \(90, 3, 20, 20\)"):
        ex.draw.score(np.zeros((90, 3, 20, 20), np.float32), **FAST)


def test_runs_that_differ_in_a_setting_are_refused_by_the_option_a_user_knows(tmp_path):
    few = {**FAST, "concepts": "5", "ways": "all"}
    alone = ex.draw.score("copies", people=False, out=tmp_path / "alone", **few)
    beside = ex.draw.score("copies", out=tmp_path / "beside", **few)
    with pytest.raises(ex.UserError, match=r"different settings \(--no-people\)"):
        ex.draw.compare([alone, beside], html=tmp_path / "page.html")


def test_runs_of_other_concepts_are_refused_as_such(tmp_path):
    runs = [
        ex.draw.score("copies", concepts="5", ways="all", seed=seed, out=tmp_path / str(seed), **FAST)
        for seed in (0, 1)
    ]
    with pytest.raises(ex.UserError, match="different concepts of glyphs"):
        ex.draw.compare(runs, html=tmp_path / "page.html")
