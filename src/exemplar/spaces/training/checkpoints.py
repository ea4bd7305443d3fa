"""Where a training stands, on disk: written whole, read without unpickling, and refused where it is of another training."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import torch

from exemplar.errors import UserError
from exemplar.files import DAMAGE, first_line, whole_file

CHECKPOINT, CURVE = "checkpoint.pt", "curve.json"
KEYS = {"identity", "network", "optimizer", "step", "curve", "totals", "seconds"}


def load_checkpoint(folder: Path, identity: dict[str, str]) -> dict[str, Any]:
    """identity, network, optimizer, step, curve, seconds, and totals: sums over the steps since the curve's last entry;
    refused unless it is of this training."""
    path = folder / CHECKPOINT
    try:
        there = torch.load(path, map_location="cpu", weights_only=True)
    except (*DAMAGE, pickle.UnpicklingError) as problem:
        raise UserError(f"{path} is damaged: delete it to begin again ({first_line(problem)})") from problem
    if not isinstance(there, dict) or there.keys() != KEYS:
        raise UserError(f"{path} is no checkpoint of a training: give another folder")
    for name in identity | there["identity"]:
        was, now = there["identity"].get(name, "nothing"), identity.get(name, "nothing")
        if was != now:
            raise UserError(f"{path} is of another training, with {name} {was:.60}, not {now:.60}: give another folder")
    return there


def save_checkpoint(folder: Path, content: dict[str, Any]) -> None:
    """content: as `load_checkpoint` gives it; its curve is written beside it as JSON."""
    buffer = io.BytesIO()  # torch's own writing hides a full disk in a RuntimeError
    torch.save(content, buffer)
    with whole_file(folder / CHECKPOINT) as part:
        part.write_bytes(buffer.getbuffer())
    with whole_file(folder / CURVE) as part:
        part.write_text(json.dumps(content["curve"], indent=1) + "\n")
