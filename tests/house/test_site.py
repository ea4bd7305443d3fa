"""The site is built without a warning and without the internet, and its pages load nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?([^"'\s>]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    nowhere = "http://127.0.0.1:9"  # whoever asks for the internet is refused
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)], cwd=ROOT, capture_output=True,
        text=True, timeout=600, env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "http_proxy": nowhere, "https_proxy": nowhere},
    )  # fmt: skip
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return place


@pytest.mark.long
def test_pages_name_nothing_that_is_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        named = [name for name in LOADED.findall(text) if 'rel="canonical"' not in name]
        assert [name for name in named if "://" in name or name.startswith("//")] == [], page.name


@pytest.mark.long
def test_the_reference_lists_the_arguments_of_every_verb(site: Path) -> None:
    from exemplar.options import list_arguments
    from exemplar.rooms import list_rooms

    for room in list_rooms():
        text = (site / "reference" / f"{room.name}.html").read_text(encoding="utf-8")
        for verb in room.commands.values():
            assert f'id="exemplar.{room.name}.{verb}"' in text or f".{verb}" in text, verb
            for argument in list_arguments(getattr(room.door, verb)):
                assert f"<b>{argument.name}</b>" in text or f"<code>{argument.name}</code>" in text, (
                    verb,
                    argument.name,
                )


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium on this machine")
def test_pages_in_a_browser_load_nothing_from_elsewhere_and_fit_a_phone(site: Path) -> None:
    spec = importlib.util.spec_from_file_location("site_screens", ROOT / "docs" / "site_screens.py")
    assert spec is not None and spec.loader is not None
    screens = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(screens)
    seen = [(name, wrong) for _, name, wrong in screens.visit(site)]
    assert len(seen) == 4 * len(screens.PAGES) and [found for found in seen if found[1]] == []
