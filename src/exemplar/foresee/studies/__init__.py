"""The experiments of the room, one per file; and the results it stands by."""

from exemplar.foresee.studies.curves import CURVES
from exemplar.foresee.studies.kept import KEPT

DESCRIBED = {
    **{name: f"{study.title} ({study.figure})" for name, study in CURVES.items()},
    "thresholds": "Does a threshold that tells hard tasks from easy ones hold for other classes? (Figure 6)",
    "prediction": "Is accuracy predicted on classes that the predictor has not seen? (beyond the paper)",
    "labelling": "Which samples to label next (Figure 7)",
    "choice": "Which measures should the predictor take, and how much should they be shrunk? (beyond the paper)",
    "explanations": "Why do some statements of the paper not hold here? (beyond the paper)",
}
RESULTS = KEPT
