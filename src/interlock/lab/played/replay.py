"""A cassette as the script of a server: what was recorded is said again, and nothing else.

Equal requests get the answers that were recorded for them one after the other, and then the last one again and again. A
request that was not recorded is answered with an error that says what was; there is nobody who could be asked instead.

This module refuses to reach anything: no process, no socket, no file.
"""

from collections.abc import Mapping
from typing import Any

from interlock.core.canonical import canonical_text
from interlock.core.model import Json, JsonObject
from interlock.core.redact import redact
from interlock.lab.played.answering import NO_METHOD, RpcError
from interlock.lab.played.cassette import ABOUT, COMPLETE, LISTS, Cassette, Interaction, key_of, params_of

NOT_RECORDED = -32004
_TOLD = 5
"""How many recorded requests an error names, and how many characters of each."""
_TOLD_LENGTH = 200


class Replay:
    """The script that a cassette is."""

    def __init__(self, cassette: Cassette) -> None:
        said = cassette.introduction
        self.name, self.version = said.name or cassette.server, said.version or "replay"
        self.instructions = said.instructions
        self._lists = {LISTS[member]: {member: entries} for member, entries in cassette.lists.items()}
        self._recorded = cassette.interactions
        self._answers: dict[str, list[Interaction]] = {}
        for each in cassette.interactions:
            self._answers.setdefault(key_of(each.method, each.params), []).append(each)

    @property
    def capabilities(self) -> JsonObject:
        families = {method.partition("/")[0] for method in self._lists}
        if any(each.method == COMPLETE for each in self._recorded):
            families.add("completions")
        return {family: {} for family in sorted(families)}

    async def result(self, method: str, params: JsonObject) -> JsonObject:
        if method in self._lists:
            return self._lists[method]
        if method not in ABOUT:
            raise RpcError(NO_METHOD, f"A cassette has no method '{method}'.")
        answers = self._answers.get(key_of(method, params))
        if answers is None:
            raise self._not_recorded(method, params)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.error is not None:
            raise _error(answer.error)
        return answer.result or {}

    def _not_recorded(self, method: str, params: JsonObject) -> RpcError:
        """What was recorded about the same thing, so that whoever asks sees the difference."""
        about = ABOUT[method]
        same = [
            each.params for each in self._recorded if each.method == method and each.params[about] == params.get(about)
        ]
        told = list(dict.fromkeys(_shown(method, each) for each in same))
        subject = f"{method} of {_shown_text(params.get(about))}"
        if not told:
            return RpcError(NOT_RECORDED, f"Nothing is recorded for {subject}.")
        more = f" and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        text = f"{subject} is not recorded with {_shown(method, params)}; it is with {'; '.join(told[:_TOLD])}{more}."
        return RpcError(NOT_RECORDED, text)


def _shown(method: str, params: JsonObject) -> str:
    """The params of a request beside what it is about."""
    kept = params_of(method, params)
    rest = kept["arguments"] if set(kept) == {ABOUT[method], "arguments"} else {**kept, ABOUT[method]: None}
    return _shown_text(rest)


def _shown_text(value: Json) -> str:
    text = canonical_text(redact(value))
    return text if len(text) <= _TOLD_LENGTH else f"{text[:_TOLD_LENGTH]}…"


def _error(recorded: Mapping[str, Any]) -> RpcError:
    code, message = recorded.get("code"), recorded.get("message")
    return RpcError(code if isinstance(code, int) else NOT_RECORDED, str(message), recorded.get("data"))
