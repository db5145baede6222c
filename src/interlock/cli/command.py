"""How a verb is declared and parsed: a table entry, its options, its examples.

argparse from the standard library does the parsing: it starts in a few milliseconds, where the friendlier frameworks
cost half a second before the first line of help. What it lacks, we add here once: examples first, suggestions for
misspelt verbs, errors that end in a way out.
"""

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from interlock.errors import BAD_REQUEST, Exit, InterlockError

Options = argparse.ArgumentParser
Values = argparse.Namespace


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing a user can ask for."""

    name: str
    summary: str
    options: Callable[[Options], None]
    run: Callable[[Values], Exit]
    examples: tuple[str, ...]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InterlockError(BAD_REQUEST(problem=message, fix=f"See `{self.prog} --help`."))


def parser_for(prog: str, verb: Verb) -> argparse.ArgumentParser:
    """The parser of one verb, with the options that every verb has."""
    parser = _Parser(
        prog=prog,
        description=verb.summary,
        epilog="Examples:\n" + "\n".join(f"  {example}" for example in verb.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.options(parser)
    shared = parser.add_argument_group("everywhere")
    shared.add_argument("--config", metavar="FILE", help="the interlock.yaml to use (also INTERLOCK_CONFIG)")
    shared.add_argument("--data-dir", metavar="DIR", help="the folder of the database (also INTERLOCK_DATA_DIR)")
    return parser


def add_json(parser: Options) -> None:
    """The option that every reading verb has."""
    parser.add_argument("--json", action="store_true", help="print JSON on stdout")


def run_verb(prog: str, verb: Verb, arguments: Sequence[str]) -> Exit:
    values = parser_for(prog, verb).parse_args(arguments)
    values.is_command = "--" in arguments  # what stands behind it was meant as words of a command line
    return verb.run(values)


def run_noun(prog: str, summary: str, verbs: Sequence[Verb], arguments: Sequence[str]) -> Exit:
    """Choose a verb of a noun and run it."""
    text = noun_help(prog, summary, [(verb.name, verb.summary) for verb in verbs])
    if not arguments or arguments[0].partition("=")[0] in ("--config", "--data-dir"):
        sys.stderr.write(text)
        return Exit.USAGE
    if arguments[0] in ("-h", "--help"):
        sys.stdout.write(text)
        return Exit.OK
    chosen = next((verb for verb in verbs if verb.name == arguments[0]), None)
    if chosen is None:
        raise unknown_word(prog, arguments[0], [verb.name for verb in verbs])
    return run_verb(f"{prog} {chosen.name}", chosen, arguments[1:])


def noun_help(prog: str, summary: str, rows: Iterable[tuple[str, str]]) -> str:
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    lines = [f"  {name:<{width}}  {text}" for name, text in listed]
    return "\n".join(
        [
            f"usage: {prog} COMMAND [options]",
            "",
            summary,
            "",
            "Commands:",
            *lines,
            "",
            f"`{prog} COMMAND --help` shows options and examples.",
            "",
        ]
    )


def unknown_word(prog: str, given: str, known: Sequence[str]) -> InterlockError:
    """The error for a word that is no command, with the nearest one that is."""
    near = difflib.get_close_matches(given, known, n=1)
    hint = f"Did you mean `{prog} {near[0]}`?" if near else f"Commands: {', '.join(known)}."
    return InterlockError(BAD_REQUEST(problem=f"unknown command '{given}'", fix=hint))
