"""The exceptions for what stops the work itself: bad configuration, an empty budget, a verb that cannot go on."""

from interlock.errors.reason import Message, Reason
from interlock.errors.requests import BUDGET_EXHAUSTED, CONFIG_INVALID


class InterlockError(Exception):
    """Something that stops the work; it carries the reason a user needs."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class Conflict(InterlockError):
    """What is asked for is at odds with what is there."""


class BudgetExhausted(InterlockError):
    """Raised by the call budget when all its calls are taken."""

    def __init__(self, limit: int) -> None:
        super().__init__(BUDGET_EXHAUSTED(limit=limit))
        self.limit = limit


class ConfigError(InterlockError):
    """A file of the user's, mostly the configuration, cannot be used. Each problem says where it stands and what to
    do."""

    def __init__(self, problems: tuple[str, ...], message: Message = CONFIG_INVALID) -> None:
        super().__init__(message(problems="\n".join(problems)))
        self.problems = problems
