"""What torch users have is taken: tensors with gradients, a channel of one, other ranges; what is ambiguous is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exemplar.draw.drawings import arrange_drawings, read_drawings, sample_drawings, stack
from exemplar.draw.requests import find_drawings
from exemplar.draw.tasks import DrawingTask, make_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.folder import load_folder, load_npz
from exemplar.images.glyphs import GlyphsConfig, load_glyphs

SIZE, N, K = 32, 4, 9


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    glyphs = load_glyphs("weak-test", GlyphsConfig(alphabets=3, characters=4, drawers=N + 1, size=SIZE))
    return make_task(glyphs, exemplar="drawer:drawer01")


@pytest.fixture(scope="module")
def drawn(task: DrawingTask) -> np.ndarray:
    """(9, 4, 32, 32) uint8, ink or paper: bfloat16 holds that exactly."""
    return np.where(stack(own_drawings(task), task) > 127, np.uint8(255), np.uint8(0))


SIGNED = "values from −1 to 1 were mapped to 0 to 1"
FORMS: dict[str, tuple[Any, str]] = {
    "a tensor": (lambda x: torch.from_numpy(x / 255), ""),
    "with gradients": (lambda x: torch.from_numpy(x / 255).requires_grad_(), ""),
    "of 16 bits": (lambda x: torch.from_numpy(x / 255).to(torch.bfloat16), ""),
    "of bytes": (torch.from_numpy, ""),
    "of truth values": (lambda x: torch.from_numpy(x > 127), ""),
    "with a channel": (lambda x: torch.from_numpy(x / 255)[:, :, None], ""),
    "with a channel behind": (lambda x: (x / 255)[..., None], ""),
    "in one row": (lambda x: torch.from_numpy(x / 255).reshape(K * N, 1, SIZE, SIZE), ""),
    "from −1 to 1": (lambda x: torch.from_numpy(x / 127.5 - 1).float(), SIGNED),
    "from −1 to 1, in one row": (lambda x: torch.from_numpy(x / 127.5 - 1).reshape(K * N, 1, SIZE, SIZE), SIGNED),
    "floats to 255": (lambda x: x.astype(np.float32), "values from 0 to 255 were mapped to 0 to 1"),
    "a rounding beyond": (lambda x: (x / 255) * 1.0001 - 0.00005, ""),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_the_same_drawings(form: str, task: DrawingTask, drawn: np.ndarray) -> None:
    make, sentence = FORMS[form]
    said: list[str] = []
    found = sample_drawings(lambda e, n, rng: make(drawn) if n == N else None, task, agent="mine", said=said)
    np.testing.assert_array_equal(stack(found, task), drawn)
    assert said == ([f"the drawings of mine: {sentence}"] if sentence else [])
    given = find_drawings(make(drawn), task, agent="mine", seed=0)
    np.testing.assert_array_equal(stack(given, task), drawn)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: x / 255 * 1.2 - 0.1, "go from -0.1 to 1.1: rescale or clip"),
        (lambda x: x / 255 * 1.3 - 0.3, "go from -0.3 to 1: rescale or clip"),
        (lambda x: x / 255 * 4 - 2, "go from -2 to 2: rescale or clip"),
        (lambda x: x / 100, "go from 0 to 2.55: rescale or clip"),
        (lambda x: np.repeat(x[:, :, None], 3, axis=2), r"shape \(9, 4, 3, 32, 32\)"),
        (lambda x: x.reshape(K * N, SIZE, SIZE), r"shape \(36, 32, 32\)"),
        (lambda x: x[:, :3].reshape(K * 3, 1, SIZE, SIZE), r"shape \(27, 1, 32, 32\)"),
        (lambda x: np.where(x > 0, np.inf, 0.0), "without NaN and infinite values"),
    ],
)
def test_what_is_ambiguous_is_refused(make: Any, words: str, task: DrawingTask, drawn: np.ndarray) -> None:
    with pytest.raises(UserError, match=words) as problem:
        arrange_drawings(make(drawn), task, agent="mine", said=[])
    assert "\n" not in str(problem.value)


def test_an_npz_may_have_a_channel_and_other_ranges(task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    concept = np.repeat(task.concepts, N)
    for name, images, sentence in (
        ("one", drawn.reshape(-1, 1, SIZE, SIZE), ""),
        ("two", drawn.reshape(-1, 1, SIZE, SIZE) / 127.5 - 1, SIGNED),
    ):
        path, said = tmp_path / f"{name}.npz", []
        np.savez(path, images=images, concept=concept)
        np.testing.assert_array_equal(stack(read_drawings(path, task, said=said), task), drawn)
        assert said == ([f"{path}: {sentence}"] if sentence else [])
    with pytest.raises(UserError, match=r"must lie in \[0, 1\], these go from -1 to 1"):
        load_npz(tmp_path / "two.npz")  # data: nobody is there to be told


def test_a_concept_without_a_name_is_refused(tmp_path: Path, drawn: np.ndarray) -> None:
    np.savez(tmp_path / "mine.npz", images=drawn[0], concept=["a", "a", "", " "])
    with pytest.raises(UserError, match="2 of the 4 images have an empty concept"):
        load_npz(tmp_path / "mine.npz")
    (tmp_path / "mine" / " ").mkdir(parents=True)
    from PIL import Image

    Image.fromarray(drawn[0, 0]).save(tmp_path / "mine" / " " / "0.png")
    with pytest.raises(UserError, match="has an empty name"):
        load_folder(tmp_path / "mine")
