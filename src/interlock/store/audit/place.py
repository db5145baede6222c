"""Where the log of a gateway lies, and the check of it there: in the file of its folder, or in a database that gateways
share.

What belongs to a log and is not in the database lies in the folder in both cases: the key that seals, its public half
and, unless it is told otherwise, the anchor.

This module refuses to show more of the address of a database than which one it is: it may hold a password.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interlock import errors
from interlock.clock import Clock, SystemClock
from interlock.errors import Reason
from interlock.store.audit.check import Progress, check_folder, first_disagreement
from interlock.store.audit.verify import Log, Span, Unreadable, Verification
from interlock.store.folder import DATABASE, DataFolder
from interlock.store.postgres_address import shown_database
from interlock.store.protocol import StoreUnavailable


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The place of one gateway's log. `address` is that of the shared database, and `chain` which of its logs is this
    one's; without an address it is the file in the folder."""

    folder: Path
    address: str | None = field(default=None, repr=False)
    chain: str | None = None

    def check(
        self,
        anchor: Path | None = None,
        span: Span = Span(),  # noqa: B008 - it cannot be changed
        keys: Path | None = None,
        progress: Progress = lambda done, total: None,
        *,
        own: bool = False,
        only: str | None = None,
        clock: Clock = SystemClock(),  # noqa: B008 - it has no state
    ) -> Verification:
        """Check it, and the logs of the other gateways with it unless one is asked for by its name. `own` says that the
        anchor is the one that its gateway writes. Raises as `check_folder` does."""
        if self.address is None:
            return check_folder(self.folder, anchor, span, keys, progress, own=own, clock=clock)
        from interlock.store.audit.check_shared import Shared

        shared = Shared(self.folder, self.address, self.chain, keys, clock)
        return shared.check(anchor, span, progress, own=own, only=only)

    @contextmanager
    def open(self, chain: str | None = None) -> Generator[Log]:
        """The log to read, or another one of the same database. Raises StoreUnavailable, and ValueError when there is
        none of that name."""
        if self.address is None:
            from interlock.store.audit.sqlite_log import open_log

            with open_log(self.folder / DATABASE) as log:
                yield log
            return
        from interlock.store.audit.postgres_log import open_logs

        with open_logs(self.address) as logs:
            yield logs.log(logs.named(chain))

    def first_disagreement(self, pruned: int) -> str | None:
        """Something beside the log that does not agree with it; None when all does. Raises StoreUnavailable."""
        if self.address is None:
            return first_disagreement(self.folder, pruned)
        from interlock.store.audit.check_shared import Shared

        return Shared(self.folder, self.address, self.chain).first_disagreement()


def unreadable(place: LogPlace | None, failed: Exception) -> Reason:
    """Why a log cannot be checked: what a database said, or what is wrong with a file."""
    if place is None or place.address is None or not isinstance(failed, StoreUnavailable | Unreadable):
        return errors.AUDIT_UNREADABLE(problem=failed)
    return errors.DATABASE_UNREADABLE(place=shown_database(place.address), problem=failed)


def place_of(folder: DataFolder, address: str) -> LogPlace:
    """Where the log of a folder's gateway lies, by the address of its store. That of a run of the lab is kept with the
    run."""
    if address == "sqlite" or folder.is_of_a_run:
        return LogPlace(folder.path)
    return LogPlace(folder.path, address, folder.known_chain())
