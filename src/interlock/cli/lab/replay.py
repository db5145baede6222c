"""`interlock replay`: a cassette as a server. What was recorded is answered again; nothing is ever asked elsewhere.

This module imports nothing that could reach a server.
"""

from pathlib import Path

from interlock.cli.command import Options, Values, Verb
from interlock.cli.inputs import bad
from interlock.cli.lab.playing import add_http, play
from interlock.cli.render import counted, note
from interlock.errors import Exit
from interlock.lab.played.cassette import MAX_CASSETTE, Cassette, CassetteUnfit, read_cassette
from interlock.lab.played.replay import Replay


def _options(parser: Options) -> None:
    parser.add_argument("file", metavar="FILE", help="a cassette that `interlock record` wrote")
    add_http(parser)


def _replay(values: Values) -> Exit:
    cassette = open_cassette(values.file)
    note(f"The cassette of '{cassette.server}' has {counted(len(cassette.interactions), 'interaction')}.")
    play(Replay(cassette), values.http)
    return Exit.OK


def open_cassette(source: str) -> Cassette:
    """The cassette in a file; raises InterlockError."""
    try:
        with Path(source).open("rb") as file:
            content = file.read(MAX_CASSETTE + 1)
    except OSError as error:
        raise bad(f"{source}: cannot be read: {error.strerror}", "Check the path.") from None
    if len(content) > MAX_CASSETTE:
        raise bad(f"{source}: is longer than {MAX_CASSETTE} bytes", "Record in parts.")
    try:
        return read_cassette(content)
    except CassetteUnfit as unfit:
        raise bad(f"{source}:{unfit.line}: {unfit.text}", "Give a file that `interlock record` wrote.") from None


VERB = Verb(
    "replay",
    "Serve a cassette as an MCP server. No real server is reached, whatever is asked.",
    _options,
    _replay,
    (
        "interlock replay github.jsonl",
        "interlock replay github.jsonl --http 9000",
    ),
)
