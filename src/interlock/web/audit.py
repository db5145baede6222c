"""The proof of the record over REST: the check, the seals, sealing now, and removing what need not be kept.

The check reads the database itself and does not ask the store of this gateway. It is still this gateway that answers:
whoever does not trust it runs `interlock audit verify` on a copy of the folder.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import Body, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.errors import Reason
from interlock.store.audit.place import unreadable
from interlock.store.audit.seal import Seal, line_of
from interlock.store.audit.sealer import MayNotRemove, NotIntact, Sealer
from interlock.store.audit.seals import Keep
from interlock.store.audit.verify import Verification
from interlock.store.protocol import StoreUnavailable
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts, Who
from interlock.web.problems import Refusal

MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class FirstBroken:
    """The first entry that does not fit, and why."""

    seq: int
    problem: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check found. `intact` is the answer; `unsealed` entries are chained and not yet covered by a seal.

    `beside` is what disagrees with the log although the log is whole: the list, or the guards of the tables. `others`
    are the logs of the other gateways in the same database, and `intact` is said of all."""

    intact: bool
    chain: str
    records: int
    first: int | None
    last: int | None
    checkpoints: int
    sealed: int
    unsealed: int
    pruned: int
    pruned_at: str | None
    anchored: int | None
    broken: FirstBroken | None
    beside: list[str]
    notes: list[str]
    others: "list[Verified]"


@dataclass(frozen=True, slots=True)
class ShownSeal:
    """A seal: up to this entry the log was so (checkpoint), or was removed (pruned)."""

    kind: str
    seq: int
    at: str
    hash: str
    key: str
    line: str
    """As it stands in the anchor, to be kept elsewhere."""


@dataclass(frozen=True, slots=True)
class SealList:
    """The newest seals first. `elsewhere` says that the anchor lies outside the data folder, `problem` why the last try
    to seal failed, and `disagreement` what the log and its anchor do not agree about. Without an anchor nothing is
    sealed: it is the record of a run of the lab."""

    items: list[ShownSeal]
    chain: str
    end: int
    anchor: str
    elsewhere: bool
    problem: str | None
    disagreement: str | None


@dataclass(frozen=True, slots=True)
class NewSeal:
    """The newest checkpoint; None in a log without an entry."""

    checkpoint: ShownSeal | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed: everything up to this entry. None when there was nothing to remove."""

    pruned: ShownSeal | None


class WantedPrune(BaseModel):
    """What is to stay. Of several wishes the one that keeps less counts; what no checkpoint covers always stays."""

    model_config = ConfigDict(extra="forbid", strict=True)

    older_than: str | None = Field(default=None, description="Remove what is older: 15m, 12h, 90d.")
    keep_records: int | None = Field(default=None, ge=1, description="Keep so many of the newest entries.")
    keep_bytes: int | None = Field(default=None, ge=1, description="Keep so many bytes of the newest entries' texts.")
    dry_run: bool = Field(default=False, description="Only say what would be removed.")


async def verify_audit(here: Here) -> Response:
    """Check the whole log against its hashes, its seals and its anchor."""
    sealer = _sealer(here)
    async with here.replaying:
        try:
            found = await asyncio.to_thread(sealer.place.check, sealer.anchor, own=True)
        except (StoreUnavailable, OSError, ValueError) as failed:
            raise Refusal(unreadable(sealer.place, failed)) from None
    return json_answer(verified(found))


async def list_checkpoints(here: Here) -> Response:
    """List the newest seals on the log."""
    sealer = here.sealer
    seals = await here.store.seals.listed(MOST_LISTED)
    end = await here.store.log_end()
    shown, chain = [_shown(each) for each in seals], here.store.seals.chain
    if sealer is None:
        return json_answer(SealList(shown, chain, end, "", elsewhere=False, problem=None, disagreement=None))
    anchor, problems = str(sealer.anchor), (sealer.problem, sealer.disagreement)
    return json_answer(SealList(shown, chain, end, anchor, sealer.is_elsewhere, *problems))


async def make_checkpoint(here: Here) -> Response:
    """Seal the log as it is now."""
    try:
        await here.store.write([])
        made = await _sealer(here).checkpoint()
    except (StoreUnavailable, OSError) as failed:
        raise Refusal(await _not_sealed(here, failed)) from None
    return json_answer(NewSeal(None if made is None else _shown(made)))


async def prune_audit(here: Here, who: Who, wanted: Annotated[WantedPrune, Body()]) -> Response:
    """Remove the oldest part of the log, by whole sealed stretches."""
    keep = _keep(wanted, here)
    sealer = _sealer(here)
    try:
        made = await here.store.seals.cut(keep) if wanted.dry_run else await sealer.prune(keep, who.name)
    except (StoreUnavailable, OSError) as failed:
        raise Refusal(await _not_sealed(here, failed)) from None
    except NotIntact as broken:
        raise Refusal(errors.NOT_PRUNED(problem=broken)) from None
    except MayNotRemove:
        raise Refusal(errors.NOT_REMOVED()) from None
    return json_answer(Pruned(None if made is None else _shown(made)))


async def _not_sealed(here: Here, failed: Exception) -> Reason:
    """Whether it is the database that keeps the log from being sealed, or what lies in the folder."""
    try:
        await here.store.log_end()
    except StoreUnavailable as silent:
        return errors.STORE_SILENT(problem=silent)
    return errors.NOT_SEALED(problem=failed)


def verified(found: Verification) -> Verified:
    """What a check found, as it is shown."""
    return Verified(
        found.intact,
        found.chain,
        found.records,
        found.first,
        found.last,
        found.checkpoints,
        found.sealed,
        found.unsealed,
        found.pruned,
        None if found.pruned_at is None else times.iso(found.pruned_at),
        found.anchored,
        None if found.broken is None else FirstBroken(found.broken.seq, found.broken.problem),
        found.beside,
        found.notes,
        [verified(each) for each in found.others],
    )


def _sealer(here: Parts) -> Sealer:
    if here.sealer is None:
        raise Refusal(errors.RUN_NOT_SEALED())
    return here.sealer


def _keep(wanted: WantedPrune, here: Parts) -> Keep:
    if wanted.older_than is None and wanted.keep_records is None and wanted.keep_bytes is None:
        raise Refusal(errors.BAD_FIELDS(problems="say what is to stay: older_than, keep_records or keep_bytes"))
    try:
        since = None if wanted.older_than is None else here.clock.now() - times.duration_of(wanted.older_than)
    except ValueError as wrong:
        raise Refusal(errors.BAD_FIELDS(problems=f"older_than: {wrong}")) from None
    return Keep(since, wanted.keep_records, wanted.keep_bytes)


def _shown(seal: Seal) -> ShownSeal:
    return ShownSeal(seal.kind.value, seal.seq, times.iso(seal.at), seal.hash.hex(), seal.key, line_of(seal))
