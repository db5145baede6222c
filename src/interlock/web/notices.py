"""What became of notices: who could be told of approvals, who could not, and what to do about it.

A target is shown by scheme, host and port at most, because the rest of an address may be a secret.
"""

from dataclasses import dataclass

from fastapi import Response

from interlock.approve.notices import Delivery
from interlock.core.times import iso
from interlock.web.answers import json_answer
from interlock.web.parts import Here


@dataclass(frozen=True, slots=True)
class ShownDelivery:
    """One attempt to tell a target something, or the end of them."""

    at: str
    event: str
    approval_id: str
    target: str
    attempt: int
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class ShownProblem:
    """Something that keeps a target from being told, and what to do about it."""

    text: str
    fix: str


@dataclass(frozen=True, slots=True)
class ShownNotices:
    """Whether anybody is told, what is wrong with that, and the last deliveries, the newest first."""

    configured: bool
    problems: list[ShownProblem]
    deliveries: list[ShownDelivery]


async def get_notices(here: Here) -> Response:
    """Show who could be told of approvals and who could not."""
    problems = [ShownProblem(each.text, each.fix) for each in here.notices.problems()]
    deliveries = [_shown(each) for each in here.notices.deliveries()]
    return json_answer(ShownNotices(here.notices.configured, problems, deliveries))


def _shown(delivery: Delivery) -> ShownDelivery:
    return ShownDelivery(
        iso(delivery.at),
        delivery.event,
        delivery.approval,
        delivery.target,
        delivery.attempt,
        delivery.status.value,
        delivery.detail,
    )
