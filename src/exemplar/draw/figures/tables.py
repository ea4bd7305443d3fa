"""Tables of a comparison of drawers: the main scores, every score, concept by concept, and how it was all made."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from exemplar.draw.figures.drawers import OF_PEOPLE, Drawers
from exemplar.draw.scored_runs import ScoredRun, read_chosen
from exemplar.draw.tasks import PEOPLE
from exemplar.errors import UserError
from exemplar.records import Score
from exemplar.report.how_made import Made, rows_about
from exemplar.report.tables import Cell, ChoiceTable, Table

WAYS = re.compile(r"recognizability_(\w+)_way")
# main score → what it says, in the order of the tables; {} is the number of concepts that a drawing may be assigned to
MEANING = {
    "diversity": "how much the drawings of a concept differ from each other",
    "recognizability": "how often a drawing is assigned to its own concept among {}, each seen once",
    "originality": "how far the drawings are from the exemplar",
    "copy_rate": "how many drawings are nearer to the exemplar than almost all of people's",
    "distance": "how far from people in the plane of diversity and recognizability, in people's standard deviations",
}


def main_scores(runs: Sequence[ScoredRun]) -> list[str]:
    """The names of the main scores that any run has, in the order of the tables."""
    names = dict.fromkeys(score.name for run in runs for score in run.scores if not score.concept)
    return sorted((name for name in names if explain(name)), key=_order)


def overall_table(runs: Sequence[ScoredRun], colours: Mapping[str, str], drawers: Drawers = OF_PEOPLE) -> Table:
    """One row per agent, one column per main score. colours: of each agent's dot."""
    names = main_scores(runs)
    header: list[str | Cell] = [
        "who",
        *(Cell(words(name, drawers), hint=explain(name, drawers), number=True) for name in names),
    ]
    rows = [
        [Cell(run.agent, colour=colours[run.agent]), *(Cell.of(run.overall(name)) for name in names)] for run in runs
    ]
    meanings = " ".join(f"{words(name, drawers).capitalize()}: {explain(name, drawers)}." for name in names)
    return Table(header, rows, small=f"Under each value its 95 % interval. {meanings}")


def every_score(runs: Sequence[ScoredRun], drawers: Drawers = OF_PEOPLE) -> Table:
    """One row per score over all concepts, and per critic where there are several; one column per agent."""
    found = [{(s.name, s.variant, s.space): s for s in run.scores if not s.concept} for run in runs]
    critics = Counter((name, variant) for name, variant, space in found[0] if space)
    keys = {key: None for scores in found for key in scores if not (key[2] and critics[key[:2]] == 1)}
    rows: list[list[str | Cell]] = [
        [
            Cell(words(name, drawers), small=drawers.in_words(variant)),
            space or "all",
            *(Cell.of(scores.get((name, variant, space))) for scores in found),
        ]
        for name, variant, space in sorted(keys, key=lambda key: (_order(key[0]), key))
    ]
    header: list[str | Cell] = ["score", "critic", *(Cell(run.agent, number=True) for run in runs)]
    return Table(
        header, rows, folded=f"{len(rows)} scores over all concepts, and by each critic where there are several"
    )


def concept_table(runs: Sequence[ScoredRun], pictures: Sequence[str], drawers: Drawers = OF_PEOPLE) -> ChoiceTable:
    """Every score there is of single concepts; the first is the one shown before anyone chooses. pictures: data URIs of the
    exemplars."""
    names = sorted({score.name for run in runs for score in run.scores if score.concept}, key=_order)
    values = [list(zip(*(run.by_concept(name) for run in runs), strict=True)) for name in names]
    choices = [words(name, drawers) for name in names]
    return ChoiceTable("concept", runs[0].concepts, [run.agent for run in runs], choices, values, pictures)


def lead(runs: Sequence[ScoredRun]) -> str:
    """What was asked of whom."""
    first = runs[0]
    return (
        f"One drawing was shown of each of the {len(first.concepts)} concepts of {' '.join(first.about['data'])}, and "
        f"{first.n} more were asked for. How diverse, recognizable and original are those by "
        f"{list_names([run.agent for run in runs])}?"
    )


def how_made(runs: Sequence[ScoredRun], page: str) -> Made:
    """What was asked, which critics scored it and how, where it all is. page: the name of its file."""
    first = runs[0]
    made = dict(rows_about([run.about for run in runs]))
    again = shlex.join(["exemplar", "draw", "compare", *(str(run.folder) for run in runs), "--html", page])
    return [
        ("command", made["command"]),
        *([] if made["command"].startswith("exemplar draw compare") else [("this page", again)]),
        ("seed", made["seed"]),
        ("exemplar", str(first.about["config"].get("exemplar", "unknown"))),
        ("drawings", f"{first.n} of each of {len(first.concepts)} concepts, the same number for everyone"),
        *((f"critics that {kind}", ", ".join(names)) for kind, names in first.critics.items()),
        *([("critics chosen", chosen)] if (chosen := read_chosen(first.folder)) else []),
        ("settings", ", ".join(f"{name} = {value}" for name, value in first.settings.items())),
        *((what, made[what]) for what in ("data", "version", "date") if what in made),
        *((f"run of {run.agent}", str(run.folder)) for run in runs),
    ]


def main_recognizability(run: ScoredRun) -> tuple[str, int]:
    """The recognizability of the plane, the first there is, and among how many concepts a drawing is assigned to one."""
    found = next((WAYS.fullmatch(score.name) for score in run.scores if WAYS.fullmatch(score.name)), None)
    if found is None:
        raise UserError(f"{run.folder} has no score of recognizability: score the drawings again")
    return found[0], len(run.concepts) if found[1] == "all" else int(found[1])


def explain(name: str, drawers: Drawers = OF_PEOPLE) -> str:
    """What a main score says; nothing of the others."""
    found = WAYS.fullmatch(name)
    return drawers.in_words(MEANING.get(_main_score(name), "").format(found[1] if found else ""))


def required_score(run: ScoredRun, name: str, concept: str = "") -> Score:
    """A score no page can do without."""
    found = run.overall(name) if not concept else run.by_concept(name)[run.concepts.index(concept)]
    if found is None:
        raise UserError(f"{run.folder} has no score {name}{concept and f' of {concept}'}: score the drawings again")
    return found


def words(name: str, drawers: Drawers = OF_PEOPLE) -> str:
    """A score's name to read.

    >>> words("recognizability_20_way"), words("change_of_recognizability_all_way"), words("r_squared")
    ('recognizability, 20-way', 'change of recognizability, all-way', 'R²')
    """
    if name == "r_squared":
        return "R²"
    return re.sub(r"_([^_]+)_way$", r", \1-way", name).replace("_", " ").replace(PEOPLE, drawers.agent)


def list_names(names: Sequence[str]) -> str:
    """As a sentence lists them: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _main_score(name: str) -> str:
    """The entry of MEANING that a score belongs to, if any."""
    if WAYS.fullmatch(name):
        return "recognizability"
    return "distance" if name.startswith("distance_to_") else name


def _order(name: str) -> tuple[int, bool, str]:
    """Where a score stands among the others: main ones first, few ways before all."""
    main = _main_score(name)
    return (list(MEANING).index(main) if main in MEANING else len(MEANING)), "all" in name, name
