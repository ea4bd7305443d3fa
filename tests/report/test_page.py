"""The one template of all rooms: what a page holds, that it is whole, and how it behaves in a browser."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure as Plot
from PIL import Image

from exemplar.errors import UserError
from exemplar.records import Score
from exemplar.report.figures import plot_scores
from exemplar.report.how_made import describe_command, how_made, rows_about
from exemplar.report.page import Chapter, Figure, Headline, data_uri, png_size, save_plot, svg_width, write_page
from exemplar.report.sheets import sheet_png
from exemplar.report.tables import Cell, ChoiceTable, Table, format_number, score_table, wide_table
from exemplar.runs import open_run

SCORES = [
    Score("accuracy", 0.5, (0.4, 0.6), 12, agent="pixels"),
    Score("mean_reaction_time", 1234.5, (1200.0, 1300.0), 1500, agent="people", space="simclr-glyphs-s0"),
    Score("accuracy", 0.25, (np.nan, np.nan), 1, agent="odd <b>"),
]


class Text(HTMLParser):
    """What a reader sees, and the addresses a browser would ask for."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if data.strip() and self.inside not in ("style", "script"):
            self.words.append(data.strip())


def plot() -> Plot:
    figure = Plot(figsize=(5, 3))
    figure.add_subplot().plot([0, 1], [0, 1])
    return figure


def sheet() -> bytes:
    return sheet_png(np.zeros((2, 3, 30, 30), np.uint8), ["a", "b"])


def make_page(folder: Path) -> Path:
    choices = ChoiceTable(
        "concept", [f"c{k}" for k in range(40)], ["a", "b"], ["diversity", "vendi"],
        [[[Score("d", scale * k / 40, (0.0, 1.0), 9), None] for k in range(40)] for scale in (1, -1)],
        [data_uri(sheet())] * 40,
    )  # fmt: skip
    wide = Table([f"column {k}" for k in range(14)], [[f"quite a long cell {k}" for k in range(14)]] * 3)
    chapters = [
        Chapter("One", ("A paragraph.",), [Figure.of_plot(plot_scores([1, 2, 3], SCORES[:1] * 3, xlabel="x", ylabel="y"), "A curve.", name="curve")], SCORES,
                "exemplar tour --out tour"),
        Chapter("Two", figures=[Figure.of_png(sheet(), "A sheet.", name="sheet"), Figure.of_plot(plot(), "A plot.", name="line", heading="Of all")],
                choices=[choices], tables=[wide], notes=["Few drawings."]),
    ]  # fmt: skip
    made = [("command", "exemplar tour"), ("seed", "0"), ("version", "Exemplar 0.1.0")]
    path = folder / "a page.html"
    return write_page(
        path, "A title", "A lead.", chapters, "A footer.", verdict="It works.", made=made, date="2025-06-24"
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("page"))


def test_the_verdict_comes_first_and_how_it_was_made_last(page):
    words = Text(page.read_text(encoding="utf-8")).words
    first = words.index("It works.")
    assert words[:1] == ["A title"] and words[1 + first : 4 + first] == ["A lead.", "One", "A paragraph."]
    last = words[words.index("How this was made") :]
    assert last == [
        "How this was made", "command", "exemplar tour", "seed", "0", "version", "Exemplar 0.1.0", "date", "2025-06-24", "A footer.",
    ]  # fmt: skip


def test_a_page_needs_nothing_but_itself_and_the_figures_it_links_to(page):
    text = page.read_text(encoding="utf-8")
    beside = [address for address in Text(text).addresses if not address.startswith("data:image/")]
    names = ("curve", "sheet", "line")
    assert beside == [f"a%20page-figures/{name}.{ending}" for name in names for ending in ("png", "svg")]
    assert all((page.parent / link.replace("%20", " ")).is_file() for link in beside)
    assert "@import" not in text and "url(" not in text and "<link" not in text


def test_the_old_way_to_call_it_still_works(tmp_path):
    chapter = Chapter("One", ("A paragraph.",), (), SCORES, "exemplar tour")
    words = Text(
        write_page(tmp_path / "index.html", "Title", "Lead", [chapter], "Foot").read_text(encoding="utf-8")
    ).words
    assert words[:4] == ["Title", "Title", "Lead", "One"] and words[-1] == "Foot" and "How this was made" not in words


def test_the_same_page_is_the_same_bytes(page, tmp_path):
    assert make_page(tmp_path).read_bytes() == page.read_bytes()


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    figure = Figure.of_plot(plot(), "A plot.", name="line")
    (tmp_path / "page-figures").write_text("in the way", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written"):
        write_page(tmp_path / "page.html", "Title", "Lead", [Chapter("One", figures=[figure])])
    assert [path.name for path in tmp_path.iterdir()] == ["page-figures"]


def test_every_figure_is_there_as_png_and_svg(page):
    for name in ("curve", "sheet", "line"):
        png, svg = (page.parent / "a page-figures" / f"{name}.{ending}" for ending in ("png", "svg"))
        assert png_size(png.read_bytes())[0] > 10 and ElementTree.parse(svg).getroot().tag.endswith("svg")


def test_figures_that_a_page_no_longer_shows_are_removed_and_others_stay(tmp_path):
    one, two = (Figure.of_plot(plot(), "A plot.", name=name) for name in ("one", "two"))
    path = tmp_path / "index.html"
    write_page(path, "Title", "Lead", [Chapter("All", figures=[one, two])])
    mine = tmp_path / "figures" / "mine.svg"
    mine.write_text("<svg/>")
    write_page(path, "Title", "Lead", [Chapter("All", figures=[two])])
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"two.png", "two.svg", "mine.svg"}


@pytest.mark.parametrize("name", ["index.html", "figures/one.svg", "figures/one.png"])
def test_nothing_is_written_over_a_file_of_somebody_else(tmp_path, name):
    theirs = tmp_path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_bytes(b"theirs")
    with pytest.raises(UserError, match="was not written by Exemplar"):
        write_page(
            tmp_path / "index.html", "T", "L", [Chapter("All", figures=[Figure.of_plot(plot(), "A.", name="one")])]
        )
    assert theirs.read_bytes() == b"theirs" and len([p for p in tmp_path.rglob("*") if p.is_file()]) == 1


def test_a_figure_kept_in_a_run_is_shown_later_as_it_was(tmp_path):
    save_plot(plot(), tmp_path, "line")
    kept = Figure.of_files(tmp_path, "A plot.", name="line")
    assert kept == Figure.of_plot(plot(), "A plot.", name="line")
    (tmp_path / "figures" / "line.png").unlink()
    with pytest.raises(UserError, match=r"line.png is missing"):
        Figure.of_files(tmp_path, "A plot.", name="line")


def test_a_long_page_opens_with_a_figure_numbers_and_contents(tmp_path):
    opening = Figure.of_plot(plot(), "All of them.", name="plane")
    chapters = [
        Chapter("One", headline=Headline(SCORES[0], "of all")),
        Chapter("Two, and more", headline=Headline(SCORES[2], "of one"), opening=opening),
    ]
    text = write_page(tmp_path / "index.html", "Title", "Lead", chapters, contents=True).read_text(encoding="utf-8")
    words = Text(text).words
    first, last = words.index("All of them."), words.index("Two, and more")
    assert words[first:last] == [
        "All of them.",
        "PNG",
        "SVG",
        "50 %",
        "[40, 60]",
        "of all",
        "25 %",
        "of one",
        "One",
    ]
    assert 'href="#two-and-more"' in text and '<section id="two-and-more">' in text


def test_what_a_number_means_stands_beside_its_table(tmp_path):
    table = wide_table(SCORES, {"accuracy": "right"}, "who", terms={"right": "share of right answers."})
    assert [[cell.text for cell in row] for row in table.cells] == [["pixels", "0.500"], ["odd <b>", "0.250"]]
    text = write_page(tmp_path / "p.html", "T", "L", [Chapter("One", tables=[table])]).read_text(encoding="utf-8")
    assert "<dt>right</dt> <dd>share of right answers.</dd>" in text


def test_names_are_text_whatever_is_in_them(tmp_path):
    odd = "<b>$x^&\"'</script> 漢字 \udcff"
    table = ChoiceTable(odd, [odd], [odd], [odd], [[[Score(odd, 1.0, (0.0, 2.0), 2)]]])
    chapter = Chapter(
        odd, [odd], scores=[Score(odd, 1.0, (0.0, 2.0), 2, agent=odd)], choices=[table], tables=[Table([odd], [[odd]])]
    )
    text = write_page(tmp_path / "page.html", odd, odd, [chapter], odd, verdict=odd, made=[(odd, odd)]).read_text(
        encoding="utf-8"
    )
    assert "&lt;b&gt;$x^&amp;" in text and "<b>$" not in text and text.count("</script>") == 1


def test_scores_are_a_sortable_table_with_their_labels():
    table = score_table(SCORES)
    cells = [[cell.text for cell in row] for row in table.cells]
    assert [cell.text for cell in table.heads] == ["score", "of", "value", "95 %", "n"]
    assert cells[1] == ["mean reaction time", "people", "1,234", "[1,200, 1,300]", "1,500"]
    assert table.cells[1][1].small == "simclr-glyphs-s0"
    assert cells[2] == ["accuracy", "odd <b>", "0.250", "", "1"]  # no interval, no "nan"
    assert [row[2].value for row in table.cells] == [0.5, 1234.5, 0.25]
    assert [cell.text for cell in score_table([Score("accuracy", 0.5, (0.4, 0.6), 12)]).heads] == [
        "score",
        "value",
        "95 %",
        "n",
    ]


@pytest.mark.parametrize(
    ("value", "ci95", "cells"),
    [
        (0.00273, (0.0025, 0.0029), ["0.00273", "[0.00250, 0.00290]"]),
        (-0.00002, (-0.0004, 0.0003), ["−0.00002", "[−0.00040, 0.00030]"]),
        (0.8, (0.71, 0.88), ["0.800", "[0.710, 0.880]"]),
        (1e-17, (1e-17, 2e-17), ["0.000", "[0.000, 0.000]"]),
    ],
)
def test_a_row_has_the_digits_that_its_interval_needs(
    value: float, ci95: tuple[float, float], cells: list[str]
) -> None:
    (row,) = score_table([Score("mse_n", value, ci95, 64)]).rows
    assert [cell.text for cell in row[1:3]] == cells  # type: ignore[union-attr]


def test_cells_show_a_score_with_its_interval_and_a_missing_one_as_a_dash():
    assert Cell.of(SCORES[0]) == Cell("0.500", 0.5, "[0.400, 0.600]", hint="n = 12", number=True)
    assert Cell.of(None) == Cell("–", number=True) and Cell.of(SCORES[2]).small == ""
    assert [format_number(value) for value in (0.0, 0.12345, -2.5, 12345.6)] == ["0.000", "0.123", "−2.500", "12,346"]


def test_only_long_tables_scroll_inside_the_page():
    assert not Table(["a"], [["b"]] * 30).is_tall and Table(["a"], [["b"]] * 31).is_tall


def test_pictures_know_how_wide_they_are():
    content = sheet()
    assert png_size(content) == Image.open(io.BytesIO(content)).size
    assert Figure.of_png(content, "", name="a").width == Image.open(io.BytesIO(content)).width
    assert Figure.of_plot(plot(), "", name="a").width == 5 * 96
    assert svg_width('<svg height="2pt" width="360pt" viewBox="0 0 1 1">') == 480 and svg_width("<svg>") == 0


def test_how_a_run_was_made_is_read_from_its_folder(tmp_path, monkeypatch):
    for argv, said in (
        (["draw", "score", "my drawings"], "exemplar draw score 'my drawings'"),
        (["-f", "kernel.json"], "exemplar draw score (from Python)"),
    ):
        folder = tmp_path / argv[0]
        monkeypatch.setattr("sys.argv", ["exemplar", *argv])
        with open_run(folder, command="draw score", config={}, seed=3, data={"glyphs/weak-test": "f00dfeed"}):
            pass
        rows = dict(how_made([folder]))
        assert rows["command"] == said and rows["seed"] == "3" and rows["data"] == "glyphs/weak-test (content f00dfeed)"
        assert rows["version"].startswith("Exemplar ") and re.fullmatch(r"\d{4}-\d\d-\d\d", rows["date"])
    both = dict(how_made([tmp_path / "draw", tmp_path / "-f"]))
    assert (
        both["command"].splitlines() == ["exemplar draw score 'my drawings'", "exemplar draw score (from Python)"]
        and both["seed"] == "3"
    )


def test_a_run_that_never_started_has_no_date():
    about = {"command": "draw score", "seed": 0, "data": {}, "provenance": {"state": "never started"}}
    assert describe_command(about) == "exemplar draw score (from Python)"
    assert dict(rows_about([about])).keys() == {"command", "seed"}


TRIED = """<script>
const found = {}, root = document.documentElement;
const sorted = document.querySelector("table.sorts"), values = () => [...sorted.tBodies[0].rows].map(row => row.cells[2].textContent);
sorted.tHead.rows[0].cells[2].click(); found.falling = values();
sorted.tHead.rows[0].cells[2].dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" })); found.rising = values();
sorted.tHead.rows[0].cells[1].click(); found.named = values();
const [table, select, input] = ["table", "select", "input"].map(tag => document.querySelector(".choices " + tag));
const shown = () => [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[2].textContent);
select.value = 1; select.dispatchEvent(new Event("change"));
input.value = "C39"; input.dispatchEvent(new Event("input")); found.chosen = shown();
addEventListener("load", () => {
  found.widths = [innerWidth, root.scrollWidth];
  found.scrolls = [...document.querySelectorAll(".scroll")].some(part => part.scrollWidth > part.clientWidth + 20);
  found.pictures = [...document.images].every(image => image.complete && image.naturalWidth > 0);
  found.paper = getComputedStyle(document.body).backgroundColor;
  found.card = getComputedStyle(document.querySelector("figure .card")).backgroundColor;
  document.title = JSON.stringify(found);
});
</script>"""


def browse(page: Path, folder: Path, *flags: str) -> dict[str, object]:
    """What the page does in a narrow window, where there is a browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium on this machine")
    copy = folder / "tried.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", TRIED + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    options += [
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={folder / 'profile'}",
    ]
    command = [browser, *options, *flags, "--window-size=400,800", "--dump-dom", copy.as_uri()]
    said = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    found: dict[str, object] = json.loads(html.unescape(re.search("<title>(.*?)</title>", said.stdout)[1]))  # type: ignore[index]
    return found


def test_in_a_browser_tables_sort_and_scroll_instead_of_widening_the_page(page, tmp_path):
    found = browse(page, tmp_path)
    assert found["falling"] == ["1,234", "0.500", "0.250"] and found["rising"] == found["falling"][::-1]  # type: ignore[index]
    assert found["named"] == ["0.250", "1,234", "0.500"]
    assert found["chosen"] == ["−0.975[0.000, 1.000]"]  # the value, and in small print its interval
    width, scrolled = found["widths"]  # type: ignore[misc]
    assert scrolled <= width and found["scrolls"] and found["pictures"]


def test_a_dark_page_keeps_its_figures_on_a_light_card(page, tmp_path):
    light, dark = (
        browse(page, tmp_path),
        browse(page, tmp_path, "--force-dark-mode", "--blink-settings=preferredColorScheme=0"),
    )
    brightness = {
        name: [sum(map(int, re.findall(r"\d+", str(found[name])))) / 3 for found in (light, dark)]
        for name in ("paper", "card")
    }
    assert brightness["paper"][0] > 240 and brightness["paper"][1] < 60
    assert min(brightness["card"]) > 230
