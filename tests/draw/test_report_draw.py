"""The page that compares drawers, and the figures on it and in the studies of drawing."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from exemplar import seeds
from exemplar.draw.figures import plots as figures
from exemplar.draw.figures import study_plots as studies
from exemplar.draw.figures import tables
from exemplar.draw.figures.comparison import originality_axis, write_comparison
from exemplar.draw.figures.drawers import OF_GLYPHS, OF_PEOPLE, drawers_of, is_own_drawers
from exemplar.draw.figures.studies import SHOW, StudyRecord
from exemplar.draw.figures.study_page import scores_beside_published
from exemplar.draw.figures.study_verdicts import VERDICTS, differ, study_verdict
from exemplar.draw.figures.verdicts import compare_verdict
from exemplar.draw.measures.differences import Difference
from exemplar.draw.scored_runs import read_scored
from exemplar.errors import UserError
from exemplar.files import write_npz
from exemplar.records import Score, Scores
from exemplar.report.labels import RINGS, _candidate_corners, _crossed_boxes, _overlap_area
from exemplar.rooms import Number
from exemplar.runs import open_run

N_CONCEPTS, N_DRAWINGS, SIDE = 12, 6, 20
CONCEPTS = [f"Vose/character{k:02d}" for k in range(N_CONCEPTS)]


def make_run(
    folder: Path,
    agent: str,
    *,
    place: tuple[float, float] = (0.4, 0.9),
    n: int = N_DRAWINGS,
    data: str = "omniglot/weak-test",
    exemplars: int = 0,
    critics: tuple[str, ...] = ("simclr-glyphs-s0", "simclr-glyphs-s1", "protonet-glyphs-s0"),
    normalise: str = "people",
    command: str = "draw score",
    ways: str = "20",
    distance: str = "distance_to_people",
) -> Path:
    """A run folder as `exemplar draw score` leaves it, of drawings and scores made up."""
    rng = seeds.rng("made-up drawings", agent, n)
    drawn = np.uint8(255) * (rng.random((N_CONCEPTS, n, SIDE, SIDE)) < 0.2)
    shown = np.uint8(255) * (seeds.rng("made-up exemplars", exemplars).random((N_CONCEPTS, SIDE, SIDE)) < 0.2)
    diversity = np.sort(rng.uniform(0.1, 0.9, N_CONCEPTS))
    scores = [
        score("diversity", place[0], agent=agent),
        score("diversity", place[0] - 0.01, agent=agent, space=critics[0]),
        score("diversity", place[0] + 0.01, agent=agent, space=critics[1]),
        score("precision", 0.5, agent=agent),
        score("precision", 0.5, agent=agent, space=critics[0]),
        *([score(f"recognizability_{ways}_way", place[1], agent=agent)] if ways else []),
        score(distance, 0.0 if agent in ("people", "simulated drawers") else 1.5, agent=agent),
        *(score("diversity", value, agent=agent, concept=c) for c, value in zip(CONCEPTS, diversity, strict=True)),
        *(score(distance, value, agent=agent, concept=c) for c, value in zip(CONCEPTS, diversity, strict=True)),
        *(score("vendi", 3.0, agent=agent, concept=c, space=critics[-1]) for c in CONCEPTS),
    ]
    bins = np.linspace(0.2, 0.8, 3)
    fit = np.linspace(0.2, 0.8, 9)
    curve = {"originality": bins, "recognised": 1 - bins / 2, "lo": 0.9 - bins / 2, "hi": 1.1 - bins / 2}
    curve |= {"fit_at": fit, "fit": 1 - fit / 2, "fit_lo": 0.9 - fit / 2, "fit_hi": 1.1 - fit / 2}
    arrays = {
        "agent": np.array(agent), "concepts": np.array(CONCEPTS), "notes": np.array(["few drawings"]),
        "exemplars": shown, "drawings": drawn, "originality": rng.uniform(0.1, 1, (N_CONCEPTS, n)),
        "recognised": rng.uniform(0, 1, (N_CONCEPTS, n)), "density": np.ones(5), "density_at": np.linspace(0, 1, 5),
        **{f"curve_{name}": value for name, value in curve.items()},
    }  # fmt: skip
    config = {
        "agent": agent, "asked": {}, "exemplar": "centre in simclr-glyphs-s0", "n": n,
        "critics": {"see": critics[:-1], "recognise": critics[-1:]}, "scores": {"normalise": normalise, "ways": [20, 0]},
    }  # fmt: skip
    with open_run(folder, command=command, config=config, seed=0, data={data: "f00d"}) as run:
        run.save(Scores.collect(scores))
        write_npz(folder / "scored.npz", arrays)
    return folder


def score(name: str, value: float, **about: Any) -> Score:
    return Score(name, float(value), (float(value) - 0.02, float(value) + 0.02), N_CONCEPTS, **about)


class Page(HTMLParser):
    """What a page refers to, and the text of its table cells and headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.links: list[str] = []
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        about = dict(attributes)
        self.tags.add(tag)
        self.sources += [about["src"] or ""] if "src" in about else []
        self.links += [about["href"] or ""] if "href" in about else []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.inside = tag if tag in ("td", "th", "small") else self.inside

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag in ("td", "th") else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += " " + data.strip() if self.rows[-1][-1] else data.strip()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    there = tmp_path_factory.mktemp("runs")
    places = {"people": (0.39, 0.97), "copies": (0.0, 1.0), "redraw@0.5": (0.25, 0.99), "redraw@2": (0.6, 0.8)}
    return [make_run(there / f"run{k}", agent, place=place) for k, (agent, place) in enumerate(places.items())]


@pytest.fixture(scope="module")
def page(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_comparison(tmp_path_factory.mktemp("page") / "all of them.html", folders)


def test_the_page_needs_nothing_but_itself(page):
    text = page.read_text(encoding="utf-8")
    parsed = Page(text)
    assert parsed.sources and all(source.startswith("data:image/") for source in parsed.sources)
    assert "link" not in parsed.tags and "http" not in text and "@import" not in text and "url(" not in text


def test_each_figure_is_beside_the_page_as_png_and_svg(page):
    links = {link.replace("%20", " ") for link in Page(page.read_text(encoding="utf-8")).links}
    names = [
        "plane",
        "curves",
        "radar",
        "ranked-01-people",
        "ranked-02-copies",
        "ranked-03-redraw-0.5",
        "ranked-04-redraw-2",
    ]
    assert links == {f"all of them-figures/{name}.{ending}" for name in names for ending in ("png", "svg")}
    assert {path.name for path in page.with_name("all of them-figures").iterdir()} == {
        Path(link).name for link in links
    }
    for link in links:
        path = page.parent / link
        if path.suffix == ".png":
            with Image.open(path) as picture:
                assert min(picture.size) > 300
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_the_table_says_each_score_with_its_interval_over_all_critics(page):
    rows = Page(page.read_text(encoding="utf-8")).rows
    head = next(row for row in rows if row[0] == "who")
    assert head == ["who", "diversity", "recognizability, 20-way", "distance to people"]
    assert ["copies", "0.000 [−0.020, 0.020]", "1.000 [0.980, 1.020]", "1.500 [1.480, 1.520]"] in rows
    every = {tuple(row[:2]): [cell.partition(" ")[0] for cell in row[2:]] for row in rows if len(row) == 6}
    assert every["diversity", "simclr-glyphs-s1"] == ["0.400", "0.010", "0.260", "0.610"]
    assert ("precision", "all") in every and ("precision", "simclr-glyphs-s0") not in every  # where it is the only one


def test_the_values_the_table_of_concepts_can_show_are_the_scores(page, folders):
    text = page.read_text(encoding="utf-8")
    values = json.loads(html.unescape(re.search(r'data-values="(.*?)"', text)[1]))  # type: ignore[index]
    options = re.findall(r'<option value="\d+">([^<]*)', text)
    assert options == [
        "diversity",
        "distance to people",
        "vendi",
    ]  # those there are of single concepts, known ones first
    for agent, folder in enumerate(folders):
        found = {(s.name, s.concept): s for s in Scores.load(folder) if s.concept}
        for name, rows in zip(("diversity", "distance_to_people", "vendi"), values, strict=True):
            for concept, row in zip(CONCEPTS, rows, strict=True):
                expected = found[name, concept]
                assert row[agent] == pytest.approx([expected.value, *expected.ci95], rel=1e-3)


def test_a_click_on_a_head_sorts_the_table_of_concepts(page, tmp_path):
    """In a browser, where there is one: by a column of numbers, twice, and by another score then."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium on this machine")
    clicks = """<script>
    const [byConcept, choice, only] = ["table", "select", "input"].map(tag => document.querySelector(".choices " + tag));
    const shown = () => [...byConcept.tBodies[0].rows].map(row => Number(row.cells[3].dataset.value));
    const head = byConcept.tHead.rows[0].cells[3], found = [];
    for (const act of [() => head.click(), () => head.click(), () => { choice.value = 2; choice.dispatchEvent(new Event("change")); },
                       () => { only.value = "ER03"; only.dispatchEvent(new Event("input")); }]) { act(); found.push(shown()); }
    found.push([...byConcept.tBodies[0].rows].filter(row => !row.hidden).length);
    document.title = JSON.stringify(found);
    </script>"""
    copy = tmp_path / "clicked.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", clicks + "</body>"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += [
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    said = subprocess.run(
        [browser, *flags, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=900, check=True
    )
    falling, rising, other, _, n_shown = json.loads(html.unescape(re.search("<title>(.*?)</title>", said.stdout)[1]))  # type: ignore[index]
    assert falling == sorted(falling, reverse=True) and len(set(falling)) == N_CONCEPTS
    assert rising == sorted(falling)
    assert other == [3.0] * N_CONCEPTS and n_shown == 1


def test_one_run_alone_is_a_report(folders, tmp_path):
    text = write_comparison(tmp_path / "one.html", folders[2:3]).read_text(encoding="utf-8")
    assert "Where it stands" in text and (tmp_path / "one-figures" / "ranked-01-redraw-0.5.svg").is_file()


def test_people_alone_have_no_radar(folders, tmp_path):
    write_comparison(tmp_path / "one.html", folders[:1])
    assert not (tmp_path / "one-figures" / "radar.png").exists()


def test_the_same_runs_make_the_same_page(page, folders, tmp_path):
    again = write_comparison(tmp_path / page.name, folders)
    assert again.read_bytes() == page.read_bytes()


def test_a_name_is_text_whatever_is_in_it(tmp_path, folders):
    odd = make_run(tmp_path / "odd", "<b>$x^&\"'</script> 漢字")
    page = write_comparison(tmp_path / "page.html", [folders[0], odd])
    text = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;$x^&amp;" in text and "<b>$" not in text and text.count("</script>") == 1
    assert (tmp_path / "page-figures" / "ranked-02-b-x-script.png").is_file()


def drawn_by(tmp_path: Path, data: str, *agents: str, **about: Any) -> list[Path]:
    return [make_run(tmp_path / f"{k}", agent, data=data, **about) for k, agent in enumerate(agents)]


@pytest.mark.parametrize("own", ["people", "simulated drawers"])  # as old runs and new ones name them
def test_the_drawers_of_built_in_glyphs_are_not_called_people(own, tmp_path):
    about = {"normalise": "sample", "distance": f"distance_to_{own.replace(' ', '_')}"}
    runs = drawn_by(tmp_path, "glyphs/weak-test", own, "copies", "noise", **about)
    text = write_comparison(tmp_path / "page.html", runs).read_text(encoding="utf-8")
    shown = re.sub(r'src="data:[^"]*"', "", text[text.index("<main>") :])
    assert not re.search(r"\bpeople\b", shown.lower()), re.findall(r".{60}\bpeople\b.{20}", shown.lower())[:3]
    assert (tmp_path / "page-figures" / "radar.svg").is_file() and "Who is nearest to the simulated drawers" in shown
    assert "distance to simulated drawers" in shown and "the star is the simulated drawers" in shown


def test_people_are_people_where_people_drew(page):
    text = page.read_text(encoding="utf-8")
    assert "the star is people" in text and "simulated" not in text
    assert drawers_of(["omniglot/weak-test"]) is drawers_of(["mine"]) is OF_PEOPLE
    assert drawers_of(["glyphs@0.5/all"]) is drawers_of(["glyphs/weak-test"]) is OF_GLYPHS
    assert drawers_of(["glyphs"]) is OF_PEOPLE  # a file of anyone's own
    assert is_own_drawers("people (run0)") and not is_own_drawers("peopled") and not is_own_drawers("copies")


def test_an_old_run_and_a_new_one_of_the_simulated_drawers_are_told_apart(tmp_path):
    runs = drawn_by(tmp_path, "glyphs/weak-test", "people", "simulated drawers")
    rows = Page(write_comparison(tmp_path / "page.html", runs).read_text(encoding="utf-8")).rows
    assert {"simulated drawers (0)", "simulated drawers (1)"} <= {row[0] for row in rows}


def test_the_page_says_how_it_was_made(page, folders):
    rows = {row[0]: row[1] for row in Page(page.read_text(encoding="utf-8")).rows if len(row) == 2}
    assert (
        rows["seed"] == "0"
        and rows["version"].startswith("Exemplar 0")
        and re.fullmatch(r"\d{4}-\d\d-\d\d", rows["date"])
    )
    assert rows["command"].startswith("exemplar draw score") and rows["data"] == "omniglot/weak-test (content f00d)"
    assert (
        rows["this page"].startswith(f"exemplar draw compare {folders[0]}")
        and "'all of them.html'" in rows["this page"]
    )


def gap(a: str, b: str, p: float, score: str = "distance_to_people") -> Difference:
    """A paired difference with this corrected p."""
    return Difference(a, b, score, 0.1, (0.0, 0.2), p / 2, p)


def verdict_on(tmp_path: Path, distances: dict[str, float], *differences: Difference, **p: float) -> str:
    """What is said of agents at these distances from people. p: of the null, by agent."""
    runs = []
    for agent, value in distances.items():
        run = read_scored(make_run(tmp_path / agent, agent))
        at = Score("distance_to_people", value, (0.9 * value, 1.1 * value), N_CONCEPTS, agent=agent)
        null = [Score("p_of_distance_to_people", p[agent], (0, 1), N_CONCEPTS, agent=agent)] if agent in p else []
        others = [s for s in run.scores if s.concept or s.name != "distance_to_people"]
        runs.append(replace(run, scores=[*others, at, *null]))
    return compare_verdict(runs, OF_PEOPLE, differences)


def test_the_verdict_names_who_is_nearest_to_people_by_paired_differences(tmp_path):
    """Not by intervals: those of near and middle do not overlap, and yet nothing is claimed without a paired difference."""
    distances = {"people": 0, "far": 9, "near": 1, "middle": 4}
    said = verdict_on(tmp_path, distances, gap("near", "middle", 0.01), gap("far", "near", 0.001))
    assert said == (
        "Nearest to people is near, 1.00 [0.90, 1.10] of people's standard deviations away; next is middle, "
        "4.00 [3.60, 4.40] away."
    )
    said = verdict_on(tmp_path / "b", distances, gap("near", "middle", 0.06), gap("far", "near", 0.001))
    assert said.startswith("Nearest to people are near (1.00 [0.90, 1.10]) and middle (4.00 [3.60, 4.40])")
    assert "whose difference is not certain; next is far" in said
    none = verdict_on(tmp_path / "c", {"a": 1, "b": 4})
    assert none.startswith("Who is nearest to people is not decided")


def test_the_verdict_says_who_is_not_told_apart_from_people(tmp_path):
    said = verdict_on(tmp_path, {"people": 0, "a": 0.1, "b": 0.2, "c": 2}, a=0.6, b=0.05, c=0.049)
    assert said.endswith(
        "away. a and b are not told apart from people; c is farther from people than people are from each other."
    )


@given(st.floats(0, 9), st.floats(0, 9), st.floats(0, 3), st.floats(0, 3))
@settings(deadline=None, max_examples=60)
def test_scores_differ_only_where_their_intervals_do_not_overlap(a, b, half, other):
    one, two = (Score("d", value, (value - width, value + width), 9) for value, width in ((a, half), (b, other)))
    assert differ(one, two) == differ(two, one) == (one.ci95[1] < two.ci95[0] or two.ci95[1] < one.ci95[0])
    assert not differ(one, one) and not differ(one, Score("d", b, (np.nan, np.nan), 1))


def test_the_verdict_on_one_agent_sets_it_beside_people(tmp_path):
    runs = [read_scored(make_run(tmp_path / a, a, place=p)) for a, p in (("people", (0.4, 0.9)), ("ddpm", (0.2, 0.91)))]
    differences = [gap("people", "ddpm", 0.01, "diversity"), gap("people", "ddpm", 0.2, "recognizability_20_way")]
    assert compare_verdict(runs, OF_PEOPLE, differences) == (
        "The drawings of ddpm are less diverse than people (0.20 [0.18, 0.22] against 0.40 [0.38, 0.42]) and not "
        "distinguishable from people in recognizability, 20-way (0.91 [0.89, 0.93] against 0.90 [0.88, 0.92])."
    )
    assert compare_verdict(runs[1:], OF_PEOPLE, []).startswith(
        "The drawings of ddpm have a diversity of 0.20 [0.18, 0.22] and"
    )


def test_without_anyone_to_be_near_to_the_verdict_says_who_is_ahead(tmp_path):
    places = {"a": (0.4, 0.9), "b": (0.2, 0.91), "c": (0.1, 0.5)}
    runs = [read_scored(make_run(tmp_path / a, a, place=p)) for a, p in places.items()]
    runs = [replace(run, scores=[s for s in run.scores if s.name != "distance_to_people"]) for run in runs]
    ways = "recognizability_20_way"
    differences = [gap("a", "b", 0.01, "diversity"), gap("a", "c", 0.01, "diversity"), gap("b", "c", 0.01, ways)]
    assert compare_verdict(runs, OF_PEOPLE, differences) == (
        "Most diverse is a, at 0.40 [0.38, 0.42], before b (0.20 [0.18, 0.22]); most recognizable are b (0.91 [0.89, 0.93]) "
        "and a (0.90 [0.88, 0.92]), whose difference is not certain."
    )
    assert "no drawer is the most diverse" in compare_verdict(runs, OF_PEOPLE, []).lower()


def test_agents_of_one_name_are_told_apart_by_their_folders(tmp_path, folders):
    again = make_run(tmp_path / "second", "copies")
    rows = Page(write_comparison(tmp_path / "page.html", [folders[1], again]).read_text(encoding="utf-8")).rows
    assert {"copies (run1)", "copies (second)"} <= {row[0] for row in rows}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": "glyphs/weak-test"}, r"different data, omniglot/weak-test \(12 concepts\) and glyphs"),
        ({"exemplars": 1}, "followed different exemplars"),
        ({"n": 4}, "at 6 and 4 drawings per concept: score both at 4"),
        (
            {"critics": ("simclr-glyphs-s0", "simclr-glyphs-s2", "protonet-glyphs-s0")},
            "simclr-glyphs-s1, simclr-glyphs-s2 scored only",
        ),
        ({"normalise": "sample"}, r"different settings \(normalise\): score both with the same"),
        ({"command": "spaces encode"}, "holds a run of spaces encode, no scored drawings"),
    ],
)
def test_runs_that_were_asked_different_things_are_not_compared(change, says, folders, tmp_path):
    other = make_run(tmp_path / "other", "others", **change)
    with pytest.raises(UserError, match=says):
        write_comparison(tmp_path / "page.html", [folders[0], other])
    assert [path.name for path in tmp_path.iterdir()] == ["other"]  # nothing half-written


def test_what_is_no_finished_run_is_refused_in_a_sentence(folders, tmp_path):
    out = tmp_path / "page.html"
    with pytest.raises(UserError, match="is no run folder"):
        write_comparison(out, [tmp_path])
    with pytest.raises(UserError, match="given twice"):
        write_comparison(out, [folders[0], folders[0].parent / "." / folders[0].name])
    with pytest.raises(UserError, match="nothing to compare"):
        write_comparison(out, [])
    with pytest.raises(UserError, match="rename .*page.pdf to end with .html"):
        write_comparison(tmp_path / "page.pdf", folders)
    stopped = make_run(tmp_path / "stopped", "copies")
    (stopped / "provenance.json").write_text('{"state": "running"}', encoding="utf-8")
    with pytest.raises(UserError, match="not finished"):
        write_comparison(out, [stopped])
    empty = make_run(tmp_path / "empty", "copies")
    (empty / "scored.npz").unlink()
    with pytest.raises(UserError, match="scored.npz is missing"):
        write_comparison(out, [empty])
    assert not out.exists()


def test_a_run_without_the_score_a_page_needs_says_which(tmp_path, folders):
    lacking = make_run(tmp_path / "lacking", "copies")
    Scores.collect([s for s in Scores.load(lacking) if s.name != "diversity"]).save(lacking)
    with pytest.raises(UserError, match="lacking has no score diversity: score the drawings again"):
        write_comparison(tmp_path / "page.html", [folders[0], lacking])


def test_a_score_over_all_critics_goes_before_a_single_ones(folders):
    run = read_scored(folders[1])
    assert run.overall("diversity").space == "" and run.overall("diversity").value == 0.0
    assert run.by_concept("vendi")[0].space == "protonet-glyphs-s0"  # where there is no other
    assert run.overall("vendi") is None and run.n == N_DRAWINGS


def test_the_plane_takes_the_first_recognizability_there_is(folders, tmp_path):
    assert tables.main_recognizability(read_scored(folders[0])) == ("recognizability_20_way", 20)
    few = make_run(tmp_path / "few", "copies", ways="all")
    assert tables.main_recognizability(read_scored(few)) == ("recognizability_all_way", N_CONCEPTS)
    none = make_run(tmp_path / "none", "copies", ways="")
    with pytest.raises(UserError, match="none has no score of recognizability"):
        write_comparison(tmp_path / "page.html", [none])


def test_main_scores_are_explained_and_stand_in_order(folders, tmp_path):
    assert tables.explain("recognizability_5_way").endswith("among 5, each seen once") and not tables.explain("vendi")
    run = read_scored(make_run(tmp_path / "run", "copies"))
    more = [score("recognizability_all_way", 0.9), score("copy_rate", 0.0), score("precision", 0.5)]
    names = tables.main_scores([replace(run, scores=[*more, *run.scores])])
    assert names == [
        "diversity", "recognizability_20_way", "recognizability_all_way", "copy_rate", "distance_to_people",
    ]  # fmt: skip


def test_whoever_is_far_beyond_the_data_s_own_drawers_leaves_the_axis_to_the_others(folders):
    people, near = (read_scored(folder) for folder in folders[:2])
    far = replace(
        near,
        agent="noise",
        originality=near.originality + 5,
        curve=replace(near.curve, originality=near.curve.originality + 5),
    )
    within, (low, high) = originality_axis([people, near, far], people.curve)
    assert within == [people, near] and 0 < low < high < 1.1
    assert originality_axis([people, near, far], None)[0] == [people, near, far]  # without people nobody is far
    assert originality_axis([far], people.curve)[0] == [far]


def test_names_and_numbers_read_well():
    assert tables.words("recognizability_all_way") == "recognizability, all-way"
    assert tables.words("distance_to_people") == "distance to people"
    assert tables.words("distance_to_people", OF_GLYPHS) == "distance to simulated drawers"


def test_agents_that_differ_by_one_parameter_are_a_family_in_its_order():
    agents = ["people", "redraw@10", "redraw@0.5", "vae:2", "redraw@2", "copies", "v@x"]
    assert figures.agent_families(agents) == [["redraw@0.5", "redraw@2", "redraw@10"]]


@pytest.mark.parametrize("own", ["people", "simulated drawers"])
def test_an_agent_keeps_its_style_and_the_data_s_own_drawers_are_a_black_star(own):
    styles, without = figures.agent_styles(["a", own, "b"]), figures.agent_styles(["a", "b"])
    assert styles[own] == {"color": figures.INK, "marker": "*"}
    assert styles["a"] == without["a"] and styles["b"] == without["b"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_the_most_and_the_least_are_at_either_end(values, n_each):
    array = np.array(values)
    rows, breaks = figures.most_and_least(array, n_each)
    assert len(set(rows.tolist())) == len(rows) == min(len(array), 2 * n_each)
    assert (np.diff(array[rows]) <= 0).all()
    left = np.delete(array, rows)
    assert breaks == ((n_each,) if len(array) > 2 * n_each else ())
    assert all(array[rows[:n_each]].min() >= value >= array[rows[-n_each:]].max() for value in left)


@given(st.lists(st.floats(0, 2), min_size=1, max_size=40), st.integers(1, 20))
@settings(deadline=None, max_examples=60)
def test_on_a_strip_each_step_shows_the_drawing_nearest_to_its_middle(originality, n):
    values = np.array(originality)
    middles, chosen = figures.pick_along(values, (0.0, 2.0), n)
    half = 1.0 / n
    expected = {}
    for step in range(n):
        middle = (2 * step + 1) * half
        inside = [k for k, value in enumerate(values) if abs(value - middle) <= half * (1 + 1e-9)]
        if inside:
            expected[middle] = min(abs(values[k] - middle) for k in inside)
    assert middles == pytest.approx(list(expected))
    assert np.abs(values[chosen] - middles) == pytest.approx(list(expected.values()))


def test_the_plane_shows_values_and_intervals_where_they_are():
    diversity = {"people": score("diversity", 0.4), "ddpm": Score("diversity", 0.3, (0.25, 0.4), 9)}
    recognizability = {
        "people": score("recognizability", 0.97),
        "ddpm": Score("recognizability", 0.8, (np.nan, np.nan), 1),
    }
    figure = figures.plot_plane(diversity, recognizability, chance=0.05)
    bars = figure.axes[0].containers
    assert [tuple(float(part[0]) for part in bar[0].get_data()) for bar in bars] == [(0.4, 0.97), (0.3, 0.8)]
    across, along = (segments.get_segments()[0] for segments in bars[1][2])
    assert across[:, 0] == pytest.approx([0.25, 0.4]) and along[:, 1] == pytest.approx([0.8, 0.8])
    assert bars[0][0].get_marker() == "*"


def test_covered_area_is_counted_once_for_each_that_covers():
    boxes = np.array([[0.0, 0, 10, 2], [20, 0, 30, 2]])
    others = np.array([[5.0, 1, 15, 9], [-1, -1, 4, 0.5]])
    assert _overlap_area(boxes, others).tolist() == [5 * 1 + 4 * 0.5, 0.0]


def test_none_of_the_places_of_a_name_is_on_its_point():
    corners = _candidate_corners(30.0, 11.0)
    assert len(corners) == 8 * RINGS
    over = (corners < 0).all(axis=1) & (corners > [-30.0, -11.0]).all(axis=1)
    assert not over.any()


def test_a_line_crosses_the_boxes_that_hold_a_point_of_it():
    lines = np.linspace([[0.0, 0], [0, 0]], [[10.0, 0], [0, 10]], 11, axis=1)  # to the right, and up
    boxes = np.array([[2.5, -1, 3.5, 1], [6.0, -1, 20, 1], [-1, 4, 1, 8]])
    assert _crossed_boxes(lines, boxes).tolist() == [2, 1]


def covered_area(figure: Figure) -> float:
    """px² of texts in the first axes that lie on each other; before a file is written, whose own resolution stays."""
    figure.draw_without_rendering()
    boxes = np.array([Text.get_window_extent(text).extents for text in figure.axes[0].texts])
    return sum(float(_overlap_area(boxes[k : k + 1], boxes[k + 1 :])[0]) for k in range(len(boxes)))


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("centre", [(0.5, 0.7), (0.95, 0.06), (0.02, 0.99)])
def test_names_in_a_crowd_do_not_lie_on_each_other_nor_on_chance(centre: tuple[float, float], spread: float):
    """Of 8 near ones with long names some did in 16 of 24 figures, and one near the end of the line lay on the word chance."""
    rng = seeds.rng("crowd", spread)
    agents = ["noise", *(f"redraw@{1 + k / 10}-of-omniglot" if k % 2 else f"model-{k}" for k in range(9))]
    x, y = ({"noise": score("s", end)} for end in (1.0, 0.05))
    for agent in agents[1:]:
        across, up = np.clip(np.add(centre, rng.uniform(-spread, spread, 2)), 0, 1)
        x[agent], y[agent] = score("s", float(across)), score("s", float(up))
    figure = figures.plot_plane(x, y, chance=0.05)
    assert len(figure.axes[0].texts) == 11
    assert covered_area(figure) == 0


def test_a_name_with_room_stands_beside_its_point_and_needs_no_line():
    figure = figures.plot_plane({"people": score("d", 0.4)}, {"people": score("r", 0.5)})
    (name,) = figure.axes[0].texts
    assert not name.arrow_patch.get_visible()
    figure.draw_without_rendering()
    point = figure.axes[0].transData.transform((0.4, 0.5))
    low, high = np.array(Text.get_window_extent(name).extents).reshape(2, 2)
    px = np.linalg.norm(np.maximum(np.maximum(low - point, point - high), 0))  # from the text to the point
    assert 0 < px < 20


def test_files_of_a_figure_are_the_same_bytes_again():
    def made() -> dict[str, bytes]:
        return figures.render(figures.plot_plane({"people": score("d", 0.4)}, {"people": score("r", 0.9)}))

    assert made() == made()


def test_a_ranked_sheet_shows_the_drawings_as_they_are():
    rng = seeds.rng("sheet")
    exemplars, drawings = (np.uint8(255) * (rng.random((3, *more, 64, 64)) < 0.5) for more in ((), (4,)))
    figure = figures.plot_ranked(exemplars, drawings, ["a", "b", "c"], breaks=(2,))
    assert len(figure.axes[0].images) == 6  # the exemplar and the line of drawings, a row each
    png = np.asarray(Image.open(io.BytesIO(figures.render(figure)["png"])).convert("L"))
    first = 255 - drawings[0, 0]
    windows = np.lib.stride_tricks.sliding_window_view(png[:80], (64, 64))
    wrong = np.array([[np.mean(windows[y, x] != first) for x in range(windows.shape[1])] for y in range(16)])
    assert wrong.min() < 0.05


def test_copies_have_a_curve_too():
    """All their originalities are 0, and a density they have none."""
    zero, one = np.zeros(3), np.ones(3)
    curve = figures.FittedCurve(zero, one, one, one, zero, one, one, one)
    strip = figures.Strip(zero[:1], np.zeros((1, 9, 9), np.uint8), np.zeros((1, 9, 9), np.uint8))
    figure = figures.plot_curves({"copies": curve}, {"copies": (zero, zero)}, {"copies": strip}, extent=(-0.1, 1))
    assert figures.render(figure)["svg"].startswith(b"<svg")


def test_critics_that_agree_lie_on_a_line_and_their_correlation_is_said():
    x = np.linspace(0, 1, 9)
    figure = studies.plot_agreement(x, 2 * x + 1, [Score("spearman", 1.0, (0.9, 1.0), 9)], xlabel="a", ylabel="b")
    axes = figure.axes[0]
    assert axes.get_title(loc="left") == "spearman 1.00 [0.90, 1.00]"
    dots, line = axes.lines
    assert np.interp(dots.get_xdata(), line.get_xdata(), line.get_ydata()) == pytest.approx(dots.get_ydata())


def test_critics_that_say_the_same_of_all_have_no_line():
    assert len(studies.plot_agreement(np.ones(4), np.arange(4.0), [], xlabel="a", ylabel="b").axes[0].lines) == 1


def test_the_band_along_a_number_is_the_interval():
    scores = [score("diversity", value) for value in (0.3, 0.4, 0.5)]
    axes = studies.plot_along({"people": ((5, 10, 20), scores)}, xlabel="n", ylabel="diversity", log=True).axes[0]
    band = axes.collections[0].get_paths()[0].vertices
    assert {tuple(np.round(point, 6)) for point in band} == {
        (n, round(s.value + side, 6)) for n, s in zip((5, 10, 20), scores, strict=True) for side in (-0.02, 0.02)
    }
    assert axes.get_xscale() == "log" and axes.lines[0].get_ydata() == pytest.approx([0.3, 0.4, 0.5])


def test_a_map_has_one_dot_per_drawing_and_one_colour_per_concept():
    place = seeds.rng("map").normal(size=(12, 2))
    concept = np.repeat(["a", "b", "c"], 4)
    figure = studies.plot_map(
        {"SimCLR": place, "pixels": place}, concept, dict.fromkeys("abc", np.zeros((9, 9), np.uint8))
    )
    for axes in figure.axes:
        assert np.concatenate([line.get_xydata() for line in axes.lines]) == pytest.approx(place)
        assert len({line.get_color() for line in axes.lines}) == 3


def test_rows_show_ours_and_what_was_published():
    rows = {"SimCLR and ProtoNet": [score("spearman", 0.8)], "light": [score("spearman", -0.2)]}
    axes = studies.plot_rows(rows, xlabel="Spearman", published={"light": 0.79}).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["light", "SimCLR and ProtoNet"]
    found = {float(bar[0].get_xdata()[0]): float(bar[0].get_ydata()[0]) for bar in axes.containers}
    assert found == {0.8: 1.0, -0.2: 0.0}
    assert [0.79, 0] in [line.get_xydata()[0].tolist() for line in axes.lines if len(line.get_xydata())]
    assert axes.get_xlim()[0] < -0.2 and axes.get_xlim()[1] > 0.8


def study(name: str, *scores: Score, data: str = "omniglot/weak-test", **published: Number) -> StudyRecord:
    return StudyRecord(name, data, scores, {}, {tuple(key.split("__")): n for key, n in published.items()})  # type: ignore[misc]


def test_every_study_has_figures_and_a_verdict_and_none_is_needed_where_scores_are_missing():
    assert SHOW.keys() == VERDICTS.keys()
    assert [study_verdict(study(name)) for name in (*VERDICTS, "another one")] == [""] * (len(VERDICTS) + 1)


def test_a_study_s_verdict_is_what_its_scores_say():
    slope = Score("slope", 0.8, (0.75, 0.85), 9, agent="people, concepts")
    assert study_verdict(study("centre-and-exemplar", slope)).endswith(
        "is 0.80 [0.75, 0.85], an interval that excludes 1."
    )
    wide = replace(slope, ci95=(0.5, 1.1))
    assert study_verdict(study("centre-and-exemplar", wide)).endswith("an interval that includes 1.")
    ends = [
        Score(f"recognizability_of_the_{which}_original", value, (value - 0.05, value + 0.05), 9, agent="people")
        for which, value in (("least", 0.99), ("most", 0.95))
    ]
    said = study_verdict(study("curve", *ends, data="glyphs/weak-test"))
    assert "the simulated drawers' drawings" in said and "does not change beyond its intervals" in said


def test_a_study_s_table_sets_what_others_found_beside_ours():
    ours = [Score("r_squared", 0.7, (0.6, 0.8), 9, agent="two"), Score("r_squared", 0.5, (0.4, 0.6), 9, agent="people")]
    table = scores_beside_published(study("critics-agree", *ours, r_squared__two=Number(0.74, "a paper, Table 1")))
    assert [cell.text for cell in table.heads][-1] == "by others"
    assert [(row[-1].text, row[-1].small) for row in table.cells] == [("0.74", "a paper, Table 1"), ("", "")]
    alone = scores_beside_published(study("critics-agree", *ours, data="glyphs/weak-test"))
    assert [cell.text for cell in alone.heads][-1] == "n" and alone.cells[1][1].text == "simulated drawers"
