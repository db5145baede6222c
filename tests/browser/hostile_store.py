"""Hostile strings in everything that a data folder and a configuration keep, written as the gateway writes it."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interlock.clock import SystemClock
from interlock.core.approvals import Approval, Vote
from interlock.core.canonical import argument_digest
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.core.model import HoldTerms, Json, JsonObject
from interlock.lab.run import RunFolder
from interlock.receive.identify import RESERVED_NAMES, TokenScope, mint
from interlock.store.protocol import Activity, ActivityType, new_id
from interlock.store.sql import SqlStore
from tests.browser.hostile import HOSTILE
from tests.browser.inert import SHORT
from tests.lab.runs import a_run_that_says
from tests.stores import store_of

FAR = 10**13
"""A time that is not over while a test runs, in microseconds from now."""
REPORTED = 100_000
"""So much of a text fits often enough into the report of a run."""
CHANGES: dict[ActivityType, tuple[str, ...]] = {
    ActivityType.APPROVAL: ("created", "approved", "denied", "grant revoked", "refused", "classified", "no such word"),
    ActivityType.TOOL_CHANGE: ("baseline", "appeared", "trusted", "overridden", "more"),
    ActivityType.SERVER_CHANGE: ("added", "restarted"),
    ActivityType.CONFIG_CHANGE: ("taken up", "refused"),
    ActivityType.TOKEN_CHANGE: ("created", "revoked"),
    ActivityType.SYSTEM: ("frozen", "thawed", "signed in", "notice", "records_lost"),
}
"""What activities that are no calls tell of."""
_KINDS = [(kind, change) for kind, changes in CHANGES.items() for change in changes]


def name_of(text: str) -> str:
    """A name that says this; there is none that says nothing, and none of ours is given away."""
    return f"{text}_" if text in RESERVED_NAMES else text[:SHORT] or "-"


def _approver(name: str) -> str:
    """Another one: nobody answers for a call of its own."""
    return f"{name}."


async def fill(data: Path, texts: Sequence[str] = HOSTILE) -> None:
    """Write every hostile string into every kind of row, in a folder that no gateway holds."""
    store = store_of(data, SystemClock())
    await store.start()
    # At once, because each write by itself waits for the disk.
    await asyncio.gather(*(_fill(store, text, number) for number, text in enumerate(texts)))
    await store.close()
    for number, text in enumerate(texts):
        run = a_run_that_says(name_of(text))
        findings = [replace(each, text=text[:REPORTED]) for each in run.findings]
        RunFolder.make(data, f"h{number:03}").keep(replace(run, findings=findings, notes=[text[:REPORTED]]))


async def _fill(store: SqlStore, text: str, number: int) -> None:
    await _people(store, text, number)
    await _approvals(store, text, number)
    await store.write([call_with(text, number), change_with(text, number)])


def _told(kind: ActivityType, change: str, **more: Json) -> Activity:
    at = SystemClock().now()
    return Activity(new_id(at), at, kind, CallState.SUCCESS, {"change": change, **more})


async def _people(store: SqlStore, text: str, number: int) -> None:
    """An agent and an approver, each with a token."""
    name, now = name_of(text), SystemClock().now() + number
    scope = TokenScope(name, name, name, (name,), (name,), label=name)
    for token, _ in (
        mint(name, "agent", ("agent",), now, None, scope),
        mint(_approver(name), "human", ("approver",), now, None, TokenScope("operator", "operator", label=name)),
    ):
        await store.add_token(token, _told(ActivityType.TOKEN_CHANGE, "created", principal=name, roles=[name], by=name))


async def _approvals(store: SqlStore, text: str, number: int) -> None:
    """Three approvals of the same call, so that a rule is suggested for it, and the grant that one of them became."""
    now, name = SystemClock().now(), name_of(text)
    for turn in range(3):
        asked = _asked(name, f"ap_g{number:03}{turn}", now)
        assert await store.approvals.add_approval(asked, _told(ActivityType.APPROVAL, "created"))
        by = _approver(name)
        votes = (Vote(by, now, resolution=name),)
        approved = replace(asked, status=ApprovalState.APPROVED, version=1, votes=votes, approver=by, decided_at=now)
        given = GrantScope.IDENTICAL, now + FAR
        grant = Grant(f"g{number}", asked.key, *given, approval=asked.id, given_by=(by,), created_at=now)
        told = _told(ActivityType.APPROVAL, "approved")
        assert await store.approvals.change_approval(approved, told, grant if turn == 0 else None)


def _asked(name: str, approval_id: str, now: int) -> Approval:
    arguments: JsonObject = {"said": name}
    key = GrantKey(name, name, name, "f" * 64, argument_digest(arguments), "r" * 64, "write-capable", name)
    told: dict[str, Json] = dict.fromkeys(("justification", "workspace_name", "auth_scope_id"), name)
    asked: JsonObject = {**told, "arguments": arguments, "reasons": [], "entry": "gateway"}
    return Approval(approval_id, key, name, name, HoldTerms(), now, now + FAR, "gw_gone", name, asked)


def call_with(text: str, number: int) -> Activity:
    """A call that was held, which the rules can be asked about once more."""
    name = name_of(text)
    arguments: JsonObject = {name: name}
    body: JsonObject = {
        "entry": "mcp",
        "class_source": name,
        "reasons": [{"code": None, "text": name}],
        "metadata": {"tool_variant": "call_tool_write"},
        "arguments": arguments,
        "digest": argument_digest(arguments),
    }
    return Activity(
        f"call-{number:03}",
        SystemClock().now(),
        ActivityType.POLICY_DECISION,
        CallState.HELD,
        body,
        server=name,
        tool=name,
        caller=name,
        workspace=name,
        intent_type=name,
        safety_class="write-capable",
        verdict="hold",
        rule_id=name,
    )


def change_with(text: str, number: int) -> Activity:
    """Something that was changed, told in words of which all are this one; the next text tells of the next change."""
    kind, change = _KINDS[number % len(_KINDS)]
    name, now = name_of(text), SystemClock().now()
    words = (
        "by",
        "approver",
        "resolution",
        "text",
        "after",
        "before",
        "principal",
        "what",
        "reason",
        "notice",
        "detail",
    )
    lists: dict[str, Json] = {"problems": [text], "roles": [name], "tools": 2, "target": name, "difference": []}
    body: dict[str, Json] = {"change": change, **dict.fromkeys(words, name), **lists}
    about = {"server": name, "tool": name, "caller": name, "safety_class": name, "approval_id": name}
    return Activity(f"chg-h{number:03}", now, kind, CallState.SUCCESS, body, **about)


# The configuration ----------------------------------------------------------------------------------------------

_PAIR = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
_KEY = 80
_PATTERN = 300
"""YAML and patterns take no more than about this."""


def yaml_of(value: Any) -> str:
    """A value as YAML, whatever is in it: JSON, but a character beyond 16 bits is one there and not two halves."""
    return _PAIR.sub(_whole, json.dumps(value))


def _whole(halves: re.Match[str]) -> str:
    return f"\\U{ord(json.loads(chr(34) + halves[0] + chr(34))):08x}"


def _literally(text: str) -> str:
    return text.replace("[", "[[]")


def rule_with(text: str, number: int) -> dict[str, Any]:
    name, pattern = text[:_KEY] or "-", _literally(text[:_PATTERN] or "-")
    return {
        "id": f"h-{number:03}",
        "effect": "hold",
        "workspace_id": name,
        "tool_pattern": [pattern, "other"],
        "caller": pattern,
        "args": {f"[{json.dumps(name, ensure_ascii=False)}]": pattern, "more": {"in": [name, 1]}},
        "approvers": [name],
        "auth_scope_id": name,
    }


def config() -> str:
    """A configuration that says hostile things wherever a text may be anything."""
    names = [text[:_KEY] or "-" for text in HOSTILE]
    unset = [re.sub(r"[}\s]", "", name) or "-" for name in names]
    return yaml_of(
        {
            "posture": "strict",
            "workspaces": [{"id": name, "name": name} for name in names],
            "auth_scopes": {name: {} for name in names},
            "route_rules": [rule_with(text, number) for number, text in enumerate(HOSTILE)],
            "notices": {
                "webhooks": [{"url": "http://127.0.0.1:9/", "secret": f"${{env:{name}}}"} for name in unset],
            },
            "identity": {
                "jwt": {"issuer": names[0], "audience": "a\u202eb", "jwks_url": "http://127.0.0.1:9/keys"},
            },
        }
    )
