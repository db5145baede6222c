"""How the verbs of the lab that stand for a server are reached: over stdin and stdout, or over HTTP on loopback.

Stdout belongs to the protocol; everything that a person should know goes to stderr. This module refuses to listen on
anything but loopback: a mock checks nobody's credentials.
"""

import argparse
import asyncio
import contextlib

from interlock.cli.command import Options
from interlock.cli.openings import bind, claim_stdout
from interlock.cli.render import note
from interlock.lab.played.answering import Answerer, Script
from interlock.lab.played.serving import MAX_MESSAGE, serve_http, serve_lines


def add_http(parser: Options) -> None:
    """The option of every verb that stands for a server."""
    parser.add_argument(
        "--http",
        type=_port,
        metavar="PORT",
        help="serve HTTP on 127.0.0.1 instead of stdin and stdout; 0 takes a free port",
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port: give a number from 0 to 65535")
    return int(text)


def play(script: Script, port: int | None) -> None:
    """Be the server of a script until its client leaves, or until a signal comes."""
    answerer = Answerer(script)
    if port is None:
        asyncio.run(_over_stdio(answerer))
        return
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        asyncio.run(_over_http(answerer, port))


async def _over_stdio(answerer: Answerer) -> None:
    from interlock.receive.lines import Outlet, lines, pieces

    outlet = Outlet(claim_stdout())
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(outlet.run())
        reading = group.create_task(serve_lines(answerer, lines(pieces(0), MAX_MESSAGE), outlet.say))
        await asyncio.wait({writing, reading}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not writing.done():
            said = group.create_task(outlet.said())
            await asyncio.wait({writing, said}, return_when=asyncio.FIRST_COMPLETED)
            said.cancel()
        reading.cancel()
        writing.cancel()


async def _over_http(answerer: Answerer, port: int) -> None:
    with contextlib.closing(bind("127.0.0.1", port, option="--http")) as listener:
        listener.listen()  # before the address is told, so that whoever comes at once waits and is not refused
        note(f"Listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp — Ctrl-C stops.")
        await serve_http(answerer, listener)
