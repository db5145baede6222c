"""Splitting names into words."""

import pytest

from interlock.core.lexicon import DEFAULT
from interlock.core.words import after_prefix, product_prefix, verb_words_of, without_namespace, word_set, words_of

VERBS = DEFAULT.verbs


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delete_file", ("delete", "file")),
        ("delete-file", ("delete", "file")),
        ("deleteFile", ("delete", "file")),
        ("DeleteFile", ("delete", "file")),
        ("DELETE_FILE", ("delete", "file")),
        ("getURLList", ("get", "url", "list")),
        ("parseHTTPResponse", ("parse", "http", "response")),
        ("api/v2.list items", ("api", "v2", "list", "items")),
        ("k8sGetPods", ("k8s", "get", "pods")),
        ("__x__", ("x",)),
        ("", ()),
        ("___", ()),
    ],
)
def test_names_split_at_separators_and_camel_case(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


def test_counting_digits_do_not_hide_a_verb() -> None:
    assert verb_words_of("delete2_3files_42") == ("delete", "files")


def test_a_word_set_is_written_as_one_text() -> None:
    assert word_set("a b\n c") == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("github:delete_repo", "delete_repo"),
        ("github__delete_repo", "delete_repo"),
        ("mcp__github__get_issue", "get_issue"),
        ("drop-box:list_files", "list_files"),
        ("list_files", "list_files"),
        ("__node_version", "node_version"),
        ("delete__read", "delete__read"),
        ("trailing__", "trailing__"),
        ("trailing:", "trailing:"),
    ],
)
def test_a_namespace_is_stripped_unless_it_holds_a_verb(name: str, bare: str) -> None:
    assert without_namespace(name, VERBS) == bare


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        (["slack_list_channels", "slack_post_message", "slack_get_users"], ("slack",)),
        (["API-get-user", "API-patch-page", "API-post-page"], ("api",)),
        (["slack_list_channels", "slack_post_message"], ()),
        (["get_a", "get_b", "get_c"], ()),
        (["git_add", "git_log", "git_show"], ()),
        (["x_a", "x_b", "x_c", "p_a", "q_b", "r_c", "s_d"], ()),
        (["x_a", "x_b", "x_c", "list", "read", "find"], ("x",)),
        (["google_drive_list", "google_drive_get", "google_drive_find"], ("google", "drive")),
        (["figma", "figma", "figma"], ()),
        (["figma", "figma_x", "figma_y", "figma_z"], ("figma",)),
        ([], ()),
    ],
)
def test_a_product_prefix_is_shared_by_half_of_the_tools_and_by_three(
    names: list[str], prefix: tuple[str, ...]
) -> None:
    assert product_prefix(names, VERBS) == prefix


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (("google", "drive", "list"), ("list",)),
        (("google", "list"), ("list",)),
        (("google", "drive"), ("drive",)),
        (("google",), ("google",)),
        (("list", "google"), ("list", "google")),
    ],
)
def test_the_prefix_is_dropped_as_far_as_it_goes_and_never_the_whole_name(
    words: tuple[str, ...], rest: tuple[str, ...]
) -> None:
    assert after_prefix(words, ("google", "drive")) == rest
