"""The server of the measurements, but it takes a while for each call: `python slow_upstream.py PORT`."""

import asyncio
import sys

import uvloop

from upstream import Tools, Upstream

SLOW_SECONDS = 0.05


class Slow(Upstream):
    """One connection. It answers late, and waits for nothing meanwhile."""

    def _serve(self, head: bytes, body: bytes) -> None:
        if b'"tools/call"' in body:
            asyncio.get_running_loop().call_later(SLOW_SECONDS, super()._serve, head, body)
        else:
            super()._serve(head, body)


async def serve(port: int) -> None:
    tools = Tools()
    server = await asyncio.get_running_loop().create_server(lambda: Slow(tools), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
