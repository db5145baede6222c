"""retrieve_tools: what is found, for whom, and how it is told."""

from typing import Any

import pytest

from interlock.core.model import Caller, Json, OperationType, Scope
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect
from interlock.core.toolbook import Listing
from interlock.errors import Code, Reason
from interlock.receive.retrieve import USAGE, Retriever
from tests.receive.test_catalog import AGENT, BOOK


async def answered(params: dict[str, Json], caller: Caller = AGENT, *rules: Rule) -> dict[str, Any] | Reason:
    return await Retriever().retrieve(params, caller, BOOK, RuleBook(rules))


async def found(query: str, caller: Caller = AGENT, *rules: Rule) -> list[str]:
    return names(await answered({"query": query}, caller, *rules))


def names(answer: dict[str, Any] | Reason) -> list[str]:
    assert isinstance(answer, dict)
    return [each["name"] for each in answer["tools"]]


async def test_the_answer_says_how_to_call_each_tool() -> None:
    answer = await answered({"query": "delete repo"})

    assert isinstance(answer, dict)
    assert answer["usage_instructions"] == USAGE
    assert answer["total"] == len(answer["tools"])
    first = answer["tools"][0]
    assert {key: first[key] for key in first if key not in ("score", "description")} == {
        "name": "github-mcp:delete_repo",
        "inputSchema": {"type": "object"},
        "server": "github-mcp",
        "annotations": {"destructiveHint": True},
        "call_with": "call_tool_destructive",
        "safety_class": "dangerous",
        "class_source": "name",
    }


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("users search", "github-mcp:searchUsers"),
        ("read an issue", "github-mcp:get_issue"),
        ("sql", "db:run_sql"),
        ("please use run_sql for the issue", "db:run_sql"),
        ("github-mcp:delete_repo", "github-mcp:delete_repo"),
    ],
)
async def test_the_tool_that_fits_best_comes_first(query: str, first: str) -> None:
    assert (await found(query))[0] == first


async def test_nothing_fits_nothing() -> None:
    assert await found("zzz") == []


async def test_a_limit_cuts_the_list_and_not_the_total() -> None:
    answer = await answered({"query": "issue repo users sql", "limit": 1})

    assert isinstance(answer, dict)
    assert (len(answer["tools"]), answer["total"]) == (1, 4)


@pytest.mark.parametrize(
    ("filters", "names_found"),
    [
        ({"read_only_only": True}, {"github-mcp:get_issue"}),
        ({"exclude_destructive": True}, {"github-mcp:get_issue"}),
        ({"exclude_open_world": True}, {"github-mcp:searchUsers"}),
    ],
)
async def test_filters_count_a_missing_hint_as_unsafe(filters: dict[str, Json], names_found: set[str]) -> None:
    assert set(names(await answered({"query": "issue repo users sql", **filters}))) == names_found


async def test_tools_out_of_scope_are_not_found() -> None:
    assert await found("sql", Caller("ci", scope=Scope(servers=("github-mcp",)))) == []


@pytest.mark.parametrize("params", [{}, {"query": 5}, {"query": "x", "limit": 0}, {"query": "x", "limit": 101}])
async def test_a_bad_search_is_refused(params: dict[str, Json]) -> None:
    refused = await answered(params)

    assert isinstance(refused, Reason)
    assert refused.code is Code.BAD_REQUEST


@pytest.mark.parametrize(
    ("caller", "rules", "seen"),
    [
        (AGENT, [], True),
        (AGENT, [Rule("r", tool_pattern=("db__*",), effect=Effect.DENY)], False),
        (AGENT, [Rule("r", tool_pattern=("db__*",), caller="agent", effect=Effect.DENY)], False),
        (AGENT, [Rule("r", tool_pattern=("db__*",), caller="other", effect=Effect.DENY)], True),
        (AGENT, [Rule("r", tool_pattern=("db__*",), effect=Effect.DENY, args=(("sql", "drop*"),))], True),
        (AGENT, [Rule("r", tool_pattern=("db__*",), effect=Effect.HOLD)], True),
        (Caller("ci", scope=Scope(ceiling=OperationType.WRITE)), [], False),
        (Caller("ci", scope=Scope(ceiling=OperationType.DESTRUCTIVE)), [], True),
    ],
)
async def test_only_tools_that_the_caller_could_ever_call_are_found(
    caller: Caller, rules: list[Rule], seen: bool
) -> None:
    assert ("db:run_sql" in await found("sql", caller, *rules)) is seen


async def test_tools_that_were_listed_later_are_found() -> None:
    retriever, rules = Retriever(), RuleBook()
    before = await retriever.retrieve({"query": "weather"}, AGENT, BOOK, rules)
    book = BOOK.with_listing(Listing("sky", "sky", [{"name": "get_weather"}]))
    after = await retriever.retrieve({"query": "weather"}, AGENT, book, rules)

    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert (before["total"], after["total"]) == (0, 1)
