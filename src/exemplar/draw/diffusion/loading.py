"""Trained agents by name: those that ship, and those you trained; with settings of how they draw after an @."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from exemplar.draw.diffusion.agent import DiffusionAgent
from exemplar.draw.diffusion.objective import Denoising, SetDenoising
from exemplar.draw.diffusion.presets import default_sampling
from exemplar.draw.diffusion.samplers import Sampling
from exemplar.draw.one_pass_agent import OnePassAgent
from exemplar.draw.presets import PRESETS, find_preset, read_objective
from exemplar.errors import UserError, unknown
from exemplar.spaces.cards import read_room
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.weight_files import find_weights
from exemplar.spaces.zoo import list_networks, load_network, shipped

ROOM = "draw"
SETTINGS = "GUIDANCE, or guidance=…,sampler=…,steps=…,clip=true"
UNGUIDED = "steps=… or sampler=…, as in steps=50"
CLIP = {"true": True, "false": False}
# The weights that stand for an agent: the one table in which a default moves
WEIGHTS = {
    "ddpm": "ddpm-omniglot-s0",
    "cfgdm": "cfgdm-omniglot-s0",
    "cfgdm-small": "cfgdm-small-omniglot-s0",
    "cfgdm-quickdraw": "cfgdm-quickdraw-quickdraw-fs-s0",
    "fsdm": "fsdm-omniglot-s0",
    "vae-stn": "vae-stn-omniglot-s0",
    "vae-ns": "vae-ns-omniglot-s0",
    "dagan-un": "dagan-un-omniglot-s0",
    "dagan-rn": "dagan-rn-omniglot-s0",
}
TrainedAgent = DiffusionAgent | OnePassAgent


def load_agent(name: str, *, device: str = "auto") -> TrainedAgent:
    """A trained agent, ready to draw.

    name: an agent whose weights ship (`exemplar draw agents` lists them), one of the shipped networks, or FOLDER/NAME of one
    you trained; after an @ come settings, as in cfgdm@2 or cfgdm@guidance=2,sampler=ancestral,steps=all. device: auto, cpu,
    cuda or cuda:N.
    """
    stem, at, settings = split_settings(name)
    if at and not settings:
        raise UserError(f"the setting of {name} is empty: write {stem}, or {stem}@{SETTINGS}")
    if stem in WEIGHTS:
        if not is_trained(stem):
            raise UserError(
                f"no weights of {stem} ship with this version: train them (exemplar draw train "
                f"{stem}), and name them as FOLDER/NAME"
            )
        weights = WEIGHTS[stem]
    elif stem in PRESETS:
        raise UserError(f"{stem} is a preset to train (exemplar draw train {stem}): name what it became, FOLDER/NAME")
    else:
        weights = stem
    if "/" not in weights and weights not in list_networks(ROOM):
        raise unknown("trained agent", stem, (*WEIGHTS, *list_networks(ROOM)))
    network, card = load_network(weights, room=ROOM)
    objective = read_objective(card.training)
    if not isinstance(card.input, DrawingInput):
        raise UserError(f"{weights} takes photographs, and no agent of this room does: name another")
    if not isinstance(objective, Denoising | SetDenoising):
        if settings:
            raise UserError(f"{stem} draws in one pass and has no settings: write it without @{settings}")
        return OnePassAgent(name, network, objective, card.input, device, card=card)
    sampling = parse_settings(settings, default_sampling(objective))
    agent = DiffusionAgent(name, network, objective, card.input, sampling, device, card=card)
    if agent.sampling.guidance:
        agent.drawer.check_guided()
    agent.sampling.times(agent.schedule)  # more steps than T are refused now
    return agent


def is_trained(name: str) -> bool:
    """Whether weights are there for a name, with settings or without: an agent whose weights ship, a shipped network, or
    FOLDER/NAME."""
    stem = split_settings(name)[0]
    weights = WEIGHTS.get(stem, stem)
    path = Path(weights).expanduser() if "/" in weights else shipped(ROOM) / weights
    card = f"{path}.json"
    there = os.path.isfile(card) and find_weights(path) is not None  # noqa: PTH113 (which answers for names too long, too)
    return there and read_room(Path(card)) == ROOM


def split_settings(name: str) -> tuple[str, str, str]:
    """`path/name@guidance=2` → path/name, @ and the settings; an @ in a folder's name is no setting."""
    head, slash, last = name.rpartition("/")
    stem, at, settings = last.partition("@")
    return f"{head}{slash}{stem}", at, settings


def parse_settings(text: str, sampling: Sampling) -> Sampling:
    """`2`, or `guidance=2,sampler=ddim,steps=50`, on top of these; steps=all for every one of T."""
    for word in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in word.partition("="))
        name, value = (name, value) if equals else ("guidance", name)
        try:
            match name:
                case "guidance":
                    sampling = replace(sampling, guidance=float(value))
                case "steps":
                    sampling = replace(sampling, steps=None if value == "all" else int(value))
                case "sampler":
                    sampling = replace(sampling, sampler=value)
                case "clip":
                    sampling = replace(sampling, clip=CLIP[value])
                case _:
                    raise unknown("setting of a diffusion agent", name, ("clip", "guidance", "sampler", "steps"))
        except ValueError as problem:
            raise UserError(f"{name} = {value} is no number: write {SETTINGS}") from problem
        except KeyError as problem:
            raise UserError(f"clip is true or false, not {value}") from problem
    return sampling


def count_of(name: str) -> int:
    """Parameters of an agent or preset, by what it is made of."""
    return find_preset(name).parameters
