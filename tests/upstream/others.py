"""Servers that nobody here wrote, as they come from their registries, each with something real to work on.

None of them reaches beyond this machine: the one that fetches pages is given a page on loopback, and finds no program
with which it could install more of itself.
"""

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.running import yaml_list
from tests.upstream.everything import ROOT

PACKAGES = ROOT / "node_modules"
COMMIT = "The first commit"
GREETING = "Good morning."
SECRET_OF_THE_PAGE = "The page says 4711."  # noqa: S105 - what only a reader of the page can know


def newer_node() -> str:
    """The program that runs JavaScript, as new as the packages want it; it comes with them."""
    return str(PACKAGES / ".bin" / "node")


@dataclass(frozen=True, slots=True)
class World:
    """What the servers work on."""

    files: Path
    repository: Path
    memory: Path
    nowhere: Path
    """An empty folder."""
    page: str
    """The URL of a page on loopback."""
    asked: list[str]
    """The paths that were asked for there."""

    def branches(self) -> set[str]:
        return set(_git(self.repository, "branch", "--format=%(refname:short)").split())

    def yaml(self) -> str:
        """The `servers:` of a configuration."""
        official = PACKAGES / "@modelcontextprotocol"
        everything = _entry("everything", newer_node(), f"{official}/server-everything/dist/index.js", "stdio")
        files = _entry("files", newer_node(), f"{official}/server-filesystem/dist/index.js", str(self.files))
        memory = _entry(
            "memory", newer_node(), f"{official}/server-memory/dist/index.js", MEMORY_FILE_PATH=str(self.memory)
        )
        git = _entry("git", sys.executable, "-m", "mcp_server_git", "--repository", str(self.repository))
        time = _entry("time", sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC")
        fetch = _entry("fetch", sys.executable, "-m", "mcp_server_fetch", "--allow-private-ips", PATH=str(self.nowhere))
        return "servers:\n" + everything + files + memory + git + time + fetch


def _entry(name: str, command: str, *args: str, **env: str) -> str:
    given = ", ".join(f"{key}: '{value}'" for key, value in env.items())
    return f"  {name}: {{command: '{command}', args: {yaml_list(list(args))}, env: {{{given}}}}}\n"


@contextmanager
def world(folder: Path) -> Generator[World]:
    """Make something to work on; the page is there until the block ends."""
    files, repository, nowhere = folder / "files", folder / "repository", folder / "nowhere"
    for each in (files, repository, nowhere):
        each.mkdir()
    (files / "greeting.txt").write_text(GREETING, encoding="utf-8")
    _git(repository, "init", "-q", "-b", "main")
    _git(repository, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", COMMIT)
    with page() as (url, asked):
        yield World(files, repository, folder / "memory.jsonl", nowhere, url, asked)


def _git(repository: Path, *words: str) -> str:
    argv = ["git", "-C", str(repository), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@contextmanager
def page() -> Generator[tuple[str, list[str]]]:
    """A page on loopback, and the paths that are asked for there; it speaks no MCP."""
    asked: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = f"<html><body><p>{SECRET_OF_THE_PAGE}</p></body></html>".encode()
            self.send_response(200 if self.path == "/page" else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/page", asked
        finally:
            server.shutdown()
            thread.join()
