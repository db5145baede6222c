"""Notices are delivered on the loop of the standard library and on the one that the gateway runs on."""

from typing import Any

import pytest

from tests.forward.children import LOOPS


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param
