"""The room's part of `exemplar tour`: a few agents on built-in glyphs, whose characters the networks have never seen."""

from __future__ import annotations

from pathlib import Path

from exemplar import engine
from exemplar.recall.figures.plots import plot_forgetting, plot_pareto
from exemplar.recall.inputs import DataSource
from exemplar.recall.studies.comparison import StudyConfig, compute_study
from exemplar.recall.tasks import TYPES
from exemplar.report.page import Chapter, Figure
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

KIND = "new-classes"
AGENTS = ("chance", "last-set-only", "protonet", "streaming-lda", "replay-latent-int8", "pretrain-tune")
CONFIG = StudyConfig(DataSource("glyphs", "weak-test"), AGENTS, (KIND,), n=40, joint=("protonet",))


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    """Fill the folder; a tour that was stopped resumes."""
    data = CONFIG.source.load()
    with open_run(
        folder, command="tour recall", config=CONFIG, seed=seed, data={data.name: data.fingerprint}, backend=backend
    ) as run:
        if not run.finished:
            compute_study(run, CONFIG, seed)


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    of = {(score.name, score.agent): score for score in scores if not score.concept}
    agents = [agent for name, agent in of if name == "accuracy"]
    accuracy = [of["accuracy", agent] for agent in agents]
    said = {agent: f"{100 * score.value:.0f} %" for agent, score in zip(agents, accuracy, strict=True)}
    by_agent = {agent: [score for score in scores if score.agent == agent] for agent in agents if agent != "chance"}
    shape = TYPES[KIND]
    return Chapter(
        "Keep what you learned",
        (
            f"{shape.nss} sets of {shape.ways} new characters, one example of each, one set after the other; when all are "
            "gone, drawings of all of them must be named. What a learner keeps from one set to the next is measured in bits, "
            "and nothing else can last: its memory of a set is wiped, and it is rebuilt from what it declared.",
            f"Running means of an embedding (prototypical networks) name {said['protonet']} of the drawings, as many as "
            f"when all sets are shown at once. A network that is tuned on each set names {said['pretrain-tune']}: it has "
            "forgotten the first sets when the last is learned.",
        ),
        (
            Figure("Accuracy on the drawings of each set, after the last set; 95 % intervals over tasks.",
                   svg=plot_forgetting(by_agent, chance=1 / shape.n_labels)),
            Figure("Accuracy against memory kept between sets (1 is all images) and multiply-accumulates of a task.",
                   svg=plot_pareto(agents, accuracy, [of["atm", agent].value for agent in agents],
                                   [of["macs_task", agent].value for agent in agents])),
        ),
        [score for score in scores if score.name in ("accuracy", "atm", "backward_transfer")],
        "exemplar recall tasks --data glyphs --type new-classes --n 100 --out suite.npz\nexemplar recall check suite.npz\n"
        "exemplar recall run --agent protonet --data glyphs --suite suite.npz\nexemplar recall agents",
    )  # fmt: skip


CHAPTER = TourChapter(make_tour, write_chapter)
