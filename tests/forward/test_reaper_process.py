"""The program beside the gateway: which groups it ends, and which it leaves alone."""

import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from interlock.forward import reaper_process
from interlock.forward.reaper_process import DEAF_TO, end, groups_left, main
from tests.forward.children import python


@pytest.fixture(autouse=True)
def signals_as_before() -> Generator[None]:
    """The program changes what its process does with signals; here that is ours."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handlers = {number: signal.getsignal(number) for number in DEAF_TO}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def told(*pieces: bytes) -> int:
    """A pipe in which these pieces were written before it was closed."""
    reader, writer = os.pipe()
    for piece in pieces:
        os.write(writer, piece)
    os.close(writer)
    return reader


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"", set[int]()),
        (b"+10\n", {10}),
        (b"+10\n+11\n-10\n", {11}),
        (b"+10\n-10\n", set[int]()),
        (b"+10\n-10\n+10\n", {10}),
        (b"-10\n+11\n", {11}),
        (b"+10\n+11", {10}),
        (b"+0\n+1\n+-1\n+\n10\nx10\n+ten\n\n", set[int]()),
    ],
    ids=repr,
)
def test_the_groups_that_are_left_are_those_not_taken_back(text: bytes, left: set[int]) -> None:
    source = told(text)

    assert groups_left(source) == left
    os.close(source)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_line_may_come_in_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(reaper_process, "_PIECE", size)
    source = told(b"+12\n-12\n+34\n+5678\n")

    assert groups_left(source) == {34, 5678}
    os.close(source)


@contextmanager
def started(code: str) -> Generator[subprocess.Popen[bytes]]:
    """A group of one that has said that it is ready, ended at the latest with the block."""
    with subprocess.Popen(python(code), stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN); write(b'ready\\n'); time.sleep(1000)"
WILLING = "write(b'ready\\n'); time.sleep(1000)"


def test_a_group_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper_process, "GRACE_SECONDS", 0.05)
    with started(STUBBORN) as stubborn, started(WILLING) as willing:
        end({stubborn.pid, willing.pid})
        codes = stubborn.wait(10), willing.wait(10)

    assert codes == (-signal.SIGKILL, -signal.SIGTERM)


def test_a_group_that_is_gone_or_unknown_is_no_problem() -> None:
    with subprocess.Popen(python(""), start_new_session=True) as process:
        process.wait(10)

    end({process.pid})


def test_it_is_deaf_while_it_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    source = told(b"+10\n-10\n")
    monkeypatch.setattr(reaper_process, "_GATEWAY", source)

    code = main()
    os.close(source)

    assert code == 0
    assert [number for number in DEAF_TO if signal.getsignal(number) is not signal.SIG_IGN] == []
