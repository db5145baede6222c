"""What servers may ask, what clients may answer, and what neither of them may."""

import json
from typing import Any

import pytest

from interlock.core.questions import (
    ANYTHING,
    MAX_QUESTION,
    Answerable,
    Question,
    Unfit,
    read_answer,
    read_answerable,
    read_question,
)

FORM: dict[str, Any] = {"message": "Sure?", "requestedSchema": {"type": "object"}}
URL: dict[str, Any] = {"mode": "url", "message": "Sign in", "url": "https://example.com/a?b=c#d", "elicitationId": "e"}
SAMPLING: dict[str, Any] = {"messages": [], "maxTokens": 5}
ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


def read(method: str, **params: Any) -> Question:
    return read_question(method, json.dumps(params).encode())


def refused(method: str, params: bytes) -> int:
    with pytest.raises(Unfit) as unfit:
        read_question(method, params)
    return unfit.value.code


@pytest.mark.parametrize(("method", "params"), [(ELICIT, FORM), (ELICIT, URL), (SAMPLE, SAMPLING), (ROOTS, {})])
def test_known_questions_pass_and_lose_every_member_that_is_not_known(method: str, params: dict[str, Any]) -> None:
    assert read(method, **params, _meta={"a": 1}, task={"ttl": 1}, vendorField=1).params == params


def test_a_question_without_params_is_one_without_members() -> None:
    assert read_question(ROOTS, b"") == Question(ROOTS, {})


@pytest.mark.parametrize("method", ["ping", "tasks/list", "elicitation/Create", ""])
def test_any_other_method_is_not_found(method: str) -> None:
    assert refused(method, b"{}") == -32601


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (ELICIT, {}),
        (ELICIT, {"message": "Sure?"}),
        (ELICIT, {**FORM, "message": 5}),
        (ELICIT, {**FORM, "mode": "popup"}),
        (ELICIT, {**FORM, "mode": None}),
        (ELICIT, {"mode": "url", "message": "Sign in"}),
        (SAMPLE, {"messages": []}),
        (SAMPLE, {"maxTokens": 5}),
    ],
)
def test_a_question_that_lacks_something_is_refused(method: str, params: dict[str, Any]) -> None:
    assert refused(method, json.dumps(params).encode()) == -32602


@pytest.mark.parametrize(
    "params", [b"[]", b"5", b"{", b'"\xff"', b"[" * 100_000, b'{"a":"' + b"x" * MAX_QUESTION + b'"}']
)
def test_params_that_are_no_object_or_too_long_are_refused(params: bytes) -> None:
    assert refused(ELICIT, params) == -32602


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "file:///etc/passwd", "ftp://a/b", "https:", "https://", "//a/b", "a", ""),
        *("https://user@evil.example/", "https://good.example\\@evil.example/", "https://a b/", "https://a/\n"),
        *("https://a/\u202egnp.exe", "http s://a", "data:text/html,x", " https://a/"),
    ],
)
def test_only_plain_links_to_the_web_are_passed_on(url: str) -> None:
    assert refused(ELICIT, json.dumps({**URL, "url": url}).encode()) == -32602


@pytest.mark.parametrize("url", ["http://localhost:8080", "HTTPS://example.com", "https://example.com/a@b?c=d@e#f"])
def test_links_to_the_web_are_passed_on_as_they_are(url: str) -> None:
    assert read(ELICIT, **{**URL, "url": url}).params["url"] == url


def test_a_link_has_an_id_for_legacy_clients_only() -> None:
    given, without = read(ELICIT, **URL), read(ELICIT, **{**URL, "elicitationId": None})
    nameless = Question(ELICIT, {key: value for key, value in URL.items() if key != "elicitationId"})

    assert given.shown("own") == URL
    assert nameless.shown("own")["elicitationId"] == "own"
    assert "elicitationId" not in given.shown()
    assert "elicitationId" not in without.shown()
    assert read(ELICIT, **FORM).shown("own") == FORM


# Answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        (ELICIT, FORM, {"action": "accept", "content": {"a": 1}}),
        (ELICIT, FORM, {"action": "accept", "content": None}),
        (ELICIT, FORM, {"action": "decline"}),
        (ELICIT, URL, {"action": "cancel"}),
        (SAMPLE, SAMPLING, {"role": "assistant", "content": {"type": "text"}, "model": "m", "stopReason": "endTurn"}),
        (ROOTS, {}, {"roots": []}),
    ],
)
def test_answers_pass_and_lose_every_member_that_is_not_known(
    method: str, params: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert read_answer(read(method, **params), {**answer, "_meta": {}, "resultType": "complete"}) == answer


def test_a_link_is_answered_without_content() -> None:
    assert read_answer(read(ELICIT, **URL), {"action": "accept", "content": {"a": 1}}) == {"action": "accept"}


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        (ELICIT, FORM, None),
        (ELICIT, FORM, ["accept"]),
        (ELICIT, FORM, {}),
        (ELICIT, FORM, {"action": "maybe"}),
        (ELICIT, FORM, {"action": ["accept"]}),
        (ELICIT, FORM, {"action": "accept", "content": "yes"}),
        (SAMPLE, SAMPLING, {"role": "assistant", "content": {}}),
        (SAMPLE, SAMPLING, {"model": "m", "content": {}}),
        (ROOTS, {}, {"roots": {}}),
    ],
)
def test_answers_that_are_none_are_refused(method: str, params: dict[str, Any], answer: Any) -> None:
    question = read(method, **params)
    with pytest.raises(Unfit):
        read_answer(question, answer)


# What a client can be asked -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({}, Answerable()),
        (None, Answerable()),
        (["elicitation"], Answerable()),
        ({"elicitation": {}}, Answerable(form=True)),
        ({"elicitation": True, "sampling": 1, "roots": []}, Answerable()),
        ({"elicitation": {"form": {}, "url": {}}}, Answerable(form=True, url=True)),
        ({"elicitation": {"url": {}}}, Answerable(url=True)),
        ({"sampling": {}, "roots": {"listChanged": True}}, Answerable(sampling=True, roots=True)),
        ({"sampling": {"tools": {}}}, Answerable(sampling=True, sampling_tools=True)),
    ],
)
def test_capabilities_are_read_as_they_were_meant(capabilities: Any, can: Answerable) -> None:
    assert read_answerable(capabilities) == can
    assert read_answerable(can.as_capabilities()) == can


@pytest.mark.parametrize(
    ("method", "params", "needed"),
    [
        (ELICIT, FORM, {"elicitation": {"form": {}}}),
        (ELICIT, URL, {"elicitation": {"url": {}}}),
        (SAMPLE, SAMPLING, {"sampling": {}}),
        (SAMPLE, {**SAMPLING, "tools": []}, {"sampling": {"tools": {}}}),
        (SAMPLE, {**SAMPLING, "toolChoice": {}}, {"sampling": {"tools": {}}}),
        (ROOTS, {}, {"roots": {}}),
    ],
)
def test_what_a_question_needs_is_named_unless_it_is_there(method: str, params: dict[str, Any], needed: Any) -> None:
    question = read(method, **params)

    assert Answerable().lacks(question) == needed
    assert read_answerable(needed).lacks(question) is None


def test_a_mode_that_is_not_supported_is_a_wrong_param_and_a_method_that_is_not_is_not_found() -> None:
    url, form, roots = read(ELICIT, **URL), read(ELICIT, **FORM), read(ROOTS)

    assert Answerable(form=True).refusal_code(url) == -32602
    assert Answerable(url=True).refusal_code(form) == -32602
    assert Answerable().refusal_code(url) == -32601
    assert ANYTHING.refusal_code(roots) == -32601
