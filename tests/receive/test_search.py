"""Finding tools: the right ones, in a fixed order, from whatever upstreams and agents write."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.core.model import JsonObject
from interlock.core.toolbook import ListedTool, Listing, ToolBook
from interlock.receive.search import MAX_ASKED, MAX_QUERY, Found, ToolIndex
from tests.receive.catalogues import (
    Question,
    book_of,
    hit_rates,
    made_listings,
    made_tools,
    real_listings,
    real_questions,
)


def anything(_: ListedTool) -> bool:
    return True


def index_of(listings: dict[str, list[JsonObject]]) -> ToolIndex:
    index = ToolIndex()
    index.update(book_of(listings))
    return index


def described(name: str, description: str = "") -> JsonObject:
    return {"name": name, "description": description}


def shown(found: Found) -> list[str]:
    return [hit.tool.tool.shown for hit in found.hits]


def find(index: ToolIndex, query: str, limit: int = 10, wanted: Callable[[ListedTool], bool] = anything) -> list[str]:
    return shown(index.find(query, limit, wanted))


@pytest.fixture(scope="module")
def real() -> ToolIndex:
    return index_of(real_listings())


# How well it finds ----------------------------------------------------------------------------------------------


def test_tools_are_found_in_other_words_than_their_names_among_two_thousand() -> None:
    made = made_tools(2_000)
    first, five = hit_rates(index_of(made_listings(made)), [each.question for each in made])

    assert first >= 0.9
    assert five >= 0.99


def test_what_a_person_would_ask_finds_the_tools_of_real_servers(real: ToolIndex) -> None:
    asked = real_questions()
    _, five = hit_rates(real, asked)

    assert len(asked) == 60
    assert five >= 0.9


def test_the_questions_ask_for_tools_that_exist(real: ToolIndex) -> None:
    book = book_of(real_listings())

    assert [each for each in real_questions() if book.find(each.server, each.tool) is None] == []


FORMS: dict[str, Callable[[str, str], str]] = {
    "server:tool": lambda server, tool: f"{server}:{tool}",
    "server__tool": lambda server, tool: f"{server}__{tool}",
    "capitals": lambda server, tool: f"{server}:{tool}".upper(),
    "a client's prefix": lambda server, tool: f"mcp__{server}__{tool}",
    "in a sentence": lambda server, tool: f"Search all files of the user, then call `{server}:{tool}` on each.",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_named_with_its_server_comes_first(form: str, real: ToolIndex) -> None:
    named = [Question(FORMS[form](each.server, each.tool), each.server, each.tool) for each in real_tools()]

    assert hit_rates(real, named)[0] == 1.0


@pytest.mark.parametrize("sentence", ["{}", "please use {} for this", "Could {} help me, or is it of no use?"])
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_a_tool_named_without_its_server_comes_first(sentence: str, case: type[str], real: ToolIndex) -> None:
    missed = [
        each.answer
        for each in real_tools()
        if find(real, sentence.format(case(each.tool)), 1)[0].partition(":")[2].lower() != each.tool.lower()
    ]

    assert missed == []


def real_tools() -> list[Question]:
    return [Question("", server, str(tool["name"])) for server, tools in real_listings().items() for tool in tools]


def test_a_name_outweighs_every_other_word() -> None:
    other = described("delete_all_old_invoices_of_a_customer", "Deletes all the old invoices of a customer for good.")
    index = index_of({"shop": [other, described("frobnicate_it")], "bank": [described("frobnicate_it")]})

    found = find(index, "delete all the old invoices of a customer for good with bank:frobnicate_it")

    assert found == ["bank:frobnicate_it", "shop:frobnicate_it", "shop:delete_all_old_invoices_of_a_customer"]


def test_namespace_and_server_both_name_a_tool() -> None:
    index = ToolIndex()
    book = book_of({"gitlab": [described("get_issue")]})
    index.update(book.with_listing(Listing("github-mcp", "github", [described("get_issue")])))

    for query in ("github:get_issue", "github__get_issue", "github-mcp:get_issue", "github-mcp__get_issue"):
        assert find(index, query)[0] == "github-mcp:get_issue"


def test_a_name_of_one_word_is_a_word_where_another_tool_fits_more_of_them() -> None:
    index = index_of({"web": [described("search")], "forge": [described("search_issues"), described("list_issues")]})

    assert find(index, "search my issues")[0] == "forge:search_issues"
    assert find(index, "use search for this")[0] == "web:search"
    assert find(index, "search my issues with web:search")[0] == "web:search"


def test_a_server_cannot_come_first_by_naming_its_tools_like_common_words() -> None:
    made = made_tools(300)
    honest = hit_rates(index_of(made_listings(made)), [each.question for each in made])
    greedy = [described(word) for word in "a the in to of for with on please how can i me my this that it".split()]

    index = index_of({**made_listings(made), "greedy": greedy})

    assert hit_rates(index, [each.question for each in made])[0] >= honest[0] - 0.01


def test_a_name_that_tells_nothing_is_no_name() -> None:
    tools = [described(f"tool_{number}", "Does the thing.") for number in range(200)]
    index = index_of({"shop": [*tools, described("x", "Pays the money.")], "greedy": [described("the")]})

    assert find(index, "the money")[0] == "shop:x"


def test_a_server_cannot_come_first_by_repeating_a_word() -> None:
    index = index_of({"bank": [described("refund")], "greedy": [described("x", "refund " * 5_000)]})

    assert find(index, "refund")[0] == "bank:refund"


# What counts ----------------------------------------------------------------------------------------------------


def test_words_are_looked_for_in_name_server_description_and_parameters() -> None:
    index = index_of(
        {
            "alpha": [described("beta"), described("x", "Gamma rays.")],
            "other": [{"name": "y", "inputSchema": {"properties": {"deltaValue": {}}}}],
        }
    )

    assert find(index, "beta") == ["alpha:beta"]
    assert set(find(index, "alpha")) == {"alpha:beta", "alpha:x"}
    assert find(index, "gamma") == ["alpha:x"]
    assert find(index, "delta") == ["other:y"]


def test_total_counts_all_that_fit_whatever_the_limit() -> None:
    index = index_of({"shop": [described(f"get_order_{number}") for number in range(30)]})

    for limit in (0, 1, 15, 100):
        found = index.find("orders", limit, anything)
        assert (len(found.hits), found.total) == (min(limit, 30), 30)


def test_what_is_not_wanted_is_neither_returned_nor_counted_nor_named() -> None:
    index = index_of({"shop": [described("get_order"), described("delete_order")]})

    def reads(each: ListedTool) -> bool:
        return each.tool.name.startswith("get")

    found = index.find("shop:delete_order", 10, reads)

    assert shown(found) == ["shop:get_order"]
    assert (found.total, found.hits[0].score < 100) == (1, True)
    assert index.find("shop:delete_order", 10, lambda _: False) == Found((), 0)


def test_equal_scores_are_ordered_by_name_and_scores_have_four_digits() -> None:
    index = index_of({server: [described("get_order"), described("move_order")] for server in ("c", "a", "b")})
    found = index.find("order", 4, anything)

    assert shown(found) == ["a:get_order", "a:move_order", "b:get_order", "b:move_order"]
    assert all(hit.score == round(hit.score, 4) > 0 for hit in found.hits)


def test_the_order_of_the_servers_does_not_matter() -> None:
    made = made_tools(200)
    listings = made_listings(made)
    indexes = index_of(listings), index_of(dict(reversed(listings.items())))

    for each in made[:50]:
        one, other = (index.find(each.question.text, 20, anything) for index in indexes)
        assert one == other


def test_a_word_that_most_tools_bear_finds_nothing_beside_a_rarer_one() -> None:
    tools = [described(f"tool_{number}", "Does this with the thing.") for number in range(200)]
    index = index_of({"shop": [*tools, described("refund", "Pays the money back.")]})

    assert index.find("the refund of this thing", 10, anything).total == 1
    assert index.find("the", 10, anything).total == 201


def test_a_common_verb_still_tells_tools_apart() -> None:
    things = [f"thing{number}" for number in range(100)]
    index = index_of({"shop": [described(f"{verb}_{thing}") for thing in things for verb in ("get", "set", "put")]})

    assert find(index, "put thing7", 1) == ["shop:put_thing7"]
    assert find(index, "getting thing7", 1) == ["shop:get_thing7"]


def test_a_rarer_word_by_the_way_does_not_hide_what_the_others_mean() -> None:
    crowd = {"customer": 210, "mail": 220, "send": 230, "parcel": 1_300}
    tools = [described(f"x{number}_{word}") for word, count in crowd.items() for number in range(count)]
    index = index_of({"shop": tools, "post": [described("send_mail")]})

    assert find(index, "send a mail to the customer", 1) == ["post:send_mail"]


@pytest.mark.parametrize("query", ["", "   ", "!?", "___", "::", "\x00\x1b[2J", "\u202e\u200b", "xyzzy", "*", '"'])
def test_a_question_without_a_known_word_finds_nothing(query: str, real: ToolIndex) -> None:
    assert real.find(query, 10, anything) == Found((), 0)


def test_an_empty_book_has_nothing() -> None:
    assert ToolIndex().find("get order", 10, anything) == Found((), 0)


# Keeping up with the book ---------------------------------------------------------------------------------------


class Counted(dict[str, Any]):
    """A descriptor that counts how often its description is read."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.reads += key == "description"
        return super().get(key, default)


def test_a_tool_that_changed_is_found_by_its_new_words_only() -> None:
    index = index_of({"shop": [described("x", "Pays money back.")], "bank": [described("y", "Keeps money.")]})
    index.update(book_of({"shop": [described("x", "Sends a parcel.")], "bank": [described("y", "Keeps money.")]}))

    assert find(index, "parcels") == ["shop:x"]
    assert find(index, "money") == ["bank:y"]


def test_a_tool_and_a_server_that_are_gone_are_not_found() -> None:
    index = index_of({"shop": [described("get_order"), described("get_parcel")], "bank": [described("get_parcel")]})
    index.update(book_of({"shop": [described("get_order")]}))

    assert find(index, "get_parcel") == ["shop:get_order"]
    assert find(index, "parcel") == []


def test_only_what_changed_is_read_again() -> None:
    tools = {name: Counted(name=name, description="") for name in ("kept", "changed", "elsewhere")}
    listings = {"shop": [tools["kept"], tools["changed"]], "bank": [tools["elsewhere"]]}
    book = ToolBook()
    for server, listed in listings.items():
        book = book.with_listing(Listing(server, server, listed))
    index = ToolIndex()
    index.update(book)
    before = {name: tool.reads for name, tool in tools.items()}

    changed = Counted(name="changed", description="now")
    kept = Counted(name="kept", description="")
    index.update(book.with_listing(Listing("shop", "shop", [kept, changed])))

    assert (kept.reads, changed.reads) == (0, 1)
    assert {name: tool.reads for name, tool in tools.items()} == before


class Watched(dict[str, Any]):
    """A mapping that counts how often somebody goes through it."""

    visits = 0

    def items(self) -> Any:
        self.visits += 1
        return super().items()


def test_the_same_book_again_is_not_looked_at() -> None:
    servers = Watched(book_of({"shop": [described("get_order")]}).by_server)
    book = ToolBook(servers)
    index = ToolIndex()
    index.update(book)
    index.update(book)

    assert servers.visits == 1


def test_a_server_that_did_not_list_anew_is_not_looked_at() -> None:
    listing = Watched(book_of({"shop": [described("get_order")]}).by_server["shop"])
    index = ToolIndex()
    index.update(ToolBook({"shop": listing}))
    index.update(ToolBook({"shop": listing}).with_listing(Listing("bank", "bank", [described("get_money")])))

    assert listing.visits == 1
    assert set(find(index, "get")) == {"shop:get_order", "bank:get_money"}


def test_a_word_that_is_gone_is_no_longer_known() -> None:
    index = index_of({"shop": [described("x", "Sells on GitHub.")], "git": [described("hub")]})
    index.update(book_of({"shop": [described("x")], "git": [described("hub")]}))

    assert find(index, "GitHub") == ["git:hub"]


def test_what_is_found_is_the_tool_as_the_newest_book_has_it() -> None:
    tool = described("get_order")
    book = book_of({"shop": [tool]})
    index = ToolIndex()
    index.update(book)
    newer = book.with_listing(Listing("shop", "shop", [dict(tool)], trusted=True))
    index.update(newer)

    assert index.find("order", 1, anything).hits[0].tool is newer.find("shop", "get_order")


def test_a_new_namespace_is_found_at_once() -> None:
    index = index_of({"shop-mcp": [described("get_order")]})
    index.update(ToolBook().with_listing(Listing("shop-mcp", "store", [described("get_order")])))

    assert find(index, "store") == ["shop-mcp:get_order"]


def test_an_update_while_a_question_is_answered_does_not_disturb_it() -> None:
    index = index_of({"shop": [described(f"get_order_{number}") for number in range(5)], "bank": []})
    newer = book_of({"shop": [], "bank": [described("get_order")]})

    def updates(_: ListedTool) -> bool:
        index.update(newer)
        return True

    assert index.find("orders", 10, updates).total == 5
    assert find(index, "orders") == ["bank:get_order"]


WORDS = st.sampled_from("get list order parcel money refund the of shop bank".split())
TOOLS = st.lists(st.builds(described, st.lists(WORDS, min_size=1, max_size=3).map("_".join), WORDS), max_size=4)
BOOKS = st.dictionaries(st.sampled_from(["shop", "bank", "post"]), TOOLS)


@given(st.lists(BOOKS, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
def test_how_a_book_came_about_does_not_matter(books: list[dict[str, list[JsonObject]]], query: str) -> None:
    index = ToolIndex()
    for listings in books:
        index.update(book_of(listings))
    grown, fresh = index.find(query, 10, anything), index_of(books[-1]).find(query, 10, anything)

    assert grown == fresh


# Hostile input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        'name:order AND (shop:* OR "get order"~2)^5',
        "[a TO z] {* TO *} order",
        "+order -order !order NOT order",
        "order\\",
        '"order',
        "order' OR 1=1 --",
        "/.*order/",
        "NEAR(order, 5) order*",
    ],
)
def test_a_query_language_has_no_meaning(query: str) -> None:
    index = index_of({"shop": [described("get_order"), described("send_parcel", "Nothing of that.")]})

    assert find(index, query)[0] == "shop:get_order"


@given(st.text(max_size=200))
@settings(max_examples=200)
def test_any_question_has_an_answer(query: str) -> None:
    found = QUIET.find(query, 5, anything)

    assert len(found.hits) == min(5, found.total)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


QUIET = index_of(real_listings())


def test_a_question_of_any_length_is_cut() -> None:
    index = index_of({"shop": [described("get_order"), described("send_parcel")]})
    late = "order " + "x " * MAX_QUERY + " send_parcel"
    many = " ".join(f"w{number}" for number in range(MAX_ASKED * 3))

    assert find(index, late) == ["shop:get_order"]
    assert find(index, f"{many} order") == ["shop:get_order"]


@pytest.mark.parametrize(
    "odd",
    [
        {"name": "odd_order", "description": 5, "inputSchema": "none"},
        {"name": "odd_order", "description": ["order"], "inputSchema": {"properties": [1]}},
        {"name": "odd_order", "description": "order " * 100_000},
        {"name": "odd_order\x00\x1b[31m\u202e", "description": "\x00\x07\ud800"},
        {"name": "odd order: of\nsorts", "inputSchema": {"properties": {"\x00": None, "": 1}}},
        {"name": "o" * 100_000 + "_order", "annotations": 5},
        {"name": "", "description": "order"},
        {"name": "!!!", "description": "order"},
    ],
)
def test_odd_tools_neither_break_the_search_nor_hide_others(odd: JsonObject) -> None:
    index = index_of({"odd": [odd], "shop": [described("get_order", "Reads an order.")]})
    found = index.find("get the order, a__", 10, anything)

    assert "shop:get_order" in shown(found)
    assert all(hit.score < 1_000 for hit in found.hits)


def test_ten_thousand_equal_tools_are_only_counted() -> None:
    index = index_of({"flood": [described(f"order{number}", "order") for number in range(10_000)]})
    found = index.find("order", 2, anything)

    assert shown(found) == ["flood:order0", "flood:order1"]
    assert found.total == 10_000
