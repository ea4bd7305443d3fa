"""A critic of one's own, in every form: it is never taken for another of the same name, and what is wrong with it is said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import exemplar as ex
from conftest import mistake
from exemplar.draw.critics import load_critics
from exemplar.draw.drawings import stack
from exemplar.draw.requests import Request, find_drawings
from exemplar.errors import UserError
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.spaces.loading import find_space

ASKED: dict[str, Any] = {"exemplar": "drawer:drawer01"}
SCORES = ("diversity", "originality", "recognizability_all_way")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.path", [*sys.path])


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Eight characters by five drawers, as an npz."""
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=5, size=40))
    data = data.only(concepts=data.concepts[:8])
    path = tmp_path_factory.mktemp("data") / "mine.npz"
    concept, maker = (np.array(labels.names)[labels.code] for labels in (data.concept, data.maker))
    np.savez(path, images=data.images, concept=concept, maker=maker)
    return str(path)


class Net(nn.Module):
    """Code of a user's own."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(2500, 12, generator=torch.Generator().manual_seed(seed)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1) @ self.weights


def values(scored: Any) -> list[float]:
    return [scored[name]["value"] for name in SCORES]


def test_three_networks_of_one_name_are_three_critics(mine: str) -> None:
    """They were one run folder, with the first one's numbers."""
    critics = [ex.spaces.NetworkSpace("mine", Net(seed), ex.spaces.DrawingInput()) for seed in range(3)]
    scored = [ex.draw.score("noise", data=mine, see=[c], recognise=[c], **ASKED) for c in critics]
    fresh = [
        ex.draw.score("noise", data=mine, see=[c], recognise=[c], out=f"fresh{k}", **ASKED)
        for k, c in enumerate(critics)
    ]
    assert len({answer.folder for answer in scored}) == 3
    assert len({answer["diversity"]["value"] for answer in scored}) == 3
    assert [values(answer) for answer in scored] == [values(answer) for answer in fresh]
    again = ex.draw.score("noise", data=mine, see=critics[1], recognise=critics[1], **ASKED)
    assert again.folder == scored[1].folder and values(again) == values(scored[1])


def test_a_function_that_was_edited_is_another_critic(mine: str, tmp_path: Path) -> None:
    """Within the second in which it was first used, too: Python's own bytecode cache would not notice."""
    file, found = tmp_path / "critic.py", []
    for power in (1, 2, 3):
        file.write_text(f"def see(images):\n    return (images + {power} * images[:, ::-1]).reshape(len(images), -1)\n")
        found.append(ex.draw.score("noise", data=mine, see="critic.py:see", recognise="pixels", **ASKED))
    assert len({answer.folder for answer in found}) == 3
    assert len({answer["diversity_raw"]["value"] for answer in found}) == 3
    assert found[0]["critics"]["see"] == ["critic.see"]


def test_a_module_that_was_edited_is_another_critic(mine: str, tmp_path: Path) -> None:
    found = []
    for power in (1, 2):
        (tmp_path / "a_critic_module.py").write_text(
            f"def see(images):\n    return (images + {power} * images[:, ::-1] ** 2).reshape(len(images), -1)\n"
        )
        found.append(ex.draw.score("noise", data=mine, see="a_critic_module:see", recognise="pixels", **ASKED))
    assert found[0]["diversity_raw"]["value"] != found[1]["diversity_raw"]["value"]


def test_runs_by_critics_of_one_name_and_other_weights_are_not_compared(mine: str) -> None:
    folders = []
    for seed, who in ((0, "noise"), (1, "copies")):
        critic = ex.spaces.NetworkSpace("mine", Net(seed), ex.spaces.DrawingInput())
        folders.append(str(ex.draw.score(who, data=mine, see=critic, recognise=critic, **ASKED).folder))
    with pytest.raises(UserError, match="the same names and other weights"):
        ex.draw.compare([*folders, "human"], data=mine, see=["pixels"], **ASKED)


def test_several_drawers_are_compared_by_a_critic_of_ones_own(mine: str) -> None:
    compared = ex.draw.compare(["noise", "copies"], data=mine, see=Net(0), recognise=Net(0), **ASKED)
    assert set(compared["runs"]) == {"noise", "copies", "human"} and compared.page is not None


def grey(images: np.ndarray) -> np.ndarray:
    return images[:, ::4, ::4].reshape(len(images), -1)


class Encoder:
    """Any object with `encode`; the identity it claims is not believed."""

    name, identity = "encoder", "always the same"

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def encode(self, images: np.ndarray) -> np.ndarray:
        bent = images.astype(np.float32) ** self.factor
        return bent[:, ::4, ::4].reshape(len(images), -1)


FORMS: dict[str, Callable[[], Any]] = {
    "a shipped name": lambda: "simclr-glyphs-s0",
    "a stage": lambda: "efficientnet-lite0/head",
    "the pixels": lambda: "pixels",
    "a function": lambda: grey,
    "a torch module": lambda: Net(0),
    "plain torch": lambda: nn.Sequential(nn.Flatten(), nn.Linear(2500, 6)),
    "an object": lambda: Encoder(1.0),
    "a space": lambda: ex.spaces.load("protonet-glyphs-s0"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_a_critic_scores(mine: str, form: Callable[[], Any]) -> None:
    critic = form()
    found = ex.draw.score("others", data=mine, see=critic, recognise=critic, n=3, **ASKED)
    assert found["diversity"]["value"] > 0 and found["originality"]["value"] > 0
    assert (
        found["recognizability_all_way"]["value"] < 1
    )  # who draws other concepts is not always taken for the right one


def test_what_an_object_claims_to_be_is_not_believed(mine: str) -> None:
    found = [ex.draw.score("noise", data=mine, see=Encoder(f), recognise="pixels", **ASKED) for f in (1.0, 0.2, 2.0)]
    assert len({answer.folder for answer in found}) == 3
    assert len({answer["diversity_raw"]["value"] for answer in found}) == 3


def test_command_line_and_python_give_the_same(mine: str, tmp_path: Path, exemplar: Any) -> None:
    (tmp_path / "own.py").write_text("def see(images):\n    return images[:, ::4, ::4].reshape(len(images), -1)\n")
    critics = {"see": ["own.py:see"], "recognise": ["efficientnet-lite0/head"]}
    answer = ex.draw.score("noise", data=mine, out="python", **critics, **ASKED)
    words = ("--see", "own.py:see", "--recognise", "efficientnet-lite0/head", "--exemplar", "drawer:drawer01")
    said = exemplar("draw", "score", "noise", "--data", mine, *words, "--out", "shell", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    printed = said.json()
    for name in SCORES:
        assert printed[name] == answer[name]
    by_object = ex.draw.score("noise", data=mine, see=grey, recognise="efficientnet-lite0/head", **ASKED)
    assert values(by_object) == values(answer)


def test_features_from_a_file_give_what_the_space_gives(mine: str, tmp_path: Path) -> None:
    request = Request(data=mine, see=("pixels",), recognise=("pixels",), **ASKED)
    drawn = stack(find_drawings("noise", request.task, seed=0), request.task)
    space = ex.spaces.load("pixels")
    drawings = space.encode(drawn.reshape(-1, *drawn.shape[2:])).reshape(*drawn.shape[:2], -1)
    data = space.encode(ex.load(mine))
    np.savez("features.npz", data=data, drawings=drawings)
    direct = ex.draw.score("noise", data=mine, see="pixels", recognise="pixels", **ASKED)
    for name, content in {"flat": drawings.reshape(-1, drawings.shape[2]), "by concept": drawings}.items():
        np.savez(f"{name}.npz", data=data, drawings=content)
        found = ex.draw.score("noise", data=mine, see=f"{name}.npz", recognise=f"{name}.npz", **ASKED)
        assert values(found) == pytest.approx(values(direct))
    compared = ex.draw.compare(["noise", "human"], data=mine, see="features.npz", recognise="features.npz", **ASKED)
    assert compared.page is not None  # the data's own drawings are among its images
    np.savez("features.npz", data=data, drawings=drawings * 2 + 1)
    other = ex.draw.score("noise", data=mine, see="features.npz", recognise="features.npz", **ASKED)
    assert other["diversity_raw"]["value"] != direct["diversity_raw"]["value"]


WRONG_FILES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]], str]] = {
    "no data": (lambda data, drawn: {"features": data}, "has no array `data`"),
    "no drawings": (lambda data, drawn: {"data": data}, "has no features of the drawings of noise"),
    "too few rows": (
        lambda data, drawn: {"data": data[1:], "drawings": drawn},
        "`data` has 39 rows, mine has 40 images",
    ),
    "too few drawings": (lambda data, drawn: {"data": data, "drawings": drawn[:, :2]}, r"`drawings` is \(8, 2, 4\)"),
    "too many drawings": (
        lambda data, drawn: {"data": data, "drawings": np.repeat(drawn, 2, axis=1)[:, :5]},
        r"`drawings` is \(8, 5, 4\), and 8 concepts with 4 drawings of each need \(8, 4, d\)",
    ),
    "too many in one row": (
        lambda data, drawn: {"data": data, "drawings": np.repeat(drawn, 2, axis=1).reshape(64, 4)},
        r"`drawings` is \(64, 4\), and 8 concepts with 4 drawings",
    ),
    "always the same": (
        lambda data, drawn: {"data": data * 0 + 3, "drawings": drawn},
        "the critic features.npz gives every image of mine the same features",
    ),
    "another width": (lambda data, drawn: {"data": data, "drawings": drawn[..., 1:]}, "has 3 features and `data` 4"),
    "not finite": (lambda data, drawn: {"data": data * np.nan, "drawings": drawn}, "NaN or infinite"),
    "one dimension": (lambda data, drawn: {"data": data[:, 0], "drawings": drawn}, r"`data` is \(40,\)"),
}


@pytest.mark.parametrize(("make", "said"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_what_is_wrong_with_a_file_of_features_is_said(mine: str, make: Any, said: str) -> None:
    rng = np.random.default_rng(0)
    np.savez("features.npz", **make(rng.random((40, 4)), rng.random((8, 4, 4))))
    with pytest.raises(UserError, match=said):
        ex.draw.score("noise", data=mine, see="features.npz", recognise="features.npz", **ASKED)


def test_features_of_all_that_was_drawn_serve_where_fewer_are_compared(mine: str) -> None:
    request = Request(data=mine, see=("pixels",), recognise=("pixels",), **ASKED)
    record = find_drawings("noise", request.task, seed=0)
    drawn, space = stack(record, request.task), ex.spaces.load("pixels")
    features = space.encode(drawn.reshape(-1, *drawn.shape[2:])).reshape(*drawn.shape[:2], -1)
    direct = ex.draw.score(record, data=mine, see="pixels", recognise="pixels", n=3, **ASKED)
    for name, some in {"all": features, "those": features[:, :3]}.items():
        np.savez(f"{name}.npz", data=space.encode(ex.load(mine)), drawings=some)
        found = ex.draw.score(record, data=mine, see=f"{name}.npz", recognise=f"{name}.npz", n=3, **ASKED)
        assert values(found) == pytest.approx(values(direct))


WRONG_FUNCTIONS = {
    "always the same": (
        "return images.reshape(len(images), -1) * 0 + 0.1",
        "gives every image of mine the same features",
    ),
    "complex": ("return images.reshape(len(images), -1) * 1j", "bad.see gives complex features: return real ones"),
    "nan": ("return images.reshape(len(images), -1) * float('nan')", "NaN or infinite"),
    "one row too few": ("return images.reshape(len(images), -1)[1:]", "return (40, d)"),
    "one dimension": ("return images.mean(axis=(1, 2))", "return (40, d)"),
    "no array": ("return 'features'", "no array of numbers"),
    "nothing": ("return None", "shape ()"),
    "it fails": ("raise ValueError('my mistake')", "failed to encode 40 images of 40 × 40 px (ValueError: my mistake)"),
    "by the batch": ("x = images.reshape(len(images), -1); return x - x.mean(axis=0)", "function of each image alone"),
}


@pytest.mark.parametrize(("body", "said"), WRONG_FUNCTIONS.values(), ids=WRONG_FUNCTIONS)
def test_what_is_wrong_with_a_function_is_said(mine: str, tmp_path: Path, exemplar: Any, body: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(f"def see(images):\n    {body}\n")
    words = ("--see", "bad.py:see", "--recognise", "pixels", "--exemplar", "drawer:drawer01")
    sentence = mistake(exemplar("draw", "score", "noise", "--data", mine, *words, cwd=tmp_path))
    assert said in sentence
    assert not (tmp_path / "runs").exists()


WRONG_NAMES = {
    "nowhere.py:see": ("there is no file nowhere.py", "file.py:"),
    "here.py:nobody": ("there is no function 'nobody' in here.py", "file.py:"),
    "here.py:number": ("here.py:number is a int, not a function", "file.py:"),
    "here.py": ("here.py is a Python file: say which of its functions", "file.py:"),
    "no_such_thing:see": ("no_such_thing cannot be imported, there is no such module", "module:see"),
    "nowhere.npz": ("there is no file nowhere.npz", "npz of features"),
    "no/such/space": ("there is no folder no/such", "FOLDER/NAME"),
    "efficientnet-lite0/nothing": ("nothing", "NETWORK/LAYER"),
    "efficientnet-lite0": ("is no stage: write NETWORK/LAYER", "a pretrained stage"),
    "simclr-glyphs": ("there is no space 'simclr-glyphs': did you mean", "a shipped name"),
}


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_an_error_never_advises_the_form_that_was_given(mine: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "here.py").write_text("number = 3\n\n\ndef see(images):\n    return images\n")
    said, form = WRONG_NAMES[name]
    with pytest.raises(UserError) as problem:
        ex.draw.score("noise", data=mine, see=name, recognise="pixels", **ASKED)
    assert said in str(problem.value)
    assert form not in str(problem.value)


def test_things_that_are_no_critic_are_refused() -> None:
    for thing, said in ((3, "a int is no space"), (Net, "Net is a class"), (Encoder, "Encoder is a class")):
        with pytest.raises(UserError, match=said):
            find_space(thing)
    with pytest.raises(UserError, match="given as a Python object"):
        find_space("python:Net")


def test_a_network_that_fails_is_a_sentence() -> None:
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise TypeError("my mistake")

    with pytest.raises(UserError, match="Broken failed to encode .*my mistake"):
        find_space(Broken()).encode(np.zeros((2, 8, 8), np.uint8))
    with pytest.raises(UserError, match="cannot take images of 50 × 50 px with 1 channels.*DrawingInput"):
        find_space(nn.Sequential(nn.Flatten(), nn.Linear(3, 2))).encode(np.zeros((2, 8, 8), np.uint8))


class Dropping(Net):
    """Dropout that is always on."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(super().forward(x), training=True)


class Centring(Net):
    """Statistics of the batch, always."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = super().forward(x)
        return found - found.mean(0)


class Waves(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft(super().forward(x))


class Blind(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x * 0) + 1


WRONG_NETWORKS = {
    Dropping: "Dropping gives an image other features each time it is asked.*such as dropout$",
    Centring: "Centring normalises by the batch.*running statistics, or, if MAML trained it",
    Waves: "Waves gives complex features",
    Blind: "the critic Blind gives every image of mine the same features, and so sees nothing in it",
}


@pytest.mark.parametrize("network", WRONG_NETWORKS)
def test_what_is_wrong_with_a_network_is_said_of_that_network(mine: str, tmp_path: Path, network: type[Net]) -> None:
    with pytest.raises(UserError, match=WRONG_NETWORKS[network]):
        ex.draw.score("noise", data=mine, see="pixels", recognise=network(0), **ASKED)
    assert not (tmp_path / "runs").exists()


def test_two_objects_of_one_name_are_told_apart_and_one_given_twice_is_refused() -> None:
    first, second = Net(0), Net(1)
    critics = load_critics("glyphs", see=[first, second], recognise=[grey])
    assert critics.names == {"see": ["Net", "Net-2"], "recognise": ["grey"]}
    with pytest.raises(UserError, match="Net is named twice"):
        load_critics("glyphs", see=[first, first], recognise=[grey])


def test_a_stage_sees_dark_ink_on_white_paper_however_faint_the_drawing() -> None:
    (critic,) = load_critics("glyphs", see=["efficientnet-lite0/head"], recognise=["pixels"]).see
    images = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=1, size=40)).images[:3]
    stage = ex.spaces.load("efficientnet-lite0/head")
    assert np.array_equal(critic.encode(images), stage.encode(255 - (images > 127) * np.uint8(255)))
    assert np.array_equal(critic.encode(images), critic.encode((images * 0.3).astype(np.uint8)))
    assert critic.identity not in ("", stage.identity)


def test_other_rooms_take_the_same_forms(mine: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def see(images):\n    return images[:, ::4, ::4].reshape(len(images), -1)\n")
    encoded = ex.spaces.encode("own.py:see", mine, out=None)
    assert np.array_equal(encoded.features, grey(ex.load(mine).images.astype(np.float32) / np.float32(255)))


def test_a_compared_run_by_an_object_cannot_be_asked_for_by_name(mine: str) -> None:
    scored = ex.draw.score("noise", data=mine, see=Net(0), recognise=Net(0), **ASKED)
    with pytest.raises(UserError, match="Net was given as a Python object"):
        ex.draw.compare([scored, "copies"])


def test_a_critic_of_ones_own_sees_what_is_matched(mine: str) -> None:
    def small(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        ink = exemplars[:, 1::2, 1::2]
        return np.stack([np.roll(ink, step, axis=2) for step in rng.integers(-2, 3, n)], axis=1)

    def of_any_size(images: np.ndarray) -> np.ndarray:
        return np.stack(
            [images.mean(axis=(1, 2)), images[:, 5:15, 5:15].mean(axis=(1, 2)), images.std(axis=(1, 2))], axis=1
        )

    plain, matched = (
        ex.draw.score(small, data=mine, see=of_any_size, recognise="pixels", match=match, **ASKED)
        for match in (False, True)
    )
    assert plain.folder != matched.folder and plain["ceiling_originality"] != matched["ceiling_originality"]
    with pytest.raises(UserError, match="features of some images and .* of others: bring all to one size"):
        ex.draw.score(small, data=mine, see=lambda images: images.reshape(len(images), -1), recognise="pixels", **ASKED)
    np.savez("features.npz", data=np.ones((40, 2)), drawings=np.ones((8, 4, 2)))
    with pytest.raises(UserError, match="match"):
        ex.draw.score(small, data=mine, see="features.npz", recognise="pixels", match=True, **ASKED)


def test_saving_rounds_as_its_docstring_says(tmp_path: Path) -> None:
    assert "rounded to bfloat16" in (ex.spaces.save_space.__doc__ or "")
    network, card = ex.spaces.load_network("simclr-glyphs-s0", room="spaces")
    for weights in network.parameters():
        weights.data *= 1 + 2e-3 * torch.rand(weights.shape, generator=torch.Generator().manual_seed(0))
    ex.spaces.save_space(tmp_path, network, replace(card, name="mine"))
    images = ex.load("glyphs").images[:50]
    given = ex.spaces.NetworkSpace("given", network, card.input, card.layer).encode(images)
    loaded = ex.spaces.load(f"{tmp_path}/mine").encode(images)
    assert 0 < np.linalg.norm(given - loaded) < 0.03 * np.linalg.norm(given)
