"""The other side of the desk: those who turn the second key, and what each of them may do.

Every door comes through here, REST, MCP, the command line and the dashboard: who answers was identified by us, may not
be the requester under any name, and says yes or no to a row that may have changed meanwhile. An answer that its giver
may not give is refused and on record.
"""

from collections.abc import Callable

from interlock import errors
from interlock.approve.register import TRIES, Register
from interlock.clock import Clock
from interlock.core.approvals import Answered, Approval, Approver, Wish, approved, by_several_hands, denied, refusal_to
from interlock.core.lifecycle import ApprovalEvent, ApprovalState
from interlock.core.lineage import Lineage
from interlock.core.model import Micros
from interlock.core.policy import Patience
from interlock.core.redact import KnownSecrets, redact_text
from interlock.errors import Reason
from interlock.store.protocol import StoreUnavailable


class Refused(Exception):
    """An answer was not taken. `approval` is what it found, where that tells who was faster."""

    def __init__(self, reason: Reason, approval: Approval | None = None) -> None:
        super().__init__(reason.text)
        self.reason = reason
        self.approval = approval


class Approvers:
    """Takes the answers of reviewers."""

    def __init__(self, register: Register, clock: Clock, secrets: Callable[[], KnownSecrets] = KnownSecrets) -> None:
        self.register = register
        self._clock = clock
        self._secrets = secrets
        self.lineage: Callable[[], Lineage] = Lineage
        """Who made whom, as it is now."""
        self.use_within = Patience().use_within
        """For how many seconds a call that was approved once may be brought."""

    async def approve(
        self,
        approval_id: str,
        approver: Approver,
        wish: Wish | None = None,
        resolution: str = "",
        digest: str | None = None,
    ) -> Approval:
        """Say yes; with `digest`, only to the call that was looked at. Raises Refused."""
        said = redact_text(resolution, self._secrets())

        def answer(approval: Approval, now: Micros) -> Answered | Reason:
            if digest is not None and digest != approval.key.digest:
                return errors.NOT_LOOKED_AT()
            may_still = self.register.board.may_still
            made = approved(approval, approver, wish or Wish(), said, now, may_still, self.use_within)
            return by_several_hands(made, approver, self.lineage())

        return await self._answer(approval_id, approver, answer)

    async def deny(self, approval_id: str, approver: Approver, resolution: str = "") -> Approval:
        """Say no. Raises Refused."""
        said = redact_text(resolution, self._secrets())
        return await self._answer(approval_id, approver, lambda approval, now: denied(approval, approver, said, now))

    async def _answer(
        self, approval_id: str, approver: Approver, answer: Callable[[Approval, Micros], Answered | Reason]
    ) -> Approval:
        self.register.check()
        for _ in range(TRIES):
            approval = await self.register.get(approval_id)
            if approval is None:
                raise Refused(errors.NOT_FOUND(what="Approval", suggestion=""))
            await self._let(approver, approval)
            now = self._clock.now()
            if approval.status is ApprovalState.PENDING and approval.expires_at <= now:
                await self.register.end(approval, ApprovalEvent.EXPIRE, "")
                continue
            made = answer(approval, now)
            if isinstance(made, Reason):
                raise Refused(made, approval)
            if await self.register.change(made):
                return made.approval
        raise StoreUnavailable("Too many answers at once.")

    async def _let(self, approver: Approver, approval: Approval) -> None:
        """Refuse whoever may not answer this one, and put that on record: somebody tried."""
        refusal = refusal_to(approver, approval, self.lineage())
        if refusal is not None:
            body = {"change": "refused", "code": refusal.code, "text": refusal.text, "door": approver.type.value}
            await self.register.note(approval, approver.name, {**body, "status": approval.status.value})
            raise Refused(refusal, approval)
