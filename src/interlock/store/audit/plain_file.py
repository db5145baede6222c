"""Files with seals and keys, opened so that nobody can make us wait for ever: somebody may have had the folder in hand.

What is no regular file is refused, a pipe that nobody writes to and a device without an end above all.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_file(file: Path) -> BinaryIO:
    """A file to read; raises OSError."""
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        refuse_other(opened)
    except OSError:
        os.close(opened)
        raise
    return os.fdopen(opened, "rb")


def refuse_other(opened: int) -> None:
    """Raises OSError when what is open is no regular file."""
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        raise OSError(errno.EINVAL, "It is no regular file")
