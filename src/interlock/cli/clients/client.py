"""`interlock client`: which MCP clients there are, pointing one at Interlock, and taking that back.

A file of a client is changed only after its difference was shown and somebody agreed, and never without a copy.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from interlock import errors
from interlock.cli.ask import add_consent, agreed, can_ask
from interlock.cli.clients import rewrite
from interlock.cli.clients.connect import Edit, Ours, Wish, edits, our_command, our_url
from interlock.cli.clients.file import read, surroundings
from interlock.cli.clients.gather import is_our_entry
from interlock.cli.clients.journal import Change, Journal
from interlock.cli.clients.table import CLIENTS, Client
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import folder_of, unusable_store
from interlock.cli.inputs import known, store_of
from interlock.cli.render import counted, note, print_json, print_lines, print_table, print_text
from interlock.clock import SystemClock
from interlock.config.load import Config, load
from interlock.config.places import FILE_NAME
from interlock.config.tree import Server, Settings
from interlock.errors import Exit, InterlockError

# list -----------------------------------------------------------------------------------------------------------


def _list(values: Values) -> Exit:
    items = [_shown(each) for each in CLIENTS.values()]
    if values.json:
        print_json({"items": items, "total": len(items)})
        return Exit.OK
    rows = [(each["client"], _state(each), str(each["servers"] or "-"), each["file"]) for each in items]
    print_table(("client", "state", "servers", "file"), rows)
    for each in items:
        if each["problem"]:
            note(each["problem"])
    return Exit.OK


def _shown(client: Client) -> dict[str, Any]:
    path = client.user_file(surroundings())
    shown: dict[str, Any] = {"client": client.name, "title": client.title, "file": str(path), "problem": ""}
    try:
        file = read(client, path)
    except InterlockError as broken:
        return {**shown, "found": True, "servers": 0, "connected": False, "problem": broken.reason.text}
    servers = file.servers()
    others = [each for each in servers if not is_our_entry(each)]
    connected = len(others) < len(servers)
    return {**shown, "found": file.content is not None, "servers": len(others), "connected": connected}


def _state(shown: Mapping[str, Any]) -> str:
    if shown["problem"]:
        return "broken"
    return "connected" if shown["connected"] else "found" if shown["found"] else "-"


# connect and diff -----------------------------------------------------------------------------------------------


def _names(parser: Options) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"{', '.join(CLIENTS)}")
    parser.add_argument("--http", action="store_true", help="reach the gateway over HTTP instead of starting one")
    parser.add_argument("--keep", action="store_true", help="leave the servers that Interlock has taken over")
    parser.add_argument("--project", action="store_true", help="also the file of the project in this folder")


def _connect_options(parser: Options) -> None:
    _names(parser)
    add_consent(parser)


def _diff(values: Values) -> Exit:
    wanted = _wanted(values)
    show(wanted)
    if not wanted:
        print_lines(["Nothing to change."])
    return Exit.OK


def _connect(values: Values) -> Exit:
    wanted = _wanted(values)
    if not wanted:
        print_lines(["Nothing to change."])
        return Exit.OK
    show(wanted)
    if values.dry_run:
        return Exit.OK
    if not values.yes:
        if not can_ask(values):
            raise InterlockError(errors.NOBODY_TO_ASK())
        if not agreed(f"Write {counted(len(wanted), 'file')}?"):
            note("Nothing was written.")
            return Exit.OK
    write(wanted, values)
    if values.http:
        note("They reach a gateway that runs: keep `interlock serve` running.")
    return Exit.OK


def _wanted(values: Values) -> list[Edit]:
    names = [known("client", each, list(CLIENTS)) for each in dict.fromkeys(values.names)]
    place = settings_place(values)
    ours = ours_of(values, replace(read_settings(place), file=place))
    wish = Wish(http=values.http, keep=values.keep, project=values.project)
    around = surroundings()
    return [edit for each in names for edit in edits(CLIENTS[each], around, ours, wish)]


def settings_place(values: Values) -> Path:
    """The settings file that clients are told to use: the user's, unless one was named. That of the working directory
    may be anybody's."""
    named = values.config or os.environ.get("INTERLOCK_CONFIG")
    return Path(named).absolute() if named else user_config_path("interlock") / FILE_NAME


def read_settings(place: Path) -> Config:
    return load(str(place)) if os.path.lexists(place) else Config(Settings(), place, {})


def ensure_settings(place: Path) -> None:
    """See that there is a settings file, because an entry of ours names it."""
    if not os.path.lexists(place):
        rewrite.replaced(place, b"# Settings of Interlock; `interlock config schema` describes them.\n", None)
        note(f"Wrote {place}.")


def ours_of(values: Values, config: Config) -> Ours:
    """How clients reach the gateway that these options lead to."""
    named = values.data_dir or os.environ.get("INTERLOCK_DATA_DIR")
    command = our_command(config.file, Path(named) if named else None)
    return Ours(command, our_url(config.settings.listen), servers_of(values, config))


def servers_of(values: Values, config: Config) -> dict[str, Server]:
    """The servers of the configuration, and those that were added beside it."""
    from pydantic import ValidationError

    from interlock.app.compiled import store_address
    from interlock.store.inspect import kept_servers
    from interlock.store.postgres_address import shown_database
    from interlock.store.protocol import StoreUnavailable

    folder = folder_of(values)
    store = "sqlite"
    try:
        # Without a file yet, the environment may name a store all the same.
        there = config.file is not None and os.path.lexists(config.file)
        store = store_address(config, os.environ) if there or values.config else store_of(values)
        kept = kept_servers(folder.database, store)
    except StoreUnavailable as failed:
        database = None if store == "sqlite" else shown_database(store)
        raise InterlockError(unusable_store(folder, database, failed)) from None
    found: dict[str, Server] = {}
    for name, each in kept.items():
        try:
            found |= {name: Server.model_validate(each.definition)} if each.definition is not None else {}
        except ValidationError:  # it does not run either
            continue
    return {**found, **config.settings.servers}


def show(wanted: Sequence[Edit]) -> None:
    for each in wanted:
        print_text(each.difference)


def write(wanted: Sequence[Edit], values: Values) -> None:
    """Write what was shown, and say where the copies are."""
    ensure_settings(settings_place(values))
    journal = Journal(folder_of(values).path, SystemClock())
    for each in wanted:
        backup = journal.write(each.client.name, each.path, each.seen, each.after.encode("utf-8"))
        kept = f"the old one is {backup}" if backup else "it is new"
        note(f"{each.client.title}: wrote {each.path}; {kept}.")
        if each.removed:
            note(f"  now reached through Interlock: {', '.join(each.removed)}")
    note("Start the clients anew. `interlock client undo` takes this back.")


# undo -----------------------------------------------------------------------------------------------------------


def _undo_options(parser: Options) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this client")
    parser.add_argument("--force", action="store_true", help="also when the file was changed since")


def _undo(values: Values) -> Exit:
    journal = Journal(folder_of(values).path, SystemClock())
    client = None if values.name is None else known("client", values.name, list(CLIENTS))
    newest: dict[str, Change] = {each.file: each for each in journal.changes() if client in (None, each.client)}
    if not newest:
        raise InterlockError(errors.NOTHING_TO_UNDO(where=f" for {client}" if client else ""))
    refusals: list[InterlockError] = []
    for change in reversed(newest.values()):
        try:
            copy = journal.undo(change, force=values.force)
        except InterlockError as refused:  # the other files can be put back all the same
            refusals.append(refused)
            continue
        did = "removed" if change.before is None else "put back"
        print_lines([f"{CLIENTS[change.client].title}: {did} {change.file}"])
        if copy is not None:
            note(f"  what stood there is in {copy}")
    if refusals:
        for each in refusals[1:]:
            note(each.reason.text)
        raise refusals[0]
    return Exit.OK


VERBS = (
    Verb(
        "list",
        "List the known clients: which are here, how many servers each has, and which talk to Interlock.",
        add_json,
        _list,
        ("interlock client list", "interlock client list --json"),
    ),
    Verb(
        "connect",
        "Point clients at Interlock. Shows the difference, asks, and keeps a copy of each file.",
        _connect_options,
        _connect,
        (
            "interlock client connect claude-code cursor",
            "interlock client connect codex --http --yes",
            "interlock client connect zed --dry-run",
        ),
    ),
    Verb(
        "diff",
        "Show what connecting would change, and change nothing.",
        _names,
        _diff,
        ("interlock client diff cursor", "interlock client diff vscode --project"),
    ),
    Verb(
        "undo",
        "Put the files of clients back as they were before the last connecting.",
        _undo_options,
        _undo,
        ("interlock client undo", "interlock client undo cursor", "interlock client undo cursor --force"),
    ),
)
