"""A configuration file that is being edited: when it changed, and what it says then.

Editors replace files, mounts swap links, and a half-written file is read at the worst moment. So the file is looked at
once a second by what the operating system says of it, a change is only taken up when the whole file is good, and a bad
one changes nothing. What was given on the command line stays as it was given.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from interlock.config.load import Config, load, with_listen


class Watch:
    """One file, as it was when it was last looked at."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._config = config
        self._environ = environ
        self._seen = _signs(config.file)

    def changed(self) -> bool:
        """Whether the file is another one than when this was last asked."""
        before, self._seen = self._seen, _signs(self._config.file)
        return self._seen != before

    def read(self) -> Config:
        """The configuration as it is now; raises ConfigError."""
        fresh = load(str(self._config.file), self._environ)
        # The address was taken at the start and cannot change while we listen on it.
        listen = self._config.settings.listen
        return with_listen(fresh, listen.host, listen.port)


def _signs(file: Path | None) -> tuple[int, ...] | None:
    try:
        found = None if file is None else os.stat(file)
    except OSError:
        return None  # it is gone for a moment, or for good: reading it will tell
    return None if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
