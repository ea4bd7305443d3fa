"""docs/speed.md is what the speed scripts wrote, and they wrote nothing about whose machine it was."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "speed" / "results").glob("*.json"))


@pytest.fixture
def speed(monkeypatch) -> dict[str, ModuleType]:
    """The modules of the folder speed/."""
    monkeypatch.syspath_prepend(str(ROOT / "speed"))
    import page
    import record

    yield {"page": page, "record": record}
    for name in ("page", "record"):
        sys.modules.pop(name, None)


def test_the_page_is_made_from_the_json_files(speed):
    made = speed["page"].make_page()
    assert (ROOT / "docs" / "speed.md").read_text(encoding="utf-8") == made, "run make speed-page"


def test_every_script_has_kept_what_it_measured():
    scripts = {path.stem for path in (ROOT / "speed").glob("*.py")} - {"record", "page"}
    assert scripts <= {path.stem.partition("-")[0] for path in RESULTS}  # some only on a CPU so far


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_kept_measurement_says_what_when_and_on_what_kind_of_machine(path):
    about = json.loads(path.read_text(encoding="utf-8"))
    assert about.keys() == {"what", "seen", "rows", "clock", "notes", "command", "measured", "machine", "versions"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["measured"]) and about["rows"] and about["versions"]["exemplar"]
    for row in about["rows"]:
        assert row["what"] and ("value" in row or "ratio" in row)
        if {"value", "peer_value", "ratio"} <= row.keys():
            value, peer = row["value"], row["peer_value"]
            expected = value / peer if "per CPU-second" in row["unit"] else peer / value
            assert row["ratio"] == pytest.approx(expected, rel=0.05)  # those kept by hand are rounded
    assert not re.search(r"/(work|tmp|root|home)\b|https?:", path.read_text(encoding="utf-8"))


def test_a_script_records_ratios_and_no_machine_name(speed, tmp_path, monkeypatch):
    record = speed["record"]
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["x.py", "--stages", "2"])
    rows = [
        record.timed("ours", 2.0, "CPU ms", "a loop", 6.0),
        record.rated("ours", 30.0, "images per CPU-second", "a loop", 10.0),
    ]
    path = record.record(
        str(tmp_path / "mine.py"), "this and that", rows, seen="3 ×", peers={"hobj": "2.0"}, variant="cpu"
    )
    about = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "mine-cpu.json" and about["command"] == "python speed/mine.py --stages 2"
    assert [row["ratio"] for row in about["rows"]] == [3.0, 3.0] and about["versions"]["hobj"] == "2.0"
    import platform

    assert platform.node() not in about["machine"] or not platform.node()
