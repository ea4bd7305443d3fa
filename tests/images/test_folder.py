"""Your own images: what a folder or an npz file must look like, and what is said when it does not."""

import os
import pickle
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.folder import load_folder, load_npz, natural

RNG = seeds.rng("test folder")


def drawing(paper: int = 0, size: tuple[int, int] = (12, 10)) -> np.ndarray:
    """(h, w) uint8: a stroke in the middle, away from the border."""
    image = np.full(size, paper, np.uint8)
    image[3:9, 4:6] = 255 - paper
    return image


def save(path: Path, image: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two concepts of three drawings each, in grey, ink on dark."""
    for concept in ("star", "moon"):
        for k in (1, 2, 10):
            save(tmp_path / "mine" / concept / f"item{k}.png", drawing())
    return tmp_path / "mine"


def test_concepts_and_images_come_in_the_order_people_sort_them(root: Path) -> None:
    data = load_folder(root)
    assert (data.name, data.shape, len(data)) == ("mine", (12, 10), 6)
    assert data.concepts == ("moon", "star")
    assert [path.name for path in data.pixels.paths[:3]] == ["item1.png", "item2.png", "item10.png"]
    assert data.group.names == ("",)


@settings(deadline=None)
@given(st.lists(st.text(max_size=8), max_size=6))
def test_natural_order_is_total_and_sorts_numbers_as_numbers(names: list[str]) -> None:
    assert sorted(names, key=natural) == sorted(names[::-1], key=natural)
    assert natural("a2b") < natural("a10b") < natural("a10c")
    assert natural("٢") < natural("10")  # digits of other scripts count too


def test_every_format_gives_the_pixels_pillow_gives(tmp_path: Path) -> None:
    picture = RNG.integers(0, 256, (9, 11, 3), dtype=np.uint8)
    for ending in ("png", "PNG", "bmp", "tif", "tiff", "webp", "jpg", "jpeg", "gif"):
        save(tmp_path / "set" / "a" / f"{ending}.{ending}", picture)
    data = load_folder(tmp_path / "set")
    assert data.shape == (9, 11, 3)
    for image, path in zip(data.images, data.pixels.paths, strict=True):
        with Image.open(path) as opened:
            assert np.array_equal(image, np.asarray(opened.convert("RGB")))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_are_as_they_are_typed_however_a_file_system_writes_them(tmp_path: Path, form: str) -> None:
    for group, concept in (("grüße", "ä"), ("grüße", "b"), ("zoë", "ç")):
        names = (unicodedata.normalize(form, name) for name in ("café", group, concept))
        save(tmp_path.joinpath(*names, "1.png"), drawing())
    data = load_folder(tmp_path / unicodedata.normalize(form, "café"))
    assert (data.name, data.concepts) == ("café", ("grüße/b", "grüße/ä", "zoë/ç"))  # in one order, in either form
    assert data.group.names == ("grüße", "zoë")


@pytest.mark.parametrize("above", ["", "group"])
def test_two_folders_whose_names_are_one_are_refused(tmp_path: Path, above: str) -> None:
    for form in ("NFC", "NFD"):
        save(tmp_path / above / unicodedata.normalize(form, "é") / "1.png", drawing())
    with pytest.raises(UserError, match="has two folders called 'e?.', which differ only in how Unicode writes"):
        load_folder(tmp_path)


def test_names_in_an_npz_are_composed_too(tmp_path: Path) -> None:
    images, decomposed = np.stack([drawing()] * 4), unicodedata.normalize("NFD", "é")
    np.savez(tmp_path / "set.npz", images=images, concept=[decomposed, "a", "a", decomposed])
    assert load_npz(tmp_path / "set.npz").concepts == ("é", "a")
    np.savez(tmp_path / "both.npz", images=images, concept=[decomposed, "a", "a", "é"])
    with pytest.raises(UserError, match="concept has two names called 'é', which differ only in how Unicode"):
        load_npz(tmp_path / "both.npz")


def test_groups_are_the_first_of_two_levels(tmp_path: Path) -> None:
    for group, concept in (("greek", "alpha"), ("latin", "alpha"), ("latin", "b")):
        save(tmp_path / group / concept / "1.png", drawing())
    data = load_folder(tmp_path)
    assert data.concepts == ("greek/alpha", "latin/alpha", "latin/b")
    assert [data.group[row] for row in range(3)] == ["greek", "latin", "latin"]


def test_dark_ink_on_white_becomes_ink_255_on_0_and_light_on_dark_stays(tmp_path: Path) -> None:
    save(tmp_path / "white" / "a" / "1.png", drawing(paper=255))
    save(tmp_path / "black" / "a" / "1.png", drawing(paper=0))
    white, black = load_folder(tmp_path / "white"), load_folder(tmp_path / "black")
    assert white.pixels.invert and not black.pixels.invert
    assert np.array_equal(white.images, black.images) and np.array_equal(black.images[0], drawing())
    assert np.array_equal(load_folder(tmp_path / "white", invert=False).images[0], drawing(paper=255))


def test_transparent_paper_counts_as_white(tmp_path: Path) -> None:
    ink = drawing()
    save(tmp_path / "set" / "a" / "1.png", np.dstack([np.zeros((12, 10, 3), np.uint8), ink]))  # black where opaque
    assert np.array_equal(load_folder(tmp_path / "set").images[0], ink)


def test_grey_saved_as_rgb_is_grey_until_one_image_has_colour(root: Path) -> None:
    save(root / "star" / "grey.png", np.dstack([drawing()] * 3))
    assert load_folder(root).shape == (12, 10)
    assert load_folder(root, color=True).shape == (12, 10, 3)
    red = np.dstack([drawing(), np.zeros((12, 10, 2), np.uint8)])
    save(root / "star" / "red.png", red)
    data = load_folder(root)
    assert data.shape == (12, 10, 3) and not data.pixels.invert
    assert np.array_equal(data.take(data.rows("star"))[-1], red)
    assert load_folder(root, color=False).shape == (12, 10)


def test_sizes_that_differ_need_a_size(root: Path) -> None:
    save(root / "star" / "large.png", drawing(size=(30, 20)))
    with pytest.raises(UserError, match="--size"):
        load_folder(root)
    assert load_folder(root, size=16).images.shape == (7, 16, 16)
    for size in (0, -3, 10**9):
        with pytest.raises(UserError, match="give a size"):
            load_folder(root, size=size)


def test_hidden_files_and_clutter_are_passed_over(root: Path) -> None:
    before = load_folder(root).fingerprint
    for name in (".DS_Store", "Thumbs.db", "desktop.ini", "star/.hidden.png", "star/thumbs.DB"):
        (root / name).write_bytes(b"x")
    (root / ".git").mkdir()
    (root / "__MACOSX").mkdir()
    assert load_folder(root).fingerprint == before


@pytest.mark.parametrize("name", ["notes.txt", "star/notes.txt", "star/item1", "star/item1.svg"])
def test_another_file_is_named(root: Path, name: str) -> None:
    (root / name).write_text("x")
    with pytest.raises(UserError, match=name.replace(".", r"\.") + " is not an image"):
        load_folder(root)


def test_folders_of_the_wrong_shape_are_explained(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not a folder.*FOLDER/CONCEPT/IMAGE"):
        load_folder(tmp_path / "absent")
    with pytest.raises(UserError, match=r"no sub-folders.*FOLDER/CONCEPT/IMAGE"):
        load_folder(root / "star")
    (root / "empty").mkdir()
    with pytest.raises(UserError, match="empty holds no images"):
        load_folder(root)
    save(root / "empty" / "deep" / "1.png", drawing())
    with pytest.raises(UserError, match="make all of them groups, or none"):
        load_folder(root)
    save(root / "star" / "more" / "1.png", drawing())
    save(root / "moon" / "more" / "1.png", drawing())
    with pytest.raises(UserError, match="both images and folders"):
        load_folder(root)
    save(root / "stray.png", drawing())
    with pytest.raises(UserError, match=r"stray\.png is in no concept's folder"):
        load_folder(root)
    save(tmp_path / "deep" / "a" / "b" / "c" / "1.png", drawing())
    with pytest.raises(UserError, match="a level too deep"):
        load_folder(tmp_path / "deep")
    (tmp_path / "deep2" / "a" / "b").mkdir(parents=True)
    with pytest.raises(UserError, match="holds no images"):
        load_folder(tmp_path / "deep2")


def test_links_that_lead_back_are_harmless_and_other_links_are_followed(root: Path, tmp_path: Path) -> None:
    before = load_folder(root).fingerprint
    (root / "loop").symlink_to(root)
    (root / "star" / "up").symlink_to("..")
    (root / "star" / "self").symlink_to(".")
    assert load_folder(root).fingerprint == before
    save(tmp_path / "elsewhere" / "1.png", drawing())
    (root / "sun").symlink_to(tmp_path / "elsewhere")
    assert load_folder(root).concepts == ("moon", "star", "sun")
    (root / "star" / "endless.png").symlink_to("endless.png")
    with pytest.raises(UserError, match=r"endless\.png"):
        load_folder(root)


def test_odd_names_are_fine_and_names_that_cannot_be_shown_are_refused(root: Path) -> None:
    names = {"日本語", "naïve café", "'; drop table", "👩\u200d🔬", "a\u00a0b", "100", "क्\u200dष"}
    for name in names:
        save(root / name / "1.png", drawing())
    assert set(load_folder(root).concepts) == names | {"star", "moon"}
    bad = Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9"))
    bad.mkdir()
    with pytest.raises(UserError, match="rename it") as caught:
        load_folder(root)
    str(caught.value).encode("ascii")


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM" + b"\xff" * 60])
def test_a_file_that_is_no_image_is_named(root: Path, content: bytes) -> None:
    (root / "star" / "bad.png").write_bytes(content)
    with pytest.raises(UserError, match=r"bad\.png is not an image that can be read"):
        load_folder(root)


def test_an_image_cut_in_the_middle_is_named_when_it_is_read(root: Path) -> None:
    path = save(root / "star" / "cut.png", RNG.integers(0, 256, (12, 10), dtype=np.uint8))
    path.write_bytes(path.read_bytes()[:-60])
    data = load_folder(root, invert=False)
    with pytest.raises(UserError, match=r"cut\.png is not an image that can be read"):
        _ = data.images


def test_images_of_16_bits_or_enormous_ones_are_refused(root: Path) -> None:
    path = root / "star" / "deep.png"
    Image.fromarray(np.zeros((12, 10), np.uint16)).save(path)
    with pytest.raises(UserError, match="more than 8 bits"):
        load_folder(root)
    header = drawing_png_of(100_000, 100_000, save(path, drawing()).read_bytes())
    path.write_bytes(header)
    with pytest.raises(UserError, match=r"deep\.png is not an image that can be read"):
        load_folder(root)


def drawing_png_of(width: int, height: int, png: bytes) -> bytes:
    """The same file, whose header claims another size."""
    import struct
    import zlib

    start = png.index(b"IHDR")
    header = b"IHDR" + struct.pack(">II", width, height) + png[start + 12 : start + 17]
    return png[:start] + header + struct.pack(">I", zlib.crc32(header)) + png[start + 21 :]


def npz(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def test_an_npz_of_images_is_a_data_set(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (4, 5, 6, 3), dtype=np.uint8)
    path = npz(tmp_path / "mine.npz", images=images, concept=[3, 3, 1, 1], group=list("xxyy"), maker=["é"] * 4)
    data = load_npz(path)
    assert (data.name, data.concepts, data.group.names, data.maker.names) == ("mine", ("3", "1"), ("x", "y"), ("é",))
    assert np.array_equal(data.images, images)


@pytest.mark.parametrize("dtype", [bool, np.float16, np.float32, np.float64])
def test_bool_and_unit_floats_become_levels(tmp_path: Path, dtype: type) -> None:
    ink = RNG.random((3, 4, 4)) < 0.5
    data = load_npz(npz(tmp_path / "mine.npz", images=ink.astype(dtype), concept=["a", "b", "b"]))
    assert np.array_equal(data.images, ink * np.uint8(255))


GOOD = np.zeros((2, 4, 4), np.uint8)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"concept": ["a", "b"]}, "no array images"),
        ({"images": GOOD}, "no array concept"),
        ({"images": GOOD, "concept": ["a"]}, r"one label per image"),
        ({"images": GOOD, "concept": [["a", "b"]]}, r"one label per image"),
        ({"images": GOOD, "concept": [0.0, 1.0]}, "text or whole numbers"),
        ({"images": GOOD, "concept": ["a", "b"], "maker": [1]}, "maker must be"),
        ({"images": GOOD, "concept": np.array(["a", None], object)}, "cannot be read"),
        ({"images": GOOD[0], "concept": ["a", "b"]}, r"must be \(n, h, w\)"),
        ({"images": np.zeros((2, 4, 4, 4), np.uint8), "concept": ["a", "b"]}, r"must be \(n, h, w\)"),
        ({"images": GOOD[:0], "concept": np.array([], str)}, r"holds no images, its array images is \(0, 4, 4\)"),
        ({"images": GOOD[:, :0], "concept": ["a", "b"]}, r"must be \(n, h, w\)"),
        ({"images": GOOD.astype(np.int64), "concept": ["a", "b"]}, "they are int64"),
        ({"images": GOOD.astype(complex), "concept": ["a", "b"]}, "they are complex"),
        ({"images": np.full((2, 4, 4), np.nan), "concept": ["a", "b"]}, "without NaN"),
        ({"images": np.full((2, 4, 4), 2.0), "concept": ["a", "b"]}, r"lie in \[0, 1\]"),
        ({"images": np.full((2, 4, 4), -0.1), "concept": ["a", "b"]}, r"lie in \[0, 1\]"),
    ],
)
def test_an_npz_that_is_something_else_is_explained(tmp_path: Path, arrays: dict, words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_npz(npz(tmp_path / "mine.npz", **arrays))


def test_a_file_that_is_no_npz_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    with pytest.raises(UserError, match="not a file"):
        load_npz(path)
    for content in (b"", b"PK\x03\x04", pickle.dumps([1]), b"\x93NUMPY"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="cannot be read"):
            load_npz(path)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_damaged_npz_is_read_or_explained(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    content = bytearray(npz(path, images=GOOD, concept=["a", "b"]).read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        load_npz(path)
    except UserError as problem:
        assert "\n" not in str(problem)
