"""What callers see, and what names stand for."""

import pytest

from interlock.core.canonical import argument_digest
from interlock.core.decide import GatewayEntry
from interlock.core.model import Call, Caller, Declaration, Json, Scope, Variant
from interlock.core.policy import Policy
from interlock.core.safety import Posture
from interlock.core.toolbook import Listing, ToolBook
from interlock.errors import Code, Reason
from interlock.receive.catalog import Catalog, DeskWork, Expose, Search

BOOK = (
    ToolBook()
    .with_listing(
        Listing(
            "github-mcp",
            "github",
            [
                {"name": "get_issue", "description": "Read one issue.", "annotations": {"readOnlyHint": True}},
                {"name": "delete_repo", "annotations": {"destructiveHint": True}, "inputSchema": {"type": "object"}},
                {"name": "searchUsers", "description": "Find people", "annotations": {"openWorldHint": False}},
            ],
        )
    )
    .with_listing(Listing("db", "db", [{"name": "run_sql", "description": "Run a query on issues"}]))
)
AGENT = Caller("agent")
OURS = ["retrieve_tools", "call_tool_read", "call_tool_write", "call_tool_destructive"]
THEIRS = ["github__get_issue", "github__delete_repo", "github__searchUsers", "db__run_sql"]


def names(catalog: Catalog, caller: Caller = AGENT, book: ToolBook = BOOK) -> list[str]:
    return [each["name"] for each in catalog.tools_for(caller, book, Policy())]


def resolve(
    name: str, params: dict[str, Json] | None = None, catalog: Catalog | None = None
) -> Call | Search | DeskWork | Reason:
    return (catalog or Catalog()).resolve(name, params or {}, AGENT, BOOK)


@pytest.mark.parametrize(
    ("expose", "listed"), [(Expose.SEARCH, OURS), (Expose.DIRECT, THEIRS), (Expose.BOTH, OURS + THEIRS)]
)
def test_each_mode_lists_what_it_says(expose: Expose, listed: list[str]) -> None:
    assert names(Catalog(expose)) == [*listed, "interlock__await_approval"]


def test_our_own_tools_can_be_left_out_of_the_list_and_called_all_the_same() -> None:
    catalog = Catalog(Expose.DIRECT, own_tools=False)

    assert names(catalog) == THEIRS
    assert isinstance(resolve("interlock__await_approval", catalog=catalog), DeskWork)


def test_direct_tools_keep_their_whole_definition() -> None:
    listed = Catalog(Expose.DIRECT).tools_for(AGENT, BOOK, Policy(entry=GatewayEntry(Posture.OPEN)))

    assert listed[1] == {
        "name": "github__delete_repo",
        "annotations": {"destructiveHint": True},
        "inputSchema": {"type": "object"},
    }


def test_the_schema_of_a_tool_that_may_be_held_says_where_to_give_a_reason() -> None:
    get_issue, delete_repo = Catalog(Expose.DIRECT).tools_for(AGENT, BOOK, Policy())[:2]

    assert list(delete_repo["inputSchema"]["properties"]) == ["_justification", "_approval_id"]
    assert "inputSchema" not in get_issue


APPROVING = ["interlock__list_pending_approvals", "interlock__approve_tool_call", "interlock__deny_tool_call"]


@pytest.mark.parametrize("name", APPROVING)
def test_the_tools_of_approvers_are_there_for_approvers_only(name: str) -> None:
    approver = Caller("boss", may_call=False, may_answer=True)

    assert name in names(Catalog(), approver)
    assert name not in names(Catalog())
    assert isinstance(Catalog().resolve(name, {}, approver, BOOK), DeskWork)
    assert isinstance(resolve(name), Reason)


def test_an_approver_that_is_no_agent_sees_and_calls_no_other_tools() -> None:
    approver = Caller("boss", may_call=False, may_answer=True)

    assert names(Catalog(Expose.BOTH), approver) == [*APPROVING, "interlock__await_approval"]
    refused = Catalog(Expose.BOTH).resolve("github__get_issue", {}, approver, BOOK)
    assert isinstance(refused, Reason)
    assert refused.code is Code.FORBIDDEN


def test_a_caller_does_not_see_what_its_token_does_not_reach() -> None:
    narrow = Caller("ci", scope=Scope(servers=("github-mcp",), tools=("get_*",)))

    assert names(Catalog(Expose.DIRECT), narrow) == ["github__get_issue", "interlock__await_approval"]


def test_without_namespacing_the_names_of_the_only_server_are_bare() -> None:
    book = ToolBook().with_listing(Listing("db", "db", [{"name": "run_sql"}]))
    catalog = Catalog(Expose.DIRECT, namespacing=False)
    call = catalog.resolve("run_sql", {}, AGENT, book)

    assert names(catalog, book=book) == ["run_sql", "interlock__await_approval"]
    assert isinstance(call, Call)
    assert call.shown == "db:run_sql"


@pytest.mark.parametrize("name", ["github-mcp:get_issue", "github:get_issue", "github__get_issue"])
def test_a_variant_calls_the_tool_it_names(name: str) -> None:
    params: dict[str, Json] = {"name": name, "args": {"id": 5}, "intent": {"operation_type": "read", "reason": "why"}}
    call = resolve("call_tool_read", params)

    assert call == Call(
        AGENT,
        "github-mcp",
        "get_issue",
        {"id": 5},
        argument_digest({"id": 5}),
        Variant.READ,
        Declaration(given=True, operation_type="read", reason="why"),
    )


@pytest.mark.parametrize(
    ("beside", "among", "about"),
    [
        ({"_approval_id": "a"}, {}, "a"),
        ({}, {"_approval_id": "b"}, "b"),
        ({"_approval_id": "a"}, {"_approval_id": "b"}, "b"),
        ({"_approval_id": ""}, {}, None),
        ({"_approval_id": 7}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_variant_may_name_an_approval_beside_the_arguments_or_among_them(
    beside: dict[str, Json], among: dict[str, Json], about: str | None
) -> None:
    params = {"name": "github:get_issue", "args": {"id": 5, **among}, "intent": {"operation_type": "read"}, **beside}
    call = resolve("call_tool_read", params)

    assert isinstance(call, Call)
    assert (call.approval_id, call.arguments, call.digest) == (about, {"id": 5}, argument_digest({"id": 5}))
    (shown,) = (each for each in Catalog().tools_for(AGENT, BOOK, Policy()) if each["name"] == "call_tool_read")
    assert "_approval_id" in shown["inputSchema"]["properties"]


def test_a_direct_call_declares_nothing_and_its_justification_stays_here() -> None:
    call = resolve("db__run_sql", {"sql": "x", "_justification": "why", "_approval_id": "a"}, Catalog(Expose.BOTH))

    assert isinstance(call, Call)
    assert call.arguments == {"sql": "x"}
    assert call.digest == argument_digest({"sql": "x"})
    assert (call.variant, call.declaration) == (Variant.DIRECT, Declaration(reason="why"))


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        ({}, {}),
        ({"args": None}, {}),
        ({"args_json": '{"a": 1}'}, {"a": 1}),
        ({"args": {"b": 2}, "args_json": '{"a": 1}'}, {"b": 2}),
        ({"args": {"_justification": "x", "c": 3}}, {"c": 3}),
    ],
)
def test_arguments_come_as_an_object_or_as_json_text(params: dict[str, Json], arguments: dict[str, Json]) -> None:
    call = resolve("call_tool_write", {"name": "db:run_sql", **params})

    assert isinstance(call, Call)
    assert call.arguments == arguments


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("call_tool_read", {}, Code.BAD_REQUEST),
        ("call_tool_read", {"name": 5}, Code.BAD_REQUEST),
        ("call_tool_read", {"name": "db:x", "args": [1]}, Code.BAD_REQUEST),
        ("call_tool_read", {"name": "db:x", "args_json": "{"}, Code.BAD_REQUEST),
        ("call_tool_read", {"name": "db:x", "args_json": '{"a":1,"a":2}'}, Code.BAD_REQUEST),
        ("call_tool_read", {"name": "db:x", "args_json": "[1]"}, Code.BAD_REQUEST),
        ("call_tool", {}, Code.UNKNOWN_TOOL),
        ("db__run_sql", {}, Code.UNKNOWN_TOOL),
        ("nothing", {}, Code.UNKNOWN_TOOL),
    ],
)
def test_what_cannot_be_called_is_refused_with_a_way_out(name: str, params: dict[str, Json], code: Code) -> None:
    refused = resolve(name, params)

    assert isinstance(refused, Reason)
    assert refused.code is code
    assert refused.fix


def test_the_old_call_tool_is_answered_with_the_promised_text() -> None:
    refused = resolve("call_tool")

    assert isinstance(refused, Reason)
    assert refused.text == (
        "Tool 'call_tool' not found. Use call_tool_read, call_tool_write, or call_tool_destructive with matching "
        "intent.operation_type. See retrieve_tools for annotations and recommendations."
    )


def test_in_direct_mode_our_own_tools_are_not_there() -> None:
    call = resolve("retrieve_tools", {"query": "x"}, Catalog(Expose.DIRECT))

    assert isinstance(call, Call)
    assert call.server == ""


def test_retrieve_tools_is_a_search() -> None:
    assert resolve("retrieve_tools", {"query": "x"}) == Search({"query": "x"})


def test_where_nothing_is_held_nobody_is_asked_for_a_reason() -> None:
    watching = Policy(entry=GatewayEntry(Posture.OBSERVE))
    _, delete_repo = Catalog(Expose.DIRECT).tools_for(AGENT, BOOK, watching)[:2]

    assert delete_repo["inputSchema"] == {"type": "object"}


def test_a_tool_that_nobody_has_reviewed_may_be_held_whatever_the_posture() -> None:
    book = ToolBook().with_listing(Listing("db", "db", [{"name": "get_x"}], standings={}))
    (get_x, _) = Catalog(Expose.DIRECT).tools_for(AGENT, book, Policy(entry=GatewayEntry(Posture.OPEN)))

    assert "_justification" in get_x["inputSchema"]["properties"]


def test_the_posture_of_a_server_says_what_may_be_held_there() -> None:
    policy = Policy(entry=GatewayEntry(Posture.OPEN), postures_of_servers={"github-mcp": Posture.STRICT})
    _, delete_repo = Catalog(Expose.DIRECT).tools_for(AGENT, BOOK, policy)[:2]

    assert "_justification" in delete_repo["inputSchema"]["properties"]
