"""The corpus: tools that are poisoned in one place, and honest ones that use the same words.

Each line of a file has the technique, the name of the tool, where the text stands, and the text. The rest of the
definition is plain. `held_back.jsonl` was written before the patterns and is looked at only by its figure.

Under `writers` are whole definitions by people who had seen neither the patterns nor each other. The reader learned
from them, but for one that was held back.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from interlock.core.model import Json

_FOLDER = Path(__file__).parent / "corpus"
_OWN = "own"
HELD_BACK = ("12", "21")
"""The writers that the reader has not learned from."""
WRITERS = (*sorted(each.name[:2] for each in (_FOLDER / "writers").glob("*-benign.jsonl")), _OWN)


class Row(Struct, frozen=True):
    technique: str
    name: str
    where: str
    text: str

    @property
    def tool(self) -> dict[str, Json]:
        """The definition of the tool."""
        kind, _, parameter = self.where.partition(":")
        schema: dict[str, Json] = {"type": "string"}
        tool: dict[str, Json] = {"name": self.name, "description": "Does what its name says."}
        outer: dict[str, dict[str, Json]] = {
            "d": {"description": self.text},
            "t": {"title": self.text},
            "a": {"annotations": {"title": self.text}},
            "m": {"_meta": {"vendor/note": self.text}},
            "i": {"icons": [{"src": self.text}]},
            "o": {
                "outputSchema": {"type": "object", "properties": {"out": {"type": "string", "description": self.text}}}
            },
        }
        inner: dict[str, dict[str, Json]] = {
            "p": {"description": self.text},
            "e": {"enum": ["plain", self.text]},
            "x": {"default": self.text},
            "ex": {"examples": [self.text]},
        }
        name = self.text if kind == "k" else parameter or "value"
        properties: Json = {name: {**schema, **inner.get(kind, {})}}
        return {**tool, "inputSchema": {"type": "object", "properties": properties}, **outer.get(kind, {})}


def rows(file: str) -> list[Row]:
    """The rows of one file of the corpus."""
    return [Row(**line) for line in _lines(file)]


def tools(writer: str, side: str) -> list[dict[str, Json]]:
    """The definitions of one writer that are on one side, `poisoned` or `benign`."""
    if writer == _OWN:
        own = ("poisoned", "held_back", "paraphrased") if side == "poisoned" else ("benign",)
        return [row.tool for file in own for row in rows(file)]
    return [line["tool"] for line in _lines(f"writers/{writer}-{side}")]


def techniques(writer: str) -> list[str]:
    """The technique of each poisoned definition of a writer."""
    return [line["technique"] for line in _lines(f"writers/{writer}-poisoned")]


def digest() -> str:
    """Of the whole corpus, so that weights can say what they were learned from."""
    files = sorted(_FOLDER.rglob("*.jsonl"))
    return sha256(b"".join(each.read_bytes() for each in files)).hexdigest()


def _lines(file: str) -> list[dict[str, Any]]:
    content = (_FOLDER / f"{file}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in content.rstrip("\n").split("\n")]
