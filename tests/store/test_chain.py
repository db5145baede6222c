"""The chain: what is hashed, and what it finds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.store.chain import BEGINNING, Break, entry_hash, first_break
from interlock.store.protocol import LogEntry

TEXTS = st.text(st.sampled_from("ab\0é"), max_size=3)


def link(seq: int, prev: bytes, *, chain: str = "c1", text: str = "{}") -> LogEntry:
    at, kind, subject = 100 + seq, "tool_call", f"call-{seq}"
    sealed = entry_hash(chain, seq, at, kind, subject, text, prev)
    return LogEntry(chain, seq, at, kind, subject, text, prev, sealed)


def links(count: int, *, chain: str = "c1", text: str = "{}") -> list[LogEntry]:
    made: list[LogEntry] = []
    for seq in range(1, count + 1):
        made.append(link(seq, made[-1].hash if made else BEGINNING, chain=chain, text=text))
    return made


def test_the_hash_of_an_entry_never_changes_between_versions() -> None:
    sealed = entry_hash("c1", 1, 1_700_000_000_000_000, "tool_call", "call-1", '{"a":"é"}', BEGINNING)

    assert sealed.hex() == "dddeb3a4b838069f3ada6db8cf0051104a2102bd32de3e2cc08540297a065dcf"


@given(
    st.tuples(TEXTS, st.integers(1, 3), st.integers(1, 3), TEXTS, TEXTS, TEXTS, st.sampled_from([b"a", b"b", b"ab"])),
    st.tuples(TEXTS, st.integers(1, 3), st.integers(1, 3), TEXTS, TEXTS, TEXTS, st.sampled_from([b"a", b"b", b"ab"])),
)
def test_different_entries_have_different_hashes(
    one: tuple[str, int, int, str, str, str, bytes], other: tuple[str, int, int, str, str, str, bytes]
) -> None:
    assert (entry_hash(*one) == entry_hash(*other)) == (one == other)


def test_a_chain_links_up_whole_and_page_by_page() -> None:
    chain = links(10)

    assert first_break([]) is None
    assert first_break(chain) is None
    assert first_break(chain[:4]) is None
    assert first_break(chain[4:], after=chain[3]) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"text": '{"a":1}'}, "it was changed after it was written"),
        ({"at": 1}, "it was changed after it was written"),
        ({"kind": "system"}, "it was changed after it was written"),
        ({"subject": "call-9"}, "it was changed after it was written"),
        ({"hash": bytes(32)}, "it was changed after it was written"),
        ({"text": "\udcff"}, "it was changed after it was written"),
        ({"text": None}, "it was changed after it was written"),
        ({"at": "soon"}, "it was changed after it was written"),
        ({"at": 2**70}, "it was changed after it was written"),
        ({"prev": bytes(32)}, "it does not follow the entry before it"),
        ({"chain": "c2"}, "it belongs to another chain"),
        ({"seq": 17}, "it is missing"),
    ],
)
def test_an_entry_that_was_changed_is_named(change: dict[str, object], problem: str) -> None:
    chain = links(9)
    chain[4] = replace(chain[4], **change)

    assert first_break(chain) == Break(5, problem)


def test_a_change_that_was_sealed_again_shows_at_the_next_entry() -> None:
    chain = links(9)
    chain[4] = link(5, chain[3].hash, text='{"a":1}')

    assert first_break(chain) == Break(6, "it does not follow the entry before it")


def test_what_was_dropped_swapped_or_slipped_in_is_named() -> None:
    chain = links(9)
    dropped = [*chain[:4], *chain[5:]]
    headless = chain[1:]
    swapped = [*chain[:4], chain[5], chain[4], *chain[6:]]
    slipped = [*chain[:4], link(5, chain[3].hash, text="{ }"), *chain[4:]]

    assert first_break(dropped) == Break(5, "it is missing")
    assert first_break(headless) == Break(1, "it is missing")
    assert first_break(swapped) == Break(5, "it is missing")
    assert first_break(slipped) == Break(6, "it is missing")


def test_a_page_does_not_follow_another_chains_page() -> None:
    assert first_break(links(9)[4:], after=links(9, text="[]")[3]) == Break(5, "it does not follow the entry before it")


def test_a_cut_off_end_is_not_seen() -> None:
    assert first_break(links(9)[:7]) is None
