"""Finding the tool or the server that a person means."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from interlock.cli.command import Values
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.lookup import by_part, find_server, find_tool, note_servers_down
from interlock.errors import Code, Exit, InterlockError
from tests.cli.running import Beside, Interlock, configure

T = TypeVar("T")
NOWHERE = Values(config=None, data_dir=None)


def asked(question: Callable[[Api], Awaitable[T]]) -> T:
    """What a question to the gateway gives."""
    answers: list[T] = []

    async def work(api: Api) -> Exit:
        answers.append(await question(api))
        return Exit.OK

    through_gateway(NOWHERE, work)
    return answers[0]


@pytest.mark.parametrize("name", ["up:echo", "echo"])
def test_a_tool_is_found_by_its_whole_name_or_by_a_bare_one_that_is_unique(beside: Beside, name: str) -> None:
    found = asked(lambda api: find_tool(api, name))

    assert (found.server, found.tool) == ("up", "echo")
    assert not isinstance(found.detail, InterlockError)
    assert found.detail["name"] == "up:echo"


def test_a_bare_name_that_is_only_part_of_others_is_not_found(beside: Beside) -> None:
    with pytest.raises(InterlockError) as raised:
        asked(lambda api: find_tool(api, "write_not"))

    assert raised.value.reason.text == "Tool 'write_not' not found. Did you mean 'write_note'?"


def test_a_bare_name_that_several_servers_have_is_refused_with_all_of_them(beside: Beside) -> None:
    with pytest.raises(InterlockError) as raised:
        asked(lambda api: find_tool(api, "read_note"))

    assert raised.value.reason.text == "several servers have a tool 'read_note': odd:read_note, up:read_note"
    assert raised.value.reason.fix == "Say which one, as server:tool."


def test_a_whole_name_that_nobody_has_is_given_back_with_the_reason(beside: Beside) -> None:
    found = asked(lambda api: find_tool(api, "up:read_not"))

    assert (found.server, found.tool) == ("up", "read_not")
    assert isinstance(found.detail, InterlockError)
    assert found.detail.reason.code is Code.NOT_FOUND


def test_a_bare_name_may_be_very_long(beside: Beside) -> None:
    with pytest.raises(InterlockError) as raised:
        asked(lambda api: find_tool(api, "read_" + "x" * 5000))

    assert raised.value.reason.code is Code.NOT_FOUND


@pytest.mark.parametrize(("name", "server"), [(None, None), ("up", "up")])
def test_a_server_is_found_by_its_id(beside: Beside, name: str | None, server: str | None) -> None:
    assert asked(lambda api: find_server(api, name)) == server


def test_a_misspelt_server_is_refused_with_a_suggestion(beside: Beside) -> None:
    with pytest.raises(InterlockError, match=r"server 'upp' not found\. Did you mean 'up'\?"):
        asked(lambda api: find_server(api, "upp"))


def test_servers_that_do_not_run_are_told_and_the_others_not(
    beside: Beside, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(note_servers_down)
    said = capsys.readouterr()

    assert said.out == ""
    assert said.err.startswith("Server 'down' is down: ")
    assert len(said.err.splitlines()) == 1


def test_a_server_is_found_by_its_namespace(il: Interlock) -> None:
    configure("servers: {github-mcp: {command: /nowhere/at/all, namespace: github}}")
    done = il("tool", "list", "--server", "github", "--json")

    assert (done.exit, done.json["total"]) == (0, 0)


# Ids ------------------------------------------------------------------------------------------------------------

IDS = ["ap_00112233445566", "ap_00112233aabbcc", "ap_99112233445566"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("ap_00112233445566", 0),
        ("ap_001122334", 0),
        ("001122334", 0),
        ("bbcc", 1),
        ("9911", 2),
    ],
)
def test_a_part_of_an_id_that_only_one_has_is_enough(given: str, found: int) -> None:
    assert by_part(given, IDS, "approval") == IDS[found]


def test_the_middle_of_an_id_is_no_part_of_it() -> None:
    assert by_part("112233", IDS, "approval") is None


@pytest.mark.parametrize("given", ["ap_0", "0011", "445566"])
def test_a_part_that_several_have_is_refused_with_them(given: str) -> None:
    with pytest.raises(InterlockError, match=f"several approvals begin or end with '{given}': ap_"):
        by_part(given, IDS, "approval")


@pytest.mark.parametrize("given", ["", "a", "bcc"])
def test_a_part_that_is_too_short_is_refused(given: str) -> None:
    with pytest.raises(InterlockError, match="is too short for an id"):
        by_part(given, IDS, "approval")


def test_an_id_that_is_whole_may_be_short() -> None:
    assert by_part("x", ["x", "xx"], "grant") == "x"


def test_of_very_many_candidates_some_are_named_and_the_rest_counted() -> None:
    with pytest.raises(InterlockError, match=r"ap_x9 and 2 more$"):
        by_part("ap_x", [f"ap_x{at}" for at in range(12)], "approval")
