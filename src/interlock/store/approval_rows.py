"""Approvals, grants and freezes as rows, and rows as what they were.

What a row is compared and found by has a column; everything else is in its body. This module refuses to know SQL.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from interlock.core.approvals import Approval, ApproverType, Vote
from interlock.core.canonical import content_hash
from interlock.core.freezes import Freeze, FreezeKind, Frozen
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import HoldTerms
from interlock.store.protocol import Damaged
from interlock.store.rows import Row, json_text, storable

T = TypeVar("T")


class _ApprovalBody(Struct, frozen=True):
    """What of an approval has no column."""

    key: GrantKey
    tool_name: str
    rule_id: str
    terms: HoldTerms
    owner: str | None
    asked: dict[str, Any]
    approver_session_id: str | None
    approver_type: ApproverType | None
    resolution: str


class _GrantBody(Struct, frozen=True):
    """What of a grant has no column."""

    key: GrantKey
    given_by: tuple[str, ...]


def waits_for(key: GrantKey) -> str:
    """What a call must bring to be the very call of an approval, as one text."""
    return content_hash(msgspec.to_builtins(key))


def approval_row(approval: Approval) -> Row:
    """The row of a new approval. Raises ValueError when no database could hold it."""
    session = approval.asked.get("request_session_id")
    return storable(
        (
            approval.id,
            approval.status.value,
            approval.version,
            approval.requester,
            approval.approver,
            approval.key.workspace,
            session if isinstance(session, str) else None,
            approval.gateway,
            int(approval.answered),
            approval.created_at,
            approval.decided_at,
            approval.expires_at,
            waits_for(approval.key),
            _votes(approval),
            _body(approval),
        )
    )


def changed_row(approval: Approval) -> Row:
    """What changes in the row of an approval, and which version of it may be changed."""
    changes = approval.status.value, approval.version, approval.approver, approval.decided_at
    return storable((*changes, _votes(approval), _body(approval), approval.id, approval.version - 1))


def approval_of(row: Sequence[Any]) -> Approval:
    """The approval of a row. Raises Damaged when it is none: then somebody has changed the file."""
    try:
        return _approval_of(row)
    except (msgspec.MsgspecError, ValueError) as unreadable:
        raise Damaged(f"The row of approval {row[0]}", unreadable) from unreadable


def _approval_of(row: Sequence[Any]) -> Approval:
    identity, status, version, approver, gateway, answered, created_at, decided_at, expires_at, votes, body = row
    rest = _decoded(body, _ApprovalBody)
    return Approval(
        **asdict(rest),
        id=identity,
        status=ApprovalState(status),
        version=version,
        approver=approver,
        gateway=gateway,
        answered=bool(answered),
        created_at=created_at,
        decided_at=decided_at,
        expires_at=expires_at,
        votes=_decoded(votes, tuple[Vote, ...]),
    )


def derived(approval: Approval) -> Row:
    """What the row of an approval holds that follows from the rest of it: `waits_for`, `votes`, `body`. A text that
    means the same and is written otherwise is not ours."""
    return waits_for(approval.key), _votes(approval), _body(approval)


def grant_row(grant: Grant) -> Row:
    """The row of a new grant."""
    body = json_text(msgspec.to_builtins(_GrantBody(grant.key, grant.given_by)))
    who = grant.id, grant.approval, grant.key.caller, grant.scope.value
    return storable((*who, grant.created_at, grant.expires_at, grant.uses_left, grant.uses, body))


def grant_of(row: Sequence[Any]) -> Grant:
    """The grant of a row."""
    identity, approval, scope, created_at, expires_at, uses_left, uses, revoked_at, activity, body = row
    rest = _decoded(body, _GrantBody)
    return Grant(
        id=identity,
        key=rest.key,
        scope=GrantScope(scope),
        expires_at=expires_at,
        uses_left=uses_left,
        revoked=revoked_at is not None,
        approval=approval,
        given_by=rest.given_by,
        created_at=created_at,
        uses=uses,
        activity=activity,
    )


def freeze_row(freeze: Freeze) -> Row:
    """The row of a freeze."""
    return storable((freeze.what.kind.value, freeze.what.name, freeze.at, freeze.by, freeze.reason))


def freeze_of(row: Sequence[Any]) -> Freeze:
    """The freeze of a row."""
    kind, name, at, by, reason = row
    return Freeze(Frozen(FreezeKind(kind), name), at, by, reason)


def _decoded(text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        # Half a character, which is kept as an escape, and which msgspec does not read.
        return msgspec.convert(json.loads(text), kind)


def _votes(approval: Approval) -> str:
    return json_text(msgspec.to_builtins(approval.votes))


def _body(approval: Approval) -> str:
    rest: dict[str, Any] = {name: getattr(approval, name) for name in _ApprovalBody.__struct_fields__}
    return json_text(msgspec.to_builtins(_ApprovalBody(**rest)))
