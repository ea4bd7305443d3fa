"""What guidance does: one trained network, drawings at several γ. Boutin et al. 2023, Fig. 4 and G.4."""

from __future__ import annotations

import numpy as np

from exemplar.draw.measures.generalization import Curve, best_envelope
from exemplar.draw.scores import ScoredDrawings
from exemplar.draw.studies.agent_study import (
    AgentQuestion,
    AgentStudy,
    draw_variants,
    overall,
    score_variants,
    sheet_arrays,
    with_setting,
)
from exemplar.draw.studies.curve import curve_error
from exemplar.draw.studies.known_answers import by_concept, mean_changes
from exemplar.files import write_npz
from exemplar.records import Score, Scores
from exemplar.runs import Run

CURVES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0)  # γ of Fig. 4
GRID = (0.5, 1.0, 2.0, 3.0, 5.0)  # of G.4
FEWEST_BINS = 3  # a polynomial of degree 2 goes through so many points exactly
REPORTED = ("diversity", "originality", "copy_rate", "distance_to_people", "distance_to_simulated_drawers")


def guidance(run: Run, seed: int, question: AgentQuestion) -> Scores:
    """Scores at each γ, how they change from no guidance to the most, the fit error of each curve, and the best envelope."""
    names = {f"γ = {gamma:g}": gamma for gamma in sorted({*CURVES, *GRID})}
    agents = {name: with_setting(question.agent, guidance=f"{gamma:g}") for name, gamma in names.items()}
    drawings, _ = draw_variants(run, question, agents, seed)
    scored = score_variants(question, drawings, seed)
    scores: list[Score] = []
    for name, found in scored.items():
        scores += overall(found, REPORTED)
        if question.task.n > FEWEST_BINS:
            scores += _fit_error(found, name)
    none, most = (scored[name] for name in (min(names, key=names.__getitem__), max(names, key=names.__getitem__)))
    ways = next(score.name for score in none.scores if score.name.startswith("recognizability_"))
    scores += mean_changes(none, most, ("diversity", ways, "originality"), "from no guidance to the most", seed)
    drawn = {name: gamma for name, gamma in names.items() if gamma in CURVES}
    places, height, which = best_envelope([scored[name].curve for name in drawn])
    arrays = {f"curve of {name}": _line(scored[name].curve) for name in drawn}
    arrays |= {"envelope": np.stack([places, height]), "best": np.array(list(drawn.values()))[which]}
    arrays |= {f"diversity of {name}": by_concept(found, "diversity") for name, found in scored.items()}
    arrays |= {"gamma": np.array(list(names.values())), "n": np.array(question.task.n), "curves": np.array(list(drawn))}
    write_npz(run.folder / "guidance.npz", {**arrays, **sheet_arrays(question, drawings)})
    return Scores.collect(scores)


def _fit_error(found: ScoredDrawings, name: str) -> list[Score]:
    """How far the curve's points lie from it; nothing where it goes through all of them, as where none is recognised."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = curve_error(found.originality, found.recognised, found.curve, name)
    return [score] if score.value > 0 and np.isfinite(score.ci95).all() else []


def _line(curve: Curve, n: int = 60) -> np.ndarray:
    """(2, n): originality within the curve's reach, and its height there."""
    places = np.linspace(*curve.reach, n)
    return np.stack([places, np.polynomial.polynomial.polyval(places, curve.coefficients)])


GUIDANCE = AgentStudy(
    "guidance",
    "What guidance does",
    "One trained network draws with several strengths of guidance γ; nothing is trained again. The stronger, the more "
    "recognizable and the less diverse its drawings should be. Curves are of recognizability along originality; the dashed "
    "line is the best of them at each place (Boutin et al. 2023, Fig. 4). With fewer than some hundred drawings per "
    "concept, as on Omniglot, curves are an illustration.",
    guidance,
)
