"""`interlock doctor`: fourteen checks, each with how it is and what to do about it.

With a gateway that runs it asks that one; else it starts one for the occasion, which ends with the command.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.cli import checkup
from interlock.cli.checkup import OK, Check
from interlock.cli.checkup_live import live_checks, unchecked
from interlock.cli.command import Values, Verb, add_json
from interlock.cli.gateway import Api, folder_of, running_at, through_gateway
from interlock.cli.inputs import load_config
from interlock.cli.render import counted, note, print_json, print_lines, print_table
from interlock.clock import SystemClock
from interlock.errors import ConfigError, Exit, InterlockError
from interlock.store.folder import FolderBusy

if TYPE_CHECKING:
    from interlock.config.load import Config


def _doctor(values: Values) -> Exit:
    checks = _checks(values)
    found = [each for each in checks if each.state != OK]
    if values.json:
        print_json({"checks": [_as_json(each) for each in checks], "findings": len(found)})
    else:
        _print(checks)
        note("All is well." if not found else f"{counted(len(found), 'finding')}.")
    return Exit.FINDINGS if found else Exit.OK


def _checks(values: Values) -> list[Check]:
    folder, now = folder_of(values), SystemClock().now()
    config = _config(values)
    # The folder and the database are looked at before a gateway of our own could make them.
    in_folder = checkup.folder_check(folder)
    database, last_at = checkup.database_check(folder)
    address = _address(values)
    return [
        checkup.config_check(config),
        in_folder,
        database,
        checkup.gateway_check(address, config),
        checkup.commands_check(config, os.environ),
        *_live(values, config, address, now),
        checkup.rules_check(config),
        checkup.machine_check(folder, last_at, now),
    ]


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


def _live(values: Values, config: "Config | ConfigError", address: str | None, now: int) -> list[Check]:
    if address is None and isinstance(config, ConfigError):
        return unchecked("no gateway runs, and none can be started without a configuration.")
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


def _as_json(check: Check) -> dict[str, str]:
    return {"check": check.name, "state": check.state, "text": check.text, "fix": check.fix}


def _print(checks: Sequence[Check]) -> None:
    print_table(("CHECK", "STATE", "WHAT"), ((each.name, each.state, each.text) for each in checks))
    fixes = [each for each in checks if each.fix]
    if fixes:
        print_lines(["", *(f"{each.name}: {each.fix}" for each in fixes)])


VERB = Verb(
    "doctor",
    "Check configuration, folder, database, servers, tools, rules, tokens, notices. Exit 20 when something is found.",
    add_json,
    _doctor,
    ("interlock doctor", "interlock doctor --json"),
)
