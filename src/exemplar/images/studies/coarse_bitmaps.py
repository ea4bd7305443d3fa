"""What it does to a drawing to have been 28 px once: Quick, Draw!'s bitmaps brought to 48 px, beside strokes drawn at 48 px.

The paper draws strokes at 48 px and binarises at .3; most drawings are available as official 28 px bitmaps only. On drawings
that are there as strokes the two ways are compared; and those that are there as strokes and as official bitmaps show whether
our 28 px are Google's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.ndimage import label

from exemplar import seeds, stats
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.formats import stroke_widths
from exemplar.images.pixels import binarised
from exemplar.images.quickdraw import SIZE, Sketch, Sketches, read_sketches
from exemplar.images.sources import obtain
from exemplar.records import Score, Scores
from exemplar.report.resizing import resize
from exemplar.rooms import KeptResult
from exemplar.runs import Run

BITMAP = 28  # px
PAPER = 0.3  # the paper's threshold
THRESHOLDS = (PAPER, 0.4)  # .4: where strokes come out about as wide as at 48 px, on these drawings
SAME, APART = (
    0.8,
    0.1,
)  # overlap at 28 px with the nearest bitmap, and by how much more than with the next: the same drawing
FEWEST = 5  # pairs per category: fewer say little of it
DRAWN, COARSE, OFFICIAL = (
    "strokes drawn at 48 px",
    "strokes drawn at 28 px, brought to 48",
    "official, brought to 48 px",
)
OWN = ("ink_share", "stroke_width_px", "parts", "holes")  # what a drawing has without another to compare it with
MEASURES = (*OWN, "overlap", "other_number_of_parts", "other_number_of_holes")
GREY = ("grey_difference", "grey_difference_where_ink", "overlap_at_28_px")
KINDS = {"raw": "from raw strokes", "simplified": "from simplified strokes, as Google's"}


def coarse_bitmaps_result(run: Run, seed: int) -> Scores:
    """Each measure averaged per category, then over categories, with the interval over categories."""
    words = sorted(set(_strokes()) & set(_bitmaps().concepts))
    measured = dict(zip(words, run.map(measure_category, words, label="drawings at 28 and 48 px"), strict=True))
    scores = [_score(name, DRAWN, PAPER, _means(measured, DRAWN, PAPER, k), seed) for k, name in enumerate(OWN)]
    for agent in (COARSE, OFFICIAL):
        for threshold in THRESHOLDS:
            for k, name in enumerate(MEASURES):
                scores.append(_score(name, agent, threshold, _means(measured, agent, threshold, k), seed))
    overlap = {word: one[_key(COARSE, PAPER)][:, MEASURES.index("overlap")] for word, one in measured.items()}
    order = sorted(overlap, key=lambda word: float(overlap[word].mean()))
    scores += [_score("overlap", COARSE, PAPER, overlap[word], seed, word) for word in (order[0], order[-1])]
    for name, agent in (("found", "the category's own bitmaps"), ("elsewhere", "the next category's bitmaps")):
        found = np.array([one[name].mean() for one in measured.values()])
        scores.append(_score("same_drawing_found", agent, None, found, seed))
    for kind, agent in KINDS.items():
        for k, name in enumerate(GREY):
            scores.append(_score(name, f"our 28 px {agent}", None, _means(measured, kind, None, k), seed))
    table = Scores.collect(scores)
    run.save(table)
    return table


def measure_category(word: str) -> dict[str, np.ndarray]:
    """Of a category's drawings that are there as strokes: (n, 7) MEASURES of each way of drawing them; found: (n,) whether the
    same drawing is among the official bitmaps, elsewhere: among those of the next category; raw, simplified: (k, 3) GREY of
    the drawings found, by their kind of strokes."""
    sketches, bitmaps = _strokes()[word], _bitmaps()
    rows = np.arange(len(sketches))
    drawn = binarised(Sketches.of(sketches, SIZE).take(rows), PAPER) > 0
    coarse = Sketches.of(sketches, BITMAP).take(rows)
    official = bitmaps.take(bitmaps.rows(word))
    after = bitmaps.concepts[(bitmaps.concepts.index(word) + 1) % bitmaps.n_concepts]
    twin = find_same(coarse, official)
    found = twin >= 0
    raw = np.array([sketch.points.shape[1] == 3 for sketch in sketches])  # these have times
    measured = {_key(DRAWN, PAPER): compare_drawings(drawn, drawn)}
    for threshold in THRESHOLDS:
        measured[_key(COARSE, threshold)] = compare_drawings(_bring_up(coarse, threshold), drawn)
        measured[_key(OFFICIAL, threshold)] = compare_drawings(
            _bring_up(official[twin[found]], threshold), drawn[found]
        )
    return measured | {
        "found": found,
        "elsewhere": find_same(coarse, bitmaps.take(bitmaps.rows(after))) >= 0,
        _key("raw", None): compare_levels(coarse[found & raw], official[twin[found & raw]]),
        _key("simplified", None): compare_levels(coarse[found & ~raw], official[twin[found & ~raw]]),
    }


def compare_drawings(drawings: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, 7), as MEASURES: share of px with ink, stroke width in px, parts, holes; and, beside the other drawing, intersection
    over union of the ink, whether parts and holes are as many (0) or not (1). drawings, others: (n, h, w) bool."""
    counts, beside = (
        np.array([[count_parts(ink), count_holes(ink)] for ink in images]).reshape(-1, 2)
        for images in (drawings, others)
    )
    shared, either = (drawings & others).sum(axis=(1, 2)), (drawings | others).sum(axis=(1, 2))
    width = stroke_widths(drawings.astype(np.uint8) * 255)
    overlap = shared / np.maximum(either, 1)
    return np.column_stack([drawings.mean(axis=(1, 2)), width, counts, overlap, counts != beside])


def count_parts(ink: np.ndarray) -> int:
    """Connected parts of the ink; px that touch at a corner are connected. ink: (h, w) bool."""
    return int(label(ink, np.ones((3, 3)))[1])


def count_holes(ink: np.ndarray) -> int:
    """Connected parts of the paper, besides the one around the drawing; corners do not connect. ink: (h, w) bool."""
    return int(label(~np.pad(ink, 1))[1]) - 1


def find_same(drawings: np.ndarray, bitmaps: np.ndarray) -> np.ndarray:
    """(n,) row of the bitmap that is the same drawing, −1 where none is: its ink overlaps by SAME, and by APART more than the
    next one's. Both (·, 28, 28) uint8; a bitmap is the same as one drawing at most, the one that overlaps most."""
    ink, other = ((binarised(images, PAPER) > 0).reshape(len(images), -1) for images in (drawings, bitmaps))
    shared = ink.astype(np.float32) @ other.astype(np.float32).T
    overlap = shared / np.maximum(ink.sum(axis=1)[:, None] + other.sum(axis=1) - shared, 1)
    nearest = overlap.argmax(axis=1)
    best = overlap[np.arange(len(overlap)), nearest]
    overlap[np.arange(len(overlap)), nearest] = 0
    same = (best >= SAME) & (best - overlap.max(axis=1, initial=0) >= APART)
    for row in np.unique(nearest[same]):
        rivals = np.flatnonzero(same & (nearest == row))
        same[rivals] = rivals == rivals[best[rivals].argmax()]
    return np.where(same, nearest, -1)


def compare_levels(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """(n, 3), as GREY: mean absolute difference in levels of 0 to 255 over all px, over px where either has ink; and overlap of
    the ink, binarised at .3. Both (n, 28, 28) uint8."""
    apart = np.abs(ours.astype(np.int16) - theirs)
    inked = ((ours > 0) | (theirs > 0)).sum(axis=(1, 2))
    a, b = (binarised(images, PAPER) > 0 for images in (ours, theirs))
    overlap = (a & b).sum(axis=(1, 2)) / np.maximum((a | b).sum(axis=(1, 2)), 1)
    return np.column_stack([apart.mean(axis=(1, 2)), apart.sum(axis=(1, 2)) / np.maximum(inked, 1), overlap])


def _bring_up(images: np.ndarray, threshold: float) -> np.ndarray:
    """(n, 48, 48) bool: as `ConceptSet.resized(48, binarise=threshold)`."""
    return binarised(resize(images, (SIZE, SIZE)), threshold) > 0


def _key(agent: str, threshold: float | None) -> str:
    return f"{agent} {threshold}"


def _means(measured: Mapping[str, dict[str, np.ndarray]], agent: str, threshold: float | None, k: int) -> np.ndarray:
    """(categories,) mean of measure k over the drawings of each category that has enough."""
    tables = [one[_key(agent, threshold)] for one in measured.values()]
    return np.array([table[:, k].mean() for table in tables if len(table) >= FEWEST])


def _score(name: str, agent: str, threshold: float | None, values: np.ndarray, seed: int, concept: str = "") -> Score:
    variant = "" if threshold is None else f"binarised at {threshold}"
    estimate = stats.bootstrap(values, rng=seeds.rng("28 px", name, agent, variant, concept, seed))
    return Score.of(name, estimate, agent=agent, concept=concept, variant=variant)


@lru_cache(maxsize=1)
def _bitmaps() -> ConceptSet:
    return load("quickdraw-bitmaps", "all")


@lru_cache(maxsize=1)
def _strokes() -> dict[str, list[Sketch]]:
    """Category → its drawings as strokes, of the folders of both data sets, each drawing once."""
    folders = (obtain("quickdraw"), obtain("quickdraw-bitmaps"))
    paths = [path for folder in folders for path in sorted([*folder.glob("*.ndjson"), *folder.glob("*.ndjson.gz")])]
    if not paths:
        raise UserError(f"{folders[0]} has no strokes: run `exemplar data fetch quickdraw --part simplified/cat`")
    wanted, found = set(_bitmaps().concepts), dict[str, dict[str, Sketch]]()
    for sketch in (sketch for path in paths for batch in read_sketches(path) for sketch in batch):
        if sketch.word in wanted:
            found.setdefault(sketch.word, {}).setdefault(sketch.key_id, sketch)
    return {word: list(several.values()) for word, several in found.items()}


TEXT = (
    "The second drawing paper draws the strokes of Quick, Draw! at 48 px and binarises at .3. Most drawings here are "
    "there only as official 28 px bitmaps, which are brought to 48 px (bilinear) and then binarised. Both ways, on the "
    "7,677 drawings of 76 categories that are there as strokes. Parts are the connected parts of the ink, holes those of "
    "the paper within; overlap is the intersection over union of the ink with that of the strokes drawn at 48 px, and the "
    "rows after it are how often a drawing has another number of parts, or of holes, than these. Means per category, then "
    "over categories; intervals are over categories (of a single category over its drawings: these two are the lowest and "
    "the highest).\n\n"
    "What came of it: with 28 px in between, drawings have 18 % more ink and strokes 29 % wider, and overlap by .85 with "
    "those drawn at 48 px. One in 14 has another number of parts, half have another number of holes: there are 2.5 where "
    "there were 3.5. Much of this depends on the threshold: binarised at .4, ink is 3 % more and strokes 10 % wider, and "
    "the overlap is .93; the holes stay lost. Our 28 px are near Google's: 4,334 of the drawings were found among the "
    "official bitmaps, and differ by 3 of 255 levels where we have simplified strokes, from which Google draws, by 4 "
    "where we have raw ones (11 and 15 where there is ink). At 48 px the official bitmaps come out as ours do at .3; at "
    ".4 they overlap by .89.\n\n"
    "When not to believe it: .4 was found on these same drawings. A pair counts as the same drawing if it overlaps by .8 "
    "at 28 px and by .1 more than the next, so simple drawings that many people draw alike are missed, and so would be "
    "pairs that differ much: the differences are of pairs that are alike (one drawing was found in the next category of "
    "the alphabet, where none is expected). Simplified strokes were found in 14 categories only. Stroke width "
    "is twice the area over the outline: where lines cross or fill it is more than the pen."
)

COARSE_BITMAPS = KeptResult(
    title="What it does to a drawing to have been 28 px once",
    text=TEXT,
    compute=coarse_bitmaps_result,
    data=(("quickdraw", "strokes"), ("quickdraw-bitmaps", "all")),
)
