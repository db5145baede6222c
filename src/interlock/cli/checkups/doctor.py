"""`interlock doctor`: nineteen checks, each with its code, how it is, and what to do about it.

With a gateway that runs it asks that one; else it starts one for the occasion, which ends with the command. With
`--fix` it first mends what needs no decision, and then looks at how it is. With `--prove` it checks nothing of
that, and tries the guarantees out instead.

This module refuses to bring a database to a newer version by the way: that is for `--fix` and for the next start.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.cli.checkups import checkup
from interlock.cli.checkups import folder as checkup_folder
from interlock.cli.checkups.checkup import FAIL, OK, WARN, Check
from interlock.cli.checkups.clients import clients_check
from interlock.cli.checkups.codes import CODES
from interlock.cli.checkups.live import dashboard_check, live_checks, unchecked
from interlock.cli.checkups.repair import DONE, FAILED, PLANNED, Outcome, repair
from interlock.cli.checkups.shared import SharedStore, unknown_place
from interlock.cli.clients.file import surroundings
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, folder_of, remote, running_at, through_gateway
from interlock.cli.inputs import bad, load_config
from interlock.cli.render import counted, note, print_json, print_lines, print_table
from interlock.clock import SystemClock
from interlock.core.model import Json
from interlock.errors import ConfigError, Exit, InterlockError
from interlock.store.folder import DataFolder, FolderBusy

if TYPE_CHECKING:
    from interlock.config.load import Config


_TOLD = {DONE: "repaired", PLANNED: "would be repaired", FAILED: "could not be repaired"}


def _options(parser: Options) -> None:
    parser.add_argument("--fix", action="store_true", help="first repair what needs no decision")
    parser.add_argument("--dry-run", action="store_true", help="with --fix: only say what would be repaired")
    parser.add_argument(
        "--prove", action="store_true", help="try the guarantees out on a copy of this configuration, in a sandbox"
    )
    parser.add_argument("--list-codes", action="store_true", help="list the checks and their codes, and check nothing")
    add_json(parser)


def _doctor(values: Values) -> Exit:
    if values.list_codes:
        return _list_codes(as_json=values.json)
    if values.prove:
        return _prove(values)
    if values.dry_run and not values.fix:
        raise bad("--dry-run says what --fix would do", "Add --fix, or leave --dry-run out.")
    folder = folder_of(values)
    shared = _shared(_config(values), folder)
    repairs = repair(folder, dry=values.dry_run, shared=shared is not None) if values.fix else []
    checks = _checks(values, shared)
    found = [each for each in checks if each.state != OK]
    if values.json:
        told = [_repair_as_json(each) for each in repairs]
        print_json({"repairs": told, "checks": [_as_json(each) for each in checks], "findings": len(found)})
    else:
        _print(repairs, checks)
        note("All is well." if not found else f"{counted(len(found), 'finding')}.")
    return Exit.FINDINGS if found else Exit.OK


def _prove(values: Values) -> Exit:
    if values.fix or values.dry_run:
        raise bad("--prove repairs nothing", "Leave --fix and --dry-run out.")
    from interlock.cli.checkups.prove.prove import prove

    return prove(load_config(values), folder_of(values), as_json=values.json)


def _list_codes(*, as_json: bool) -> Exit:
    if as_json:
        items = [{"code": it.code, "check": it.check, "what": it.what, "fix": it.repaired} for it in CODES.values()]
        print_json({"items": list[Json](items), "total": len(items)})
    else:
        rows = [(each.code, each.check, each.what, each.repaired or "-") for each in CODES.values()]
        print_table(("CODE", "CHECK", "WHAT SHOULD BE", "WHAT --fix DOES"), rows)
    return Exit.OK


def _checks(values: Values, shared: SharedStore | ConfigError | None) -> list[Check]:
    folder, now = folder_of(values), SystemClock().now()
    config = _config(values)
    # The folder and the database are looked at before a gateway of our own could make them.
    in_folder, lock = checkup_folder.folder_check(folder), checkup_folder.lock_check(folder)
    if isinstance(shared, SharedStore):
        (database, last_at), schema = shared.database_check(), shared.schema_check()
    elif shared is not None:
        (database, schema), last_at = unknown_place(), None
    else:
        database, last_at = checkup_folder.database_check(folder, _anchor(config, folder))
        schema = checkup_folder.schema_check(folder)
    harm = _why_not_started(folder, database, schema, shared=shared is not None)
    address = _address(values)
    return [
        checkup.config_check(config),
        in_folder,
        lock,
        database,
        schema,
        checkup.gateway_check(address, config),
        _dashboard(folder, address),
        checkup.commands_check(config, os.environ),
        *_live(values, config, address, harm, now),
        checkup.rules_check(config),
        checkup.machine_check(folder, last_at, now),
        clients_check(surroundings()),
    ]


def _dashboard(folder: DataFolder, address: str | None) -> Check:
    if address is None:
        return Check("dashboard", OK, "Not served now, because no gateway runs.")
    return asyncio.run(dashboard_check(remote(address, folder)))


def _config(values: Values) -> "Config | ConfigError":
    try:
        return load_config(values)
    except ConfigError as unusable:
        return unusable


def _address(values: Values) -> str | None:
    try:
        return running_at(folder_of(values))
    except (FolderBusy, InterlockError):
        return None  # the folder check tells what is wrong with it


def _anchor(config: "Config | ConfigError", folder: DataFolder) -> Path | None:
    """The anchor of the configuration; None for the usual one."""
    if isinstance(config, ConfigError):
        return None
    from interlock.app.compiled import anchor_of

    return anchor_of(config, folder.path)


def _shared(config: "Config | ConfigError", folder: DataFolder) -> SharedStore | ConfigError | None:
    """The database of the configuration; None for the file in the folder; what is wrong where the log of the folder is
    in a database and nobody can say in which."""
    if folder.is_of_a_run:
        return None
    from interlock.app.compiled import store_address

    try:
        if isinstance(config, ConfigError):
            raise config
        address = store_address(config, os.environ)
    except ConfigError as unusable:
        return None if folder.known_chain() is None else unusable
    return None if address == "sqlite" else SharedStore(folder, address, _anchor(config, folder))


def _why_not_started(folder: DataFolder, database: Check, schema: Check, *, shared: bool) -> str:
    """What a gateway of our own would do to the database that nobody asked for; empty when nothing."""
    if shared and FAIL in (database.state, schema.state):
        return "its database is not as it should be"
    if database.state == FAIL and not os.path.exists(folder.database):
        return "starting one would begin a new log"
    return "starting one would bring the database to another version" if schema.state == WARN else ""


def _live(values: Values, config: "Config | ConfigError", address: str | None, harm: str, now: int) -> list[Check]:
    if address is None and isinstance(config, ConfigError):
        return unchecked("no gateway runs, and none can be started without a configuration.")
    if address is None and harm:
        return unchecked(f"no gateway runs, and {harm}.")
    checks: list[Check] = []
    # To a gateway that is only there for these checks nobody comes with a call.
    holds = address is not None and checkup.can_hold(config)

    async def work(api: Api) -> Exit:
        checks.extend(await live_checks(api, now, holds=holds))
        return Exit.OK

    try:
        through_gateway(values, work, servers=True)
    except InterlockError as failed:
        return unchecked(failed.reason.text)
    return checks


def _as_json(check: Check) -> dict[str, Json]:
    return {"code": check.code, "check": check.name, "state": check.state, "text": check.text, "fix": check.fix}


def _repair_as_json(done: Outcome) -> dict[str, Json]:
    return {"code": done.code, "state": done.state, "text": done.text, "problem": done.problem}


def _print(repairs: Sequence[Outcome], checks: Sequence[Check]) -> None:
    if repairs:
        problems = [f" ({each.problem})" if each.problem else "" for each in repairs]
        lines = [f"{each.code} {_TOLD[each.state]}: {each.text}" for each in repairs]
        print_lines([*map("".join, zip(lines, problems, strict=True)), ""])
    rows = ((each.code, each.name, each.state, each.text) for each in checks)
    print_table(("CODE", "CHECK", "STATE", "WHAT"), rows)
    fixes = [each for each in checks if each.fix]
    if fixes:
        print_lines(["", *(f"{each.code}: {each.fix}" for each in fixes)])


VERB = Verb(
    "doctor",
    "Check configuration, folder, database, servers, tools, rules, tokens, clients. Exit 20 when something is found.",
    _options,
    _doctor,
    (
        "interlock doctor",
        "interlock doctor --fix --dry-run",
        "interlock doctor --fix",
        "interlock doctor --prove",
        "interlock doctor --list-codes",
    ),
)
