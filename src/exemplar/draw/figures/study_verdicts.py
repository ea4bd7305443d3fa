"""What each study of drawing found on the data it was run on, in one sentence made from its scores."""

from __future__ import annotations

from collections.abc import Callable

from exemplar.draw.figures.studies import StudyRecord
from exemplar.draw.figures.tables import WAYS, list_names, words
from exemplar.draw.figures.verdicts import written
from exemplar.records import Score


def study_verdict(record: StudyRecord) -> str:
    """Nothing for a study that is not in the table, or whose scores are not there."""
    conclude = VERDICTS.get(record.name)
    return conclude(record) if conclude else ""


def critics_agree(record: StudyRecord) -> str:
    return _correlations(
        "Critics trained with labels and critics trained without them agree on the order of concepts by diversity",
        {how: record.of(f"ProtoNet and SimCLR, {how}", "rank_correlation") for how in ("spread", "cosine")},
    )


def augmentation(record: StudyRecord) -> str:
    levels = ("light", "strong")
    return _correlations(
        "SimCLRs trained with moderate views and with other views agree on the order of concepts by diversity",
        {how: record.of(f"moderate and {how} augmentation", "rank_correlation") for how in levels},
    )


def originality_agrees(record: StudyRecord) -> str:
    found = record.named("rank_correlation_of_drawings")
    if not found:
        return ""
    low, high = min(found, key=_value), max(found, key=_value)
    return (
        f"Over drawings, originality correlates between networks and distances from {written(low)} ({low.agent}) to "
        f"{written(high)} ({high.agent})."
    )


def normalisation(record: StudyRecord) -> str:
    found = record.of("raw and normalised, concepts", "rank_correlation")
    return (
        f"Raw and normalised diversity agree on the order of concepts with a rank correlation of {written(found[0])}."
        if found
        else ""
    )


def centre_and_exemplar(record: StudyRecord) -> str:
    found = [s for s in record.named("slope") if s.agent.endswith(", concepts")]
    if not found:
        return ""
    slope = found[0]
    one = "includes" if slope.ci95[0] <= 1 <= slope.ci95[1] else "excludes"
    over = "the distance to the centre over the distance to the exemplar"
    return f"The slope of {over} is {written(slope)}, an interval that {one} 1."


def curve(record: StudyRecord) -> str:
    ends = [record.named(f"recognizability_of_the_{which}_original") for which in ("least", "most")]
    if not all(ends):
        return ""
    least, most = (end[0] for end in ends)
    change = "falls" if differ(least, most) and most.value < least.value else "does not change beyond its intervals,"
    return (
        f"From the least original of {record.drawers.their} drawings to the most, recognizability {change} from "
        f"{written(least)} to {written(most)}."
    )


def exemplars(record: StudyRecord) -> str:
    parts: list[str] = []
    for name in ("recognizability_20_way", "recognizability_all_way", "diversity"):
        found = record.named(name)
        if found and not (name == "recognizability_all_way" and parts):
            low, high = min(found, key=_value), max(found, key=_value)
            parts.append(f"{spoken(name)} ranges from {written(low)} ({low.agent}) to {written(high)} ({high.agent})")
    return f"Depending on which drawing is the exemplar, {list_names(parts)}." if parts else ""


def number_of_drawings(record: StudyRecord) -> str:
    parts = []
    called = {"spread": "the spread", "spread, corrected (c4)": "the corrected spread", "cosine": "the cosine distance"}
    for name in (*called, "vendi"):
        found = sorted(record.named(name), key=lambda score: float(score.agent.partition(" ")[0]))
        if len(found) > 1:
            parts.append(
                f"{called.get(name, 'the Vendi score')} goes from {found[0].value:.2f} to {found[-1].value:.2f}"
            )
            few, many = (score.agent.partition(" ")[0] for score in (found[0], found[-1]))
    return f"From {few} drawings per concept to {many}, {list_names(parts)}." if parts else ""


def ranked(record: StudyRecord) -> str:
    found = [s for kind in ("SimCLR", "ProtoNet") for s in record.of(kind, "diversity")]
    listed = list_names([f"{written(score)} by {score.agent}" for score in found]) if found else ""
    return f"The mean diversity of {record.drawers.their} drawings of a concept is {listed}." if found else ""


def maps(record: StudyRecord) -> str:
    found = [s for s in record.scores if not s.concept]
    names = dict.fromkeys(s.name for s in found)
    if len(names) != 1:
        return ""
    listed = list_names([f"{written(s)} ({s.agent})" for s in found])
    return f"The share of drawings whose nearest neighbour is of their own concept is {listed}."


def data_sets(record: StudyRecord) -> str:
    found = record.named("diversity")
    first = [s for s in found if s.variant == found[0].variant] if found else []
    listed = list_names([f"{written(score)} in {score.agent}" for score in sorted(first, key=_value)]) if first else ""
    return f"The mean diversity of a concept's drawings is {listed}, each in a critic of its own." if first else ""


def known_answers(record: StudyRecord) -> str:
    score = {(s.name, s.agent): s for s in record.scores if not s.space and not s.concept}
    ways = next((name for name, agent in score if name.startswith("recognizability") and agent == "copies"), "")
    if not ways or ("diversity", "copies") not in score or (ways, "others") not in score:
        return ""
    diversity, recognized = (score[name, "copies"].value for name in ("diversity", ways))
    copies = f"a diversity of {diversity:.2f} and a {spoken(ways)} of {recognized:.2f}"
    return (
        f"Copies have {copies}; drawings of other concepts have a {spoken(ways)} of {written(score[ways, 'others'])}."
    )


def spoken(name: str) -> str:
    """A score's name inside a sentence: 20-way recognizability."""
    found = WAYS.fullmatch(name)
    return f"{found[1]}-way recognizability" if found else words(name)


def _correlations(claim: str, found: dict[str, list[Score]]) -> str:
    listed = [f"{written(scores[0])} ({how})" for how, scores in found.items() if scores]
    return f"{claim} with rank correlations of {list_names(listed)}." if listed else ""


def _value(score: Score) -> float:
    return score.value


def resolution(record: StudyRecord) -> str:
    found = {score.agent: score for score in record.named(record.drawers.distance)}
    pairs = [(score, found[f"{agent}, matched"]) for agent, score in found.items() if f"{agent}, matched" in found]
    if not pairs:
        return ""
    plain, matched = ([score.value for score in side] for side in zip(*pairs, strict=True))
    return (
        f"In another format the drawings of {record.drawers.them} lie {min(plain):.2g} to {max(plain):.2g} from where they "
        f"were; matched, {min(matched):.2g} to {max(matched):.2g}."
    )


VERDICTS: dict[str, Callable[[StudyRecord], str]] = {
    "critics-agree": critics_agree,
    "augmentation": augmentation,
    "originality-agrees": originality_agrees,
    "normalisation": normalisation,
    "centre-and-exemplar": centre_and_exemplar,
    "curve": curve,
    "exemplars": exemplars,
    "number-of-drawings": number_of_drawings,
    "ranked": ranked,
    "maps": maps,
    "data-sets": data_sets,
    "known-answers": known_answers,
    "resolution": resolution,
}


def differ(one: Score, other: Score) -> bool:
    """Whether the intervals of two scores do not overlap, which is stricter than their difference; a score without an interval
    differs from nothing."""
    return one.ci95[1] < other.ci95[0] or other.ci95[1] < one.ci95[0]
