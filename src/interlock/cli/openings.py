"""What a process opens to be spoken with: a stdout that only the protocol has, a socket to listen on.

Apart from the rest of the command line, because a mock has to start fast and a replay must not be able to connect to
anything: this module refuses to.
"""

import contextlib
import os
import socket

from interlock.cli.inputs import bad


def claim_stdout() -> int:
    """A descriptor that only the protocol has; whatever else is printed to stdout goes to stderr from now on."""
    try:
        wire = os.dup(1)
    except OSError as failed:
        raise bad(f"stdout cannot be used: {failed.strerror}", "Let an MCP client start this command.") from None
    with contextlib.suppress(OSError):  # stderr is closed: then there is nothing to protect from
        os.dup2(2, 1)
    return wire


def bind(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """A socket on an address, or an error that says what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that the event loop sends small answers at once: it looks at this to turn Nagle's delay off.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as failed:
        listener.close()
        raise bad(f"cannot listen on {host}:{port}: {failed.strerror}", f"Choose another with {option}.") from None
    return listener
