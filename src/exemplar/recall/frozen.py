"""Frozen suites: 600 tasks of each type on the data of the literature (seed 0), by SHA-256. Made anywhere, on any
number of workers, they are these; `make_tasks` and `check` say when a suite is one of them."""

from __future__ import annotations

FROZEN: dict[str, dict[str, str]] = {
    "omniglot/cfsl-test": {
        "no-shift": "f1aa9f49d1840b40f122186d4ae5cc5db29c89f0113c05c13b7492909046ff88",
        "new-samples": "bee1174394fc8ea050f0882ee0acb13708e9bd1aa2df512111b23fe0ac262e9d",
        "new-classes-overwrite": "7a9f8bf40faef3c56d4554f09e482f07cc55250df209236bc6390979de612910",
        "new-classes": "4f1924d1efe0b7991a682c1d94504bc9efa8b81c291e319e49454669b4c32d8b",
        "new-classes-and-samples": "196bd1db26948682a49fd5b9fe7d804b619fce274dcee21ab4753f2f958cd197",
    },
    "cifar-fs/test": {
        "no-shift": "05188df3006a0111dbef243ace8acc546b5b61e6028c562bd22395e53d973c67",
        "new-samples": "8743622be788d71b42ebe065c6c211619ae17ce6a45bf6c2cad8324e8ecf60bf",
        "new-classes-overwrite": "b0bf38b28446bac264fe9e37077b1d8ded8a2d46e65fba8ac8256706c33d53f2",
        "new-classes": "87b3b871fb18aaa01632e257e7ce83dc22a823d3926c1eccb1a89200cd1794cf",
        "new-classes-and-samples": "ce0d87c270b235cfad9c087b7b86753e8ade10f1d1efe19c6c74676d89466032",
    },
}
