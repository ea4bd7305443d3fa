"""What participants' browsers and bots ask of the server. Nothing is kept in the process: any of several may answer."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from exemplar.lab.brush import MOST_PLACES
from exemplar.lab.counterbalancing import PEOPLE
from exemplar.lab.guessing import look
from exemplar.lab.sessions import Lab, Participant, Refused

ROUTES = APIRouter(prefix="/api")
Words = Annotated[str, Field(max_length=500)]
Short = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
SessionName = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9._-]+$")]
TrialNumber = Annotated[int, Field(ge=0, lt=100_000)]
Bearer = Annotated[str, Header(max_length=200)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Bot(Strict):
    """An agent that takes part. Its sessions follow from its name and seed."""

    agent: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._ @=,:/-]+$")]
    seed: Annotated[int, Field(ge=0, lt=2**31)]


class Registration(Strict):
    experiment: Short
    consent: bool
    asked: Annotated[dict[Short, Words], Field(max_length=20)] = {}
    bot: Bot | None = None


class Claim(Strict):
    tab: Short


class Look(Strict):
    """places: what was painted so far, each a row and a column."""

    session: SessionName
    trial: TrialNumber
    tab: Short
    places: Annotated[list[list[int]], Field(max_length=MOST_PLACES)]


class TrialAnswer(Strict):
    session: SessionName
    trial: TrialNumber
    tab: Short
    answer: dict[str, Any]


def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


def _who(request: Request, authorization: str) -> Participant:
    kind, _, token = authorization.partition(" ")
    if kind.lower() != "bearer" or not token:
        raise Refused(401, "The request has no token: please begin again.")
    return _lab(request).find(token.strip())


@ROUTES.post("/participants", status_code=201)
def register(request: Request, given: Registration) -> dict[str, str]:
    """Take part: nothing is kept of anyone who does not consent."""
    lab = _lab(request)
    lab.experiment(given.experiment)
    if not given.consent:
        raise Refused(403, "Without consent nothing is kept, so you cannot take part.")
    bot = given.bot
    if bot is not None and bot.agent == PEOPLE:
        raise Refused(422, f"A bot cannot be called {PEOPLE}: give it another name.")
    who = {"agent": PEOPLE, "seed": None} if bot is None else {"agent": bot.agent, "seed": bot.seed}
    name, token = lab.register(given.experiment, given.asked, **who)
    return {"participant": name, "token": token}


@ROUTES.post("/sessions")
def claim(request: Request, given: Claim, authorization: Bearer = "") -> dict[str, Any]:
    """The session to do now."""
    return _lab(request).claim(_who(request, authorization), given.tab)


@ROUTES.post("/trials")
def answer(request: Request, given: TrialAnswer, authorization: Bearer = "") -> dict[str, Any]:
    """Keep one trial, once."""
    who = _who(request, authorization)
    return _lab(request).answer(who, given.session, given.trial, given.tab, given.answer)


@ROUTES.post("/guess")
def guess(request: Request, given: Look, authorization: Bearer = "") -> dict[str, Any]:
    """What the partner says to what was painted so far, and whether it is right."""
    who = _who(request, authorization)
    if not request.app.state.looks.allows(who.id, time.monotonic()):
        raise Refused(429, "Too many guesses: wait a moment.")
    return look(_lab(request), who, given.session, given.trial, given.tab, given.places)


@ROUTES.get("/me/result", response_model=None)
def result(request: Request, authorization: Bearer = "") -> dict[str, Any] | JSONResponse:
    """Where my drawings lie among others'; 202 while it is being computed."""
    found: dict[str, Any] | None = request.app.state.results.get(_who(request, authorization))
    return JSONResponse({"state": "computing"}, 202) if found is None else found


@ROUTES.get("/me")
def me(request: Request, authorization: Bearer = "") -> dict[str, Any]:
    return _lab(request).progress_of(_who(request, authorization))


@ROUTES.delete("/me")
def withdraw(request: Request, authorization: Bearer = "") -> dict[str, bool]:
    """Delete everything about me."""
    _lab(request).withdraw(_who(request, authorization).id)
    return {"deleted": True}
