"""The verbs `partner train` and `partner check`: weights and card, accuracy on drawings that it has not seen, and its bound."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from exemplar import seeds, stats
from exemplar.answers import Answer, format_pairs
from exemplar.attend.partner.keeping import ROOM, LipschitzPartner, load_partner
from exemplar.attend.partner.objective import LipschitzClassifier
from exemplar.errors import UserError, unknown
from exemplar.files import check_folder
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Score
from exemplar.spaces.cards import Card
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train as train_objective
from exemplar.spaces.zoo import save_space

SIZE = 28  # px
HELD_OUT = 0.1  # of each concept's drawings, to validate; as many again to test


@dataclass(frozen=True)
class PartnerRequest:
    """As in the verb `train_partner`."""

    data: str
    split: str | None
    n_concepts: int
    only: tuple[str, ...]
    steps: int
    temperature: float
    most: int
    every: int
    hidden: int = 128


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows of a concept set, by what they are for."""

    data: ConceptSet
    train: np.ndarray
    validate: np.ndarray
    test: np.ndarray

    def images(self, rows: np.ndarray, held_out: TrainingImages | None = None) -> TrainingImages:
        names = sorted(self.data.concepts)  # as a card keeps them
        place = np.array([names.index(name) for name in self.data.concepts])
        code = place[self.data.concept.code[rows]]
        return TrainingImages.of(self.data.take(rows), code, names, held_out=held_out)


def train(request: PartnerRequest, out: Path | str, device: str, seed: int) -> Answer:
    from exemplar import __version__

    folder = Path(out).expanduser()
    check_folder(folder)
    if request.hidden % 8:
        raise UserError(
            f"The hidden units must be a multiple of 8, {request.hidden} is not: units are sorted in pairs."
        )
    parts = split_drawings(choose_drawings(request), request.most, seed)
    objective = LipschitzClassifier((16, 32, request.hidden // 4), request.hidden, request.temperature)
    objective = objective.for_steps(request.steps)
    source = re.sub(r"[^a-z0-9]+", "-", parts.data.name.lower()).strip("-")
    name = f"partner-{source}-{parts.data.n_concepts}-s{seed}"
    trained = train_objective(
        objective,
        parts.images(parts.train, parts.images(parts.validate)),
        steps=request.steps,
        seed=seed,
        folder=folder / name,
        device=device,
        every=request.every,
    )
    kept = objective.part_to_keep(trained.network, (1, SIZE, SIZE))
    card = Card(
        name=name,
        architecture=kept.architecture,
        config=kept.config,
        layer="",
        input=DrawingInput((SIZE, SIZE)),
        data=parts.data.name,
        concepts=parts.data.concepts,
        seed=seed,
        training={"objective": objective.name, **asdict(objective), "channels": list(objective.channels)},
        curve=trained.curve,
        scores={},
        seconds=round(trained.seconds, 1),
        versions={"exemplar": __version__, "torch": torch.__version__},
        room=ROOM,
    )
    save_space(folder, kept.module, card)  # rounds to 8 bits of precision: what is tested is what is kept
    partner = load_partner(f"{folder}/{name}")
    accuracy = score_partner(partner, parts.data.subset(parts.test))
    save_space(folder, kept.module, replace(card, scores={"accuracy": accuracy.value}))
    values = {
        "partner": f"{folder}/{name}",
        "accuracy": accuracy.json(),
        "validation_accuracy": trained.curve[-1]["held_out_accuracy"],
        "lipschitz_bound": round(partner.lipschitz_bound, 4),
        "temperature": request.temperature,
        "concepts": list(partner.concepts),
        "drawings": {"train": len(parts.train), "validate": len(parts.validate), "test": len(parts.test)},
        "bytes": (folder / f"{name}.safetensors").stat().st_size,
        "seconds": card.seconds,
        "seed": seed,
    }
    return Answer(values=values, text=_told(values, accuracy), folder=folder)


def check(name: str, drawings: Any) -> Answer:
    """Of a partner, on drawings by others."""
    partner = load_partner(name)
    data = load(drawings)
    for concept in data.concepts:
        if concept not in partner.concepts:
            raise unknown("concept", concept, partner.concepts, where=name)
    accuracy = score_partner(partner, data)
    values = {
        "partner": name,
        "accuracy": accuracy.json(),
        "lipschitz_bound": round(partner.lipschitz_bound, 4),
        "drawings": len(data),
    }
    return Answer(values=values, text=_told(values, accuracy))


def score_partner(partner: LipschitzPartner, data: ConceptSet) -> Score:
    """Accuracy, with Wilson's interval over drawings."""
    place = np.array([partner.concepts.index(concept) for concept in data.concepts])
    told = [partner.log_p(data.take(rows)).argmax(axis=1) for rows in _portions(len(data))]
    right = np.concatenate(told) == place[data.concept.code]
    return Score.of("accuracy", stats.proportion(int(right.sum()), len(right)))


def choose_drawings(request: PartnerRequest) -> ConceptSet:
    data = load(request.data, request.split)
    if len(data.shape) == 3:
        raise UserError(f"{data.name} holds photographs, and the partner names drawings: give drawings.")
    if request.only:
        return data.only(concepts=request.only).resized(SIZE)
    if data.n_concepts < request.n_concepts:
        raise UserError(f"needs {request.n_concepts} concepts, {data.name} has {data.n_concepts}: lower --concepts")
    most = np.sort(np.argsort(-data.counts, kind="stable")[: request.n_concepts])
    return data.only(concepts=[data.concepts[code] for code in most]).resized(SIZE)


def split_drawings(data: ConceptSet, most: int, seed: int) -> Parts:
    """Of each concept at random: a tenth to validate, a tenth to test, the rest to train on."""
    parts: list[list[np.ndarray]] = [[], [], []]
    for code, concept in enumerate(data.concepts):
        rows = np.flatnonzero(data.concept.code == code)
        rows = seeds.rng("attend partner", seed, concept).permutation(rows)[:most]
        n = max(round(HELD_OUT * len(rows)), 1)
        if len(rows) < 3:
            raise UserError(
                f"{concept} has {len(rows)} drawings: the partner needs at least 3, to train, validate and test."
            )
        for part, some in zip(parts, (rows[2 * n :], rows[:n], rows[n : 2 * n]), strict=True):
            part.append(some)
    train_rows, validate, test = (np.concatenate(part) for part in parts)
    return Parts(data, train_rows, validate, test)


def _portions(n: int) -> list[np.ndarray]:
    return [np.arange(start, min(start + 500, n)) for start in range(0, n, 500)]


def _told(values: dict[str, Any], accuracy: Score) -> str:
    low, high = accuracy.ci95
    shown = {k: v for k, v in values.items() if k not in ("concepts", "accuracy", "drawings")}
    return format_pairs(
        {"accuracy": f"{accuracy.value:.3f} [{low:.3f}, {high:.3f}], {accuracy.n} drawings not seen", **shown}
    )
