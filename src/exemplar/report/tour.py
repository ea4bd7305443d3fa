"""The page a newcomer reads first: what each room asks, shown on data the package made itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from exemplar.draw.figures.plots import plot_plane, render
from exemplar.draw.figures.studies import known_sheet
from exemplar.files import npz_names, read_npz
from exemplar.learn.figures.study import objects_sheet, plot_curves
from exemplar.records import Drawings
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.runs import describe_run, load_scores
from exemplar.spaces.figures import map_png, nearest_sheet, plot_named

TITLE = "What can you do after seeing something once?"
LEAD = (
    "Exemplar puts the same few-shot visual tasks to people and to machines, keeps what each did in the same tables, and "
    "scores those tables with the same code. This page was made on your machine, from data the package draws itself."
)


def write_tour(folder: Path, rooms: Sequence[str]) -> Path:
    """`index.html` in the tour's folder, from the run folders of its rooms; one file that needs no network."""
    chapters = [CHAPTERS[room](folder / room) for room in rooms]
    about = describe_run(folder / rooms[0])["provenance"]
    git = about["git"]
    version = f"Exemplar {about['exemplar']}" + (f" at commit {git['commit'][:10]}" if git else "")
    footer = f"{version}, seed {about['seed']}. Run folders with every record and score: {', '.join(rooms)}, beside this page."
    return write_page(folder / "index.html", TITLE, LEAD, [*chapters, NEXT], footer)


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


def draw_chapter(folder: Path) -> Chapter:
    path = folder / "known-answers.npz"
    arrays = read_npz(path, **{name: ("fiuU", None) for name in npz_names(path)})
    agents = [str(agent) for agent in arrays["agents"]]
    scores = load_scores(folder)
    found = {(score.name, score.agent): score for score in scores}
    ways = "recognizability_20_way"
    named = {agent: f"{100 * found[ways, agent].value:.0f} %" for agent in agents}
    widest = agents[-1]
    plane = plot_plane(
        {agent: found["diversity", agent] for agent in agents}, {agent: found[ways, agent] for agent in agents},
        chance=1 / 20, ylabel="recognizability among 20",
    )  # fmt: skip
    return Chapter(
        "Draw another one",
        (
            "Here is one drawing of a character you have never seen: draw another one. Whoever copies it takes no risk; "
            "whoever draws anything at all may draw something else. Drawings are judged twice: how much those of a character "
            "differ from each other (diversity, in SimCLR's space), and how often they are given to their own character among "
            "twenty (recognizability, in ProtoNet's). Good drawers are far to the right without sinking.",
            "Scores must be trusted before they say anything new, so here are drawers whose answers are known. Copies of the "
            f"exemplar do not differ and are always right ({named['copies']}). Drawings of other characters are as well drawn "
            f"as any and named right by chance ({named['others']}), as is scattered ink ({named['noise']}). And whoever "
            "redraws a character by its true program moves to the right, then down, the more hands vary: "
            f"{named[widest]} at the widest.",
            f"The star, called people, are the set's own twenty hands: {named['people']}. On Omniglot they are people indeed.",
        ),
        (
            Figure(
                f"Drawers on the plane, each the mean over {len(arrays['concepts'])} characters; bars are 95 % intervals over "
                "characters.",
                svg=render(plane)["svg"].decode(),
            ),
            Figure.of_png(
                render(known_sheet(arrays, n_concepts=2))["png"],
                "What each of them drew after the exemplar in the frame.",
            ),
        ),
        [score for score in scores if score.name in ("diversity", ways, "originality")],
        "exemplar draw score human --data glyphs\nexemplar draw score path/to/your/drawings --data omniglot\n"
        "exemplar draw compare human copies redraw@0.5 redraw@2 --data glyphs --html comparison.html\n"
        "exemplar draw study critics-agree --data glyphs",
    )


def learn_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    names = {
        "pixels": "pixels",
        "efficientnet-lite0/block04": "an early stage (block 4)",
        "efficientnet-lite0/block11": "a middle stage (block 11)",
        "efficientnet-lite0/block14": "a late stage (block 14)",
        "efficientnet-lite0/head": "the last features (head)",
        "simulated participants": "simulated participants",
    }
    curves = read_npz(folder / "curves.npz", **{name: ("f", 2) for name in names})
    share = {score.name: f"{100 * score.value:.1f} %" for score in scores if score.name.startswith("variance")}
    overall = {score.agent: f"{100 * score.value:.0f} %" for score in scores if score.name == "overall"}
    return Chapter(
        "Learn from right and wrong",
        (
            "Two objects nobody has seen before, two keys, and only right or wrong as a teacher: that is how Lee and DiCarlo "
            "(2023) had people learn. Every trial shows another view, so what is learned must be the object and not the "
            "picture. Exemplar makes such objects itself.",
            "A learning machine here is as simple as can be: an encoder that never changes (a stage of a network trained on "
            "photographs) and one layer of weights, changed after each trial by a plasticity rule. From pixels next to nothing "
            f"is learned ({overall['pixels']} right, guessing is 50 %), from the network's last features a great deal "
            f"({overall['efficientnet-lite0/head']}). Of the differences in accuracy between encoders and rules, the encoder "
            f"explains {share['variance_of_encoder']} and the rule {share['variance_of_rule']}.",
            "No person took part in this page. Its participants are simulated: they see through those last features, learn by "
            "the square rule, and guess on one trial in ten. Their answers are kept in the table that people's would be kept "
            "in, and the score, MSE_n, is asked whom they resemble; the right answer is known.",
        ),
        (
            Figure.of_png(
                objects_sheet(Drawings.load(folder, "drawings-high-variation"), ["an object", "another", "a third"]),
                "Three invented objects, nine views of each: any side, size, place and background.",
            ),
            Figure.of_png(
                objects_sheet(Drawings.load(folder, "drawings-one-shot"), cell=83),
                "Learning from one view: left, the view that is learned; beside it what is then asked: shifted, before a "
                "background, at another size, turned in depth and in the plane, with another contrast, with pixels deleted, "
                "blurred, with noise.",
            ),
            Figure(
                "How often the answer is right, trial by trial, with the square rule; bands are 95 % intervals over sessions. "
                "Deeper stages learn faster. Simulated participants learn from the last features, but for their lapses.",
                svg=plot_curves(curves, names),
            ),
        ),
        scores,
        "exemplar learn objects --objects 4 --out objects\nexemplar learn human\nexemplar learn study --out study",
    )


NEXT = Chapter(
    "Where to go from here",
    (
        "Every number above is in a run folder beside this page, with its configuration, seed, data, versions and duration; "
        "exemplar runs show prints one. Run the tour again and it goes on where it stopped.",
    ),
    commands="exemplar runs list .\nexemplar --help",
)

CHAPTERS: dict[str, Callable[[Path], Chapter]] = {
    "spaces": spaces_chapter, "draw": draw_chapter, "learn": learn_chapter
}  # fmt: skip
