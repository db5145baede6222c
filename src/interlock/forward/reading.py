"""A look at what an upstream answered or lists, before it goes to a model: whether it speaks to that.

What counts as speaking to it is said by the core. This module only sees to it that a long answer keeps nobody waiting
but its own caller, and that a resource or a prompt whose entry gives orders is in no list that a model gets.
"""

import asyncio
import logging

import msgspec

from interlock.core.hidden import visible
from interlock.core.offers import Entries, Kind
from interlock.core.poison.results import may_speak, result_signs
from interlock.core.poison.signs import SENTENCES, Sign
from interlock.forward.link import Answer, RpcError

_LOG = logging.getLogger("interlock")
_LONGEST_NAME = 200
_SHORT = 4 * 1024
"""Up to how many bytes a result is looked at in place; a longer one takes a thread."""
_GLANCED_AT = 16 * 1024
"""Up to how many bytes it is seen in place whether there is anything to look at, which is less work than a thread."""


async def signs_in(answer: Answer) -> tuple[Sign, ...]:
    """The hard signs in an answer. An error is read too: a model sees its words like those of a result."""
    text = answer.result if answer.error is None else _text_of(answer.error)
    if len(text) <= _SHORT:
        return result_signs(text)
    if len(text) <= _GLANCED_AT and not may_speak(text):
        return ()
    return await asyncio.to_thread(result_signs, text)


def without_orders(server: str, kind: Kind, entries: Entries) -> Entries:
    """The entries of a list that do not speak to the model. It may take a while, and is done once for each list."""
    signs = {name: found for name, text in entries.items() if (found := result_signs(text))}
    if signs:
        name, found = next(iter(signs.items()))
        # One line for a list, because a server may list as many as it likes.
        _LOG.warning(
            "Of the %s of server %s, %d are left out because they speak to the model; the first is %s: %s.",
            *(kind, server, len(signs), visible(name[:_LONGEST_NAME]), SENTENCES[found[0].code]),
        )
    return {name: text for name, text in entries.items() if name not in signs}


def _text_of(error: RpcError) -> bytes:
    return msgspec.json.encode({"message": error.message, "data": msgspec.Raw(error.data or b"null")})
