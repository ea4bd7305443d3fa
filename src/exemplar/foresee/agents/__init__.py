"""Who does the task: classifiers of few-shot tasks, each a function of a `TaskView`, batched over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from exemplar.answers import Answer, format_pairs
from exemplar.errors import UserError, unknown
from exemplar.foresee.agents import cosine, logistic, n_means, nearest_mean, ridge
from exemplar.foresee.views import TaskView


@dataclass(frozen=True)
class Agent:
    """answer: view → (tasks, q) int64, the class of each query (or, of a clustering agent, the cluster of each sample)."""

    answer: Callable[[TaskView], Tensor]
    about: str
    clusters: bool = False


AGENTS: dict[str, Agent] = {
    "logistic": Agent(logistic.answer, "logistic regression by the paper's recipe: Adam, 50 epochs of batches of 5"),
    "nearest-mean": Agent(nearest_mean.answer, "the class whose mean is nearest"),
    "cosine": Agent(cosine.answer, "the class whose mean direction has the largest cosine"),
    "ridge": Agent(ridge.answer, "least squares on one-hot labels with a penalty of 1"),
    "n-means": Agent(n_means.answer, "N-means clustering, the best of 10 starts; needs no labels", clusters=True),
}
DEFAULT = {"supervised": "logistic", "semi": "logistic", "unsupervised": "n-means"}


def find_agent(name: str, setting: str) -> Agent:
    """An agent of this room, if it can do tasks of this setting."""
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    agent = AGENTS[name]
    if agent.clusters != (setting == "unsupervised"):
        wanted = "--setting unsupervised" if agent.clusters else "--setting supervised or semi"
        raise UserError(f"{name} needs {wanted}, not {setting}: choose another --agent or setting.")
    return agent


def describe_agents() -> Mapping[str, str]:
    return {name: agent.about for name, agent in AGENTS.items()}


def answer_list() -> Answer:
    rows = [{"name": name, "what": what} for name, what in describe_agents().items()]
    return Answer(values={"agents": rows}, text=format_pairs(describe_agents()))
