"""What a step of training is shown: drawings with a condition of the same class, or sets of drawings of one class.

All of it is drawn on the device, and nobody waits for it."""

from __future__ import annotations

import torch

from exemplar.spaces.training.images import TrainingImages


def sample_conditions(
    data: TrainingImages, label: torch.Tensor, rng: torch.Generator, *, shuffle: bool
) -> torch.Tensor:
    """(b,) rows of what is shown for drawings of these classes: their exemplars; shuffle: any drawing of the class instead."""
    if not shuffle:
        assert data.exemplar is not None
        return data.exemplar[label]
    rows = data.rows[label]
    lot = torch.rand(rows.shape, generator=rng, device=rng.device).masked_fill(rows < 0, -1)
    return rows.gather(1, lot.argmax(1, keepdim=True)).squeeze(1)


def sample_pairs(
    data: TrainingImages, n: int, rng: torch.Generator, *, shuffle: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Any n drawings, (n, 1, h, w), ink 1, and what is shown for each."""
    rows = torch.randint(len(data.pixels), (n,), generator=rng, device=rng.device)
    shown = data.take(sample_conditions(data, data.label[rows], rng, shuffle=shuffle))
    return data.take(rows), shown


def sample_sets(data: TrainingImages, n_sets: int, set_size: int, rng: torch.Generator) -> torch.Tensor:
    """(n_sets · set_size, 1, h, w), ink 1: distinct drawings of one class each, set after set."""
    classes = torch.randint(data.n_classes, (n_sets,), generator=rng, device=rng.device)
    rows = data.rows[classes]
    lot = torch.rand(rows.shape, generator=rng, device=rng.device).masked_fill(rows < 0, -1)
    chosen = rows.gather(1, lot.topk(set_size).indices)
    return data.take(chosen.flatten())
