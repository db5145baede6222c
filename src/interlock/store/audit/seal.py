"""A seal: a signed word about the log, which nobody without the key can say.

A checkpoint says which hash the log had at an entry; as each entry seals the one before it, that covers everything up
to it. A pruned seal says that everything up to an entry was removed on purpose. What is signed is one line of text, and
that text is what is stored and what is written to the anchor, so a signature can be checked without this program.

This module refuses to know where seals are kept, and to believe a column that the signed text does not bear out.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from interlock.core.canonical import canonical_text
from interlock.core.model import Micros

_FORM = "interlock-seal-v1"


class SealKind(StrEnum):
    CHECKPOINT = "checkpoint"
    PRUNED = "pruned"


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The members of a signed text."""

    at: int
    chain: str
    form: str
    hash: str
    kind: SealKind
    seq: int


@dataclass(frozen=True, slots=True)
class Seal:
    """What a seal says, as text and apart; `key` is the id of the key that signed the text."""

    kind: SealKind
    chain: str
    seq: int
    at: Micros
    hash: bytes
    text: str
    key: str
    signature: bytes


def statement(kind: SealKind, chain: str, seq: int, entry_hash: bytes, at: Micros) -> str:
    """The text that is signed."""
    said = {"form": _FORM, "kind": kind.value, "chain": chain, "seq": seq, "hash": entry_hash.hex(), "at": at}
    return canonical_text(said)


def seal_of(text: str, key: str, signature: bytes) -> Seal:
    """The seal that a signed text is. Raises ValueError when it is none; whether it is genuine is another question."""
    try:
        said = msgspec.json.decode(text, type=_Said)
        entry_hash = bytes.fromhex(said.hash)
    except (msgspec.DecodeError, UnicodeEncodeError, ValueError):
        raise ValueError("it is no seal") from None
    # Written anew it must be the same text: one text per meaning.
    if said.form != _FORM or statement(said.kind, said.chain, said.seq, entry_hash, said.at) != text:
        raise ValueError("it is no seal")
    return Seal(said.kind, said.chain, said.seq, said.at, entry_hash, text, key, signature)


def key_id(public: bytes) -> str:
    """The name of a key: the beginning of the SHA-256 of its public half."""
    return hashlib.sha256(public).hexdigest()[:16]


# As a line of JSON, in the anchor and in an export ---------------------------------------------------------------


def line_of(seal: Seal) -> str:
    """A seal as one line."""
    return canonical_text({"seal": seal.text, "key": seal.key, "signature": seal.signature.hex()})


def read_line(line: bytes) -> Seal:
    """The seal of a line; raises ValueError."""
    try:
        found: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ValueError("it is no seal") from None
    return seal_in(found)


def seal_in(found: object) -> Seal:
    """The seal in what a line was decoded to; raises ValueError."""
    match found:
        case {"seal": str(text), "key": str(key), "signature": str(signature)}:
            return seal_of(text, key, bytes.fromhex(signature))
        case _:
            raise ValueError("it is no seal")
