"""Paths into the settings tree, as tuples inside and as `route_rules[0].args.repo` for people."""

from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """A path as people write it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
