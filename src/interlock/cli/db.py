"""`interlock db`: the care of the database, wherever it is: brought to a new version, backed up, looked at, copied.

Everything here works on the store itself and asks no gateway. `check` and `backup` may run beside one; `migrate` and
`copy` want it ended, where what it writes meanwhile would be lost.

An address may hold a password: of it only the database and its host are printed, whatever goes wrong.
"""

import contextlib
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path

from interlock import errors
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import folder_of
from interlock.cli.inputs import store_of
from interlock.cli.lab.progress import bar
from interlock.cli.render import counted, note, print_json, print_lines
from interlock.clock import SystemClock
from interlock.errors import Exit, InterlockError
from interlock.store.copying.copy import (
    Copied,
    Foreign,
    InUse,
    Occupied,
    Place,
    SeveralLogs,
    copy_store,
    place_at,
    refuse_address,
)
from interlock.store.copying.tables import Stopped, TargetFailed
from interlock.store.folder import DataFolder, FolderBusy
from interlock.store.protocol import StoreUnavailable

_PLACE = "`sqlite` for the file in the data folder, the path of an interlock.db, or postgresql://…"

_STOPPED = "Stopped. Nothing was copied: a copy is there as a whole or not at all."
_AT_END = "Stopped at the very end, so the copy may be there, as a whole: whoever copies again is told if it is."


def _configured(values: Values) -> Place:
    """The store of the configuration."""
    folder = folder_of(values)
    return _place("sqlite" if folder.is_of_a_run else store_of(values), folder)


def _named(values: Values) -> Place:
    return _configured(values) if values.store is None else _place(values.store, folder_of(values))


def _place(text: str, folder: DataFolder) -> Place:
    try:
        return place_at(text, folder)
    except Foreign as address:
        raise InterlockError(errors.STORE_FOREIGN(what=address)) from None


def _add_store(parser: Options) -> None:
    parser.add_argument("--store", metavar="PLACE", help=f"another than the configured one: {_PLACE}")


@contextlib.contextmanager
def _told_plainly(place: Place, target: Place | None = None) -> Generator[None]:
    """What goes wrong, as sentences with a way out, of the place or of the one that it is copied to."""
    try:
        yield
    except StoreUnavailable as failed:
        guilty = target if target is not None and isinstance(failed, TargetFailed) else place
        unready = errors.DATABASE_UNREADY if guilty.file is None else errors.STORE_UNREADY
        raise InterlockError(unready(place=guilty.begins, problem=failed)) from None
    except InUse:
        raise InterlockError(errors.STORE_IN_USE(place=place.shown)) from None
    except Occupied as there:
        raise InterlockError(errors.STORE_OCCUPIED(problem=there)) from None
    except SeveralLogs:
        raise InterlockError(errors.SEVERAL_LOGS()) from None
    except Stopped as stopped:
        note(_AT_END if stopped.at_end else _STOPPED)
        raise


# migrate --------------------------------------------------------------------------------------------------------


def _migrate_options(parser: Options) -> None:
    _add_store(parser)
    add_json(parser)


def _migrate(values: Values) -> Exit:
    place = _named(values)
    with _told_plainly(place):
        before, after = _migrated_file(place.file) if place.file is not None else _migrated_database(place.address)
    if values.json:
        print_json({"from": before, "to": after, "store": place.shown})
    elif before == after:
        note(f"{place.begins} has version {after}, which is the newest: nothing was done.")
    else:
        note(f"{place.begins} was brought from version {before} to {after}.")
    return Exit.OK


def _migrated_file(file: Path) -> tuple[int, int]:
    from interlock.store.inspect import versions_of
    from interlock.store.sqlite import PATIENCE, prepare

    if not file.exists():
        raise StoreUnavailable("there is no such file. `interlock serve` makes one.")
    found, known = versions_of(file)
    if found < known:
        try:
            with DataFolder(file.parent).hold():
                prepare(file, SystemClock(), PATIENCE)
        except FolderBusy:
            raise InterlockError(errors.FOLDER_BUSY(folder=file.parent)) from None
    return found, known


def _migrated_database(address: str) -> tuple[int, int]:
    import asyncio

    from asyncpg import InsufficientPrivilegeError

    from interlock.store.migrate import migrations
    from interlock.store.postgres_link import FAILURES, Address, say_goodbye, words
    from interlock.store.postgres_migrate import migrate, refused
    from interlock.store.postgres_snapshot import PATIENT, snapshot_of, versions_in

    with snapshot_of(address) as snapshot:
        found, known = versions_in(snapshot)

    async def bring() -> None:
        connection = await Address(address, PATIENT).connect()
        try:
            await migrate(connection, migrations("migrations/postgres"))
        except InsufficientPrivilegeError as problem:
            raise await refused(connection, problem) from None
        finally:
            await say_goodbye(connection, PATIENT.connect)

    try:
        asyncio.run(bring())
    except FAILURES as problem:
        raise StoreUnavailable(words(problem)) from None
    return found, known


# backup ---------------------------------------------------------------------------------------------------------


def _backup_options(parser: Options) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write, which must not be there yet")
    _add_store(parser)


def _backup(values: Values) -> Exit:
    from interlock.store.copying.sqlite_copy import back_up

    try:
        refuse_address(values.file)
    except Foreign as address:
        raise InterlockError(errors.BACKUP_IS_FILE(what=address)) from None
    place, file = _named(values), Path(values.file)
    with _told_plainly(place, Place(file)), bar() as told:
        if place.file is None:
            copied = copy_store(place, Place(file), told, running=True)
            _tell_copied(copied, place, Place(file))
            return Exit.OK
        try:
            back_up(place.file, file, lambda done, total: told("pages", done, total))
        except FileExistsError:
            raise Occupied(f"{file} is there already") from None
    note(f"{file} is a copy of {place.shown} at this moment, and nobody else can read it.")
    return Exit.OK


def _tell_copied(copied: Copied, source: Place, target: Place) -> None:
    several = target.file is not None and len(copied.chains) > 1
    checked = "" if several else "; `interlock audit verify` there checks them"
    note(f"{counted(copied.rows, 'row')} copied from {source.shown} to {target.shown}{checked}.")
    if several:
        told = f"It holds the logs of {len(copied.chains)} gateways: `interlock db copy` brings it back to PostgreSQL,"
        note(f"{told} where `interlock audit verify` checks them.")


# check ----------------------------------------------------------------------------------------------------------


def _check_options(parser: Options) -> None:
    _add_store(parser)
    add_json(parser)


def _check(values: Values) -> Exit:
    from interlock.store.condition import look_at_database, look_at_file

    place = _named(values)
    with _told_plainly(place):
        looks = look_at_file(place.file) if place.file is not None else look_at_database(place.address)
    well = all(each.well for each in looks)
    if values.json:
        print_json({"well": well, "store": place.shown, "looks": [asdict(each) for each in looks]})
    else:
        if place.file is None:  # a file is named in what is told of it
            note(f"This is {place.shown}.")
        width = max(len(each.name) for each in looks)
        print_lines(f"{'ok ' if each.well else 'BAD'}  {each.name:<{width}}  {each.told}" for each in looks)
    return Exit.OK if well else Exit.FINDINGS


# copy -----------------------------------------------------------------------------------------------------------


def _copy_options(parser: Options) -> None:
    parser.add_argument("source", metavar="FROM", help=_PLACE)
    parser.add_argument("target", metavar="TO", help="the same; it must be empty")


def _copy(values: Values) -> Exit:
    folder = folder_of(values)
    source, target = _place(values.source, folder), _place(values.target, folder)
    with _told_plainly(source, target), bar() as told:
        copied = copy_store(source, target, told)
    _tell_copied(copied, source, target)
    if source.file == folder.database and target.file is None and len(copied.chains) == 1:
        # So that the gateway of this folder goes on with its log there, which its key and its anchor tell of.
        folder.keep_chain(copied.chains[0])
        note("The gateway of this folder goes on there as soon as `store:` of the configuration names that database.")
    return Exit.OK


VERBS = (
    Verb(
        "migrate",
        "Bring the database to the version of this Interlock; does nothing when it is there.",
        _migrate_options,
        _migrate,
        ("interlock db migrate", "interlock db migrate --store postgresql://owner@db.example/interlock"),
    ),
    Verb(
        "backup",
        "Copy the database as it is now into a new, private file, while a gateway may run.",
        _backup_options,
        _backup,
        ("interlock db backup interlock-backup.db", "interlock db backup /mnt/backup/monday.db"),
    ),
    Verb(
        "check",
        "See whether the database answers, is whole, guarded, writable and has room.",
        _check_options,
        _check,
        ("interlock db check", "interlock db check --json"),
    ),
    Verb(
        "copy",
        "Copy everything into an empty database: from SQLite to PostgreSQL, back, or from a backup.",
        _copy_options,
        _copy,
        (
            "interlock db copy sqlite postgresql://owner@db.example/interlock",
            "interlock db copy postgresql://owner@db.example/interlock sqlite",
            "interlock db copy monday.db postgresql://owner@db.example/restored",
        ),
    ),
)
