"""QuickDraw-FS is scored like any data: with its own exemplars unless others are asked for, by critics that have not seen it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import mistake
from exemplar.draw.critics import load_critics
from exemplar.draw.requests import Request
from exemplar.draw.tasks import OWN, make_task, narrow_task
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.images.quickdraw_fs import read_concepts
from exemplar.spaces.cards import check_unseen, names_seen
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.seen import find_seen
from exemplar.spaces.space import PixelSpace
from exemplar.spaces.zoo import load_card, load_space

PIXELS = PixelSpace(DrawingInput(size=(8, 8)))
NAMES = ("cat-1", "cat-2", "dog-1", "bus")


def drawings(name: str = "quickdraw-fs/test", *, family: str = "quickdraw", own: bool = True) -> ConceptSet:
    """Scribbles, six of each concept; the last of each is the exemplar."""
    images = (np.random.default_rng(0).random((24, 48, 48)) > 0.9).astype(np.uint8) * 255
    exemplars = np.arange(4) * 6 + 5 if own else None
    return ConceptSet.of(name, images, np.repeat(NAMES, 6), family=family, exemplars=exemplars)


def as_npz(data: ConceptSet, path: Path) -> Path:
    np.savez(path, images=data.images, concept=np.repeat(NAMES, 6), exemplar=np.arange(4) * 6 + 5, family="quickdraw")
    return path


# exemplars


def test_the_centre_is_the_datas_own_exemplar_unless_a_space_is_named() -> None:
    data = drawings()
    task = make_task(data)
    assert task.exemplar.tolist() == [5, 11, 17, 23] and task.chosen_by == OWN and task.n == 5
    other = make_task(data, space=PIXELS)
    assert other.chosen_by == "centre in pixels"
    assert np.array_equal(other.exemplar, make_task(drawings(own=False), space=PIXELS).exemplar)
    assert other.exemplar.tolist() != task.exemplar.tolist()
    assert make_task(data, exemplar="random", rng=np.random.default_rng(0)).chosen_by == "random"
    some = narrow_task(task, ("dog-1", "cat-2"))
    assert some.exemplar.tolist() == [5, 11] and some.exemplar_rows.tolist() == [11, 17]


def test_a_request_takes_the_datas_own_or_names_a_space(tmp_path: Path) -> None:
    path = str(as_npz(drawings(), tmp_path / "own.npz"))
    asked: dict[str, Any] = {"data": path, "see": ("pixels",), "recognise": ("pixels",)}
    assert Request(**asked).task.exemplar.tolist() == [5, 11, 17, 23]
    assert Request(**asked).task.chosen_by == OWN
    named = Request(**asked, exemplar="centre:pixels").task
    assert named.chosen_by == "centre in pixels" and named.exemplar.tolist() != [5, 11, 17, 23]
    some = Request(**asked, only=("cat-2", "bus")).task
    assert some.exemplar_rows.tolist() == [11, 23] and some.chosen_by == OWN


def test_real_concepts_are_scored_from_the_command_line(real_data: Any, exemplar: Any, tmp_path: Path) -> None:
    folder = real_data("quickdraw-fs").resolve()
    words = ("draw", "score", "copies", "--data", "quickdraw-fs", "--n", "5", "--no-people", "--concepts", "4")
    critics = ("--see", "simclr-quickdraw-nearest-s0", "--recognise", "protonet-quickdraw-parts-s0")
    place = {"EXEMPLAR_DATA": str(folder.parent), "EXEMPLAR_CACHE": str(tmp_path / "cache")}
    said = exemplar(*words, *critics, cwd=tmp_path, env=place)
    assert said.code == 0, said.err
    assert f"exemplar                {OWN}" in said.out and "split                   test" in said.out
    row = next(line.split() for line in said.out.splitlines() if line.startswith("recognizability_all_way"))
    assert row[1] == "1.0000"  # copies are what they were made from
    clusters = exemplar(*words, "--see", "simclr-quickdraw-clusters-s0", cwd=tmp_path, env=place)
    assert "simclr-quickdraw-clusters-s0 was trained on 4 of these 4 concepts of quickdraw-fs/test" in mistake(clusters)


# what critics have seen


def trained_on(*concepts: str, data: str = "quickdraw-fs/critics") -> Any:
    from dataclasses import replace

    space = load_space("simclr-quickdraw-nearest-s0")
    return replace(space, card=replace(space.card, concepts=concepts, data=data))


def test_a_part_is_seen_with_its_category_and_a_category_with_any_part() -> None:
    card = trained_on("cat-1", "bus").card
    listed = names_seen(card, ("cat", "cat-1", "cat-2", "bus", "bus-1", "bus-2", "dog", "dog-1", "wildcat-1"))
    assert listed == {"cat", "cat-1", "bus", "bus-1", "bus-2"}
    own = names_seen(card, ("cat-1", "cat-2", "bus-7", "dog-1"), listed=False)
    assert own == {"cat-1", "cat-2", "bus-7"}  # somebody else's cat-2 may be our cat-1
    assert check_unseen(card, ["cat", "cat-2"], "quickdraw/test", allow_seen=True) == 1
    with pytest.raises(UserError, match=r"trained on 1 of these 2 concepts of quickdraw/all \(cat\)"):
        check_unseen(card, ["cat", "dog"], "quickdraw/all")
    assert check_unseen(card, ["cat"], "omniglot/all") == 0


def test_a_concept_is_seen_with_any_part_it_was_divided_into() -> None:
    card = trained_on("cat-1/1", "cat-1/2", "cat-3/1").card
    assert names_seen(card, ("cat", "cat-1", "cat-2", "cat-3", "cat-1/3", "dog-1")) == {
        "cat",
        "cat-1",
        "cat-3",
        "cat-1/3",
    }
    assert names_seen(card, ("cat-2", "dog-1"), listed=False) == {"cat-2"}


def test_parts_of_a_category_differ_in_the_catalogues_list_and_may_not_in_somebodys_own(tmp_path: Path) -> None:
    critic = trained_on("cat-1")
    ours = drawings()
    assert find_seen([critic], ours.only(concepts=["cat-2", "dog-1"])).concepts == 0
    with pytest.raises(UserError, match=r"trained on 1 of these 4 concepts of quickdraw-fs/test \(cat-1\)"):
        find_seen([critic], ours)
    whole = ConceptSet.of("quickdraw/test", ours.images, ["cat"] * 12 + ["dog"] * 12, family="quickdraw")
    with pytest.raises(UserError, match=r"\(cat\)"):
        find_seen([critic], whole)
    for name in ("mine", "quickdraw-fs-test", "quickdraw-fs", "quickdraw"):  # whatever the file is called
        theirs = load(str(as_npz(ours, tmp_path / f"{name}.npz"))).only(concepts=["cat-2", "dog-1"])
        with pytest.raises(UserError, match=r"trained on 1 of these 2 concepts of .* \(cat-2\)"):
            find_seen([critic], theirs)


def test_numbers_at_the_end_are_names_in_other_families() -> None:
    card = trained_on("character-1", data="omniglot/weak-train").card
    assert names_seen(card, ("character-1", "character-2", "character")) == {"character-1"}


def test_the_critics_that_ship_have_seen_nothing_of_what_is_tested() -> None:
    concepts = read_concepts()
    tested = {split: concepts.concept[concepts.members(split)] for split in ("test", "category-test")}
    critics = load_critics("quickdraw-fs/test")
    assert critics.names == {
        "see": [f"simclr-quickdraw-nearest-s{seed}" for seed in range(3)],
        "recognise": [f"protonet-quickdraw-parts-s{seed}" for seed in range(3)],
    }
    for names in critics.names.values():
        for name in names:
            card = load_card(name)
            for split, listed in tested.items():
                assert not names_seen(card, listed.tolist()), (name, split)
            assert names_seen(card, concepts.concept[concepts.members("critics")].tolist())


@pytest.mark.parametrize("split", ["test", "category-test"])
def test_the_critics_are_let_to_what_is_tested_and_what_clusters_is_not(split: str) -> None:
    listed = read_concepts()
    names = listed.concept[listed.members(split)]
    data = ConceptSet.of(f"quickdraw-fs/{split}", np.zeros((len(names), 48, 48), np.uint8), names, family="quickdraw")
    assert load_critics(data).find_seen(data).concepts == 0
    with pytest.raises(UserError, match=f"simclr-quickdraw-clusters-s0 was trained on {len(names)} of these"):
        load_critics(data, see=["simclr-quickdraw-clusters-s0"]).find_seen(data)


def test_the_critics_have_seen_no_category_of_quickdraws_test(real_data: Any) -> None:
    real_data("quickdraw")
    data = load("quickdraw", "test")
    assert load_critics(data).find_seen(data).concepts == 0
