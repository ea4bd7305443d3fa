"""Weights and cards of what was trained on all of weak-train: python finish.py BACK OUT (with exemplar on the path)."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from decide import gather
from exemplar import __version__
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.meta import Maml
from exemplar.spaces.protonet import ProtoNet
from exemplar.spaces.recipes import Recipe, _shipped_part
from exemplar.spaces.simclr import SimClr
from exemplar.spaces.training_images import Images
from exemplar.spaces.zoo import Card, load_space, save_space

KINDS = {"simclr": SimClr, "protonet": ProtoNet, "maml": Maml}
EXEMPLARS = "simclr-omniglot-s0"
KEPT = {"choose-simclr-3e-4-linear", "choose-maml-0.1", "choose-protonet-exemplar-1e-3-linear", *(f"choose-protonet-any-1e-3-linear{tail}" for tail in ("", "-s1", "-s2"))}


def card_and_network(result, names, notes):
    job = result["job"]
    objective = KINDS[job["kind"]](**job["settings"])
    exemplars = EXEMPLARS if job["exemplars"] else None
    recipe = Recipe(objective, ("omniglot", "weak-train", "weak-val"), job["steps"], exemplars=exemplars)
    import numpy as np

    blank = Images.of(np.zeros((40 * 60, 50, 50), np.uint8), np.repeat(np.arange(60), 40), [str(k) for k in range(60)])
    network = objective.build(blank)
    network.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in result["state"].items()})
    network, architecture, config = _shipped_part(recipe, network.eval())
    choosing = job["data"] == "choose"
    card = Card(
        name=job["name"], architecture=architecture, config=config, layer=recipe.layer, input=DrawingInput((50, 50), 0.5),
        data="omniglot/weak-train", concepts=tuple(names), seed=job["seed"],
        training={
            "objective": type(objective).__name__, **asdict(objective), "steps": job["steps"], "exemplars": exemplars,
            "held_out": "omniglot/weak-val" if choosing else None, "machine": f"{result['machine']}, shared with other trainings",
            **notes,
        },
        curve=result["curve"],
        scores={key: value for key, value in result["curve"][-1].items() if key.startswith("held_out_")},
        seconds=round(result["seconds"], 1),
        versions={"exemplar": __version__, **{k: str(v) for k, v in result["versions"].items()}},
    )  # fmt: skip
    return network, card


def main(back: Path, out: Path) -> None:
    notes = json.loads((Path(__file__).parent / "notes.json").read_text())
    weak_train = json.loads((Path(__file__).parent / "weak_train_names.json").read_text())
    held = set((out / "weak_val.txt").read_text().split())
    for name, result in sorted(gather(back).items()):
        if "failed" in result or "state" not in result or (result["job"]["data"] == "choose" and name not in KEPT):
            continue
        choosing = result["job"]["data"] == "choose"
        names = [n for n in weak_train if n not in held] if choosing else weak_train
        place = out / "without-weak-val" if choosing else out
        network, card = card_and_network(result, names, notes[result["job"]["kind"]] if not choosing else notes["choosing"])
        save_space(place, network, card)
        again = load_space(name, folder=place)
        assert again.card.training == card.training and again.card.n_concepts == len(names) if hasattr(again.card, "n_concepts") else len(again.card.concepts) == len(names)
        print(name, card.seconds, {k: round(v, 4) for k, v in card.curve[-1].items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
