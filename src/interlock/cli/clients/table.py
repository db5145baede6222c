"""Where the known MCP clients keep their servers, and how they write them, as data.

Each client has its own file, its own key and its own words for the same things. What differs is in the table below;
everything else is the same for all. This module refuses to read a file or to look at the machine: where the home is,
which system this is and which variables there are is handed in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from interlock.core.model import Json

System = Literal["linux", "darwin", "win32"]
Keys = tuple[str, ...]
"""Where servers stand inside a file; `*` is any name."""
ANY = "*"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the places of files depend on."""

    home: Path
    here: Path
    environ: Mapping[str, str]
    system: System

    def base(self, name: str) -> Path:
        """The folder that a place of the table begins with."""
        variable, below = _BASES[name]
        named = self.environ.get(variable) if variable else None
        return Path(named) if named else self.home / below


_BASES: dict[str, tuple[str | None, str]] = {
    "home": (None, ""),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "support": (None, "Library/Application Support"),
    "appdata": ("APPDATA", "AppData/Roaming"),
    "codex": ("CODEX_HOME", ".codex"),
}
"""The folders that places begin with: the variable that moves one, and where it is below the home otherwise."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """The setting by which a client waits longer for an answer."""

    key: str
    per_second: int


MILLISECONDS = Timeout("timeout", 1000)


@dataclass(frozen=True, slots=True)
class Client:
    """A client. Its files are named as folder and rest: of the user for each system, of a project below its folder."""

    name: str
    title: str
    user: Mapping[System, tuple[str, str]]
    project: str | None = None
    toml: bool = False
    keys: tuple[Keys, ...] = (("mcpServers",),)
    """Where its servers stand. Interlock is written at the first."""
    stdio: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What an entry says beside the command."""
    url: str | None = "url"
    """Under which key an entry has its address; None when the client only starts servers."""
    sse: str | None = None
    """Under which key it has the address of a server that speaks SSE only, if that is another one."""
    http: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What an entry says beside the address."""
    timeout: Timeout | None = None

    def user_file(self, around: Surroundings) -> Path:
        folder, rest = self.user[around.system]
        return around.base(folder) / rest

    def project_file(self, around: Surroundings) -> Path | None:
        return around.here / self.project if self.project else None


def _everywhere(folder: str, rest: str) -> Mapping[System, tuple[str, str]]:
    return {"linux": (folder, rest), "darwin": (folder, rest), "win32": (folder, rest)}


def _application(rest: str) -> Mapping[System, tuple[str, str]]:
    """Where an application keeps its files by the custom of each system."""
    return {"linux": ("config", rest), "darwin": ("support", rest), "win32": ("appdata", rest)}


def _below_config(rest: str, windows: str) -> Mapping[System, tuple[str, str]]:
    return {"linux": ("config", rest), "darwin": ("config", rest), "win32": ("appdata", windows)}


CLIENTS: dict[str, Client] = {
    each.name: each
    for each in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            _application("Claude/claude_desktop_config.json"),
            url=None,
        ),
        Client(
            "claude-code",
            "Claude Code",
            _everywhere("home", ".claude.json"),
            ".mcp.json",
            keys=(("mcpServers",), ("projects", ANY, "mcpServers")),
            stdio={"type": "stdio"},
            http={"type": "http"},
            timeout=MILLISECONDS,
        ),
        Client("cursor", "Cursor", _everywhere("home", ".cursor/mcp.json"), ".cursor/mcp.json"),
        Client(
            "vscode",
            "VS Code",
            _application("Code/User/mcp.json"),
            ".vscode/mcp.json",
            keys=(("servers",),),
            stdio={"type": "stdio"},
            http={"type": "http"},
        ),
        Client(
            "codex",
            "Codex",
            _everywhere("codex", "config.toml"),
            ".codex/config.toml",
            toml=True,
            keys=(("mcp_servers",),),
            timeout=Timeout("tool_timeout_sec", 1),
        ),
        Client(
            "gemini",
            "Gemini CLI",
            _everywhere("home", ".gemini/settings.json"),
            ".gemini/settings.json",
            url="httpUrl",
            sse="url",
            timeout=MILLISECONDS,
        ),
        Client(
            "zed",
            "Zed",
            _below_config("zed/settings.json", "Zed/settings.json"),
            ".zed/settings.json",
            keys=(("context_servers",),),
        ),
        Client(
            "windsurf",
            "Windsurf",
            _everywhere("home", ".codeium/windsurf/mcp_config.json"),
            url="serverUrl",
        ),
        Client(
            "devin",
            "Devin Desktop",
            _below_config("devin/mcp_config.json", "devin/mcp_config.json"),
            ".devin/mcp_config.json",
            http={"transport": "http"},
        ),
    )
}


def files_of(client: Client, around: Surroundings) -> list[Path]:
    """The files of a client that are there, that of the project first."""
    places = (client.project_file(around), client.user_file(around))
    return [place for place in dict.fromkeys(places) if place is not None and place.is_file()]
