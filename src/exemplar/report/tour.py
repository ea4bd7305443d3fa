"""The page a newcomer reads first: what each room asks, shown on data the package made itself."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
import numpy as np

from exemplar.files import read_npz, whole_file
from exemplar.records import Drawings, Predictions, Score
from exemplar.report.figures import plot_scores
from exemplar.report.sheets import sheet_png
from exemplar.report.spaces import map_png, nearest_sheet, plot_named
from exemplar.runs import describe_run, load_scores

TITLE = "What can you do after seeing something once?"
LEAD = (
    "Exemplar puts the same few-shot visual tasks to people and to machines, keeps what each did in the same tables, and "
    "scores those tables with the same code. This page was made on your machine, from data the package draws itself."
)


@dataclass(frozen=True)
class Figure:
    """A picture and what to see in it; png: base64, or else svg."""

    caption: str
    png: str = ""
    svg: str = ""

    @classmethod
    def of_png(cls, content: bytes, caption: str) -> Figure:
        return cls(caption, png=base64.b64encode(content).decode())


@dataclass(frozen=True)
class Chapter:
    """A room's part of the page."""

    title: str
    text: Sequence[str]
    figures: Sequence[Figure] = ()
    scores: Sequence[Score] = ()
    commands: str = ""


def write_tour(folder: Path, rooms: Sequence[str]) -> Path:
    """`index.html` in the tour's folder, from the run folders of its rooms; one file that needs no network."""
    chapters = [CHAPTERS[room](folder / room) for room in rooms]
    about = describe_run(folder / rooms[0])["provenance"]
    git = about["git"]
    version = f"Exemplar {about['exemplar']}" + (f" at commit {git['commit'][:10]}" if git else "")
    footer = f"{version}, seed {about['seed']}. Run folders with every record and score: {', '.join(rooms)}, beside this page."
    return write_page(folder / "index.html", TITLE, LEAD, [*chapters, NEXT], footer)


def write_page(path: Path, title: str, lead: str, chapters: Sequence[Chapter], footer: str) -> Path:
    source = resources.files("exemplar.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(source).render(title=title, lead=lead, chapters=chapters, footer=footer)
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8")
    return path


def images_chapter(folder: Path) -> Chapter:
    alphabets = Drawings.load(folder)
    spreads = Drawings.load(folder, "drawings-by-spread")
    task = Drawings.load(folder, "drawings-of-a-task")
    answers = Predictions.load(folder)
    answers = answers.subset((answers["agent"] == "pixels on glyphs@1.0") & (answers["task"] == 0))
    scores = load_scores(folder)
    levels = [float(score.agent.rpartition("@")[2]) for score in scores]
    usual = scores[levels.index(1.0)]
    return Chapter(
        "What is seen",
        (
            "Exemplar draws its own alphabets, so nothing needs a download. A character is a small program of strokes; the "
            "characters of an alphabet share a vocabulary of strokes, as those of real scripts do.",
            "A drawer has a hand: slant, size, pen, and how far each stroke strays. How much hands vary is a knob, so that "
            "a score can be checked against a known truth.",
            "The question in its simplest form: you have seen one drawing of each of twenty characters; whose is this new "
            f"one? An agent that only compares pixels is right {100 * usual.value:.0f} % of the time when drawers vary as "
            "people do. Guessing gives 5 %. How far people and learning machines get beyond that is what the rooms measure.",
        ),
        (
            Figure.of_png(
                _task_sheet(task, answers),
                "The task: above, twenty characters, each seen once; below, ten new drawings, and under each the character "
                "that pixels alone chose for it, green where that is right.",
            ),
            Figure.of_png(_alphabet_sheet(alphabets), "Three invented alphabets, every character by the same drawer."),
            Figure.of_png(
                _spread_sheet(spreads),
                "The same drawing by the same ten hands; from one row to the next hands vary more. People are near 1.",
            ),
            Figure(
                "Naming a new drawing among twenty characters, each seen once, by comparing pixels. Bars are 95 % intervals "
                "over tasks.",
                svg=plot_scores(levels, scores, xlabel="how much hands vary", ylabel="named right", chance=1 / 20),
            ),
        ),
        scores,
        "exemplar data list\nexemplar data sheet glyphs --out sheet.png\nexemplar data show path/to/your/images",
    )


def spaces_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    pixels, simclr, protonet = (f"{100 * score.value:.0f} %" for score in scores)
    names = {score.agent: name for score, name in zip(scores, ("pixels", "SimCLR", "ProtoNet"), strict=True)}
    places = read_npz(folder / "map.npz", **{space: ("f", 2) for space in names})
    panels = {f"in {names[space]}": place for space, place in places.items() if names[space] != "SimCLR"}
    return Chapter(
        "How it is seen",
        (
            "Two drawings of a character share hardly a pixel, yet you see at once that they belong together. A space is a "
            "way to see: a network turns a drawing into a list of numbers, and drawings that mean the same come to lie "
            "near each other. Exemplar ships trained ones, and every score of a drawing is taken in one of them.",
            "Two ways of training are compared here. SimCLR never hears which character a drawing is of: it learns to "
            "recognize a drawing it has seen distorted. ProtoNet learns from characters: after one drawing of each of "
            "sixty, it must tell whose a new one is. Neither has ever seen the characters on this page.",
            "The question is the one from above: one drawing seen of each of twenty characters, and a new drawing to "
            f"name. Whose drawing is nearest? In pixels that is right {pixels} of the time, in SimCLR's space {simclr}, in "
            f"ProtoNet's {protonet}.",
        ),
        (
            Figure.of_png(
                nearest_sheet(Drawings.load(folder, "drawings-nearest"), names),
                "Three drawings taken at random (black frame), and the nine drawings nearest to each among 1,800 of 90 "
                "characters; green where it is the same character by another hand.",
            ),
            Figure.of_png(
                map_png(Drawings.load(folder, "drawings-mapped"), panels),
                "Twelve characters taken at random, ten drawings of each, one colour a character, laid out on the two "
                "directions in which each space spreads them most. What the pixels mix, ProtoNet gathers; where two "
                "characters still overlap, a third direction may part them.",
            ),
            Figure(
                "Naming a new drawing among twenty characters, each seen once. Every choice of twenty counts, and every "
                "drawing is once the one that was seen; bars are 95 % intervals over the 90 characters.",
                svg=plot_named(scores, names, xlabel="named right", chance=1 / 20),
            ),
        ),
        scores,
        "exemplar spaces list\nexemplar spaces card protonet-glyphs-s0\n"
        "exemplar spaces encode protonet-glyphs-s0 --data glyphs --out features.npz",
    )


NEXT = Chapter(
    "Where to go from here",
    (
        "Every number above is in a run folder beside this page, with its configuration, seed, data, versions and duration; "
        "exemplar runs show prints one. Run the tour again and it goes on where it stopped.",
    ),
    commands="exemplar runs list .\nexemplar --help",
)

CHAPTERS: dict[str, Callable[[Path], Chapter]] = {"images": images_chapter, "spaces": spaces_chapter}


def _task_sheet(drawings: Drawings, answers: Predictions) -> bytes:
    """Two rows of what was seen, one of what is new, one of what was chosen."""
    seen, new = (drawings.image[drawings["agent"] == agent] for agent in ("seen", "new"))
    label, predicted = (answers[column].to_numpy()[:10] for column in ("label", "predicted"))
    rows = np.stack([seen[:10], seen[10:20], new[:10], seen[predicted]])
    right = {(3, column): "#2e8b57" if label[column] == predicted[column] else "#c8472b" for column in range(10)}
    return sheet_png(rows, ["seen once", "", "new", "chosen by pixels"], cell=72, frames=right)


def _alphabet_sheet(drawings: Drawings) -> bytes:
    """One alphabet a block, twelve characters a row, on white."""
    alphabet = drawings["concept"].astype(str).str.partition("/")[0].to_numpy()
    blocks = []
    for name in dict.fromkeys(alphabet):
        images = drawings.image[alphabet == name][:24]
        images = np.concatenate([images, np.zeros((-len(images) % 12, *images.shape[1:]), np.uint8)])
        blocks.append((name, images.reshape(-1, 12, *images.shape[1:])))
    rows = np.concatenate([images for _, images in blocks])
    labels = [name if row == 0 else "" for name, images in blocks for row in range(len(images))]
    return sheet_png(rows, labels, cell=64)


def _spread_sheet(drawings: Drawings) -> bytes:
    """Rows: each character at each spread, in the order of the table; columns: drawers."""
    n = int(drawings["index"].max()) + 1
    images = drawings.image.reshape(-1, n, *drawings.image.shape[1:])
    agent, concept = (drawings[key].astype(str).to_numpy()[::n] for key in ("agent", "concept"))
    order = sorted(range(len(images)), key=lambda row: (list(dict.fromkeys(concept)).index(concept[row]), row))
    return sheet_png(images[order], [f"{concept[row]}, {agent[row]}" for row in order], cell=64)
