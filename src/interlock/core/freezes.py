"""The emergency stop: what is stopped, and what that means for one call.

Pure. A freeze is about everything, about one server or about one caller; several may hold at once, and each is lifted
by itself. What was on its way when it came is not called back: it has left already.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from interlock.core.model import Call, Micros


class FreezeKind(StrEnum):
    ALL = "all"
    SERVER = "server"
    CALLER = "caller"


class Frozen(Struct, frozen=True):
    """What is stopped. `name` is that of the server or the caller, and empty for everything."""

    kind: FreezeKind
    name: str = ""

    @property
    def shown(self) -> str:
        return "everything" if self.kind is FreezeKind.ALL else f"{self.kind.value} '{self.name}'"


class Freeze(Struct, frozen=True):
    """A stop, who ordered it, and why."""

    what: Frozen
    at: Micros
    by: str
    reason: str = ""


_EVERYTHING = Frozen(FreezeKind.ALL)


def frozen_for(call: Call, freezes: Mapping[Frozen, Freeze]) -> str | None:
    """What of a call is stopped, in words for its caller; None when nothing is."""
    if not freezes:
        return None
    about = (_EVERYTHING, Frozen(FreezeKind.SERVER, call.server), Frozen(FreezeKind.CALLER, call.caller.name))
    found = next((freezes[each] for each in about if each in freezes), None)
    if found is None:
        return None
    return f"{found.what.shown} ({found.reason})" if found.reason else found.what.shown
