"""New servers in the text of `interlock.yaml`: comments, order and quotes of what is there stay.

They come first under `servers`, because a comment after the last one usually belongs to what follows it. The result is
read again by the reader of the settings; this module refuses to give one that says anything else of the old servers.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from interlock import errors
from interlock.config.source import parse
from interlock.core.model import Json
from interlock.errors import InterlockError

HEADING = "# Interlock. `interlock config schema` describes every setting; `interlock config validate` checks it.\n"


def extended(text: str, servers: Mapping[str, Mapping[str, Json]], file: Path) -> str:
    """The text of a settings file with more servers."""
    if not text.strip():
        return HEADING + _dumped(_yaml(""), CommentedMap({"servers": _plain(servers)}))
    reader = _yaml(text)
    try:
        document: Any = reader.load(text)
        if document is None:  # nothing but comments
            return text.rstrip("\n") + "\n" + _dumped(reader, CommentedMap({"servers": _plain(servers)}))
        inside: Any = document.get("servers")
        if inside is None:
            document["servers"] = _plain(servers)
        else:
            for name, definition in reversed(list(servers.items())):
                inside.insert(0, name, _plain(definition))
        result = _dumped(reader, document)
    except (YAMLError, AttributeError, TypeError, RecursionError) as failed:
        raise _refusal(file, f"it is not understood ({type(failed).__name__})") from None
    if text.startswith("\ufeff") or "\r\n" in text or _said(result) != _wanted(text, servers):
        raise _refusal(file, "its notation would not stay as it is")
    return result


def _refusal(file: Path, problem: str) -> InterlockError:
    return InterlockError(errors.SETTINGS_UNWRITABLE(file=file, problem=problem))


def _yaml(text: str) -> Any:
    reader: Any = YAML()
    reader.preserve_quotes = True
    reader.width = 4096
    # Lists keep the place of their dashes: below the key, or further in.
    dashed = next((line for line in text.splitlines() if line.lstrip().startswith("- ")), "")
    if dashed.startswith(" "):
        reader.indent(mapping=2, sequence=4, offset=2)
    return reader


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return CommentedMap({name: _plain(each) for name, each in cast("Mapping[str, Any]", value).items()})
    return list(cast("list[Any]", value)) if isinstance(value, list) else value


def _dumped(writer: Any, document: Any) -> str:
    out = io.StringIO()
    writer.dump(document, out)
    return out.getvalue()


def _said(text: str) -> Any:
    return parse(text, "").value


def _wanted(text: str, servers: Mapping[str, Mapping[str, Json]]) -> Any:
    before: Any = _said(text)
    if not isinstance(before, dict):
        return None
    tree = cast("dict[str, Any]", before)
    return {**tree, "servers": {**servers, **cast("dict[str, Any]", tree.get("servers") or {})}}
