"""A data set is found where it is, fetched where it is not, and an empty folder fools nobody."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exemplar.errors import UserError
from exemplar.images import sources
from exemplar.images.checksums import pinned
from exemplar.images.sources import SOURCES, Remote, cache_folder, find, obtain, quickdraw_file
from served import Home, goog_md5, names, served

ONE, TWO = b"one" * 1000, b"two" * 1000


def md5(content: bytes) -> str:
    return "md5:" + hashlib.md5(content).hexdigest()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data folder and an empty cache, whatever this machine has."""
    monkeypatch.delenv("EXEMPLAR_DATA", raising=False)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def home() -> Iterator[Home]:
    with served(one=ONE, two=TWO) as home:
        yield home


def omniglot_at(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (
        Remote(f"{home.url}/one", "images_background.zip", md5(ONE)),
        Remote(f"{home.url}/two", "images_evaluation.zip", md5(TWO)),
    )
    monkeypatch.setitem(SOURCES, "omniglot", replace(SOURCES["omniglot"], files=files))


def test_the_cache_follows_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXEMPLAR_CACHE", "/somewhere/own")
    assert cache_folder() == Path("/somewhere/own")
    monkeypatch.setenv("EXEMPLAR_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/shared")
    assert cache_folder() == Path("/somewhere/shared/exemplar")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/somewhere/home")
    assert cache_folder() == Path("/somewhere/home/.cache/exemplar")


@pytest.mark.parametrize("name", sorted(name for name, source in SOURCES.items() if not source.shipped))
def test_nothing_is_found_in_empty_folders_and_empty_or_partial_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path))
    folder = tmp_path / SOURCES[name].folder
    assert find(name) is None
    folder.mkdir()
    assert find(name) is None
    for pattern in {pattern for form in SOURCES[name].readable for pattern in form}:
        (folder / pattern.replace("*", "x")).parent.mkdir(exist_ok=True)
        (folder / pattern.replace("*", "x")).touch()
        (folder / (pattern.replace("*", "x") + ".part")).write_bytes(b"half")
    assert find(name) is None


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, form) for name, source in sorted(SOURCES.items()) if not source.shipped for form in source.readable],
)
def test_every_form_counts_once_it_is_complete(
    name: str, form: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path))
    folder = tmp_path / SOURCES[name].folder
    for pattern in form:
        assert find(name) is None
        path = folder / pattern.replace("*", "x")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content")
    assert find(name) == folder


def test_the_data_folder_comes_before_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("human") == obtain("human") == Path(sources.__file__).parents[1] / "learn" / "people_counts"  # it ships
    for place in ("cache", "data"):
        (tmp_path / place / "human").mkdir(parents=True)
        (tmp_path / place / "human" / "people.npz").write_bytes(b"x")
    assert find("human") == tmp_path / "cache" / "human"
    monkeypatch.setenv("EXEMPLAR_DATA", str(tmp_path / "data"))
    assert find("human") == obtain("human") == tmp_path / "data" / "human"


def test_mistakes_get_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="did you mean omniglot"):
        find("omniglott")
    with pytest.raises(UserError, match="fetched whole"):
        obtain("omniglot", parts=["cat"])
    with pytest.raises(UserError, match="piece by piece"):
        obtain("quickdraw")
    with pytest.raises(UserError, match="name one"):
        obtain("quickdraw", parts=[])
    monkeypatch.setenv("EXEMPLAR_DATA", "/no/such/folder")
    with pytest.raises(UserError, match="/no/such/folder, which is not a folder"):
        find("omniglot")


def test_what_is_nowhere_is_fetched_into_the_cache_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    omniglot_at(home, monkeypatch)
    folder = obtain("omniglot")
    assert folder == cache_folder() / "omniglot" == obtain("omniglot") == find("omniglot")
    assert {path.name: path.read_bytes() for path in folder.glob("*.zip")} == {
        "images_background.zip": ONE,
        "images_evaluation.zip": TWO,
    }
    assert home.n_requests == 2


def test_half_a_data_set_is_not_found_and_only_the_rest_is_fetched(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    omniglot_at(home, monkeypatch)
    home.moods = ["proper", "404"]
    with pytest.raises(UserError, match="exemplar data fetch omniglot"):
        obtain("omniglot")
    assert find("omniglot") is None and [path.name for path in (cache_folder() / "omniglot").glob("*.zip")] == [
        "images_background.zip"
    ]
    obtain("omniglot")
    assert home.n_requests == 3


def test_a_quickdraw_category_is_fetched_by_name_and_held_against_the_servers_md5(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "QUICKDRAW", home.url)
    home.files["/numpy_bitmap/hot%20air%20balloon.npy"] = ONE
    home.files["/raw/cat.ndjson"] = TWO
    home.stated_md5 = goog_md5(ONE)
    folder = obtain("quickdraw", parts=["hot air balloon"])
    assert (folder / "hot air balloon.npy").read_bytes() == ONE
    with pytest.raises(UserError, match="checksum"):
        obtain("quickdraw", parts=["hot air balloon", "raw/cat"])  # the server states the MD5 of another file
    home.stated_md5 = goog_md5(TWO)
    assert obtain("quickdraw", parts=["hot air balloon", "raw/cat"]) == folder == find("quickdraw")
    assert (folder / "full_raw_cat.ndjson").read_bytes() == TWO
    assert home.n_requests == 3


@pytest.mark.parametrize("part", ["", "/", "../cat", "raw/../cat", "other/cat", "cat.npy", "-cat", "c\nat"])
def test_a_part_that_is_no_category_is_refused(part: str) -> None:
    with pytest.raises(UserError, match="no part of quickdraw"):
        quickdraw_file(part)


def record(home: Home, **changes: object) -> bytes:
    file = {"key": "SlimageNet64.tar.bz2", "checksum": md5(ONE), "size": len(ONE), "links": {"self": f"{home.url}/one"}}
    read_me = {"key": "read.txt", "checksum": md5(TWO), "size": len(TWO), "links": {"self": f"{home.url}/two"}}
    return json.dumps({"id": 3672132, "files": [read_me, {**file, **changes}]}).encode()


def slimagenet_at(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "slimagenet64", replace(SOURCES["slimagenet64"], record=f"{home.url}/record"))


def test_a_zenodo_record_names_the_archive_and_its_md5_is_pinned(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    slimagenet_at(home, monkeypatch)
    home.files["/record"] = record(home)
    folder = obtain("slimagenet64")
    assert names(folder) == [f"SlimageNet64.tar.bz2{end}" for end in ("", ".md5", ".sha256")]
    assert pinned(folder / "SlimageNet64.tar.bz2") == "sha256:" + hashlib.sha256(ONE).hexdigest()
    assert obtain("slimagenet64") == folder
    assert home.n_requests == 2


@pytest.mark.parametrize(
    "changes",
    [{"key": "../evil.zip"}, {"key": "only.txt"}, {"checksum": "crc:1"}, {"size": "large"}, {"links": {}}, {"key": 3}],
)
def test_a_record_that_says_something_else_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    slimagenet_at(home, monkeypatch)
    home.files["/record"] = record(home, **changes)
    with pytest.raises(UserError, match=r"get it from https://zenodo\.org/record/3672132"):
        obtain("slimagenet64")
    home.files["/record"] = b"<html>"
    with pytest.raises(UserError, match=r"get it from https://zenodo\.org/record/3672132"):
        obtain("slimagenet64")
    assert not cache_folder().exists()


def test_the_real_data_folder_is_found_where_there_is_one(monkeypatch: pytest.MonkeyPatch, real_data: Path) -> None:
    monkeypatch.setenv("EXEMPLAR_DATA", str(real_data))
    for name in ("omniglot", "quickdraw", "cifar-fs", "fc100", "human"):
        assert find(name) == real_data / SOURCES[name].folder
    assert find("slimagenet64") is None


REAL = os.environ.get("EXEMPLAR_DATA")  # before the fixture that hides it


@pytest.fixture
def real_data() -> Path:
    if not REAL:
        pytest.skip("EXEMPLAR_DATA names no folder of real data")
    return Path(REAL)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_file_whose_address_is_known_has_a_sha256_and_is_fetched_encrypted(name: str) -> None:
    files = SOURCES[name].files
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", file.checksum) and file.size for file in files)
    part, record = SOURCES[name].part, SOURCES[name].record
    places = [*(file.url for file in files), *([part("cat").url] if part else []), *([record] if record else [])]
    assert all(place.startswith("https://") for place in places)
