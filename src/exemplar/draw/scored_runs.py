"""Runs of `exemplar draw score`, read back for a page: what was scored, and whether runs can be compared at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.draw.measures.differences import HANDS, VALUES, Headline, Moved, from_arrays
from exemplar.draw.tasks import PEOPLE, SIMULATED
from exemplar.errors import UserError, shortened
from exemplar.files import npz_names, read_npz
from exemplar.records import Score
from exemplar.runs import describe_run, load_scores, plain, tell_apart

COMMAND = "draw score"
SCORED = "scored.npz"  # what a page needs besides the tables
BEFORE = "judged.npz"  # what earlier versions called it
GLYPHS = re.compile(r"glyphs(@[^/]*)?/")  # no folder or file of anyone's own has a name with a slash
ARRAYS = {
    "concepts": ("U", 1), "exemplars": ("u", 3), "originality": ("f", 2), "recognised": ("f", 2), "density": ("f", 1),
    "density_at": ("f", 1), "agent": ("U", 0), "notes": ("U", 1),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FittedCurve:
    """Recognizability at growing originality. originality, recognised, lo, hi: (bins,) the points and their intervals;
    fit_at, fit, fit_lo, fit_hi: (places,) the curve through them and its band."""

    originality: np.ndarray
    recognised: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    fit_at: np.ndarray
    fit: np.ndarray
    fit_lo: np.ndarray
    fit_hi: np.ndarray


SETTINGS = {"with_drawers": "--no-people", "only": "--concepts"}  # how a user knows a setting, where not by its name
CURVE = [field.name for field in fields(FittedCurve)]


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """One agent's drawings and what they are worth.

    own: whether these are the data's own drawers, drawers: who these are, as the run recorded both; about: config.json and
    provenance.json; concepts: (k,) names; exemplars: (k, h, w) uint8, ink 255; originality,
    recognised: (k, n) of each drawing; density, density_at: (g,) of originality; people_curve: None where people drew too
    little; notes: what to know before believing it; headlines, moved: for paired differences, which runs of earlier versions
    lack; null_distance: (r,) distances of new groups of the data's drawers, empty where there are none.
    """

    folder: Path
    agent: str
    about: Mapping[str, Any]
    scores: Sequence[Score]
    concepts: tuple[str, ...]
    exemplars: np.ndarray
    originality: np.ndarray
    recognised: np.ndarray
    density: np.ndarray
    density_at: np.ndarray
    curve: FittedCurve
    people_curve: FittedCurve | None
    notes: tuple[str, ...]
    own: bool
    drawers: str
    headlines: Mapping[str, Headline] = field(default_factory=dict)
    moved: Moved | None = None
    null_distance: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def n(self) -> int:
        return int(self.originality.shape[1])

    @property
    def critics(self) -> dict[str, list[str]]:
        """see: the spaces of diversity and originality; recognise: those of recognizability."""
        return dict(self.about["config"].get("critics", {}))

    @property
    def judged_in(self) -> dict[str, Any] | None:
        """The format that the data's own drawings were brought to, None for their own."""
        return self.about["config"].get("match")

    @property
    def settings(self) -> dict[str, Any]:
        """How it was scored: how features are normalised, how often resampled, …; what an older run did not know has its
        default."""
        from exemplar.draw.scores import DEFAULT

        defaults: dict[str, Any] = plain(DEFAULT)
        return defaults | dict(self.about["config"].get("scores", {}))

    @cached_property
    def _best(self) -> dict[tuple[str, str], Score]:
        """(name, concept) → the score: over all critics where there is such a row, and its first variant."""
        found: dict[tuple[str, str], Score] = {}
        for score in sorted(self.scores, key=lambda score: score.space != ""):
            found.setdefault((score.name, score.concept), score)
        return found

    def overall(self, name: str) -> Score | None:
        return self._best.get((name, ""))

    def by_concept(self, name: str) -> list[Score | None]:
        """(k,) in the order of the concepts."""
        return [self._best.get((name, concept)) for concept in self.concepts]

    def drawings(self) -> np.ndarray:
        """(k, n, h, w) uint8, ink 255; read again at each call, since those of many agents do not fit in memory."""
        found = read_npz(scored_file(self.folder), drawings=("u", 4))["drawings"]
        _check_fit(self.folder, "drawings", found.shape[:2], self.originality.shape)
        return found


def describe_scored(folder: Path) -> dict[str, Any]:
    """config.json and provenance.json of a finished run of `exemplar draw score`."""
    about = describe_run(folder)
    if (command := about.get("command")) != COMMAND:
        raise UserError(f"{folder} holds a run of {command}, no scored drawings: give a run of exemplar {COMMAND}")
    if about["provenance"].get("state") != "finished":
        raise UserError(f"the run in {folder} is not finished: run it again, and it resumes where it stopped")
    kinds = {"agent": str, "asked": dict, "critics": dict, "scores": dict}
    config = about.get("config")
    for name, kind in kinds.items():
        if not isinstance(config, dict) or not isinstance(config.get(name), kind):
            raise UserError(
                f"{folder}/config.json lacks the {name} of a run of exemplar {COMMAND}: score the drawings again"
            )
    return about


def read_scored(folder: Path) -> ScoredRun:
    """What `exemplar draw score --out FOLDER` left there."""
    about, path = describe_scored(folder), scored_file(folder)
    arrays: dict[str, Any] = read_npz(path, **ARRAYS)
    shape = arrays["originality"].shape
    wanted = {"recognised": shape, "concepts": shape[:1], "exemplars": shape[:1], "density": arrays["density_at"].shape}
    for name, size in wanted.items():
        _check_fit(folder, name, arrays[name].shape[: len(size)], size)
    names = npz_names(path)
    people_curve = _read_curve(path, "people_curve_") if "people_curve_fit" in names else None
    pairing = read_npz(path, **{name: kind for name in names if (kind := _pairing_kind(name))})
    headlines, moved = from_arrays(pairing)
    scores = load_scores(folder)
    return ScoredRun(
        folder=folder,
        agent=str(arrays.pop("agent")),
        about=about,
        scores=scores,
        own=is_own(about, scores),
        drawers=recorded_drawers(about, scores),
        curve=_read_curve(path, "curve_"),
        people_curve=people_curve,
        concepts=tuple(map(str, arrays.pop("concepts"))),
        notes=tuple(map(str, arrays.pop("notes"))),
        headlines=headlines,
        moved=moved,
        null_distance=pairing.get("null_distance", np.zeros(0)),
        **arrays,
    )


def _pairing_kind(name: str) -> tuple[str, int] | None:
    """What an array for paired differences or of the null holds, and its dimensions; None for other arrays."""
    known = {"moved": ("f", 3), "moved_noise": ("f", 3), "moved_free": ("f", 1), "null_distance": ("f", 1)}
    prefixes = {VALUES: ("f", 2), HANDS: ("f", 1)}
    return known.get(name) or next((kind for prefix, kind in prefixes.items() if name.startswith(prefix)), None)


def is_own(about: Mapping[str, Any], scores: Sequence[Score]) -> bool:
    """Whether a run is of the data's own drawers. Older runs did not record it: there they are called so, and are no distance
    from themselves."""
    config = about["config"]
    if "own" in config:
        return bool(config["own"])
    far = [
        s.value for s in scores if s.name.startswith("distance_to_") and not s.concept and s.agent == config["agent"]
    ]
    return config["agent"] in (PEOPLE, SIMULATED) and not any(value > 1e-6 for value in far)


def recorded_drawers(about: Mapping[str, Any], scores: Sequence[Score]) -> str:
    """Who the data's own drawers are: people, or simulated. Older runs did not record it: there scores are named after them, or
    the data is the catalogue's glyphs, which has a split."""
    if "drawers" in (config := about["config"]):
        return str(config["drawers"])
    named = any(SIMULATED.replace(" ", "_") in score.name for score in scores)
    return SIMULATED if named or any(GLYPHS.match(name) for name in about["data"]) else PEOPLE


def _check_fit(folder: Path, name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """An array of the npz, as long as the others."""
    if found != wanted or 0 in found:
        raise UserError(f"{scored_file(folder)} is damaged, its {name} does not fit the rest: score the drawings again")


def read_comparable(folders: Sequence[Path]) -> list[ScoredRun]:
    """The runs, refused where they were not asked the same: other data, exemplars, numbers of drawings, or critics.

    Agents of one name are told apart by their folders.
    """
    if not folders:
        raise UserError(f"there is nothing to compare: give folders of exemplar {COMMAND}")
    again = [folder for folder, count in Counter(folder.resolve() for folder in folders).items() if count > 1]
    if again:
        raise UserError(f"{again[0]} is given twice: give each run once")
    runs = [read_scored(folder) for folder in folders]
    for run in runs[1:]:
        _check_same(runs[0], run)
    names = tell_apart([run.agent for run in runs], [run.folder for run in runs])
    return [run if run.agent == name else replace(run, agent=name) for run, name in zip(runs, names, strict=True)]


def _check_same(one: ScoredRun, other: ScoredRun) -> None:
    pair = f"{one.folder} and {other.folder} cannot be compared"
    if one.about["data"] != other.about["data"] or one.concepts != other.concepts:
        if list(one.about["data"]) == list(other.about["data"]) and one.concepts != other.concepts:
            raise UserError(
                f"{pair}, they are of different concepts of {' '.join(one.about['data'])}: score both on the same ones"
            )
        which = " and ".join(f"{' '.join(run.about['data'])} ({len(run.concepts)} concepts)" for run in (one, other))
        raise UserError(f"{pair}, they are of different data, {which}: score both on the same")
    if not np.array_equal(one.exemplars, other.exemplars):
        raise UserError(f"{pair}, they followed different exemplars: score both with the same --exemplar and --seed")
    if one.n != other.n:
        few = min(one.n, other.n)
        raise UserError(
            f"{pair}, at {one.n} and {other.n} drawings per concept: score both at {few}, since diversity depends on it"
        )
    if one.judged_in != other.judged_in:
        raise UserError(
            f"{pair}, the data's own drawings were judged in another format for each: compare them with --match and --data, "
            "which brings everyone to one"
        )
    if one.critics != other.critics:
        names = [{name for critics in run.critics.values() for name in critics} for run in (one, other)]
        strange = sorted(names[0] ^ names[1])
        raise UserError(f"{pair}, {shortened(strange)} scored only one of them: score both with the same critics")
    weights = [run.about["config"].get("weights_on_data") for run in (one, other)]
    if None not in weights and weights[0] != weights[1]:
        raise UserError(
            f"{pair}, their critics have the same names and other weights: score both with the same critics"
        )
    if one.settings != other.settings:
        differing = [name for name in one.settings if one.settings[name] != other.settings.get(name)]
        raise UserError(
            f"{pair}, they were scored with different settings ({shortened(SETTINGS.get(name, name) for name in differing)}): "
            "score both with the same"
        )


def _read_curve(path: Path, prefix: str) -> FittedCurve:
    arrays = read_npz(path, **{prefix + name: ("f", 1) for name in CURVE})
    return FittedCurve(**{name: arrays[prefix + name] for name in CURVE})


def is_scored(folder: Path) -> bool:
    """Whether this is a folder that `exemplar draw score` wrote."""
    return scored_file(folder).is_file()


def scored_file(folder: Path) -> Path:
    """What a page needs besides the tables, under the name it was written with."""
    return folder / (BEFORE if (folder / BEFORE).is_file() else SCORED)


def read_chosen(folder: Path) -> str:
    """Which critics scored a run and why, in a sentence; "" of a run that does not say."""
    path = scored_file(folder)
    return str(read_npz(path, critics_chosen=("U", 0))["critics_chosen"]) if "critics_chosen" in npz_names(path) else ""


def read_notes(folder: Path) -> tuple[str, ...]:
    """What to know before believing the scores of a run."""
    return tuple(map(str, read_npz(scored_file(folder), notes=("U", 1))["notes"]))
