"""The experiments of the room, one per file, each with its text; and the results it stands by, beside the study they come from.

Whether MAML recognises as ProtoNet does (S7) is a result of the spaces, `maml-vs-protonet`.
"""

from exemplar.draw.studies import (
    agents_beside_people,
    coverage,
    critics_agree,
    exemplars,
    known_answers,
    null,
    originality_agrees,
    people,
    quickdraw_fs,
    resolution,
)
from exemplar.draw.studies.augmentation import AUGMENTATION
from exemplar.draw.studies.centre_and_exemplar import CENTRE_AND_EXEMPLAR
from exemplar.draw.studies.critics_agree import CRITICS_AGREE
from exemplar.draw.studies.curve import CURVE
from exemplar.draw.studies.data_sets import DATA_SETS
from exemplar.draw.studies.diffusion_grid import DIFFUSION_GRID
from exemplar.draw.studies.exemplars import EXEMPLARS
from exemplar.draw.studies.guidance import GUIDANCE
from exemplar.draw.studies.known_answers import KNOWN_ANSWERS
from exemplar.draw.studies.maps import MAPS
from exemplar.draw.studies.normalisation import NORMALISATION
from exemplar.draw.studies.number_of_drawings import NUMBER_OF_DRAWINGS
from exemplar.draw.studies.originality_agrees import ORIGINALITY_AGREES
from exemplar.draw.studies.ranked import RANKED
from exemplar.draw.studies.resolution import RESOLUTION
from exemplar.draw.studies.samplers import SAMPLER_STUDY

STUDIES = {
    study.name: study
    for study in (
        CRITICS_AGREE, AUGMENTATION, ORIGINALITY_AGREES, NORMALISATION, CENTRE_AND_EXEMPLAR, CURVE, EXEMPLARS,
        NUMBER_OF_DRAWINGS, RANKED, MAPS, DATA_SETS, KNOWN_ANSWERS, RESOLUTION,
    )
}  # fmt: skip
AGENT_STUDIES = {study.name: study for study in (GUIDANCE, SAMPLER_STUDY, DIFFUSION_GRID)}  # of a trained agent
RESULTS = {
    "draw-humans": people.KEPT,
    "draw-quickdraw-fs": quickdraw_fs.KEPT,
    "draw-critics-agree": critics_agree.KEPT,
    "draw-exemplars": exemplars.KEPT,
    "draw-originality": originality_agrees.KEPT,
    "draw-known-answers": known_answers.KEPT,
    "draw-coverage": coverage.KEPT,
    "draw-resolution": resolution.KEPT,
    "draw-null": null.KEPT,
    "draw-agents": agents_beside_people.KEPT,
}
