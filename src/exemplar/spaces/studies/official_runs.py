"""Omniglot's 20 official one-shot runs by a ProtoNet that was trained on the background alphabets only."""

from __future__ import annotations

import numpy as np

from exemplar.images.omniglot import load_omniglot_runs
from exemplar.images.sources import obtain
from exemplar.records import Scores
from exemplar.rooms import KeptResult
from exemplar.runs import Run
from exemplar.spaces.cards import check_unseen
from exemplar.spaces.studies.naming import mean_score, save_scores
from exemplar.spaces.zoo import load_space

BACKGROUND = "protonet-omniglot-background-s0"


def official_runs_result(run: Run, seed: int) -> Scores:
    """Omniglot's 20 official one-shot runs by a ProtoNet that was trained on the background alphabets only."""
    wrong = np.array(run.map(name_official_run, range(20), label="official runs"))
    agent = "ProtoNet trained on background"
    return save_scores(
        run, [mean_score("naming_error", wrong, "ProtoNet trained on background", agent, space=BACKGROUND)]
    )


def name_official_run(number: int, space: str = BACKGROUND) -> float:
    """The share of errors in one official run; a space that was trained on any run's characters is refused."""
    runs, critic = load_omniglot_runs(obtain("omniglot")), load_space(space, layer="")
    assert critic.card is not None
    check_unseen(critic.card, runs.concept.ravel(), "omniglot/evaluation")
    support, new = (critic.encode(part[number], device="cpu") for part in (runs.training, runs.test))
    nearest = np.square(new[:, None] - support).sum(axis=2).argmin(axis=1)
    return float((nearest != runs.answer[number]).mean())


OFFICIAL_RUNS = KeptResult(
    title="Omniglot's 20 official one-shot runs, by ProtoNet",
    text="Trained on the 964 characters of the background alphabets alone; the runs' characters are all from the other "
    "alphabets, two runs from each of ten, with the same 20 characters by other hands. Published error rates: people "
    "4.5 %, BPL 3.3 % (Lake et al. 2015). The interval is over runs. The ProtoNets trained on weak-train are refused here: "
    "they were trained on 180 of the 200 characters, 360 of the 400 tasks.",
    compute=official_runs_result,
    data=(("omniglot", "evaluation"),),
)
