"""A user's mistake is one sentence that says what to do; everything else is our bug and keeps its traceback."""

import errno
from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """The user can fix this. The message is one sentence; the command line prints it and exits with 2."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what an OSError says of a full disk


class NoRoom(UserError):
    """The disk is full: nothing that was asked is wrong, and what was done so far is worth keeping."""


def unknown(kind: str, name: str, known: Iterable[str], *, where: str = "") -> UserError:
    """The error for a name that does not exist (where: in what); it offers the names that come near.

    >>> print(unknown("data set", "omniglott", ["glyphs", "omniglot"]))
    there is no data set 'omniglott': did you mean omniglot?
    >>> print(unknown("concept", "b", ["a"], where="glyphs"))
    there is no concept 'b' in glyphs: there are a
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(near)}?" if near else f"there are {shortened(names)}"
    return UserError(f"there is no {kind} {name!r}{f' in {where}' if where else ''}: {advice}")


def shortened(names: Iterable[object], most: int = 8) -> str:
    """A list for a sentence: at most `most` names, then how many are left out."""
    words = [str(name) for name in names]
    if not words:
        return "none"
    left = len(words) - most
    return ", ".join(words) if left <= 0 else ", ".join(words[:most]) + f" and {left} more"
