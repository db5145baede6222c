"""What the server of the conformance suites has to show: contents, resources and prompts, by the names they ask for.

Nothing here asks anybody anything; what does is in `questions`.
"""

import base64
import struct
import zlib
from typing import Any

Json = dict[str, Any]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _one_pixel() -> str:
    """A picture of one red pixel."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")), _chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode("ascii")


def _silence() -> str:
    """A sound of four silent samples."""
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", 4) + b"\x80" * 4
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode("ascii")


PIXEL = _one_pixel()
IMAGE: Json = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO: Json = {"type": "audio", "data": _silence(), "mimeType": "audio/wav"}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def embedded(uri: str, words: str, mime: str = "text/plain") -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


def _named(uri: str, name: str, mime: str) -> Json:
    return {"uri": uri, "name": name, "description": f"The {name}.", "mimeType": mime}


RESOURCES = [
    _named("test://static-text", "static text", "text/plain"),
    _named("test://static-binary", "static picture", "image/png"),
    _named("test://watched-resource", "watched text", "text/plain"),
]
TEMPLATES: list[Json] = [
    {
        "uriTemplate": "test://template/{id}/data",
        "name": "numbered data",
        "description": "The data with this number.",
        "mimeType": "application/json",
    }
]
_BODIES: dict[str, Json] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This text never changes."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "This text is watched."},
}


def read(uri: str) -> Json | None:
    """The content of a resource; None when there is none."""
    number = uri.removeprefix("test://template/").removesuffix("/data")
    if uri == f"test://template/{number}/data":
        return {"uri": uri, "mimeType": "application/json", "text": f'{{"id":"{number}"}}'}
    return {"uri": uri, **_BODIES[uri]} if uri in _BODIES else None


ASKING_PROMPT = "test_input_required_result_prompt"


def _prompt(name: str, *arguments: str) -> Json:
    wanted = [{"name": each, "description": f"The {each}.", "required": True} for each in arguments]
    return {"name": name, "description": f"The prompt {name}.", "arguments": wanted}


PROMPTS = [
    _prompt("test_simple_prompt"),
    _prompt("test_prompt_with_arguments", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "resourceUri"),
    _prompt("test_prompt_with_image"),
    _prompt(ASKING_PROMPT),
]


def said(*contents: Json) -> Json:
    """The result of a prompt."""
    return {"messages": [{"role": "user", "content": each} for each in contents]}


def prompt(name: str, arguments: Json) -> Json | None:
    """The messages of a prompt that asks nothing; None when there is none."""
    if name == "test_simple_prompt":
        return said(text("A prompt without arguments."))
    if name == "test_prompt_with_arguments":
        return said(text(f"The arguments are {arguments.get('arg1')!r} and {arguments.get('arg2')!r}."))
    if name == "test_prompt_with_embedded_resource":
        return said(embedded(str(arguments.get("resourceUri")), "An embedded text."), text("Read the text above."))
    if name == "test_prompt_with_image":
        return said(IMAGE, text("Look at the picture above."))
    return None
