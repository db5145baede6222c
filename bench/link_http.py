"""What one request over HttpLink costs, as a ratio to httpx2, the client of the SDK. Goal: at most a tenth of its CPU.

Both talk to the same trivial server in a process of its own, with the same body, over kept connections, on uvloop.
Rounds are interleaved and the best of each is compared; CPU is that of this process, so the server is not in it.
"""

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import cast

import httpx2
import msgspec
import uvloop

from interlock.forward.link_http import HttpLink

ROUNDS, GOAL = 5, 10.0
CALLERS = (1, 32)
REQUESTS = {"HttpLink": 4000, "httpx2": 800}
"""For each round: as many as take about as long."""
PARAMS = b'{"name":"echo","arguments":{"text":"' + b"x" * 64 + b'"}}'
RESULT = b'{"content":[{"type":"text","text":"' + b"x" * 64 + b'"}]}'

Call = Callable[[], Awaitable[None]]


class Server(asyncio.Protocol):
    """Answers each request as soon as it is whole; it trusts its clients to be the ones below."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]):
            return
        self._received = b""
        number = body.partition(b'"id":')[2].partition(b",")[0]
        answer = b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (number, RESULT)
        fields = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
        self._transport.write(b"HTTP/1.1 200 OK\r\n" + fields + answer)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def by_link(link: HttpLink) -> Call:
    async def call() -> None:
        answer = await link.request("tools/call", PARAMS, seconds=30, name="echo")
        assert answer.result == RESULT  # noqa: S101

    return call


def by_httpx2(client: httpx2.AsyncClient, url: str) -> Call:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + PARAMS + b"}"
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

    async def call() -> None:
        answer = await client.post(url, content=body, headers=headers)
        assert bytes(decode(answer.content)["result"]) == RESULT  # noqa: S101

    return call


async def measure(call: Call, callers: int, requests: int) -> tuple[float, float]:
    """Requests per second, and microseconds of CPU per request."""

    async def caller() -> None:
        for _ in range(requests // callers):
            await call()

    done = requests // callers * callers
    gc.collect()
    began, used = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(caller())
    return done / (time.perf_counter() - began), (time.process_time() - used) / done * 1e6


async def compare(port: int) -> bool:
    url = f"http://127.0.0.1:{port}/mcp"
    link = HttpLink(url, {}, on_notification=lambda _: None)
    await link.start()
    reached = True
    async with httpx2.AsyncClient(timeout=30) as client:
        calls = {"HttpLink": by_link(link), "httpx2": by_httpx2(client, url)}
        for callers in CALLERS:
            best = {name: (0.0, float("inf")) for name in calls}
            for _ in range(ROUNDS):
                for name, call in calls.items():
                    rate, cpu = await measure(call, callers, REQUESTS[name])
                    best[name] = (max(best[name][0], rate), min(best[name][1], cpu))
            ratio = best["httpx2"][1] / best["HttpLink"][1]
            reached &= ratio >= GOAL
            for name, (rate, cpu) in best.items():
                print(f"  {callers:3} callers   {name:9} {rate:8.0f} requests/s   {cpu:7.1f} µs CPU per request")
            print(f"  {callers:3} callers   ratio of CPU: {ratio:.1f}")
    await link.close()
    return reached


def main() -> None:
    if sys.argv[1:] == ["--serve"]:
        uvloop.run(serve())
        return
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        print(f"link_http: best of {ROUNDS} interleaved rounds (goal: httpx2 costs at least {GOAL:g} times the CPU)")
        try:
            port = int(server.stdout.readline()) if server.stdout else 0
            reached = uvloop.run(compare(port))
        finally:
            server.terminate()
    print(f"  goal {'reached' if reached else 'MISSED'}")


if __name__ == "__main__":
    main()
