"""What the pages show as Python runs."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs"


def test_the_python_of_the_page_on_spaces_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    blocks = re.findall(
        r"^```python\n(.*?)^```", (PAGES / "spaces.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 7
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert names["features"].shape == (40, 256)
    assert {name: found.shape for name, found in names["found"].items()} == {
        "efficientnet-lite0/block03": (6, 2048),
        "efficientnet-lite0/head": (6, 1280),
    }
    assert names["mine"].encode(names["drawings"]).shape == (40, 2704)
    assert (names["named"].numpy() == names["label"]).mean() > 0.8
    assert (names["answer"][0].numpy() == range(20)).mean() > 0.5
    assert names["trained"].curve[-1]["step"] == 3


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_every_picture_and_page_that_is_named_is_there(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    named = [name for name in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in name]
    assert not [name for name in named if not (PAGES / name).exists()]
