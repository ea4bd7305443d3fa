"""Grids on a Ray cluster whose GPUs are pretended: jobs ask for one, and a killed worker's job is done again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exemplar as ex
import jobs
from exemplar import engine
from exemplar.errors import UserError
from exemplar.spaces.zoo import load_network

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
    ),  # Ray's
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="the extra `cluster` is not installed: make test-all installs it")
    places = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    ray.init(
        num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": places}
    )  # the GPUs are pretended
    yield ray
    ray.shutdown()


def test_a_job_gets_the_gpu_it_asks_for(cluster: Any) -> None:
    found = engine.map(jobs.say_gpus, range(4), backend=engine.Ray(gpus=1))
    assert [len(row["gpus"]) for row in found] == [1, 1, 1, 1]
    assert {gpu for row in found for gpu in row["gpus"]} <= {0, 1}
    assert [row["gpus"] for row in engine.map(jobs.say_gpus, range(2), backend=engine.Ray())] == [[], []]


def test_more_gpus_than_there_are_are_refused_instead_of_waited_for(cluster: Any) -> None:
    with pytest.raises(UserError, match="a job asks for 3 GPUs, the Ray cluster has 2: lower --gpus-per-job"):
        engine.map(jobs.say_gpus, range(2), backend=engine.Ray(gpus=3))


def test_a_killed_workers_job_is_done_again_and_no_other_twice(cluster: Any, tmp_path: Path) -> None:
    todo = [(str(tmp_path), k) for k in range(4)]
    assert engine.map(jobs.die_once, todo, backend=engine.Ray(gpus=1, retries=2)) == [0, 1, 4, 9]
    calls = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert calls == ["0", "1", "1", "2", "3"]


def test_a_grid_is_the_same_wherever_it_is_trained(cluster: Any, few_drawings: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "vary": ["width=6,8"], "preset": "cfgdm-tiny", "data": str(few_drawings), "steps": 1, "every": 1, "device": "cpu",
    }  # fmt: skip
    here = ex.draw.train_grid("own", **options, out=tmp_path / "here")
    there = ex.draw.train_grid("own", **options, out=tmp_path / "there", engine="ray", gpus_per_job=1)
    assert [row["name"] for row in here["networks"]] == [row["name"] for row in there["networks"]]
    for row in here["networks"]:
        one, other = (
            load_network(f"{tmp_path}/{place}/{row['name']}", room="draw")[0].state_dict()
            for place in ("here", "there")
        )
        assert all((one[name] == other[name]).all() for name in one)
