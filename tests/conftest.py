"""What tests share: real data where there is any, and the command line as a user calls it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from exemplar.images import sources

torch.set_num_threads(1)  # two threads on two busy cores wait for each other
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and theirs, do not hear Ctrl-C


@pytest.fixture(scope="session")
def real_data() -> Any:
    """real_data("omniglot") → its folder; skips, saying so, where it is absent."""

    def folder(name: str) -> Path:
        found = sources.find(name)
        if found is None:
            pytest.skip(f"{name} is not on this machine: set EXEMPLAR_DATA")
        return found

    return folder


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def exemplar() -> Any:
    """exemplar("data", "list", cwd=…, env={…}) runs the command as a user does: the same words, environment and folder, but in
    this process, since most of a command's time is starting. alone=True gives it a process of its own."""

    def run(
        *words: str | Path, cwd: Path | None = None, env: dict[str, str | None] | None = None, alone: bool = False
    ) -> Said:
        return (_in_own_process if alone else _in_this_process)([str(word) for word in words], cwd, env or {})

    return run


def _in_own_process(words: list[str], cwd: Path | None, env: dict[str, str | None]) -> Said:
    changed = {**os.environ, **env}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from exemplar.cli import main; main()", *words],
        capture_output=True, text=True, cwd=cwd, timeout=900,
        env={name: value for name, value in changed.items() if value is not None},
    )  # fmt: skip
    return Said(done.returncode, done.stdout, done.stderr)


def _in_this_process(words: list[str], cwd: Path | None, env: dict[str, str | None]) -> Said:
    from exemplar.cli import main

    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", ["exemplar", *words])
        patch.setattr("sys.path", [*sys.path])
        if cwd is not None:
            patch.chdir(cwd)
        for name, value in env.items():
            patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main()
    return Said(int(end.value.code or 0), out.getvalue(), err.getvalue())


def mistake(said: Said) -> str:
    """The sentence of a user's mistake: exit code 2, one line on standard error, nothing on standard output."""
    assert said.code == 2, said
    assert said.out == ""
    lines = said.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("exemplar: "), said.err
    return lines[0]


@pytest.fixture(scope="module")
def one_place(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A working directory and a cache of one file's tests, so that what one of them computes serves the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXEMPLAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.chdir(tmp_path_factory.mktemp("runs"))
        yield


# Diffusion agents: few drawings, and agents that were trained on them for a moment


@pytest.fixture(scope="session")
def few_drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An npz of 12 concepts, 5 drawings each, 48 px, with exemplars."""
    import numpy as np

    from exemplar.images.glyphs import GlyphsConfig, load_glyphs

    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=5, size=48))
    path = tmp_path_factory.mktemp("data") / "few.npz"
    concept = np.array(data.concept.names)[data.concept.code]
    np.savez(path, images=data.images, concept=concept, exemplar=np.arange(data.n_concepts) * 5)
    return path


@pytest.fixture(scope="session")
def few_images(few_drawings: Path) -> Any:
    """The same, to train on."""
    from exemplar.images.catalogue import load
    from exemplar.spaces.training.images import TrainingImages

    data = load(few_drawings).resized(48, binarise=0.5)
    return TrainingImages.of(data.images, data.concept.code, data.concept.names, data.exemplars)


@pytest.fixture(scope="session")
def tiny_agents(few_drawings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """FOLDER/NAME of a CFGDM, a DDPM and an FSDM that were trained for two steps: they draw nothing that could be read."""
    import exemplar as ex

    folder, found = tmp_path_factory.mktemp("agents"), {}
    narrow = ("width=6", "batch=4", "diffusion_steps=40")
    sets = ("sets=2", "set_size=3", "diffusion_steps=40", "blocks=1")
    for kind, preset, settings in (("cfgdm", "cfgdm-tiny", narrow), ("ddpm", "ddpm", narrow), ("fsdm", "fsdm", sets)):
        options: dict[str, Any] = {"setting": settings, "steps": 2, "every": 2, "device": "cpu"}
        found[kind] = ex.draw.train(preset, data=str(few_drawings), out=str(folder), **options)["agent"]
    return found
