"""The page of a study of encoders × rules, in its run folder: what was found in a sentence, its figures, and every score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exemplar.learn.figures.study import plot_figures
from exemplar.learn.studies.study_results import load_study_results
from exemplar.records import Score
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, figures_folder, write_page
from exemplar.report.tables import format_percent
from exemplar.runs import load_scores

TITLE = "Which encoders learn new objects, and does the rule matter?"
LEAD = (
    "Encoders × plasticity rules learn built-in objects from right and wrong. No person took part: the participants are "
    "SIMULATED, by one of these encoders and rules, with lapses, so that it is known which model is true."
)
INTERVALS = (
    "Intervals are 95 %: those of depth and accuracy draw subtasks, those of variances and correlations draw encoders, those "
    "of simulated participants draw their sessions."
)
PEOPLE_LEAD = (
    "Encoders × plasticity rules learn the objects that people learned, from right and wrong, and are compared with people in "
    "the same subtasks. The best 1 % by MSE_n are called strong baseline models."
)
PEOPLE_INTERVALS = (
    "Intervals are 95 %: those of variances and correlations draw encoders, those of people draw participants, or sessions or "
    "trials where only these are known, and shares of models are binomial."
)
CAPTIONS = {
    "errors": "How many models (up) are how far from WHO (across, √MSE_n); a perfect model reaches the noise floor.",
    "matrix": "√MSE_n of every encoder (across) with every rule (down); star: the best 1 %. Dark is near.",
    "depth": "Accuracy, and √MSE_n, over the depth of each network. Lines are means over rules, bands span the rules. Accuracy "
    "does not depend on who the participants are.",
    "consistency": "Accuracy of every model, and how far it finds the same subtasks hard as WHO do.",
    "phases": "Accuracy of every model early and late in a session.",
    "one-shot": "Experiment 2: accuracy after one view, at each level of each transformation. Bars are 95 % intervals.",
    "experiments": "√MSE_n of every model in both experiments, with both noise floors.",
    "levels": "Accuracy early and late, over all subtasks and at four levels of difficulty for WHO (black): who is rejected "
    "where, at 5 %. Where points lie within a level means nothing.",
    "strong": "Learning curves of the strong baseline models beside those of WHO. The band is a 95 % interval of WHO.",
    "strong-one-shot": "Experiment 2: the strong baseline models beside WHO, over the levels of each transformation.",
    "confusion": "Which encoder is taken for the true one, for populations of every encoder: on the diagonal it is found.",
}


def write_study_page(folder: Path) -> tuple[Path, dict[str, Path]]:
    """`index.html` in a study's run folder, and its figures beside it: the page, and name → SVG."""
    plots, scores, who = plot_figures(folder), load_scores(folder), load_study_results(folder).who
    figures = [Figure.of_plot(plot, CAPTIONS[name].replace("WHO", who), name=name) for name, plot in plots.items()]
    real = who == "people"
    chapter = Chapter("What was found", (PEOPLE_INTERVALS if real else INTERVALS,), figures, scores)
    page = write_page(
        folder / "index.html", TITLE, PEOPLE_LEAD if real else LEAD, [chapter],
        "The run folder holds every record, score and figure.",
        verdict=find_verdict(scores), made=how_made([folder]),
    )  # fmt: skip
    return page, {name: figures_folder(page) / f"{name}.svg" for name in plots}


def find_verdict(scores: Sequence[Score]) -> str:
    """What encoder and rule explain, and how often the true encoder is found, in a sentence."""
    value = {(score.name, score.agent): score.value for score in scores}
    of = {(score.name, score.agent): score for score in scores}
    if ("encoder_found" not in {name for name, _ in value}) and any(s.name == "models_rejected" for s in scores):
        return _people_verdict(scores)
    share = [format_percent(of[f"variance_of_{what}", "of accuracy"]) for what in ("encoder", "rule")]
    found = [(agent, share) for (name, agent), share in value.items() if name == "encoder_found" and "≥" not in agent]
    said = f"Of the variance of accuracy, the encoder explains {share[0]} and the rule {share[1]}"
    if not found:
        return f"{said}."
    agent, rate = found[-1]
    return (
        f"{said}; from {agent.replace(' a subtask', ' per subtask')}, the true encoder is found in {100 * rate:.0f} %."
    )


def _people_verdict(scores: Sequence[Score]) -> str:
    """How near the best models come to people, and how many are rejected."""
    best = min((s for s in scores if s.name == "strong_baseline_root_mse_n"), key=lambda score: score.value)
    floor = next(score.value for score in scores if score.name == "root_noise_floor")
    rejected = next(s for s in scores if s.name == "models_rejected" and s.concept == "Experiment 1")
    share = f"{100 * rejected.value:.0f} % of {rejected.n} models are rejected as models of people"
    return f"The best model ({best.label}) is {best.value:.3f} from people (√MSE_n; the noise floor is {floor:.3f}); {share}."
