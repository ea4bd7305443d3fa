"""What the entries of agents with a trained network share: how one is made for a task, and the recipes of an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exemplar.draw.diffusion.loading import load_agent
from exemplar.draw.drawings import Sample
from exemplar.draw.presets import DATA, PRESETS, RECIPES
from exemplar.draw.tasks import DrawingTask
from exemplar.spaces.cards import Card, check_unseen


def make_trained(name: str) -> Callable[[DrawingTask, str], Sample]:
    """How an agent is made: its weights are loaded."""
    return lambda task, setting: load_agent(f"{name}@{setting}" if setting else name)


def find_seen(agent: Sample, task: DrawingTask) -> list[str]:
    """A sentence where an agent was trained on concepts of the task: it has seen more than one drawing of each."""
    card = getattr(agent, "card", None)
    if not isinstance(card, Card):
        return []
    seen = check_unseen(card, task.concepts, task.data.name, allow_seen=True)
    if not seen:
        return []
    return [
        f"{card.name} was trained on {seen} of these {len(task.concepts)} concepts of {task.data.name}, so it has seen many "
        "drawings of each, not one: compare it on others"
    ]


def recipes_of(agent: str) -> dict[str, Any]:
    """Those of an agent's presets on each data set."""
    names = [name for name, preset in PRESETS.items() if preset.agent == agent]
    return {f"{name}-{data}": RECIPES[f"{name}-{data}"] for name in names for data in DATA}
