"""What stays of the gateway of a run once the run is over: its record, and nothing that only a running gateway needs.

The folder of a run is kept, shown and handed on, so no credential may lie in it, and no lock of a process that is gone.
Whoever looks at the record later, with `--data-dir`, is given a new credential.
"""

import contextlib
from collections.abc import Generator

from interlock.store.folder import LOCK, DataFolder

_JOURNALS = ("-wal", "-shm", "-journal")
"""What the database has beside its file while it is open. One that is not empty belongs to it and stays."""


@contextlib.contextmanager
def leaving_the_record(folder: DataFolder) -> Generator[None]:
    """Take away what a gateway in this folder needed, once the block has ended. The folder is to be held meanwhile."""
    try:
        yield
    finally:
        beside = [folder.database.with_name(folder.database.name + each) for each in _JOURNALS]
        empty = [each for each in beside if each.is_file() and not each.stat().st_size]
        for each in (folder.credential_file, folder.path / LOCK, *empty):
            each.unlink(missing_ok=True)
