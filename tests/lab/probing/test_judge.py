"""Each kind of finding is made from calls that show it, and from no others."""

from typing import Any

import pytest

from interlock import errors
from interlock.lab.model import Finding, Observed, Severity
from interlock.lab.probing.judge import LARGE, SHOWN, SLOW, Tried, judged, nothing_works
from tests.lab.bench import lab_tools

OUTPUT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
(PLAIN,) = lab_tools({"name": "get_it"})
(TYPED,) = lab_tools({"name": "get_it", "outputSchema": OUTPUT})


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


def tried(kind: str = "valid", *, ms: float = 1.0, size: int = 10, about: str = "", **came: Any) -> Tried:
    came = came or {"result": text("fine")}
    return Tried(kind, Observed("get_it", {"password": "hunter22"}, ms, size=size, activity="a1", **came), about)


def failed(said: str) -> dict[str, Any]:
    return text(said, isError=True)


def codes(*calls: Tried, typed: bool = False) -> list[str]:
    return [each.code for each in judged(TYPED if typed else PLAIN, calls)]


LOST = {"server": "s", "problem": "it ended"}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([tried(), tried("again")], []),
        ([tried(refusal=errors.UPSTREAM_LOST(**LOST))], ["crash"]),
        ([tried("boundary", refusal=errors.UPSTREAM_LOST(**LOST))] * 2, ["crash"]),
        ([tried(refusal=errors.UPSTREAM_TIMEOUT(server="s", seconds=1))], ["hang"]),
        ([tried(refusal=errors.OUT_OF_PROTOCOL(**LOST))], ["protocol-error"]),
        ([tried(refusal=errors.DENIED_BY_RULE(tool="get_it"))], []),
        ([tried(result={})], ["protocol-error"]),
        ([tried(result={"content": "text"})], ["protocol-error"]),
        ([tried(result={"content": ["text"]})], ["protocol-error"]),
        ([tried(result={"content": [{"text": "x"}]})], ["protocol-error"]),
        ([tried(result={"content": [], "isError": "no"})], ["protocol-error"]),
        ([tried(result={"resultType": "input_required", "inputRequests": {}})], []),
        ([tried(result=failed("it broke"))], ["error-on-valid"]),
        ([tried(error={"code": -32602, "message": "no"})], ["error-on-valid"]),
        ([tried("boundary", result=failed("too long"))], []),
        ([tried("invalid", result=failed("no"))], []),
        ([tried("invalid", error={"code": -32602, "message": "no"})], []),
        ([tried("invalid", about="type at /name")], ["accepts-invalid"]),
        ([tried(result=text("a")), tried("again", result=text("b"))], ["unstable"]),
        ([tried(result=text("n 1")), tried("again", result=text("n 2"))], ["volatile"]),
        ([tried(), tried("again", refusal=errors.DENIED_BY_RULE(tool="x"))], []),
        ([tried(size=LARGE + 1)], ["oversize"]),
        ([tried(size=LARGE)], []),
        ([tried(ms=SLOW + 1), tried("boundary", ms=SLOW + 1)], ["slow"]),
        ([tried(ms=SLOW + 1)], []),
        ([tried(ms=SLOW), tried("boundary", ms=SLOW)], []),
    ],
)
def test_calls_lead_to_findings(calls: list[Tried], expected: list[str]) -> None:
    assert codes(*calls) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (text("3", structuredContent={"count": 3}), []),
        (text("3", structuredContent={"count": "3"}), ["output-schema"]),
        (text("3"), ["output-schema"]),
        (failed("no"), ["error-on-valid"]),
    ],
)
def test_what_is_declared_about_answers_is_held_against_them(result: dict[str, Any], expected: list[str]) -> None:
    assert codes(tried(result=result), typed=True) == expected


def test_an_output_schema_that_is_none_is_held_against_nobody() -> None:
    (tool,) = lab_tools({"name": "get_it", "outputSchema": {"$ref": "https://example.invalid/x"}})
    assert judged(tool, [tried()]) == []


@pytest.mark.parametrize(
    "said", ["ENOENT: no such file", "Note not found", "It does not exist", "path is outside /srv"]
)
def test_a_made_up_name_that_is_not_there_is_hardly_worth_a_word(said: str) -> None:
    (found,) = judged(PLAIN, [tried(result=failed(said))])
    assert found.severity is Severity.INFO


def evidence_of(*calls: Tried) -> Finding:
    (found,) = judged(PLAIN, calls)
    return found


def test_evidence_names_the_call_and_hides_secrets() -> None:
    found = evidence_of(tried(refusal=errors.UPSTREAM_LOST(**LOST), about="type at /x"))
    assert found.evidence["activity"] == "a1"
    assert found.evidence["about"] == "type at /x"
    assert "hunter22" not in str(found.evidence)


def test_evidence_is_cut_short_and_can_be_written_down() -> None:
    found = evidence_of(tried(result=failed("\ud800" + "x" * 10_000)))
    assert len(found.evidence["answer"]) <= SHOWN + 1
    found.evidence["answer"].encode("utf-8")


def test_all_that_was_taken_wrongly_is_one_finding() -> None:
    found = evidence_of(*(tried("invalid", about=f"type at /{at}") for at in range(9)))
    assert (found.evidence["times"], len(found.evidence["broken"])) == ("9", 5)


BROKEN, ABSENT = tried(result=failed("no key")), tried(result=failed("Note not found"))
DENIED = tried(refusal=errors.DENIED_BY_RULE(tool="get_it"))


@pytest.mark.parametrize(
    ("calls", "severities"),
    [
        ({"a": [BROKEN], "b": [BROKEN], "c": [BROKEN, ABSENT]}, [Severity.HIGH]),
        ({"a": [BROKEN], "b": [tried(refusal=errors.UPSTREAM_LOST(**LOST))], "c": [BROKEN]}, [Severity.HIGH]),
        ({"a": [ABSENT, BROKEN], "b": [ABSENT], "c": [ABSENT]}, [Severity.LOW]),
        ({"a": [BROKEN], "b": [BROKEN, tried()], "c": [BROKEN]}, []),
        ({"a": [BROKEN], "b": [BROKEN]}, []),
        ({"a": [BROKEN], "b": [BROKEN], "c": [DENIED]}, []),
        ({}, []),
    ],
)
def test_a_server_of_which_no_call_gave_a_good_answer_is_told_of(
    calls: dict[str, list[Tried]], severities: list[Severity]
) -> None:
    assert [each.severity for each in nothing_works(calls)] == severities


def test_that_nothing_works_is_told_with_what_the_tools_answered() -> None:
    (found,) = nothing_works({name: [BROKEN] for name in ("a", "b", "c")})
    assert (found.code, found.tool) == ("nothing-works", None)
    assert found.evidence == {"tools": "3", "calls": "3", "answers": ["a: no key", "b: no key", "c: no key"]}
