"""The room's part of `exemplar tour`: agents whose scores are known on the plane, and some of their drawings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exemplar import engine, seeds
from exemplar.draw.critics import load_unseen_critics
from exemplar.draw.figures.plots import plot_plane
from exemplar.draw.figures.studies import known_sheet
from exemplar.draw.scores import ScoreConfig
from exemplar.draw.studies.known_answers import known_agents, score_known
from exemplar.draw.studies.study import GLYPHS, save_scores
from exemplar.draw.tasks import SIMULATED, make_task
from exemplar.files import npz_names, read_npz
from exemplar.images.catalogue import load
from exemplar.report.figures import render
from exemplar.report.page import Chapter, Figure
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run


@dataclass(frozen=True)
class TourConfig:
    """n_concepts: glyphs that are drawn; spreads: of the agent that redraws them; n_replicates: of the bootstrap."""

    n_concepts: int = 36
    spreads: tuple[float, ...] = (0.5, 1.0, 2.0)
    n_replicates: int = 400


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


def write_chapter(folder: Path) -> Chapter:
    path = folder / "known-answers.npz"
    arrays = read_npz(path, **{name: ("fiuU", None) for name in npz_names(path)})
    agents = [str(agent) for agent in arrays["agents"]]
    scores = load_scores(folder)
    found = {(score.name, score.agent): score for score in scores}
    ways = "recognizability_20_way"
    named = {agent: f"{100 * found[ways, agent].value:.0f} %" for agent in agents}
    widest = agents[-1]
    plane = plot_plane(
        {agent: found["diversity", agent] for agent in agents}, {agent: found[ways, agent] for agent in agents},
        chance=1 / 20, ylabel="recognizability among 20",
    )  # fmt: skip
    return Chapter(
        "Draw another one",
        (
            "Here is one drawing of a character you have never seen: draw another one. Whoever copies it takes no risk; "
            "whoever draws anything at all may draw something else. Drawings are scored twice: how much those of a character "
            "differ from each other (diversity, in SimCLR's space), and how often they are given to their own character among "
            "twenty (recognizability, in ProtoNet's). Good drawers are far to the right without sinking.",
            "Scores must be trusted before they say anything new, so here are drawers whose answers are known. Copies of the "
            f"exemplar do not differ and are always right ({named['copies']}). Drawings of other characters are as well drawn "
            f"as any and named right by chance ({named['others']}), as is scattered ink ({named['noise']}). And whoever "
            "redraws a character by its true program moves to the right, then down, the more hands vary: "
            f"{named[widest]} at the widest.",
            f"The star stands for the set's own twenty hands, which are simulated: {named[SIMULATED]}. On Omniglot it stands "
            "for people.",
        ),
        (
            Figure(
                f"Drawers on the plane, each the mean over {len(arrays['concepts'])} characters; bars are 95 % intervals over "
                "characters.",
                svg=render(plane)["svg"].decode(),
            ),
            Figure.of_png(
                render(known_sheet(arrays, n_concepts=2))["png"],
                "What each of them drew after the exemplar in the frame.",
            ),
        ),
        [score for score in scores if score.name in ("diversity", ways, "originality")],
        "exemplar draw score simulated --data glyphs\nexemplar draw score path/to/your/drawings --data omniglot\n"
        "exemplar draw compare simulated copies redraw@0.5 redraw@2 --data glyphs --html comparison.html\n"
        "exemplar draw study critics-agree --data glyphs",
    )


CHAPTER = TourChapter(make_tour, write_chapter)
