"""`interlock audit`: the proof that the record is what was written, and the care of it.

`verify` and `export` read the database themselves and ask no gateway, because it is the gateway's word that is checked;
one may run meanwhile. `checkpoint` and `prune` go through it, as everything does that changes something.

Tamper-evident is what the log is, not immutable: whoever has the database, the key and the anchor can write another
history. An anchor that is kept elsewhere is what takes one of the three away.
"""

import argparse
import contextlib
from collections.abc import Generator, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interlock import __version__, errors
from interlock.cli.ask import add_consent, agreed, can_ask
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.export import output
from interlock.cli.gateway import Api, folder_of, through_gateway
from interlock.cli.inputs import bad, load_config, store_of
from interlock.cli.lab.progress import bar
from interlock.cli.render import counted, note, print_json, print_lines, short_time
from interlock.core.model import Json
from interlock.core.times import iso
from interlock.errors import ConfigError, Exit, InterlockError
from interlock.store.audit.place import LogPlace, place_of, unreadable
from interlock.store.audit.verify import Beyond, Removed, Span, Unreadable, Verification
from interlock.store.folder import DataFolder
from interlock.store.protocol import StoreUnavailable

_DIGITS = 18
"""No log has a record with a longer number."""


def _add_span(parser: Options, last: str) -> None:
    parser.add_argument("--log", metavar="ID", help="one of the logs in a shared database (default: this gateway's)")
    parser.add_argument("--from", dest="first", type=_number, metavar="N", help="the first record")
    parser.add_argument("--to", dest="last", type=_number, metavar="N", help=last)


def _span(values: Values) -> Span:
    first = values.first or 1
    if values.last is not None and values.last < first:
        raise InterlockError(errors.RANGE_BACKWARDS(first=first, last=values.last))
    return Span(first, values.last)


@contextlib.contextmanager
def _in_the_log(done: str) -> Generator[None]:
    """Tell of a stretch that is not there what keeps it from being checked or exported."""
    try:
        yield
    except Beyond as beyond:
        raise InterlockError(errors.RANGE_BEYOND(first=beyond.first, end=beyond.end)) from None
    except Removed as gone:
        raise InterlockError(errors.RANGE_REMOVED(done=done, upto=gone.upto, next=gone.upto + 1)) from None


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > _DIGITS or int(text) == 0:
        raise argparse.ArgumentTypeError("it must be a whole number of at least 1")
    return int(text)


# verify ---------------------------------------------------------------------------------------------------------


def _verify_options(parser: Options) -> None:
    parser.add_argument("--anchor", metavar="FILE", help="seals kept elsewhere (default: those of the configuration)")
    parser.add_argument("--key", metavar="FILE", help="the public keys (default: seal.pub in the data folder)")
    parser.add_argument("--export", metavar="FILE", help="check what `audit export` wrote, instead of the database")
    _add_span(parser, "the last record; the check goes on to the next seal")
    add_json(parser)


def _verify(values: Values) -> Exit:
    found = _checked(values)
    if not found.intact and values.export is None:
        _refuse_several(values)
    if values.json:
        print_json(_as_json(found))
    else:
        print_lines(_told(found, part=values.first is not None or values.last is not None))
    return Exit.OK if found.intact else Exit.CHAIN_BROKEN


def _checked(values: Values) -> Verification:
    folder, span = folder_of(values), _span(values)
    if values.export is not None and (values.first or values.last):
        raise InterlockError(errors.RANGE_OF_EXPORT())
    key, anchor = (None if each is None else Path(each) for each in (values.key, values.anchor))
    place: LogPlace | None = None
    try:
        if values.export is not None:
            return _checked_export(values, folder, key, anchor)
        place, own = _place_or_file(values, folder), anchor is None
        usual = _usual_anchor(values, folder) if anchor is None else anchor
        only = _only(values, place, span)
        with _in_the_log("checked"), bar() as told:
            return place.check(usual, span, key, lambda done, total: told("records", done, total), own=own, only=only)
    except (StoreUnavailable, Unreadable, OSError, ValueError) as failed:
        raise InterlockError(unreadable(place, failed)) from None


def _checked_export(values: Values, folder: DataFolder, key: Path | None, anchor: Path | None) -> Verification:
    """Without a key that was named, those of the folder count, which need not be those of the log."""
    from interlock.store.audit.check import Unproven, check_export
    from interlock.store.audit.keys import folder_keys, known_keys

    file = Path(values.export)
    try:
        if key is not None:
            return check_export(file, known_keys(key), anchor)
        return check_export(file, folder_keys(folder.path), anchor, lambda chain: _is_own(values, folder, chain))
    except Unproven:
        raise InterlockError(errors.EXPORT_UNPROVEN()) from None


def _is_own(values: Values, folder: DataFolder, chain: str) -> bool:
    """Whether it is the log of this folder's gateway."""
    try:
        place = _place(values, folder)
        if place.address is not None:
            return chain == place.chain
        with place.open() as log:
            return chain == log.chain
    except (ConfigError, StoreUnavailable):  # it is not known which
        return False


def _refuse_several(values: Values) -> None:
    """A file with the logs of several gateways is a backup: that there are several is no sign that one was changed."""
    from interlock.store.inspect import logs_in

    folder = folder_of(values)
    if _place_or_file(values, folder).address is not None:
        return
    with contextlib.suppress(StoreUnavailable):  # then what was found stands
        if count := logs_in(folder.database):
            raise InterlockError(errors.SEVERAL_IN_FILE(count=count))


def _place(values: Values, folder: DataFolder) -> LogPlace:
    """Where the log is. What lies in the folder of a gateway whose log is elsewhere is an old one, and not taken for
    it."""
    return LogPlace(folder.path) if folder.is_of_a_run else place_of(folder, store_of(values))


def _place_or_file(values: Values, folder: DataFolder) -> LogPlace:
    """The same for a copy of a folder that was handed over with its anchor: it need not have a configuration."""
    try:
        return _place(values, folder)
    except ConfigError:
        if values.anchor is None:
            raise
        return LogPlace(folder.path)


def _only(values: Values, place: LogPlace, span: Span) -> str | None:
    """The one log that is asked for. Numbers of records are those of one log."""
    if place.address is None:
        if values.log is not None:
            raise bad("--log names one of several logs, and a file has one", "Leave it out.")
        return None
    only = values.log if span.whole else values.log or place.chain
    if only is None and not span.whole:
        raise bad(
            "--from and --to count the records of one log", "Name it with --log; `interlock audit verify` lists them."
        )
    return only


def _usual_anchor(values: Values, folder: DataFolder) -> Path | None:
    """The anchor of the configuration. It tells of the gateway's log, and nothing of a run's."""
    if folder.is_of_a_run:
        return None
    from interlock.app.compiled import anchor_of

    return anchor_of(load_config(values), folder.path)


def _told(found: Verification, *, part: bool) -> list[str]:
    """What is told of one log; of several, of each under its name, and first of all together."""
    if not found.others:
        return _told_of(found, part=part)
    logs = [found, *found.others]
    wrong = [each for each in logs if not each.holds]
    told = f"BROKEN: {len(wrong)} of {len(logs)} logs." if wrong else f"All {len(logs)} logs are intact."
    return [told, *(line for each in logs for line in ("", f"Log {each.chain}", *_indented(each)))]


def _indented(found: Verification) -> list[str]:
    return [f"  {each}" for each in _told_of(found, part=False)]


def _told_of(found: Verification, *, part: bool) -> list[str]:
    lines = [_verdict(found, part=part), *(f"  {each}" for each in found.beside[1:])]
    if found.beside:
        lines.append("The records themselves hold together; what is kept beside them does not agree with them.")
    if found.records:
        lines.append(f"{counted(found.records, 'record')} checked: {found.first} to {found.last}.")
    else:
        lines.append("There was no record to check.")
    if found.pruned:
        at = "" if found.pruned_at is None else f" on {short_time(iso(found.pruned_at))}"
        lines.append(f"Records up to {found.pruned} were removed{at}, which a seal says.")
    return [*lines, *_sealed(found), *found.notes]


def _verdict(found: Verification, *, part: bool) -> str:
    if found.broken is not None:
        return f"BROKEN at record {found.broken.seq}: {found.broken.problem}."
    if found.beside:
        return f"BROKEN: {found.beside[0]}"
    if not found.records:
        return "The log is empty."
    return "These records are intact." if part else "The log is intact."


def _sealed(found: Verification) -> Iterable[str]:
    """How far seals cover the log, and what would not show."""
    if not found.sealed and not found.anchored:
        yield "It is not sealed: its records are chained, but whoever can write to it may have written all of it anew."
        return
    if found.checkpoints:
        yield f"{counted(found.checkpoints, 'checkpoint')}, the last on record {found.sealed}."
    none = found.records and found.unsealed == found.records
    if not found.anchored:
        yield "Without an anchor: that the end was cut off would not show."
    else:
        further = f", and the seals in the log go on to {found.sealed}" if found.sealed > found.anchored else ""
        yield f"The anchor covers records up to {found.anchored}{further}{', and none of these' if none else ''}."
    if none:
        yield "No seal is on these records or behind them: they hang together, as anybody can make them do."
    elif found.unsealed:
        yield f"{counted(found.unsealed, 'record')} at the end: chained, and not sealed yet."


def _as_json(found: Verification) -> dict[str, Any]:
    pruned_at = None if found.pruned_at is None else iso(found.pruned_at)
    others = [_as_json(each) for each in found.others]
    own = {"intact": found.intact, "unsealed": found.unsealed, **asdict(found), "pruned_at": pruned_at}
    return {**own, "others": others}


# export ---------------------------------------------------------------------------------------------------------


def _export_options(parser: Options) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: stdout)")
    _add_span(parser, "the last record; the export goes on to the next seal")


def _export(values: Values) -> Exit:
    from interlock.store.audit.export import write_export

    folder, span = folder_of(values), _span(values)
    place, made_by = _place(values, folder), f"interlock {__version__}"
    chain = _only(values, place, span) or place.chain
    try:
        with _in_the_log("exported"), place.open(chain) as log, output(values.output, folder) as put:
            written = write_export(log, span, put, made_by)
    except (StoreUnavailable, Unreadable, ValueError) as failed:
        raise InterlockError(unreadable(place, failed)) from None
    told = f"Records {written.first} to {written.last} exported"
    if place.address is None or chain == place.chain:
        note(f"{told}; `interlock audit verify --export FILE` checks them.")
    else:
        check = "`interlock audit verify --export FILE --key SEAL.PUB` checks them"
        note(f"{told}; {check}, with the seal.pub of the gateway whose log it is.")
    return Exit.OK


# checkpoint -----------------------------------------------------------------------------------------------------


def _checkpoint(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.post("audit", "checkpoint", body={})
        made = answer["checkpoint"]
        if values.json:
            print_json(answer)
        elif made is None:
            note("There is nothing in the log yet.")
        else:
            # The line itself goes to stdout, so that it can be sent to wherever it is safe.
            print_lines([made["line"]])
            note(f"The log is sealed up to record {made['seq']}. Keep this line where nobody can change it.")
        return Exit.OK

    _see_a_log(values)
    return through_gateway(values, work)


def _see_a_log(values: Values) -> None:
    """A folder that is mistyped is not made, sealed and praised."""
    folder = folder_of(values)
    # A configuration that cannot be read is told of first, as by every verb that reads it.
    if _place(values, folder).address is None and not folder.database.exists():
        raise InterlockError(errors.NO_LOG(folder=folder.path))


# prune ----------------------------------------------------------------------------------------------------------


def _prune_options(parser: Options) -> None:
    parser.add_argument("--older-than", metavar="TIME", help="remove what is older: 90d")
    parser.add_argument("--keep-records", type=_number, metavar="N", help="keep so many of the newest records")
    parser.add_argument("--keep-size", metavar="SIZE", help="keep so much text of the newest records: 500MiB")
    add_consent(parser)
    add_json(parser)


def _prune(values: Values) -> Exit:
    wanted = _wanted(values)
    _see_a_log(values)

    async def work(api: Api) -> Exit:
        foreseen = (await api.post("audit", "prune", body={**wanted, "dry_run": True}))["pruned"]
        if foreseen is None or values.dry_run:
            _tell_pruned(values, foreseen, "would be")
            return Exit.OK
        if not values.yes:
            if not can_ask(values):
                raise bad("this removes records for good, and nobody is here to be asked", "Say --yes.")
            if not agreed(f"Remove records up to {foreseen['seq']}, for good?"):
                note("Nothing was removed.")
                return Exit.OK
        _tell_pruned(values, (await api.post("audit", "prune", body=wanted))["pruned"], "were")
        return Exit.OK

    return through_gateway(values, work)


def _wanted(values: Values) -> dict[str, Json]:
    """What is to stay, as REST takes it."""
    size = None if values.keep_size is None else _size(values.keep_size)
    if values.older_than is not None:
        _see_a_duration(values.older_than)
    given = {"older_than": values.older_than, "keep_records": values.keep_records, "keep_bytes": size}
    wanted: dict[str, Json] = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        raise bad("nothing says what is to stay", "Give --older-than, --keep-records or --keep-size.")
    return wanted


def _see_a_duration(text: str) -> None:
    from interlock.web.times import duration_of

    try:
        duration_of(text)
    except ValueError as wrong:
        raise bad(f"--older-than {wrong}", "Write how old as 90d.") from None


def _size(text: str) -> int:
    from interlock.config.tree import parse_size

    try:
        return parse_size(text)
    except ValueError as wrong:
        raise bad(f"--keep-size {wrong}", "Write a size as 500MiB.") from None


def _tell_pruned(values: Values, pruned: dict[str, Any] | None, were: str) -> None:
    if values.json:
        print_json({"pruned": pruned, "removed": were == "were" and pruned is not None})
    elif pruned is None:
        note("There is nothing to remove: only whole stretches that a checkpoint covers go, and never the newest.")
    else:
        note(f"Records up to {pruned['seq']} {were} removed. The database stays as large, and new ones take the room.")


VERBS = (
    Verb(
        "verify",
        "Check that nothing in the log was changed, dropped, slipped in or cut off.",
        _verify_options,
        _verify,
        (
            "interlock audit verify",
            "interlock audit verify --anchor /mnt/worm/anchor.jsonl --json",
            "interlock audit verify --export log.jsonl --key seal.pub",
        ),
    ),
    Verb(
        "export",
        "Write the log, or a stretch of it, with all that proves it.",
        _export_options,
        _export,
        ("interlock audit export -o log.jsonl", "interlock audit export --from 1000 --to 2000 -o part.jsonl"),
    ),
    Verb(
        "checkpoint",
        "Seal the log now, and print the seal.",
        add_json,
        _checkpoint,
        ("interlock audit checkpoint", "interlock audit checkpoint >> /mnt/worm/anchor.jsonl"),
    ),
    Verb(
        "prune",
        "Remove the oldest part of the log, by whole sealed stretches; the log says so afterwards.",
        _prune_options,
        _prune,
        ("interlock audit prune --older-than 90d --dry-run", "interlock audit prune --keep-records 1000000 --yes"),
    ),
)
