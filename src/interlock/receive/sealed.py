"""The state that a modern client carries from a question to its answer, and why nobody can make one up.

A client gets a text that it hands back with its answer. It names a call that waits, and it is good for one caller, one
tool, one set of arguments and a limited time: all of that goes into its signature, and a state that was altered, that
belongs to somebody else or to another call, or that is too old is no state at all. There is nothing to read in it: what
the server gave us as its own state never leaves the gateway.

The key is made at the start of the gateway, because no call that waits outlives it.
"""

import base64
import binascii
import hashlib
import hmac
import secrets

import msgspec

from interlock.clock import Clock
from interlock.core.model import Call

_ID, _TIME, _MAC = 16, 8, 32
MAX_STATE = 4 * (_ID + _TIME + _MAC + 2) // 3
"""The longest text that could be a state of ours."""


class Unsealed(Exception):
    """A text that is no state of ours, or not one for this call."""


class Seal:
    """Makes states, and tells whether one is good."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def close(self, call: Call, waiting: bytes, seconds: float) -> str:
        """The state for a call that waits under this id, good for so long."""
        ends = self._clock.now() + int(seconds * 1_000_000)
        signed = waiting + ends.to_bytes(_TIME, "big")
        return base64.urlsafe_b64encode(signed + self._mac(signed, call)).decode("ascii").rstrip("=")

    def open(self, call: Call, state: object) -> bytes:
        """The id of the call that waits; raises Unsealed."""
        if not isinstance(state, str) or not state.isascii() or len(state) > MAX_STATE:
            raise Unsealed
        try:
            raw = base64.b64decode(state + "=" * (-len(state) % 4), altchars=b"-_", validate=True)
        except binascii.Error:
            raise Unsealed from None
        signed, mac = raw[:-_MAC], raw[-_MAC:]
        if len(signed) != _ID + _TIME or not hmac.compare_digest(mac, self._mac(signed, call)):
            raise Unsealed
        if self._clock.now() >= int.from_bytes(signed[_ID:], "big"):
            raise Unsealed
        return signed[:_ID]

    def _mac(self, signed: bytes, call: Call) -> bytes:
        caller = call.caller
        bound = [caller.name, caller.workspace, call.server, call.tool, call.method, call.variant, call.digest]
        return hmac.new(self._key, signed + msgspec.json.encode(bound), hashlib.sha256).digest()


def new_waiting() -> bytes:
    """An id for a call that waits, which nobody can guess."""
    return secrets.token_bytes(_ID)
