"""`interlock init`: take over the servers of the clients on this machine, and point those clients at Interlock.

Everything is shown before anything is written, every file that is changed is copied first, and a second run finds
nothing to do. Files of a project are not read unless asked for: a repository may name any command. A server is started
only after the import was agreed to, to count what would be held of it.

This module refuses to change anything when nobody can be asked and nobody said yes.
"""

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from interlock import errors
from interlock.cli.ask import add_consent, agreed, can_ask, chosen
from interlock.cli.clients import client, rewrite
from interlock.cli.clients.connect import Edit, Ours, Wish, edits
from interlock.cli.clients.file import ClientFile, Named, read, read_bytes, surroundings
from interlock.cli.clients.foresee import foresee
from interlock.cli.clients.gather import Candidate, Gathered, Refused, gather
from interlock.cli.clients.masked import difference
from interlock.cli.clients.safekeeping import FOLDER, Safekeeping, Where
from interlock.cli.clients.settings_text import extended
from interlock.cli.clients.table import CLIENTS, Client, Surroundings
from interlock.cli.command import Options, Values, Verb
from interlock.cli.gateway import folder_of
from interlock.cli.inputs import bad
from interlock.cli.render import counted, note, print_lines, print_text
from interlock.clock import SystemClock
from interlock.config.load import Config
from interlock.config.places import FILE_NAME
from interlock.config.roster import checked
from interlock.config.tree import Server, Settings
from interlock.core.model import Json
from interlock.errors import Exit, InterlockError

Definitions = dict[str, dict[str, Json]]


def _options(parser: Options) -> None:
    add_consent(parser)
    parser.add_argument("--no-input", action="store_true", help="never ask; without --yes nothing is changed")
    parser.add_argument(
        "--project", action="store_true", help="also read the client files of the project in this folder"
    )
    parser.add_argument("--secrets", choices=("file", "env"), help="where secrets go: files of yours, or variables")


@dataclass(slots=True)
class _Seen:
    """Everything that was read, and what follows from it."""

    around: Surroundings
    place: Path
    """The settings file that is extended."""
    content: bytes | None
    config: Config
    files: list[ClientFile]
    problems: list[str]
    gathered: Gathered

    @property
    def text(self) -> str:
        return (self.content or b"").decode("utf-8")

    @property
    def clients(self) -> list[Client]:
        """The clients that this user has."""
        here = {each.client.name: each.client for each in self.files if each.path == each.client.user_file(self.around)}
        return list(here.values())


def _init(values: Values) -> Exit:
    seen = _look(values)
    _tell_found(seen)
    if values.dry_run or not (values.yes or can_ask(values)):
        return _preview(values, seen)
    if seen.gathered.new and not _import(values, seen):
        note("Nothing was written.")
        return Exit.OK
    wanted = list(_edits(values, seen, client.read_settings(seen.place)))
    if _connect(values, wanted) or seen.gathered.new:
        _tell_next(seen)
    elif not wanted:
        print_lines(["Nothing to do."])
    return Exit.FINDINGS if seen.problems else Exit.OK


# Looking --------------------------------------------------------------------------------------------------------


def _look(values: Values) -> _Seen:
    around, place = surroundings(), _place(values)
    config = client.read_settings(place)
    files, problems = client_files(around, project=values.project)
    found = [each for file in files for each in file.servers()]
    known = client.servers_of(values, config)
    gathered = gather(found, config.settings, known, os.environ)
    return _Seen(around, place, read_bytes(place), config, files, problems, gathered)


def _place(values: Values) -> Path:
    place = client.settings_place(values)
    if os.path.lexists(FILE_NAME) and place != Path(FILE_NAME).absolute():
        note(f"{FILE_NAME} in this folder is left alone; give it with --config to extend it.")
    return place


def client_files(around: Surroundings, *, project: bool) -> tuple[list[ClientFile], list[str]]:
    """The files of the clients that are here, and what is wrong with those that cannot be read."""
    files: list[ClientFile] = []
    problems: list[str] = []
    for each in CLIENTS.values():
        places = [each.user_file(around), each.project_file(around) if project else None]
        for place in dict.fromkeys(place for place in places if place is not None):
            try:
                file = read(each, place)
            except InterlockError as broken:
                problems.append(broken.reason.text)
                continue
            files += [file] if file.content is not None else []
    return files, problems


def _tell_found(seen: _Seen) -> None:
    for file in seen.files:
        print_lines([f"{file.client.title}: {counted(len(file.servers()), 'server')} in {file.path}"])
    if not seen.files:
        print_lines(["No file of a known client was found."])
    for problem in seen.problems:
        note(f"Left out: {problem}")
    for each in seen.gathered.new:
        print_lines(_told(each))
    for named, ours in seen.gathered.known:
        print_lines([f"  {_where(named)} is '{ours}' of Interlock already"])
    for refused in seen.gathered.refused:
        print_lines([f"  {_where(refused.source)} stays there: {refused.why}"])


def _told(candidate: Candidate) -> Iterable[str]:
    adopted = candidate.adopted
    yield f"+ {adopted.id}: {', '.join(_where(each) for each in candidate.sources)}"
    if adopted.secrets:
        places = ", ".join(each.place for each in adopted.secrets)
        yield f"    holds {counted(len(adopted.secrets), 'secret')}: {places}"
    yield from (f"    {remark}" for remark in adopted.remarks)


def _where(named: Named) -> str:
    inside = f" of {named.keys[1]}" if len(named.keys) > 1 else ""
    return f"'{named.name}'{inside} in {named.client.title}"


# Previewing -----------------------------------------------------------------------------------------------------


def _preview(values: Values, seen: _Seen) -> Exit:
    """Show what would be written, start nothing."""
    kept = _safekeeping(values, values.secrets or "file")
    definitions = {each.adopted.id: kept.referring(each.adopted) for each in seen.gathered.new}
    after = extended(seen.text, definitions, seen.place) if definitions else seen.text
    if definitions:
        print_text(difference(str(seen.place), seen.text, after, "yaml"))
    if kept.files or kept.variables:
        print_lines([f"{counted(len(kept.files) + len(kept.variables), 'secret')} would be replaced by references."])
    settings = _with(seen.config.settings, definitions)
    wanted = list(_edits(values, seen, replace(seen.config, settings=settings)))
    client.show(wanted)
    if not definitions and not wanted:
        print_lines(["Nothing to do."])
    elif not values.dry_run:
        raise InterlockError(errors.NOBODY_TO_ASK())
    return Exit.FINDINGS if seen.problems else Exit.OK


def _with(settings: Settings, definitions: Definitions) -> Settings:
    servers = {name: checked(settings, name, each) for name, each in definitions.items()}
    return settings.model_copy(update={"servers": {**settings.servers, **servers}})


def _edits(values: Values, seen: _Seen, config: Config) -> Iterable[Edit]:
    """What has to change in the files of the clients for them to talk to Interlock."""
    ours: Ours = client.ours_of(values, replace(config, file=seen.place))
    wish = Wish(project=values.project, anew=False)
    for each in seen.clients:
        try:
            yield from edits(each, seen.around, ours, wish)
        except InterlockError as refused:
            seen.problems.append(refused.reason.text)
            note(f"Left out: {refused.reason.text}")


# Importing ------------------------------------------------------------------------------------------------------


def _import(values: Values, seen: _Seen) -> bool:
    """Write the new servers into the settings; whether everybody agreed."""
    where = _where_to(values, seen.gathered)
    if where is None:
        _leave_secrets(seen.gathered)
    new = [each.adopted for each in seen.gathered.new]
    if not new:
        return True
    trusted = _trusts(values, seen)
    kept = _safekeeping(values, where or "file")
    definitions = {each.id: _definition(kept.referring(each), trusted=trusted) for each in new}
    after = extended(seen.text, definitions, seen.place)
    print_text(difference(str(seen.place), seen.text, after, "yaml"))
    if not values.yes and not agreed(f"Write {seen.place}?"):
        return False
    kept.keep()
    if seen.content is not None:
        rewrite.back_up(seen.place, seen.content, SystemClock().now())
    rewrite.replaced(seen.place, after.encode("utf-8"), seen.content)
    note(f"Wrote {seen.place}.")
    _tell_secrets(kept)
    return True


def _definition(definition: dict[str, Any], *, trusted: bool) -> dict[str, Json]:
    return {**definition, "trusted": True} if trusted else definition


def _safekeeping(values: Values, where: Where) -> Safekeeping:
    folder = folder_of(values).path
    if where == "file" and "}" in str(folder):
        raise bad(f"{folder}: no reference can name a file in such a folder", "Choose --secrets env.")
    return Safekeeping(folder, where)


def _where_to(values: Values, gathered: Gathered) -> Where | None:
    """Where the secrets go; None when they stay where they are."""
    count = sum(len(each.adopted.secrets) for each in gathered.new)
    if not count or values.yes or values.secrets:
        return values.secrets or "file"
    answer = chosen(
        f"{counted(count, 'secret')} found in plain. Move to files that only you can read (f), to variables that you "
        "set (e), or leave these servers where they are (n)? [f/e/N]",
        ("f", "file", "e", "env"),
    )
    return None if answer is None else "file" if answer.startswith("f") else "env"


def _leave_secrets(gathered: Gathered) -> None:
    left = [each for each in gathered.new if each.adopted.secrets]
    gathered.new = [each for each in gathered.new if not each.adopted.secrets]
    for each in left:
        gathered.refused += [Refused(named, "its secrets stay where they are") for named in each.sources]


def _trusts(values: Values, seen: _Seen) -> bool:
    """Start the new servers, tell what would be held of them, and ask once whether their word counts."""
    probing = Safekeeping(Path(), "env")
    definitions: Definitions = {each.adopted.id: probing.referring(each.adopted) for each in seen.gathered.new}
    settings = seen.config.settings
    servers: Mapping[str, Server] = {name: checked(settings, name, each) for name, each in definitions.items()}
    if not _may_start(values, servers):
        print_lines(["They were not started, so how many of their tools would be held is not known."])
        return False
    found = foresee(settings, servers, {**os.environ, **probing.variables})
    for name in servers:
        each = found.get(name)
        told = "switched off" if each is None else each.problem or f"{counted(each.tools, 'tool')}, {each.held} held"
        also = " (imported all the same)" if each and each.problem else ""
        print_lines([f"{name}: {told.removesuffix('.')}{also}"])
    held, tools = sum(each.held for each in found.values()), sum(each.tools for each in found.values())
    print_lines([f"{held} of {counted(tools, 'tool')} would be held or denied."])
    if not held or values.yes:
        return False
    return agreed("Believe what these servers say of their tools?")


def _may_start(values: Values, servers: Mapping[str, Server]) -> bool:
    """Whether the servers may be started to look at their tools. Commands of a project are somebody else's: they are
    shown first, and never started on a yes to everything."""
    if not values.project:
        return True
    for name, each in servers.items():
        print_lines([f"{name}: {each.url or shlex.join([each.command or '', *each.args])}"])
    return not values.yes and agreed("Start these to look at their tools?")


def _tell_secrets(kept: Safekeeping) -> None:
    if kept.files:
        note(f"Secrets are kept in {counted(len(kept.files), 'file')} under {kept.folder.absolute() / FOLDER}.")
        note("Copies of the old files still hold them; remove those when all is well.")
    if kept.variables:
        note("Set these for the gateway, and for every client that starts it:")
    for line in kept.exports():
        note(f"  {line}")


# Connecting -----------------------------------------------------------------------------------------------------


def _connect(values: Values, wanted: list[Edit]) -> bool:
    """Ask for each client, and write its files; whether any was written."""
    agreed_to: list[Edit] = []
    for each in {edit.client.name: edit.client for edit in wanted}.values():
        own = [edit for edit in wanted if edit.client.name == each.name]
        client.show(own)
        if values.yes or agreed(f"Point {each.title} at Interlock?"):
            agreed_to += own
    if agreed_to:
        client.write(agreed_to, values)
    return bool(agreed_to)


def _tell_next(seen: _Seen) -> None:
    given = [] if seen.place == user_config_path("interlock") / FILE_NAME else ["--config", str(seen.place)]
    more = "".join(f" {shlex.quote(each)}" for each in given)
    print_lines(
        [
            "Next:",
            f"  interlock doctor{more}     # check that everything is well",
            f"  interlock serve{more}      # run the gateway, so that all clients share it",
            f"  interlock tool list{more}  # see every tool and its class",
            "  interlock client undo  # put the files of the clients back",
        ]
    )


VERB = Verb(
    "init",
    "Take over the servers of the MCP clients on this machine, and point the clients at Interlock.",
    _options,
    _init,
    ("interlock init --dry-run", "interlock init", "interlock init --yes --secrets env"),
)
