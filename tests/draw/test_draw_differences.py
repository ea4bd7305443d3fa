"""Paired differences between drawers: known by hand, of the right level, and in JSON, text and page."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from exemplar import seeds
from exemplar.draw.figures.differences import differences_table, in_words
from exemplar.draw.measures.differences import (
    Difference,
    Headline,
    Moved,
    compare_pairs,
    difference,
    distance_difference,
    from_arrays,
    headline,
    to_arrays,
)
from exemplar.draw.measures.told_apart import index_hands
from exemplar.errors import UserError
from exemplar.files import read_npz, write_npz

K = 20


def values(*rows: np.ndarray, share: bool = False) -> Headline:
    return Headline(np.stack(rows), 0.0, 9.0, share)


def test_with_one_critic_it_is_students_paired_test():
    one, other = seeds.rng("pair").random((2, K))
    found, (low, high), p = difference(values(one), values(other))
    expected = ttest_1samp(one - other, 0)
    assert found == pytest.approx(expected.statistic * (one - other).std(ddof=1) / np.sqrt(K))
    ends = expected.confidence_interval()
    assert (low, high, p) == pytest.approx((ends.low, ends.high, expected.pvalue))
    assert difference(values(other), values(one))[0] == pytest.approx(-found)  # a − b is −(b − a)


def test_critics_that_disagree_widen_it_and_those_that_agree_do_not():
    base, noise = seeds.rng("critics").random((2, K))
    alike = difference(values(base, base, base), values(noise, noise, noise))
    one = difference(values(base), values(noise))
    assert alike[1] == pytest.approx(one[1])
    apart = difference(values(base, base + 0.5, base - 0.5), values(noise, noise, noise))
    assert apart[1][1] - apart[1][0] > 2 * (one[1][1] - one[1][0])
    # residuals are no disagreement: of critics that differ at single concepts only, the mean is what counts
    mixed = difference(values(base, np.roll(base, 1), np.roll(base, 2)), values(noise, noise, noise))
    assert mixed[0] == pytest.approx(one[0])


def test_interval_and_p_never_contradict_each_other():
    rng = seeds.rng("contradict")
    for share in (False, True):
        for _ in range(300):
            gap = rng.choice([0, 0.02, 0.3]) * rng.standard_normal((3, K)) + rng.choice([0, 0.05, 0.2])
            _, (low, high), p = difference(values(*gap, share=share), values(*np.zeros((3, K)), share=share))
            assert (p < 0.05) == (low > 0 or high < 0)


def test_shares_do_not_differ_by_less_than_three_concepts_worth():
    """Without it, 30 concepts drawn alike would be told apart from 30 of which each has one slip."""
    whole, slips = np.ones(30), np.full(30, 1 - 1 / 19)
    found, (low, high), p = difference(values(whole, share=True), values(slips, share=True))
    assert found == pytest.approx(1 / 19) and low < 0 < high and p == 1
    assert difference(values(whole, share=True), values(whole, share=True))[1] == pytest.approx((-3 / 30, 3 / 30))
    assert difference(values(whole, share=True), values(slips - 0.5, share=True))[2] < 0.001


def test_two_shares_differ_by_1_at_most():
    whole, none = values(np.ones(K), share=True), values(np.zeros(K), share=True)
    assert difference(whole, none)[1] == pytest.approx((1 - 3 / K, 1))
    assert difference(none, whole)[1] == pytest.approx((-1, 3 / K - 1))
    most = values(np.r_[np.ones(K - 1), 0.9], share=True)
    assert difference(most, none)[1][1] == 1 and difference(none, most)[1][0] == -1


def test_hands_that_draw_every_concept_add_to_its_noise():
    rng = seeds.rng("hands")
    alone = rng.random((1, K, 9))
    hands = alone + 3 * rng.standard_normal(9)
    who = index_hands(K, 9)
    assert headline(alone, who).shared < 0.01 and headline(hands, who).shared == pytest.approx(
        np.var(hands[0].mean(axis=0), ddof=1) / 9, rel=0.1
    )
    width = [np.diff(difference(headline(one, who), headline(alone * 0))[1])[0] for one in (alone, hands)]
    assert width[1] > 5 * width[0]


def test_nobody_invents_hands_for_an_agent():
    """Four drawings by chance alike in all concepts would be three degrees of freedom."""
    few = seeds.rng("few").random((1, K, 4)) + np.array([0, 0.2, 0.4, 0.6])
    expected = ttest_1samp(few.mean(axis=(0, 2)), 0).confidence_interval()
    assert difference(headline(few), headline(few * 0))[1] == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("k", [8, 40])
def test_drawers_that_are_alike_differ_once_in_twenty_times(k):
    """Of lognormal values, hands and critics that vary: unlike what Student had in mind."""
    rng, found = seeds.rng("level", k), []
    for _ in range(400):
        one, other = np.exp(0.5 * rng.standard_normal((2, 1, k, 9))) + 0.2 * rng.standard_normal((2, 3, 1, 1))
        found.append(difference(headline(one), headline(other))[2] < 0.05)
    assert np.mean(found) < 0.085  # .05 gives more once in a thousand times


def test_the_difference_of_distances_is_that_of_the_distances():
    rng = seeds.rng("moved")
    one, other = (Moved(rng.standard_normal((2, K, 2)) + at, np.zeros((4, 4)), 9.0) for at in ((5, 0), (0, 2)))
    length = [np.hypot(*side.moved.mean(axis=1).T).mean() for side in (one, other)]
    found, (low, high), p = distance_difference(one, other)
    assert found == pytest.approx(length[0] - length[1]) and low > 2 and high < 4 and p < 0.001
    assert distance_difference(one, one)[0] == 0 and distance_difference(one, one)[2] == 1


def test_pairs_are_corrected_within_a_score_and_come_back_from_a_file(tmp_path):
    rng = seeds.rng("three")
    heads = {name: headline(rng.random((2, K, 5)) + at) for name, at in (("a", 0), ("b", 0.05), ("c", 1))}
    found = compare_pairs({"diversity": heads}, {}, "distance_to_people")
    assert [(d.a, d.b) for d in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    order = sorted(found, key=lambda d: d.p)
    assert [d.p_corrected for d in order] == pytest.approx(
        [3 * order[0].p, max(3 * order[0].p, 2 * order[1].p), order[2].p]
    )
    moved = Moved(rng.random((2, K, 2)), rng.random((4, 4)), 3.0)
    write_npz(tmp_path / "a.npz", to_arrays(heads, moved))
    kinds = {name: ("f", array.ndim) for name, array in to_arrays(heads, moved).items()}
    again, also = from_arrays(read_npz(tmp_path / "a.npz", **kinds))
    assert (
        also is not None and (also.moved == moved.moved).all() and (also.noise == moved.noise).all() and also.free == 3
    )
    noise, free = np.stack([rng.random((4, 4)), moved.noise]), np.array([8.0, 3.0])  # as earlier versions wrote them
    _, before = from_arrays({"moved": moved.moved, "moved_noise": noise, "moved_free": free})
    assert before is not None and (before.noise == moved.noise).all() and before.free == 3
    assert all(difference(again[name], heads["a"]) == difference(heads[name], heads["a"]) for name in heads)
    assert from_arrays({}) == ({}, None)


def made(a: str, b: str, score: str, value: float, p: float) -> Difference:
    return Difference(a, b, score, value, (value - 0.1, value + 0.1), p / 3, p)


def test_words_say_who_differs_from_whom():
    found = [
        made("x", "y", "diversity", -0.2, 0.01), made("x", "z", "diversity", -0.2, 0.01), made("y", "z", "diversity", 1, 0.05),
        made("x", "y", "recognizability_20_way", 0.2, 0.01), made("x", "z", "recognizability_20_way", 0.2, 0.01),
        made("x", "y", "recognizability_all_way", 0.2, 0.01), made("x", "z", "recognizability_all_way", 0.2, 0.01),
        made("x", "z", "distance_to_people", 0.2, 0.04),
    ]  # fmt: skip
    assert in_words(found) == [
        "x is less diverse and more recognizable (20-way and all-way) than y; it is less diverse, more recognizable (20-way and "
        "all-way) and farther from people than z.",
        "No reliable difference was found between y and z.",
    ]
    assert in_words([made("people", "y", "diversity", 0.2, 0.01)]) == ["People are more diverse than y."]
    table = differences_table(found)
    assert [cell.text for cell in table.cells[0]] == ["x − y", "−0.200 *", "+0.200 *", "+0.200 *", "–"]
    assert table.cells[0][1].small == "−0.300 to −0.100\np, corrected = 0.010" and table.cells[0][1].value == -0.2
    assert table.cells[2][1].text == "+1.000" and "p, corrected = 0.050" in table.cells[2][1].small


def test_comparing_gives_differences_in_json_text_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import exemplar as ex

    monkeypatch.chdir(tmp_path)
    found = ex.draw.compare(["copies", "redraw@1", "redraw@2"], data="glyphs", n=5, html="page.html")
    gaps = {(d["a"], d["b"], d["score"]): d for d in found["differences"]}
    assert set(next(iter(gaps.values()))) == {"a", "b", "score", "difference", "ci95", "p", "p_corrected"}
    wide = gaps["redraw@1", "redraw@2", "diversity"]
    assert wide["p_corrected"] < 0.05 and wide["difference"] < 0 and wide["ci95"][1] < 0
    assert gaps["redraw@1", "simulated drawers", "recognizability_20_way"]["p_corrected"] > 0.05
    distances = {(a, b) for a, b, score in gaps if score == "distance_to_simulated_drawers"}
    assert distances == {("copies", "redraw@1"), ("copies", "redraw@2"), ("redraw@1", "redraw@2")}
    shown = found.page.read_text(encoding="utf-8")
    assert (
        "copies is less diverse" in shown and "Who differs from whom" in shown and "redraw@1 − redraw@2" in found.text
    )
    assert (tmp_path / "page-figures" / "null.svg").is_file()
    runs = {name: Path(folder) for name, folder in found["runs"].items()}
    same = ex.draw.score("redraw@1", data="glyphs", n=5)
    assert same["diversity"]["value"] - ex.draw.score("redraw@2", data="glyphs", n=5)["diversity"][
        "value"
    ] == pytest.approx(wide["difference"], abs=1e-6)

    old = tmp_path / "old"  # as an earlier version left it
    shutil.copytree(runs["copies"], old)
    with np.load(old / "scored.npz") as arrays:
        kept = {
            n: a for n, a in arrays.items() if not n.startswith(("by_critic_", "hands_of_", "moved", "null_distance"))
        }
    write_npz(old / "scored.npz", kept)
    again = ex.draw.compare([str(old), str(runs["redraw@1"]), str(runs["simulated"])], html="old.html")
    assert {(d["a"], d["b"]) for d in again["differences"]} == {("redraw@1", "simulated drawers")}
    (said,) = [sentence for sentence in again.warnings if "earlier version" in sentence]
    assert str(old) in said and said in again.page.read_text(encoding="utf-8")

    other = ex.draw.score("redraw@1", data="glyphs", n=4)
    with pytest.raises(UserError, match="at 5 and 4 drawings per concept: score both at 4"):
        ex.draw.compare([str(runs["copies"]), str(other.folder), str(runs["simulated"])], html="no.html")
    ways = ex.draw.score("redraw@1", data="glyphs", n=5, exemplar="random")
    with pytest.raises(UserError, match="followed different exemplars"):
        ex.draw.compare([str(runs["copies"]), str(ways.folder), str(runs["simulated"])], html="no.html")


def test_the_same_drawings_under_two_names_differ_in_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import exemplar as ex

    monkeypatch.chdir(tmp_path)
    asked = {"data": "glyphs", "n": 4, "concepts": 20}
    folders = [str(ex.draw.score("redraw@2", **asked, agent=name, out=name).folder) for name in ("base", "twin")]
    found = ex.draw.compare([*folders, "copies"], **asked, html="page.html")
    twins = [d for d in found["differences"] if {d["a"], d["b"]} == {"base", "twin"}]
    assert {d["score"] for d in twins} >= {"diversity", "recognizability_20_way", "distance_to_simulated_drawers"}
    assert all((d["difference"], d["ci95"], d["p"]) == (0, [0, 0], 1) for d in twins)
    (said,) = [sentence for sentence in found.warnings if "pixel by pixel" in sentence]
    assert said == "the drawings of base and twin are the same, pixel by pixel: nothing differs between them"
    assert said in found.page.read_text(encoding="utf-8")
    # copies do not vary at all: the difference to them is as certain as the score itself
    (gap,) = [d for d in found["differences"] if (d["a"], d["b"], d["score"]) == ("base", "copies", "diversity")]
    (own,) = [s for s in found.scores if s.agent == "base" and s.name == "diversity" and not s.space]
    assert gap["ci95"] == pytest.approx(own.ci95, abs=0.01)


def test_a_file_of_the_datas_own_drawings_is_their_drawers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import exemplar as ex

    monkeypatch.chdir(tmp_path)
    asked = {"data": "glyphs", "n": 4, "concepts": 20}
    run = ex.draw.score("simulated", **asked)
    with np.load(run.folder / "scored.npz") as arrays:
        images, concepts = arrays["drawings"], arrays["concepts"]
    np.savez("human.npz", images=images.reshape(-1, *images.shape[2:]), concept=np.repeat(concepts, 4))
    found = ex.draw.compare(["human.npz", "redraw@1"], **asked, html="page.html")
    assert set(found["runs"]) == {"human.npz", "redraw@1"}
    assert {(d["a"], d["b"]) for d in found["differences"]} == {("simulated drawers", "redraw@1")}
