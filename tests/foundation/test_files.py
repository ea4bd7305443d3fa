"""Files that are whole or not there, arrays that are checked before they are read, and what others say, cut to a sentence."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import files
from exemplar.errors import UserError
from exemplar.files import (
    SAID,
    check_folder,
    check_place,
    first_line,
    npz_names,
    read_npz,
    reading,
    whole_file,
    write_npz,
)


def test_what_is_too_long_ends_after_a_sentence_or_a_word() -> None:
    torch_says = (
        "PytorchStreamReader failed reading zip archive: failed finding central directory in a file, miniz error."
    )
    assert first_line(RuntimeError(f"{torch_says} If you load it from far away, fetch it again.")) == torch_says[:-1]
    early = f"[at line 1] . {'word ' * 50}"  # what ends so soon says nothing
    assert first_line(RuntimeError(early)) == f"[at line 1] . {'word ' * 21}…"
    assert first_line(RuntimeError("x" * 500)) == "x" * SAID + " …"
    whole = f"{'a' * 59} {'b' * (SAID - 60)}"  # ends where the room ends
    assert first_line(RuntimeError(whole)) == whole and first_line(RuntimeError(f"{whole} more")) == f"{whole} …"
    assert first_line(RuntimeError(f"{whole[:-1]}. More")) == whole[:-1]
    for length in (SAID // 2, SAID // 2 + 1):  # a sentence that fills more than half of the room is enough
        said = first_line(RuntimeError(f"{'c' * length}. {'word ' * 50}"))
        assert said.endswith(" …") == (length <= SAID // 2)
    assert first_line(RuntimeError("two\nlines")) == "two lines"
    assert first_line(KeyError()) == "KeyError"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text("ab.", min_size=1, max_size=30), min_size=1, max_size=60))
def test_no_word_is_cut(words: list[str]) -> None:
    said = first_line(ValueError(" ".join(words)))
    assert len(said) <= SAID + 2
    kept = said.removesuffix(" …").split()
    assert kept[:-1] == words[: len(kept) - 1] and kept[-1] in (words[len(kept) - 1], words[len(kept) - 1][:-1])


# Whole or not there


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_file_appears_when_it_is_whole_and_has_its_folders(tmp_path):
    path = tmp_path / "deep" / "deeper" / "file.txt"
    with whole_file(path) as part:
        part.write_text("new")
        assert part.parent == path.parent and part.name == f".file.txt.{os.getpid()}.part" and not path.exists()
    assert path.read_text() == "new" and below(tmp_path) == ["deep", "deep/deeper", "deep/deeper/file.txt"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), ValueError("bad"), OSError(28, "No space left on device")])
def test_what_fails_leaves_the_old_file_and_nothing_new(tmp_path, problem):
    kept = tmp_path / "kept" / "file.txt"
    kept.parent.mkdir()
    kept.write_text("old")
    for path in (kept, tmp_path / "new" / "deep" / "file.txt"):
        with pytest.raises(UserError if isinstance(problem, OSError) else type(problem)), whole_file(path) as part:
            part.write_text("half")
            raise problem
    assert below(tmp_path) == ["kept", "kept/file.txt"] and kept.read_text() == "old"


def test_what_others_put_beside_a_file_that_failed_stays(tmp_path):
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "new" / "deep" / "file.txt"):
        (tmp_path / "new" / "notes.txt").write_text("mine")
        raise ZeroDivisionError
    assert below(tmp_path) == ["new", "new/notes.txt"]


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    """Else a power cut may leave an empty file under the name of the old one."""
    synced = []
    monkeypatch.setattr(
        "os.fsync", lambda number: synced.append((os.fstat(number).st_ino, (tmp_path / "file").exists()))
    )
    with whole_file(tmp_path / "file") as part:
        part.write_text("new")
    assert synced == [((tmp_path / "file").stat().st_ino, False)]


def test_a_file_that_nobody_can_write_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("mine")
    with (
        pytest.raises(
            UserError, match=f"^{tmp_path}/file/inside cannot be written .File exists.: choose another place$"
        ),
        whole_file(tmp_path / "file" / "inside") as part,
    ):
        part.write_text("new")
    with pytest.raises(UserError, match="cannot be written .a reason of its own."), whole_file(tmp_path / "new"):
        raise OSError("a reason of its own")
    with pytest.raises(UserError, match="cannot be written .No such file or directory."), whole_file(tmp_path / "new"):
        pass  # nothing was written
    assert below(tmp_path) == ["file"]


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    check_place(tmp_path / "new" / "deep" / "file.txt")
    check_place(tmp_path / "file")
    check_folder(tmp_path / "new" / "deep")
    for wrong in (tmp_path / "file" / "inside", tmp_path / "dangling"):
        with pytest.raises(UserError, match=f"^{wrong} cannot be written .*: choose another place$"):
            check_folder(wrong)
    with pytest.raises(UserError, match=f"^{tmp_path}/file/deep cannot be written"):
        check_place(tmp_path / "file" / "deep" / "file.txt")
    with pytest.raises(UserError, match=f"^{tmp_path} is a folder: give the file in it a name$"):
        check_place(tmp_path)
    assert below(tmp_path) == ["dangling", "file"]


# Arrays


def some_arrays(folder: Path, **more: np.ndarray) -> Path:
    arrays = {
        "flags": np.array([True, False]),
        "counts": np.arange(6).reshape(2, 3),
        "names": np.array(["a", "bc"]),
        **more,
    }
    write_npz(folder / "some.npz", arrays)
    return folder / "some.npz"


def test_arrays_come_back_as_they_were_and_only_those_asked_for(tmp_path):
    path = some_arrays(tmp_path, empty=np.zeros((0, 3), np.float32), one=np.array(2.5))
    found = read_npz(path, names=("U", 1), counts=("iu", 2), flags=("b", None), empty=("f", 2), one=("f", 0))
    assert npz_names(path) == ["flags", "counts", "names", "empty", "one"]
    assert list(found) == ["names", "counts", "flags", "empty", "one"]
    with np.load(path) as there:
        assert all(
            np.array_equal(found[name], there[name]) and found[name].dtype == there[name].dtype for name in found
        )
    assert list(read_npz(path, counts=("i", None))) == ["counts"]


def test_the_same_arrays_make_the_same_bytes_and_fewer_where_time_is_spent_on_it(tmp_path):
    blank = np.zeros(10_000)
    for name, options in (("a", {}), ("b", {"compressed": True}), ("plain", {"compressed": False})):
        write_npz(tmp_path / name, {"blank": blank}, **options)
        assert np.array_equal(read_npz(tmp_path / name, blank=("f", 1))["blank"], blank)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").stat().st_size < 1000 < blank.nbytes < (tmp_path / "plain").stat().st_size


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"weights": ("f", 1)}, "has no array weights .it holds flags, counts, names.: it is another file"),
        ({"counts": ("f", 2)}, r"counts must be numbers in 2 dimensions, it is \(2, 3\) int64: it is another file"),
        ({"counts": ("iu", 1)}, r"counts must be whole numbers in 1 dimensions, it is \(2, 3\) int64"),
        ({"names": ("uf", None)}, r"names must be whole numbers or numbers, it is \(2,\) <U2"),
        ({"flags": ("U", 1)}, r"flags must be text in 1 dimensions, it is \(2,\) bool"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path, asked, sentence):
    with pytest.raises(UserError, match=f"some.npz.*{sentence}"):
        read_npz(some_arrays(tmp_path), **asked)


def with_member(folder: Path, content: bytes) -> Path:
    with zipfile.ZipFile(folder / "made.npz", "w") as archive:
        archive.writestr("array.npy", content)
        archive.writestr("notes.txt", "not an array")
    return folder / "made.npz"


def npy(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
def test_a_header_says_shape_type_and_where_the_numbers_begin(version, shape):
    content = npy(np.zeros(shape, np.int16), version)
    assert files.read_npy_header(io.BytesIO(content)) == (
        shape,
        np.dtype(np.int16),
        len(content) - 2 * int(np.prod(shape)),
    )


def test_versions_that_nobody_here_reads_are_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read as an npz archive .npy version .3, 0. is not known."):
        read_npz(with_member(tmp_path, npy(np.zeros(3), (3, 0))), array=("f", 1))


@pytest.mark.parametrize(
    "change", [lambda content: content[:-1], lambda content: content + b"0", lambda content: content[:-24]]
)
def test_an_array_of_another_size_than_its_header_says_is_refused(tmp_path, change):
    whole = npy(np.arange(3.0))
    path = with_member(tmp_path, whole)
    assert npz_names(path) == ["array"] and read_npz(path, array=("f", 1))["array"].tolist() == [0, 1, 2]
    with pytest.raises(UserError, match="array is cut off or longer than its header says: make or fetch it again"):
        read_npz(with_member(tmp_path, change(whole)), array=("f", 1))


def test_a_header_that_promises_the_moon_is_refused_without_making_room_for_it(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**40)})
    with pytest.raises(UserError, match="cut off"):
        read_npz(with_member(tmp_path, header.getvalue()), array=("f", 2))


def test_objects_are_never_unpickled(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([print], object), allow_pickle=True)
    with pytest.raises(UserError):
        read_npz(with_member(tmp_path, file.getvalue()), array=("O", None))


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (FileNotFoundError(), "^x.npz is missing: put it there, or make or fetch it again$"),
        (ValueError("odd bytes"), r"^x.npz cannot be read as an archive \(odd bytes\): make or fetch it again$"),
        (EOFError(), r"^x.npz cannot be read as an archive \(EOFError\)"),
    ],
)
def test_what_goes_wrong_while_reading_is_one_sentence(problem, sentence):
    with pytest.raises(UserError, match=sentence), reading("x.npz", "an archive"):
        raise problem
    with pytest.raises(ZeroDivisionError), reading("x.npz", "an archive"):  # a bug of ours is no damage
        raise ZeroDivisionError
