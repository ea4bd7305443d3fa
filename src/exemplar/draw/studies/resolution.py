"""What px and pen alone do to scores: the data's own drawings in other formats, judged as another agent's, without and with
`--match`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_dilation, generate_binary_structure

from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.encoding import encode_drawings
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.sides import distance_name
from exemplar.draw.scores import ScoreConfig, score_features
from exemplar.draw.studies.study import OMNIGLOT, Study, save_scores
from exemplar.draw.tasks import DrawingTask, as_drawings, make_task, own_rows
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.formats import measure_format, widened
from exemplar.images.pixels import binarised
from exemplar.records import Score, Scores
from exemplar.report.resizing import resize
from exemplar.rooms import KeptResult
from exemplar.runs import Run

MOST = 19  # drawings of each concept, Omniglot's number besides the exemplar
FEW_SPLITS = ScoreConfig(n_splits=2)  # what comes of halves is not asked for here
AS_DRAWN = "as drawn"
CROSS = generate_binary_structure(2, 1)


def _at(side: int, threshold: float = 0.5) -> Callable[[np.ndarray], np.ndarray]:
    return lambda images: binarised(resize(images, (side, side)), threshold)


def _dilated(times: int) -> Callable[[np.ndarray], np.ndarray]:
    """By a cross, so many times: not how `--match` widens strokes, which is by distance."""

    def dilate(images: np.ndarray) -> np.ndarray:
        ink = binary_dilation(images > 127, CROSS[None], iterations=times)
        return ink.astype(np.uint8) * 255

    return dilate


def _thinned(images: np.ndarray) -> np.ndarray:
    return binarised(widened(images, -1.0), 0.5)


FORMATS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "28 px": _at(28),
    "28 px, more of it ink": _at(28, 0.3),
    "20 px": _at(20),
    "14 px": _at(14),
    "a pen 4 px wider": _dilated(2),
    "28 px and a pen 4 px wider": lambda images: _at(28)(_dilated(2)(images)),
    "a pen 2 px thinner": _thinned,
}


def resolution(run: Run, seed: int, data: ConceptSet) -> Scores:
    """The data's own drawings in each format, as an agent's: its scores, those of the drawers it is compared with, and the
    distance between them, as it is and matched; by the first critic of each kind."""
    task = make_task(data)
    task = replace(task, n=min(task.n, MOST))
    rows = own_rows(task, task.n)
    images = data.take(rows.ravel())
    scores: list[Score] = []
    for name, change in {AS_DRAWN: lambda images: images, **FORMATS}.items():
        changed = change(images)
        plain = _encode(task, changed)
        scores += _scores(plain, name, seed)
        if name == AS_DRAWN:
            continue
        matched = _encode(replace(task, judged_in=measure_format(changed)), changed)
        scores += _scores(matched, f"{name}, matched", seed)
        scores += _scores(_drawers_only(matched), f"{task.drawers} brought to {name}", seed)[:-1]
    return Scores.collect(scores)


def _encode(task: DrawingTask, images: np.ndarray) -> EncodedDrawings:
    critics = load_unseen_critics(task.data)
    critics = replace(critics, see=critics.see[:1], recognise=critics.recognise[:1])
    k = len(task.concepts)
    return encode_drawings(as_drawings(images.reshape(k, -1, *images.shape[1:]), task, agent="changed"), task, critics)


def _drawers_only(encoded: EncodedDrawings) -> EncodedDrawings:
    """The drawers as the agent."""

    def swapped(features: CriticFeatures) -> CriticFeatures:
        assert features.drawers is not None
        return replace(features, drawn=features.drawers)

    return replace(encoded, see=tuple(map(swapped, encoded.see)), recognise=tuple(map(swapped, encoded.recognise)))


def _scores(encoded: EncodedDrawings, agent: str, seed: int) -> list[Score]:
    """Diversity, recognizability and, last, the distance, overall."""
    found = score_features(encoded, FEW_SPLITS, seed=seed)
    named = {s.name: s for s in found.scores if not s.concept and not s.space and s.agent == encoded.agent}
    shares = [name for name in named if name.startswith("recognizability_") and name.endswith("_way")]
    wanted = ("diversity", "originality", *shares, distance_name(encoded.drawers))
    return [replace(named[name], agent=agent, variant="") for name in wanted if name in named]


RESOLUTION = Study(
    "resolution",
    "Is an agent judged by its px and pen?",
    "Drawings of {drawers}, brought to fewer px or to another pen, and judged as if another agent had made them. Nothing "
    "else was changed, so every difference from {drawers} is the format's; matched, {drawers} are brought to the same "
    "format, and the exemplars to the same strokes, before both are judged.",
    resolution,
)


def resolution_result(run: Run, seed: int) -> Scores:
    """The formats on Omniglot's 150 test characters."""
    return save_scores(run, resolution(run, seed, load(*OMNIGLOT)))


KEPT = KeptResult(
    title="People's drawings at other px and with other pens",
    text="People's 19 drawings of each of Omniglot's 150 test characters, made coarser, or their pen wider or thinner, and "
    "then judged as if another agent had drawn them: the same people, so whatever differs from people is the format's "
    "doing. As they are, the distance to people grows with the change; with `--match` people's own drawings are brought "
    "to the agent's px and stroke, and the exemplars to its stroke, before both are judged, and the distance is near 0 "
    "again; a new group of people, for comparison, is .12 away on average (`draw score` says so). The exemplars keep their "
    "px: at fewer px more drawings are mistaken, and their originality moves further. By the first critic of each kind; pens "
    "were widened by dilation with a cross, --match widens by distance, so that it cannot simply undo what was done. What "
    "is lost stays lost: at 14 px, or with a pen of one px, people themselves are hard to recognize, and --match says "
    "so instead of blaming the agent.",
    compute=resolution_result,
    data=(OMNIGLOT,),
)
