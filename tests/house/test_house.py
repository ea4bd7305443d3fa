"""Who may import whom (docs/architecture.md), and other promises about the source itself."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "exemplar"
FOUNDATION = {"errors", "files", "seeds", "columns", "records", "store", "engine", "runs", "stats"}
ROOMS = {"draw", "attend", "learn", "recall", "foresee"}
MAY_IMPORT = {
    **{name: FOUNDATION for name in FOUNDATION},
    "images": FOUNDATION,
    "spaces": FOUNDATION | {"images"},
    **{room: FOUNDATION | {"images", "spaces"} for room in ROOMS},
    "attend": FOUNDATION | {"images", "spaces", "draw"},  # it asks draw's diffusion model where it looks
    "report": FOUNDATION | {"images"},  # records and scores; of images, only the resizing of pictures
    "lab": FOUNDATION | {"images"} | ROOMS,
}


def imports() -> list[tuple[str, str, str]]:
    """(file, part it belongs to, part of the house it imports) for every import of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                modules = (
                    [f"{node.module}.{alias.name}" for alias in node.names]
                    if node.module == "exemplar"
                    else [node.module]
                )
            found += [
                (str(path), part, m.split(".")[1]) for m in modules if m.startswith("exemplar.") and "__" not in m
            ]
    return found


def test_every_import_goes_in_an_allowed_direction():
    assert len(imports()) > 50
    wrong = [
        f"{path} ({part}) imports {other}"
        for path, part, other in imports()
        if part not in ("cli", "__init__") and other != part and other not in MAY_IMPORT[part]
    ]
    assert not wrong, "\n".join(wrong)


def test_files_have_names_that_say_something():
    empty = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in empty]


def test_nothing_is_unpickled():
    words = ("pickle.load", "allow_pickle=True", "weights_only=False", "joblib")
    assert not [(p, w) for p in PACKAGE.rglob("*.py") for w in words if w in p.read_text(encoding="utf-8")]


def test_there_is_no_global_randomness():
    words = ("np.random.seed", "np.random.rand", "random.random(", "torch.manual_seed")
    allowed = {
        ("training.py", "torch.manual_seed")
    }  # a network's first weights come from torch's own generator, forked
    found = {(p.name, w) for p in PACKAGE.rglob("*.py") for w in words if w in p.read_text(encoding="utf-8")}
    assert found <= allowed


@pytest.mark.parametrize("heavy", ["numpy", "torch", "pandas", "matplotlib", "scipy"])
def test_help_does_not_wait_for(heavy):
    code = f"import sys, exemplar.cli; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("own", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_do_not_spin_unless_asked_to(own, found):
    code = "import os, exemplar; print(os.environ['OMP_WAIT_POLICY'])"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"} | (
        {"OMP_WAIT_POLICY": own} if own else {}
    )
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == found
