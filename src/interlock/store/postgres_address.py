"""The address of a PostgreSQL database: read as PostgreSQL's own programs read it, and told without its secrets.

The client that we use and `psql` understand an address differently where it names a database in its query: whoever
looks with the one must find what the other wrote, so the rules of `psql` hold here.

This module refuses to tell anything of an address that may be a part of a password: one with a character that means
something else in an address moves what comes after it to another place.
"""

import os
import re
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit, urlunsplit

_SAYABLE = re.compile(r"[\w.,:$ /\[\]-]{1,200}")
"""What names of hosts and databases are made of."""

TWICE = "The address names the host, the port, the user or the password twice"
"""Before its path and in its query. Our client takes the first, and PostgreSQL's own programs take the second."""
_ONCE = ("host", "port", "user", "password")

_CERTIFICATE = ("sslcert", "sslkey")
_CHECKED = ("sslrootcert", "sslcrl", *_CERTIFICATE)
_READ_IN = {"disable": (), "require": _CHECKED, "verify-ca": _CHECKED, "verify-full": _CHECKED}
"""Which files are read, by the sslmode of the address; in any other they are those of our own certificate."""


def as_psql_reads(address: str) -> tuple[str, str | None]:
    """The address, and the database that its query names, which goes before the one in its path. An empty path names
    none, and not one without a name. Raises ValueError for what is no address, or one that programs differ about."""
    parts = urlsplit(address)
    if any(_asked(parts, name) and _before_path(parts, name) for name in _ONCE):
        raise ValueError(TWICE)
    if parts.path == "/":
        address = urlunsplit(parts._replace(path=""))
    return address, _asked(parts, "dbname")


def shown_database(address: str) -> str:
    """Which database it is, by its name and its host, in the middle of a sentence: never a password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "the database in PostgreSQL"
    # The one that ends user and password is in front of the path; another is a sign that a password goes on there.
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "the database in PostgreSQL"
    name, host = (_sayable(each) for each in (_name(parts), _host(parts)))
    return f"the database {f'{name} ' if name else ''}in PostgreSQL{f' at {host}' if host else ''}"


def unreadable_file(address: str) -> str | None:
    """What is wrong with a file that an address names and the client has to read before it connects, if that is so."""
    parts = urlsplit(address)
    mode = _asked(parts, "sslmode") or os.environ.get("PGSSLMODE") or "prefer"
    for name in _READ_IN.get(mode, _CERTIFICATE):
        file = _asked(parts, name) or os.environ.get(f"PG{name.upper()}")
        problem = _unreadable(file) if file else None
        if problem is not None:
            hidden = "@" in parts.query or not _sayable(file)
            which = f"The file that {name} names" if hidden else f"The file {file}, which {name} names,"
            return f"{which} cannot be read: {problem}. Check sslrootcert, sslcert and sslkey of the address"
    return None


def _unreadable(file: str) -> str | None:
    try:
        with open(file, "rb"):
            return None
    except OSError as failed:
        return failed.strerror or type(failed).__name__


def begin_sentence(text: str) -> str:
    """The same at the beginning of one."""
    return f"{text[:1].upper()}{text[1:]}"


def _name(parts: SplitResult) -> str | None:
    """Without any other it is that of the user."""
    named = _asked(parts, "dbname") or unquote(parts.path.removeprefix("/")) or os.environ.get("PGDATABASE")
    user = unquote(parts.netloc.rpartition("@")[0].partition(":")[0])
    return named or user or _asked(parts, "user") or os.environ.get("PGUSER")


def _host(parts: SplitResult) -> str | None:
    return unquote(parts.netloc.rpartition("@")[2]) or _asked(parts, "host") or os.environ.get("PGHOST")


def _before_path(parts: SplitResult, name: str) -> str:
    """What an address says of one of `_ONCE` before its path."""
    who, _, where = parts.netloc.rpartition("@")
    user, _, password = who.partition(":")
    port = re.search(r":([\d,]+)$", where)
    said = {"user": user, "password": password, "port": "" if port is None else port[1]}
    return said.get(name, where if port is None else where[: port.start()])


def _asked(parts: SplitResult, name: str) -> str | None:
    return parse_qs(parts.query).get(name, [None])[-1]


def _sayable(text: str | None) -> str:
    return text if text is not None and _SAYABLE.fullmatch(text) else ""
