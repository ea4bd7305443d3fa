"""The drawing task: one exemplar a concept, chosen as said, and people's drawings without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds
from exemplar.draw.tasks import DrawingTask, centre_of, concept_of, make_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.space import PixelSpace
from exemplar.spaces.zoo import load_space

SPACE = PixelSpace(DrawingInput(size=(8, 8)))
FEW = GlyphsConfig(alphabets=3, characters=4, drawers=6, size=24)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def glyphs() -> ConceptSet:
    return load_glyphs("weak-test", FEW)


def of_counts(counts: list[int]) -> ConceptSet:
    """Random drawings, the concepts' mixed up."""
    rng = seeds.rng("some drawings", counts)
    concept = rng.permutation(np.repeat([f"c{k}" for k in range(len(counts))], counts))
    images = (rng.random((len(concept), 16, 16)) < 0.3).astype(np.uint8) * 255
    return ConceptSet.of("some", images, concept, maker=[f"m{k}" for k in range(len(concept))])


def test_there_is_one_exemplar_a_concept_and_it_is_of_that_concept(glyphs: ConceptSet) -> None:
    for how in ("centre", "drawer:drawer03", "random"):
        task = make_task(glyphs, exemplar=how, space=SPACE, rng=seeds.rng("task"))
        assert [glyphs.concept[row] for row in task.exemplar] == list(task.concepts) == list(glyphs.concepts)
        assert task.exemplars.shape == (9, 24, 24) and task.exemplars.dtype == np.uint8
        np.testing.assert_array_equal(task.exemplars, glyphs.images[task.exemplar])


def test_the_central_exemplar_is_nearest_to_the_mean_of_its_concept(glyphs: ConceptSet) -> None:
    task = make_task(glyphs, space=SPACE)
    features = SPACE.encode(glyphs).astype(float)
    for place, concept in enumerate(task.concepts):
        own = glyphs.rows(concept)
        distance = np.linalg.norm(features[own] - features[own].mean(axis=0), axis=1)
        assert distance[own == task.exemplar[place]] == pytest.approx(distance.min(), rel=1e-9)
    assert task.chosen_by == "centre in pixels"


def test_a_drawers_exemplars_are_that_drawers(glyphs: ConceptSet) -> None:
    task = make_task(glyphs, exemplar="drawer:drawer04")
    assert {glyphs.maker[row] for row in task.exemplar} == {"drawer04"} and task.chosen_by == "drawer drawer04"


def test_random_exemplars_are_the_seeds(glyphs: ConceptSet) -> None:
    one, same, other = (make_task(glyphs, exemplar="random", rng=seeds.rng("any", k)).exemplar for k in (0, 0, 1))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_the_default_space_follows_the_data() -> None:
    assert centre_of("omniglot/weak-test") == "simclr-omniglot-released-s0"
    assert centre_of("glyphs/all") == "simclr-glyphs-s0"
    assert centre_of("quickdraw/strokes") == "simclr-quickdraw-nearest-s0"
    assert centre_of("my drawings") == "simclr-omniglot-released-s0"


def test_without_a_space_the_datas_own_is_taken(glyphs: ConceptSet) -> None:
    assert make_task(glyphs).chosen_by == "centre in simclr-glyphs-s0"
    given = make_task(glyphs, space=load_space("simclr-glyphs-s0"))
    np.testing.assert_array_equal(make_task(glyphs).exemplar, given.exemplar)


def test_people_are_asked_for_all_they_drew_besides_the_exemplar(glyphs: ConceptSet) -> None:
    assert make_task(glyphs, space=SPACE).n == 5
    assert make_task(of_counts([4, 2, 7]), space=SPACE).n == 1
    assert make_task(glyphs, space=SPACE, n=3).n == 3


@settings(deadline=None, max_examples=25)
@given(counts=st.lists(st.integers(2, 6), min_size=1, max_size=5), shuffled=st.booleans())
def test_people_never_draw_the_exemplar_and_nothing_twice(counts: list[int], shuffled: bool) -> None:
    data = of_counts(counts)
    task = make_task(data, exemplar="random", rng=seeds.rng("task"))
    drawn = own_drawings(task, rng=seeds.rng("people") if shuffled else None)
    assert len(drawn) == len(counts) * (min(counts) - 1)
    numbers = {image.tobytes(): row for row, image in enumerate(data.images)}  # all differ: 2⁻²⁵⁶
    rows = [numbers[image.tobytes()] for image in drawn.image]
    assert len(set(rows)) == len(rows) and not set(rows) & set(task.exemplar)
    assert [data.concept[row] for row in rows] == drawn["concept"].tolist()
    assert set(drawn["agent"]) == {"people"} and set(drawn["data"]) == {"some"}
    shown = {concept: row for concept, row in zip(task.concepts, task.exemplar, strict=True)}
    assert [shown[concept] for concept in drawn["concept"]] == drawn["exemplar"].tolist()


def test_all_that_people_drew_is_the_same_set_in_any_order(glyphs: ConceptSet) -> None:
    task = make_task(glyphs, space=SPACE)
    straight, shuffled = own_drawings(task), own_drawings(task, rng=seeds.rng("shuffle"))
    assert {i.tobytes() for i in straight.image} == {i.tobytes() for i in shuffled.image}
    assert not np.array_equal(straight.image, shuffled.image)


def test_an_exemplar_tells_its_concept_in_any_order(glyphs: ConceptSet) -> None:
    task = make_task(glyphs, space=SPACE)
    order = np.array([4, 0, 8, 4])
    shown = task.exemplars[order].astype(np.float32) / 255
    np.testing.assert_array_equal(concept_of(task, shown), order)
    with pytest.raises(UserError, match="exemplar 1 is none of glyphs/weak-test's"):
        concept_of(task, np.stack([shown[0], 1 - shown[0]]))


@dataclass(frozen=True)
class Wrong:
    says: str
    data: Any
    options: dict[str, Any]


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("there is no way to choose the exemplar 'center': did you mean centre", [3, 3], {"exemplar": "center"}),
        Wrong("there is no way to choose the exemplar 'drawer:'", [3, 3], {"exemplar": "drawer:"}),
        Wrong("there is no drawer 'zoe' in some", [3, 3], {"exemplar": "drawer:zoe"}),
        Wrong("made nothing for 1 of the 2 concepts", [3, 3], {"exemplar": "drawer:m0"}),
        Wrong("only one drawing of c1, and that is the exemplar", [3, 1], {}),
        Wrong("must be at least 1, got 0", [3, 3], {"n": 0}),
    ],
    ids=lambda wrong: wrong.says[:40],
)
def test_a_task_that_cannot_be_is_refused(wrong: Wrong) -> None:
    with pytest.raises(UserError, match=wrong.says):
        make_task(of_counts(wrong.data), **{"space": SPACE, "n": None, **wrong.options})


def test_photographs_are_no_drawings() -> None:
    photos = ConceptSet.of("photos", np.zeros((4, 8, 8, 3), np.uint8), ["a", "a", "b", "b"])
    with pytest.raises(UserError, match="colour"):
        make_task(photos)


def test_people_cannot_draw_more_than_they_did(glyphs: ConceptSet) -> None:
    task = make_task(glyphs, space=SPACE, n=6)
    with pytest.raises(
        UserError, match="fewer than 6 drawings of .* and 6 more besides the exemplar: ask for 5 or fewer"
    ):
        own_drawings(task)


def test_omniglot_has_19_drawings_of_each_character_besides_the_exemplar(real_data: Any) -> None:
    real_data("omniglot")
    whole = load("omniglot", "weak-test")
    data = whole.only(concepts=whole.concepts[:5])
    task: DrawingTask = make_task(data)
    assert task.n == 19 and len(own_drawings(task)) == 5 * 19
    assert task.chosen_by == "centre in simclr-omniglot-released-s0"
    features = load_space("simclr-omniglot-released-s0").encode(data).astype(float)
    rows = data.rows(task.concepts[3])
    away = np.linalg.norm(features[rows] - features[rows].mean(axis=0), axis=1)  # Eq. 1
    assert task.exemplar[3] == rows[np.argmin(away)]
