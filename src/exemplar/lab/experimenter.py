"""The experimenter's pages, behind a token: live progress, exclusions, deletion and export."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

import exemplar
from exemplar.lab.counterbalancing import PEOPLE, counts_for_quota
from exemplar.lab.sessions import ACTIVE, Lab, Refused
from exemplar.lab.storage import PARTICIPANTS, SESSIONS

ROUTES = APIRouter()
COOKIE, HOURS = "exemplar_lab", 12
Text = Annotated[str, Form(max_length=500)]


def check_token(request: Request) -> None:
    """The token in a cookie (signed, for some hours), or as `Authorization: Bearer …`; compared in constant time."""
    token = _token(request)
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
        return
    until, _, signature = request.cookies.get(COOKIE, "").partition(".")
    fresh = until.isdigit() and len(until) < 16 and int(until) > time.time()
    if fresh and hmac.compare_digest(signature.encode("utf-8", "replace"), _sign(token, "login", until).encode()):
        return
    raise Refused(401, "This page needs the experimenter's token, which `exemplar lab serve` printed when it started.")


def check_form(request: Request, csrf: str) -> None:
    check_token(request)
    if not hmac.compare_digest(csrf.encode("utf-8", "replace"), form_token(request).encode()):
        raise Refused(403, "The form is too old: load the page again.")


def form_token(request: Request) -> str:
    """Known to our own pages only, so that no other site can send a form in the experimenter's name."""
    return _sign(_token(request), "form", request.cookies.get(COOKIE, ""))


@ROUTES.get("/experimenter")
def page(request: Request) -> Response:
    from exemplar.lab.server import show_page

    try:
        check_token(request)
    except Refused:
        return show_page(request, "login.html", 401, wrong=False)
    return show_page(request, "experimenter.html", csrf=form_token(request), **describe(request))


@ROUTES.post("/experimenter/login")
def login(request: Request, token: Text) -> Response:
    from exemplar.lab.server import show_page

    kept = _token(request)
    if not hmac.compare_digest(token.strip().encode("utf-8", "replace"), kept.encode()):
        return show_page(request, "login.html", 401, wrong=True)
    until = str(int(time.time() + HOURS * 3600))
    response = RedirectResponse("/experimenter", 303)
    response.set_cookie(
        COOKIE, f"{until}.{_sign(kept, 'login', until)}", max_age=HOURS * 3600, httponly=True, samesite="strict",
        secure=request.url.scheme == "https", path="/",
    )  # fmt: skip
    return response


@ROUTES.post("/experimenter/logout")
def logout(request: Request) -> Response:
    response = RedirectResponse("/experimenter", 303)
    response.delete_cookie(COOKIE)
    return response


@ROUTES.post("/experimenter/exclude")
def exclude(request: Request, participant: Text, csrf: Text, why: Text = "") -> Response:
    check_form(request, csrf)
    return _mark(request, participant, excluded=True, why=why)


@ROUTES.post("/experimenter/include")
def include(request: Request, participant: Text, csrf: Text) -> Response:
    check_form(request, csrf)
    return _mark(request, participant, excluded=False, why="")


@ROUTES.post("/experimenter/delete")
def delete(request: Request, participant: Text, csrf: Text) -> Response:
    check_form(request, csrf)
    _lab(request).withdraw(participant)
    return RedirectResponse("/experimenter", 303)


@ROUTES.get("/api/experimenter/progress")
def progress(request: Request) -> dict[str, Any]:
    check_token(request)
    return describe(request)


@ROUTES.get("/experimenter/export/{experiment}.zip")
def export(request: Request, experiment: str) -> Response:
    from exemplar.lab.exporting import pack

    check_token(request)
    lab = _lab(request)
    lab.experiment(experiment)
    headers = {"Content-Disposition": f'attachment; filename="{experiment}.zip"'}
    return Response(pack(lab, experiment), media_type="application/zip", headers=headers)


def describe(request: Request) -> dict[str, Any]:
    """The numbers of the page."""
    lab, state = _lab(request), request.app.state
    database = "SQLite" if lab.storage.sqlite else "PostgreSQL"
    server = {"version": exemplar.__version__, "database": database, "uptime_s": round(time.time() - state.started)}
    return {**summarise(lab), "server": server}


def summarise(lab: Lab) -> dict[str, Any]:
    """Who is how far: for each experiment, and for each participant, the newest first."""
    sums = (
        sa.select(
            SESSIONS.c.participant,
            sa.func.count().label("sessions"),
            sa.func.sum(SESSIONS.c.n_done).label("trials"),
            sa.func.sum(SESSIONS.c.n_correct).label("right"),
            sa.func.sum(SESSIONS.c.finished - SESSIONS.c.started).label("seconds"),
        )
        .group_by(SESSIONS.c.participant)
        .subquery()
    )
    everyone = (
        sa.select(PARTICIPANTS, sums.c.sessions, sums.c.trials, sums.c.right, sums.c.seconds)
        .join(sums, sums.c.participant == PARTICIPANTS.c.id, isouter=True)
        .order_by(PARTICIPANTS.c.started.desc())
    )
    by_part = (
        sa.select(SESSIONS.c.experiment, SESSIONS.c.part, sa.func.count())
        .join(PARTICIPANTS, PARTICIPANTS.c.id == SESSIONS.c.participant)
        .where(SESSIONS.c.kind == "main", *counts_for_quota(time.time()))
    )
    with lab.storage.reading() as connection:
        rows = connection.execute(everyone).all()
        parts = connection.execute(by_part.group_by(SESSIONS.c.experiment, SESSIONS.c.part)).all()
    experiments = []
    for name, experiment in lab.experiments.items():
        mine = [row for row in rows if row.experiment == name]
        times = sorted(float(row.seconds) for row in mine if row.state == "finished" and row.seconds is not None)
        groups = [
            {"group": p, "sessions": int(n), "quota": experiment.quota()} for e, p, n in sorted(parts) if e == name
        ]
        experiments.append(
            {
                "name": name,
                "title": experiment.describe()["title"],
                "about": experiment.describe().get("about", ""),
                "started": len(mine),
                "finished": sum(row.state == "finished" for row in mine),
                "rejected": sum(row.state == "rejected" for row in mine),
                "bots": sum(row.agent != PEOPLE for row in mine),
                "trials": sum(int(row.trials or 0) for row in mine),
                "by_group": groups,
                "median_seconds": times[len(times) // 2] if times else None,
            }
        )
    participants = [
        {
            "participant": row.id,
            "experiment": row.experiment,
            "agent": row.agent,
            "state": row.state,
            "code": row.code if row.state != ACTIVE else "",
            "sessions": int(row.sessions or 0),
            "trials": int(row.trials or 0),
            "accuracy": int(row.right) / int(row.trials) if row.trials and _has_right(lab, row.experiment) else None,
            "started": row.started,
            "last_seen": row.last_seen,
            "excluded": bool(row.excluded),
            "why": row.why,
        }
        for row in rows
    ]
    return {"experiments": experiments, "participants": participants}


def _has_right(lab: Lab, experiment: str) -> bool:
    """Whether there are right and wrong answers: not where people draw, nor where nobody knows the experiment any more."""
    return experiment in lab.experiments and lab.experiments[experiment].type != "drawing"


def _mark(request: Request, participant: str, *, excluded: bool, why: str) -> Response:
    with _lab(request).storage.writing() as connection:
        change = PARTICIPANTS.update().where(PARTICIPANTS.c.id == participant).values(excluded=excluded, why=why)
        if not connection.execute(change).rowcount:
            raise Refused(404, "There is no such participant.")
    return RedirectResponse("/experimenter", 303)


def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


def _token(request: Request) -> str:
    return _lab(request).storage.get_setting("token", "")


def _sign(token: str, *what: str) -> str:
    return hmac.new(token.encode(), "\n".join(what).encode("utf-8", "replace"), hashlib.sha256).hexdigest()
