"""All tests of links run on asyncio: the links are written for it."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
