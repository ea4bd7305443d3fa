"""What the house needs to know about this room."""

from __future__ import annotations

from exemplar.rooms import Room

ROOM = Room(
    name="spaces",
    title="How it is seen",
    help="How it is seen: list, train and use critics and encoders.",
    commands={"list": "list_spaces", "card": "card", "train": "train", "encode": "encode"},
    resumes=("train", "encode"),
)
