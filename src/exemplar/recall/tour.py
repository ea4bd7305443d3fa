"""The room's part of `exemplar tour`: a few agents on built-in glyphs, whose characters the networks have never seen."""

from __future__ import annotations

from pathlib import Path

from exemplar import engine
from exemplar.recall.figures.plots import plot_forgetting
from exemplar.recall.inputs import DataSource
from exemplar.recall.studies.comparison import StudyConfig, compute_study
from exemplar.recall.tasks import TYPES
from exemplar.report.page import Chapter, Figure, Headline
from exemplar.report.tables import format_percent, wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

KIND = "new-classes"
AGENTS = ("chance", "last-set-only", "protonet", "streaming-lda", "replay-latent-int8", "pretrain-tune")
NAMES = {
    "last-set-only": "remembers the last set",
    "protonet": "ProtoNet",
    "protonet (joint)": "ProtoNet, all sets at once",
    "streaming-lda": "streaming LDA",
    "replay-latent-int8": "replay of 8-bit features",
    "pretrain-tune": "network tuned on each set",
}
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
    by_agent = {
        NAMES.get(agent, agent): [score for score in scores if score.agent == agent]
        for agent in agents
        if agent != "chance"
    }
    shape = TYPES[KIND]
    tuned = f"{100 * of['accuracy', 'pretrain-tune'].value:.0f} %"
    return Chapter(
        "Keep what you learned",
        (
            f"{shape.nss} sets of {shape.ways} new characters, one example of each, come one after the other. When "
            "all are gone, "
            "drawings of all of them must be named. Whatever a learner keeps from one set to the next is measured in bits; "
            "nothing else lasts, for it is rebuilt from what it declared.",
            "Prototypical networks, which keep a mean feature per character, name "
            f"{format_percent(of['accuracy', 'protonet'])} "
            f"correctly, as many as when all sets are shown at once. A network tuned on each set names {tuned}: by "
            "the time it has learned the last set, it has forgotten the first.",
        ),
        (
            Figure.of_plot(
                plot_forgetting(by_agent, chance=1 / shape.n_labels),
                "Accuracy at the end (up) on the drawings of each set, in the order shown (across); dashed: chance. Bars are "
                "95 % intervals over tasks. A line that drops to the left has forgotten.",
                name="forgetting",
            ),
        ),
        tables=[
            wide_table(
                list(of.values()),
                {"accuracy": "accuracy", "backward_transfer": "backward transfer", "atm": "ATM"},
                "learner",
                names={agent: NAMES.get(agent, agent) for agent in agents},
                terms={
                    "accuracy": f"share of all drawings named correctly at the end; chance is 1 in {shape.n_labels}.",
                    "backward transfer": "accuracy on earlier sets at the end less accuracy right after each; below 0 is "
                    "forgetting.",
                    "ATM": "across-task memory: bits kept between sets over the bits of all images shown. 1 keeps everything.",
                },
                small=f"95 % intervals over {of['accuracy', 'protonet'].n} tasks.",
            )
        ],
        commands="exemplar recall run --agent protonet --data glyphs",
        headline=Headline(
            of["accuracy", "protonet"],
            f"of drawings named after {shape.nss} sets of {shape.ways} characters, each set seen once and gone; by a network "
            f"tuned on each set {tuned}",
        ),
    )


CHAPTER = TourChapter(make_tour, write_chapter)
