"""What a verb returns and takes: an answer is a mapping with a short form, an argument is checked in one sentence."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest

from exemplar.answers import Answer, format_scores
from exemplar.errors import UserError
from exemplar.options import Names, Option, Seed, verb
from exemplar.records import Score, Scores


def score(name: str, value: float, **labels: str) -> Score:
    return Score(name, value, (value - 0.1, value + 0.1), 10, **labels)


@verb
def count(
    names: Annotated[Names, Option("Whom.")] = (),
    n: Annotated[int | None, Option("How many.", low=3, high=9)] = None,
    rate: Annotated[float, Option("How fast.")] = 1.0,
    seed: Seed = 0,
) -> Answer:
    """Count."""
    return Answer(values={"names": names, "n": n, "rate": rate, "seed": seed}, text="counted")


def test_an_answer_is_a_mapping_that_offers_near_names():
    answer = Answer(values={"diversity": {"value": 0.5}, "run": "a"}, text="two")
    assert "diversity" in answer and list(answer) == ["diversity", "run"] and len(answer) == 2
    assert dict(answer) == answer.json() and str(answer) == "two" and repr(answer) == "<Answer: diversity, run>"
    with pytest.raises(KeyError, match="there is no 'diversit' in this answer; there is diversity"):
        answer["diversit"]


def test_a_notebook_sees_the_overall_scores_first():
    found = [score("a", 1, space="one"), score("b", 2), score("b", 3, concept="c"), score("a", 4)]
    html = Answer(values={}, text="", scores=Scores.collect(found), warnings=("<mind>",))._repr_html_()
    assert html.index("<td>b</td>") < html.index("<td>a</td>") and "2 more in" in html and "&lt;mind&gt;" in html


def test_scores_of_one_name_are_told_apart_by_their_labels():
    text = format_scores([score("a", 1, agent="x"), score("a", 2, agent="y")])
    assert "of" in text.splitlines()[0] and "x" in text and "y" in text
    assert "of" not in format_scores([score("a", 1, agent="x"), score("b", 2, agent="x")]).splitlines()[0].split()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n": 2}, "n must be at least 3, got 2."),
        ({"n": 10}, "n must be at most 9, got 10."),
        ({"n": 3.5}, "n must be a whole number, got 3.5."),
        ({"n": "3"}, "n must be a whole number, got '3'."),
        ({"n": True}, "n must be a whole number, got True."),
        ({"rate": "1"}, "rate must be a number, got '1'."),
        ({"seed": -1}, "seed must be at least 0, got -1."),
    ],
)
def test_a_wrong_argument_is_one_sentence(wrong: dict[str, Any], sentence: str):
    with pytest.raises(UserError) as said:
        count(**wrong)
    assert str(said.value) == sentence


def test_one_name_stands_for_a_list_of_one_and_numbers_of_numpy_are_numbers():
    import numpy as np

    assert count("simclr")["names"] == ("simclr",) and count(["a", "b"])["names"] == ["a", "b"]
    assert count(n=np.int64(4), rate=np.float32(2))["n"] == 4 and count(rate=2)["rate"] == 2


def test_a_call_that_does_not_fit_names_the_verb():
    with pytest.raises(TypeError, match="count: got an unexpected keyword argument 'm'"):
        count(m=3)


def test_help_gives_types_ranges_and_every_argument():
    assert "n: How many. (at least 3 and at most 9)" in count.__doc__
    assert str(inspect.signature(count).parameters["n"].annotation) == "int | None"
