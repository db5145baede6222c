"""Names written out in a question."""

import pytest

from interlock.receive.naming import mentions, spoken


@pytest.mark.parametrize(
    "question",
    [
        "get_issue",
        "GET_ISSUE",
        "please call get_issue.",
        "is it `get_issue`?",
        'the tool "get_issue": does it work',
        "(get_issue)",
        "first get_issue, then list_issues",
        "\u201cget_issue\u201d",
        "\n\tget_issue\n",
    ],
)
def test_a_name_is_seen_wherever_it_stands_by_itself(question: str) -> None:
    assert mentions(question)["get_issue"] == set()


@pytest.mark.parametrize("question", ["get issue", "get_issues", "forget_issue", "get_issue_2", "get-issue"])
def test_what_is_only_similar_is_not_the_name(question: str) -> None:
    assert "get_issue" not in mentions(question)


@pytest.mark.parametrize(
    "question",
    [
        "github:get_issue",
        "GitHub:get_issue",
        "github__get_issue",
        "mcp__github__get_issue",
        "use github:get_issue, please",
        "github/get_issue",
        "github.get_issue",
    ],
)
def test_what_stands_before_a_name_is_its_server(question: str) -> None:
    assert mentions(question)["get_issue"] == {"github"}


def test_a_name_that_begins_with_underscores_keeps_them() -> None:
    assert mentions("neon:__node_version")["__node_version"] == {"neon"}
    assert mentions("neon____node_version")["__node_version"] == {"neon"}


@pytest.mark.parametrize("name", ["Get Issue", "say: hello", "a, b", "Über uns", "read (all) files"])
def test_a_name_with_spaces_and_marks_is_seen_as_well(name: str) -> None:
    assert spoken(name) in mentions(f"Now use {name.upper()} and {name}, will you?")


@pytest.mark.parametrize("question", ["", " ", "...", "\"\"''", "__", "a__", "::", "/"])
def test_nothing_is_never_a_name(question: str) -> None:
    assert "" not in mentions(question)
