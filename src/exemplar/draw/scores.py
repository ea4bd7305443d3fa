"""How drawings are judged: every score of a set of drawings, per concept and overall, each with its interval.

    judged = score_drawings(drawings, task)
    judged.scores          # the table
    judged.originality     # (k, n), of each drawing; `recognised` beside it

Overall, an interval is over concepts (their distractors stay all concepts) and over the seeds of the critics, both drawn again.
Of a concept, it is over drawings by jackknife, and over critics. Everyone is compared at the same number of drawings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.critics import Critics, Seen, load_critics, look
from exemplar.draw.drawings import FEWEST, stack
from exemplar.draw.measures import ceiling, originality
from exemplar.draw.measures import sides as measures
from exemplar.draw.measures.generalization import Curve, compare_curves, generalization_curve
from exemplar.draw.measures.intervals import Measure, Resamples, rows, sample_resamples
from exemplar.draw.measures.recognizability import sample_episodes, sample_maml_episodes
from exemplar.draw.measures.sides import DEFAULT, Looks, ScoreConfig, Side
from exemplar.draw.tasks import PEOPLE, DrawingTask, people_rows
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings, Score, Scores
from exemplar.spaces.zoo import load_card

__all__ = ["Judged", "Looks", "ScoreConfig", "Seen", "score_drawings", "score_looks"]

IN_WORDS = {"sample": "each drawing divided by its own deviation", "people": "divided by people's spread"}


@dataclass(frozen=True, eq=False)
class Judged:
    """What a set of drawings is worth.

    scores: overall rows have concept ""; space "" is the mean over critics, else the critic's name; one row a concept and
    score besides. originality, recognised: (k, n) of each drawing, by the first critics; recognised is the chance, in
    [0, 1], of being named right among the first of `ways`. curve: the generalization curve; people_curve: people's, None
    where the data has too few drawings. notes: what to know before believing it, a sentence each.
    """

    agent: str
    concepts: tuple[str, ...]
    scores: Scores
    originality: np.ndarray
    recognised: np.ndarray
    curve: Curve
    people_curve: Curve | None
    notes: tuple[str, ...]

    def arrays(self) -> dict[str, np.ndarray]:
        """What a page needs besides the tables, for `judged.npz`: agent, concepts, notes, originality, recognised, density
        and density_at (of originality), curve_… and people_curve_… (see `Curve.arrays`)."""
        at, height = originality.density(self.originality)
        return {
            "agent": np.array(self.agent),
            "concepts": np.array(self.concepts),
            "notes": np.array(self.notes, dtype=str),
            "originality": self.originality,
            "recognised": self.recognised,
            "density_at": at,
            "density": height,
            **self.curve.arrays("curve_"),
            **(self.people_curve.arrays("people_curve_") if self.people_curve else {}),
        }


def score_drawings(
    drawings: Drawings,
    task: DrawingTask,
    critics: Critics | None = None,
    config: ScoreConfig = DEFAULT,
    *,
    training: ConceptSet | None = None,
    seed: int = 0,
    device: str = "auto",
) -> Judged:
    """Every score of one agent's drawings, whoever that is.

    critics: those of the data unless given. training: what the agent was trained on, to look for copies of it.
    """
    agents = drawings["agent"].unique().tolist()
    if len(agents) != 1:
        raise UserError(f"these are drawings by {len(agents)} agents: score one at a time")
    critics = critics or load_critics(task.data.name)
    n_seen = critics.count_seen(task.concepts, task.data.name)
    images = stack(drawings, task)
    people = as_many_people(task, images.shape[1])
    looks = Looks(
        tuple(look(space, images, task, people, training=training, device=device) for space in critics.see),
        tuple(look(space, images, task, people, device=device) for space in critics.recognise),
        agent=str(agents[0]),
        concepts=task.concepts,
        groups=task.data.group.code[task.exemplar],
        makers=None if people is None else task.data.maker.code[people],
        exemplars=task.chosen_by,
    )
    judged = score_looks(looks, config, seed=seed)
    if n_seen:
        note = f"the critics were trained on {n_seen} of these {len(task.concepts)} concepts"
        judged = replace(judged, notes=(note, *judged.notes))
    if not config.episodes:
        return judged
    sampled = _sampled_scores(looks, images, task, critics, config, seed)
    return replace(judged, scores=Scores.join([judged.scores, Scores.collect(sampled)]))


def as_many_people(task: DrawingTask, n: int) -> np.ndarray | None:
    """(k, n) rows of the data: as many of people's drawings as there are of the agent's; None where people made too few."""
    n_people = int(task.data.counts.min()) - 1
    if n < FEWEST:
        raise UserError(f"there are {n} drawings of some concept: scores need at least {FEWEST} of each")
    if n_people < FEWEST:
        return None
    if n > n_people:
        raise UserError(
            f"people made {n_people} drawings of some concept besides the exemplar, not {n}, and scores depend on the number: "
            f"ask for {n_people} or fewer"
        )
    return people_rows(task, n)


def score_looks(looks: Looks, config: ScoreConfig = DEFAULT, *, seed: int = 0) -> Judged:
    """All of `score_drawings` once critics have looked. The same seed draws the same concepts whoever is judged."""
    k, notes = len(looks.concepts), []
    if k < 2:
        raise UserError("recognizability needs others to be told from: give at least 2 concepts, there is 1")
    if looks.makers is None:
        too_few = f"people made fewer than {FEWEST} drawings of some concept besides the exemplar"
        if config.normalise == "people":
            raise UserError(f"{too_few}: features cannot be divided by their spread, choose the normalisation sample")
        notes.append(f"{too_few}: nothing is compared with people")
    ways = tuple(way for way in config.ways if way <= k) or (0,)
    if set(config.ways) - set(ways):
        notes.append(f"there are {k} concepts: recognizability among more than these is left out")
    how = IN_WORDS[config.normalise] + (", unbiased" if config.unbiased else "")
    see = [measures.normalised(seen, config.normalise) for seen in looks.see]
    resamples = sample_resamples(
        k, max(len(see), len(looks.recognise)), config.n_replicates, seeds.rng("concepts", seed)
    )
    own = measures.measure_side(see, looks.recognise, "drawn", unbiased=config.unbiased)
    found = [
        *measures.look_measures(looks, see, own, how, unbiased=config.unbiased),
        *measures.recognition_measures(looks, own, ways),
    ]
    beside: list[Score] = []
    people = None
    if looks.makers is not None:
        people = measures.measure_side(see, looks.recognise, "people", unbiased=config.unbiased)
        found += measures.copy_measures(looks, see, own, people, config.copy_level)
        beside = _scores_beside_people(looks, own, people, ways[0], resamples, config, seed)
    scores = [row for measure in found for row in rows(measure, resamples, looks.agent, looks.concepts)]

    def curve(side: Side) -> Curve:
        return generalization_curve(
            side.originality[0], side.named(ways[0])[0], n_bins=config.n_bins, weights=resamples.concepts
        )

    mine, theirs = curve(own), curve(people) if people else None
    if theirs is not None:
        beside += [
            Score(name, found.value, (found.lo, found.hi), found.n, agent=looks.agent, variant="over people's curve")
            for name, found in compare_curves(mine, theirs).items()
        ]
    return Judged(
        looks.agent,
        looks.concepts,
        Scores.collect([*scores, *beside]),
        own.originality[0],
        own.named(ways[0])[0],
        mine,
        theirs,
        (*notes, *filter(None, [mine.warning])),
    )


def _scores_beside_people(
    looks: Looks, own: Side, people: Side, ways: int, resamples: Resamples, config: ScoreConfig, seed: int
) -> list[Score]:
    """The distance to people, and what half of one side has in common with the other half of people; for the ceiling both are
    people. Halves are of drawers, the same whoever is judged: so people as an agent are never compared with themselves."""
    assert looks.makers is not None
    found: list[Score] = []
    references = measures.fit_references(people, ways, config.reference)
    if references:
        found += measures.distance_scores(looks, own, people, references, ways, resamples)
    halves = ceiling.drawer_halves(looks.makers, config.n_splits, rng=seeds.rng("halves", seed))
    for agent, prefix, side in ((looks.agent, "", own), (PEOPLE, "ceiling_", people)):
        compared: list[Measure] = []
        if halves[0].shape[2] > config.n_neighbours:
            compared += measures.overlap_measures(looks, side, people, halves, config.n_neighbours, prefix)
        if references and halves[0].shape[2] > 1:
            compared.append(measures.halved_distance(looks, side, people, halves, references, ways, prefix))
        found += [row for measure in compared for row in rows(measure, resamples, agent, looks.concepts)]
    return found + measures.reliability_scores(people, halves, ways, resamples)


def _sampled_scores(
    looks: Looks, images: np.ndarray, task: DrawingTask, critics: Critics, config: ScoreConfig, seed: int
) -> list[Score]:
    """Recognizability by episodes, which the closed form makes needless, except for a critic that adapts."""
    first, k = looks.recognise[0], len(looks.concepts)
    ways = next((way for way in config.ways if 0 < way <= k), k)
    shares = sample_episodes(first.drawn, first.exemplars, ways, config.episodes, rng=seeds.rng("episodes", seed))
    sampled = [(first.space, ways, stats.mean(shares))]
    if critics.adapt:
        card = critics.adapt.card or load_card(critics.adapt.name)  # a space made by hand has none
        rng = seeds.rng("MAML episodes", seed)
        shares = sample_maml_episodes(images, task.exemplars, critics.adapt, card, config.episodes, rng=rng)
        sampled.append((critics.adapt.name, int(card.config["ways"]), stats.mean(shares)))
    return [
        Score(
            f"recognizability_{among}_way_sampled",
            share.value,
            (share.lo, share.hi),
            share.n,
            agent=looks.agent,
            space=space,
            variant=task.chosen_by,
        )
        for space, among, share in sampled
    ]
