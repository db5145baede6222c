"""What a recording hears and writes."""

from pathlib import Path
from typing import Any

import pytest

from interlock.core.canonical import argument_digest
from interlock.core.health import Introduction
from interlock.core.model import Call, Caller
from interlock.core.redact import KnownSecrets
from interlock.forward.link import RpcError
from interlock.lab.played.cassette import CassetteFile, Interaction, read_cassette
from interlock.lab.played.tape import Tape, interaction_of
from interlock.pipeline import Answer

CALL = {"name": "t", "arguments": {"a": 1}}


def called(method: str = "tools/call", **arguments: Any) -> Call:
    return Call(Caller("local"), "s", "t", arguments, argument_digest(arguments), method=method)


def test_a_call_is_written_in_the_words_of_its_server() -> None:
    answer = Answer(b'{"content": [], "resultType": "complete"}')

    assert interaction_of(called(a=1), answer) == Interaction("tools/call", CALL, result={"content": []})


def test_another_method_is_written_with_its_own_params() -> None:
    read = interaction_of(called("resources/read", uri="a:b"), Answer(b'{"contents": []}'))

    assert read == Interaction("resources/read", {"uri": "a:b"}, result={"contents": []})


@pytest.mark.parametrize(
    ("error", "written"),
    [
        (RpcError(-5, "no"), {"code": -5, "message": "no"}),
        (RpcError(-5, "no", b'{"a": 1}'), {"code": -5, "message": "no", "data": {"a": 1}}),
    ],
)
def test_an_error_is_written_as_one(error: RpcError, written: dict[str, Any]) -> None:
    assert interaction_of(called(a=1), Answer(error=error)) == Interaction("tools/call", CALL, error=written)


@pytest.mark.parametrize("result", [b"", b"[]", b"5", b"{"])
def test_an_answer_that_cannot_be_said_again_is_not_written(result: bytes) -> None:
    assert interaction_of(called(), Answer(result)) is None


def tape(path: Path) -> tuple[Tape, CassetteFile]:
    file = CassetteFile(path)
    return Tape(file, "s", KnownSecrets), file


def test_lists_are_written_when_they_are_others_than_before(tmp_path: Path) -> None:
    to, file = tape(tmp_path / "c")
    to.begin("2025-11-25", Introduction())
    for tools in (["a"], ["a"], ["a", "b"]):
        to.lists({"tools": tools})
    file.close()
    content = (tmp_path / "c").read_bytes()

    assert content.count(b'"list"') == 2
    assert read_cassette(content).lists == {"tools": ["a", "b"]}


def test_a_tape_that_cannot_write_says_why_and_stops(tmp_path: Path) -> None:
    to, file = tape(tmp_path / "c")
    file.close()
    to.begin("2025-11-25", Introduction())
    first = to.problem
    to.lists({"tools": []})

    assert first
    assert to.problem == first
    assert (tmp_path / "c").read_bytes() == b""
