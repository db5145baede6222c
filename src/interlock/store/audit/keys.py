"""The key that signs seals, and the public halves of all keys that ever did.

The key lies beside the database and not in it, in a file that only its owner can read: whoever gets hold of the
database alone can write a new log, but cannot seal it. Whoever can read the key can; so can nobody be kept from it who
may do everything as the same user. `docs/security.md` says so too.

INVARIANT: a public half is published only when a seal by its key is on the disk. So a log with a published key and
without any seal has lost its seals, whenever the process was killed.

This module refuses a key that others may read, and to replace one that cannot be read.
"""

import base64
import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.core.model import Micros
from interlock.store.audit.plain_file import open_file
from interlock.store.audit.seal import Seal, SealKind, key_id, seal_of, statement
from interlock.store.protocol import StoreUnavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE = "seal.key"
PUBLIC = "seal.pub"
_MOST = 1024 * 1024
"""Longer than all keys that a folder ever had."""
COMING = "seal.pub.new"
"""What becomes the file of public halves with the first seal by a new key."""


class SealKey:
    """The key of one data folder. `cryptography` is loaded with the first one: a verb that seals nothing waits less."""

    def __init__(self, private: "Ed25519PrivateKey") -> None:
        self._private = private
        self.id = key_id(private.public_key().public_bytes_raw())

    def seal(self, kind: SealKind, chain: str, seq: int, entry_hash: bytes, at: Micros) -> Seal:
        """Say it, signed."""
        text = statement(kind, chain, seq, entry_hash, at)
        return seal_of(text, self.id, self._private.sign(text.encode()))


class KnownKeys:
    """Public keys by their ids; `have_sealed` says that a log that they are known for is a sealed one."""

    def __init__(self, keys: Mapping[str, bytes], *, have_sealed: bool) -> None:
        self.keys = keys
        self.have_sealed = have_sealed

    def __len__(self) -> int:
        return len(self.keys)

    def problem(self, seal: Seal) -> str:
        """Why a seal is not to be believed; empty when it is genuine."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        public = self.keys.get(seal.key)
        if public is None:
            return f"its seal is by a key that is not known here ({seal.key[:16]})"
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(seal.signature, seal.text.encode())
        except InvalidSignature:
            return "its seal is not genuine"
        return ""


class AnyKeys(KnownKeys):
    """The same for the log of another gateway: a seal by a key that is not known here is no proof, and no alarm."""

    def __init__(self, known: KnownKeys) -> None:
        super().__init__(known.keys, have_sealed=False)
        self.unknown: set[str] = set()
        """The keys that would have to be known."""

    def problem(self, seal: Seal) -> str:
        if seal.key not in self.keys:
            self.unknown.add(seal.key)
            return ""
        return super().problem(seal)


_one_at_a_time = threading.Lock()
"""A gateway that stops while its first key is being made asks for it again, in another thread: there must be one key,
and not two halves of two. Other processes are kept out of the folder."""


def open_key(folder: Path) -> SealKey:
    """The key of a folder; the first time, a new one. Blocks. Raises StoreUnavailable."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    file = folder / PRIVATE
    try:
        with _one_at_a_time:
            found = _read(file) if file.exists() else _make(folder)
        return SealKey(Ed25519PrivateKey.from_private_bytes(found))
    except (OSError, ValueError) as failed:
        raise StoreUnavailable(f"The key of the audit log, {file}, cannot be used: {failed}") from None


def publish(folder: Path) -> None:
    """Say whose seals these are, now that there is one. Blocks; raises OSError."""
    if (folder / COMING).exists():
        (folder / COMING).replace(folder / PUBLIC)


def known_keys(file: Path) -> KnownKeys:
    """The public keys in a file that somebody kept; raises OSError, and ValueError when there is none in it."""
    keys = _public_in(file)
    if not keys:
        raise ValueError(f"{file}: there is no public key in it")
    return KnownKeys(keys, have_sealed=True)


def folder_keys(folder: Path) -> KnownKeys:
    """The public keys of a data folder, also one that is about to be used for the first time; there may be none.
    Raises OSError, and ValueError for what is no key."""
    # In this order, because the first becomes the second.
    coming, published = (_public_if(folder / each) for each in (COMING, PUBLIC))
    return KnownKeys(coming | published, have_sealed=bool(published))


def _public_if(file: Path) -> dict[str, bytes]:
    try:
        return _public_in(file)
    except FileNotFoundError:
        return {}


def _public_in(file: Path) -> dict[str, bytes]:
    *pems, rest = f"{_text(file)}\n".split(_PUBLIC_END)
    if rest.strip():
        raise ValueError(f"{file}: it holds something else than public keys")
    keys = [_bytes_in(each + _PUBLIC_END, "PUBLIC") for each in pems]
    return {key_id(key): key for key in keys}


def _read(file: Path) -> bytes:
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ValueError("others may read it; take that away with chmod 600, and think about who has read it")
    return _bytes_in(_text(file), "PRIVATE")


def _text(file: Path) -> str:
    with open_file(file) as opened:
        text = opened.read(_MOST + 1)
    if len(text) > _MOST:
        raise ValueError(f"{file}: it is too long for keys")
    return text.decode("ascii").replace("\r\n", "\n")


def _make(folder: Path) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    # The public half first: a key that signs and that nobody can check would be worse than a public one without a use.
    known = [*(_public_if(folder / PUBLIC) | _public_if(folder / COMING)).values(), key.public_key().public_bytes_raw()]
    _put(folder / COMING, "".join(_pem(each, "PUBLIC") for each in known))
    _put(folder / PRIVATE, _pem(key.private_bytes_raw(), "PRIVATE"))
    return key.private_bytes_raw()


def _put(file: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    how = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_TRUNC
    with open(os.open(part, how, 0o600), "w", encoding="ascii") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    part.replace(file)


# PEM as `openssl` reads it. The form of an Ed25519 key has no choices, so it is a constant and the key; the library's
# own reader would take longer to load than everything else here.

_FORMS = {
    "PUBLIC": bytes.fromhex("302a300506032b6570032100"),
    "PRIVATE": bytes.fromhex("302e020100300506032b657004220420"),
}
_PUBLIC_END = "-----END PUBLIC KEY-----\n"


def _pem(key: bytes, half: str) -> str:
    return f"-----BEGIN {half} KEY-----\n{base64.b64encode(_FORMS[half] + key).decode()}\n-----END {half} KEY-----\n"


def _bytes_in(pem: str, half: str) -> bytes:
    match pem.split("\n"):
        case [begin, line, end, ""] if (begin, end) == (f"-----BEGIN {half} KEY-----", f"-----END {half} KEY-----"):
            der = base64.b64decode(line, validate=True)
            if der.startswith(_FORMS[half]) and len(der) == len(_FORMS[half]) + 32:
                return der.removeprefix(_FORMS[half])
        case _:
            pass
    raise ValueError("it is no key of the kind Ed25519")
