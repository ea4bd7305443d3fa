"""What a user may choose, in Python and on the command line: ways, episodes, some concepts, c4, and no people at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exemplar as ex
from exemplar import seeds
from exemplar.cli import main
from exemplar.draw.choices import choose_concepts, read_ways
from exemplar.draw.drawings import as_drawings, read_drawings
from exemplar.draw.measures.diversity import c4
from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.requests import Request
from exemplar.draw.scores import EncodedDrawings, ScoreConfig, score_features
from exemplar.draw.tasks import make_task, narrow_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Drawings

SMALL = GlyphsConfig(alphabets=4, characters=6, drawers=10, size=28)
PIXELS = dict(see=("pixels",), recognise=("pixels",), exemplar="drawer:drawer05")  # nothing to load


@pytest.fixture(scope="module")
def data():
    return load_glyphs("weak-test", SMALL)


def encoded_normal(k: int, n: int) -> EncodedDrawings:
    """Features of k concepts, n drawings of each, normal: what c4 corrects for."""
    rng = seeds.rng("normal features", k, n)
    exemplars = rng.normal(size=(k, 40)).astype(np.float32)
    drawn = (exemplars[:, None] + 0.3 * rng.normal(size=(k, n, 40))).astype(np.float32)
    seen = (CriticFeatures("a", drawn, exemplars, drawn),)
    about = dict(agent="someone", concepts=tuple(f"concept {i}" for i in range(k)), chosen_by="given", drawers="people")
    return EncodedDrawings(seen, seen, groups=np.zeros(k, int), makers=np.tile(np.arange(n), (k, 1)), **about)


# ways, in words


def test_ways_are_numbers_or_all_each_once():
    assert read_ways(()) == () and read_ways(20) == read_ways("20") == (20,)
    assert read_ways(["5,20", "all", 5]) == (5, 20, 0)


@pytest.mark.parametrize("wrong", ["1", 1, "-5", "2.5", "many", "", True])
def test_ways_that_are_no_choice_are_refused(wrong):
    with pytest.raises(UserError, match="must be 2 or more, or all"):
        read_ways(wrong)


def test_wrong_choices_are_refused_in_one_sentence_before_anything_is_drawn():
    def agent(exemplars, n, rng):
        raise AssertionError("nobody should draw")

    for asked, words in (
        ({"ways": 91}, "91 ways need as many concepts, glyphs/weak-test has 90"),
        ({"concepts": 12, "ways": "20"}, "20 ways need as many concepts, glyphs/weak-test has 12"),
        ({"concepts": 1}, "has 90 concepts: give --concepts a number from 2 to 90"),
        ({"concepts": "Ailzem/character01"}, "at least 2 concepts"),
        (
            {"concepts": ["Ailzem/character01", "Ailzem/character09"]},
            "no concept 'Ailzem/character09' in glyphs/weak-test",
        ),
        ({"n": 20}, "ask for 19 or fewer, or compare nothing with simulated drawers"),
        ({"people": False, "normalise": "people"}, "choose one"),
    ):
        with pytest.raises(UserError, match=words):
            ex.draw.score(agent, data="glyphs", **asked)


# some concepts


def test_concepts_are_chosen_by_name_by_file_or_by_number(data, tmp_path: Path):
    names = data.concepts
    assert choose_concepts(data, [names[4], names[1]], 0) == (names[1], names[4])  # in the data's order
    listed = tmp_path / "concepts.txt"
    listed.write_text(f"{names[2]}\n\n  {names[0]}\n", encoding="utf-8")
    assert choose_concepts(data, [str(listed)], 0) == (names[0], names[2])
    some = choose_concepts(data, ["5"], 0)
    assert len(set(some)) == 5 and some == choose_concepts(data, ["5"], 0) != choose_concepts(data, ["5"], 1)


def test_a_part_of_a_task_shows_the_same_exemplars_and_takes_drawings_of_the_whole(data, tmp_path: Path):
    whole = make_task(data, exemplar="random", rng=seeds.rng("exemplars"), n=4)
    part = narrow_task(whole, whole.concepts[3:8])
    assert part.concepts == whole.concepts[3:8] and len(part.data) == 5 * 10
    assert (part.exemplars == whole.exemplars[3:8]).all()
    everything = own_drawings(whole)
    everything.save(tmp_path)
    np.savez(tmp_path / "all.npz", images=everything.image, concept=everything["concept"].to_numpy().astype(str))
    alone = own_drawings(part)
    for given in (everything, tmp_path, tmp_path / "all.npz"):
        found = read_drawings(given, part)
        assert (found["concept"] == alone["concept"]).all() and (found["exemplar"] == alone["exemplar"]).all()
        assert (found.image == alone.image).all()
    back = as_drawings(part.exemplars[:, None].repeat(4, axis=1), part, agent="copies")
    assert (read_drawings(back, part)["exemplar"] == back["exemplar"]).all()
    with pytest.raises(UserError, match="has no drawings of"):
        read_drawings(alone, whole)


def test_scores_of_some_concepts_are_those_of_a_data_set_that_has_no_others(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = load("glyphs", "weak-test").concepts[:12]
    found = ex.draw.score("simulated", data="glyphs", concepts=names, **PIXELS)
    config = json.loads((found.folder / "config.json").read_text())["config"]
    assert found["concepts"] == 12 and config["asked"]["only"] == list(names)
    assert {score.n for score in found.overall if score.name == "diversity"} == {12}
    assert {score.concept for score in found.scores if score.concept} == set(names)
    again = ex.draw.compare([found.folder], html="page.html")  # asked as that run was
    assert again["runs"].keys() == {str(found.folder)} and Request.of(config["asked"]).only == tuple(names)


# people


def test_more_drawings_than_peoples_are_scored_where_nothing_is_compared_with_them(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ex.draw.score("redraw@1", data="glyphs", n=25, people=False, concepts=12, ways=(5, "all"), **PIXELS)
    names = {score.name for score in found.overall}
    assert found["n"] == 25 and {"recognizability_5_way", "recognizability_all_way", "diversity"} <= names
    assert not names & {"precision", "copy_rate", "distance_to_simulated_drawers", "recognizability_20_way"}
    assert any("nothing is compared with simulated drawers, as asked" in sentence for sentence in found.warnings)
    page = ex.draw.compare(["redraw@1", "copies"], data="glyphs", n=25, people=False, concepts=12, **PIXELS)
    assert list(page["runs"]) == ["redraw@1", "copies"]  # the data's own drawers made only 19


# c4


def test_few_drawings_are_warned_about_by_how_much_and_corrected_when_asked():
    few, many = encoded_normal(60, 3), encoded_normal(60, 40)

    def diverse(encoded: EncodedDrawings, *, unbiased: bool) -> tuple[float, tuple[str, ...]]:
        found = score_features(encoded, replace(ScoreConfig(n_replicates=50, n_splits=2), unbiased=unbiased))
        (row,) = [s for s in found.scores if s.name == "diversity_raw" and not s.concept and not s.space]
        return row.value, found.notes

    low, notes = diverse(few, unbiased=False)
    assert any("standard deviation of 3 drawings is too small, on average by 11%" in note for note in notes)
    assert low / diverse(many, unbiased=False)[0] == pytest.approx(c4(3) / c4(40), abs=0.02)
    assert low == pytest.approx(0.3 * c4(3), abs=0.006)
    high, notes = diverse(few, unbiased=True)
    assert high == pytest.approx(0.3, abs=0.006) and not any("too small" in note for note in notes)
    assert not any("too small" in note for note in diverse(many, unbiased=False)[1])


# drawing some concepts


@pytest.mark.parametrize("command_line", [False, True])
def test_an_agent_draws_only_the_concepts_asked_for_and_they_are_scored_as_it_says(
    tmp_path: Path, monkeypatch, capsys, command_line: bool
):
    """`draw sample` knew no --concepts; what it prints must score what it drew, also where the seed chose the concepts."""
    monkeypatch.chdir(tmp_path)
    if command_line:
        where = "--data glyphs --exemplar drawer:drawer05 --out drawn"
        monkeypatch.setattr("sys.argv", f"exemplar draw sample redraw@1 {where} --n 3 --concepts 6 --seed 3".split())
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
        text = capsys.readouterr().out
    else:
        asked = dict(exemplar="drawer:drawer05", n=3, concepts=6, seed=3)
        text = ex.draw.sample("redraw@1", data="glyphs", out="drawn", **asked).text
    drawn = Drawings.load(Path("drawn"))
    expected = choose_concepts(load("glyphs"), ["6"], 3)
    assert tuple(dict.fromkeys(drawn["concept"])) == expected and len(drawn) == 6 * 3
    assert "exemplar draw score drawn --data glyphs --concepts 6 --seed 3" in text
    scored = ex.draw.score("drawn", data="glyphs", concepts=6, seed=3, n=3, **PIXELS)
    assert scored["concepts"] == 6


def test_drawings_of_some_concepts_are_those_among_the_drawings_of_all(tmp_path: Path, monkeypatch):
    """Of an agent without chance: the exemplars, and where the record says they are, stay the same."""
    monkeypatch.chdir(tmp_path)
    names = load("glyphs").concepts[4:7]
    asked = dict(data="glyphs", exemplar="random", n=3)
    every = ex.draw.sample("copies", **asked, out="all").drawings
    some = ex.draw.sample("copies", **asked, concepts=list(names), out="some").drawings
    inside = every["concept"].isin(names).to_numpy()
    assert (some.image == every.image[inside]).all()
    assert (some["exemplar"].to_numpy() == every["exemplar"].to_numpy()[inside]).all()


# episodes, and the command


def test_the_command_takes_every_choice_and_says_it_in_its_json(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = "--concepts 15 --ways 3 --ways 5,all --episodes 400 --unbiased --no-people --n 4 --json"
    where = "--data glyphs --exemplar drawer:drawer05 --see pixels --recognise pixels"
    monkeypatch.setattr("sys.argv", f"exemplar draw score simulated {where} {asked}".split())
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    found = json.loads(capsys.readouterr().out)
    kept = json.loads(Path(found["run"], "config.json").read_text())["config"]
    assert kept["scores"]["ways"] == [3, 5, 0] and kept["scores"]["unbiased"] and not kept["scores"]["with_drawers"]
    assert kept["asked"]["episodes"] == 400 and len(kept["asked"]["only"]) == found["concepts"] == 15
    for way in (3, 5):
        exact, sampled = found[f"recognizability_{way}_way"], found[f"recognizability_{way}_way_sampled"]
        assert sampled["n"] == 400 and sampled["ci95"][0] < sampled["value"] < sampled["ci95"][1]
        assert sampled["value"] == pytest.approx(exact["value"], abs=0.06)
    assert "recognizability_all_way" in found and "recognizability_20_way" not in found


def test_an_older_run_that_knows_none_of_the_choices_is_read():
    before = {"data": "glyphs", "n": 19, "see": [], "recognise": [], "normalise": "sample"}
    found = Request.of(before)
    assert found.people and found.only == () and found.config.ways == (20, 0)
