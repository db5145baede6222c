"""What `interlock doctor` finds in a PostgreSQL database that gateways share: whether it answers and is guarded, the
newest part of this gateway's log, and its version.

An interlock.db in the folder of such a gateway is an old one, and nobody is told that it were the record.

This module refuses to change anything, and to show more of the address than which database it is.
"""

from dataclasses import dataclass, field
from pathlib import Path

from interlock.cli.checkups.checkup import FAIL, OK, WARN, Check
from interlock.cli.checkups.folder import MOST_ENTRIES
from interlock.cli.render import counted
from interlock.store.audit.anchor import ANCHOR
from interlock.store.folder import DataFolder
from interlock.store.postgres_address import begin_sentence, shown_database
from interlock.store.protocol import StoreUnavailable

_REACH = (
    "See that PostgreSQL runs, that `store:` of the configuration names it, and that user and password are right;"
    " `interlock db check` tries again."
)
_CHANGED = "Somebody may have changed the record: keep a backup, and let `interlock audit verify` check all of it."
_GONE = "See that `store:` of the configuration names the database of this gateway, or restore its backup."


@dataclass(frozen=True, slots=True)
class SharedStore:
    """The database at an address, seen from the folder of one gateway."""

    folder: DataFolder
    address: str = field(repr=False)
    anchor: Path | None = None

    def database_check(self) -> tuple[Check, int | None]:
        """The check, and when the last entry of this gateway was written."""
        from interlock.store.condition import look_at_database
        from interlock.store.inspect import look_in_database

        try:
            looks = look_at_database(self.address)
            looked = look_in_database(self.address, self.folder.known_chain(), MOST_ENTRIES)
        except StoreUnavailable as failed:
            return Check("database", FAIL, f"{self._begins} cannot be used: {failed}", _REACH), None
        if looked.broken is not None:
            told = f"The log of this gateway is broken at entry {looked.broken.seq}: {looked.broken.problem}."
            return Check("database", FAIL, told, _CHANGED), None
        # Its version is told by the check of the schema.
        if wrong := [each.told for each in looks if not each.well and each.name != "version"]:
            told = f"Of {shown_database(self.address)}: {'; '.join(wrong)}."
            return Check("database", FAIL, told, "`interlock db check` says more."), looked.last_at
        if not looked.entries:
            return self._empty(), None
        count = counted(looked.entries, "record")
        told = f"In PostgreSQL; the newest part of this gateway's log holds together ({count})."
        return Check("database", OK, told), looked.last_at

    @property
    def _begins(self) -> str:
        return begin_sentence(shown_database(self.address))

    def _empty(self) -> Check:
        """Whether this gateway never had a log, or its log is not where the configuration says."""
        from interlock.store.audit.check import lost_log

        try:
            lost = lost_log(self.folder.path, self.anchor or self.folder.path / ANCHOR)
        except (OSError, ValueError) as failed:
            told = f"There is no log of this gateway, and what would tell of one cannot be read: {failed}"
            return Check("database", FAIL, told, _GONE)
        if lost is None or lost.broken is None:
            return Check("database", OK, "PostgreSQL answers; the first start of this gateway begins its log there.")
        told = f"The log of this gateway is not in the database: entry {lost.broken.seq}: {lost.broken.problem}."
        return Check("database", FAIL, told, _GONE)

    def schema_check(self) -> Check:
        from interlock.store.postgres_snapshot import snapshot_of, versions_in

        try:
            with snapshot_of(self.address) as snapshot:
                found, known = versions_in(snapshot)
        except StoreUnavailable:
            return Check("schema", FAIL, "The version of the database cannot be read.", "See database.")
        if found == known:
            return Check("schema", OK, f"The database has version {found}, as this program.")
        if found > known:
            told = f"The database has version {found}, and this program knows versions up to {known}."
            return Check("schema", FAIL, told, "Install the Interlock that brought it there.")
        # Other gateways may share it and be older: when it is brought there is for somebody to decide.
        fix = "`interlock db migrate` brings it there, as the owner of the tables; end older gateways before."
        if not found:
            return Check("schema", WARN, "There are no tables of Interlock in the database yet.", fix)
        return Check("schema", WARN, f"The database has version {found}, and this program uses {known}.", fix)


def unknown_place() -> tuple[Check, Check]:
    """Both checks where the configuration does not say which database it is: nothing can be said of the record."""
    told, fix = "It was not looked at: the configuration does not say where it is.", "Repair the configuration first."
    return Check("database", WARN, told, fix), Check("schema", WARN, told, fix)
