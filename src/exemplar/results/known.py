"""docs/known.md: for every room its headline numbers, how they came about, and what would change our mind.

The sentences are written here, the numbers come from the kept results.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from exemplar import rooms
from exemplar.records import Score
from exemplar.report.tables import count_decimals, format_number, format_range
from exemplar.results.kept import LABELS, Kept, load_kept

HEAD = """# What we know and how

Made by `make results` from the scores in `src/exemplar/results/`; do not edit. For each room a few numbers with their 95 %
intervals, the data and seeds behind them, what was chosen before and on which data, and what would change our mind. The command
computes the number again; all numbers are in [results.md](results.md), with when not to believe them.
"""
NOTHING = "nothing"


@dataclass(frozen=True)
class Which:
    """One score of a result: its name and labels as they are kept."""

    name: str
    agent: str
    variant: str = ""
    concept: str = ""

    def find(self, kept: Kept) -> Score:
        wanted = {"name": self.name, "agent": self.agent, "variant": self.variant, "concept": self.concept}
        found = [one for one in kept.scores if all(getattr(one, key) == wanted.get(key, one.space) for key in LABELS)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} scores are {self}")
        return found[0]


@dataclass(frozen=True)
class Known:
    """A headline: `says` has a {} for each of `scores`; data: what the result's own list of data sets does not say."""

    says: str
    result: str
    scores: tuple[Which, ...]
    seeds: str
    chosen: str
    doubt: str
    data: str = ""


@dataclass(frozen=True)
class Chapter:
    """A room. without: why it has no number here."""

    title: str
    known: tuple[Known, ...] = field(default=())
    without: str = ""


CRITICS = "rate and length of the critics, on 150 training characters that were held out (`critic-choices`)"
CHAPTERS = (
    Chapter(
        "Spaces and images",
        (
            Known(
                "ProtoNets name a new character among 20 after one typical drawing of each in {} of cases, after a random "
                "drawing in {}.",
                "protonet-accuracy",
                (
                    Which("accuracy_20_way", "mean of 3 seeds, exemplar as support"),
                    Which("accuracy_20_way", "mean of 3 seeds, random drawing as support"),
                ),
                "three trainings",
                CRITICS,
                "a fourth training outside the spread of the three; characters of alphabets that were not trained on",
            ),
            Known(
                "On the 20 official one-shot runs, where people err in 4.5 %, three ProtoNets err in {}.",
                "official-runs-by-protonet",
                (Which("naming_error", "ProtoNet trained on background, mean of 3 seeds"),),
                "three trainings on the background alphabets",
                "rate and length, on five background alphabets that were held out (`critic-choices`)",
                "more runs: there are 400 trials, and a difference to people is not shown",
            ),
            Known(
                "Pixels name a new drawing of 20 characters in {} of cases on Omniglot and in {} on glyphs at spread 1, which "
                "are meant to be about as hard.",
                "naming-by-pixels",
                (
                    Which("accuracy", "pixels on omniglot/weak-test"),
                    Which("accuracy", "pixels on glyphs@1.0"),
                ),
                "one; 400 rounds",
                NOTHING,
                "glyphs are as hard for pixels; that they are as hard for a network does not follow",
            ),
        ),
    ),
    Chapter(
        "Draw",
        (
            Known(
                "People's drawings of a character are named right among 20 in {} of cases; their diversity is {} and their "
                "originality {}.",
                "draw-humans",
                (
                    Which("recognizability_20_way", "people"),
                    Which("diversity", "people, released views, divided by a drawing's own deviation"),
                    Which("originality", "people, released views, divided by a drawing's own deviation"),
                ),
                "three ProtoNets, three SimCLRs",
                CRITICS + "; views as in the authors' released code, because they repeat its Table S3",
                "other critics: diversity and originality have the units of one family of networks",
            ),
            Known(
                "On QuickDraw-FS, people's drawings are named right among 20 concepts in {} of cases on "
                "the split as published, "
                "and in {} where no category was seen by the critics.",
                "draw-quickdraw-fs",
                (
                    Which("recognizability_20_way", "test: people"),
                    Which("recognizability_20_way", "category-test: people"),
                ),
                "three ProtoNets",
                "recipes, on 24 concepts of categories that are not trained on (`critic-choices`)",
                "the paper's 665 concepts of 345 categories: here are 115 of 69",
            ),
            Known(
                "SimCLR and ProtoNet order characters alike by how diverse people's drawings are: rank correlation {}.",
                "draw-critics-agree",
                (Which("rank_correlation", "ProtoNet and SimCLR, spread"),),
                "nine pairs of trainings",
                CRITICS,
                "a critic of another kind that orders them otherwise: both are trained on the same drawings",
            ),
            Known(
                "The test against people tells people from people in {} of 60 splits by drawer, and finds 5 of 150 characters "
                "drawn wrong in {} of its runs, one in {}.",
                "draw-null",
                (
                    Which("told_apart", "Omniglot's people, 60 splits by drawer"),
                    Which("told_apart", "Omniglot's people, 5 of 150 drawn wrong"),
                    Which("told_apart", "Omniglot's people, 1 of 150 drawn wrong"),
                ),
                "60 splits, 20 runs",
                NOTHING,
                "people whose drawers differ otherwise than Omniglot's 20: the level is known in simulated worlds and here",
            ),
        ),
    ),
    Chapter(
        "Learn",
        (
            Known(
                "People choose right between two new objects in {} of trials, in {} on the second and in {} on the hundredth.",
                "learn-people",
                (Which("accuracy", "people"), Which("trial_2", "people"), Which("trial_100", "people")),
                "none: these are counts",
                NOTHING,
                "the sessions themselves: intervals draw trials and are too narrow for sessions",
                data="counts of Lee & DiCarlo (2023), which ship",
            ),
            Known(
                "Which encoder a model has explains {} of how accurate it is, its rule {}; in one-shot accuracy {} and {}.",
                "learn-encoders",
                (
                    Which("variance_of_encoder", "of accuracy"),
                    Which("variance_of_rule", "of accuracy"),
                    Which("variance_of_encoder", "of one-shot accuracy"),
                    Which("variance_of_rule", "of one-shot accuracy"),
                ),
                "one, of sessions; the networks are as released",
                "nothing on these objects",
                "objects that people learned: these are built in, and the people are simulated",
            ),
            Known(
                "Of true models, the calibrated test of MSE_n rejects {} with 50 sessions a subtask; with "
                "5 sessions, it rejects {} "
                "and the paper's test {}.",
                "learn-null",
                (
                    Which("level", "sessions by as many people", "calibrated", "n = 50, lapse 0"),
                    Which("level", "sessions by as many people", "calibrated", "n = 5, lapse 0"),
                    Which("level", "sessions by as many people", "paper", "n = 5, lapse 0"),
                ),
                "simulated groups of people, drawn from one seed",
                NOTHING,
                "people who are correlated in another way than a simulated lapse rate makes them",
                data="simulated sessions",
            ),
        ),
    ),
    Chapter(
        "Recall",
        (
            Known(
                "On Omniglot, after sets with new classes, means in frozen features name {}, a ridge {}, "
                "and the nearest neighbour "
                "with everything in memory {}.",
                "recall-omniglot",
                (
                    Which("accuracy", "nearest-mean", "new-classes"),
                    Which("accuracy", "ridge", "new-classes"),
                    Which("accuracy", "joint-oracle", "new-classes"),
                ),
                "600 tasks of a frozen suite, one network",
                "the network was trained on other classes (`cfsl-train`)",
                "another network: one embedding carries all agents",
            ),
            Known(
                "On CIFAR-FS means name {}, a ridge {}, and the nearest neighbour only {}: with "
                "photographs means are better than "
                "neighbours.",
                "recall-cifar-fs",
                (
                    Which("accuracy", "nearest-mean", "new-classes"),
                    Which("accuracy", "ridge", "new-classes"),
                    Which("accuracy", "joint-oracle", "new-classes"),
                ),
                "600 tasks of a frozen suite, one network",
                "the network was trained on other classes (`train`)",
                "a larger network, which may well turn the order",
            ),
        ),
    ),
    Chapter(
        "Foresee",
        (
            Known(
                "Confidence on 30 unlabelled samples a class correlates with accuracy by {} over tasks "
                "(5-way 5-shot); the loss on "
                "the labelled ones by {}.",
                "foresee-correlations",
                (
                    Which("pearson", "confidence", "", "semi, 5-way 5-shot 30-query"),
                    Which("pearson", "lr_loss", "", "supervised, 5-way 5-shot 50-query"),
                ),
                "one, of tasks; intervals are over classes",
                NOTHING,
                "the paper's backbones at 84 px, which are not here",
            ),
            Known(
                "The predictor errs by {} on new classes, {} times less than always saying the mean; its "
                "90 % intervals cover {}.",
                "foresee-prediction",
                (
                    Which("absolute_error", "predictor", "", "semi, 5-way 5-shot 30-query"),
                    Which("times_smaller_error", "predictor", "", "semi, 5-way 5-shot 30-query"),
                    Which("coverage_90", "predictor", "", "semi, 5-way 5-shot 30-query"),
                ),
                "20 random splits of classes",
                "measures and penalty, on validation classes of CIFAR-FS (`foresee-choice`)",
                "features of another backbone: the predictor says when they are unlike, and covers less",
            ),
            Known(
                "Labelling 25 samples that cover the uncertain ones gains {} accuracy on the rest over random ones; the least "
                "confident ones {}.",
                "foresee-labelling",
                (
                    Which("gain_remaining", "cover", "", "25 labels"),
                    Which("gain_remaining", "least-confident", "", "25 labels"),
                ),
                "5,000 tasks, paired",
                "our policy, on validation classes",
                "the rest without the hard ones is easier: see `held_out` in the result",
            ),
        ),
    ),
    Chapter(
        "Lab",
        (
            Known(
                "Where judges tell people from machines in .75 of cases, intervals of 5 judges hold this "
                "share in {} of simulations "
                "and those of 20 in {}, in the worst cell.",
                "lab-turing-coverage",
                (
                    Which("coverage_of_told_apart", "5 people, truth 0.75"),
                    Which("coverage_of_told_apart", "20 people, truth 0.75"),
                ),
                "2,000 sets of judges in each cell",
                NOTHING,
                "judges who differ more than by .1, or who learn while they judge",
                data="simulated judges",
            ),
        ),
    ),
    Chapter(
        "Attend",
        without="No number is kept: the room has no people's maps to hold against, and `exemplar attend study coverage` runs "
        "on glyphs, whose truth is known.",
    ),
)


def format_known() -> str:
    """docs/known.md."""
    there = rooms.collect("results")
    chapters = [replace(one, known=tuple(known for known in one.known if known.result in there)) for one in CHAPTERS]
    return "\n".join([HEAD, *(_chapter(one) for one in chapters if one.known or one.without)])


def _chapter(chapter: Chapter) -> str:
    return "\n\n".join([f"## {chapter.title}", *map(_headline, chapter.known), *filter(None, [chapter.without])]) + "\n"


def _headline(known: Known) -> str:
    kept = load_kept(known.result)
    if kept is None:
        raise LookupError(f"nothing is kept of {known.result}")
    data = known.data or ", ".join(f"`{name}`" for name in kept.provenance["data"])
    rows = (
        ("data", data),
        ("seeds", f"{known.seeds}; seed {kept.seed}"),
        ("chosen before", known.chosen),
        ("what would change our mind", known.doubt),
        ("again", f"`exemplar results run {known.result} --seed {kept.seed}`"),
    )
    numbers = [_number(which.find(kept)) for which in known.scores]
    return "\n".join([f"**{known.says.format(*numbers)}**", "", *(f"- {word}: {text}" for word, text in rows)])


def _number(score: Score) -> str:
    decimals = count_decimals(score)
    return f"{format_number(score.value, decimals)} {format_range(score.ci95, decimals)}".rstrip()
