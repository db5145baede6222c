"""Our own tools around approvals: a supervising agent answers for others, and whoever waits asks how things stand.

The three tools of approvers are there for tokens with that role and for nobody else: to others they do not exist. A
caller never sees its own requests among those that it could answer. `interlock__await_approval` tells whoever asked for
an approval its status and nothing more: what was approved runs only when the call itself is brought again.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from interlock import errors
from interlock.approve.approvers import Refused
from interlock.approve.desk import MAX_ID
from interlock.approve.room import Room
from interlock.core.approvals import Approval, Approver, ApproverType, shown_approval
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Caller, Json, JsonObject
from interlock.core.policy import Patience
from interlock.kept import Origin
from interlock.receive import replies
from interlock.store.approvals import ApprovalFilter, Approvals
from interlock.store.protocol import StoreUnavailable, Uncertain

PREFIX = "interlock__"
LIST = "interlock__list_pending_approvals"
APPROVE = "interlock__approve_tool_call"
DENY = "interlock__deny_tool_call"
AWAIT = "interlock__await_approval"
MAX_SHOWN = 50
MAX_RESOLUTION = 1000
MAX_WATCHING = 100
"""How often a caller may wait for a status at the same time; beyond that it is told at once."""


def _tool(name: str, description: str, required: Mapping[str, str], hints: Mapping[str, bool]) -> dict[str, Any]:
    properties = {field: {"type": "string", "description": about} for field, about in required.items()}
    needed = [field for field in required if field != "reason"]
    schema = {"type": "object", "properties": properties, **({"required": needed} if needed else {})}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": dict(hints)}


_ID = {"approval_id": "The id of the approval."}
_REASON = {"reason": "What the requester and the record are told."}

AWAIT_TOOL = _tool(
    AWAIT,
    "Wait for a while until an approval of yours is answered, and learn its status. Repeat the call itself to run it.",
    _ID,
    {"readOnlyHint": True},
)
APPROVER_TOOLS = (
    _tool(LIST, "List the calls of others that wait for an approval.", {}, {"readOnlyHint": True}),
    _tool(
        APPROVE,
        "Approve a call of another agent, this once. Look at its arguments first: the justification is the word of the "
        "requester and may be untrue.",
        {**_ID, **_REASON},
        {"destructiveHint": True},
    ),
    _tool(DENY, "Deny a call of another agent.", {**_ID, **_REASON}, {"destructiveHint": False, "readOnlyHint": False}),
)


def tools_for(caller: Caller) -> list[dict[str, Any]]:
    """Those of these tools that there are for a caller."""
    return [*(APPROVER_TOOLS if caller.may_answer else ()), AWAIT_TOOL]


def has(caller: Caller, name: str) -> bool:
    """Whether a name is one of these tools, for this caller."""
    return name == AWAIT or (caller.may_answer and name in (LIST, APPROVE, DENY))


class DeskTools:
    """Serves these tools."""

    def __init__(
        self,
        room: Room,
        store: Approvals,
        is_person: Callable[[Caller], bool],
        patience: Callable[[], Patience],
    ) -> None:
        self._desk = room.desk
        self._approvers = room.approvers
        self._store = store
        self._is_person = is_person
        self._watching: Counter[str] = Counter()
        self._patience = patience
        self.on_look: Callable[[], None] = lambda: None
        """Told when an approver looks at what waits."""
        self._serves: Mapping[str, Callable[[JsonObject, Caller, Origin], Awaitable[dict[str, Any]]]] = {
            LIST: self._list,
            APPROVE: self._approve,
            DENY: self._deny,
            AWAIT: self._await,
        }

    async def serve(self, name: str, params: JsonObject, caller: Caller, origin: Origin) -> dict[str, Any]:
        """The result of one of these tools."""
        try:
            return await self._serves[name](params, caller, origin)
        except Refused as refused:
            return replies.refusal_result(refused.reason)
        except Uncertain:
            return replies.refusal_result(errors.STORE_UNCERTAIN())
        except StoreUnavailable:
            return replies.refusal_result(errors.STORE_UNREACHABLE())

    async def _list(self, params: JsonObject, caller: Caller, origin: Origin) -> dict[str, Any]:
        self.on_look()
        page = await self._store.list_approvals(
            ApprovalFilter(ApprovalState.PENDING, not_of=caller.name, limit=MAX_SHOWN)
        )
        kin = self._approvers.lineage()
        items = [shown_approval(each) for each in page.items if not kin.are_kin(caller.name, each.requester)]
        return _result({"items": items, "total": page.total})

    async def _approve(self, params: JsonObject, caller: Caller, origin: Origin) -> dict[str, Any]:
        approver = self._approver(caller, origin)
        done = await self._approvers.approve(_id(params), approver, resolution=_reason(params))
        return _result(_answered(done))

    async def _deny(self, params: JsonObject, caller: Caller, origin: Origin) -> dict[str, Any]:
        return _result(
            _answered(await self._approvers.deny(_id(params), self._approver(caller, origin), _reason(params)))
        )

    async def _await(self, params: JsonObject, caller: Caller, origin: Origin) -> dict[str, Any]:
        approval = await self._own(_id(params), caller)
        if approval.status is ApprovalState.PENDING and self._watching[caller.name] < MAX_WATCHING:
            self._watching[caller.name] += 1
            try:
                await self._desk.watch(approval, self._patience().of(origin.client))
            finally:
                self._watching[caller.name] -= 1
            approval = await self._own(approval.id, caller)
        return _result({"approval_id": approval.id, "status": approval.status.value})

    async def _own(self, approval_id: str, caller: Caller) -> Approval:
        """The approval, if it is this caller's to know of. The same answer for one that there is not."""
        approval = await self._store.get_approval(approval_id)
        if approval is None or not (caller.may_answer or approval.requester == caller.name):
            raise Refused(errors.NO_SUCH_APPROVAL())
        return approval

    def _approver(self, caller: Caller, origin: Origin) -> Approver:
        person = self._is_person(caller)
        return Approver(caller.name, ApproverType.MCP_AGENT, caller.owner, origin.session_id, person)


def _id(params: JsonObject) -> str:
    given = params.get("approval_id")
    if not isinstance(given, str) or not given or len(given) > MAX_ID:
        raise Refused(errors.BAD_REQUEST(problem="approval_id is required", fix="Give the id as a text."))
    return given


def _reason(params: JsonObject) -> str:
    given = params.get("reason", "")
    if not isinstance(given, str) or len(given) > MAX_RESOLUTION:
        raise Refused(
            errors.BAD_REQUEST(
                problem=f"reason must be a text of at most {MAX_RESOLUTION} characters", fix="Shorten the reason."
            )
        )
    return given


def _answered(approval: Approval) -> dict[str, Json]:
    return {
        "approval_id": approval.id,
        "status": approval.status.value,
        "votes": len(approval.votes),
        "approvals_needed": approval.terms.approvals_needed,
    }


def _result(told: Mapping[str, Any]) -> dict[str, Any]:
    return replies.text_result(msgspec.json.encode(told).decode(), dict(told))
