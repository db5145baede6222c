"""What the gateway asked a client over stdio, until it is answered.

A client over stdio has one connection for as long as it lives, while the gateways and sessions behind it may change,
and each of them counts its questions from the beginning. An answer to a question of a gateway that is gone must never
be taken for the answer to another one: it may be a person's consent. So each question gets an id of ours that is never
used again, and an answer to anything else is not passed on.
"""

from itertools import count

import msgspec

from interlock.receive import replies

_CANCELLED = "notifications/cancelled"


class _Heard(msgspec.Struct):
    """The two members that say what kind of message it is."""

    method: str = ""
    id: msgspec.Raw = msgspec.Raw(b"")


class _Withdrawal(msgspec.Struct):
    params: dict[str, msgspec.Raw]


_HEARD = msgspec.json.Decoder(_Heard)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Questions:
    """The open questions: our id of each, and the id that the gateway knows it by."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._open: dict[str, bytes] = {}

    def shown(self, message: bytes) -> tuple[bytes, bool]:
        """A message of the gateway as the client gets it, and whether it is an answer."""
        heard = _HEARD.decode(message)
        if not heard.method:
            return message, True
        if heard.method == _CANCELLED:
            return self._withdrawn(message), False
        return (self._asked(message, bytes(heard.id)) if bytes(heard.id) else message), False

    def answered(self, answer: bytes, own: object) -> bytes | None:
        """The client's answer as the gateway that asked wants it; None when nobody asked."""
        known = self._open.pop(own, None) if isinstance(own, str) else None
        return None if known is None else _with(answer, id=known)

    def void(self) -> list[bytes]:
        """Forget all questions; what tells the client not to answer them."""
        ours, self._open = list(self._open), {}
        return [replies.notification(_CANCELLED, msgspec.json.encode({"requestId": each})) for each in ours]

    def _asked(self, message: bytes, known: bytes) -> bytes:
        own = f"interlock-{next(self._numbers)}"
        self._open[own] = known
        return _with(message, id=msgspec.json.encode(own))

    def _withdrawn(self, message: bytes) -> bytes:
        params = msgspec.json.decode(message, type=_Withdrawal).params
        known = bytes(params.get("requestId", b""))
        own = next((each for each, theirs in self._open.items() if theirs == known), None)
        if own is None:
            return message
        del self._open[own]
        changed = {**params, "requestId": msgspec.Raw(msgspec.json.encode(own))}
        return _with(message, params=msgspec.json.encode(changed))


def _with(message: bytes, **changed: bytes) -> bytes:
    """The message with other members; the rest keeps its bytes."""
    members = _MEMBERS.decode(message)
    return msgspec.json.encode({**members, **{name: msgspec.Raw(value) for name, value in changed.items()}})
