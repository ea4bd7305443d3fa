"""The numbers the project stands by: kept, shown, and the same when computed again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from exemplar.records import Score
from exemplar.results.computing import all_results, compute
from exemplar.results.kept import LABELS, RENAMES, Kept, differences, load_kept
from exemplar.results.known import CHAPTERS, format_known
from exemplar.results.sections import LONGEST, format_section, lay_out
from exemplar.results.sources import hash_modules, imported_modules
from exemplar.rooms import KeptResult, Number
from exemplar.runs import read_json

RESULTS = all_results()
PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def score(value: float, agent: str = "a") -> Score:
    return Score("accuracy", value, (value - 0.1, value + 0.1), 10, agent=agent)


def test_the_page_of_what_we_know_is_made_from_the_kept_results():
    assert (PAGE.with_name("known.md")).read_text(encoding="utf-8") == format_known()


def test_what_we_know_is_of_every_room_and_fits_on_a_screen():
    assert {chapter.title for chapter in CHAPTERS} == {
        "Spaces and images",
        "Draw",
        "Learn",
        "Recall",
        "Foresee",
        "Lab",
        "Attend",
    }
    for chapter in CHAPTERS:
        assert bool(chapter.known) != bool(chapter.without) and len(chapter.known) <= 4, chapter.title
        for known in chapter.known:
            assert known.says.count("{}") == len(known.scores) > 0, known.says


def test_a_score_that_moved_is_named():
    assert differences([score(0.5)], [score(0.5)]) == []
    assert differences([score(0.5)], [score(0.6)]) == [
        "accuracy a was 0.5 [0.4, 0.6], n = 10, is 0.6 [0.5, 0.7], n = 10"
    ]
    assert differences([score(0.5, "a")], [score(0.5, "b")]) == ["accuracy a is gone", "accuracy b is new"]


def test_a_moved_interval_counts_too():
    assert differences([Score("s", 0.5, (0.4, 0.6), 9)], [Score("s", 0.5, (0.3, 0.6), 9)])


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_result_is_committed_and_on_the_page(name):
    kept = load_kept(name)
    assert kept is not None, f"exemplar results run {name} --commit"
    result = RESULTS[name]
    assert format_section(name, result, kept) in PAGE.read_text(encoding="utf-8")
    assert {"commit", "modules", "data", "machine"} <= set(kept.provenance), f"exemplar results run {name} --commit"
    known = {(s.name, s.agent) for s in kept.scores}
    assert set(result.published) | set(result.released) <= known  # else a published value stands beside nothing


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_the_tables_of_a_result_hold_each_of_its_scores_once(name):
    kept = load_kept(name)
    assert kept is not None
    shown = [one for layout in lay_out(kept.scores) for row in layout.rows.values() for one in row.values()]
    assert sorted(map(repr, shown)) == sorted(map(repr, kept.scores))


def test_a_row_is_what_was_scored_and_a_column_a_score():
    scores = [
        Score(name, 0.5, (0.4, 0.6), n, agent=who) for who in "ab" for name, n in (("accuracy", 10), ("loss", 20))
    ]
    scores.append(Score("r", -0.25, (-0.5, 0.0), 7))
    kept = Kept(scores, 3, {"exemplar": "0", "duration_s": 2.0})
    result = KeptResult(
        "Title", "Text.", compute=lambda run, seed: None, published={("loss", "b"): Number(0.45, "p. 1")}
    )
    section = format_section("one", result, kept)
    assert "| who | accuracy (n = 10) | loss (n = 20) | published |" in section
    assert "| b | 0.500 [0.400, 0.600] | 0.500 [0.400, 0.600] | 0.45 (p. 1) |" in section
    assert "| all | −0.250 [−0.500, 0.000] | 7 |" in section and "`exemplar results run one --seed 3`" in section


def test_of_one_score_the_label_with_the_fewest_values_makes_the_columns():
    scores = [Score("r", 0.5, (0, 1), 9, agent=who, concept=of) for who in "abc" for of in ("early", "late")]
    (layout,) = lay_out(scores)
    assert layout.columns == ["r: early", "r: late"] and list(layout.rows) == ["a", "b", "c"]


def test_of_a_long_table_the_rest_is_folded():
    many = [Score("r", 0.5, (0, 1), 9, agent=f"agent {number}") for number in range(LONGEST + 1)]
    section = format_section(
        "one", KeptResult("T", "", lambda run, seed: None), Kept(many, 0, {"exemplar": "0", "duration_s": 1.0})
    )
    assert section.count("| agent ") == LONGEST + 1 and "21 more rows</summary>" in section


@pytest.mark.parametrize("name", ["official-runs-by-ink", "naming-by-pixels"])
def test_a_quick_result_comes_out_the_same_again(name, tmp_path, real_data):
    real_data("omniglot")
    kept = load_kept(name)
    assert kept is not None
    scores, provenance = compute(name, tmp_path / "run", kept.seed)
    assert differences(kept.scores, scores) == []
    assert set(provenance["data"]) == {f"{data}/{split}" for data, split in RESULTS[name].data}


def test_the_released_baseline_of_omniglot_is_reproduced():
    """Modified Hausdorff distance: 38.8 % errors, as published."""
    kept = load_kept("official-runs-by-ink")
    assert kept is not None and kept.scores[0].value == pytest.approx(0.388, abs=0.001)


def test_glyphs_are_about_as_hard_for_pixels_as_omniglot_and_harder_the_more_hands_vary():
    kept = load_kept("naming-by-pixels")
    assert kept is not None
    value = {s.agent.removeprefix("pixels on "): s.value for s in kept.scores}
    assert value["glyphs@0.5"] > value["glyphs@1.0"] > value["glyphs@2.0"]
    assert abs(value["glyphs@1.0"] - value["omniglot/weak-test"]) < 0.05


def test_every_rename_leads_to_a_label_that_is_on_the_page():
    for name, columns in read_json(RENAMES).items():
        kept = load_kept(name)
        assert kept is not None
        for column, renames in columns.items():
            labels = {getattr(score, column) for score in kept.scores}
            assert column in LABELS and set(renames.values()) <= labels and not set(renames) & labels, (name, column)


def test_a_kept_label_is_read_as_it_is_called_now(tmp_path, monkeypatch):
    from exemplar.results import kept as module

    row = score(0.5, "people").row()
    (tmp_path / "one.json").write_text(json.dumps({"scores": [row], "seed": 0, "provenance": {}}))
    (tmp_path / "renames.json").write_text(json.dumps({"one": {"agent": {"people": "simulated drawers"}}}))
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "RENAMES", tmp_path / "renames.json")
    found = load_kept("one")
    assert found is not None and found.scores[0].agent == "simulated drawers" and found.scores[0].value == 0.5


def test_the_hash_of_a_result_follows_the_modules_it_imports_and_no_others():
    modules = imported_modules("exemplar.images.studies.official_runs")
    assert {
        "exemplar.images.studies.official_runs",
        "exemplar.images.omniglot",
        "exemplar.stats.bootstrapping",
    } <= modules
    assert not {name for name in modules if name.startswith(("exemplar.learn", "exemplar.cli"))}
    assert hash_modules("exemplar.images.omniglot") != hash_modules("exemplar.images.cifar")


def paragraphs_about_results() -> list[tuple[str, str, list[str]]]:
    """(page, paragraph, results) where README or a page of the docs names the command of a result."""
    found = []
    for page in [PAGE.parents[1] / "README.md", *sorted(PAGE.parent.glob("*.md"))]:
        for part in re.split(r"\n\s*\n|\n- |\n\| ", "" if page == PAGE else page.read_text(encoding="utf-8")):
            names = re.findall(r"results run\s+([a-z0-9-]+)", part)
            found += [(page.name, part, names)] if set(names) - {"NAME"} else []
    return found


def test_numbers_beside_the_command_of_a_result_are_in_it():
    """Such as .871: to its own digits it is a value of that result, or the end of an interval."""
    checked = 0
    for page, part, names in paragraphs_about_results():
        assert set(names) <= set(RESULTS), f"{page}: {names}"
        kept = [found for name in names if (found := load_kept(name)) is not None]
        known = np.array([end for one in kept for score in one.scores for end in (score.value, *score.ci95)])
        for number in re.findall(r"(?<![\w.])\d*\.\d{2,}(?![\w.]*\d)", part):
            near = 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-9
            assert (abs(abs(known) - float(number)) <= near).any(), f"{page}: {number} is not in {names}"
            checked += 1
    assert checked >= 3  # else this test looks at nothing
