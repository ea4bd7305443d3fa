"""The room's part of `exemplar tour`: a network's maps of built-in characters, beside those of simulated players."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exemplar import engine
from exemplar.attend.agents import make_agent
from exemplar.attend.annotations import split_agents
from exemplar.attend.figures.overlays import plot_side_by_side
from exemplar.attend.mapping import mark
from exemplar.attend.measures.blurring import blur
from exemplar.attend.partner.guessing import Templates
from exemplar.attend.players import Player, play
from exemplar.attend.rounds import maps_from_rounds
from exemplar.attend.scoring import score_maps
from exemplar.attend.tasks import make_task
from exemplar.records import Maps, Scores
from exemplar.report.page import Chapter, Figure, save_plot
from exemplar.report.tables import format_score, wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

FIGURE = "side-by-side"
SHOWN = 6


@dataclass(frozen=True)
class TourConfig:
    """Players uncover n_drawings of each of n_concepts; agents mark the same drawings. canvas: px."""

    data: tuple[str, str] = ("glyphs", "weak-test")
    n_concepts: int = 10
    n_drawings: int = 2
    participants: int = 6
    player: str = "corners"
    agents: tuple[str, ...] = ("occlusion", "ink", "random")
    canvas: int = 256


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    config = TourConfig()
    small = make_task(*config.data, n_concepts=config.n_concepts, n_drawings=config.n_drawings, seed=seed)
    about = {"command": "tour attend", "config": config, "seed": seed, "backend": backend}
    with open_run(folder, **about, data={small.data: small.fingerprint}) as run:  # type: ignore[arg-type]
        if run.finished:
            return
        with engine.one_thread():
            task = small.resized(config.canvas)
            player = Player.of(config.player, task)
            rounds = play(player, task, Templates.of(task), participants=config.participants, seed=seed)
            people = maps_from_rounds(rounds, task, agent="simulated players")
            models = [mark(make_agent(name, small)[1], small, name, seed=seed) for name in config.agents]
            scored = score_maps(people, models, n_pairs=2000, seed=seed)
        run.save(people)
        run.save(Maps.join(models), "model-maps")
        names = [name for name in scored.people.concepts if all(name in one.concepts for one in scored.models)][:SHOWN]
        ours = scored.people.only(names)
        shown = {one.agent: blur(one.only(names).mean_maps) for one in (scored.people, *scored.models)}
        pictures = ours.pictures[[ours.image[ours.rows(code)[0]] for code in range(len(names))]]
        save_plot(plot_side_by_side(pictures, shown, names), folder, FIGURE)
        run.save(Scores.collect(scored.scores))


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    found = {(score.name, score.agent): score for score in scores}
    who, maps, config = "simulated players", Maps.load(folder), TourConfig()
    assert split_agents(maps)[0].agent == who
    return Chapter(
        "Show what matters",
        (
            "Which parts of a drawing tell you what it is? People answer in a game: they uncover a drawing with a "
            "brush until a "
            "partner recognizes it. Models answer by having parts covered, or by gradients.",
            f"Here {config.participants} simulated players, who prefer line ends, corners and crossings, won "
            f"{len(maps)} rounds. "
            f"Two players' maps of one drawing correlate at {format_score(found['reliability', who])}, of different "
            "drawings at "
            f"{format_score(found['reliability_between', who])}. The network's map correlates with theirs, but no "
            "more than the "
            "ink itself does: most of that agreement is that everybody paints where there is ink.",
        ),
        (
            Figure.of_files(
                folder,
                "Mean maps over one drawing of each character, a row for whoever made them: dark red matters most, "
                "white least. "
                "Occlusion is how much worse a trained network does when a part is covered; ink and random are controls.",
                name=FIGURE,
                pixels=True,
            ),
        ),
        tables=[
            wide_table(
                scores,
                {"spearman": "agreement", "spearman_after_ink": "agreement beyond ink", "gini": "Gini coefficient"},
                "maps by",
                names={agent: agent for agent in (who, *config.agents)},
                terms={
                    "agreement": "rank correlation (Spearman) of a model's map with the players' mean map, averaged over "
                    "characters. 1 is the same map, 0 is none.",
                    "agreement beyond ink": "the same after what the ink explains is taken out of both maps.",
                    "Gini coefficient": "how concentrated a map is: 0 if everything matters alike, 1 if a single point does.",
                },
                small="95 % intervals are over characters.",
            )
        ],
        commands="exemplar attend play corners --data glyphs --concepts 10 --out players.npz\n"
        "exemplar attend maps --agent occlusion --data glyphs --concepts 10 --out occlusion.npz\n"
        "exemplar attend score players.npz --model occlusion.npz",
    )


CHAPTER = TourChapter(make_tour, write_chapter)
