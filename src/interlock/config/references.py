"""Secrets by reference: `${env:NAME}`, `${file:PATH}`, resolved when a server is started and kept nowhere else.

A reference that leads nowhere stops the start of that one server with a sentence that names the reference, never the
value. The keyring of the system is named in the configuration format; this build does not read it, and says so.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from interlock.errors import ConfigError

_REFERENCE = re.compile(r"\$\{(env|file|keyring):([^}]+)\}")
_SIGNED_IN = re.compile(r"[a-z]+://(?:\$\{[^}]*\}|[^/?#@])*@")
"""An address up to its host, where it names a user. References may hold slashes, as paths of files do."""


def resolve(text: str, environ: Mapping[str, str], where: str) -> str:
    """The text with every reference replaced by what it stands for."""
    return _REFERENCE.sub(lambda found: _value(found[1], found[2], environ, where), text)


def resolve_address(text: str, environ: Mapping[str, str], where: str) -> str:
    """An address with every reference replaced. What stands for a user or a password is taken literally: whoever makes
    passwords need not know which letters mean something in an address."""
    signed_in = _SIGNED_IN.match(text)
    end = 0 if signed_in is None else signed_in.end()
    literally = _REFERENCE.sub(lambda found: quote(_value(found[1], found[2], environ, where), safe=""), text[:end])
    return literally + resolve(text[end:], environ, where)


def values_in(texts: Iterable[str], environ: Mapping[str, str]) -> Iterator[str]:
    """What the references in some texts stand for, as far as they lead anywhere."""
    for kind, name in (each for text in texts for each in _REFERENCE.findall(text)):
        with contextlib.suppress(ConfigError):
            yield _value(kind, name, environ, "")


def _value(kind: str, name: str, environ: Mapping[str, str], where: str) -> str:
    if kind == "env":
        if name not in environ:
            raise ConfigError((f"{where}: the environment variable {name} is not set",))
        return environ[name]
    if kind == "file":
        try:
            return Path(name).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise ConfigError((f"{where}: the file {name} cannot be read",)) from None
    raise ConfigError((f"{where}: ${{keyring:{name}}} cannot be read by this build; use ${{env:…}} or ${{file:…}}",))
