"""A download is whole and right, or it is not there: against a server that truncates, stalls, lies and changes its mind."""

import hashlib
import io
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path
from urllib.request import Request

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exemplar.errors import UserError
from exemplar.images.checksums import checksum_of, pin, pinned, stands
from exemplar.images.downloads import fetch
from exemplar.images.wire import NeverDown, Patience, read_small
from served import Home, goog_md5, names, served

CONTENT = bytes(range(256)) * 1200  # 300 kB: several blocks
MD5 = "md5:" + hashlib.md5(CONTENT).hexdigest()
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(stall_s=0.3, attempts=3, pause_s=0.01)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def home() -> Iterator[Home]:
    with served(thing=CONTENT) as home:
        yield home


def got(home: Home, target: Path, **options: object) -> bytes:
    """What a fetch brings; it must leave nothing beside the file (except a pin)."""
    options = {"checksum": MD5, "patience": QUICK, **options}
    assert fetch(f"{home.url}/thing", target, **options) == target  # type: ignore[arg-type]
    assert [path.name for path in target.parent.iterdir() if ".part" in path.name] == []
    return target.read_bytes()


def test_a_proper_download_has_its_name_and_nothing_beside_it(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "thing"
    assert got(home, target, size=len(CONTENT)) == CONTENT
    assert names(target.parent) == ["thing", "thing.sha256"]
    assert SHA256 == checksum_of(target, "sha256") == pinned(target)
    assert subprocess.run(["sha256sum", "--status", "-c", "thing.sha256"], cwd=target.parent).returncode == 0


def test_what_came_once_must_come_again(home: Home, tmp_path: Path) -> None:
    """Where nobody says what the file should be: the first fetch is trusted, later ones are held against it."""
    target = tmp_path / "thing"
    got(home, target, checksum=None)
    target.unlink()
    home.files["/thing"] = CONTENT[::-1]
    with pytest.raises(
        UserError, match=r"an earlier fetch left its checksum in thing\.sha256, and what came does not have it"
    ):
        got(home, target, checksum=None)
    target.write_bytes(CONTENT[::-1])
    with pytest.raises(UserError, match="does not have the checksum sha256:"):
        got(home, target, checksum=None)
    (tmp_path / "thing.sha256").unlink()
    target.unlink()
    assert got(home, target, checksum=None) == CONTENT[::-1]


def test_what_the_package_knows_needs_no_pin(home: Home, tmp_path: Path) -> None:
    assert got(home, tmp_path / "thing", checksum=SHA256) == CONTENT
    assert names(tmp_path) == ["thing"]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_never_leaves_encryption(code: int) -> None:
    def follow(old: str, new: str) -> object:
        return NeverDown().redirect_request(Request(old), io.BytesIO(), code, "", HTTPMessage(), new)

    with pytest.raises(UserError, match="https://a/thing redirects to http://b/thing, which is not encrypted"):
        follow("https://a/thing", "http://b/thing")
    assert follow("https://a/thing", "https://b/thing") and follow("http://a/thing", "http://b/thing")


def test_every_fetch_asks_by_that_rule(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(NeverDown, "redirect_request", lambda self, *given: asked.append(given[-1]))
    home.moods = ["redirect"]
    with pytest.raises(UserError, match="302"):
        got(home, tmp_path / "thing")
    assert asked == [f"{home.url}/thing"]


def test_a_file_that_is_there_and_right_is_not_downloaded_again(home: Home, tmp_path: Path) -> None:
    (tmp_path / "thing").write_bytes(CONTENT)
    assert got(home, tmp_path / "thing") == CONTENT
    assert home.n_requests == 0


@pytest.mark.parametrize("options", [{"checksum": MD5}, {"checksum": None, "size": len(CONTENT)}])
def test_a_file_that_is_there_and_wrong_is_refused_and_kept(home: Home, tmp_path: Path, options: dict) -> None:
    (tmp_path / "thing").write_bytes(b"precious")
    with pytest.raises(UserError, match="move it away"):
        got(home, tmp_path / "thing", **options)
    assert (tmp_path / "thing").read_bytes() == b"precious"
    assert home.n_requests == 0


@pytest.mark.parametrize("mood", ["truncate", "stall"])
def test_a_cut_or_stalled_download_goes_on_where_it_stopped(home: Home, tmp_path: Path, mood: str) -> None:
    home.moods = [mood]
    assert got(home, tmp_path / "thing") == CONTENT
    assert home.ranges == [None, f"bytes={len(CONTENT) // 2}-"]


def test_a_download_that_is_cut_again_and_again_is_an_error_that_the_next_fetch_resumes(
    home: Home, tmp_path: Path
) -> None:
    home.moods = ["truncate", "truncate", "truncate"]
    with pytest.raises(UserError, match=r"closed after \d+ of 307200 bytes.*to resume"):
        got(home, tmp_path / "thing")
    assert not (tmp_path / "thing").exists()
    assert (tmp_path / "thing.part").read_bytes() == CONTENT[: len(CONTENT) * 7 // 8]
    assert got(home, tmp_path / "thing") == CONTENT
    assert home.ranges[-1] == f"bytes={len(CONTENT) * 7 // 8}-"


def test_a_server_that_only_stalls_is_given_up(home: Home, tmp_path: Path) -> None:
    home.moods = ["stall"] * 3
    with pytest.raises(UserError, match="stalled"):
        got(home, tmp_path / "thing")
    assert not (tmp_path / "thing").exists()


@pytest.mark.parametrize("after", ["ignore-range", "wrong-range"])
def test_a_server_that_does_not_keep_to_the_range_makes_the_download_start_over(
    home: Home, tmp_path: Path, after: str
) -> None:
    home.moods = ["truncate", after]
    assert got(home, tmp_path / "thing", checksum=None) == CONTENT


@pytest.mark.parametrize("checksum", [None, "md5:" + hashlib.md5(CONTENT[::-1]).hexdigest()])
def test_a_file_that_changes_between_attempts_is_never_a_mixture(
    home: Home, tmp_path: Path, checksum: str | None
) -> None:
    home.moods = ["truncate"]
    with pytest.raises(UserError):
        got(home, tmp_path / "thing", checksum=checksum, patience=Patience(0.3, attempts=1))
    home.files["/thing"], home.etag = CONTENT[::-1], '"v2"'
    assert got(home, tmp_path / "thing", checksum=checksum) == CONTENT[::-1]


def test_a_change_that_no_validator_shows_is_caught_by_the_checksum(home: Home, tmp_path: Path) -> None:
    home.etag, home.moods = None, ["truncate"]
    changed = CONTENT[::-1]
    with pytest.raises(UserError):
        got(home, tmp_path / "thing", patience=Patience(0.3, attempts=1))
    home.files["/thing"] = changed
    assert got(home, tmp_path / "thing", checksum="md5:" + hashlib.md5(changed).hexdigest()) == changed
    assert home.ranges[1:] == [f"bytes={len(CONTENT) // 2}-", None]  # resumed, found wrong, taken anew


def test_without_validator_and_checksum_a_cut_download_starts_over(home: Home, tmp_path: Path) -> None:
    home.etag, home.moods = None, ["truncate"]
    assert got(home, tmp_path / "thing", checksum=None) == CONTENT
    assert home.ranges == [None, None]


def test_a_length_that_is_too_long_is_no_obstacle_to_a_file_with_the_right_checksum(home: Home, tmp_path: Path) -> None:
    home.moods = ["claims-more"]
    assert got(home, tmp_path / "thing") == CONTENT


@pytest.mark.parametrize(
    ("mood", "options"),
    [
        ("claims-less", {}),
        ("claims-less", {"size": len(CONTENT)}),
        ("claims-more", {"size": len(CONTENT)}),
        ("corrupt", {}),
        ("proper", {"checksum": "sha256:" + "0" * 64}),
        ("proper", {"checksum": None, "size": len(CONTENT) + 1}),
        ("no-length", {"checksum": None}),
    ],
)
def test_what_is_not_the_file_leaves_nothing(home: Home, tmp_path: Path, mood: str, options: dict) -> None:
    home.moods = [mood] * 9
    with pytest.raises(UserError, match="by hand"):
        got(home, tmp_path / "thing", **options)
    assert names(tmp_path) == []


@pytest.mark.parametrize("mood", ["500", "503", "429"])
def test_a_server_in_trouble_is_asked_again(home: Home, tmp_path: Path, mood: str) -> None:
    home.moods = [mood, mood]
    assert got(home, tmp_path / "thing") == CONTENT
    assert home.n_requests == 3


@pytest.mark.parametrize("mood", ["404", "403", "410"])
def test_a_file_that_is_not_there_is_asked_for_once(home: Home, tmp_path: Path, mood: str) -> None:
    home.moods = [mood] * 3
    with pytest.raises(UserError, match=mood):
        got(home, tmp_path / "thing")
    assert home.n_requests == 1
    assert names(tmp_path) == []


def test_redirects_are_followed(home: Home, tmp_path: Path) -> None:
    home.moods = ["redirect", "truncate", "redirect"]
    assert got(home, tmp_path / "thing") == CONTENT


def test_no_network_is_one_sentence(tmp_path: Path) -> None:
    with served() as gone:
        url = gone.url
    with pytest.raises(UserError, match=r"could not be fetched \(.+\): fetch it again later, or put thing into"):
        fetch(f"{url}/thing", tmp_path / "thing", patience=QUICK)
    assert names(tmp_path) == []


def test_the_servers_own_md5_is_checked_and_pinned(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "thing"
    home.stated_md5, home.moods = goog_md5(CONTENT), ["corrupt"]
    with pytest.raises(UserError, match="checksum"):
        got(home, target, checksum="server")
    assert names(tmp_path) == []
    home.moods = ["truncate"]
    assert got(home, target, checksum="server") == CONTENT
    assert pinned(target) == SHA256
    assert subprocess.run(["md5sum", "--status", "-c", "thing.md5"], cwd=tmp_path).returncode == 0
    n_requests = home.n_requests
    assert got(home, target, checksum="server") == CONTENT
    assert home.n_requests == n_requests
    target.write_bytes(b"something else")
    with pytest.raises(UserError, match="checksum"):
        got(home, target, checksum="server")


def test_a_pin_must_be_a_checksum(tmp_path: Path) -> None:
    target = tmp_path / "thing"
    target.write_bytes(CONTENT)
    assert pinned(target) is None
    pin(target, MD5)
    assert pinned(target) == MD5 and stands(target)
    (tmp_path / "thing.md5").write_text("no idea")
    with pytest.raises(UserError, match="hexadecimal"):
        stands(target)


def test_somebody_elses_partial_file_is_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "thing.part").write_bytes(b"a browser's")
    with pytest.raises(UserError, match="not left by a fetch of ours"):
        got(home, tmp_path / "thing")
    assert (tmp_path / "thing.part").read_bytes() == b"a browser's"


def test_a_folder_in_the_way_is_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "thing").mkdir()
    with pytest.raises(UserError, match="in the way"):
        got(home, tmp_path / "thing")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(UserError, match="cannot be read or written"):
        got(home, tmp_path / "file" / "thing")


def test_a_full_disk_is_one_sentence_and_the_fetch_can_go_on_later(home: Home, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(UserError, match="make room"):
            got(home, tmp_path / "thing")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "thing.part").read_bytes() == CONTENT[:100_000]
    assert got(home, tmp_path / "thing") == CONTENT
    assert home.ranges[-1] == "bytes=100000-"


def test_many_fetches_of_one_file_download_it_once(home: Home, tmp_path: Path) -> None:
    results: list[object] = []

    def work() -> None:
        try:
            results.append(fetch(f"{home.url}/thing", tmp_path / "thing", checksum=MD5, patience=QUICK))
        except BaseException as problem:
            results.append(problem)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [tmp_path / "thing"] * 8
    assert home.n_requests == 1
    assert names(tmp_path) == ["thing", "thing.sha256"]


def test_a_killed_process_leaves_a_part_that_the_next_one_finishes(home: Home, tmp_path: Path) -> None:
    home.moods = ["stall"]
    code = (
        "import sys; from pathlib import Path; from exemplar.images.downloads import fetch; "
        f"fetch(sys.argv[1], Path(sys.argv[2]), checksum={MD5!r})"
    )
    child = subprocess.Popen([sys.executable, "-c", code, f"{home.url}/thing", str(tmp_path / "thing")])
    part = tmp_path / "thing.part"
    for _ in range(2000):
        if part.exists() and part.stat().st_size == len(CONTENT) // 2:
            break
        threading.Event().wait(0.01)
    child.kill()
    child.wait(900)
    assert got(home, tmp_path / "thing") == CONTENT
    assert home.ranges == [None, f"bytes={len(CONTENT) // 2}-"]


def test_the_bar_goes_to_standard_error(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got(home, tmp_path / "thing", progress=True)
    shown = capsys.readouterr()
    assert "thing" in shown.err and shown.out == ""


def test_a_small_answer_is_read_or_explained(home: Home) -> None:
    home.moods = ["503"]
    assert read_small(f"{home.url}/thing", patience=QUICK) == CONTENT
    with pytest.raises(UserError, match="404"):
        read_small(f"{home.url}/nothing", patience=QUICK)


MOODS = [
    "proper",
    "truncate",
    "ignore-range",
    "wrong-range",
    "claims-more",
    "claims-less",
    "corrupt",
    "500",
    "redirect",
]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moods=st.lists(st.sampled_from(MOODS), max_size=8), etag=st.sampled_from(['"v1"', 'W/"v1"', None]))
def test_whatever_the_server_does_the_file_is_right_or_absent(
    home: Home, tmp_path_factory: pytest.TempPathFactory, moods: list[str], etag: str | None
) -> None:
    target = tmp_path_factory.mktemp("any") / "thing"
    home.moods, home.etag = list(moods), etag
    for _ in range(len(moods) + 1):
        try:
            got(home, target, patience=Patience(0.3, attempts=2, pause_s=0))
        except UserError:
            assert not target.exists()
    home.moods = []
    assert got(home, target) == CONTENT
