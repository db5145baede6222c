"""Lines over descriptors: whole, bounded, and at the pace of the reader."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from interlock.receive.lines import PIECE, UNREAD, Outlet, lines, pieces

SECONDS = 10


async def arriving(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def read_lines(parts: Iterable[bytes], limit: int = 5) -> list[bytes | None]:
    return [line async for line in lines(arriving(parts), limit)]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], []),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\nc", b"\n"], [b"ab", b"c"]),
        ([b"\n\n"], [b"", b""]),
        ([b"a\r\n"], [b"a\r"]),
        ([b"whole\nhalf"], [b"whole"]),
        ([b"12345\n"], [b"12345"]),
        ([b"123456\nab\n"], [None, b"ab"]),
        ([b"1234", b"56\nab\n"], [None, b"ab"]),
        ([b"1234", b"56", b"7890", b"\nab\n"], [None, b"ab"]),
        ([b"123456", b"123456"], [None]),
        ([b"123456\n123456\n", b"ab\n"], [None, None, b"ab"]),
        ([b"\xff\n"], [b"\xff"]),
    ],
)
async def test_lines_are_whole_or_refused(parts: list[bytes], expected: list[bytes | None]) -> None:
    assert await read_lines(parts) == expected


async def test_a_line_without_end_is_refused_as_soon_as_it_is_too_long() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * PIECE

    async with asyncio.timeout(SECONDS):
        first = await anext(lines(endless(), 1024 * 1024))

    assert first is None


async def test_what_is_written_to_a_pipe_is_read_until_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\n")
    os.write(writing, b"two\n")
    os.close(writing)
    async with asyncio.timeout(SECONDS):
        read = b"".join([piece async for piece in pieces(reading)])
    os.close(reading)

    assert read == b"one\ntwo\n"


async def test_a_file_can_be_read_too(tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_bytes(b"one\n" * 100_000)
    with file.open("rb") as opened:
        async with asyncio.timeout(SECONDS):
            read = [line async for line in lines(pieces(opened.fileno()), 10)]

    assert read == [b"one"] * 100_000


async def test_a_descriptor_that_does_not_block_is_read_all_the_same() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    arriving = pieces(reading)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        first = group.create_task(_next(arriving))
        await asyncio.sleep(0)
        os.write(writing, b"late")
        assert await first == b"late"
        os.close(writing)
        assert [piece async for piece in arriving] == []
    os.close(reading)


async def _next(arriving: AsyncIterator[bytes]) -> bytes:
    return await anext(arriving)


async def test_a_descriptor_that_is_closed_has_ended() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    async with asyncio.timeout(SECONDS):
        assert [piece async for piece in pieces(reading)] == []


async def test_lines_of_many_speakers_never_mix() -> None:
    reading, writing = os.pipe()
    outlet = Outlet(writing)

    async def speak(letter: bytes) -> None:
        for _ in range(5):
            await outlet.say(letter * 100_000)

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        running = group.create_task(outlet.run())
        heard = group.create_task(_collect(reading, 50))
        for number in range(10):
            group.create_task(speak(b"%d" % number))
        read = await heard
        await outlet.said()
        running.cancel()
    os.close(writing)
    os.close(reading)

    assert sorted(read) == sorted(b"%d" % number * 100_000 for number in range(10) for _ in range(5))


async def _collect(reading: int, count: int) -> list[bytes]:
    found: list[bytes] = []
    async for line in lines(pieces(reading), 1_000_000):
        found.append(line or b"")
        if len(found) == count:
            break
    return found


async def test_a_message_of_several_lines_becomes_one() -> None:
    reading, writing = os.pipe()
    outlet = Outlet(writing)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        running = group.create_task(outlet.run())
        await outlet.say(b'{\r\n "a": 1\n}')
        await outlet.said()
        running.cancel()
    os.close(writing)

    assert os.read(reading, 1000) == b'{   "a": 1 }\n'
    os.close(reading)


async def test_who_speaks_to_somebody_who_does_not_read_has_to_wait() -> None:
    reading, writing = os.pipe()
    outlet = Outlet(writing)
    said = 0

    async def speak() -> None:
        nonlocal said
        while True:
            await outlet.say(b"x" * 1_000_000)
            said += 1

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        running, speaking = group.create_task(outlet.run()), group.create_task(speak())
        while said <= UNREAD:  # noqa: ASYNC110 - a queue has no event for being full
            await asyncio.sleep(0)
        for _ in range(1000):
            await asyncio.sleep(0)
        waiting = said
        speaking.cancel()
        running.cancel()
    os.close(reading)
    os.close(writing)

    assert UNREAD < waiting <= 2 * UNREAD


async def test_writing_ends_when_nobody_reads_any_more() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    outlet = Outlet(writing)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        running = group.create_task(outlet.run())
        await outlet.say(b"hello")
        await running
    os.close(writing)


async def test_a_descriptor_that_does_not_block_gets_whole_lines_all_the_same() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    outlet = Outlet(writing)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        running = group.create_task(outlet.run())
        await outlet.say(b"x" * 300_000)
        (read,) = await _collect(reading, 1)
        await outlet.said()
        running.cancel()
    os.close(writing)
    os.close(reading)

    assert read == b"x" * 300_000
