"""Exactly `max_calls` acquisitions succeed, whoever asks."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from interlock.core.budget import CallBudget
from interlock.errors import BudgetExhausted, Code


def attempt(budget: CallBudget) -> bool:
    try:
        budget.acquire()
    except BudgetExhausted:
        return False
    return True


@pytest.mark.parametrize("limit", [0, 1, 100, 5_000])
def test_under_64_threads_exactly_the_limit_is_acquired(limit: int) -> None:
    budget = CallBudget(limit)
    start = threading.Barrier(64)

    def worker(_: int) -> int:
        start.wait()
        return sum(attempt(budget) for _ in range(100))

    with ThreadPoolExecutor(64) as pool:
        acquired = sum(pool.map(worker, range(64)))

    assert acquired == min(limit, 6_400)
    assert budget.used == min(limit, 6_400)


def test_under_asyncio_exactly_the_limit_is_acquired() -> None:
    budget = CallBudget(100)

    async def worker() -> int:
        acquired = 0
        for _ in range(10):
            acquired += attempt(budget)
            await asyncio.sleep(0)
        return acquired

    async def run() -> list[int]:
        return await asyncio.gather(*(worker() for _ in range(64)))

    assert sum(asyncio.run(run())) == 100


def test_an_exhausted_budget_says_its_limit() -> None:
    budget = CallBudget(3)
    for _ in range(3):
        budget.acquire()

    with pytest.raises(BudgetExhausted) as refused:
        budget.acquire()

    assert refused.value.limit == 3
    assert refused.value.reason.code is Code.BUDGET_EXHAUSTED
    assert refused.value.reason.text == "The budget of 3 calls is used up."


def test_without_a_limit_it_never_ends() -> None:
    budget = CallBudget()

    assert all(attempt(budget) for _ in range(10_000))


def test_what_is_left_is_known_where_there_is_a_limit() -> None:
    budget = CallBudget(3)
    budget.acquire()

    assert (budget.left, CallBudget().left) == (2, None)
