"""The proofs run as the command does."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
