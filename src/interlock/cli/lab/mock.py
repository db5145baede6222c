"""`interlock mock`: a server that answers what a file says, for tests and for trying things out.

The file is a manifest, or a list of tools that was saved. What is wrong with it is said with its line and column before
anything is served; stdout stays empty then.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from interlock.cli.command import Options, Values, Verb
from interlock.cli.inputs import bad
from interlock.cli.lab.playing import add_http, play
from interlock.cli.render import counted, note
from interlock.config.document import Document
from interlock.core.model import Json
from interlock.errors import MANIFEST_INVALID, ConfigError, Exit
from interlock.lab.played.manifest import Manifest, ManifestUnfit, Unfit, manifest_of, manifest_of_list, saved_tools
from interlock.lab.played.mock import Mock

MAX_FILE = 16 * 1024 * 1024


def _options(parser: Options) -> None:
    parser.add_argument(
        "--tools-from", metavar="FILE", required=True, help="a manifest (YAML), or a saved answer to tools/list (JSON)"
    )
    add_http(parser)


def _mock(values: Values) -> Exit:
    manifest = read_manifest(values.tools_from)
    note(f"The mock '{manifest.name}' has {counted(len(manifest.tools), 'tool')}.")
    play(Mock(manifest), values.http)
    return Exit.OK


def read_manifest(source: str) -> Manifest:
    """The manifest in a file; raises InterlockError with every problem and its place."""
    text = _text(source)
    tools = saved_tools(_json(text))
    if tools is not None:
        try:
            return manifest_of_list(tools, Path(source).stem)
        except ManifestUnfit as unfit:
            raise _unusable(f"{source}: {each.text}" for each in unfit.problems) from None
    from interlock.config.source import parse

    document = parse(text, source)
    if document.problems:
        raise _unusable(map(str, document.problems))
    try:
        return manifest_of(document.value)
    except ManifestUnfit as unfit:
        raise _unusable(_placed(each, document, source) for each in unfit.problems) from None


def _text(source: str) -> str:
    try:
        with Path(source).open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except OSError as error:
        raise bad(f"{source}: cannot be read: {error.strerror}", "Check the path.") from None
    if len(content) > MAX_FILE:
        raise bad(f"{source}: is longer than {MAX_FILE} bytes", "Leave out what the mock does not need.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise bad(f"{source}: is not UTF-8 text", "Save the file as UTF-8.") from None


def _json(text: str) -> Json:
    """The value of a file that is JSON; None when it is not, because then it is YAML or broken."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _placed(problem: Unfit, document: Document, source: str) -> str:
    places = document.keys if problem.at_key else document.values
    return f"{places.get(problem.path, source)}: {problem.text}"


def _unusable(problems: Iterable[str]) -> ConfigError:
    return ConfigError(tuple(problems), MANIFEST_INVALID)


VERB = Verb(
    "mock",
    "Serve the tools of a file as an MCP server that answers what the file says.",
    _options,
    _mock,
    (
        "interlock mock --tools-from records.yaml",
        "interlock mock --tools-from records.yaml --http 9000",
        "interlock mock --tools-from saved-tools-list.json",
    ),
)
