"""Single keys from a terminal."""

import asyncio
import os
import pty
import sys
import termios
from collections.abc import Generator

import pytest

from interlock.cli.watching.keys import GONE, keys_of, terminal

pytestmark = pytest.mark.anyio


@pytest.fixture
def ends() -> Generator[tuple[int, int]]:
    """The two ends of a terminal: the person's and the program's."""
    ours, its = pty.openpty()
    yield ours, its
    for each in (ours, its):
        try:
            os.close(each)
        except OSError:
            continue  # the test has closed it


async def test_a_key_is_heard_without_a_new_line_and_the_terminal_is_as_before(ends: tuple[int, int]) -> None:
    ours, its = ends
    before = termios.tcgetattr(its)
    with keys_of(its) as keys:
        os.write(ours, b"xA")
        async with asyncio.timeout(10):
            heard = [await keys.get(), await keys.get()]

    assert heard == ["x", "a"]
    assert termios.tcgetattr(its) == before


async def test_the_terminal_is_as_before_when_the_block_fails(ends: tuple[int, int]) -> None:
    before = termios.tcgetattr(ends[1])
    with pytest.raises(LookupError), keys_of(ends[1]):
        raise LookupError

    assert termios.tcgetattr(ends[1]) == before


async def test_a_terminal_that_goes_away_is_heard_too(ends: tuple[int, int]) -> None:
    ours, its = ends
    with keys_of(its) as keys:
        os.close(ours)
        async with asyncio.timeout(10):
            heard = await keys.get()

    assert heard == GONE


def test_what_is_no_terminal_is_not_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        found = terminal()
    monkeypatch.setattr(sys, "stdin", None)

    assert (found, terminal()) == (None, None)


def test_a_terminal_that_is_not_ours_is_not_touched(ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.dup(ends[1]), encoding="utf-8") as stranger:
        monkeypatch.setattr(sys, "stdin", stranger)

        assert terminal() is None
