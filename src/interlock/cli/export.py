"""`interlock activity export`: the record as JSON lines or CSV, to stdout or into a file.

A file is there only when it is whole: it is written under another name and renamed at the end. What is no file, such as
a pipe that somebody reads, is written to as it is, and what the gateway keeps is never written over. On a terminal what
agents and servers wrote is made visible, as everywhere; a file or a pipe gets the bytes as they are. In CSV the gateway
has made it visible already, and in JSON lines it is escaped.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import BinaryIO

from interlock import errors
from interlock.cli.command import Options, Values, Verb
from interlock.cli.filters import add_filters, query_of
from interlock.cli.gateway import Api, folder_of, through_gateway
from interlock.cli.inputs import bad
from interlock.cli.render import print_text, write
from interlock.errors import Exit, InterlockError
from interlock.receive.reach import Unreachable
from interlock.store.folder import DataFolder

Put = Callable[[bytes], object]


def _options(parser: Options) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: stdout)")
    parser.add_argument(
        "--format",
        choices=("jsonl", "csv"),
        default="jsonl",
        help="default: jsonl, which is exact; in csv hidden characters are made visible",
    )
    add_filters(parser)


def _export(values: Values) -> Exit:
    query = {"format": values.format, **query_of(values)}

    async def work(api: Api) -> Exit:
        with output(values.output, folder_of(values)) as put:
            async with api.stream("activity", "export", query=query) as response:
                try:
                    async for piece in response.pieces:
                        put(piece)
                except Unreachable:
                    raise InterlockError(errors.EXPORT_BROKEN()) from None
        return Exit.OK

    return through_gateway(values, work)


@contextlib.contextmanager
def output(file: str | None, folder: DataFolder) -> Generator[Put]:
    """Where an export goes: to a file that is there when it is whole, or to stdout. Not into the folder that holds what
    is exported: its files would be gone."""
    if file is None:
        with _stdout() as put:
            yield put
        return
    target = Path(os.path.realpath(file))
    if target.is_relative_to(os.path.realpath(folder.path)):
        raise bad(f"{file} is in the data folder, which only the gateway writes to", "Choose another place with -o.")
    try:
        with _whole(target) if target.is_file() or not target.exists() else target.open("wb") as opened:
            yield opened.write
    except OSError as failed:
        raise bad(f"{file}: cannot be written: {failed.strerror}", "Choose another file with -o.") from None


@contextlib.contextmanager
def _whole(target: Path) -> Generator[BinaryIO]:
    """A file that takes the place of the one before it when all of it is written."""
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
            yield opened
        part.replace(target)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def _stdout() -> Generator[Put]:
    """Whole lines, so that no character is cut in two."""
    begun = bytearray()

    def put(piece: bytes) -> None:
        nonlocal begun
        lines, newline, rest = (begun + piece).rpartition(b"\n")
        _show(bytes(lines + newline))
        begun = rest

    yield put
    _show(bytes(begun))


def _show(text: bytes) -> None:
    if not text:
        return
    told = text.decode("utf-8", "backslashreplace")
    if sys.stdout.isatty():
        print_text(told)
    else:
        write(told)


VERB = Verb(
    "export",
    "Export the record as JSON lines or CSV, newest first.",
    _options,
    _export,
    (
        "interlock activity export -o activity.jsonl",
        "interlock activity export --format csv --since 30d -o activity.csv",
        "interlock activity export --status blocked > blocked.jsonl",
    ),
)
