"""What others say when a file is damaged, cut to what a sentence takes in."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar.files import SAID, first_line


def test_what_is_too_long_ends_after_a_sentence_or_a_word() -> None:
    torch_says = (
        "PytorchStreamReader failed reading zip archive: failed finding central directory in a file, miniz error."
    )
    assert first_line(RuntimeError(f"{torch_says} If you load it from far away, fetch it again.")) == torch_says[:-1]
    early = f"[at line 1] . {'word ' * 50}"  # what ends so soon says nothing
    assert first_line(RuntimeError(early)) == f"[at line 1] . {'word ' * 21}…"
    assert first_line(RuntimeError("x" * 500)) == "x" * SAID + " …"
    assert first_line(RuntimeError("two\nlines")) == "two lines"
    assert first_line(KeyError()) == "KeyError"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text("ab.", min_size=1, max_size=30), min_size=1, max_size=60))
def test_no_word_is_cut(words: list[str]) -> None:
    said = first_line(ValueError(" ".join(words)))
    assert len(said) <= SAID + 2
    kept = said.removesuffix(" …").split()
    assert kept[:-1] == words[: len(kept) - 1] and kept[-1] in (words[len(kept) - 1], words[len(kept) - 1][:-1])
