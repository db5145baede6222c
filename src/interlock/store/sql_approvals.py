"""The desk's rows in a database: compared and set by the one writer, and read.

INVARIANT: what an approval becomes, its grant and the activity that tells of it are one transaction; so are the use of
a grant and the record of the call that uses it.

This module refuses to know threads and connections: it is handed the two ends of the store.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from interlock.core.approvals import Approval
from interlock.core.freezes import Freeze, Frozen
from interlock.core.grants import Grant
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Micros
from interlock.store import approval_queries as queries
from interlock.store.approval_rows import (
    approval_of,
    approval_row,
    changed_row,
    freeze_of,
    freeze_row,
    grant_of,
    grant_row,
)
from interlock.store.approvals import ApprovalFigures, ApprovalFilter, ApprovalPage, Crowd, Stretch
from interlock.store.protocol import Activity
from interlock.store.rows import Row, nearest_integer, storable
from interlock.store.writer import Guard, Rows

MAX_LISTED = 10_000
"""The most approvals that are listed at once: as many as may wait."""
MAX_WAITS = 100_000
"""The most waits that are looked at."""


class Write(Protocol):
    """The writing end of the store."""

    def __call__(
        self, activities: Sequence[Activity], guard: Guard | None = None, rows: tuple[Rows, ...] = ()
    ) -> Awaitable[bool]: ...


class Read(Protocol):
    """The reading end of the store."""

    def __call__(self, sql: str, values: Row, *, timed: bool = False) -> Awaitable[list[Any]]: ...


class SqlApprovals:
    """Approvals, grants and freezes of one gateway."""

    def __init__(self, write: Write, rows: Read) -> None:
        self._write = write
        self._rows = rows

    async def add_approval(self, approval: Approval, why: Activity, most: Crowd | None = None) -> bool:
        row = approval_row(approval)
        if most is None:
            return await self._write((why,), Guard(queries.ADD_APPROVAL, row))
        within = storable((approval.requester, most.own, most.total))
        return await self._write((why,), Guard(queries.ADD_APPROVAL_WITHIN, (*row, *within)))

    async def get_approval(self, approval_id: str) -> Approval | None:
        rows = await self._rows(queries.GET_APPROVAL, storable((approval_id,)))
        return approval_of(rows[0]) if rows else None

    async def list_approvals(self, wanted: ApprovalFilter) -> ApprovalPage:
        limit = max(1, min(wanted.limit, MAX_LISTED))
        items = tuple(map(approval_of, await self._rows(*queries.listing(wanted, limit))))
        ((total,),) = await self._rows(*queries.counting(wanted))
        return ApprovalPage(items, total)

    async def last_approved(self, server: str, tool: str, before: Micros, but: str) -> Approval | None:
        values = storable((server, tool, nearest_integer(before), but))
        rows = await self._rows(queries.LAST_APPROVED, values)
        return approval_of(rows[0]) if rows else None

    async def change_approval(self, changed: Approval, why: Activity, grant: Grant | None = None) -> bool:
        sql, timed = queries.CHANGES[changed.status]
        rows = () if grant is None else (Rows(queries.ADD_GRANT, (grant_row(grant),)),)
        return await self._write((why,), Guard(sql, changed_row(changed), timed), rows)

    async def mark_answered(self, approval_id: str) -> bool:
        return await self._write((), Guard(queries.MARK_ANSWERED, storable((approval_id,))))

    async def figures(self, since: Micros, width: Micros) -> ApprovalFigures:
        begin = nearest_integer(since)
        stretches = await self._rows(queries.STRETCHES, (width, begin))
        waits = await self._rows(queries.WAITS, (begin, MAX_WAITS))
        return ApprovalFigures(
            tuple(Stretch(at * width, ApprovalState(status), count, sum_) for at, status, count, sum_ in stretches),
            tuple(sorted(waited for (waited,) in waits)),
        )

    async def live_grants(self) -> Sequence[Grant]:
        return [grant_of(row) for row in await self._rows(queries.LIVE_GRANTS, (), timed=True)]

    async def get_grant(self, approval_id: str) -> Grant | None:
        rows = await self._rows(queries.GET_GRANT, storable((approval_id,)))
        grant = grant_of(rows[0]) if rows else None
        if grant is not None and grant.uses_left == 0 and await self._rows(queries.IS_UNSENT, (grant.id,)):
            return replace(grant, uses_left=1, uses=0, activity=None)
        return grant

    async def use_grant(self, grant_id: str, call: Activity) -> bool:
        digest = call.body.get("digest")
        about = digest if isinstance(digest, str) else None
        use = Guard(queries.USE_GRANT, storable((about, call.id, grant_id)), timed=True)
        return await self._write((call,), use) or await self._reuse(grant_id, call)

    async def _reuse(self, grant_id: str, call: Activity) -> bool:
        """The use of a call that has not left goes over to another one, so that the count stays what was sent."""
        return await self._write((call,), Guard(queries.REUSE_GRANT, storable((call.id, grant_id)), timed=True))

    async def revoke_grant(self, grant_id: str, at: Micros, why: Activity) -> bool:
        return await self._write((why,), Guard(queries.REVOKE_GRANT, storable((at, grant_id)), timed=True))

    async def freezes(self) -> Mapping[Frozen, Freeze]:
        found = [freeze_of(row) for row in await self._rows(queries.FREEZES, ())]
        return {each.what: each for each in found}

    async def put_freeze(self, what: Frozen, freeze: Freeze | None, why: Activity) -> None:
        if freeze is None:
            put = Rows(queries.DROP_FREEZE, (storable((what.kind.value, what.name)),))
        else:
            put = Rows(queries.PUT_FREEZE, (freeze_row(freeze),))
        await self._write((why,), rows=(put,))
