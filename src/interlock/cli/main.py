"""The command tree, and the one place where errors become exit codes.

Only the names and summaries stand here; a noun's module is imported when it is asked for.
"""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from interlock import __version__
from interlock.cli.command import noun_help, run_noun, run_verb, unknown_word
from interlock.errors import Exit, InterlockError

SUMMARY = """Interlock stands between AI agents and their MCP servers: it classifies every tool, makes the agent
declare its intent, decides by rules, and holds what is sensitive for a second key."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A first word of the command line and the module behind it."""

    name: str
    summary: str
    module: str


NOUNS = (
    Noun("run-tool", "Run one tool through the gate, or see what the gate says (--dry-run)", "interlock.cli.run_tool"),
    Noun("tool", "Classify tools and see the evidence", "interlock.cli.tool"),
    Noun("rule", "Test, explain and lint route rules", "interlock.cli.rule"),
    Noun("config", "Show, validate and describe the configuration", "interlock.cli.config"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except InterlockError as error:
        from interlock.cli.render import print_error

        return print_error(error.reason, as_json="--json" in words)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader went away, as `head` does; say nothing, and keep Python from complaining at exit.
        sys.stdout = None
        return Exit.OK


def _dispatch(words: Sequence[str]) -> Exit:
    if not words or words[0] in ("-h", "--help", "help"):
        rows = [(noun.name, noun.summary) for noun in NOUNS]
        sys.stdout.write(noun_help("interlock", SUMMARY, rows))
        return Exit.OK
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"interlock {__version__}\n")
        return Exit.OK
    noun = next((each for each in NOUNS if each.name == words[0]), None)
    if noun is None:
        return unknown_word("interlock", words[0], [each.name for each in NOUNS])
    module = importlib.import_module(noun.module)
    prog = f"interlock {noun.name}"
    if hasattr(module, "VERB"):
        return run_verb(prog, module.VERB, words[1:])
    return run_noun(prog, noun.summary, module.VERBS, words[1:])
