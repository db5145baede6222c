"""What every store does, whatever the database: one suite over all of them."""

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from interlock.core.drift import Reviewed, definition_of
from interlock.core.lifecycle import CallState
from interlock.core.safety import SafetyClass
from interlock.store.protocol import (
    Activity,
    ActivityCount,
    ActivityFilter,
    ActivityStats,
    ActivityType,
    KeptServer,
    Store,
    StoreUnavailable,
    Tally,
    TallyBy,
    new_id,
)
from tests.store.examples import NOW, OpenStore, activity, assert_sound, ids_of, log_of, token, told

FULL = Activity(
    id="act-full",
    at=NOW,
    type=ActivityType.TOOL_CALL,
    status=CallState.SUCCESS,
    body={"nested": [{"é": None}, 1.5, True, "\ud800", 2**70]},
    server="github",
    tool="create_issue",
    caller="alice",
    session_id="session-1",
    workspace="prod",
    intent_type="write",
    safety_class="write_capable",
    verdict="allow",
    rule_id="rule-1",
    approval_id="apr-1",
)


# Writing --------------------------------------------------------------------------------------------------------
async def test_an_activity_comes_back_as_it_was_written(store: Store) -> None:
    bare = Activity("act-bare", NOW, ActivityType.SYSTEM, CallState.ERROR, {})
    await store.write([FULL, bare])

    assert await store.get_activity("act-full") == FULL
    assert await store.get_activity("act-bare") == bare
    assert await store.get_activity("act-none") is None


async def test_what_was_written_is_seen_by_another_process_at_once(store: Store, open_store: OpenStore) -> None:
    await store.write([FULL])

    assert await (await open_store()).get_activity("act-full") == FULL


async def test_a_new_version_replaces_the_row_and_the_log_remembers_both(store: Store) -> None:
    await store.write([activity(1, CallState.SENT)])
    await store.write([changed(activity(1), caller="bob", at=NOW + 99)])

    assert await store.get_activity("act-000001") == changed(activity(1), caller="bob", at=NOW + 99)
    assert await ids_of(store) == ["act-000001"]
    assert [json.loads(entry.text)["status"] for entry in await log_of(store)] == ["sent", "success"]


async def test_two_versions_in_one_write_are_two_entries_and_one_row(store: Store) -> None:
    await store.write([activity(1, CallState.SENT), activity(1, CallState.ERROR)])

    assert (await store.get_activity("act-000001")) == activity(1, CallState.ERROR)
    assert len(await log_of(store)) == 2
    await assert_sound(store)


@pytest.mark.parametrize("count", [15, 16, 17, 33])
async def test_many_that_are_written_at_once_are_all_there(store: Store, count: int) -> None:
    both = [activity(number, status) for number in range(count) for status in (CallState.SENT, CallState.SUCCESS)]
    await store.write(both)

    assert len(await ids_of(store)) == count
    assert len(await log_of(store)) == 2 * count
    assert await store.get_activity(both[-1].id) == both[-1]
    await assert_sound(store)


async def test_what_is_queued_is_written_in_order_with_what_is_waited_for(store: Store) -> None:
    store.write_soon([activity(1)])
    store.write_soon([activity(2), activity(3)])
    await store.write([activity(4)])

    assert [entry.subject[-1] for entry in await log_of(store)] == ["1", "2", "3", "4"]


async def test_writing_nothing_waits_for_what_was_queued_before(store: Store) -> None:
    store.write_soon([activity(1)])
    await store.write([])

    assert await ids_of(store) == ["act-000001"]
    assert len(await log_of(store)) == 1


async def test_a_write_has_its_place_in_the_log_before_anybody_waits_for_it(store: Store) -> None:
    first = store.write([activity(1)])
    store.write_soon([activity(2)])
    last = store.write([activity(3)])
    await last
    await first

    assert [entry.subject for entry in await log_of(store)] == ["act-000001", "act-000002", "act-000003"]


async def test_many_writers_at_once_make_one_chain(store: Store) -> None:
    await asyncio.gather(*(store.write([activity(number, CallState.SENT), activity(number)]) for number in range(200)))

    assert len(await log_of(store)) == 400
    await assert_sound(store)


async def test_a_write_that_nobody_waits_for_any_more_is_written_all_the_same(store: Store) -> None:
    writing = store.write([activity(1)])
    writing.cancel()
    await store.write([activity(2)])

    assert writing.cancelled()
    assert [entry.subject for entry in await log_of(store)] == ["act-000001", "act-000002"]


async def test_an_activity_that_cannot_be_stored_fails_alone(store: Store) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        store.write_soon([activity(1), changed(activity(2), tool="\ud800")])
    with pytest.raises(ValueError, match="64 bits"):
        await store.write([changed(activity(3), at=2**63)])
    await store.write([activity(4)])

    assert await ids_of(store) == ["act-000004"]


async def test_what_becomes_of_an_activity_after_it_was_queued_is_not_written(store: Store) -> None:
    body: dict[str, str] = {"said": "before"}
    store.write_soon([changed(activity(1), body=body)])
    body["said"] = "after"
    await store.write([])

    found = await store.get_activity("act-000001")
    assert found is not None
    assert found.body == {"said": "before"}


# Opening and closing --------------------------------------------------------------------------------------------
async def test_closing_writes_what_is_queued(store: Store, open_store: OpenStore) -> None:
    for number in range(100):
        store.write_soon([activity(number)])
    await store.close()

    again = await open_store()
    assert len(await ids_of(again)) == 100
    await assert_sound(again)


async def test_a_restart_continues_the_chain(store: Store, open_store: OpenStore) -> None:
    await store.write([activity(1)])
    await store.close()
    again = await open_store()
    await again.write([activity(2)])

    first, second = await log_of(again)
    assert (second.chain, second.seq, second.prev) == (first.chain, 2, first.hash)
    await assert_sound(again)


async def test_two_processes_on_one_database_share_the_chain(store: Store, open_store: OpenStore) -> None:
    other = await open_store()
    await asyncio.gather(*((store, other)[number % 2].write([activity(number)]) for number in range(40)))

    assert len(await log_of(store)) == 40
    await assert_sound(store)


async def test_a_closed_store_refuses_everything(store: Store) -> None:
    await store.close()
    await store.close()

    with pytest.raises(StoreUnavailable):
        await store.write([activity(1)])
    with pytest.raises(StoreUnavailable):
        store.write_soon([activity(1)])
    with pytest.raises(StoreUnavailable):
        await store.list_activities(ActivityFilter())


# Listing --------------------------------------------------------------------------------------------------------
async def test_the_newest_comes_first_and_ids_break_ties(store: Store) -> None:
    times = {"b": 5, "a": 5, "c": 4, "d": 9, "e": -3}
    await store.write([changed(activity(0), id=each, at=at) for each, at in times.items()])

    assert await ids_of(store) == ["d", "b", "a", "c", "e"]


async def test_a_page_says_where_the_next_one_begins(store: Store) -> None:
    await store.write([activity(number) for number in range(5)])

    first = await store.list_activities(ActivityFilter(limit=2))
    second = await store.list_activities(ActivityFilter(limit=2, cursor=first.next))
    last = await store.list_activities(ActivityFilter(limit=2, cursor=second.next))

    assert [each.id[-1] for page in (first, second, last) for each in page.items] == ["4", "3", "2", "1", "0"]
    assert last.next is None


async def test_pages_do_not_shift_when_something_happens_meanwhile(store: Store) -> None:
    await store.write([activity(number) for number in range(4)])
    first = await store.list_activities(ActivityFilter(limit=2))
    await store.write([activity(7)])
    second = await store.list_activities(ActivityFilter(limit=2, cursor=first.next))

    assert [each.id[-1] for each in second.items] == ["1", "0"]


@pytest.mark.parametrize(("asked", "given"), [(-5, 1), (0, 1), (1, 1), (500, 500), (501, 500), (10**30, 500)])
async def test_a_page_holds_between_one_and_five_hundred(store: Store, asked: int, given: int) -> None:
    await store.write([activity(number) for number in range(501)])

    page = await store.list_activities(ActivityFilter(limit=asked))

    assert len(page.items) == given
    assert page.next is not None


async def test_a_list_without_a_match_is_empty(store: Store) -> None:
    page = await store.list_activities(ActivityFilter(server="github"))

    assert (page.items, page.next) == ((), None)


async def test_a_cursor_that_is_not_ours_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        await store.list_activities(ActivityFilter(cursor="' OR 1=1"))


async def test_times_beyond_any_clock_are_no_error(store: Store) -> None:
    await store.write([activity(1)])

    assert len((await store.list_activities(ActivityFilter(since=-(10**30), until=10**30))).items) == 1
    assert len((await store.list_activities(ActivityFilter(since=10**30))).items) == 0


async def test_words_in_a_filter_are_only_compared(store: Store) -> None:
    odd = "x' OR '1'='1\0%_\\\"é"
    await store.write([activity(1), changed(activity(2), tool=odd, caller=odd)])

    page = await store.list_activities(ActivityFilter(tool=odd))
    assert [each.id for each in page.items] == ["act-000002"]


WORDS: tuple[str | None, ...] = ("a", "b", None)


def _some_activity(chosen: random.Random, number: int) -> Activity:
    """Few words and few times, so that filters meet and times tie."""
    return Activity(
        id=f"act-{chosen.randrange(10**6):06}-{number}",
        at=NOW + chosen.randrange(60),
        type=chosen.choice(list(ActivityType)[:3]),
        status=chosen.choice(list(CallState)[:4]),
        body={"number": number},
        server=chosen.choice(WORDS),
        tool=chosen.choice(WORDS),
        caller=chosen.choice(WORDS),
        session_id=chosen.choice(WORDS),
        intent_type=chosen.choice(WORDS),
        safety_class=chosen.choice(WORDS),
        verdict=chosen.choice(WORDS),
    )


def _some_filter(chosen: random.Random) -> ActivityFilter:
    names = ("server", "tool", "caller", "session_id", "intent_type", "safety_class", "verdict")
    words = {name: chosen.choice(("a", "b")) for name in names if chosen.random() < 0.2}
    return ActivityFilter(
        types=tuple(chosen.choices(list(ActivityType)[:4], k=chosen.choice((0, 0, 1, 2)))),
        statuses=tuple(chosen.choices(list(CallState)[:5], k=chosen.choice((0, 0, 1, 3)))),
        since=chosen.choice((None, NOW + chosen.randrange(60))),
        until=chosen.choice((None, NOW + chosen.randrange(60))),
        limit=chosen.randrange(1, 30),
        **words,
    )


def _matches(each: Activity, wanted: ActivityFilter) -> bool:
    names = ("server", "tool", "caller", "session_id", "intent_type", "safety_class", "verdict")
    return (
        all(getattr(wanted, name) in (None, getattr(each, name)) for name in names)
        and (not wanted.types or each.type in wanted.types)
        and (not wanted.statuses or each.status in wanted.statuses)
        and (wanted.since is None or each.at >= wanted.since)
        and (wanted.until is None or each.at < wanted.until)
    )


async def _all_pages(store: Store, wanted: ActivityFilter) -> Sequence[Activity]:
    found: list[Activity] = []
    while True:
        page = await store.list_activities(wanted)
        assert len(page.items) == wanted.limit or page.next is None
        found += page.items
        if page.next is None:
            return found
        wanted = replace(wanted, cursor=page.next)


async def test_every_filter_lists_what_a_plain_loop_would(store: Store) -> None:
    chosen = random.Random(7)
    everything = [_some_activity(chosen, number) for number in range(400)]
    await store.write(everything)
    newest_first = sorted(everything, key=lambda each: (each.at, each.id), reverse=True)

    for _ in range(150):
        wanted = _some_filter(chosen)
        assert await _all_pages(store, wanted) == [each for each in newest_first if _matches(each, wanted)], wanted


async def test_a_cursor_of_a_later_time_does_not_reach_past_until(store: Store) -> None:
    await store.write([activity(number) for number in range(9)])
    late = (await store.list_activities(ActivityFilter(limit=1))).next

    page = await store.list_activities(ActivityFilter(until=NOW + 3, cursor=late))
    assert [each.id[-1] for each in page.items] == ["2", "1", "0"]


async def test_what_a_crash_left_behind_is_every_call_without_an_end(store: Store) -> None:
    await store.write([activity(number, status) for number, status in enumerate(CallState)])
    await store.write([changed(activity(50, CallState.SENT), type=ActivityType.APPROVAL)])

    assert [each.status for each in await store.open_activities()] == ["received", "held", "sent"]


# The log --------------------------------------------------------------------------------------------------------
async def test_the_log_is_read_from_any_place(store: Store) -> None:
    await store.write([activity(number) for number in range(1, 8)])

    assert [entry.seq for entry in await store.log_entries(0, 3)] == [1, 2, 3]
    assert [entry.seq for entry in await store.log_entries(5, 10**30)] == [6, 7]
    assert [entry.seq for entry in await store.log_entries(-(10**30), 1)] == [1]
    assert await store.log_entries(7, 10) == []
    assert await store.log_entries(0, 0) == []
    assert await store.log_entries(0, -1) == []


async def test_an_entry_tells_what_it_is_about(store: Store) -> None:
    await store.write([FULL])

    (entry,) = await log_of(store)
    assert (entry.kind, entry.subject, entry.seq, entry.prev) == ("tool_call", "act-full", 1, bytes(32))
    assert json.loads(entry.text)["tool"] == "create_issue"
    assert json.loads(entry.text)["body"] == FULL.body


# Tokens ---------------------------------------------------------------------------------------------------------
async def test_tokens_come_back_oldest_first_with_the_story_of_each(store: Store) -> None:
    await store.add_token(token(2), told(2))
    await store.add_token(token(1), told(1))

    assert list(await store.list_tokens()) == [token(1), token(2)]
    assert [entry.subject for entry in await log_of(store)] == ["change-2", "change-1"]


async def test_a_second_token_of_the_same_id_is_refused_and_leaves_no_trace(store: Store) -> None:
    await store.add_token(token(1), told(1))
    with pytest.raises(ValueError, match="tok-1"):
        await store.add_token(replace(token(1), principal="mallory"), told(2))

    assert list(await store.list_tokens()) == [token(1)]
    assert await ids_of(store) == ["change-1"]


async def test_of_those_who_make_one_principal_of_two_kinds_at_once_those_of_one_kind_succeed(store: Store) -> None:
    made = [replace(token(n), principal="ci", kind=("human", "agent")[n % 2]) for n in range(10)]
    added = await asyncio.gather(*(store.add_token(each, told(n)) for n, each in enumerate(made)))
    kept = await store.list_tokens()

    assert (len(kept), len({each.kind for each in kept})) == (5, 1)
    assert {each.id for each in kept} == {each.id for each, done in zip(made, added, strict=True) if done}
    assert len(await log_of(store)) == 5


async def test_a_token_is_revoked_once(store: Store) -> None:
    await store.add_token(token(1), told(1))

    assert await store.revoke_token("tok-1", NOW + 50, told(2))
    assert not await store.revoke_token("tok-1", NOW + 60, told(3))
    assert not await store.revoke_token("tok-9", NOW + 60, told(4))
    assert [each.revoked_at for each in await store.list_tokens()] == [NOW + 50]
    assert set(await ids_of(store)) == {"change-1", "change-2"}


async def test_of_many_who_revoke_at_once_one_succeeds(store: Store) -> None:
    await store.add_token(token(1), told(0))
    results = await asyncio.gather(*(store.revoke_token("tok-1", NOW + n, told(n)) for n in range(1, 20)))

    assert sum(results) == 1
    assert len(await log_of(store)) == 2
    await assert_sound(store)


async def test_a_token_that_cannot_be_stored_fails_alone(store: Store) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        await store.add_token(replace(token(1), principal="\ud800"), told(1))
    with pytest.raises(ValueError, match="64 bits"):
        await store.revoke_token("tok-1", 2**64, told(1))

    assert await log_of(store) == []


# The operator's word about tools --------------------------------------------------------------------------------
ONE, OTHER = Reviewed(definition_of('{"name":"one"}')), Reviewed(definition_of('{"name":"other"}'), "f" * 64)
UNREVIEWED = Reviewed(None, "e" * 64)


async def test_a_new_store_has_no_baseline_and_no_override(store: Store) -> None:
    assert (await store.baselines(), await store.overrides()) == ({}, {})


async def test_baselines_come_back_by_server_and_tool(store: Store, open_store: OpenStore) -> None:
    assert await store.begin_baseline("github", {"one": ONE, "": OTHER}, told(1))
    assert await store.begin_baseline("db", {"one": OTHER}, told(2))

    expected = {"github": {"one": ONE, "": OTHER}, "db": {"one": OTHER}}
    assert await store.baselines() == expected
    assert await (await open_store()).baselines() == expected
    assert set(await ids_of(store)) == {"change-1", "change-2"}


async def test_an_empty_baseline_is_one(store: Store) -> None:
    assert await store.begin_baseline("github", {}, told(1))

    assert await store.baselines() == {"github": {}}


async def test_only_the_first_listing_becomes_the_baseline(store: Store) -> None:
    await store.begin_baseline("github", {"one": ONE}, told(1))

    assert not await store.begin_baseline("github", {"one": OTHER, "two": ONE}, told(2))
    assert await store.baselines() == {"github": {"one": ONE}}
    assert await ids_of(store) == ["change-1"]


async def test_of_many_first_listings_at_once_one_becomes_the_baseline_as_a_whole(store: Store) -> None:
    listings = [{f"tool-{n}": ONE, "shared": Reviewed(definition_of(f'{{"n":{n}}}'))} for n in range(20)]
    begun = await asyncio.gather(*(store.begin_baseline("s", each, told(n)) for n, each in enumerate(listings)))

    assert sum(begun) == 1
    assert await store.baselines() == {"s": listings[begun.index(True)]}
    assert len(await log_of(store)) == 1


async def test_what_is_remembered_of_a_tool_is_replaced_or_forgotten_with_the_story(store: Store) -> None:
    await store.begin_baseline("github", {"one": ONE, "late": UNREVIEWED}, told(1))
    await store.begin_baseline("db", {"one": ONE, "late": UNREVIEWED}, told(2))
    await store.keep_reviewed("github", {"one": OTHER, "late": None, "new": UNREVIEWED}, [told(3), told(4)])

    assert await store.baselines() == {
        "github": {"one": OTHER, "new": UNREVIEWED},
        "db": {"one": ONE, "late": UNREVIEWED},
    }
    assert set(await ids_of(store)) == {f"change-{n}" for n in range(1, 5)}
    await assert_sound(store)


async def test_classes_are_set_replaced_and_unset_with_the_story(store: Store, open_store: OpenStore) -> None:
    await store.put_override("github", "a", SafetyClass.READ_ONLY, told(1))
    await store.put_override("github", "b", SafetyClass.UNKNOWN, told(2))
    await store.put_override("db", "a", SafetyClass.SUBPROCESS, told(3))
    await store.put_override("github", "a", SafetyClass.DANGEROUS, told(4))
    await store.put_override("github", "b", None, told(5))

    expected = {"github": {"a": SafetyClass.DANGEROUS}, "db": {"a": SafetyClass.SUBPROCESS}}
    assert await store.overrides() == expected
    assert await (await open_store()).overrides() == expected
    assert set(await ids_of(store)) == {f"change-{n}" for n in range(1, 6)}


async def test_a_word_about_a_tool_that_cannot_be_stored_fails_alone(store: Store) -> None:
    half = "\ud800"
    with pytest.raises(ValueError, match="surrogates"):
        await store.begin_baseline("github", {"one": ONE, half: ONE}, told(1))
    with pytest.raises(ValueError, match="surrogates"):
        await store.keep_reviewed("github", {half: None}, [told(1)])
    with pytest.raises(ValueError, match="surrogates"):
        await store.put_override("github", half, SafetyClass.UNKNOWN, told(1))

    assert await store.baselines() == {}
    assert await log_of(store) == []


# Servers beside the file ----------------------------------------------------------------------------------------
async def test_servers_are_kept_in_the_order_in_which_they_came_and_forgotten(
    store: Store, open_store: OpenStore
) -> None:
    added = KeptServer(enabled=True, definition={"command": "npx", "env": {"TOKEN": "${env:GH}"}})
    await store.put_server("b", added, told(1))
    await store.put_server("a", KeptServer(enabled=False), told(2))
    await store.put_server("gone", added, told(3))
    await store.put_server("b", replace(added, enabled=False), told(4))
    await store.put_server("gone", None, told(5))

    kept = await (await open_store()).kept_servers()
    assert list(kept.items()) == [("b", replace(added, enabled=False)), ("a", KeptServer(enabled=False))]
    assert set(await ids_of(store)) == {f"change-{n}" for n in range(1, 6)}
    await assert_sound(store)


# Following the log ----------------------------------------------------------------------------------------------
async def test_the_end_of_the_log_is_its_last_number(store: Store) -> None:
    assert await store.log_end() == 0
    await store.write([activity(1), activity(2)])

    assert await store.log_end() == 2


async def test_whoever_follows_the_log_misses_nothing_however_it_was_written(store: Store) -> None:
    seen: list[str] = []

    async def follow() -> None:
        after = 0
        while len(seen) < 30:
            for entry in await store.next_entries(after, 4):
                seen.append(entry.subject)
                after = entry.seq

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for number in range(0, 30, 3):
            await store.write([activity(number)])
            store.write_soon([activity(number + 1), activity(number + 2)])

    assert seen == [f"act-{number:06}" for number in range(30)]


async def test_whoever_waits_for_the_next_entry_hears_that_the_store_closes(store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_refused(store))
        await asyncio.sleep(0)
        await store.close()

    assert waiting.result()


async def _refused(store: Store) -> bool:
    with pytest.raises(StoreUnavailable):
        await store.next_entries(0, 1)
    return True


# Counting -------------------------------------------------------------------------------------------------------
async def test_activities_are_counted_by_what_they_share_and_by_time(store: Store) -> None:
    begin = NOW // 100 * 100
    same = [changed(activity(0), id=f"a{n}", at=begin + n, verdict="allow") for n in range(3)]
    later = changed(activity(0), id="b", at=begin + 100, safety_class="dangerous", status=CallState.ERROR)
    other = changed(activity(0), id="c", at=begin, server="other")
    await store.write([*same, later, other])

    assert await store.activity_stats(ActivityFilter(server="github"), 100) == ActivityStats(
        (
            ActivityCount(begin, CallState.SUCCESS, None, "github", "allow", 3),
            ActivityCount(begin + 100, CallState.ERROR, "dangerous", "github", None, 1),
        ),
        complete=True,
    )


async def test_counts_take_filters_with_several_words_and_bounds_of_time(store: Store) -> None:
    states = (CallState.ERROR, CallState.SUCCESS, CallState.BLOCKED)
    await store.write([activity(number, states[number % 3]) for number in range(9)])
    wanted = ActivityFilter(statuses=states[:2], since=NOW + 1, until=NOW + 8, limit=1)

    counted = await store.activity_stats(wanted, 10**9)
    assert {each.status: each.count for each in counted.counts} == {CallState.ERROR: 2, CallState.SUCCESS: 3}


def test_ids_of_activities_sort_by_time_and_never_repeat() -> None:
    earlier, later = {new_id(10**15) for _ in range(100)}, {new_id(10**15 + 1) for _ in range(100)}

    assert len(earlier | later) == 200
    assert max(earlier) < min(later)


# Tallies --------------------------------------------------------------------------------------------------------
async def test_calls_are_counted_by_the_rule_that_decided_them(store: Store) -> None:
    refused = changed(activity(3), type=ActivityType.POLICY_DECISION, rule_id="b")
    await store.write(
        [
            changed(activity(1), rule_id="a"),
            changed(activity(2), rule_id="b"),
            refused,
            changed(activity(4), rule_id="b", type=ActivityType.APPROVAL),
            activity(5),
        ]
    )

    assert await store.tallies(TallyBy.RULE, NOW + 2) == {"a": Tally(0, NOW + 1), "b": Tally(2, NOW + 3)}
    assert await store.tallies(TallyBy.RULE, 10**30) == {"a": Tally(0, NOW + 1), "b": Tally(0, NOW + 3)}


async def test_a_rule_that_only_approvals_tell_of_has_no_calls(store: Store) -> None:
    await store.write([changed(activity(1), rule_id="a", type=ActivityType.APPROVAL)])

    assert await store.tallies(TallyBy.RULE, NOW) == {"a": Tally(0, None)}


async def test_calls_are_counted_by_who_made_them(store: Store) -> None:
    by_boss = {"caller": "boss"}
    await store.write(
        [
            changed(activity(1), caller="ann"),
            changed(activity(2), caller="ann", type=ActivityType.POLICY_DECISION),
            changed(activity(3), caller="ann", type=ActivityType.APPROVAL),
            changed(activity(4), type=ActivityType.TOKEN_CHANGE, **by_boss),
        ]
    )

    assert await store.tallies(TallyBy.CALLER, NOW + 2) == {"ann": Tally(1, NOW + 3), "boss": Tally(0, NOW + 4)}


async def test_without_calls_there_is_nothing_to_tally(store: Store) -> None:
    assert [await store.tallies(by, NOW) for by in TallyBy] == [{}, {}]


async def test_a_baseline_tells_when_it_began(store: Store) -> None:
    await store.begin_baseline("github", {}, changed(activity(7), type=ActivityType.TOOL_CHANGE))

    assert await store.baseline_since("github") == NOW + 7
    assert await store.baseline_since("other") is None
