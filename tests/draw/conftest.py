"""What the tests of the diffusion agents share: few drawings, and an agent trained on them for a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exemplar as ex
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.spaces.training.images import TrainingImages

TINY = ("width=6", "batch=4", "diffusion_steps=40")
DRAWERS = 5


@pytest.fixture(scope="session")
def few_drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An npz of 12 concepts, 5 drawings each, 48 px."""
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=DRAWERS, size=48))
    path = tmp_path_factory.mktemp("data") / "few.npz"
    concept = np.array(data.concept.names)[data.concept.code]
    np.savez(path, images=data.images, concept=concept, exemplar=np.arange(data.n_concepts) * DRAWERS)
    return path


@pytest.fixture(scope="session")
def few_images(few_drawings: Path) -> TrainingImages:
    """The same, to train on."""
    from exemplar.images.catalogue import load

    data = load(few_drawings).resized(48, binarise=0.5)
    return TrainingImages.of(data.images, data.concept.code, data.concept.names, data.exemplars)


@pytest.fixture(scope="session")
def tiny_agents(few_drawings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """FOLDER/NAME of a CFGDM, a DDPM and an FSDM that were trained for two steps: they draw nothing that could be read."""
    folder = tmp_path_factory.mktemp("agents")
    found = {}
    for preset, settings in (
        ("cfgdm-tiny", TINY),
        ("ddpm", TINY),
        ("fsdm", ("sets=2", "set_size=3", "diffusion_steps=40", "blocks=1")),
    ):
        trained = ex.draw.train(
            preset, data=str(few_drawings), setting=settings, steps=2, every=2, out=str(folder), device="cpu"
        )
        found[preset.partition("-")[0]] = trained["agent"]
    return found
