"""A settings file after it was read: its value, where everything in it stands, and what is wrong with it."""

from dataclasses import dataclass, field

from interlock.config.paths import Path
from interlock.core.model import Json


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands, as people count: from one."""

    where: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.where}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the configuration, and where."""

    at: str
    text: str

    def __str__(self) -> str:
        return f"{self.at}: {self.text}"


@dataclass(slots=True)
class Document:
    """A parsed file: its value, and the position of each key and each value in it."""

    value: Json = None
    keys: dict[Path, Position] = field(default_factory=dict[Path, Position])
    values: dict[Path, Position] = field(default_factory=dict[Path, Position])
    problems: list[Problem] = field(default_factory=list[Problem])
