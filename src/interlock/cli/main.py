"""The command tree, and the one place where errors become exit codes.

Only the names and summaries stand here; a noun's module is imported when it is asked for.
"""

import importlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from interlock import __version__
from interlock.cli.command import noun_help, run_noun, run_verb, unknown_word
from interlock.errors import ConfigError, Exit, InterlockError

SUMMARY = """Interlock stands between AI agents and their MCP servers: it classifies every tool, makes the agent
declare its intent, decides by rules, and holds what is sensitive for a second key."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A first word of the command line and the module behind it, as it is called inside this package."""

    name: str
    summary: str
    module: str

    def load(self) -> ModuleType:
        return importlib.import_module(f"interlock.cli.{self.module}")


NOUNS = (
    Noun("demo", "See in a minute what Interlock does; nothing is left of it", "demo.demo"),
    Noun("init", "Take over the servers of the MCP clients here, and connect the clients", "clients.init"),
    Noun("serve", "Run the gateway that agents connect to", "serve"),
    Noun("stdio", "Connect one MCP client over stdin and stdout", "stdio"),
    Noun("open", "Open the dashboard in a browser", "open"),
    Noun("status", "Say whether a gateway runs, and how it is doing", "status"),
    Noun("doctor", "Check that everything is well, and say what to do if not", "checkups.doctor"),
    Noun("approval", "See what waits for a second key, and answer it: list, show, watch", "approval"),
    Noun("grant", "See and revoke what approvals gave", "grant"),
    Noun("freeze", "Stop calls at once: everything, a server or a caller", "freeze"),
    Noun("thaw", "Lift such a stop", "thaw"),
    Noun("call", "Call a tool as an agent would, with a declared intent", "call"),
    Noun("run-tool", "Run one tool through the gate, or see what the gate says (--dry-run)", "run_tool"),
    Noun("tool", "List, classify, review and trust tools", "tool"),
    Noun("server", "Add, import, switch and watch the servers, and see their logs", "server"),
    Noun("client", "Point MCP clients at Interlock, and take that back", "clients.client"),
    Noun("activity", "See what happened: list, follow, count, export", "activity"),
    Noun("audit", "Prove that the record was not altered: verify, export, checkpoint, prune", "audit"),
    Noun("db", "Care for the database: migrate, back up, check, copy between SQLite and PostgreSQL", "db"),
    Noun("rule", "Test, explain, lint and replay route rules", "rule"),
    Noun("probe", "Call the tools of a server as far as is safe, and report what is wrong", "lab.probe"),
    Noun("mock", "Serve the tools of a file as a server for tests", "lab.mock"),
    Noun("record", "Record what a server answers to a client", "lab.record"),
    Noun("replay", "Serve what was recorded, and reach no real server", "lab.replay"),
    Noun("token", "Make, list and revoke credentials", "token"),
    Noun("scan", "Say what is wrong with tools from their definitions alone, and call nothing", "lab.scan"),
    Noun("test", "Run suites of tests against servers", "lab.test"),
    Noun("scaffold", "Write a pytest suite for the tools of a server", "lab.scaffold"),
    Noun("propose", "Propose a suite from what a server answers", "lab.propose"),
    Noun("config", "Show, validate and describe the configuration", "config"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    try:
        code = _run(words)
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else Exit.OK
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except OSError as error:
        return _cannot_write(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        return _cannot_write(error)
    return code


def _prepare_streams() -> None:
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - it is when the shell closed it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that knows only ASCII gets escapes, not a crash.
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    from interlock.cli.render import forget_stdout

    forget_stdout()


def _cannot_write(error: OSError) -> int:
    sys.stderr.write(f"cannot write the output: {error.strerror}\n")
    _forget_stdout()
    return Exit.INTERNAL


def _run(words: Sequence[str]) -> Exit:
    try:
        return _dispatch(_options_last(words))
    except ConfigError as error:
        from interlock.cli.render import print_problems

        return print_problems(error, as_json="--json" in words)
    except InterlockError as error:
        from interlock.cli.render import print_error

        return print_error(error.reason, as_json="--json" in words)


def _options_last(words: Sequence[str]) -> list[str]:
    """Options that every verb has may also stand before the noun."""
    rest = list(words)
    moved: list[str] = []
    while rest and rest[0].partition("=")[0] in ("--config", "--data-dir"):
        count = 1 if "=" in rest[0] else 2
        moved += rest[:count]
        rest = rest[count:]
    at = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:at], *moved, *rest[at:]]


def _dispatch(words: Sequence[str]) -> Exit:
    rows = [(noun.name, noun.summary) for noun in NOUNS]
    if words and words[0].partition("=")[0] in ("--config", "--data-dir"):
        sys.stderr.write(noun_help("interlock", SUMMARY, rows))
        return Exit.USAGE
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(noun_help("interlock", SUMMARY, rows))
        return Exit.OK
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"interlock {__version__}\n")
        return Exit.OK
    noun = next((each for each in NOUNS if each.name == words[0]), None)
    if noun is None:
        raise unknown_word("interlock", words[0], [each.name for each in NOUNS])
    module = noun.load()
    prog = f"interlock {noun.name}"
    if hasattr(module, "VERB"):
        return run_verb(prog, module.VERB, words[1:])
    return run_noun(prog, noun.summary, module.VERBS, words[1:])
