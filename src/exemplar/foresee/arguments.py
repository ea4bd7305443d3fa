"""Arguments that several verbs of the room take, each declared once, with what the command line says about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from exemplar.options import Option, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from exemplar.foresee.banks import FeatureBank
    from exemplar.foresee.predictor import GeneralizationPredictor
    from exemplar.foresee.single_tasks import FewShotTask
    from exemplar.images.concepts import ConceptSet

    Bank: TypeAlias = str | Path | FeatureBank | np.ndarray | Mapping[str, np.ndarray]
    Number: TypeAlias = str | int | tuple[int, int]
    TaskGiven: TypeAlias = str | Path | FewShotTask | Mapping[str, np.ndarray]
    PredictorGiven: TypeAlias = str | Path | GeneralizationPredictor
    Data: TypeAlias = str | Path | ConceptSet
    AgentGiven: TypeAlias = str | Callable[..., Any]
else:  # what the command line parses
    Bank = Place
    Number = PredictorGiven = str
    TaskGiven = Place
    Data = str
    AgentGiven = str

Features = Annotated[
    Bank | None,
    Option("npz: `features` (classes, samples, d), or (n, d) with `label`; or a feature file of the paper's authors."),
]
Space = Annotated[
    str | None, Option("Instead: a space (see `exemplar spaces list`) to encode --data in.", known="spaces")
]
Images = Annotated[Data | None, Option("With --space: a data set, a folder of images, or an npz file.", known="data")]
Split = Annotated[str | None, Option("Which part of the data set.")]
Ways = Annotated[int, Option("N, classes of a task.", low=2)]
Shots = Annotated[int, Option("K, labelled samples per class.", low=1)]
Queries = Annotated[int, Option("Q, queries per class.", low=1)]
Policy = Annotated[str, Option("Which to label first.", choices=("cover", "balanced", "least-confident", "random"))]
Variant = Annotated[
    str,
    Option("The paper, or the authors' code where it differs: it diffuses features twice.", choices=("paper", "coded")),
]
Proportion = Annotated[float | None, Option("Of all queries, the share of the first class; balanced unless given.")]
Doer = Annotated[
    AgentGiven | None,
    Option(
        "Who does the tasks (`exemplar foresee agents`), or your own, file.py:function; the setting's own unless given."
    ),
]
