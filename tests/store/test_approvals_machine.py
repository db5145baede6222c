"""Any order of questions, answers, votes, deadlines, uses and restarts: the store says what a plain model says."""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace as with_fields
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from interlock.core.approvals import SECOND, Answered, Approval, Approver, ApproverType, Wish, approved, denied, ended
from interlock.core.grants import Grant, GrantScope
from interlock.core.lifecycle import ApprovalEvent, ApprovalState
from interlock.store.approvals import ApprovalFilter, Approvals
from tests.fakes import FakeClock
from tests.store.approval_examples import TERMS, approval, key, sent, why
from tests.store.examples import NOW
from tests.store.places import NewPlace

T = TypeVar("T")
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
NAMES = ("bob", "carol", "dave")
SCOPES = (GrantScope.ONCE, GrantScope.IDENTICAL)
_ids = st.integers(0, 5)


class Approving(RuleBasedStateMachine):
    """The store beside a model of it: two dictionaries, and the rules in plain sight."""

    def __init__(self, new_place: NewPlace) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.place = new_place()
        self.run(self.place.__aenter__())
        self.clock = FakeClock(NOW)
        self.rows: dict[str, Approval] = {}
        self.grants: dict[str, Grant] = {}
        self.revoked: set[str] = set()
        self.calls = 0

    @initialize()
    def start(self) -> None:
        self.store = self.place.store(self.clock)
        self.run(self.store.start())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @property
    def approvals(self) -> Approvals:
        return self.store.approvals

    def teardown(self) -> None:
        self.run(self.store.close())
        self.run(self.place.__aexit__(None, None, None))
        self.runner.close()

    # What may happen ------------------------------------------------------------------------------------------------

    @rule(which=_ids, needed=st.integers(1, 2))
    def ask(self, which: int, needed: int) -> None:
        number = len(self.rows) + 1
        question = approval(
            number,
            key=key(which),
            terms=with_fields(TERMS, approvals_needed=needed),
            created_at=self.clock.now(),
            expires_at=self.clock.now() + 20 * SECOND,
        )
        waits = any(each.key == question.key and each.status is ApprovalState.PENDING for each in self.rows.values())
        assert self.run(self.approvals.add_approval(question, why(number))) is not waits
        if not waits:
            self.rows[question.id] = question

    def _change(self, seen: Approval, made: Answered) -> None:
        """Bring a change of what somebody saw, and say in the model whether that counts."""
        changed, row, now = made.approval, self.rows[seen.id], self.clock.now()
        over = row.expires_at <= now
        in_time = {ApprovalState.TIMEOUT: over, ApprovalState.CANCELLED: True}.get(changed.status, not over)
        counts = row.status is ApprovalState.PENDING and row.version == seen.version and in_time
        assert self.run(self.approvals.change_approval(changed, why(int(seen.id[3:])), made.grant)) is counts
        if counts:
            self.rows[seen.id] = replace(changed, answered=row.answered)
            if made.grant is not None:
                self.grants[seen.id] = made.grant

    def _seen(self, data: st.DataObject, *, stale: bool) -> Approval:
        """An approval as somebody saw it, perhaps a while ago."""
        row = self.rows[data.draw(st.sampled_from(sorted(self.rows)))]
        if stale or row.status is not ApprovalState.PENDING:
            return replace(
                row, status=ApprovalState.PENDING, version=max(0, row.version - 1), votes=(), decided_at=None
            )
        return row

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), who=st.sampled_from(NAMES), scope=st.sampled_from(SCOPES), stale=st.booleans())
    def approve_or_vote(self, data: st.DataObject, who: str, scope: GrantScope, stale: bool) -> None:
        seen = self._seen(data, stale=stale)
        made = approved(seen, Approver(who, ApproverType.CLI), Wish(scope), "yes", self.clock.now(), use_within=30)
        if isinstance(made, Answered):  # else it has voted
            self._change(seen, made)

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), who=st.sampled_from(NAMES), stale=st.booleans())
    def deny(self, data: st.DataObject, who: str, stale: bool) -> None:
        seen = self._seen(data, stale=stale)
        made = denied(seen, Approver(who, ApproverType.CLI), "no", self.clock.now())
        assert isinstance(made, Answered)
        self._change(seen, made)

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), event=st.sampled_from([ApprovalEvent.EXPIRE, ApprovalEvent.CANCEL]), stale=st.booleans())
    def end(self, data: st.DataObject, event: ApprovalEvent, stale: bool) -> None:
        seen = self._seen(data, stale=stale)
        self._change(seen, Answered(ended(seen, event, "", self.clock.now())))

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def tell_to_come_again(self, data: st.DataObject) -> None:
        row = self.rows[data.draw(st.sampled_from(sorted(self.rows)))]
        pending = row.status is ApprovalState.PENDING
        assert self.run(self.approvals.mark_answered(row.id)) is pending
        if pending:
            self.rows[row.id] = replace(row, answered=True)

    def _usable(self, grant: Grant) -> bool:
        return not grant.revoked and grant.uses_left != 0 and self.clock.now() < grant.expires_at

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), same=st.booleans())
    def use(self, data: st.DataObject, same: bool) -> None:
        grant = self.grants[data.draw(st.sampled_from(sorted(self.grants)))]
        self.calls += 1
        call = sent(self.calls, grant.key.digest if same else "other")
        usable = self._usable(grant)
        assert self.run(self.approvals.use_grant(grant.id, call)) is usable
        if usable:
            left = None if grant.uses_left is None else grant.uses_left - 1
            activity = call.id if same else grant.activity
            used = with_fields(grant, uses_left=left, uses=grant.uses + 1, activity=activity)
            self.grants[grant.approval] = used

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        grant = self.grants[data.draw(st.sampled_from(sorted(self.grants)))]
        usable = self._usable(grant)
        assert self.run(self.approvals.revoke_grant(grant.id, self.clock.now(), why(9999))) is usable
        if usable:
            self.grants[grant.approval] = with_fields(grant, revoked=True)

    @rule(seconds=st.integers(1, 25))
    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds * SECOND)
        self.run(self.place.turn_clock(self.clock.now()))

    @rule()
    def reopen(self) -> None:
        """A crash: what was answered for is there again. The old store is only let go of."""
        old = self.store
        self.start()
        with suppress(Exception):  # whatever it says: it is gone
            self.run(old.close())

    # What must hold -------------------------------------------------------------------------------------------------

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        page = self.run(self.approvals.list_approvals(ApprovalFilter(limit=500)))
        live = [each for each in self.grants.values() if self._usable(each)]

        assert {each.id: each for each in page.items} == self.rows
        assert page.total == len(self.rows)
        for row in self.rows.values():
            assert self.run(self.approvals.get_grant(row.id)) == self.grants.get(row.id)
        assert sorted(self.run(self.approvals.live_grants()), key=lambda each: each.id) == sorted(
            live, key=lambda each: each.id
        )


COUNTS = settings(max_examples=400 if FULL else 25, stateful_step_count=30, deadline=None, derandomize=not FULL)


def test_whatever_happens_the_store_says_what_the_model_says(new_place: NewPlace) -> None:
    class There(Approving):
        def __init__(self) -> None:
            super().__init__(new_place)

    run_state_machine_as_test(There, settings=COUNTS)
