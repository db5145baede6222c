"""The program that outlives the gateway, to end what the gateway would leave behind.

It reads from its standard input which process groups there are: `+123` one more, `-123` one less. When the input ends,
the gateway is gone, however it went; whatever group is still on the list is ended, and so is this program. It runs on
its own, without the package and without site packages, so it imports next to nothing. It refuses to stop at the
signals that stop a gateway: those are sent to whole groups and services, and its work begins only after them.
"""

import os
import signal
import sys

DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 1.0
_GATEWAY = 0
"""The file descriptor on which the gateway talks."""
_PIECE = 65_536


def groups_left(source: int) -> set[int]:
    """Read until the end: the groups that were named and not taken back."""
    groups: set[int] = set()
    rest = b""
    while piece := os.read(source, _PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            _note(line, groups)
    return groups


def _note(line: bytes, groups: set[int]) -> None:
    sign, number = line[:1], line[1:]
    # 0 would mean our own group and 1 everything: neither is ever somebody's child.
    if not number.isdigit() or int(number) <= 1:
        return
    if sign == b"+":
        groups.add(int(number))
    elif sign == b"-":
        groups.discard(int(number))


def end(groups: set[int]) -> None:
    """Ask them all to end, wait a moment, and make them."""
    if _signal(groups, signal.SIGTERM):
        _wait(GRACE_SECONDS)
        _signal(groups, signal.SIGKILL)


def _signal(groups: set[int], number: signal.Signals) -> bool:
    """Whether there was anybody to hear it."""
    heard = False
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:  # it is gone, or not ours to end
            continue
        heard = True
    return heard


def _wait(seconds: float) -> None:
    # A blocked signal and a timer: sleeping without importing anything for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.sigwait({signal.SIGALRM})


def main() -> int:
    """Watch over a gateway until it is gone."""
    for each in DEAF_TO:
        signal.signal(each, signal.SIG_IGN)
    end(groups_left(_GATEWAY))
    return 0


if __name__ == "__main__":
    sys.exit(main())
