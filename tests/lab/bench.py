"""A bench of the tests: it answers by a function, and keeps what it was asked."""

import asyncio
from collections.abc import Callable
from typing import Any

from interlock.core.classify import classify_listing
from interlock.lab.model import LabTool, Observed

Answering = Callable[[str, dict[str, Any]], dict[str, Any]]


def lab_tools(*descriptors: dict[str, Any]) -> list[LabTool]:
    """Tools as the lab sees them, classified as those of an untrusted server are."""
    return [
        LabTool(read.name, descriptor, seen.exec, seen.gateway)
        for descriptor, (read, seen) in zip(descriptors, classify_listing(descriptors), strict=True)
    ]


def named(*names: str) -> list[LabTool]:
    """Tools that say nothing but their names."""
    return lab_tools(*({"name": name} for name in names))


def _nothing(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": []}


class TestBench:
    """A server that is nothing but a function."""

    __test__ = False

    def __init__(self, *tools: LabTool, is_http: bool = False, answering: Answering | None = None) -> None:
        self.server = "bench"
        self.is_http = is_http
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.under_way = 0
        self.most_under_way = 0
        self._tools = list(tools)
        self._answering = answering or _nothing

    async def tools(self) -> list[LabTool]:
        return self._tools

    async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
        self.received.append((tool, arguments))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return Observed(tool, arguments, 1.0, result=self._answering(tool, arguments), size=2)
