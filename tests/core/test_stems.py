"""Words of one family meet, words of different families do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.stems import asked_stems, name_stems, prose_stems, stems_of_word

FAMILIES = """
    delete deletes deleting deleted deletion
    create creates creating created creation
    list lists listing listed
    file files filing filed
    note notes noting noted
    move moves moving moved
    run runs running ran
    plan plans planning planned
    set sets setting settings
    copy copies copying copied
    query queries querying queried
    branch branches branching branched
    box boxes boxing boxed
    merge merges merging merged
    close closes closing closed
    address addresses addressing addressed
    status statuses
    embed embeds embedding embedded
    cancel cancels canceling cancelled cancelling
    install installs installing installed
    index indexes indices indexing indexed
    migration migrations migrate migrating
    send sends sending sent
    repo repos repository repositories
    string strings
    feed feeds
""".strip().splitlines()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda line: line.split()[0])
def test_the_forms_of_a_word_are_one(family: str) -> None:
    assert len({stems_of_word(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "words",
    ["file fill", "note not", "plan plane", "new news", "string str", "feed fe", "user use", "action act", "bus bu"],
)
def test_words_that_only_look_alike_stay_apart(words: str) -> None:
    one, other = words.split()

    assert stems_of_word(one) != stems_of_word(other)


@pytest.mark.parametrize("word", ["alias", "embed", "news", "id", "aws", "größen", "сообщения", "k9", "string"])
def test_what_is_not_inflected_stays_as_it_is(word: str) -> None:
    assert stems_of_word(word) == (word,)


@pytest.mark.parametrize(("short", "words"), [("pr", "pull request"), ("db", "database"), ("k8s", "kubernetes")])
def test_short_forms_count_as_what_they_stand_for(short: str, words: str) -> None:
    assert name_stems(short) == name_stems(words)


@pytest.mark.parametrize(
    "name",
    ["delete_pull_request", "deletePullRequest", "DeletePullRequest", "delete-pull.request", "DELETE PULL/REQUEST"],
)
def test_names_split_at_separators_and_in_camel_case(name: str) -> None:
    assert name_stems(name) == ["delet", "pull", "request"]


def test_in_prose_a_word_with_capitals_inside_counts_whole_and_in_parts() -> None:
    assert prose_stems("Opens GitHub's createIssue form") == [
        *("open", "git", "hub", "github", "creat", "issu", "form"),
    ]


@pytest.mark.parametrize(
    ("known", "stems"), [(["github"], ["github", "issu"]), (["git", "hub"], ["git", "hub", "issu"])]
)
def test_a_question_about_a_product_is_about_its_whole_name_where_that_is_known(
    known: list[str], stems: list[str]
) -> None:
    assert asked_stems("GitHub issues, GitHub!", known.__contains__) == stems


def test_what_follows_an_apostrophe_is_no_word() -> None:
    assert prose_stems("What\u2019s the user's name? I don't know") == [
        "what",
        "the",
        "user",
        "name",
        "i",
        "don",
        "know",
    ]


def test_words_of_all_scripts_are_words() -> None:
    assert prose_stems("Überweisung an Zoë, 支払い") == ["überweisung", "an", "zoë", "支払い"]


@pytest.mark.parametrize("text", ["", " \t\n", "___", "!?…", "\x00\x1b\u202e\u200b", "\ud800"])
def test_a_text_without_words_has_no_stems(text: str) -> None:
    assert name_stems(text) == prose_stems(text) == asked_stems(text, lambda _: True) == []


def test_an_endless_word_is_cut_into_pieces_of_bounded_length() -> None:
    assert max(map(len, name_stems("x" * 100_000))) == 64


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for stem in [*name_stems(text), *prose_stems(text), *asked_stems(text, lambda _: False)]:
        assert stem
        assert not stem.isspace()
