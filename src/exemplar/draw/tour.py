"""The room's part of `exemplar tour`: agents whose scores are known on the plane, and some of their drawings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from exemplar import engine, seeds
from exemplar.draw.agents import make_agent
from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.drawings import sample_drawings, stack
from exemplar.draw.figures.plots import plot_plane
from exemplar.draw.figures.studies import known_sheet
from exemplar.draw.scores import ScoreConfig
from exemplar.draw.studies.known_answers import known_agents, score_known
from exemplar.draw.studies.study import GLYPHS, save_scores
from exemplar.draw.tasks import DrawingTask, make_task, narrow_task
from exemplar.files import npz_names, read_npz, write_npz
from exemplar.images.catalogue import load
from exemplar.records import Score
from exemplar.report.page import Chapter, Figure
from exemplar.report.resizing import resize
from exemplar.report.sheets import sheet_png
from exemplar.report.tables import wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

TRAINED = "trained.npz"


@dataclass(frozen=True)
class TourConfig:
    """n_concepts: glyphs that are drawn; spreads: of the agent that redraws them; n_replicates: of the bootstrap; trained: an
    agent that ships, which draws after n_shown of them n_drawings each."""

    n_concepts: int = 36
    spreads: tuple[float, ...] = (0.5, 1.0, 2.0)
    n_replicates: int = 400
    trained: str = "cfgdm-small"
    n_shown: int = 4
    n_drawings: int = 6


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    """The data's own drawers and agents whose scores are known, on some of the glyphs."""
    config, whole = TourConfig(), load(*GLYPHS)
    chosen = seeds.rng("tour of drawing", seed).choice(whole.n_concepts, config.n_concepts, replace=False)
    data = whole.only(concepts=[whole.concepts[place] for place in sorted(chosen)])
    fingerprint = {data.name: data.fingerprint}
    with open_run(folder, command="tour draw", config=config, seed=seed, data=fingerprint, backend=backend) as run:
        if not run.finished:
            scoring = ScoreConfig(n_replicates=config.n_replicates, n_splits=2)
            agents = known_agents(data, config.spreads)
            save_scores(run, score_known(run, seed, make_task(data), load_unseen_critics(data), agents, scoring))
            write_npz(run.folder / TRAINED, draw_trained(make_task(data), config, seed))


def draw_trained(task: DrawingTask, config: TourConfig, seed: int) -> dict[str, np.ndarray]:
    """What a shipped network makes of some exemplars."""
    few = narrow_task(task, task.concepts[:: len(task.concepts) // config.n_shown][: config.n_shown])
    few = replace(few, n=config.n_drawings)
    drawn = sample_drawings(make_agent(config.trained, few), few, agent=config.trained, seed=seed)
    images = stack(drawn, few)
    shown = resize(few.exemplars, (images.shape[2], images.shape[3]))
    return {"images": np.concatenate([shown[:, None], images], axis=1), "names": np.array(few.concepts)}


def write_chapter(folder: Path) -> Chapter:
    drawn = read_npz(folder / TRAINED, images=("u", 4), names=("U", 1))
    path = folder / "known-answers.npz"
    arrays = read_npz(path, **{name: ("fiuU", None) for name in npz_names(path)})
    agents = [str(agent) for agent in arrays["agents"]]
    scores = load_scores(folder)
    found = {(score.name, score.agent): score for score in scores}
    ways = "recognizability_20_way"
    plane = plot_plane(
        {agent: found["diversity", agent] for agent in agents}, {agent: found[ways, agent] for agent in agents},
        chance=1 / 20, ylabel="recognizability among 20",
    )  # fmt: skip
    return Chapter(
        "Draw another one",
        (
            "You are shown one drawing of a new character: draw another one. Copying takes no risk, and drawing anything at "
            "all may turn into something else. A good drawer moves to the right on the plane at the top without sinking.",
            "These drawers have known answers, so they test the scores. Copies are always recognized and never "
            "differ. Redrawing "
            "a character by its own program moves to the right, and in the end down, as hands vary more. Noise is "
            "recognized at "
            f"chance; drawings of other characters fall below it ({_share(found[ways, 'others'])} where chance is 5 "
            "%), because "
            "the character they do show is often among the twenty.",
        ),
        (
            Figure.of_plot(
                known_sheet(arrays, n_concepts=1),
                "What each drawer made of the exemplar in the red frame. The number after @ is how much hands vary; 1 "
                "is as much "
                "as those of the simulated drawers.",
                name="known-drawers",
                pixels=True,
            ),
            Figure.of_png(
                sheet_png(
                    drawn["images"],
                    drawn["names"].tolist(),
                    frames={(row, 0): "#c8472b" for row in range(len(drawn["images"]))},
                ),
                "What a small diffusion model made of exemplars in red frames (cfgdm-small, which ships). It has learned from "
                "Omniglot and has never seen these alphabets.",
                name="diffusion",
            ),
        ),
        commands="exemplar draw score path/to/your/drawings --data omniglot\n"
        "exemplar draw compare simulated copies redraw@2 --data glyphs --html comparison.html\n"
        "exemplar draw sample cfgdm-small --exemplar path/to/your/image.png --n 8",
        tables=[
            wide_table(
                scores,
                {"diversity": "diversity", ways: "recognizability", "originality": "originality"},
                "drawer",
                names={agent: agent for agent in agents},
                terms={
                    "diversity": "how much the drawings of one character differ: the standard deviation of their SimCLR "
                    "features, each drawing's divided by their own deviation, averaged over features. 0 if all are the same.",
                    "recognizability": "share of drawings whose nearest exemplar in ProtoNet's space, among twenty, is their "
                    "own. Chance is 0.05, the most is 1.",
                    "originality": "root-mean-square distance from the exemplar over SimCLR's features. 0 for a copy.",
                },
                small=f"Means over {len(arrays['concepts'])} characters with 95 % intervals over characters.",
            )
        ],
        opening=Figure.of_plot(
            plane,
            "Drawers on the plane. Across: diversity, how much a drawer's drawings of one character differ. Up: "
            "recognizability, "
            "the share of them that is recognized among twenty characters (dashed: chance). Bars are 95 % intervals over "
            f"{len(arrays['concepts'])} characters. The star is the data's own drawers: simulated here, people on Omniglot.",
            name="plane",
        ),
    )


def _share(score: Score) -> str:
    return f"{100 * score.value:.0f} %"


CHAPTER = TourChapter(make_tour, write_chapter)
