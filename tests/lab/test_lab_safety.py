"""What strangers may try: no token, no page; nothing from outside the folder; nothing too large or too often."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab_server import LEARNING, TOKEN, Person, client, settings

from exemplar.lab.limits import RateLimit

ASKED = LEARNING | {"ask": [{"name": "hand", "label": "Which hand do you write with?"}]}


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    with client(settings(tmp_path, ASKED)) as found:
        yield found


def test_the_experimenter_s_pages_refuse_without_the_token(lab: Any) -> None:
    person = Person(lab, "objects")
    for method, path in (
        ("get", "/api/experimenter/progress"),
        ("get", "/experimenter/export/objects.zip"),
        ("post", "/experimenter/delete"),
        ("post", "/experimenter/exclude"),
    ):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "exemplar_lab=9999999999.0"}, person.headers):
            data = {"participant": person.name, "csrf": "x"} if method == "post" else None
            found = lab.request(method, path, headers=headers, data=data)
            assert found.status_code == 401, (path, headers)
    assert lab.get("/experimenter").status_code == 401
    assert lab.get("/api/me", headers=person.headers).status_code == 200  # nothing happened


def test_a_form_needs_its_own_token_besides_the_cookie(lab: Any) -> None:
    person = Person(lab, "objects")
    assert lab.post("/experimenter/login", data={"token": "wrong"}).status_code == 401
    page = lab.post("/experimenter/login", data={"token": TOKEN})  # and follows to the page
    assert page.status_code == 200 and person.name in page.text
    cookie = lab.cookies.jar._cookies["testserver.local"]["/"]["exemplar_lab"]
    assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr("SameSite") == "strict"
    refused = lab.post("/experimenter/delete", data={"participant": person.name, "csrf": "guessed"})
    assert refused.status_code == 403
    csrf = page.text.split('name="csrf" value="')[1].split('"')[0]
    assert (
        lab.post("/experimenter/exclude", data={"participant": person.name, "csrf": csrf, "why": "slept"}).status_code
        == 200
    )
    assert "slept" in lab.get("/experimenter").text
    assert lab.post("/experimenter/delete", data={"participant": person.name, "csrf": csrf}).status_code == 200
    assert person.name not in lab.get("/experimenter").text


def test_participants_text_is_never_run(lab: Any) -> None:
    bad = "<script>alert(1)</script>"
    assert (
        lab.post("/api/participants", json={"experiment": "objects", "consent": True, "asked": {bad: "x"}}).status_code
        == 422
    )
    person = Person(lab, "objects", asked={"hand": bad})
    lab.post("/experimenter/login", data={"token": TOKEN})
    csrf = lab.get("/experimenter").text.split('name="csrf" value="')[1].split('"')[0]
    lab.post("/experimenter/exclude", data={"participant": person.name, "csrf": csrf, "why": bad})
    page = lab.get("/experimenter").text
    assert bad not in page and "&lt;script&gt;" in page
    strange = lab.get(f"/take/{bad}")
    assert strange.status_code == 404 and bad not in strange.text


@pytest.mark.parametrize("path", ["/images/../lab.sqlite", "/static/../server.py", "/static/%2e%2e/server.py", "/images/x.png",
                                  "/experimenter/export/..%2Flab.zip", "/take/..%2F..%2Fetc"])  # fmt: skip
def test_nothing_outside_is_served(lab: Any, path: str) -> None:
    found = lab.get(path, headers={"Authorization": f"Bearer {TOKEN}"})
    assert found.status_code == 404 and b"sqlite" not in found.content.lower()


@pytest.mark.parametrize("name", ["' OR 1=1 --", "objects'; DROP TABLE trials; --", "s-p-1\u0000", "\ud800"])
def test_names_that_are_queries_are_just_names(lab: Any, name: str) -> None:
    person = Person(lab, "objects")
    body = {"session": name, "trial": 0, "tab": "tab1", "answer": {}}
    content = json.dumps(body)
    found = lab.post("/api/trials", content=content, headers=person.headers | {"Content-Type": "application/json"})
    assert found.status_code in (404, 422)
    assert lab.get("/api/me", headers=person.headers).status_code == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read(lab: Any) -> None:
    assert lab.post("/api/participants", content=b"[" * 2_000_000).status_code == 413
    parts = (b"x" * 100_000 for _ in range(20))  # and one that does not say how large it is
    assert lab.post("/api/participants", content=parts).status_code == 413


def test_deep_nesting_is_refused(lab: Any) -> None:
    content = b'{"experiment":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    found = lab.post("/api/participants", content=content, headers={"Content-Type": "application/json"})
    assert 400 <= found.status_code < 500


def test_too_many_requests_from_one_address_wait() -> None:
    limit = RateLimit(None, per_second=2.0, burst=1.0)  # type: ignore[arg-type]
    assert [limit.allows("a", 0.0) for _ in range(3)] == [True, True, False]
    assert limit.allows("b", 0.0)  # others need not
    assert limit.allows("a", 0.5) and not limit.allows("a", 0.5)  # half a second, one request


def test_the_limit_is_told_with_how_long_to_wait(tmp_path: Path) -> None:
    with client(settings(tmp_path, LEARNING, requests=0.2)) as lab:
        answers = [lab.get("/api/me") for _ in range(12)]
    assert [one.status_code for one in answers[:10]] == [401] * 10
    assert answers[-1].status_code == 429 and answers[-1].headers["retry-after"] == "1"


def test_an_image_is_the_same_drawn_and_read_again(lab: Any, tmp_path: Path) -> None:
    person = Person(lab, "objects")
    address = person.claim()["plan"]["trials"][0]["image"]
    drawn, kept = lab.get(address), lab.get(address)
    assert list(tmp_path.rglob("*.png")) and drawn.content == kept.content and kept.content.startswith(b"\x89PNG")
    for answer in (drawn, kept):
        assert answer.headers["content-type"] == "image/png" and "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    next(tmp_path.rglob("*.png")).unlink()  # a file that went missing is drawn again
    assert lab.get(address).content == drawn.content


def test_images_are_drawn_ahead_until_the_server_is_gone(tmp_path: Path) -> None:
    with client(settings(tmp_path, LEARNING)) as lab:
        pictures = lab.app.state.lab.pictures
        left = iter([True, True, False])
        pictures.draw_all(lambda: next(left))
        drawn = {path.stem for path in tmp_path.rglob("*.png")}
        assert drawn == set(list(pictures.where)[:2])


def test_every_answer_has_safe_headers(lab: Any) -> None:
    for path in ("/", "/api/me", "/nothing", "/take/objects"):
        headers = lab.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert "server" not in headers and "strict-transport-security" not in headers
    assert "strict-transport-security" in lab.get("https://testserver/").headers
