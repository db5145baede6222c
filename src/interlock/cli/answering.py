"""Answering an approval from the command line, by a word or by a key.

An answer is sent with the digest of the arguments that were looked at, so that nothing else can be approved by it.
Whether it is taken, the gateway decides.
"""

from collections.abc import Mapping
from typing import Any

from interlock.cli.gateway import Api
from interlock.core.model import Json


async def approve(api: Api, seen: Mapping[str, Any], given: Mapping[str, str | None]) -> dict[str, Any]:
    """Approve what was looked at, and nothing else."""
    body: dict[str, Json] = {name: value for name, value in given.items() if value is not None}
    return await api.post("approvals", seen["id"], "approve", body={**body, "digest": seen["digest"]})


async def deny(api: Api, seen: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
    """Deny a call. One no is enough."""
    body: dict[str, Json] = {} if reason is None else {"resolution": reason}
    return await api.post("approvals", seen["id"], "deny", body=body)


def outcome_of(answered: Mapping[str, Any]) -> str:
    """What an answer made of an approval, as a sentence."""
    what = f"{answered['tool_name']} of {answered['requester']}"
    if answered["status"] == "pending":
        votes, needed = len(answered["votes"]), answered["approvals_needed"]
        return f"Your vote for {what} counts: {votes} of {needed} are there, and another approver has to agree."
    return f"{answered['status'].capitalize()}: {what} ({answered['id']})."


def is_beyond_once(answered: Mapping[str, Any]) -> bool:
    """Whether more calls than the one pass by an approval: its approvers all gave it more widely."""
    votes = answered["votes"]
    return answered["status"] == "approved" and bool(votes) and all(each["scope"] != "once" for each in votes)
