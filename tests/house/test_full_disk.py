"""Every command that writes, on a disk that is full, in a folder that cannot be written, and in one that another works in.

It ends with one sentence and exit code 2; nothing half-written is left, and what was there before is as it was.
"""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_all_commands import COMMANDS

from exemplar import seeds
from exemplar.errors import NoRoom, UserError
from exemplar.files import write_all
from exemplar.runs import open_run
from exemplar.store import Store

GLYPHS = "--data glyphs"
FAST = "--stage efficientnet-lite0/stem --subtasks 2 --views 12 --trials 10 --sessions 20"
# Each command that writes: the shortest line that comes as far as writing, but for the option that says where. A new one is put
# here, or among those that cannot be tried.
LINES = {
    "data sheet": "glyphs --concepts 3 --each 3",
    "spaces encode": f"simclr-glyphs-s0 {GLYPHS}",
    "spaces train": "simclr-glyphs-s3 --steps 2",
    "spaces card": "protonet-glyphs-s0",
    "draw score": f"copies {GLYPHS} --concepts 4 --ways 4",
    "draw compare": f"copies {GLYPHS} --concepts 4 --ways 4",
    "draw sample": f"redraw@2 {GLYPHS} --concepts 4 --n 3",
    "draw train": f"cfgdm-tiny {GLYPHS} --steps 1 --setting width=6 --setting batch=4",
    "draw elsewhere exemplars": f"{GLYPHS} --concepts 4",
    "attend maps": f"--agent occlusion {GLYPHS} --concepts 2 --drawings 2",
    "attend play": f"corners {GLYPHS} --concepts 3 --drawings 2 --participants 3",
    "learn objects": "--objects 4 --views 2 --size 32 --engine here",
    "learn human": "",
    "learn run": FAST,
    "recall tasks": f"{GLYPHS} --n 3",
    "recall run": f"--agent protonet {GLYPHS} --n 2 --engine here",
    "lab simulate": "objects",
    "tour": "--engine here",
}
UNTRIED = {  # they need what takes long to make, or somebody's data; they write as those above do
    "draw grid", "draw study", "draw elsewhere prepare", "draw elsewhere finish", "draw elsewhere record",
    "draw quickdraw-fs train",
    "draw quickdraw-fs cluster", "draw quickdraw-fs build", "draw quickdraw-fs divide", "attend score", "attend study",
    "attend partner train", "learn score", "learn study", "learn compare", "learn import", "recall compare", "recall study",
    "foresee check", "foresee run", "foresee fit", "foresee study", "lab export", "results run", "results page",
    "results leaderboards", "results pack",
}  # fmt: skip
ENDINGS = {"data sheet": ".png", "spaces encode": ".npz", "spaces card": ".svg", "draw compare": ".html", "recall tasks": ".npz",
           "attend maps": ".npz", "attend play": ".npz", "draw elsewhere exemplars": ".npz"}  # fmt: skip
IN_A_MOMENT = ("data sheet", "learn human", "recall tasks", "draw elsewhere exemplars", "spaces card")


def writers() -> list[str]:
    return [
        words for words, arguments in COMMANDS.items() if any(a.name in ("out", "html", "figure") for a in arguments)
    ]


def test_every_command_that_writes_is_tried_or_said_not_to_be() -> None:
    assert sorted({*LINES, *UNTRIED}) == sorted(writers())
    assert not set(LINES) & UNTRIED


def line(words: str, place: Path) -> list[str]:
    option = next(a.flag for a in COMMANDS[words] if a.name in ("out", "html", "figure"))
    return [*words.split(), *LINES[words].split(), option, f"{place}{ENDINGS.get(words, '')}"]


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """No file may grow beyond this: what is written fails as on a full disk, whoever writes it, workers included."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refuse(said: Any) -> str:
    assert said.code == 2 and said.out == "", said
    sentence = str(said.err.strip().splitlines()[-1])
    assert sentence.startswith("exemplar: ") and "Traceback" not in said.err and "bug" not in sentence
    assert "remove" not in sentence or "give --out another folder" in sentence, sentence
    return sentence


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    return {"EXEMPLAR_CACHE": str(tmp_path_factory.mktemp("cache")), "EXEMPLAR_DATA": None}


@pytest.mark.parametrize(
    "words", [pytest.param(w, marks=[] if w in IN_A_MOMENT else [pytest.mark.long]) for w in LINES]
)
def test_a_full_disk_leaves_nothing_half_written(
    words: str, exemplar: Any, tmp_path: Path, cache: dict[str, str | None]
) -> None:
    with full_disk(100):
        sentence = refuse(exemplar(*line(words, tmp_path / "new" / "place"), cwd=tmp_path, env=cache))
    assert "cannot be written" in sentence
    assert not tree(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("words", LINES)
def test_a_disk_that_fills_up_leaves_whole_files_and_the_command_resumes(
    words: str, exemplar: Any, tmp_path: Path, cache: dict[str, str | None]
) -> None:
    """A real one, of two sizes: nothing on it ends with .part, and with room the same command ends well."""
    disk = tmp_path / "disk"
    disk.mkdir()
    for size in ("8k", "64k"):
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True
        ).returncode:
            pytest.skip("only root can mount a small disk")
        try:
            said = exemplar(*line(words, disk / "place"), cwd=tmp_path, env=cache)
            if said.code:
                assert "make room" in refuse(said)
            assert not [name for name in tree(disk) if name.endswith(".part")]
            if said.code:
                subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
                assert exemplar(*line(words, disk / "place"), cwd=tmp_path, env=cache).code == 0
        finally:
            subprocess.run(["umount", disk], check=True)


@pytest.mark.long
@pytest.mark.parametrize("words", LINES)
def test_a_folder_that_cannot_be_written_is_refused(
    words: str, exemplar: Any, tmp_path: Path, cache: dict[str, str | None]
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("only root can mount a disk to be read only")
    try:
        assert "cannot be written" in refuse(exemplar(*line(words, disk / "place"), cwd=tmp_path, env=cache))
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.long
@pytest.mark.parametrize("words", LINES)
def test_what_a_killed_writer_left_the_same_command_finishes(
    words: str, exemplar: Any, tmp_path: Path, cache: dict[str, str | None]
) -> None:
    whole = tmp_path / "whole"
    assert exemplar(*line(words, whole / "place"), cwd=tmp_path, env=cache).code == 0
    new = tmp_path / "new"
    program = [sys.executable, "-c", "from exemplar.cli import main; main()", *line(words, new / "place")]
    env = {name: value for name, value in {**os.environ, **cache}.items() if value is not None}
    writer = subprocess.Popen(program, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while writer.poll() is None and not tree(new):
        time.sleep(0.001)
    writer.kill()
    writer.wait()
    assert exemplar(*line(words, new / "place"), cwd=tmp_path, env=cache).code == 0
    left = {
        name for name in tree(new) if not name.endswith(".part")
    }  # a single file's part has the killed writer's number
    assert left - {"place/jobs.sqlite"} == set(tree(whole)) - {"place/jobs.sqlite"}


@pytest.mark.parametrize(
    "words",
    [
        "learn human",
        *(pytest.param(w, marks=pytest.mark.long) for w in ("draw score", "draw sample", "learn run", "recall run")),
    ],
)
def test_a_folder_that_another_works_in_is_left_alone(
    words: str, exemplar: Any, tmp_path: Path, cache: dict[str, str | None]
) -> None:
    (tmp_path / "place").mkdir()
    with (tmp_path / "place" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another process is at work in" in refuse(
            exemplar(*line(words, tmp_path / "place"), cwd=tmp_path, env=cache)
        )
    assert tree(tmp_path) == {"place/.lock": b""}


def test_files_that_belong_together_are_written_together(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(b"before")
    small, large = tmp_path / "figures" / "a.svg", tmp_path / "figures" / "b.svg"
    with full_disk(100), pytest.raises(UserError, match=r"b\.svg cannot be written"):
        write_all({small: b"x", large: bytes(1000), tmp_path / "page.html": b"after"})
    assert tree(tmp_path) == {"page.html": b"before"} and not small.parent.exists()
    write_all({small: b"x", large: bytes(1000), tmp_path / "page.html": b"after"})
    assert set(tree(tmp_path)) == {"figures/a.svg", "figures/b.svg", "page.html"}


def one(k: int) -> int:
    return k


def test_a_full_disk_keeps_the_jobs_that_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoRoom), open_run(tmp_path / "run", command="x", config={}, seed=0) as run:
        run.map(one, [1, 2])
        raise NoRoom("full")
    assert (tmp_path / "run" / "jobs.sqlite").is_file()
    with pytest.raises(NoRoom), open_run(tmp_path / "new", command="x", config={}, seed=0):
        raise NoRoom("full")
    assert not (tmp_path / "new").exists()


def test_a_full_disk_is_no_reason_to_remove_results(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.sqlite")
    store.put("a", b"1")
    with full_disk(tmp_path.joinpath("jobs.sqlite").stat().st_size), pytest.raises(NoRoom, match="make room") as full:
        store.put(seeds.digest("b"), os.urandom(100_000))
    assert "remove" not in str(full.value)
    assert store.get(["a"]) == {"a": b"1"}
