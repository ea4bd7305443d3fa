"""Critics are chosen by what the data is, not by what it is called; what they were trained on is found, or said to be unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exemplar as ex
from conftest import mistake
from exemplar.draw.critics import load_critics
from exemplar.draw.tasks import centre_of
from exemplar.errors import UserError
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.images.folder import load_npz
from exemplar.spaces import seen
from exemplar.spaces.cards import SAME_IMAGES
from exemplar.spaces.zoo import load_card, load_space

QUICKDRAW: dict[str, Any] = {"see": ["simclr-quickdraw-nearest-s0"], "recognise": ["protonet-quickdraw-parts-s0"]}
SHIPPED = {
    "see": [f"simclr-quickdraw-nearest-s{seed}" for seed in range(3)],
    "recognise": [f"protonet-quickdraw-parts-s{seed}" for seed in range(3)],
}
GLYPHS: dict[str, Any] = {"see": ["simclr-glyphs-s0"], "recognise": ["protonet-glyphs-s0"]}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))


def some(data: ConceptSet, n_concepts: int, n_each: int) -> ConceptSet:
    chosen = data.only(concepts=data.concepts[:n_concepts])
    return chosen.subset(np.concatenate([chosen.rows(concept)[:n_each] for concept in chosen.concepts]))


def as_folder(data: ConceptSet, folder: Path) -> Path:
    """Dark ink on white paper, as people save drawings."""
    for row, image in enumerate(data.images):
        place = folder / data.concept[row].replace("/", "-")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(255 - image).save(place / f"{row:04d}.png")
    return folder


def scribbles(names: list[str], n_each: int = 5) -> ConceptSet:
    """Drawings of nobody's, under these names."""
    rng = np.random.default_rng(0)
    images = (rng.random((len(names) * n_each, 48, 48)) > 0.9).astype(np.uint8) * 255
    return ConceptSet.of("scribbles", images, np.repeat(names, n_each))


@pytest.mark.parametrize("name", ["quickdraw-js", "glyphs", "omniglot", "people", "quickdraw"])
def test_a_folder_is_of_no_family_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    folder = as_folder(scribbles([f"thing {k}" for k in range(6)]), tmp_path / "in" / name)
    data = load(str(folder))
    assert data.name == name and data.family == ""
    critics = load_critics(data)
    assert critics.names["recognise"] == [f"protonet-omniglot-released-s{seed}" for seed in range(3)]
    assert "since" in critics.chosen and f"{name} is data of your own" in critics.chosen
    assert len(critics.warnings) == 1 and "trained on Omniglot's characters" in critics.warnings[0]
    assert centre_of(data).startswith("simclr-omniglot")


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.is_here() and name != "objects"])
def test_data_of_the_catalogue_knows_its_family_through_every_view(name: str) -> None:
    data = load(name)
    few = data.only(concepts=data.concepts[:3])
    views = (data, few, few.resized(20), few.resized(20).in_memory(), few.subset([0, 1], "renamed"))
    (family,) = {view.family for view in views}
    assert SAME_IMAGES.get(family, family) == SAME_IMAGES.get(name, name)


def test_the_first_lines_say_which_critics_and_why(tmp_path: Path, exemplar: Any) -> None:
    folder = as_folder(scribbles([f"thing {k}" for k in range(6)]), tmp_path / "quickdraw-mine")
    words = ("draw", "score", "copies", "--data", str(folder), "--n", "3", "--exemplar", "random")
    said = exemplar(*words, cwd=tmp_path)
    first = said.out.splitlines()[0]
    assert "those of Omniglot (simclr-omniglot-released and protonet-omniglot-released)" in first
    assert "quickdraw-mine is data of your own" in first
    assert "trained on Omniglot's characters" in said.err
    found = exemplar(*words, "--json", cwd=tmp_path).json()
    assert found["critics_chosen"] == first
    assert found["seen_concepts"] is None and "unknown" in said.out
    assert any("trained on Omniglot's characters" in sentence for sentence in found["warnings"])
    page = ("draw", "compare", "copies", "noise", "--data", str(folder), "--n", "3", "--exemplar", "random")
    assert exemplar(*page, cwd=tmp_path).out.splitlines()[0] == first
    assert exemplar(*page, "--json", cwd=tmp_path).json()["critics_chosen"] == first
    assert "data of your own" in (tmp_path / "comparison.html").read_text()
    answer = ex.draw.score("copies", data=str(folder), n=3, exemplar="random")
    assert answer["critics_chosen"] == first and answer["seen_concepts"] is None


def test_what_is_named_is_said_to_be_named() -> None:
    glyphs = load("glyphs")
    assert load_critics(glyphs, **GLYPHS).chosen == "The critics are those that were named."
    half = load_critics(glyphs, see=["pixels"])
    assert (
        half.chosen.startswith("Diversity is scored by the critics that were named")
        and "(protonet-glyphs)" in half.chosen
    )
    other = load_critics(glyphs, recognise=["pixels"])
    assert other.chosen.startswith("Recognizability is scored by") and "(simclr-glyphs)" in other.chosen
    assert not half.warnings and not other.warnings


def test_quick_draw_is_told_that_its_protonet_is_not_the_papers(real_data: Any) -> None:
    real_data("quickdraw")
    critics = load_critics(load("quickdraw", "test"))
    assert critics.names == SHIPPED
    assert "conv4, not the ResNet of the paper" in critics.chosen and not critics.warnings


def quickdraw_fs(tmp_path: Path, words: list[str]) -> Path:
    """A file as `draw quickdraw-fs build` writes it."""
    names = [f"{word}-{k}" for word in words for k in (1, 2)]
    data = scribbles(names)
    path = tmp_path / "renamed.npz"
    np.savez(
        path, images=data.images, concept=np.repeat(names, 5), exemplar=np.arange(len(names)) * 5, family="quickdraw"
    )
    return path


def test_quickdraw_fs_is_of_quick_draw_and_its_concepts_are_parts_of_categories(tmp_path: Path) -> None:
    """apple-1 never matched apple."""
    assert {"aircraft carrier", "airplane-3"} <= set(load_card("simclr-quickdraw-nearest-s0").concepts)
    trained = ["aircraft carrier", "airplane"]
    data = load_npz(quickdraw_fs(tmp_path, [*trained, "no such category"]))
    critics = load_critics(data, allow_seen=True)
    assert data.family == "quickdraw" and critics.names == SHIPPED
    assert critics.count_seen(data) == 4
    with pytest.raises(UserError, match=r"trained on 4 of these 6 concepts of renamed .*--allow-seen"):
        load_critics(data).find_seen(data)
    assert load_critics(data).count_seen(data.only(concepts=data.concepts[4:])) == 0


def test_names_that_a_critic_was_trained_on_are_a_warning_in_anyones_own_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder called quickdraw-js with 15 of 20 concepts seen reported 0."""
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path))  # nothing is there
    trained = list(load_card("simclr-quickdraw-nearest-s0").concepts)
    data = scribbles([*trained[:15], *(f"own {k}" for k in range(5))])
    found = load_critics(data, **QUICKDRAW).find_seen(data)
    assert found.concepts is None and found.images is None
    sentence, of_other_images = found.warnings
    assert (
        sentence.startswith("15 of these 20 concept names")
        and "whether the drawings are the same ones is unknown" in sentence
    )
    assert "quickdraw-fs/critics is not on this machine" in sentence and "simclr" in sentence
    assert "quickdraw-fs/critics-parts is not on this machine" in of_other_images and "protonet" in of_other_images
    scored = ex.draw.score(
        "copies", data=str(as_folder(data, tmp_path / "quickdraw-js")), n=3, exemplar="random", **QUICKDRAW
    )
    assert scored["seen_concepts"] is None and any("15 of these 20" in said for said in scored.warnings)


def test_the_very_images_are_found_under_other_names(tmp_path: Path, exemplar: Any) -> None:
    """Characters that the glyph critics were trained on, saved as PNGs of dark ink, in folders called otherwise."""
    trained = some(load("glyphs", "weak-train"), 6, 5)
    renamed = ConceptSet.of("mine", trained.images, [f"thing {code}" for code in trained.concept.code])
    folder = as_folder(renamed, tmp_path / "things")
    words = ("draw", "score", "copies", "--data", str(folder), "--exemplar", "random", "--n", "3")
    words = (*words, "--see", "simclr-glyphs-s0", "--recognise", "protonet-glyphs-s0")
    sentence = mistake(exemplar(*words, cwd=tmp_path))
    assert "were trained on 30 of these 30 images of things, which are in glyphs/weak-train" in sentence
    found = exemplar(*words, "--allow-seen", "--json", cwd=tmp_path).json()
    assert (found["seen_concepts"], found["seen_images"]) == (6, 30)
    assert any("trained on 6 of these 6 concepts" in warning for warning in found["warnings"])


def test_what_the_comparison_of_images_finds_and_what_it_cannot(tmp_path: Path) -> None:
    """The same drawing at the critic's own resolution is found; a copy that went through another one is not."""
    trained, taken = some(load("glyphs", "weak-train"), 6, 5), load_card("simclr-glyphs-s0").input
    hashes = seen.training_hashes("glyphs/weak-train", taken)
    assert hashes is not None
    prepared = ConceptSet.of("own", (taken.prepare(trained.images)[:, 0] * 255).astype(np.uint8), trained.concept)
    small = ConceptSet.of("own", trained.resized(28, binarise=0.5).images, trained.concept)
    for view, share in ((prepared, 1.0), (small, 0.0)):
        assert np.isin(seen.hash_images(view, taken), hashes).mean() == share
    other = load("glyphs", "weak-test")
    assert not np.isin(seen.hash_images(other, taken), hashes).any()
    blank = ConceptSet.of("blank", np.zeros((4, 50, 50), np.uint8), ["a", "b", "a", "b"])
    assert len(set(seen.hash_images(blank, taken))) == 4


def test_the_training_images_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = load_card("simclr-glyphs-s0").input
    seen._training_hashes.cache_clear()  # as in another process
    before = seen.training_hashes("glyphs/weak-train", taken)
    seen._training_hashes.cache_clear()
    assert len(list((tmp_path / "cache" / "seen").glob("*.npy"))) == 1
    monkeypatch.setattr(seen, "hash_images", lambda *_: pytest.fail("hashed again"))
    assert np.array_equal(seen.training_hashes("glyphs/weak-train", taken), before)  # type: ignore[arg-type]


def test_nothing_is_fetched_to_compare_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path))
    monkeypatch.setattr("exemplar.images.downloads.fetch", lambda *_, **__: pytest.fail("fetched"))
    assert seen.training_hashes("omniglot/weak-train", load_card("simclr-omniglot-s0").input) is None
    assert seen.training_hashes("no data/train", load_card("simclr-omniglot-s0").input) is None
    assert seen.training_hashes("glyphs/no split", load_card("simclr-omniglot-s0").input) is None


def test_one_accident_in_thousands_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Quick, Draw!'s test drawings one is pixel for pixel a training drawing of another category."""
    data = scribbles([f"thing {k}" for k in range(10)], 210)
    critics, hashes = load_critics(data, **GLYPHS), None
    hashes = seen.hash_images(data, load_card("simclr-glyphs-s0").input)
    monkeypatch.setattr(seen, "training_hashes", lambda *_: hashes[:2])
    assert critics.find_seen(data).images == 2
    monkeypatch.setattr(seen, "training_hashes", lambda *_: hashes[:3])
    with pytest.raises(UserError, match="trained on 3 of these 2100 images"):
        critics.find_seen(data)


def test_pixels_were_trained_on_nothing_and_of_foreign_networks_nothing_is_known() -> None:
    data = scribbles([f"thing {k}" for k in range(6)])
    for critic, count in (("pixels", 0), ("efficientnet-lite0/head", None)):
        assert load_critics(data, see=[critic], recognise=[critic]).count_seen(data) == count
    glyphs = load("glyphs")
    assert load_critics(glyphs).count_seen(glyphs) == 0
    assert load_critics(glyphs, see=[load_space("simclr-omniglot-s0")], recognise=["pixels"]).count_seen(glyphs) == 0
