"""Manifests: what they may say, and what is said about those that cannot be used."""

from typing import Any

import pytest

from interlock.core.model import Json
from interlock.lab.played.manifest import (
    OK,
    Fault,
    FaultKind,
    Manifest,
    ManifestUnfit,
    manifest_of,
    manifest_of_list,
    saved_tools,
)


def with_tool(**members: Any) -> Json:
    return {"mock_server": {"name": "m", "tools": [{"name": "t", **members}]}}


def problems(value: Json) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ManifestUnfit) as unfit:
        manifest_of(value)
    return [(each.path, each.text) for each in unfit.value.problems]


def test_a_tool_is_listed_under_the_names_of_the_protocol() -> None:
    given: dict[str, Any] = {
        "title": "T",
        "description": "d",
        "input_schema": {"type": "object", "properties": {}},
        "output_schema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"a": 1},
    }
    (tool,) = manifest_of(with_tool(**given)).tools

    assert tool.descriptor == {
        "name": "t",
        "title": "T",
        "description": "d",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"a": 1},
    }


def test_a_tool_needs_only_a_name() -> None:
    (tool,) = manifest_of(with_tool()).tools

    assert tool.descriptor == {"name": "t", "inputSchema": {"type": "object"}}
    assert tool.responses == (OK,)
    assert tool.fault is None


def test_a_list_of_responses_is_kept_in_order() -> None:
    first: dict[str, Any] = {"content": [], "isError": True}
    second = {"structuredContent": {"a": 1}}
    (tool,) = manifest_of(with_tool(response=[first, second])).tools

    assert tool.responses == (first, {"content": [], **second})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hang", Fault(FaultKind.HANG)),
        ("error", Fault(FaultKind.ERROR)),
        ("garbage", Fault(FaultKind.GARBAGE)),
        ("crash", Fault(FaultKind.CRASH)),
        ("slow:250", Fault(FaultKind.SLOW, 250)),
    ],
)
def test_the_faults(text: str, fault: Fault) -> None:
    (tool,) = manifest_of(with_tool(fault=text)).tools

    assert tool.fault == fault


@pytest.mark.parametrize("text", ["slow", "slow:", "slow:-1", "slow:600001", "slow:9999999", "explode", ""])
def test_any_other_fault_is_a_problem(text: str) -> None:
    ((path, said),) = problems(with_tool(fault=text))

    assert path == ("mock_server", "tools", 0, "fault")
    assert "slow:<ms up to 600000>" in said


def test_resources_and_prompts() -> None:
    given: Json = {
        "mock_server": {
            "name": "m",
            "version": "2",
            "resources": [{"uri": "a:b", "name": "r", "mime_type": "text/plain", "text": "hello"}],
            "prompts": [
                {"name": "p", "description": "d", "arguments": [{"name": "x"}], "messages": [{"role": "user"}]},
            ],
        }
    }
    manifest = manifest_of(given)

    assert manifest.version == "2"
    assert manifest.resources[0].descriptor == {"uri": "a:b", "name": "r", "mimeType": "text/plain"}
    assert manifest.resources[0].text == "hello"
    assert manifest.prompts[0].descriptor == {"name": "p", "description": "d", "arguments": [{"name": "x"}]}
    assert manifest.prompts[0].messages == [{"role": "user"}]


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        (with_tool(respones={}), ("mock_server", "tools", 0, "respones"), "unknown key 'respones'"),
        ({"mock_server": {"name": "m"}, "x": 1}, ("x",), "unknown key 'x'"),
        (with_tool(response={"contents": []}), ("mock_server", "tools", 0, "response", "contents"), "unknown key"),
        (with_tool(response=[{}, {"a": 1}]), ("mock_server", "tools", 0, "response", 1, "a"), "unknown key 'a'"),
        (with_tool(response=[]), ("mock_server", "tools", 0, "response"), "without a response"),
        (with_tool(annotations=[]), ("mock_server", "tools", 0, "annotations"), "must be an object"),
        (with_tool(inputSchema={}, input_schema={}), ("mock_server", "tools", 0, "input_schema"), "says again"),
        ({"mock_server": {"name": "m", "tools": [1]}}, ("mock_server", "tools", 0), "must be an object"),
        ({"mock_server": {"tools": []}}, ("mock_server",), "'name' is missing"),
        (None, (), "must be an object"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(given: Json, path: tuple[str | int, ...], said: str) -> None:
    found = problems(given)

    assert any(at == path and said in text for at, text in found), found


def test_two_tools_of_one_name_are_a_problem() -> None:
    tools: Json = [{"name": "t"}, {"name": "t"}]

    assert problems({"mock_server": {"name": "m", "tools": tools}}) == [
        (("mock_server", "tools", 1), "there are two tools 't'")
    ]


def test_all_problems_are_told_at_once() -> None:
    assert len(problems(with_tool(a=1, b=2, fault="x"))) == 3


def test_a_tool_without_a_response_answers_what_its_output_schema_wants() -> None:
    schema: Json = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}, "required": ["n"]}
    (tool,) = manifest_of(with_tool(output_schema=schema)).tools
    (saved,) = manifest_of_list([{"name": "t", "outputSchema": schema}], "saved").tools

    for each in (tool, saved):
        made: Any = each.responses[0]["structuredContent"]
        assert made["n"] >= 5


def test_an_output_schema_that_nothing_fits_gives_a_plain_answer() -> None:
    (tool,) = manifest_of(with_tool(output_schema={"type": "object", "not": {}})).tools

    assert tool.responses == (OK,)


# Saved lists ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [{"tools": [{"name": "t"}]}, {"id": 1, "result": {"tools": [{"name": "t"}]}}])
def test_a_saved_list_is_known_in_both_forms(value: Json) -> None:
    assert saved_tools(value) == [{"name": "t"}]


@pytest.mark.parametrize("value", [None, [], {"mock_server": {}}, {"tools": {}}, {"result": 1}])
def test_anything_else_is_no_saved_list(value: Json) -> None:
    assert saved_tools(value) is None


def test_the_tools_of_a_saved_list_are_kept_as_they_are_and_answer_ok() -> None:
    tool: Json = {"name": "t", "inputSchema": {"type": "object"}, "icons": [], "execution": {}}

    manifest = manifest_of_list([tool], "saved")

    assert isinstance(manifest, Manifest)
    assert manifest.tools[0].descriptor == tool
    assert manifest.tools[0].responses == (OK,)


@pytest.mark.parametrize("tools", [[{"a": 1}], [1], [{"name": ""}], [{"name": "t"}, {"name": "t"}]])
def test_a_saved_list_without_names_cannot_be_used(tools: list[Json]) -> None:
    with pytest.raises(ManifestUnfit):
        manifest_of_list(tools, "saved")
