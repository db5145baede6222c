"""The exceptions for what stops the work itself: bad configuration, an empty budget, a verb that cannot go on."""

from interlock.errors.reason import Reason
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
    """The configuration cannot be used. Each problem says where it stands and what to do."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(CONFIG_INVALID(problems="\n".join(problems)))
        self.problems = problems
