"""Changing one member of a JSON text and leaving every other byte of its values as it was.

Servers and clients may share fields that we do not know, numbers that have more digits than we would keep, and an order
of their own. So nothing here decodes what it does not change.
"""

from collections.abc import Mapping

import msgspec

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)


def with_member(text: bytes, name: str, value: str) -> bytes:
    """An object with another text in one member."""
    return _written({**_MEMBERS.decode(text), name: msgspec.Raw(msgspec.json.encode(value))})


def with_uris_of_contents(result: bytes, prefix: str) -> bytes:
    """The result of reading a resource, with the prefix before the URI of each content."""
    members = _MEMBERS.decode(result)
    if "contents" in members:
        contents = [_prefixed(bytes(each), prefix) for each in _ITEMS.decode(members["contents"])]
        members["contents"] = msgspec.Raw(b"[" + b",".join(contents) + b"]")
    return _written(members)


def _prefixed(content: bytes, prefix: str) -> bytes:
    members = _MEMBERS.decode(content)
    if "uri" not in members:
        return content
    return with_member(content, "uri", prefix + _TEXT.decode(members["uri"]))


def _written(members: Mapping[str, msgspec.Raw]) -> bytes:
    return msgspec.json.encode(members)
