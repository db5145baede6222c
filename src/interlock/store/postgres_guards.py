"""The guards of a database in PostgreSQL: whether its tables still refuse what they were made to refuse.

What they are made to refuse stands in the migrations, so that is where it is read from: the triggers, the bodies of
their functions, and the constraints that have a name. Whoever owns the tables can take a guard away, switch it off, or
put another of the same name in its place; and a rule, a policy or a table that inherits would let rows be seen that are
none.

This module refuses to repair anything.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from interlock.store.migrate import migrations

_FUNCTION = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)\(\) RETURNS TRIGGER .*? AS \$\$(.*?)\$\$", re.DOTALL)
_TRIGGER = re.compile(
    r'CREATE TRIGGER (\w+) (BEFORE|AFTER) ([A-Z ]+) ON "?(\w+)"?\s+(?:REFERENCING .*?)?'
    r"FOR EACH (ROW|STATEMENT)\s+(WHEN \([^;]*?\)\s+)?EXECUTE FUNCTION (\w+)\((.*?)\);",
    re.DOTALL,
)
_DROPPED = re.compile(r'DROP TRIGGER (\w+) ON "?(\w+)"?')
_TABLE = re.compile(r'CREATE TABLE "?(\w+)"? \(')
_BITS = {"ROW": 1, "BEFORE": 2, "INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}
"""How PostgreSQL writes down when a trigger acts."""

CHECKS = {
    "approval_by_another": "CHECK (((approver IS NULL) OR (approver <> requester)))",
    "approval_decided_when_resolved": "CHECK (((status = 'pending'::text) = (decided_at IS NULL)))",
    "approval_by_somebody": "CHECK (((status <> ALL (ARRAY['approved'::text, 'denied'::text])) OR"
    " (approver IS NOT NULL)))",
    "granted_once": "CHECK (((scope <> 'once'::text) OR ((uses_left IS NOT NULL) AND ((uses_left + uses) = 1))))",
}
"""The constraints that say who may answer, in the words of PostgreSQL, which have been the same for many versions."""

_TRIGGERS = """
SELECT tgname, relname, tgtype::int, tgenabled::text, proname, pronamespace = relnamespace,
    encode(tgargs, 'escape'), tgqual IS NULL AND tgattr::text = ''
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE relnamespace = 'interlock'::regnamespace AND NOT tgisinternal ORDER BY relname, tgname
"""
_FUNCTIONS = """
SELECT proname, prosrc, coalesce(array_to_string(proconfig, ';'), ''), prosecdef FROM pg_proc
WHERE pronamespace = 'interlock'::regnamespace AND prorettype = 'trigger'::regtype ORDER BY proname
"""
_CHECKS = """
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint
WHERE connamespace = 'interlock'::regnamespace AND contype = 'c'
"""
_TABLES = """
SELECT relname, relkind::text, relrowsecurity, relhasrules,
    EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = pg_class.oid OR inhrelid = pg_class.oid)
FROM pg_class WHERE relnamespace = 'interlock'::regnamespace AND relkind NOT IN ('i', 'S', 'I', 't') ORDER BY relname
"""
_SEARCHED = "search_path=interlock, pg_temp"
_ON = frozenset({"O", "A"})

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement on the database."""


class Trigger(NamedTuple):
    """A trigger, as it was made."""

    bits: int
    function: str
    arguments: str
    always: bool = True
    """Not only under a condition. What that condition is, is not compared: none of those that guard the log has one."""


@cache
def triggers_due() -> Mapping[tuple[str, str], Trigger]:
    """The triggers of the newest version, by table and name."""
    due: dict[tuple[str, str], Trigger] = {}
    for step in migrations("migrations/postgres"):
        for name, table in _DROPPED.findall(step.sql):
            due.pop((table, name), None)
        for name, when, events, table, each, only, function, given in _TRIGGER.findall(step.sql):
            bits = sum(_BITS.get(word, 0) for word in (when, each, *events.split(" OR ")))
            due[table, name] = Trigger(bits, function, given.strip("'"), not only)
    return due


@cache
def functions_due() -> Mapping[str, str]:
    """The bodies of the functions of triggers."""
    return {name: body for step in migrations("migrations/postgres") for name, body in _FUNCTION.findall(step.sql)}


@cache
def tables_due() -> frozenset[str]:
    return frozenset(name for step in migrations("migrations/postgres") for name in _TABLE.findall(step.sql))


def missing_guards(ask: Ask) -> Iterator[str]:
    """What is wrong with the guards of a database, each as a sentence."""
    for kind, name, what in (*_tables(ask), *_triggers(ask), *_functions(ask), *_checks(ask)):
        yield f"The {kind} {name!r} of the database {what}: it no longer guards the log as it was made to."


def _tables(ask: Ask) -> Iterator[tuple[str, str, str]]:
    found = {name: rest for name, *rest in ask(_TABLES)}
    for name in sorted(tables_due() | found.keys()):
        if name not in found:
            yield "table", name, "is gone"
        elif name not in tables_due():
            yield "table", name, "is not ours"
        elif found[name] != ["r", False, False, False]:
            yield "table", name, "shows something else than its rows"


def _triggers(ask: Ask) -> Iterator[tuple[str, str, str]]:
    due = triggers_due()
    found = {(table, name): rest for name, table, *rest in ask(_TRIGGERS)}
    for at in sorted(due.keys() | found.keys()):
        if at not in found:
            yield "trigger", at[1], "is gone"
        elif at not in due:
            yield "trigger", at[1], "is not ours"
        else:
            bits, enabled, function, ours, arguments, always = found[at]
            made = Trigger(bits, function, arguments.removesuffix("\\000"), always)
            if enabled not in _ON:
                yield "trigger", at[1], "is switched off"
            elif made != due[at] or not ours:
                yield "trigger", at[1], "was changed"


def _functions(ask: Ask) -> Iterator[tuple[str, str, str]]:
    due = functions_due()
    found = {name: (body, config, definer) for name, body, config, definer in ask(_FUNCTIONS)}
    for name in sorted(due.keys() | found.keys()):
        if name not in found:
            yield "function", name, "is gone"
        elif name not in due:
            yield "function", name, "is not ours"
        elif found[name] != (due[name], _SEARCHED, False):
            yield "function", name, "was changed"


def _checks(ask: Ask) -> Iterator[tuple[str, str, str]]:
    found = {name: (words, valid) for name, words, valid in ask(_CHECKS)}
    for name, words in CHECKS.items():
        if name not in found:
            yield "constraint", name, "is gone"
        elif found[name] != (words, True):
            yield "constraint", name, "was changed"
