"""Saying which activities are meant: the same options for listing, following, counting and exporting."""

from interlock.cli.command import Options, Values
from interlock.cli.inputs import split_tool

CALLS = "tool_call,policy_decision"
"""The types of an activity that is a call, sent or refused."""


def add_filters(parser: Options) -> None:
    """Everything that activities can be filtered by."""
    parser.add_argument("--type", action="append", metavar="T", help="tool_call, policy_decision, …; repeatable")
    add_call_filters(parser)
    parser.add_argument("--since", metavar="2h", help="how long ago, or an ISO 8601 time")
    parser.add_argument("--until", metavar="15m", help="the same; what happened then is left out")


def add_call_filters(parser: Options) -> None:
    """What one call can be told by."""
    parser.add_argument("--status", action="append", metavar="S", help="success, error, blocked, …; repeatable")
    parser.add_argument("--server", metavar="S", help="the id of a server")
    parser.add_argument("--tool", metavar="T", help="a tool: its bare name, or server:tool")
    parser.add_argument("--caller", metavar="C", help="the name of a caller")
    parser.add_argument("--session", metavar="ID", help="a session of a client")
    parser.add_argument("--intent-type", metavar="O", help="read, write or destructive")
    parser.add_argument("--class", dest="safety_class", metavar="C", help="read-only, write-capable, …")
    parser.add_argument("--verdict", metavar="V", help="allow, hold or deny")


def call_query(values: Values) -> dict[str, str | None]:
    """The question that the options of `add_call_filters` ask."""
    server, tool = values.server, values.tool
    if tool is not None and server is None:
        server, tool = split_tool(tool)
    return {
        "status": _joined(values.status),
        "server": server,
        "tool": tool,
        "caller": values.caller,
        "session_id": values.session,
        "intent_type": values.intent_type,
        "safety_class": values.safety_class,
        "verdict": values.verdict,
    }


def query_of(values: Values) -> dict[str, str | None]:
    """The question that the options of `add_filters` ask."""
    return {"type": _joined(values.type), **call_query(values), "since": values.since, "until": values.until}


def _joined(words: list[str] | None) -> str | None:
    return None if words is None else ",".join(words)
