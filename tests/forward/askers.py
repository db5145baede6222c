"""Somebody who answers for the client of a call."""

import asyncio
from collections import Counter
from collections.abc import Mapping

from interlock.core.questions import ANYTHING, Answerable, Question
from interlock.forward.link import Answer


class Asker:
    """Answers everything when it is allowed to."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.can: Answerable = ANYTHING
        self.asked: Counter[str] = Counter()
        self.heard: list[Mapping[str, Question]] = []
        self.news = asyncio.Event()
        """Set when it was asked something."""
        self.withdrawn = 0
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._answer = answer or Answer(b'{"action":"accept"}')

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, Answer]:
        self.heard.append(questions)
        self.news.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return dict.fromkeys(questions, self._answer)
