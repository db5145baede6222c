"""What `interlock doctor` can check by itself: the configuration, the port, the commands, the rules, the machine.

Each check says in a sentence how it is, and what to do if it is not well. None of them starts, makes or changes
anything, and none prints a secret.
"""

import shlex
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.cli.checkups.codes import CODES
from interlock.cli.render import counted
from interlock.core.lint import lint
from interlock.core.rules import RuleBook
from interlock.core.safety import Effect, Posture
from interlock.errors import ConfigError
from interlock.store.folder import DataFolder

if TYPE_CHECKING:
    from interlock.config.load import Config
    from interlock.config.tree import Server

OK, WARN, FAIL = "ok", "warn", "fail"
_SHOWN = 5
_LITTLE, _TOO_LITTLE = 1024**3, 100 * 1024**2
"""How many bytes of free disk are few, and how many are too few."""
_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check. A `fix` stands where something is to be done."""

    name: str
    state: str
    text: str
    fix: str = ""

    @property
    def code(self) -> str:
        return CODES[self.name].code


def config_check(config: "Config | ConfigError") -> Check:
    if isinstance(config, ConfigError):
        told = "; ".join(config.problems[:_SHOWN])
        return Check("config", FAIL, told, "Mend it; `interlock config validate` checks it again.")
    if config.file is None:
        return Check("config", OK, "There is no configuration file; the defaults hold.")
    settings = config.settings
    told = f"{counted(len(settings.servers), 'server')}, {counted(len(settings.route_rules), 'rule')}"
    return Check("config", OK, f"{config.file}: {told}.")


def gateway_check(address: str | None, config: "Config | ConfigError") -> Check:
    if address is not None:
        return Check("gateway", OK, f"It runs and listens on {address}.")
    if isinstance(config, ConfigError):
        return Check("gateway", WARN, "None runs, and without a configuration its port is not known.", "See config.")
    listen = config.settings.listen
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen.host, listen.port))
        except OSError as failed:
            told = f"None runs, and {listen.host}:{listen.port} cannot be listened on: {failed.strerror}."
            return Check("gateway", WARN, told, "Choose another port: `interlock serve --port`, or listen.port.")
    return Check("gateway", OK, f"None runs; {listen.host}:{listen.port} is free. `interlock serve` starts one.")


def commands_check(config: "Config | ConfigError", environ: Mapping[str, str]) -> Check:
    """Whether the servers of the file, and the command for notices, can be started at all."""
    if isinstance(config, ConfigError):
        return Check("commands", WARN, "Not checked: the configuration cannot be read.", "See config.")
    enabled = {name: each for name, each in config.settings.servers.items() if each.enabled}
    problems = [f"{name}: {told}" for name, each in enabled.items() for told in _problems(name, each, environ)]
    problems += _hook_problems(config.settings.notices.command, environ)
    if problems:
        fix = "Install the command or correct its path; set the variable for the gateway."
        return Check("commands", FAIL, "; ".join(problems[:_SHOWN]), fix)
    return Check("commands", OK, f"{counted(len(enabled), 'server')} of the file can be started.")


def _problems(name: str, server: "Server", environ: Mapping[str, str]) -> Iterator[str]:
    from interlock.config.references import resolve

    if server.command is not None and shutil.which(server.command, path=environ.get("PATH")) is None:
        yield f"the command '{server.command}' does not exist"
    if server.cwd is not None and not Path(server.cwd).is_dir():
        yield f"the folder '{server.cwd}' does not exist"
    for kind, given in (("env", server.env), ("headers", server.headers)):
        for key, value in given.items():
            try:
                resolve(value, environ, f"{kind}.{key}")
            except ConfigError as unresolved:
                yield unresolved.problems[0]


def _hook_problems(command: str | None, environ: Mapping[str, str]) -> Iterator[str]:
    """What keeps the command for notices from starting. Only its first word is shown."""
    if command is not None and shutil.which(word := shlex.split(command)[0], path=environ.get("PATH")) is None:
        yield f"notices: the command '{word}' does not exist"


def rules_check(config: "Config | ConfigError") -> Check:
    from interlock.cli.rule import reachable_workspaces
    from interlock.cli.situation import namespaces_of

    if isinstance(config, ConfigError):
        return Check("rules", WARN, "Not checked: the configuration cannot be read.", "See config.")
    found = lint(RuleBook(config.rules), namespaces_of(config), reachable_workspaces(config))
    if found:
        told = "; ".join(f"{each.rule_id}: {each.finding.text}" for each in found[:_SHOWN])
        return Check("rules", WARN, told, "`interlock rule lint` shows all of them.")
    return Check("rules", OK, f"Nothing is wrong with {counted(len(config.rules), 'rule')}.")


def can_hold(config: "Config | ConfigError") -> bool:
    """Whether a call may have to wait for approval. What cannot be read is taken to hold."""
    if isinstance(config, ConfigError):
        return True
    settings = config.settings
    places = (settings, *settings.workspaces, *settings.servers.values())
    by_rule = any(each.effect is Effect.HOLD for each in config.rules)
    return by_rule or any(each.posture in (Posture.GUARDED, Posture.STRICT) for each in places)


def machine_check(folder: DataFolder, last_at: int | None, now: int) -> Check:
    """Whether there is room on the disk, and whether the clock went back behind what is on record."""
    place = next(each for each in (folder.path.absolute(), *folder.path.absolute().parents) if each.is_dir())
    free = shutil.disk_usage(place).free
    if last_at is not None and last_at > now + _MINUTE:
        return Check("machine", WARN, "The clock is behind what is on record.", "Set the clock of this machine.")
    if free < _LITTLE:
        state = FAIL if free < _TOO_LITTLE else WARN
        told = f"Only {free // 1024**2} MiB are free for {folder.path}."
        return Check("machine", state, told, "Free some: without a record no call is made.")
    return Check("machine", OK, f"{free // 1024**3} GiB are free, and the clock is right as far as the record tells.")
