"""Proofs about the record: it shows what was done to it, keeps no secrets, and without it nothing is sent."""

import asyncio
import contextlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock.app.compiled import anchor_of, store_address
from interlock.cli.checkups.prove.proof import Broken, NotApplicable, Proof
from interlock.cli.checkups.prove.sandbox import Sandbox, Target
from interlock.cli.render import counted
from interlock.core.model import Json
from interlock.core.safety import SafetyClass
from interlock.errors import ConfigError
from interlock.store.audit.check import check_folder, lost_log
from interlock.store.audit.keys import PUBLIC
from interlock.store.audit.place import LogPlace, place_of
from interlock.store.audit.sqlite_log import NoLog
from interlock.store.audit.verify import Span, Verification
from interlock.store.folder import DATABASE
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, connect

NEWEST = 300_000
"""How many of the newest entries of the user's own log are checked: a few seconds' worth."""
RECOVERY_SECONDS = 5.0
_PAUSE = 0.1
_UNRECORDED = "AUDIT_UNAVAILABLE"
_CUT = "DELETE FROM entry WHERE seq > :middle"
_TAMPERINGS: Mapping[str, tuple[str, ...]] = {
    "changed": ("UPDATE entry SET text = text || ' ' WHERE seq = :middle",),
    "removed": ("DELETE FROM entry WHERE seq = :middle",),
    "replaced by another": (
        "UPDATE entry SET text = (SELECT text FROM entry WHERE seq = :middle + 1) WHERE seq = :middle",
    ),
    "cut off at the end": (_CUT,),
    "cut off with its seals": (_CUT, "DELETE FROM seal WHERE seq > :middle"),
    "shown otherwise in the list": (
        "UPDATE activity SET caller = 'somebody' WHERE id = (SELECT min(id) FROM activity)",
    ),
}
_GUARDS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"


async def tampering(box: Sandbox) -> str:
    await box.agent()  # so that there is something on record, whatever was tried before
    await box.api.post("audit", "checkpoint", body={})
    return await asyncio.to_thread(_tamperings, box)


def _tamperings(box: Sandbox) -> str:
    anchor = anchor_of(box.config, box.data.path)
    clean = _copied(box.data.path, "clean")
    if not check_folder(clean, anchor).intact:
        raise Broken("A log that nobody touched does not verify.")
    for how, statements in _TAMPERINGS.items():
        folder = _copied(box.data.path, how.replace(" ", "-"))
        _tamper(folder / DATABASE, statements)
        if check_folder(folder, anchor).intact:
            raise Broken(f"An entry that was {how} was not noticed.")
    return f"Found on copies of the sandbox's log: an entry {', '.join(_TAMPERINGS)}. The untouched copy verified."


def _copied(folder: Path, name: str) -> Path:
    """A copy of the log and the public keys, as one moment left them."""
    copy = folder.parent / name
    copy.mkdir(0o700)
    shutil.copy(folder / PUBLIC, copy / PUBLIC)
    with (
        contextlib.closing(connect(folder / DATABASE, PATIENCE, READER_PRAGMAS)) as source,
        contextlib.closing(sqlite3.connect(copy / DATABASE)) as target,
    ):
        source.backup(target)
    return copy


def _tamper(database: Path, statements: Sequence[str]) -> None:
    """Change the log as somebody would who has the file, and put its guards back in place."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        guards = connection.execute(_GUARDS).fetchall()
        for name, _ in guards:
            connection.execute(f'DROP TRIGGER "{name}"')
        ((middle,),) = connection.execute("SELECT max(seq) / 2 FROM entry").fetchall()
        for statement in statements:
            connection.execute(statement, {"middle": middle} if ":middle" in statement else {})
        for _, sql in guards:
            connection.execute(sql)


async def own_log(box: Sandbox) -> str:
    folder = box.user
    anchor = anchor_of(box.user_config, folder.path)
    try:
        place = place_of(folder, store_address(box.user_config, os.environ))
        begun = folder.database.exists() if place.address is None else place.chain is not None
        if not begun and lost_log(folder.path, anchor) is None:
            raise NotApplicable("there is no log in your data folder yet")
        found = await asyncio.to_thread(_checked, place, anchor)
    except (StoreUnavailable, ConfigError, OSError, ValueError) as unreadable:
        raise Broken(f"Your own log could not be read: {unreadable}") from None
    if found.broken is not None:
        raise Broken(f"Record {found.broken.seq} of your own log: {found.broken.problem}.")
    if found.beside:
        raise Broken(f"What stands beside your own log does not agree with it: {found.beside[0]}")
    verified = f"{counted(found.records, 'record')} of your own log, up to number {found.last}, verified"
    if unshown := _unshown(found):
        raise NotApplicable(f"{unshown} ({verified})")
    return f"{verified}; seals and anchor cover them up to number {max(found.sealed, found.anchored or 0)}."


def _unshown(found: Verification) -> str:
    """What keeps a log in which nothing is wrong from being shown to be as it was sealed; empty when nothing does."""
    if not found.sealed and not found.anchored:
        return "your log is not sealed: that all of it was written anew would not show"
    if not found.anchored:
        return "no seal in an anchor covers your log: that its end was cut off, with its seals, would not show"
    if (found.first or 1) > found.pruned + 1:
        return f"your log is too long to be checked here from record {found.pruned + 1}: see `interlock audit verify`"
    return found.notes[0].removesuffix(".") if found.notes else ""


def _checked(place: LogPlace, anchor: Path) -> Verification:
    try:
        with place.open(place.chain) as log:
            first = max(1, log.end - NEWEST + 1)
    except (NoLog, ValueError):
        first = 1  # the check says whether there was one
    return place.check(anchor, Span(first), own=True, only=place.chain)


async def no_secrets(box: Sandbox) -> str:
    """With tools of ours, which take any arguments; a call that waits leaves more behind than one that passes."""
    bodies = [secrets.token_hex(18) for _ in range(3)]
    given: dict[str, Json] = {
        "api_key": bodies[0],
        "note": f"ghp_{bodies[1]}",
        "deep": {"list": [{"password": bodies[2]}]},
    }
    by_verdict = {each.verdict: each for each in box.targets if each.server in box.own}
    for target in by_verdict.values():
        agent = await box.agent()
        await agent.call(target, {**target.arguments, **given})
        await box.gateway.pipeline.settled()
        kept = await box.api.get("activity", caller=agent.name, limit=1)
        if not kept["items"]:
            raise Broken("A call with secrets in its arguments is not on record at all.")
    for file in sorted(each for each in box.data.path.iterdir() if each.is_file()):
        content = await asyncio.to_thread(file.read_bytes)
        if any(each.encode() in content for each in bodies):
            raise Broken(f"A secret from the arguments of a call stands in {file.name}.")
    shown = ", ".join(each.shown for each in by_verdict.values())
    return f"{len(bodies)} made-up secrets in the arguments of {shown}: in no file of the data folder."


async def unavailable(box: Sandbox) -> str:
    # The read first: once a write has failed, reads wait for their record whatever is configured.
    targets = [each for each in (_waiting_read(box), box.pick("allow", above_read=True)) if each is not None]
    if not targets:
        raise NotApplicable("nothing that waits for its record is allowed without an approval")
    agent, before = await box.agent(), box.sends()
    with contextlib.closing(connect(box.data.database, PATIENCE)) as other:
        other.execute("BEGIN IMMEDIATE")  # from now on nobody else can write
        try:
            codes = {each.shown: (await agent.call(each)).code for each in targets}
        finally:
            other.execute("ROLLBACK")
    shown = ", ".join(codes)
    if None in codes.values() or box.sends() != before:
        raise Broken(f"Of {shown} one was sent although its record could not be written.")
    if others := set(codes.values()) - {_UNRECORDED}:
        raise NotApplicable(f"a call of {shown} is refused with {', '.join(map(str, others))} anyway")
    async with asyncio.timeout(RECOVERY_SECONDS):
        while (again := await agent.call(targets[0])).code == _UNRECORDED:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(_PAUSE)
    return f"{shown}: {_UNRECORDED} and nothing sent while the database was locked; {again.code or 'sent'} afterwards."


def _waiting_read(box: Sandbox) -> Target | None:
    """A call that reads, where those wait for their record too."""
    if box.config.settings.record.wait != "all":
        return None
    reads = (each for each in box.targets if each.safety_class is SafetyClass.READ_ONLY)
    return next((each for each in reads if each.verdict == "allow"), None)


PROOFS = (
    Proof("tampering", "What is done to the log by somebody without its key and its anchor is found.", tampering),
    Proof("own-log", "Your own log is as it was sealed.", own_log),
    Proof("no-secrets", "Secrets in arguments that show by their name or shape are in no file.", no_secrets),
    Proof(
        "no-record", "What cannot be recorded is not sent; reads may be, unless `record.wait` is `all`.", unavailable
    ),
)
