"""The web application: pages, images and the interface that browsers and bots share."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader
from starlette.exceptions import HTTPException

import exemplar
from exemplar.errors import UserError
from exemplar.lab.experiments import default_experiments, make_experiment
from exemplar.lab.experiments.protocol import Done, Experiment, Next
from exemplar.lab.limits import BodyLimit, Buckets, RateLimit, SafeHeaders
from exemplar.lab.own_result import OwnResults
from exemplar.lab.pictures import KeptPictures, Pictures
from exemplar.lab.sessions import Lab, Refused
from exemplar.lab.storage import DatabaseBusy, open_storage

HERE = Path(__file__).parent
ENVIRONMENT = "EXEMPLAR_LAB"  # where a process finds its settings
LOOKS_PER_S = 8.0  # of a partner, for one participant: a browser asks for 5


@dataclass(frozen=True)
class LabSettings:
    """What a server process needs to know. database: URL or SQLite file; folder: for images that were drawn; experiments:
    plain settings of each; bots: whether agents may take part; simulation: whether pages may drive themselves, for tests;
    requests: per second and address, 0 for no limit; token: the experimenter's, made by the first process unless given."""

    database: str
    folder: str
    experiments: tuple[Mapping[str, Any], ...] = ()
    bots: bool = False
    simulation: bool = False
    requests: float = 60.0
    token: str = ""


def open_lab(settings: LabSettings) -> Lab:
    """The experiments with their storage; what is wrong with them is said now."""
    made = [make_experiment(one) for one in settings.experiments or default_experiments()]
    names = [experiment.name for experiment in made]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"Two experiments are called {name}: rename one of them.")
        if not name.replace("-", "").replace("_", "").isalnum() or len(name) > 64 or not name.isascii():
            raise UserError(f"{name!r} cannot be part of an address: use letters, digits, - and _.")
    for experiment in made:
        try_out(experiment)  # finds out what is missing before a database is made
    storage = open_storage(settings.database)
    secret = storage.get_setting("secret", secrets.token_hex(32))
    storage.get_setting("token", settings.token or secrets.token_urlsafe(24))
    pictures = Pictures(made, secret, Path(settings.folder) / "images")
    return Lab(storage, {experiment.name: experiment for experiment in made}, pictures, settings.bots)


def create_app(settings: LabSettings) -> FastAPI:
    """One process's application."""
    from exemplar.lab import experimenter, participants_api

    lab = open_lab(settings)
    app = FastAPI(title="Exemplar lab", version=exemplar.__version__, docs_url=None, redoc_url=None)
    app.state.lab, app.state.settings, app.state.started = lab, settings, time.time()
    app.state.results = OwnResults(lab)
    app.state.looks = Buckets(LOOKS_PER_S if settings.requests else 0, burst=3.0)
    app.state.pages = Environment(loader=FileSystemLoader(HERE / "pages"), autoescape=True)
    app.include_router(participants_api.ROUTES)
    app.include_router(experimenter.ROUTES)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    _add_pages(app, lab, settings)
    _add_errors(app)
    app.add_middleware(RateLimit, per_second=settings.requests)
    app.add_middleware(BodyLimit)
    app.add_middleware(SafeHeaders)
    app.add_middleware(KeptPictures, pictures=lab.pictures)  # the last one added stands first
    return app


def try_out(experiment: Experiment) -> None:
    """Plan one session of each kind: what is wrong with the settings is said now, and what must be loaded and compiled for the
    first participant is loaded and compiled now."""
    experiment.list_images()
    done: list[Done] = []
    while isinstance(coming := experiment.choose_next(done), Next):
        experiment.make_plan(coming.kind, coming.parts[0], 0)
        if coming.kind == "main":
            return
        done.append(Done(coming.kind, coming.parts[0], 1, 1))


def create_from_environment() -> FastAPI:
    """For uvicorn's worker processes."""
    given = json.loads(os.environ[ENVIRONMENT])
    return create_app(LabSettings(**given | {"experiments": tuple(given["experiments"])}))


def settings_to_environment(settings: LabSettings) -> str:
    return json.dumps(asdict(settings))


def show_page(request: Request, page: str, status: int = 200, **context: Any) -> HTMLResponse:
    return HTMLResponse(request.app.state.pages.get_template(page).render(**context), status)


def _add_pages(app: FastAPI, lab: Lab, settings: LabSettings) -> None:
    @app.get("/")
    def index(request: Request) -> HTMLResponse:
        described = [experiment.describe() for experiment in lab.experiments.values()]
        return show_page(request, "index.html", experiments=described)

    @app.get("/take/{experiment}")
    def take(request: Request, experiment: str) -> HTMLResponse:
        about = lab.experiment(experiment).describe() | {"simulation": settings.simulation}
        return show_page(request, "take.html", experiment=about)

    @app.get("/images/{digest}.png")
    def image(digest: str) -> Response:
        if digest not in lab.pictures.where:
            raise Refused(404, "There is no such image.")
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(lab.pictures.read(digest), media_type="image/png", headers=headers)

    @app.get("/healthy")
    def healthy() -> dict[str, bool]:
        with lab.storage.reading() as connection:
            connection.exec_driver_sql("SELECT 1")
        return {"ok": True}


def _add_errors(app: FastAPI) -> None:
    def answer(request: Request, status: int, text: str, **more: Any) -> Response:
        wait = {"Retry-After": "1"} if status in (429, 503) else {}
        if request.url.path.startswith(("/take/", "/experimenter")) or request.url.path == "/":
            page = show_page(request, "message.html", status, title="That did not work", text=text)
            page.headers.update(wait)
            return page
        return JSONResponse({"error": text, **more}, status, headers=wait)

    @app.exception_handler(Refused)
    def refused(request: Request, problem: Refused) -> Response:
        return answer(request, problem.status, problem.text, **problem.more)

    @app.exception_handler(DatabaseBusy)
    def busy(request: Request, problem: DatabaseBusy) -> Response:
        return answer(request, 503, f"{problem} Nothing was kept: try again.")

    @app.exception_handler(UserError)
    def mistake(request: Request, problem: UserError) -> Response:
        return answer(request, 500, str(problem))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, problem: RequestValidationError) -> Response:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return answer(request, 422, f"{where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    def plain(request: Request, problem: HTTPException) -> Response:
        return answer(request, problem.status_code, str(problem.detail))
