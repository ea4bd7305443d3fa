"""Every command that writes a page, with little work to do: for the tests that look at pages, and for whoever wants to see them.

python tests/page_commands.py FOLDER [COMMAND …]     # writes FOLDER/COMMAND/…, and prints where each page is
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import exemplar as ex

HERE: dict[str, Any] = {"engine": "here"}
DRAWERS = ("simulated", "copies", "noise", "redraw@0.5", "redraw@2")
LEARNERS = ("chance", "nearest-mean", "streaming-lda", "protonet", "pretrain-tune")
PEOPLE_STAGES = [f"efficientnet-lite0/{layer}" for layer in ("block03", "block07", "block11", "block15", "head")]


def tour(place: Path) -> Path:
    return _page(ex.tour(place, engine="here"))


def draw_compare(place: Path) -> Path:
    page = place / "comparison.html"
    place.mkdir(parents=True)
    return _page(ex.draw.compare(list(DRAWERS), data="glyphs", concepts=["24"], n=8, html=page))


def draw_study(name: str) -> Callable[[Path], Path]:
    def study(place: Path) -> Path:
        return _page(ex.draw.study(name, data="glyphs", out=place))

    return study


def draw_agent_study(name: str, preset: str) -> Callable[[Path], Path]:
    """Of networks trained for some steps: little of what they draw can be read."""

    def study(place: Path) -> Path:
        agents = place.with_name(f"{place.name}-agents")
        small: dict[str, Any] = {"data": "glyphs", "device": "cpu", "steps": 20}
        settings = ["batch=16", "diffusion_steps=40"]
        if name == "diffusion-grid":
            ex.draw.train_grid("own", preset=preset, vary=["width=6,12", *settings], out=agents, **small)
            asked = f"{agents}@steps=2"
        else:
            found = ex.draw.train(preset, setting=["width=6", *settings], every=20, out=str(agents), **small)
            asked = found["agent"] if name == "samplers" else f"{found['agent']}@steps=2"
        return _page(ex.draw.study(name, data="glyphs", agent=asked, n=4, concepts=["8"], allow_seen=True, out=place))

    return study


def attend_score(place: Path) -> Path:
    folder = _beside(place)
    few: dict[str, Any] = {"data": "glyphs", "concepts": 6, "drawings": 2}
    ex.attend.play("corners", participants=5, out=folder / "players.npz", **few)
    for agent in ("occlusion", "ink"):
        ex.attend.maps(agent, out=folder / f"{agent}.npz", **few)
    models = [folder / "occlusion.npz", folder / "ink.npz"]
    return _page(ex.attend.score(folder / "players.npz", model=models, pairs=1000, out=place))


def attend_study(name: str) -> Callable[[Path], Path]:
    def study(place: Path) -> Path:
        few: dict[str, Any] = {"repeats": 4} if name == "coverage" else {"concepts": 3, "drawings": 2}
        if name != "coverage":
            agents = place.with_name(f"{place.name}-agents")
            settings = ["width=6", "batch=8", "diffusion_steps=30"]
            agent = ex.draw.train(
                "cfgdm", data="glyphs", setting=settings, steps=4, every=4, device="cpu", out=str(agents)
            )["agent"]
            few |= {"agent": agent, "data": "glyphs"}
        return _page(ex.attend.study(name, out=place, **few, **HERE))

    return study


def learn_human(place: Path) -> Path:
    return _page(ex.learn.human(out=place))


def _learner(folder: Path, rule: str, **more: Any) -> Path:
    small: dict[str, Any] = {
        "stage": "efficientnet-lite0/head",
        "subtasks": 6,
        "views": 40,
        "trials": 40,
        "sessions": 40,
    }
    ex.learn.run(rule=[rule], out=folder / rule, **{**small, **more})
    return folder / rule


def learn_score(place: Path) -> Path:
    folder = _beside(place)
    them, one = _learner(folder, "prototype"), _learner(folder, "square")
    return _page(ex.learn.score(one, people=them, out=place))


def learn_compare(place: Path) -> Path:
    folder = _beside(place)
    return _page(ex.learn.compare(_learner(folder, "square"), _learner(folder, "reinforce"), out=place))


def learn_study(place: Path) -> Path:
    few: dict[str, Any] = {"subtasks": 4, "one_shot": 4, "trials": 20, "sessions": 50}
    rules = ["perceptron", "square"]
    return _page(
        ex.learn.study(place, encoder=["pixels", *PEOPLE_STAGES], rule=rules, truth=PEOPLE_STAGES[-1], **few, **HERE)
    )


def recall_run(place: Path) -> Path:
    return _page(ex.recall.run("protonet", data="glyphs", split="weak-test", n=30, out=place, **HERE))


def recall_compare(place: Path) -> Path:
    folder, runs = _beside(place), []
    for agent in LEARNERS:
        runs.append(folder / agent)
        ex.recall.run(agent, data="glyphs", split="weak-test", n=30, out=runs[-1], **HERE)
    return _page(ex.recall.compare(runs, out=place))


def recall_study(place: Path) -> Path:
    kinds = ["new-classes", "new-samples"]
    return _page(ex.recall.study(place, data="glyphs", split="weak-test", agent=[*LEARNERS], type=kinds, n=20, **HERE))


def foresee_check(place: Path) -> Path:
    folder = _beside(place)
    photos = ex.load("glyphs", "weak-test").sample(4, 14, rng=np.random.default_rng(3))
    from PIL import Image

    for k, image in enumerate(photos.images):
        name = photos.concepts[photos.concept.code[k]].replace("/", " ")
        into = folder / "photos" / (name if k % 14 < 6 else "unlabelled")
        into.mkdir(parents=True, exist_ok=True)
        Image.fromarray(255 - image).save(into / f"{k:03d}.png")
    return _page(ex.foresee.check(folder / "photos", out=place))


def foresee_run(place: Path) -> Path:
    small: dict[str, Any] = {"space": "protonet-glyphs-s0", "data": "glyphs", "queries": 14, "tasks": 200}
    return _page(ex.foresee.run(out=place, **small))


def foresee_study(name: str) -> Callable[[Path], Path]:
    def study(place: Path) -> Path:
        rng, folder = np.random.default_rng(0), _beside(place)
        centres = rng.normal(size=(20, 16))
        features = np.maximum(centres[:, None] + 0.9 * rng.normal(size=(20, 320, 16)), 0) + 1e-3
        np.savez(folder / "bank.npz", features=features)
        return _page(ex.foresee.study(name, features=folder / "bank.npz", tasks=64, out=place, **HERE))

    return study


DATA_STUDIES = (
    "critics-agree", "augmentation", "originality-agrees", "normalisation", "centre-and-exemplar", "curve", "exemplars",
    "number-of-drawings", "ranked", "maps", "data-sets", "known-answers", "resolution",
)  # fmt: skip
AGENT_STUDIES = {"guidance": "cfgdm", "samplers": "ddpm", "diffusion-grid": "ddpm"}
FORESEE_STUDIES = ("supervised", "semi", "unsupervised", "imbalance", "neighbours", "thresholds", "prediction", "labelling",
                   "choice", "explanations")  # fmt: skip

# command → what writes its page in a folder, and gives the page's place
PAGES: dict[str, Callable[[Path], Path]] = {
    "tour": tour,
    "draw compare": draw_compare,
    **{f"draw study {name}": draw_study(name) for name in DATA_STUDIES},
    **{f"draw study {name}": draw_agent_study(name, preset) for name, preset in AGENT_STUDIES.items()},
    "attend score": attend_score,
    **{f"attend study {name}": attend_study(name) for name in ("coverage", "steps", "readings")},
    "learn human": learn_human,
    "learn score": learn_score,
    "learn compare": learn_compare,
    "learn study": learn_study,
    "recall run": recall_run,
    "recall compare": recall_compare,
    "recall study": recall_study,
    "foresee check": foresee_check,
    "foresee run": foresee_run,
    **{f"foresee study {name}": foresee_study(name) for name in FORESEE_STUDIES},
}


def _page(answer: Any) -> Path:
    assert answer.page is not None and answer.page.is_file()
    page: Path = answer.page
    return page


def _beside(place: Path) -> Path:
    """A folder for what a command reads."""
    folder = place.with_name(f"{place.name}-from")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    import time
    import traceback

    root = Path(sys.argv[1])
    for command in sys.argv[2:] or PAGES:
        begun = time.process_time()
        try:
            print(
                PAGES[command](root / command.replace(" ", "-")), f"{time.process_time() - begun:.0f} CPU-s", flush=True
            )
        except Exception:
            print(command, traceback.format_exc(limit=4), flush=True)
