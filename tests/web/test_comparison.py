"""What differs between a call that waits and the last one of its tool that was approved."""

from dataclasses import replace
from typing import Any

from msgspec import structs

from interlock.core.canonical import argument_digest
from interlock.web.comparison import MAX_VALUE, MOST_CHANGES
from tests.web.office import Office
from tests.web.questions import question


async def asked(office: Office, number: int, arguments: dict[str, Any], **columns: Any) -> str:
    """A question about a call with these arguments, as they were kept."""
    sent = columns.pop("sent", arguments)
    made = question(number, asked={"arguments": arguments}, **columns)
    key = replace(made.key, digest=argument_digest(sent), rule_hash=f"{number}")
    await office.parts.room.register.add(structs.replace(made, key=key))
    return made.id


async def approved(office: Office, number: int, arguments: dict[str, Any], **columns: Any) -> str:
    made = await asked(office, number, arguments, **columns)
    answer = await office.ask("POST", f"/approvals/{made}/approve", "approver")
    assert answer.status_code == 200, answer.text
    office.clock.forward(1_000_000)
    return made


async def compared(office: Office, approval_id: str) -> dict[str, Any]:
    return await office.get(f"/approvals/{approval_id}/difference", "auditor")


async def test_what_was_added_removed_and_changed_is_told_with_its_place(bare: Office) -> None:
    first = await approved(bare, 1, {"repo": "acme/a", "old": 1, "deep": [{"n": 1}]}, requester="ann")
    second = await asked(bare, 2, {"repo": "acme/b", "new": [2], "deep": [{"n": 1}, 5]})
    told = await compared(bare, second)

    assert told == {
        "id": second,
        "against": {
            "id": first,
            "requester": "ann",
            "approver": "the-approver",
            "decided_at": "2026-09-21T14:13:20.000000Z",
        },
        "same": False,
        "exact": True,
        "changes": [
            {"path": "/deep/1", "change": "added", "before": None, "after": 5},
            {"path": "/new", "change": "added", "before": None, "after": [2]},
            {"path": "/old", "change": "removed", "before": 1, "after": None},
            {"path": "/repo", "change": "changed", "before": "acme/a", "after": "acme/b"},
        ],
        "cut": False,
    }


async def test_the_last_one_counts_and_calls_of_other_tools_or_without_a_yes_do_not(bare: Office) -> None:
    await approved(bare, 1, {"n": 1})
    last = await approved(bare, 2, {"n": 2})
    await approved(bare, 3, {"n": 3}, tool="another")
    denied = await asked(bare, 4, {"n": 4})
    await bare.ask("POST", f"/approvals/{denied}/deny", "approver")
    waiting = await asked(bare, 5, {"n": 5})

    assert (await compared(bare, waiting))["against"]["id"] == last
    assert (await compared(bare, denied))["against"]["id"] == last


async def test_what_was_answered_is_compared_with_what_was_approved_before_it(bare: Office) -> None:
    first = await approved(bare, 1, {"n": 1})
    second = await approved(bare, 2, {"n": 2})
    await approved(bare, 3, {"n": 3})

    assert (await compared(bare, second))["against"]["id"] == first
    assert (await compared(bare, first))["against"] is None


async def test_without_another_there_is_nothing_to_compare_with(bare: Office) -> None:
    told = await compared(bare, await asked(bare, 1, {"n": 1}))

    assert (told["against"], told["changes"], told["same"], told["cut"]) == (None, [], False, False)


async def test_the_very_same_call_is_told_as_that(bare: Office) -> None:
    await approved(bare, 1, {"n": 1})
    told = await compared(bare, await asked(bare, 2, {"n": 1}))

    assert (told["same"], told["changes"]) == (True, [])


async def test_where_secrets_were_hidden_the_answer_is_not_exact(bare: Office) -> None:
    hidden = {"password": "[redacted text of 9 characters]"}
    await approved(bare, 1, hidden, sent={"password": "swordfish"})
    told = await compared(bare, await asked(bare, 2, hidden, sent={"password": "open-door"}))

    assert (told["same"], told["exact"], told["changes"]) == (False, False, [])


async def test_what_is_too_long_or_too_much_is_cut_and_said_so(bare: Office) -> None:
    await approved(bare, 1, {})
    long = await compared(bare, await asked(bare, 2, {"text": "x" * 5000, "list": ["y" * 5000]}))
    many = await compared(bare, await asked(bare, 3, {f"k{number:04}": number for number in range(300)}))
    much = await compared(bare, await asked(bare, 4, {f"k{number:04}": "z" * 3900 for number in range(30)}))

    assert [len(each["after"]) for each in long["changes"]] == [MAX_VALUE + 1] * 2
    assert (long["cut"], many["cut"], much["cut"]) == (True, True, True)
    assert (len(many["changes"]), len(much["changes"])) == (MOST_CHANGES, 16)


async def test_an_approval_that_there_is_not_is_refused(bare: Office) -> None:
    assert (await bare.ask("GET", "/approvals/none/difference")).status_code == 404
