"""Turning what a client has written about a server into settings of ours.

Clients have their own words for the same things and their own ways to name a variable; both are translated. A secret
that stands in the file as it is does not come along: a reference takes its place, and whoever imports is told which
variable to set. What cannot be said in our settings is named, never dropped in silence.

This module refuses to take over that a client trusts a server.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from interlock.config.plain_secrets import looks_secret
from interlock.core.model import Json

_VARIABLE = re.compile(
    r"\$\{(?P<kind>env|input):(?P<of_kind>[^}:]+)\}|\$\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^}]*)?\}"
    r"|\$(?P<bare>[A-Z_][A-Z0-9_]*)"
)
SSE = "it is reached over SSE by the client; Interlock speaks streamable HTTP"
_SCHEME = re.compile(r"(?i)(bearer|basic|token)\s+")
_URL_KEYS = ("httpUrl", "url", "serverUrl")
_TAKEN_OVER = {
    "command", "args", "env", "cwd", "type", "transport", "headers", "http_headers", "env_http_headers",
    "bearer_token_env_var", "enabled", "disabled", "timeout", "tool_timeout_sec", *_URL_KEYS,
}  # fmt: skip
_WITHOUT_MEANING = {"startup_timeout_sec", "description", "name"}


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that stood in a client's file as it is: whose value it is, and the variable that stands for it now."""

    section: str
    name: str
    variable: str
    scheme: str
    value: str = field(repr=False)

    @property
    def place(self) -> str:
        return f"{self.section}.{self.name}"


@dataclass(slots=True)
class Adopted:
    """A server as we would have it. `variables` have to be set for it; `remarks` say what is different from before.

    `secrets` did not come along; whoever moves them somewhere safe puts other references in their places. `hindrances`
    are those of the remarks because of which it would not work.
    """

    id: str
    definition: dict[str, Json] = field(default_factory=dict[str, Json])
    variables: list[str] = field(default_factory=list[str])
    remarks: list[str] = field(default_factory=list[str])
    secrets: list[Secret] = field(default_factory=list[Secret])
    hindrances: list[str] = field(default_factory=list[str])


def adopt(name: str, entry: Mapping[str, Any]) -> Adopted:
    """The server behind an entry of a client's file."""
    adopted = Adopted(id_of(name))
    url = next((entry[key] for key in _URL_KEYS if isinstance(entry.get(key), str)), None)
    if url is not None:
        adopted.definition["url"] = url
        _headers(adopted, entry)
    else:
        _command(adopted, entry)
    _rest(adopted, entry, url)
    return adopted


def id_of(name: str) -> str:
    """A name of a client as an id of ours."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "server"


_OURS = (
    (r"interlock|il", ["stdio"]),
    (r"python[\d.]*", ["-m", "interlock", "stdio"]),
    (r"uvx", ["interlock", "stdio"]),
    (r"pipx", ["run", "interlock", "stdio"]),
)
"""The ways in which a client starts Interlock: the program, and what its arguments begin with."""


def is_ours(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is Interlock itself, which a client talks to."""
    command = re.split(r"[/\\]", str(entry.get("command", "")))[-1].removesuffix(".exe")
    given = entry.get("args")
    arguments = [str(each) for each in cast("list[Any]", given)] if isinstance(given, list) else []
    # By the whole shape: somebody else's program may have our name, or our words among its arguments.
    return any(re.fullmatch(name, command) and arguments[: len(words)] == words for name, words in _OURS)


def _command(adopted: Adopted, entry: Mapping[str, Any]) -> None:
    for key in ("command", "args", "cwd"):
        if key in entry:
            adopted.definition[key] = entry[key]
    if env := dict(_env(adopted, entry)):
        adopted.definition["env"] = env


def _env(adopted: Adopted, entry: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for name, value in _texts(entry.get("env")).items():
        yield name, _value(adopted, "env", name, name, value)


def _headers(adopted: Adopted, entry: Mapping[str, Any]) -> None:
    headers: dict[str, Json] = {}
    for name, value in {**_texts(entry.get("headers")), **_texts(entry.get("http_headers"))}.items():
        variable = re.sub(r"[^A-Z0-9]+", "_", f"{adopted.id}_{name}".upper())
        headers[name] = _value(adopted, "headers", name, variable, value)
    for name, variable in _texts(entry.get("env_http_headers")).items():
        headers[name] = f"${{env:{variable}}}"
    if isinstance(variable := entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{env:{variable}}}"
    if headers:
        adopted.definition["headers"] = headers


def _texts(value: object) -> dict[str, str]:
    members = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return {name: str(each) for name, each in members.items() if isinstance(each, str | int | float)}


def _value(adopted: Adopted, section: str, name: str, variable: str, value: str) -> str:
    """A value with the variables of the client as references; a secret becomes one."""
    referring = _VARIABLE.sub(lambda found: _reference(adopted, f"{section}.{name}", found), value)
    if not looks_secret(name, referring):
        return referring
    adopted.variables.append(variable)
    found = _SCHEME.match(referring)
    scheme = found[0] if found else ""
    adopted.secrets.append(Secret(section, name, variable, scheme, referring.removeprefix(scheme)))
    return f"{scheme}${{env:{variable}}}"


def _reference(adopted: Adopted, place: str, found: re.Match[str]) -> str:
    name = found["of_kind"] or found["braced"] or found["bare"]
    if found["kind"] == "input":
        name = re.sub(r"[^A-Z0-9]+", "_", name.upper())
        adopted.remarks.append(f"{place} was asked for by the client: set {name} for the gateway")
    if found["default"]:
        adopted.remarks.append(f"{place} had a default for {name}, which was left out")
    adopted.variables.append(name)
    return f"${{env:{name}}}"


def _rest(adopted: Adopted, entry: Mapping[str, Any], url: str | None) -> None:
    if entry.get("disabled") is True or entry.get("enabled") is False:
        adopted.definition["enabled"] = False
    if milliseconds := _number(entry.get("timeout")):
        adopted.definition["call_timeout"] = f"{max(1000, int(milliseconds))}ms"
    if seconds := _number(entry.get("tool_timeout_sec")):
        adopted.definition["call_timeout"] = f"{max(1, int(seconds))}s"
    kind = entry.get("type", entry.get("transport"))
    if kind == "sse" or (url is not None and kind is None and "httpUrl" not in entry and url.endswith("/sse")):
        adopted.hindrances.append(SSE)
    for key in ("url", "args", "command", "cwd"):
        if "$" in str(adopted.definition.get(key, "")) and _VARIABLE.search(str(adopted.definition[key])):
            adopted.hindrances.append(f"{key} names a variable; Interlock fills in variables in env and headers only")
    adopted.remarks += adopted.hindrances
    if unknown := sorted(set(entry) - _TAKEN_OVER - _WITHOUT_MEANING):
        adopted.remarks.append(f"not taken over: {', '.join(unknown)}")


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
