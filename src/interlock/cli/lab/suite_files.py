"""Suites as files: reading them with the place of everything that is wrong, and the snapshots that lie beside them.

A problem in a suite is told like one in the configuration, with file, line and column. Snapshots are shapes, written
whole or not at all, and only when somebody asked for it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from interlock.config.document import Document
from interlock.core.model import Json
from interlock.errors import SUITE_INVALID, ConfigError
from interlock.lab.suites.examine import Shapes
from interlock.lab.suites.matchers import BadExpectation, schema_check
from interlock.lab.suites.suite import BadSuite, Suite, read_suite

MAX_BYTES = 4 * 1024 * 1024
_SUFFIXES = (".yaml", ".yml")


class SuiteFile(Struct, frozen=True):
    """A suite and where it is."""

    path: Path
    suite: Suite

    @property
    def snapshots(self) -> Path:
        return self.path.with_name(f"{self.path.name}.snapshots.json")


def suite_files(paths: list[str]) -> list[Path]:
    """The files that some words of the command line mean; a folder means the suites below it."""
    found: list[Path] = []
    for each in map(Path, paths):
        if each.is_dir():
            found += sorted(file for file in each.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        else:
            found.append(each)
    return list(dict.fromkeys(found))


def read_suite_file(path: Path) -> SuiteFile:
    """A suite, or an error with every problem and its place."""
    from interlock.config.source import parse

    document = parse(_text(path), str(path))
    if document.problems:
        raise unfit(*map(str, document.problems))
    try:
        return SuiteFile(path, read_suite(document.value))
    except BadSuite as bad:
        told = sorted((_place(document, at), text) for at, text in bad.problems)
        raise unfit(*(f"{path}:{line}:{column}: {text}" for (line, column), text in told)) from None


def unfit(*problems: str) -> ConfigError:
    return ConfigError(problems, SUITE_INVALID)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise unfit(f"{path}: is larger than {MAX_BYTES // 1024 // 1024} MiB")
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise unfit(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise unfit(f"{path}: cannot be read: {error.strerror}") from None


def _place(document: Document, at: tuple[str | int, ...]) -> tuple[int, int]:
    """Line and column of a key, or of the nearest thing around it that has a place."""
    for end in range(len(at), -1, -1):
        found = document.keys.get(at[:end]) or document.values.get(at[:end])
        if found is not None:
            return found.line, found.column
    return 1, 1


# Snapshots ------------------------------------------------------------------------------------------------------


def read_snapshots(file: Path) -> dict[str, Shapes]:
    """The snapshots beside a suite, by test and target; none where there is no file."""
    if not file.exists():
        return {}
    try:
        found = msgspec.json.decode(_text(file), type=dict[str, dict[str, dict[str, Any]]])
        for shape in (shape for shapes in found.values() for shape in shapes.values()):
            schema_check(shape)
    except (msgspec.MsgspecError, BadExpectation, RecursionError):
        raise unfit(f"{file}: is not a file of snapshots; delete it and use --update-snapshots") from None
    return dict(found)


def write_snapshots(file: Path, snapshots: Mapping[str, Shapes]) -> None:
    """Keep snapshots, sorted so that a difference between two versions is what changed."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(as_json(cast("Json", snapshots)), encoding="utf-8")
    os.replace(new, file)


def as_json(value: Json) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
