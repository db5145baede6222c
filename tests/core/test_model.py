"""The names of things, and the order of operations."""

from interlock.core.model import Call, Caller, OperationType, Tool


def test_a_tool_is_matched_by_its_namespace_and_shown_by_its_server() -> None:
    tool = Tool(server="github-mcp", namespace="github", name="create_issue")

    assert (tool.qualified, tool.shown) == ("github__create_issue", "github-mcp:create_issue")


def test_a_call_is_shown_as_server_and_tool() -> None:
    assert Call(Caller("agent"), "db", "run_sql", {}, "d").shown == "db:run_sql"


def test_operations_are_ordered_from_read_to_destructive() -> None:
    assert [each.value for each in sorted(OperationType, key=lambda each: each.rank)] == [
        "read",
        "write",
        "destructive",
    ]
