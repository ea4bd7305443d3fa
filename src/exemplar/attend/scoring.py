"""The verb `score`: records of maps are read, brought to one grid, scored, and shown on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, by_name, format_scores
from exemplar.attend.annotations import Annotations, split_agents, to_one_size
from exemplar.attend.figures.score_page import PAGE, write_score_page
from exemplar.attend.map_files import load_maps
from exemplar.attend.measures.reliability import agreement_within, find_outliers
from exemplar.attend.scores import (
    Comparison,
    Reliability,
    compare_sparseness,
    score_agreement,
    score_reliability,
    score_sparseness,
)
from exemplar.errors import UserError, shortened
from exemplar.records import Maps, Score, Scores
from exemplar.runs import check_run, open_run, write_json


@dataclass(frozen=True, eq=False)
class ScoredMaps:
    """What records were worth. people: those left after outliers were dropped; models: over the same concepts;
    reliability: None where nobody can be compared with anybody; agreement, sparser: by model; sparseness: agent → score
    → (k,) values."""

    people: Annotations
    models: list[Annotations]
    n_dropped: int
    reliability: Reliability | None
    agreement: dict[str, Comparison] = field(default_factory=dict)
    sparser: dict[str, Comparison] = field(default_factory=dict)
    sparseness: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    scores: list[Score] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def p(self) -> dict[str, dict[str, float]]:
        """Model → test → p."""
        return {
            model.agent: {**self.agreement[model.agent].p, **self.sparser.get(model.agent, Comparison([], {}, {})).p}
            for model in self.models
        }


def score_maps(
    people: Maps, models: Sequence[Maps] = (), *, drop_outliers: bool = True, n_pairs: int = 10_000, seed: int = 0
) -> ScoredMaps:
    """Records of maps → all scores of the room. people: one agent's; models: each an agent's, or several agents'."""
    asked = split_agents(people)
    if len(asked) > 1:
        raise UserError(
            f"The first record holds maps of {len(asked)} agents ({shortened(one.agent for one in asked)}): "
            "give a record of one, and "
            "the others as --model."
        )
    others = [one for record in models for one in split_agents(record)]
    names = [asked[0].agent, *(one.agent for one in others)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"Two records are of an agent called {twice}: name one of them differently.")
    (first, *rest), warnings = to_one_size([asked[0], *others])
    first, n_dropped = _without_outliers(first, drop_outliers, warnings)
    reliability = _reliability(first, n_pairs, seed, warnings)
    found = ScoredMaps(first, [], n_dropped, reliability, warnings=warnings)
    found.scores.extend(reliability.scores if reliability else [])
    _add_sparseness(found, first)
    for model in rest:
        common = [concept for concept in first.concepts if concept in model.concepts]
        if not common:
            raise UserError(f"{first.agent} and {model.agent} have no concept in common: mark the same ones.")
        n_alone = len({*first.concepts, *model.concepts}) - len(common)
        if n_alone:
            warnings.append(
                f"Concepts that only one of {first.agent} and {model.agent} marked are left out: {n_alone}."
            )
        ours, theirs = first.only(common), model.only(common)
        found.models.append(theirs)
        rng = seeds.rng("attend score", seed, model.agent)
        found.agreement[model.agent] = score_agreement(ours, theirs, rng=rng)
        known = {(score.name, score.agent) for score in found.scores}
        new = [score for score in found.agreement[model.agent].scores if (score.name, score.agent) not in known]
        found.scores.extend(new)
        if _add_sparseness(found, theirs) and first.agent in found.sparseness:
            found.sparser[model.agent] = compare_sparseness(ours, theirs, rng=rng)
            found.scores.extend(found.sparser[model.agent].scores)
    return found


def _without_outliers(people: Annotations, drop: bool, warnings: list[str]) -> tuple[Annotations, int]:
    """Without annotations that are unlike the others of their image, if that can be judged."""
    several = len(people.participant.names) > 1
    if not (drop and several):
        return people, 0
    try:
        wrong = find_outliers(agreement_within(people.ranked, people.image, people.participant.code))
    except UserError:
        return people, 0
    if wrong.any():
        warnings.append(
            f"{int(wrong.sum())} of {len(people)} annotations by {people.agent} were dropped: their mean "
            "correlation with the others "
            "of their image is 2 standard deviations from the mean."
        )
    return people.subset(~wrong), int(wrong.sum())


def _reliability(people: Annotations, n_pairs: int, seed: int, warnings: list[str]) -> Reliability | None:
    if len(people.participant.names) < 2:
        _ = people.ranked  # refuses empty and constant maps all the same
        warnings.append(f"{people.agent} is one participant alone: there is no reliability, and so no ceiling.")
        return None
    try:
        return score_reliability(people, n_pairs=n_pairs, rng=seeds.rng("attend reliability", seed))
    except UserError as problem:
        if "two participants marked" not in str(problem):
            raise
        warnings.append(
            f"No image was marked by two participants of {people.agent}: there is no reliability, and no ceiling."
        )
        return None


def _add_sparseness(found: ScoredMaps, one: Annotations) -> bool:
    if one.maps.min() < 0:
        found.warnings.append(f"Maps of {one.agent} have values below 0, so their sparseness is left out.")
        return False
    scores, found.sparseness[one.agent] = score_sparseness(one)
    found.scores.extend(scores)
    return True


def score_files(
    maps: Any, models: Sequence[Any], drop_outliers: bool, n_pairs: int, out: Path | str, seed: int
) -> Answer:
    folder = Path(out).expanduser()
    records = [one if isinstance(one, Maps) else load_maps(one) for one in (maps, *models)]
    prints = {
        _name(one, k): seeds.digest(
            *(list(record.frame[c].astype(str)) for c in record.COLUMNS), record.image, record.map
        )
        for k, (one, record) in enumerate(zip((maps, *models), records, strict=True))
    }
    config = {"maps": _name(maps, 0), "models": [_name(one, k + 1) for k, one in enumerate(models)]}
    about: dict[str, Any] = {
        "command": "attend score",
        "config": config | {"drop_outliers": drop_outliers, "pairs": n_pairs},
        "seed": seed,
    }
    check_run(folder, **about)
    scored = score_maps(records[0], records[1:], drop_outliers=drop_outliers, n_pairs=n_pairs, seed=seed)
    values = as_values(scored) | {"seed": seed, "run": str(folder)}
    with open_run(folder, **about, data=prints) as run:
        if not run.finished:
            run.save(Scores.collect(scored.scores))
            write_json(run.folder / "report.json", values)
            write_score_page(run.folder, scored)
    return Answer(
        values=values,
        text=f"{format_scores(scored.scores, digits=3)}\n\n{folder / PAGE}",
        scores=Scores.collect(scored.scores),
        warnings=tuple(scored.warnings),
        folder=folder,
        page=folder / PAGE,
    )


def as_values(scored: ScoredMaps) -> dict[str, Any]:
    """As JSON: scores of people by name; of each model by name, with the p of each test."""
    own = [score for score in scored.scores if score.agent == scored.people.agent]
    found: dict[str, Any] = {
        "agent": scored.people.agent,
        "annotations": len(scored.people),
        "dropped": scored.n_dropped,
        "participants": len(scored.people.participant.names),
        "concepts": len(scored.people.concepts),
        **by_name(own),
    }
    found["models"] = {
        model.agent: by_name(score for score in scored.scores if score.agent == model.agent)
        | by_name(scored.sparser[model.agent].scores if model.agent in scored.sparser else [])
        | {"p": scored.p[model.agent]}
        for model in scored.models
    }
    return found | {"warnings": scored.warnings}


def _name(given: Any, place: int) -> str:
    return f"record {place}" if isinstance(given, Maps) else str(given)
