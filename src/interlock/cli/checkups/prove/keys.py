"""Proofs about the second key: who may turn it, for which call, and how often."""

import asyncio

from interlock.cli.checkups.prove.proof import Broken, NotApplicable, Proof
from interlock.cli.checkups.prove.sandbox import Agent, Sandbox
from interlock.cli.gateway import Api, Refused

_MAKER = ("agent", "approver", "admin")
_TIMES = 5
_NOT_SEEN = "0" * 64
"""The digest of arguments that nobody has sent."""


async def self_approval(box: Sandbox) -> str:
    target = box.held()
    agent = await box.agent(*_MAKER)
    own = box.as_(agent.token)
    second = await box.agent_of(box.api, agent.name, "approver")
    child = await box.agent_of(own, f"{agent.name}-child", "approver")
    before = box.sends()
    approval = await box.ask(agent, target)
    hands = {"its own token": agent, "a second token of the same principal": second, "a token that it made": child}
    for hand, by in hands.items():
        await _in_vain(box, by, approval, hand)
    await agent.call(target, approval=approval)
    if box.sends() != before:
        raise Broken(f"{target.shown} was sent without anybody else's approval.")
    return f"Refused to the asker of {target.shown} with {', '.join(hands)}."


async def _in_vain(box: Sandbox, by: Agent, approval: str, hand: str) -> None:
    try:
        await box.as_(by.token).post("approvals", approval, "approve", body={})
    except Refused as refused:
        if refused.reason.code != "SELF_APPROVAL":
            raise Broken(f"{hand} was refused with {refused.reason.code}, and not because it is the asker's.") from None
        return
    raise Broken(f"The asker approved its own call with {hand}.")


async def stale(box: Sandbox) -> str:
    target = box.held(two=True)
    agent, before = await box.agent(), box.sends()
    approval = await box.ask(agent, target)
    await _unseen(box.api, approval)
    await box.approve(approval)
    saw = await agent.call(target, target.other, approval)
    if saw.code is None or box.sends() != before:
        raise Broken(f"An approval of {target.shown} let a call with other arguments pass.")
    return f"{target.shown} was approved for one set of arguments; with another it got {saw.code}, nothing sent."


async def _unseen(operator: Api, approval: str) -> None:
    """An answer that names other arguments than those which wait."""
    try:
        await operator.post("approvals", approval, "approve", body={"digest": _NOT_SEEN})
    except Refused:
        return
    raise Broken("A call was approved by an answer about other arguments.")


async def once(box: Sandbox) -> str:
    target = box.held()
    agent, before = await box.agent(), box.sends()
    approval = await box.ask(agent, target)
    await box.approve(approval)
    await asyncio.gather(*(agent.call(target, approval=approval) for _ in range(_TIMES)))
    sent = box.sends() - before
    if sent > 1:
        raise Broken(f"One approval sent {target.shown} {sent} times.")
    if sent == 0:
        raise NotApplicable(f"a call of {target.shown} is refused even when it was approved")
    return f"{target.shown} was brought {_TIMES} times with one approval, and sent once."


PROOFS = (
    Proof("self-approval", "Whoever asks cannot approve, under no token.", self_approval),
    Proof("other-arguments", "An approval fits no other arguments, unless its giver widened it.", stale),
    Proof("used-once", "An approval is used once, unless its giver widened it.", once),
)
