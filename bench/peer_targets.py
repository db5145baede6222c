"""Other gateways, as `make bench` installed them, each as its makers would have it run, and in front of few tools.

What costs them more than they need is off: logs of single requests, limits, and fresh sessions where they can keep one.
Those that are made for servers over stdio have one of those behind them. A peer that does not start says so, and why.
"""

import contextlib
import json
import secrets
import shlex
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

from calling import Door
from measuring import Around, Target
from processes import HERE, PROXY, Failed, Process, asked, free_port, serving, started
from targets import at, over_stdio

PEERS = HERE.parent / ".tools" / "peers"
NPM = PEERS / "npm" / "node_modules"


def _served(argv: Callable[[int, Around], list[str]], *, counted: bool = False) -> Target:
    """A peer that listens on the port it is given."""

    @contextlib.contextmanager
    def start(around: Around) -> Generator[Door]:
        port = free_port()
        with serving(argv(port, around), around.folder / "peer.log", port) as process:
            yield Door(process, around.few if counted else None)

    return start


def _fastmcp(*more: str) -> Target:
    python, proxy = str(PEERS / "fastmcp" / "bin" / "python"), str(HERE / "peers" / "fastmcp_proxy.py")
    return _served(lambda port, around: [python, proxy, str(port), at(around.few), *more], counted=True)


def _node(name: str, *arguments: str) -> list[str]:
    return ["node", str(NPM / ".bin" / name), *arguments]


def _mcp_proxy(port: int, around: Around) -> list[str]:
    command = str(PEERS / "mcp-proxy" / "bin" / "mcp-proxy")
    return [command, "--port", str(port), "--log-level", "ERROR", "--", *over_stdio()]


def _mcp_proxy_npm(port: int, around: Around) -> list[str]:
    listen = ("--host", "127.0.0.1", "--port", str(port), "--server", "stream")
    return _node("mcp-proxy", *listen, "--", *over_stdio())


def _supergateway(port: int, around: Around) -> list[str]:
    kept = ("--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none")
    return _node("supergateway", "--stdio", shlex.join(over_stdio()), "--port", str(port), *kept)


@contextlib.contextmanager
def _mcp_remote(around: Around) -> Generator[Door]:
    """It stands between a client over stdio and a server over HTTP, so its callers speak over its pipes."""
    argv = _node("mcp-remote", at(around.few), "--allow-http", "--transport", "http-only")
    kept = {"MCP_REMOTE_CONFIG_DIR": str(around.folder)}
    with started(argv, around.folder / "peer.log", PROXY, kept, spoken_to=True) as process:
        yield Door(Process(process.pid, 0), around.few, pipes=process)


# ContextForge ---------------------------------------------------------------------------------------------------


def _forge_settings(folder: Path) -> dict[str, str]:
    """Its own database, tokens required, every limit lifted that would stop the callers; made once for all rounds."""
    kept = folder / "settings.json"
    if not kept.exists():
        made = {
            "DATABASE_URL": f"sqlite:///{folder}/forge.db", "AUTH_REQUIRED": "true", "MCP_CLIENT_AUTH_ENABLED": "true",
            "JWT_SECRET_KEY": secrets.token_hex(32), "AUTH_ENCRYPTION_SECRET": secrets.token_hex(32),
            "PLATFORM_ADMIN_EMAIL": "bench@example.com", "PLATFORM_ADMIN_PASSWORD": secrets.token_urlsafe(24) + "aA1!",
            "BASIC_AUTH_PASSWORD": secrets.token_urlsafe(24), "LOG_LEVEL": "ERROR", "RATE_LIMITING_ENABLED": "false",
            "SSRF_ALLOW_LOCALHOST": "true", "SSRF_ALLOW_PRIVATE_NETWORKS": "true", "MCPGATEWAY_UI_ENABLED": "false",
            "MCPGATEWAY_ADMIN_API_ENABLED": "false",
        }  # fmt: skip
        kept.write_text(json.dumps(made), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def _forge_token(env: dict[str, str], folder: Path) -> str:
    argv = [str(PEERS / "contextforge" / "bin" / "python"), "-m", "mcpgateway.utils.create_jwt_token", "--admin"]
    argv += ["--username", env["PLATFORM_ADMIN_EMAIL"], "--exp", "600"]
    made = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, check=False)
    words = made.stdout.split()
    if made.returncode or not words:
        raise Failed(f"no token: {made.stderr[-300:]}")
    return words[-1]


@contextlib.contextmanager
def _contextforge(around: Around) -> Generator[Door]:
    env, port = _forge_settings(around.folder), free_port()
    argv = [str(PEERS / "contextforge" / "bin" / "mcpgateway"), "mcpgateway.main:app", "--host", "127.0.0.1"]
    log = around.folder / "peer.log"
    with serving([*argv, "--port", str(port), "--no-access-log"], log, port, env) as process:
        headers = {"Authorization": f"Bearer {_forge_token(env, around.folder)}"}
        body = json.dumps({"name": "up", "url": at(around.few), "transport": "STREAMABLEHTTP"}).encode()
        with asked(port, "POST", "/gateways", body, {**headers, "Content-Type": "application/json"}) as answer:
            if answer.status not in (200, 201, 409):
                raise Failed(f"the upstream was not registered: {answer.status} {answer.read()[:300]!r}")
        yield Door(process, around.few, path="/mcp/", headers=headers)


TARGETS: dict[str, Target] = {
    "fastmcp": _fastmcp(),
    "fastmcp, one client": _fastmcp("reuse"),
    "mcp-proxy (PyPI)": _served(_mcp_proxy),
    "mcp-proxy (npm)": _served(_mcp_proxy_npm),
    "supergateway": _served(_supergateway),
    "mcp-remote": _mcp_remote,
    "contextforge": _contextforge,
}
