"""Recording: listens beside the path of calls and writes down what a server answered.

It stands around `Pipeline.run`, so it hears exactly what reached the server, under the server's own names and without
the words that are meant for us. What the gateway refused never was an answer of the server and is not written.

This module refuses to change a call or its reply, and to fail one because it could not be written down.
"""

import json
from collections.abc import Callable
from typing import Any, cast

from interlock.core.health import Introduction
from interlock.core.model import CALL_METHOD, Call
from interlock.core.redact import KnownSecrets
from interlock.lab.played.cassette import ABOUT, CassetteFile, CassetteFull, Interaction, params_of, plain_result
from interlock.pipeline import Answer, Pipeline, Reply, Way


class Tape:
    """Writes to a cassette until that is not possible any more; then `problem` says why."""

    def __init__(self, file: CassetteFile, server: str, secrets: Callable[[], KnownSecrets]) -> None:
        self._file, self._server, self._secrets = file, server, secrets
        self._lists: dict[str, list[Any]] = {}
        self.count = 0
        self.problem = ""

    def listen(self, pipeline: Pipeline) -> None:
        """Stand around the path of calls. The path itself knows nothing of it, so nobody else pays for it."""
        run = pipeline.run

        async def heard(call: Call, way: Way) -> Reply:
            reply = await run(call, way)
            if reply.answer is not None and call.server == self._server and call.method in ABOUT:
                self._keep(call, reply.answer)
            return reply

        pipeline.run = heard

    def begin(self, protocol: str, introduction: Introduction) -> None:
        self._try(lambda: self._file.begin(self._server, protocol, introduction, self._secrets()))

    def lists(self, lists: dict[str, list[Any]]) -> None:
        """Write the lists of the server, as far as they are others than before."""
        for member, entries in lists.items():
            if self._lists.get(member) != entries:
                self._lists[member] = entries
                self._try(lambda member=member, entries=entries: self._file.keep_list(member, entries, self._secrets()))

    def _keep(self, call: Call, answer: Answer) -> None:
        interaction = interaction_of(call, answer)
        if interaction is not None:
            self._try(lambda: self._file.keep(interaction, self._secrets()))
            self.count += not self.problem

    def _try(self, write: Callable[[], None]) -> None:
        if self.problem:
            return
        try:
            write()
        except CassetteFull:
            self.problem = "it is as long as a cassette may be"
        except OSError as failed:
            self.problem = failed.strerror or "it cannot be written"


def interaction_of(call: Call, answer: Answer) -> Interaction | None:
    """A call and its answer as a cassette has them; None when the answer is nothing that could be said again."""
    own = {"name": call.tool, "arguments": call.arguments} if call.method == CALL_METHOD else call.arguments
    params = params_of(call.method, own)
    try:
        if answer.error is not None:
            refused = answer.error
            told: dict[str, Any] = {"code": refused.code, "message": refused.message}
            data = json.loads(refused.data) if refused.data else None
            return Interaction(call.method, params, error=told if data is None else {**told, "data": data})
        result = json.loads(answer.result)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    return Interaction(call.method, params, result=plain_result(cast("dict[str, Any]", result)))
