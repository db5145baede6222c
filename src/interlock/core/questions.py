"""What a server may ask the client of a call, and what comes back: the known methods, and their known members.

A question is a hostile text on its way to a person, and its answer may be a person's consent. So nothing is passed on
that is not understood: three methods, the members that the protocol has for them, a bounded length, and of links only
those that lead to the web. Texts are passed on as they are: what they say is for the person to judge.

Pure. This module refuses to know who asks whom, and in which era.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import msgspec

from interlock.core.model import Json, JsonObject

MAX_QUESTION = 64 * 1024
"""The longest question, as JSON."""
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
_WEB = re.compile(r"https?://[^\s/?#\\@]+([/?#][^\s\\]*)?", re.IGNORECASE)
"""A link to the web. A name before the host only makes it look like another host."""


class Kind(StrEnum):
    ELICITATION = "elicitation"
    SAMPLING = "sampling"
    ROOTS = "roots"


KINDS: Mapping[str, Kind] = {
    "elicitation/create": Kind.ELICITATION,
    "sampling/createMessage": Kind.SAMPLING,
    "roots/list": Kind.ROOTS,
}
_FORM = ("mode", "message", "requestedSchema")
_URL = ("mode", "message", "url", "elicitationId")
_SAMPLING = (
    *("messages", "modelPreferences", "systemPrompt", "includeContext", "temperature", "maxTokens"),
    *("stopSequences", "metadata", "tools", "toolChoice"),
)
_ANSWERS: Mapping[Kind, tuple[str, ...]] = {
    Kind.ELICITATION: ("action", "content"),
    Kind.SAMPLING: ("role", "content", "model", "stopReason"),
    Kind.ROOTS: ("roots",),
}
_ACTIONS = ("accept", "decline", "cancel")


class Unfit(Exception):
    """A question or an answer that is not passed on; `code` is the JSON-RPC error for whoever sent it."""

    def __init__(self, why: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(why)
        self.why = why
        self.code = code


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with the members that it may have and no others."""

    method: str
    params: JsonObject

    @property
    def kind(self) -> Kind:
        return KINDS[self.method]

    @property
    def by_url(self) -> bool:
        """Whether a person is asked to follow a link."""
        return self.params.get("mode") == "url"

    def shown(self, elicitation_id: str | None = None) -> JsonObject:
        """Its params for a client. A link has an id of its own in the legacy protocol, and none in the modern one."""
        if not self.by_url:
            return self.params
        others = {key: value for key, value in self.params.items() if key != "elicitationId"}
        return others if elicitation_id is None else {"elicitationId": elicitation_id, **self.params}


def read_question(method: str, params: bytes) -> Question:
    """The question in a request of a server; raises Unfit."""
    if method not in KINDS:
        raise Unfit("Method not found", METHOD_NOT_FOUND)
    if len(params) > MAX_QUESTION:
        raise Unfit(f"a question has at most {MAX_QUESTION} bytes")
    try:
        given: Any = msgspec.json.decode(params or b"{}")
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise Unfit("the params are not valid JSON") from None
    if not isinstance(given, dict):
        raise Unfit("the params must be an object")
    return Question(method, _READERS[KINDS[method]](cast("JsonObject", given)))


def _elicitation(given: JsonObject) -> JsonObject:
    mode = given.get("mode", "form")
    if mode not in ("form", "url"):
        raise Unfit("mode must be form or url")
    _need(given, "message", str)
    if mode == "form":
        _need(given, "requestedSchema", dict)
        return _only(given, _FORM)
    _need(given, "url", str)
    if not _is_web(cast("str", given["url"])):
        raise Unfit("url must be a plain http or https link")
    return _only(given, _URL)


def _sampling(given: JsonObject) -> JsonObject:
    _need(given, "messages", list)
    _need(given, "maxTokens", int)
    return _only(given, _SAMPLING)


def _roots(given: JsonObject) -> JsonObject:
    return {}


_READERS: Mapping[Kind, Callable[[JsonObject], JsonObject]] = {
    Kind.ELICITATION: _elicitation,
    Kind.SAMPLING: _sampling,
    Kind.ROOTS: _roots,
}


def read_answer(question: Question, given: Json) -> JsonObject:
    """A client's answer with the members that it may have; raises Unfit."""
    if not isinstance(given, Mapping):
        raise Unfit("an answer must be an object")
    answer = cast("JsonObject", given)
    if question.kind is Kind.ELICITATION:
        if answer.get("action") not in _ACTIONS:
            raise Unfit("action must be accept, decline or cancel")
        if "content" in answer and answer["content"] is not None:
            _need(answer, "content", dict)
    elif question.kind is Kind.ROOTS:
        _need(answer, "roots", list)
    else:
        _need(answer, "role", str)
        _need(answer, "model", str)
    return _only(answer, ("action",) if question.by_url else _ANSWERS[question.kind])


def _need(given: JsonObject, member: str, kind: type) -> None:
    if not isinstance(given.get(member), kind):
        raise Unfit(f"{member} is missing or of the wrong type")


def _only(given: JsonObject, members: tuple[str, ...]) -> JsonObject:
    return {name: given[name] for name in members if name in given}


def _is_web(url: str) -> bool:
    return url.isprintable() and _WEB.fullmatch(url) is not None


# What a client can be asked -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answerable:
    """What the client of a call can be asked, by its own word."""

    form: bool = False
    url: bool = False
    sampling: bool = False
    sampling_tools: bool = False
    roots: bool = False

    def lacks(self, question: Question) -> JsonObject | None:
        """The capability that a question needs and this client has not; None when it has it."""
        if question.kind is Kind.ROOTS:
            return None if self.roots else {"roots": {}}
        if question.kind is Kind.SAMPLING:
            if "tools" in question.params or "toolChoice" in question.params:
                return None if self.sampling_tools else {"sampling": {"tools": {}}}
            return None if self.sampling else {"sampling": {}}
        if question.by_url:
            return None if self.url else {"elicitation": {"url": {}}}
        return None if self.form else {"elicitation": {"form": {}}}

    def refusal_code(self, question: Question) -> int:
        """How a client that lacks what a question needs refuses it."""
        elicits = self.form or self.url
        return INVALID_PARAMS if question.kind is Kind.ELICITATION and elicits else METHOD_NOT_FOUND

    def as_capabilities(self) -> JsonObject:
        """The same as a client declares it."""
        modes: JsonObject = {name: {} for name, can in (("form", self.form), ("url", self.url)) if can}
        declared: dict[str, Json] = {"elicitation": modes} if modes else {}
        if self.sampling:
            declared["sampling"] = {"tools": {}} if self.sampling_tools else {}
        if self.roots:
            declared["roots"] = {}
        return declared


ANYTHING = Answerable(form=True, url=True, sampling=True, roots=True)
"""What is declared for a client that is not known yet. What the real one lacks is refused question by question."""


def read_answerable(capabilities: Json) -> Answerable:
    """What a client declared. A mode that is not named means forms, as it did before there were modes."""
    declared = _object(capabilities)
    elicitation, sampling = (declared.get(name) for name in ("elicitation", "sampling"))
    modes = _object(elicitation)
    return Answerable(
        form=isinstance(elicitation, Mapping) and ("form" in modes or "url" not in modes),
        url="url" in modes,
        sampling=isinstance(sampling, Mapping),
        sampling_tools="tools" in _object(sampling),
        roots=isinstance(declared.get("roots"), Mapping),
    )


def _object(given: Json) -> JsonObject:
    return cast("JsonObject", given) if isinstance(given, Mapping) else {}
