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
from exemplar.files import whole_file
from exemplar.records import Maps, Scores
from exemplar.report.figures import render
from exemplar.report.page import Chapter, Figure
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

FIGURE = "side-by-side.png"
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
        with whole_file(folder / FIGURE) as part:
            part.write_bytes(render(plot_side_by_side(pictures, shown, names))["png"])
        run.save(Scores.collect(scored.scores))


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    value = {(score.name, score.agent): score.value for score in scores}
    who = "simulated players"
    maps = Maps.load(folder)
    assert split_agents(maps)[0].agent == who
    return Chapter(
        "Show what matters",
        (
            "Which parts of a drawing tell what it is? People are asked in a game: they uncover a drawing with a brush until a "
            "partner recognizes it. Models are asked by covering parts, by gradients, or, for diffusion models, by where the "
            "scores with and without the exemplar disagree.",
            f"Here {TourConfig().participants} simulated players, who like the places where lines end, bend or meet, uncovered "
            f"characters that the package draws ({len(maps)} rounds in which the partner was right). Two of them agree with a "
            f"correlation of {value['reliability', who]:.2f} on one drawing, and "
            f"{value['reliability_between', who]:.2f} across "
            f"drawings. The ink alone correlates {value['spearman', 'ink']:+.2f} with them, and "
            f"{value['spearman_after_ink', 'ink']:+.2f} "
            f"once ink is taken out of both; occlusion of a trained network {value['spearman', 'occlusion']:+.2f} and "
            f"{value['spearman_after_ink', 'occlusion']:+.2f}.",
        ),
        (
            Figure.of_png(
                (folder / FIGURE).read_bytes(),
                "Mean maps over one drawing of each character: red where most matters. Below, a network that "
                "drawings were covered "
                "for, and two controls that know nothing: the ink, and noise.",
            ),
        ),
        [
            s
            for s in scores
            if s.name in ("reliability", "reliability_between", "spearman", "spearman_after_ink", "gini")
        ],
        "exemplar attend play corners --data glyphs --concepts 10 --out people.npz\n"
        "exemplar attend maps --agent occlusion --data glyphs --concepts 10 --out occlusion.npz\n"
        "exemplar attend score people.npz --model occlusion.npz\nexemplar attend agents",
    )


CHAPTER = TourChapter(make_tour, write_chapter)
