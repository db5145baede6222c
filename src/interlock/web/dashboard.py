"""The files of the dashboard: what a browser loads before anybody is known.

They are the same in every installation and hold nothing of anybody, so they need no token; whatever they show comes
from REST, which does. They are read once, when the gateway starts, and served from memory, so no path that a request
names ever reaches the disk. The modules of others are kept as their makers published them. A browser cannot resolve the
names that they import each other by, so those names, and nothing else, are replaced on the way out.

This module refuses everything that could load or run what is not among the files: see POLICY.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.types import Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
ASSETS = "/assets/"
PAGES = (
    "login",
    "approvals",
    "overview",
    "activity",
    "servers",
    "tools",
    "rules",
    "agents",
    "lab",
    "audit",
    "settings",
    "api",
)
"""The first word of the path of each page; what comes behind it is for the page."""

_INDEX = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    # A new version must not meet the old one's files: they are asked for each time, and seldom sent again.
    ("cache-control", "no-cache"),
)
_IMPORTED = {
    b"preact": b"./preact.mjs",
    b"preact/hooks": b"./hooks.mjs",
    b"@preact/signals-core": b"./signals-core.mjs",
}
"""The names by which vendored modules import each other, and the files that they stand for."""
_IMPORT = re.compile(rb'(?<=from)"(' + b"|".join(map(re.escape, _IMPORTED)) + rb')"')


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent."""

    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    tag: bytes


class Dashboard:
    """The files, by the path under which each is served."""

    def __init__(self) -> None:
        self._files = dict(_found(files("interlock.web") / "static"))

    def has(self, scope: Scope) -> bool:
        """Whether this request is for a page of the dashboard or one of its files."""
        return scope["method"] in ("GET", "HEAD") and self._file(scope["path"]) is not None

    async def send(self, scope: Scope, send: Send) -> None:
        """Send what `has` found."""
        file = self._file(scope["path"])
        if file is None:
            raise LookupError(scope["path"])
        known = dict(scope["headers"]).get(b"if-none-match") == file.tag
        body = b"" if known or scope["method"] == "HEAD" else file.body
        headers = [*file.headers] if known else [*file.headers, (b"content-length", str(len(file.body)).encode())]
        await send({"type": "http.response.start", "status": 304 if known else 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _file(self, path: str) -> File | None:
        if path == "/" or path.split("/")[1] in PAGES:
            return self._files[_INDEX]
        return self._files.get(path.removeprefix(ASSETS)) if path.startswith(ASSETS) else None


def _found(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, File]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _found(each, f"{prefix}{each.name}/")
            continue
        kind = _TYPES.get(f".{each.name.rpartition('.')[2]}")
        if kind is not None:
            yield prefix + each.name, _file(each.read_bytes(), kind)


def _file(body: bytes, kind: str) -> File:
    sent = _IMPORT.sub(lambda found: b'"' + _IMPORTED[found[1]] + b'"', body)
    tag = f'"{hashlib.sha256(sent).hexdigest()[:32]}"'
    headers = (*_HEADERS, ("content-type", kind), ("etag", tag))
    return File(sent, tuple((name.encode(), value.encode()) for name, value in headers), tag.encode())
