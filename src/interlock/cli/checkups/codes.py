"""The checks of `interlock doctor`, each with the code by which it is known.

A code stays what it is: scripts and people's notes name it. A check that goes takes its code with it, and no other gets
that one. This module refuses to check anything.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coded:
    """A check: its code, its name, what it looks at, and what `--fix` does about it by itself."""

    code: str
    check: str
    what: str
    repaired: str = ""


CODES: dict[str, Coded] = {
    each.check: each
    for each in (
        Coded("IL-CONFIG-01", "config", "the configuration can be read and is valid"),
        Coded(
            "IL-DATA-01",
            "folder",
            "the data folder and what is in it are their owner's alone",
            "makes the folder, and gives it and its files their modes",
        ),
        Coded(
            "IL-DATA-02",
            "lock",
            "the lock file names nobody who is gone",
            "clears what a process left that is gone",
        ),
        Coded("IL-DATA-03", "database", "the database can be read, and the newest part of its log holds together"),
        Coded("IL-DATA-04", "schema", "the database has the version of this program", "runs the missing migrations"),
        Coded("IL-GATEWAY-01", "gateway", "a gateway runs, or its port is free"),
        Coded("IL-GATEWAY-02", "dashboard", "the gateway serves the dashboard with its policy"),
        Coded("IL-CONFIG-02", "commands", "the servers of the configuration can be started"),
        Coded("IL-SERVER-01", "servers", "every server that should run is ready"),
        Coded("IL-SERVER-02", "tools", "every tool has a class and is as it was reviewed"),
        Coded("IL-ACCESS-01", "tokens", "no token has expired, is about to, or is an admin for ever"),
        Coded("IL-ACCESS-02", "issuer", "the keys of the token issuer can be fetched"),
        Coded("IL-APPROVAL-01", "notices", "whoever is to be told of approvals can be reached"),
        Coded("IL-APPROVAL-02", "approvals", "somebody would notice a held call"),
        Coded("IL-APPROVAL-03", "freezes", "nothing is frozen"),
        Coded("IL-DATA-05", "seals", "the log is sealed as it grows"),
        Coded("IL-DATA-06", "store", "the gateway can write its record"),
        Coded("IL-CONFIG-03", "rules", "every rule can decide something"),
        Coded("IL-MACHINE-01", "machine", "there is room on the disk, and the clock is right"),
        Coded("IL-CLIENT-01", "clients", "what MCP clients start to reach Interlock is there"),
    )
}
"""In the order in which they are told."""
