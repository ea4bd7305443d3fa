"""Drawings in other formats than the data's: what that alone does to scores, and people's drawings brought to an agent's format
so that nobody is judged by px or pen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exemplar.draw.critics import Critics
from exemplar.draw.drawings import stack
from exemplar.draw.measures import sides
from exemplar.draw.measures.features import EncodedDrawings
from exemplar.draw.measures.human_distance import fit_reference
from exemplar.draw.scores import DEFAULT
from exemplar.draw.tasks import DrawingTask, own_drawings, own_rows
from exemplar.errors import UserError
from exemplar.images.formats import CLOSE, Format, bring_images, measure_format, stroke_widths
from exemplar.records import Drawings
from exemplar.spaces.encoding import encode_all
from exemplar.spaces.known import FeatureFile
from exemplar.spaces.space import Space

N_PROBED = 5  # drawings of each concept in which the effect of a format is measured
NEGLIGIBLE = 0.1  # of the spread over concepts: a format that moves the data's own drawings by less is not worth a word
SPREAD = (2.5, 97.5)  # percentiles of the concepts' median strokes: a pen outside is another


@dataclass(frozen=True)
class Effect:
    """What a format alone does to the data's own drawings. before, after: the share that is recognised among all concepts;
    distance: between the two in the plane of diversity and recognizability."""

    before: float
    after: float
    distance: float


def describe_match(task: DrawingTask, *, with_drawers: bool = True) -> str:
    """What was done to the data's own drawings and the exemplars; with_drawers: whether the first are compared with at all."""
    assert task.judged_in is not None
    if not with_drawers:
        return f"the exemplars were brought to strokes {task.judged_in.stroke:.1%} of the side before anyone was judged"
    return (
        f"{_possessive(task)} drawings were brought to {task.judged_in.describe()}, and the exemplars to these strokes, before "
        "anyone was judged"
    )


def check_match(critics: Critics) -> None:
    """Refuse critics that cannot see drawings in another format: a file of features knows those it was made from."""
    for space in (*critics.see, *critics.recognise):
        if not _can_encode(space):
            raise UserError(
                f"{space.name} is a file of features, and --match changes images: name critics that encode images, or leave "
                "--match out"
            )


def _can_encode(space: Space) -> bool:
    return not isinstance(getattr(space, "source", space), FeatureFile)


def common_format(formats: Sequence[Format]) -> Format:
    """What all can be brought to: the fewest px, and the widest strokes, since few px leave no room for thin ones."""
    coarsest = min(formats, key=lambda format: format.grain)
    return replace(coarsest, stroke=max(format.stroke for format in formats), grey=all(f.grey for f in formats))


def match_all(task: DrawingTask, found: dict[str, Drawings]) -> DrawingTask:
    """Bring several drawers to one format, in place, and the task with them. found: name → drawings; the data's own drawers,
    where they are among them, follow the others and do not lead."""
    agents = {name: drawings for name, drawings in found.items() if drawings["agent"].iloc[0] != task.drawers}
    if not agents:
        return task
    task = replace(task, judged_in=common_format([measure_format(drawings.image) for drawings in agents.values()]))
    assert task.judged_in is not None
    for name, drawings in found.items():
        if name in agents:
            found[name] = bring_drawings(drawings, task.judged_in)
        else:  # the very images that the others are compared with
            found[name] = own_drawings(replace(task, data=task.judged_data, judged_in=None), n=task.n)
    return task


def bring_drawings(drawings: Drawings, format: Format) -> Drawings:
    """The record with its images in this format."""
    columns = {name: drawings[name] for name in Drawings.COLUMNS}
    return Drawings.of(**columns, image=bring_images(drawings.image, format))


def find_format_warning(drawings: Drawings, task: DrawingTask, critics: Critics, encoded: EncodedDrawings) -> str:
    """A sentence where the drawings have another format than the data's, and that alone changes scores; else nothing.
    encoded: these drawings, and the data's own in its format."""
    images = stack(drawings, task)
    k, n = images.shape[:2]
    if encoded.makers is None or task.judged_in is not None:
        return ""
    rows = own_rows(task, n)
    theirs = task.data.take(rows[:, :N_PROBED].ravel())
    mine, own = measure_format(images.reshape(k * n, *images.shape[2:])), measure_format(theirs)
    differs = _differences(mine, own, theirs.reshape(k, -1, *theirs.shape[1:]), measure_format(task.exemplars))
    if not differs:
        return ""
    start = f"the drawings of {drawings['agent'].iloc[0]} {' and '.join(differs)}, which alone"
    if not (_can_encode(critics.see[0]) and _can_encode(critics.recognise[0])):
        return f"{start} may change scores: --match, with critics that encode images, tells"
    effect = measure_effect(theirs, mine, critics, encoded)
    if effect.distance < NEGLIGIBLE:
        return ""
    moved = f", and lie {effect.distance:.2f} from where they were" if np.isfinite(effect.distance) else ""
    return (
        f"{start} changes scores: in this format {_possessive(task)} own drawings are recognized {effect.after:.3f} of the "
        f"time among all, not {effect.before:.3f}{moved}; --match judges {task.drawers} in the same format"
    )


def measure_effect(theirs: np.ndarray, format: Format, critics: Critics, encoded: EncodedDrawings) -> Effect:
    """By the first critic of each kind. theirs: (k · m, h, w) uint8, the first m of the data's own drawings of each concept;
    encoded: all of them, in the data's format."""
    k, spaces = len(encoded.concepts), (critics.see[0], critics.recognise[0])
    pair, n = (encoded.see[0], encoded.recognise[0]), len(theirs) // k
    assert pair[0].drawers is not None and pair[1].drawers is not None
    (by_see,), (by_recognise,) = encode_all(spaces, [bring_images(theirs, format)])
    see = replace(pair[0], drawn=by_see.reshape(k, n, -1), drawers=pair[0].drawers[:, :n], training=None)
    recognise = replace(pair[1], drawn=by_recognise.reshape(k, n, -1), drawers=pair[1].drawers[:, :n], training=None)
    seen = [sides.normalised(see, "sample")]
    after, before = (sides.measure_side(seen, [recognise], side, unbiased=False) for side in ("drawn", "drawers"))
    was, now = (float(side.named(0).mean()) for side in (before, after))
    ways = DEFAULT.ways[0] if k >= DEFAULT.ways[0] else 0
    (stood,), (moved,) = sides.plane(before, ways), sides.plane(after, ways)
    by_concept = [axis.mean(axis=1) for axis in stood]
    if any(np.ptp(axis) == 0 for axis in by_concept):  # no scale to measure a distance with
        return Effect(was, now, np.inf if was != now else 0.0)
    scale = fit_reference("own", *by_concept)
    (x, y), middle = (np.asarray([axis.mean() for axis in side]) for side in (moved, stood))
    return Effect(was, now, float(scale.distance(x, y, (middle[0], middle[1]))))


def _differences(mine: Format, own: Format, theirs: np.ndarray, exemplars: Format) -> list[str]:
    """What differs, as a sentence goes on. theirs: (k, n, h, w), some of the data's own drawings; exemplars: what was shown,
    possibly drawn by one person: strokes as wide as theirs count as the data's."""
    found = []
    if mine.grain[0] < own.grain[0] or mine.grain[1] < own.grain[1]:
        blocks = "" if mine.grain == mine.size else ", enlarged,"
        found.append(
            f"were made at {mine.grain[0]} × {mine.grain[1]} px{blocks} instead of {own.grain[0]} × {own.grain[1]}"
        )
    widths = stroke_widths(theirs.reshape(-1, *theirs.shape[2:])).reshape(theirs.shape[:2])
    low, high = np.percentile(np.median(widths, axis=1), SPREAD) / max(theirs.shape[2:])
    shown = exemplars.stroke
    if not min(low, (1 - CLOSE) * shown) <= mine.stroke <= max(high, (1 + CLOSE) * shown):
        found.append(f"have strokes {mine.stroke / own.stroke:.2g} times as wide")
    if found and mine.grey != own.grey:
        found.append("are grey" if mine.grey else "have no grey")
    return found


def _possessive(task: DrawingTask) -> str:
    return sides.possessive(task.drawers)
