"""Where the known MCP clients keep their servers, and what they write there, as data.

Each client has its own file, its own key and its own words for the same things. What differs is in the tables below;
reading is the same for all. This module refuses to write into a file of a client.
"""

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from interlock.cli.inputs import bad

_KEYS = ("mcpServers", "servers", "mcp_servers", "context_servers")
"""Under which key a file has its servers; the first that is there counts."""
_MAX_FILE = 16 * 1024 * 1024
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Client:
    """A client: the files of a project, below the working directory, and those of the user, below the home folder."""

    name: str
    project: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    user_mac: tuple[str, ...] = ()
    """The user's files where they are elsewhere on macOS."""


CLIENTS: dict[str, Client] = {
    each.name: each
    for each in (
        Client(
            "claude-desktop",
            user=(".config/Claude/claude_desktop_config.json",),
            user_mac=("Library/Application Support/Claude/claude_desktop_config.json",),
        ),
        Client("claude-code", (".mcp.json",), (".claude.json",)),
        Client("cursor", (".cursor/mcp.json",), (".cursor/mcp.json",)),
        Client(
            "vscode",
            (".vscode/mcp.json",),
            (".config/Code/User/mcp.json",),
            ("Library/Application Support/Code/User/mcp.json",),
        ),
        Client("codex", (".codex/config.toml",), (".codex/config.toml",)),
        Client("gemini", (".gemini/settings.json",), (".gemini/settings.json",)),
    )
}


def files_of(client: Client, home: Path, here: Path) -> list[Path]:
    """The files of a client that are there, those of the project first."""
    user = client.user_mac if client.user_mac and sys.platform == "darwin" else client.user
    places = [*(here / each for each in client.project), *(home / each for each in user)]
    return [place for place in dict.fromkeys(places) if place.is_file()]


def servers_in(file: Path, here: Path) -> dict[str, dict[str, Any]]:
    """The servers that a client's file names, as they stand there."""
    content = _read(file)
    found = _members(content)
    # Claude Code keeps the servers of a folder under its path.
    project = _object(_object(content.get("projects")).get(str(here)))
    found |= _members(project)
    found |= _members(_object(content.get("mcp")))
    if not found:
        raise bad(f"{file}: names no server", f"Servers are looked for under {', '.join(_KEYS)}.")
    return found


def _members(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    named = next((_object(content[key]) for key in _KEYS if key in content), _object(None))
    return {name: _object(entry) for name, entry in named.items()}


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MAX_FILE:
            raise bad(f"{file}: is too large for a file of settings", "Give the file that names the servers.")
        text = file.read_text(encoding="utf-8-sig")
        value = tomllib.loads(text) if file.suffix == ".toml" else json.loads(without_comments(text))
    except OSError as failed:
        raise bad(f"{file}: cannot be read: {failed.strerror}", "Check the path.") from None
    except (ValueError, RecursionError) as broken:
        # The place is told, not the line: a file of a client may hold secrets.
        where = f" at line {broken.lineno}" if isinstance(broken, json.JSONDecodeError) else ""
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise bad(f"{file}: is no {kind}{where}", "Mend it, or let the client write it anew.") from None
    if not isinstance(value, dict):
        raise bad(f"{file}: holds no settings", "Give the file that names the servers.")
    return cast("dict[str, Any]", value)


def without_comments(text: str) -> str:
    """JSON with comments and trailing commas, as some clients write it, as plain JSON. Lines stay where they are."""

    def plain(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")

    return _TRAILING.sub(lambda found: found[1] or "", _TOKEN.sub(plain, text))
