"""Images as the browser asks for them: under addresses that do not tell what they show, drawn once and kept on disk."""

from __future__ import annotations

import hmac
import io
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from PIL import Image
from starlette.types import ASGIApp, Receive, Scope, Send

from exemplar.errors import UserError
from exemplar.files import whole_file
from exemplar.lab.experiments.protocol import Experiment

START = "/images/"
ADDRESS = START + "{}.png"
HEADERS = [
    (b"content-type", b"image/png"),
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"x-content-type-options", b"nosniff"),
]


class Pictures:
    """All images of the experiments. secret: behind the addresses, the same for every process; folder: where they are kept."""

    def __init__(self, experiments: Iterable[Experiment], secret: str, folder: Path) -> None:
        self.secret, self.folder = secret.encode(), folder
        self.where = {
            self.digest(experiment.name, name): (experiment, name)
            for experiment in experiments
            for name in experiment.list_images()
        }

    def digest(self, experiment: str, name: str) -> str:
        return hmac.new(self.secret, f"{experiment}/{name}".encode(), sha256).hexdigest()[:32]

    def address(self, experiment: str, name: str) -> str:
        return ADDRESS.format(self.digest(experiment, name))

    def draw_all(self, wanted: Callable[[], bool] = lambda: True) -> None:
        """Draw what is not on disk yet, object by object, as long as it is wanted."""
        for digest in self.where:
            if not wanted():
                return
            if not self.place(digest).is_file():
                self.read(digest)

    def place(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.png"

    def read(self, digest: str) -> bytes:
        """The PNG; KeyError where there is no such image."""
        experiment, name = self.where[digest]
        path = self.place(digest)
        try:
            return path.read_bytes()
        except OSError:
            png = encode_png(experiment, name)
        try:
            with whole_file(path) as part:
                part.write_bytes(png)
        except (OSError, UserError):  # a full or read-only disk: it is drawn again next time
            pass
        return png


class KeptPictures:
    """Answers requests for images that are on disk by itself: a session begins with a hundred of them, and the way through the
    application costs ten times as much as reading the file."""

    def __init__(self, app: ASGIApp, pictures: Pictures) -> None:
        self.app, self.pictures = app, pictures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(START):
            digest = scope["path"][len(START) :].removesuffix(".png")
            if digest in self.pictures.where:
                try:
                    png = self.pictures.place(digest).read_bytes()
                except OSError:
                    png = b""
                if png:
                    headers = [*HEADERS, (b"content-length", str(len(png)).encode())]
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    await send({"type": "http.response.body", "body": png})
                    return
        await self.app(scope, receive, send)


def draw_in_background(make: Callable[[], Pictures]) -> None:
    """Runs in a process of its own, behind everything else, so that nobody waits for it; ends with the server, even a killed
    one. Ctrl-C is for the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(19)
    server = multiprocessing.parent_process()
    make().draw_all(lambda: server is None or server.is_alive())


def encode_png(experiment: Experiment, name: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(experiment.draw_image(name)).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
