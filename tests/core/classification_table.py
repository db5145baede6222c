"""Decision table for the gateway view (the contract with our users, classification), written from the contract alone.

A test oracle: it imports nothing from the product. No operator override and no safety_class metadata here.
Exactly one row of ROWS matches any combination of hints, so the order of the rows does not matter
(a test proves it). Each row names the clause it comes from:

  C-bool    "Only real JSON booleans are hints; absent, true and false are three different states."
  C-trust   "for a server with trusted: true [...] its annotations replace the name"
  C-ro      "readOnlyHint true -> read-only"                                          (trusted)
  C-d       "destructiveHint true -> dangerous"                                       (trusted)
  C-false   "readOnlyHint or destructiveHint false without either -> write-capable"   (trusted)
  C-none    "no usable hint -> the name"                                              (trusted)
  C-raise   "from an untrusted server (the default) metadata and annotations only raise"
  C-both    "readOnlyHint and destructiveHint both true -> dangerous + finding"
  C-floor   "readOnlyHint false, or idempotentHint false without readOnlyHint -> at least write-capable"
  C-malf    "in a malformed object the well-formed raising hints still count"
  C-order   "read-only < write-capable < subprocess < dangerous; unknown counts as at least dangerous"
  P-add     property: adding raising evidence never loosens a verdict
  P-lose    property: losing lowering evidence (override, trust, a trusted hint, a grant) never loosens it
  P-word    property: an untrusted server's word never lowers a class
"""

from typing import Final, NamedTuple

CLASSES: Final[tuple[str, ...]] = ("read-only", "write-capable", "subprocess", "dangerous", "unknown")
HINT_STATES: Final[tuple[str, ...]] = ("true", "false", "absent", "malformed")

# Shorthand for the outcome cells.
IS_READ: Final = "is read-only"  # replaces the name
IS_WRITE: Final = "is write-capable"
IS_DANGER: Final = "is dangerous"
MIN_WRITE: Final = "at least write-capable"  # only raises the name, see AT_LEAST
MIN_DANGER: Final = "at least dangerous"
NAME: Final = "the name"

# Shorthand for the hint cells: the states a row accepts.
T: Final = ("true",)
F: Final = ("false",)
A: Final = ("absent",)
TA: Final = ("true", "absent")
FA: Final = ("false", "absent")
AM: Final = ("absent", "malformed")
TAM: Final = ("true", "absent", "malformed")
FAM: Final = ("false", "absent", "malformed")
ANY: Final = HINT_STATES

OK: Final = "ok"  # no hint of the object is malformed
BAD: Final = "bad"  # at least one of the four hints is malformed


class Row(NamedTuple):
    object: str
    read_only: tuple[str, ...]
    destructive: tuple[str, ...]
    idempotent: tuple[str, ...]
    open_world: tuple[str, ...]
    trusted: str
    untrusted: str


# fmt: off
# openWorldHint decides nothing by itself; it only counts when it is what makes the object malformed.
ROWS: Final[tuple[Row, ...]] = (
    #   obj  readOnly  destr  idemp  openW   trusted     untrusted
    # -- well-formed objects ---------------------------------------------------------------------------------
    # trusted C-ro; "without readOnlyHint" fails, so no C-floor by idempotentHint. untrusted C-raise, P-word:
    Row(OK,  T,      FA,    ANY,   ANY,    IS_READ,    NAME),
    # trusted C-both; untrusted C-both as a raise (P-word: an unknown name stays unknown):
    Row(OK,  T,      T,     ANY,   ANY,    IS_DANGER,  MIN_DANGER),
    # trusted C-d, literally, so an unknown name becomes dangerous (replaced: a trusted hint is lowering
    # evidence there); untrusted C-raise (P-add, P-word: an unknown name stays unknown):
    Row(OK,  FA,     T,     ANY,   ANY,    IS_DANGER,  MIN_DANGER),
    # trusted C-false (replaces, so it lowers too); untrusted C-floor:
    Row(OK,  F,      FA,    ANY,   ANY,    IS_WRITE,   MIN_WRITE),
    # trusted C-false; untrusted C-raise + P-lose (a read-only name must not get looser by losing trust):
    Row(OK,  A,      F,     ANY,   ANY,    IS_WRITE,   MIN_WRITE),
    # both C-floor ("at least"): idempotentHint is not among the hints that replace a name (C-none):
    Row(OK,  A,      A,     F,     ANY,    MIN_WRITE,  MIN_WRITE),
    # both C-none: idempotentHint true and openWorldHint say nothing about the class:
    Row(OK,  A,      A,     TA,    ANY,    NAME,       NAME),
    # -- malformed objects: C-malf, hints may raise and never lower; trust makes no difference; a well-formed
    #    readOnlyHint true is no raising hint, so it counts as absent ----------------------------------------
    # C-malf + C-d:
    Row(BAD, ANY,    T,     ANY,   ANY,    MIN_DANGER, MIN_DANGER),
    # C-malf + C-floor (readOnlyHint false):
    Row(BAD, F,      FAM,   ANY,   ANY,    MIN_WRITE,  MIN_WRITE),
    # C-malf + C-floor (idempotentHint false, no usable readOnlyHint):
    Row(BAD, TAM,    FAM,   F,     ANY,    MIN_WRITE,  MIN_WRITE),
    # C-malf + C-false taken as a raise only (a malformed neighbour must not undo the raise of row OK/A/F):
    Row(BAD, TAM,    F,     TAM,   ANY,    MIN_WRITE,  MIN_WRITE),
    # C-malf + C-bool + C-none: nothing raising is left, the name:
    Row(BAD, TAM,    AM,    TAM,   ANY,    NAME,       NAME),
)
# fmt: on

# C-order. "unknown" is never turned into "dangerous" by a raise: posture strict denies the one and only
# holds the other, so that would loosen a verdict (P-add, P-word).
AT_LEAST: Final[dict[str, dict[str, str]]] = {
    MIN_WRITE: {
        "read-only": "write-capable",
        "write-capable": "write-capable",
        "subprocess": "subprocess",
        "dangerous": "dangerous",
        "unknown": "unknown",
    },
    MIN_DANGER: {
        "read-only": "dangerous",
        "write-capable": "dangerous",
        "subprocess": "dangerous",
        "dangerous": "dangerous",
        "unknown": "unknown",
    },
}

# C-trust. What "replaces the name" gives, whatever the name was.
REPLACE: Final[dict[str, str]] = {
    IS_READ: "read-only",
    IS_WRITE: "write-capable",
    IS_DANGER: "dangerous",
}


def matching_rows(read_only: str, destructive: str, idempotent: str, open_world: str) -> list[Row]:
    """The rows that accept these hints; always exactly one."""
    hints = (read_only, destructive, idempotent, open_world)
    for hint in hints:
        if hint not in HINT_STATES:
            raise ValueError(f"no hint state: {hint!r}")
    kind = BAD if "malformed" in hints else OK
    return [
        row
        for row in ROWS
        if row.object == kind
        and read_only in row.read_only
        and destructive in row.destructive
        and idempotent in row.idempotent
        and open_world in row.open_world
    ]


def expected(name_class: str, read_only: str, destructive: str, idempotent: str, open_world: str, trusted: bool) -> str:
    """The gateway class the contract asks for."""
    if name_class not in CLASSES:
        raise ValueError(f"no class: {name_class!r}")
    rows = matching_rows(read_only, destructive, idempotent, open_world)
    if len(rows) != 1:
        raise AssertionError(f"{len(rows)} rows match; the table is broken")
    outcome = rows[0].trusted if trusted else rows[0].untrusted
    if outcome == NAME:
        return name_class
    if outcome in REPLACE:
        return REPLACE[outcome]
    return AT_LEAST[outcome][name_class]
