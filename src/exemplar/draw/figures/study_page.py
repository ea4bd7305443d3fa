"""The page of one study of drawing, in its run folder: its scores, and its figures, which are also there as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from exemplar.draw.figures import studies as figures_of
from exemplar.draw.figures.plots import render
from exemplar.draw.figures.studies import Shown, Study
from exemplar.errors import unknown
from exemplar.files import npz_names, read_npz, whole_file
from exemplar.report import page
from exemplar.report.results import Published
from exemplar.runs import describe_run, load_scores


def write_study(folder: Path, published: Published | None = None) -> Path:
    """`index.html` in a study's run folder, and figures/NAME.png and .svg. published: what the papers say of this data."""
    about = describe_run(folder)
    name = str(about["config"].get("study", ""))
    if name not in PAGES:
        raise unknown("study", name, PAGES)
    path = folder / f"{name}.npz"
    kinds = {array: ("fiuU", None) for array in npz_names(path)} if path.is_file() else {}
    arrays = read_npz(path, **kinds) if kinds else {}
    study = Study(name, ", ".join(about["data"]), load_scores(folder), arrays, published or {})
    title, text, show = PAGES[name]
    figures = []
    for shown in show(study):
        files = render(shown.figure)
        for ending, content in files.items():
            with whole_file(folder / "figures" / f"{shown.name}.{ending}") as part:
                part.write_bytes(content)
        picture = (
            page.Figure.of_png(files["png"], shown.caption)
            if shown.pixels
            else page.Figure(shown.caption, svg=files["svg"].decode())
        )
        figures.append(picture)
    made = about["provenance"]
    footer = (
        f"Exemplar {made['exemplar']}, study {name}, data {study.data}, seed {made['seed']}. Figures: see figures/."
    )
    rows = [
        replace(s, agent=", ".join(filter(None, (s.agent, s.concept, s.variant)))) for s in study.scores if not s.space
    ]
    lead = "Bars and brackets are 95 % intervals, over concepts and over critics where there are several seeds."
    chapter = page.Chapter(f"On {study.data}", (text,), figures, rows)
    return page.write_page(folder / "index.html", title, lead, [chapter], footer)


# study → the page's title, what it asks, and its figures
PAGES: dict[str, tuple[str, str, Callable[[Study], list[Shown]]]] = {
    "critics-agree": (
        "Do critics agree on diversity?",
        "The diversity of what people drew, concept by concept, by a network that never heard which concept it saw "
        "(SimCLR) and by one trained to tell concepts apart (ProtoNet); as spread (Eq. 2) and as pairwise cosine distance"
        " (Eq. 3), which depends on where the origin is, and is therefore also taken about the mean of all drawings. "
        "Boutin et al. 2022, Table S2.",
        figures_of.show_critics,
    ),
    "augmentation": (
        "Does it matter how strongly training views were altered?",
        "SimCLR learns to see through small changes. Here it was trained with moderate, light and strong ones, and with "
        "those of the authors' released code. Boutin et al. 2022, Table S3.",
        figures_of.show_augmentation,
    ),
    "originality-agrees": (
        "Do other distances agree on originality?",
        "Each of people's drawings has a distance to its exemplar, in two networks, Euclidean or by angle. Boutin et al. "
        "2023, Table 8, does this on QuickDraw-FS: within a network the two distances agree more (.97, .85) than networks"
        " do (.62, .66).",
        figures_of.show_originality,
    ),
    "normalisation": (
        "Does normalising reorder diversity?",
        "Boutin et al. 2023, App. D, find R² .99 over their generators, on the mean over concepts. Here agents whose "
        "scores are known stand in for generators; over people's concepts the order need not stay.",
        figures_of.show_normalisation,
    ),
    "centre-and-exemplar": (
        "Is the exemplar the centre?",
        "If the exemplar lay at the centre of what people drew, both distances would be the same and the slope 1. Boutin "
        "et al. 2023, App. P: .67 for people on QuickDraw-FS; the other slopes there are generators'.",
        figures_of.show_centre,
    ),
    "curve": (
        "Recognizability along originality",
        "People's generalization curve and how well a polynomial of degree 2 fits it (Boutin et al. 2023, App. Q). With "
        "fewer than some hundred drawings a concept it is an illustration. The other rows of Table 9 are generators'.",
        figures_of.show_curve,
    ),
    "exemplars": (
        "Which drawing is the exemplar?",
        "The same drawings by people, judged after other exemplars: the one nearest to the centre in either network, one "
        "drawer's, or any. What is compared must be compared after the same.",
        figures_of.show_exemplars,
    ),
    "number-of-drawings": (
        "How many drawings?",
        "A standard deviation of few drawings is too small; dividing by c4 mends that. The mean cosine distance does not "
        "depend on the number, the Vendi score does.",
        figures_of.show_numbers,
    ),
    "ranked": (
        "From the least diverse concept to the most",
        "People's drawings of concepts, ranked by two critics (Boutin et al. 2022, S4 and S5), and drawings ranked by "
        "originality (Boutin et al. 2023, Fig. O.1).",
        figures_of.show_ranked,
    ),
    "maps": (
        "Two spaces on a plane",
        "Drawings of a concept lie together, also in the space of a network that was never told of concepts (Boutin et "
        "al. 2022, S3.4). How often a drawing's nearest neighbour is of its own concept says it in numbers.",
        figures_of.show_maps,
    ),
    "data-sets": (
        "How diverse are data sets?",
        "The spread within each concept, each data set in a SimCLR of its own, at the same number of drawings. Boutin et "
        "al. 2023, App. B: .37 on average and .66 at most for Omniglot, .48 and 1.10 for QuickDraw-FS. What is called "
        "quickdraw here are whole categories, not the clusters of QuickDraw-FS.",
        figures_of.show_data_sets,
    ),
    "known-answers": (
        "Do the scores measure what they claim?",
        "Agents whose scores are known before anyone looks: who copies the exemplar, who draws other concepts, who "
        "scatters ink, and, for glyphs, who redraws them by their true program with hands that vary as much as asked.",
        figures_of.show_known,
    ),
}  # fmt: skip
