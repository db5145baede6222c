"""The proxy of fastmcp: `fastmcp_proxy.py PORT URL` as `create_proxy(url)` gives it, with `reuse` over one client.

Runs in the environment of that peer, where nothing of Interlock is.
"""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from fastmcp import Client
from fastmcp.server import create_proxy


async def main(port: str, url: str, *, reuse: bool) -> None:
    quick = {"loop": "uvloop", "http": "httptools", "access_log": False}
    serve = {"transport": "http", "host": "127.0.0.1", "port": int(port), "path": "/mcp", "log_level": "warning"}
    if not reuse:
        await create_proxy(url, name="bench").run_async(**serve, show_banner=False, uvicorn_config=quick)
        return
    async with Client(url) as client:
        await create_proxy(client, name="bench").run_async(**serve, show_banner=False, uvicorn_config=quick)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], reuse="reuse" in sys.argv))
