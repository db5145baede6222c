"""`GET /activity/export`: everything that fits a filter, as JSON lines or CSV, page by page.

The memory it takes is that of one page, however long the record is and however slowly it is read. An export is whole or
visibly broken: if something fails on the way, JSON lines end with a line that says so, and either answer breaks off
instead of ending.

What is on record was said by agents and servers, and CSV is opened in terminals and spreadsheets. So in CSV characters
that steer a terminal or are not seen are made visible, and a cell that a spreadsheet would take for a formula has an
apostrophe before it. JSON lines have the exact texts, as escapes.
"""

import csv
import io
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import Field
from starlette.types import Receive, Scope, Send

from interlock import errors
from interlock.core.canonical import canonical_text
from interlock.core.hidden import visible
from interlock.core.model import Json
from interlock.store.protocol import ActivityFilter, ActivityPage, Store, StoreUnavailable
from interlock.web import access
from interlock.web.activity import ShownActivity, shown
from interlock.web.filters import ActivityFilters, filter_of
from interlock.web.parts import Here

PAGE = 100
JSON_LINES, CSV = "application/x-ndjson", "text/csv"

_COLUMNS = tuple(each.name for each in fields(ShownActivity))
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet may take for the beginning of a formula; the last four are the wide forms of the first."""

_BETWEEN = re.compile(r"[^\n\t]+")


class ExportQuery(ActivityFilters):
    """What to export, and as what. `type` and `status` may be repeated or separated by commas."""

    format: Literal["jsonl", "csv"] = Field(default="jsonl")


async def export_activities(query: Annotated[ExportQuery, Query()], request: Request, here: Here) -> Response:
    """Export activities, newest first. An answer that breaks off is not whole."""
    wanted = replace(filter_of(query, here.clock.now()), limit=PAGE)
    # The first page is asked for before anything is answered: what is wrong from the start is told as usual.
    first = await here.store.list_activities(wanted)
    return Export(here.store, wanted, first, query.format, lambda: access.may_still_read(request))


class Export(Response):
    """An answer that is made while it is read."""

    def __init__(
        self,
        store: Store,
        wanted: ActivityFilter,
        first: ActivityPage,
        form: str,
        may_read: Callable[[], Awaitable[bool]],
    ) -> None:
        super().__init__(media_type=JSON_LINES if form == "jsonl" else CSV)
        del self.headers["content-length"]
        self.headers["content-disposition"] = f'attachment; filename="activity.{form}"'
        self._store = store
        self._wanted = wanted
        self._page = first
        self._as_lines = form == "jsonl"
        self._may_read = may_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        head = "" if self._as_lines else csv_text([_COLUMNS])
        await _say(send, head + self._text())
        while self._page.next is not None:
            try:
                self._page = await self._store.list_activities(replace(self._wanted, cursor=self._page.next))
            except StoreUnavailable:
                if self._as_lines:
                    await _say(send, _broken())
                return  # without an end: whoever reads knows that it is not whole
            if not await self._may_read():
                return
            await _say(send, self._text())
        await send({"type": "http.response.body", "more_body": False})

    def _text(self) -> str:
        rows = [shown(each) for each in self._page.items]
        if self._as_lines:
            return "".join(f"{canonical_text(each)}\n" for each in rows)
        return csv_text([cell(each.get(name)) for name in _COLUMNS] for each in rows)


async def _say(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode("utf-8", "backslashreplace"), "more_body": True})


def _broken() -> str:
    reason = errors.EXPORT_BROKEN()
    return canonical_text({"error": {"code": reason.code, "message": reason.text, "fix": reason.fix}}) + "\n"


def csv_text(rows: Iterable[Iterable[str]]) -> str:
    """Rows as CSV (RFC 4180)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def cell(value: Json) -> str:
    """A value as a cell: a text, a list or an object as JSON, nothing as nothing. What is hidden is made visible; line
    breaks and tabs stay."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else canonical_text(value)
    is_data = isinstance(value, int | float | Mapping | list)
    shown = text if text.isascii() and text.isprintable() else _BETWEEN.sub(lambda part: visible(part[0]), text)
    return shown if is_data or not text.lstrip(" ").startswith(_FORMULA) else f"'{shown}"
