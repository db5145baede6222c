"""Headers that repeat arguments: they must say the same as the body, and tell nobody of a tool it may not know."""

import pytest

from interlock.core.canonical import argument_digest
from interlock.core.model import Call, Caller, JsonObject, Scope, Variant
from interlock.core.toolbook import Listing, ToolBook
from interlock.receive.repeated import mismatch
from interlock.receive.translate import OVER_STDIO

SCHEMA: JsonObject = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
BOOK = ToolBook().with_listing(Listing("up", "up", [{"name": "marked", "inputSchema": SCHEMA}, {"name": "plain"}]))


def call(
    arguments: JsonObject, tool: str = "marked", variant: Variant = Variant.DIRECT, caller: Caller | None = None
) -> Call:
    return Call(caller or Caller("a"), "up", tool, arguments, argument_digest(arguments), variant)


def raw(*values: str, name: str = "mcp-param-region") -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for value in values]


STDIO = raw(OVER_STDIO[1], name=OVER_STDIO[0])


@pytest.mark.parametrize("value", ["eu", " eu\t", "=?base64?ZXU=?="])
def test_a_header_that_says_the_same_is_fine(value: str) -> None:
    assert mismatch(call({"region": "eu"}), BOOK, raw(value)) is None


@pytest.mark.parametrize("values", [[], ["us"], ["=?base64?ZXU?="], ["eu", "eu"], ["us", "eu"]])
def test_one_that_says_something_else_or_is_missing_or_stands_twice_is_not(values: list[str]) -> None:
    problem = mismatch(call({"region": "eu"}), BOOK, raw(*values))

    assert problem is not None
    assert problem.startswith("Mcp-Param-Region header")


def test_an_argument_that_is_not_there_must_not_have_one() -> None:
    assert mismatch(call({}), BOOK, []) is None
    assert mismatch(call({}), BOOK, raw("eu")) is not None


def test_a_client_over_stdio_has_no_headers_to_miss_but_those_that_it_has_count() -> None:
    assert mismatch(call({"region": "eu"}), BOOK, STDIO) is None
    assert mismatch(call({"region": "eu"}), BOOK, STDIO + raw("us")) is not None


@pytest.mark.parametrize(
    "elsewhere",
    [
        call({"region": "eu"}, tool="plain"),
        call({"region": "eu"}, tool="nothing"),
        call({"region": "eu"}, variant=Variant.READ),
        call({"region": "eu"}, caller=Caller("b", scope=Scope(tools=("other",)))),
    ],
)
def test_nothing_is_said_of_tools_that_want_nothing_or_that_the_caller_may_not_know(elsewhere: Call) -> None:
    assert mismatch(elsewhere, BOOK, raw("us")) is None
