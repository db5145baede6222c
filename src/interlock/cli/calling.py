"""One call through the gateway, and what came back of it, for a terminal.

What a tool answers is text of a stranger: it is printed with everything hidden made visible, and only texts are
printed. Other kinds of content are named, because a terminal is no place for them; `--json` gives the whole result.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from interlock.cli.gateway import Api
from interlock.cli.held import Sending
from interlock.cli.lookup import note_servers_down
from interlock.cli.render import note, print_json, print_lines, print_text
from interlock.core.model import Json
from interlock.errors import SHELL_FIXES, Code, Exit, InterlockError, Reason, filled

_BYTES_PER_UNIT = 1000


async def send(api: Api, server: str, tool: str, body: Mapping[str, Json], *, as_json: bool) -> Exit:
    """Send a call along the path and print its outcome. A refusal is raised as an InterlockError."""
    sending = Sending(server, tool, body)
    try:
        answer = await sending.through(api)
    except InterlockError as refused:
        if refused.reason.code is Code.UNKNOWN_TOOL:
            await note_servers_down(api)
        raise InterlockError(_for_a_shell(refused.reason, f"{server}:{tool}", sending.approval)) from None
    if "error" in answer:
        return _print_error(answer["error"], as_json=as_json)
    return print_result(answer["result"], as_json=as_json)


def _for_a_shell(reason: Reason, tool: str, approval: str | None) -> Reason:
    fix = None if reason.code is None else SHELL_FIXES.get(reason.code)
    return reason if fix is None else replace(reason, fix=filled(fix, tool=tool, approval=approval or "ID"))


def _print_error(error: Mapping[str, Any], *, as_json: bool) -> Exit:
    if as_json:
        print_json({"error": error})
    note(f"The server answered with an error: {error['message']} ({error['code']})")
    return Exit.TOOL_ERROR


def print_result(result: Mapping[str, Json], *, as_json: bool) -> Exit:
    """The result on stdout; whether the tool called it an error is told on stderr and by the exit code."""
    if as_json:
        print_json(result)
    else:
        _print_content(result)
    if result.get("isError") is not True:
        return Exit.OK
    note("The tool returned an error.")
    return Exit.TOOL_ERROR


def _print_content(result: Mapping[str, Json]) -> None:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    for block in blocks:
        text = block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else None
        if isinstance(text, str):
            print_text(text)
        else:
            print_lines([name_of(block)])
    # The protocol asks for a text beside it; a server that leaves it out still answered something.
    if not blocks and "structuredContent" in result:
        print_text(json.dumps(result["structuredContent"], indent=2, ensure_ascii=False))


def name_of(block: Json) -> str:
    """A block of content that is no text, in a few words: `[image image/png, 12 kB]`."""
    if not isinstance(block, Mapping):
        return "[no content]"
    resource = block.get("resource")
    inside = cast("Mapping[str, Json]", {**block, **resource}) if isinstance(resource, Mapping) else block
    said = [block.get("type"), inside.get("uri"), inside.get("mimeType")]
    words = " ".join(each for each in said if isinstance(each, str) and each)
    size = _size(inside)
    return f"[{words or 'content of no kind'}{'' if size is None else f', {size}'}]"


def _size(block: Mapping[str, Json]) -> str | None:
    encoded = block.get("data", block.get("blob"))
    if isinstance(encoded, str):
        return shown_size(len(encoded.rstrip("=")) * 3 // 4)
    text = block.get("text")
    return shown_size(len(text.encode("utf-8", "replace"))) if isinstance(text, str) else None


def shown_size(size: int) -> str:
    """A number of bytes as people say it."""
    if size < _BYTES_PER_UNIT:
        return f"{size} bytes"
    if size < _BYTES_PER_UNIT**2:
        return f"{round(size / _BYTES_PER_UNIT)} kB"
    return f"{size / _BYTES_PER_UNIT**2:.1f} MB"
